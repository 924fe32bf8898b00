//! What all nodes of a network agree on.

use crate::glossy::{self, flood_time, slot_time, Ntx};
use crate::sweep::{shortest_slot, REACH};
use thalweg_engine::BoardTiming;
use thalweg_units::Duration;
use thalweg_wire::beacon::TIME_STEP;
use thalweg_wire::flood::HEADER_BYTES;
use thalweg_wire::phy;
use thalweg_wire::sweep::HOPS_APART;

/// What an idle node does: one without an order, a flood or a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idle {
    /// It listens all the time, as the papers' nodes do.
    #[default]
    Listens,
    /// It sleeps, and samples the channel ([`crate::rouse`]).
    Rests,
}

/// What all nodes of a network agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Of the floods below.
    pub glossy: glossy::Config,
    /// N_tx of the sink's floods.
    pub n_tx: Ntx,
    /// N_tx of reports: their losses are asked for again.
    pub report_n_tx: Ntx,
    /// T_o, the slot of an announcement's flood. P3, section IV-D1 assumes 10 ms.
    pub control: Duration,
    /// How many hops a slot of the collection has room for: the network's diameter, or little
    /// less, as a flood's last repetitions at the far end do not matter.
    pub reach: u8,
    /// Bytes of a beacon's MAC frame without FCS, as long as the frames whose links matter.
    pub beacon_bytes: u8,
    /// The most bytes of a sweep's report: what all its slots are as long as.
    pub levels_bytes: u8,
    /// After how many silent rounds in a row a node is given up.
    pub tries: u8,
    /// What idle nodes do; the layer above sees to it.
    pub idle: Idle,
}

impl Default for Config {
    /// N_tx = 3, reports twice, T_o = 10 ms, six hops, beacons of full length, 26 neighbours in the report of a
    /// sweep of 139 nodes on four channels, five tries.
    fn default() -> Self {
        Self {
            glossy: glossy::Config::default(),
            n_tx: Ntx::THREE,
            report_n_tx: Ntx::TWO,
            control: Duration::from_millis(10),
            reach: REACH,
            beacon_bytes: phy::MAX_MPDU as u8,
            levels_bytes: 96,
            tries: 5,
            idle: Idle::Listens,
        }
    }
}

/// The longest frame of an announcement or a schedule's request.
const CONTROL_BYTES: usize = 40;
/// How often a sweep's report is sent by each node where it has farther to go than usual.
const FARTHER_N_TX: Ntx = Ntx::FOUR;
/// What T_o is counted in.
const MILLISECOND: Duration = Duration::from_millis(1);

impl Config {
    /// The same on boards of `timing`: relays that copy need longer than the 10 ms that P3 assumes for
    /// an announcement's flood. Boards whose software overlaps with the air keep those.
    #[must_use]
    pub fn on(self, timing: &BoardTiming) -> Self {
        if !timing.software.is_serial() {
            return self;
        }
        let flood = flood_time(CONTROL_BYTES, self.reach, self.n_tx, timing);
        let control = MILLISECOND * flood.as_nanos().div_ceil(MILLISECOND.as_nanos());
        Self { control, ..self }
    }
    /// The slot of a schedule's flood of frames of `mpdu_bytes`, in whole [`TIME_STEP`]s.
    pub fn schedule_slot(&self, mpdu_bytes: usize, timing: &BoardTiming) -> Duration {
        round_up(flood_time(mpdu_bytes, self.reach, self.n_tx, timing))
    }
    /// The slot of one frame of a report, in whole [`TIME_STEP`]s.
    pub fn report_slot(&self, timing: &BoardTiming) -> Duration {
        self.slot_of_report(phy::MAX_MPDU, timing)
    }
    /// The same of a sweep's report. Over more hops than usual it is sent oftener, too.
    pub fn levels_slot(&self, timing: &BoardTiming) -> Duration {
        let bytes = HEADER_BYTES + usize::from(self.levels_bytes);
        let n_tx = match self.reach > REACH {
            true => FARTHER_N_TX,
            false => self.report_n_tx,
        };
        round_up(flood_time(
            bytes.min(phy::MAX_MPDU),
            self.reach,
            n_tx,
            timing,
        ))
    }
    /// How often a sweep's report is sent whose slot is `slot`.
    pub(super) fn levels_n_tx(&self, slot: Duration, timing: &BoardTiming) -> Ntx {
        let usual = Self {
            reach: REACH,
            ..*self
        };
        match slot > usual.levels_slot(timing) {
            true => FARTHER_N_TX,
            false => self.report_n_tx,
        }
    }
    /// The slot of a sweep's report that goes inwards: [`HOPS_APART`] of those of a hop, each in whole [`TIME_STEP`]s.
    pub fn inward_slot(&self, timing: &BoardTiming) -> Duration {
        let bytes = HEADER_BYTES + usize::from(self.levels_bytes);
        round_up(slot_time(bytes.min(phy::MAX_MPDU), timing)) * HOPS_APART
    }
    fn slot_of_report(&self, mpdu_bytes: usize, timing: &BoardTiming) -> Duration {
        round_up(flood_time(mpdu_bytes, self.reach, self.report_n_tx, timing))
    }
}

/// The shortest interval between beacons of `mpdu_bytes` that leaves boards of `timing` the time to
/// write one before it is due and to read one before the turn goes on, where that takes longer than
/// `interval`. What a beacon keeps from both ends is a quarter of it.
pub fn beacon_interval(interval: Duration, mpdu_bytes: usize, timing: &BoardTiming) -> Duration {
    if !timing.software.is_serial() {
        return interval;
    }
    let costs = timing.software.costs();
    let read = costs.read(mpdu_bytes, mpdu_bytes) + costs.os + costs.atomic + costs.switch;
    let told = phy::air_time(mpdu_bytes) + timing.event_latency + read;
    let least = (super::lead(timing) * 4).max(told * 2);
    let whole = MILLISECOND * least.as_nanos().div_ceil(MILLISECOND.as_nanos());
    interval.max(whole)
}

/// The shortest slot of a sweep's beacons on boards of `timing`, where that is longer than `slot`.
pub fn sweep_slot(slot: Duration, timing: &BoardTiming) -> Duration {
    slot.max(shortest_slot(super::lead(timing), timing))
}

fn round_up(time: Duration) -> Duration {
    TIME_STEP * time.as_nanos().div_ceil(TIME_STEP.as_nanos())
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
