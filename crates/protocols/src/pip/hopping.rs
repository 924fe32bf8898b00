//! Channel hopping: every two cycles each stage moves on by one place of the channel sequence.
//!
//! Cycle t is the t-th after the source's first packet. A packet sent in cycle t reaches stage k
//! in cycle t + k - 1, so stage k's windows begin at cycles k - 1, k + 1, k + 3 ...: it receives
//! in one cycle and sends in the other. Nodes keep the cycles by the last good frame's SFD, so
//! lost packets do not stop the hopping. Invariant: every SFD lies on the grid of cycles.
//! Time base: the node's clock. Tests: `hopping_tests.rs`.

use crate::pipeline::{Adaptation, Beat, Fixed, Reception, Retune};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::MAX_HOPS;

/// A node's idea of the cycles, and of everyone's channel in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hopper {
    /// The channels that the stages begin with.
    fixed: Fixed,
    /// This node's present window.
    window: u64,
    /// How long before a window's first SFD to retune.
    ahead: Duration,
    /// The different channels of the stages, in order of first use.
    sequence: [Channel; MAX_HOPS as usize + 1],
    len: usize,
    cycles: Cycles,
}

impl Hopper {
    /// Hopping by the cycles of `beat` over the channels of `fixed`.
    pub fn new(fixed: Fixed, beat: &Beat) -> Self {
        let mut sequence = [Channel::LAST; MAX_HOPS as usize + 1];
        let mut len = 0;
        for (place, channel) in sequence.iter_mut().zip(fixed.channels.different()) {
            *place = channel;
            len += 1;
        }
        Self {
            fixed,
            window: 0,
            ahead: beat.ahead,
            sequence,
            len,
            cycles: Cycles::new(beat),
        }
    }

    fn next_window(&self) -> Instant {
        let cycle = 2 * self.window + u64::from(self.fixed.stage) + 1;
        self.cycles.sfd_of(cycle).saturating_sub(self.ahead)
    }
    /// On which channel `stage` listens in `cycle`.
    fn in_cycle(&self, stage: u8, cycle: u64) -> Channel {
        // Windows before the first one, in which a stage never receives, count as the first.
        self.in_window(stage, (cycle + 1).saturating_sub(u64::from(stage)) / 2)
    }
    fn in_window(&self, stage: u8, window: u64) -> Channel {
        let own = self.fixed.channels.of(stage);
        let sequence = &self.sequence[..self.len];
        let base = sequence.iter().position(|c| *c == own).unwrap_or(0);
        sequence[(base + (window % self.len as u64) as usize) % self.len]
    }
}

impl Adaptation for Hopper {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.in_cycle(stage, self.cycles.at(sfd))
    }
    fn listening(&self) -> Option<Channel> {
        Some(self.in_window(self.fixed.stage, self.window))
    }
    fn align(&self, sfd: Instant, tolerance: Duration) -> Instant {
        let nearest = self.cycles.at(sfd);
        let is_late = self.cycles.sfd_of(nearest) + tolerance < sfd;
        self.cycles.sfd_of(nearest + u64::from(is_late))
    }
    fn on_reception(&mut self, reception: Reception, sfd: Instant) {
        if let Reception::Packet | Reception::Control = reception {
            self.cycles.keep(sfd);
        }
    }
    fn next(&self) -> Option<Instant> {
        Some(self.next_window())
    }
    fn advance(&mut self, at: Instant) -> Retune {
        let stage = u64::from(self.fixed.stage);
        let begun = self.cycles.at(at).saturating_sub(stage + 1);
        self.window = self.window.max(begun / 2);
        while self.next_window() <= at {
            self.window += 1;
        }
        Retune::Now
    }
}

/// A node's idea of the source's cycles. Cycle 0 is that of its first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cycles {
    length: Duration,
    /// An SFD of the cycle numbered so.
    anchor: Instant,
    number: u64,
}

impl Cycles {
    /// Cycles as long as `beat` says, from its start.
    const fn new(beat: &Beat) -> Self {
        Self {
            length: beat.cycle,
            anchor: beat.start,
            number: 0,
        }
    }
    /// Takes the SFD of a good frame as the new time base, against clocks that drift.
    fn keep(&mut self, sfd: Instant) {
        (self.number, self.anchor) = (self.at(sfd), sfd);
    }
    /// The cycle whose frames' SFD is nearest to `sfd`.
    fn at(&self, sfd: Instant) -> u64 {
        let half = self.length / 2;
        if sfd >= self.anchor {
            self.number + (sfd.since(self.anchor) + half) / self.length
        } else {
            let back = (self.anchor.since(sfd) + half) / self.length;
            self.number.saturating_sub(back)
        }
    }
    /// When frames of cycle `number` have their SFD.
    fn sfd_of(&self, number: u64) -> Instant {
        if number >= self.number {
            self.anchor + self.length * (number - self.number)
        } else {
            (self.anchor).saturating_sub(self.length * (self.number - number))
        }
    }
}

#[cfg(test)]
#[path = "hopping_tests.rs"]
mod tests;
