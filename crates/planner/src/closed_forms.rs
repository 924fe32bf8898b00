//! What the pipelines can do at best, in closed form: cycle time, cycles of a pass, the time of a link measurement (P3,
//! equation 1) and of a control exchange; and bounds on any forwarding over one radio per node (CIT, section 2).
//!
//! No losses, no contention, no clock drift: upper bounds that simulations are checked against.
//! Tests: `closed_forms_tests.rs`, against the arithmetic on P3's own numbers.

use crate::protocol_constants;
use thalweg_units::{BitRate, Duration};
use thalweg_wire::phy::{air_time, TURNAROUND};

/// What a packet and a pipeline cycle consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    /// Application bytes in a packet (P3: 118).
    pub payload_bytes: usize,
    /// Header bytes before them, checksum not included (P3: 7).
    pub header_bytes: usize,
    /// From the end of one frame on air to the beginning of the next of the same sender, and from
    /// the end of a reception to its relaying: turnaround, channel change and software.
    pub gap: Duration,
}

impl Default for Cycle {
    /// P3's packets; the gap is the CC2420's 192 us turnaround and 89 us of software.
    fn default() -> Self {
        Self {
            payload_bytes: 118,
            header_bytes: 7,
            gap: Duration::from_micros(281),
        }
    }
}

impl Cycle {
    /// Air time of a data frame, preamble included.
    pub fn air_time(&self) -> Duration {
        air_time(self.payload_bytes + self.header_bytes)
    }
    /// The cycle time T_c: a frame and the gap.
    pub fn period(&self) -> Duration {
        self.air_time() + self.gap
    }
    /// The rate at which a radio can send application bytes and header at best, P3's "effective
    /// physical rate": 125 B per T_c there.
    pub fn effective_rate(&self) -> BitRate {
        let bytes = self.payload_bytes + self.header_bytes;
        BitRate::of_bytes(bytes as u64, self.period())
    }
    /// One control exchange: the request to the sink and its NACK back, each in two consecutive
    /// cycles (one per sub-group), and `guard` for timers and turn-round.
    pub fn exchange_time(&self, hops: u64, guard: Duration) -> Duration {
        self.period() * (2 * (hops + 1)) + guard
    }

    /// The same where control is as short as can be: a request and a NACK of slim frames, each in two copies.
    pub fn short_exchange_time(&self, hops: u64) -> Duration {
        let slot = |bytes: usize| air_time(bytes) + self.gap;
        (slot(SHORT_REQUEST) + slot(SHORT_NACK)) * (hops + 1)
    }
    /// From the first wake-up packet to the first data packet of a wake-up packed bit by bit in one flood. It names `active`
    /// of `nodes` nodes, source and sink included.
    pub fn short_wake_up(&self, hops: u64, active: usize, nodes: usize) -> Duration {
        let width = nodes.max(2).ilog2() as usize + 1;
        // Channels, three counts for each stage and group, and addresses.
        let bits =
            4 * (hops as usize + 1) + 6 * hops.saturating_sub(1) as usize + active * (width + 1)
                - 2;
        let slot = air_time(FLOOD_BYTES + bits.div_ceil(8)) + self.gap;
        slot * (hops + protocol_constants::LATE_SLOTS).max(protocol_constants::LEAST_SLOTS)
            + protocol_constants::HANDOVER
    }
}

/// Bytes of a request in slim frames.
const SHORT_REQUEST: usize = 19;
/// Bytes of a NACK of the first sixteen packets, in slim frames.
const SHORT_NACK: usize = 12;

/// Bytes of a wake-up that names no node: headers of a flood and of its segment, and a route's terms.
const FLOOD_BYTES: usize = 22;

/// Cycles until the last of `packets` has crossed `hops` where the source sends in every cycle.
pub const fn p3_pass_cycles(packets: u64, hops: u64) -> u64 {
    (packets + hops).saturating_sub(1)
}

/// The same where the source sends in every other cycle (the last, idle one counted).
pub const fn pip_pass_cycles(packets: u64, hops: u64) -> u64 {
    2 * packets + hops
}

/// Time to measure the links of `nodes` nodes, one after the other (P3, equation 1):
/// T = (T_o + IPI x N_b) x n, with `order` T_o to tell a node to begin, then `beacons` beacons
/// at intervals of `interval`.
pub fn link_measurement_time(
    nodes: u64,
    order: Duration,
    interval: Duration,
    beacons: u64,
) -> Duration {
    (order + interval * beacons) * nodes
}

/// Bound T_s on a single hop (CIT, section 2.1): frames of `mpdu_bytes` without their check sequence
/// back to back, a turnaround between them. Counts the bits of MPDUs: 225 kbit/s for 125 bytes.
pub fn single_hop_bound(mpdu_bytes: usize) -> BitRate {
    single_channel_bound(mpdu_bytes, 1)
}

/// Bound T_m(n) = T_s / n on a route on one channel, where the transmissions of `interfering` of its
/// nodes exclude each other (CIT, section 2.2).
pub fn single_channel_bound(mpdu_bytes: usize, interfering: u64) -> BitRate {
    let time = (air_time(mpdu_bytes) + TURNAROUND) * interfering.max(1);
    BitRate::of_bytes(mpdu_bytes as u64, time)
}

/// Bound on a route with a channel per hop (CIT, section 2.3): a relay is either receiving or
/// sending, so it is half of T_s as soon as there is one.
pub fn multi_channel_bound(mpdu_bytes: usize, hops: u64) -> BitRate {
    single_channel_bound(mpdu_bytes, hops.min(2))
}

#[cfg(test)]
#[path = "closed_forms_tests.rs"]
mod tests;
