//! Channel hopping: every two cycles each stage moves on by one place of the channel sequence.
//!
//! Cycle t is the t-th after the source's first packet. A packet sent in cycle t reaches stage k
//! in cycle t + k - 1, so stage k's windows begin at cycles k - 1, k + 1, k + 3 ...: it receives
//! in one cycle and sends in the other. Nodes keep the cycles by the last good frame's SFD, so
//! lost packets do not stop the hopping. Invariant: every SFD lies on the grid of cycles.
//! Time base: the node's clock. Tests: at the end of this file.

use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::MAX_HOPS;
use thalweg_wire::route::Channels;

/// A node's idea of the cycles, and of everyone's channel in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hopper {
    channels: Channels,
    /// This node's stage, and its present window.
    stage: u8,
    window: u64,
    /// How long before a window's first SFD to retune.
    ahead: Duration,
    /// The different channels of the stages, in order of first use.
    sequence: [Channel; MAX_HOPS as usize + 1],
    len: usize,
    cycle: Duration,
    anchor: Instant,
    anchor_cycle: u64,
}

impl Hopper {
    /// Hopping over the channels of `channels`, by cycles of `cycle` from `start`, the SFD of
    /// the source's first packet; this node is at `stage` and retunes `ahead` of the first SFD of
    /// a window: after the last byte of the window before, and soon enough to receive.
    pub fn new(
        channels: Channels,
        cycle: Duration,
        start: Instant,
        stage: u8,
        ahead: Duration,
    ) -> Self {
        let mut sequence = [Channel::LAST; MAX_HOPS as usize + 1];
        let mut len = 0;
        for (place, channel) in sequence.iter_mut().zip(channels.different()) {
            *place = channel;
            len += 1;
        }
        let (window, anchor, anchor_cycle) = (0, start, 0);
        Self {
            channels,
            stage,
            window,
            ahead,
            sequence,
            len,
            cycle,
            anchor,
            anchor_cycle,
        }
    }

    /// Takes the SFD of a good frame as the new time base.
    pub fn heard(&mut self, sfd: Instant) {
        self.anchor_cycle = self.cycle_at(sfd);
        self.anchor = sfd;
    }

    /// The cycle whose frames' SFD is nearest to `sfd`.
    pub fn cycle_at(&self, sfd: Instant) -> u64 {
        let half = self.cycle / 2;
        if sfd >= self.anchor {
            self.anchor_cycle + (sfd.since(self.anchor) + half) / self.cycle
        } else {
            self.anchor_cycle
                .saturating_sub((self.anchor.since(sfd) + half) / self.cycle)
        }
    }

    /// When frames of `cycle` have their SFD.
    pub fn sfd_of(&self, cycle: u64) -> Instant {
        if cycle >= self.anchor_cycle {
            self.anchor + self.cycle * (cycle - self.anchor_cycle)
        } else {
            self.anchor
                .saturating_sub(self.cycle * (self.anchor_cycle - cycle))
        }
    }

    /// The first SFD of the grid that is not before `sfd` by more than `tolerance`.
    pub fn align(&self, sfd: Instant, tolerance: Duration) -> Instant {
        let nearest = self.cycle_at(sfd);
        let on_grid = self.sfd_of(nearest);
        if on_grid + tolerance >= sfd {
            on_grid
        } else {
            self.sfd_of(nearest + 1)
        }
    }

    /// When to call [`Hopper::advance`] next.
    pub fn next_window(&self) -> Instant {
        self.sfd_of(2 * self.window + u64::from(self.stage) + 1)
            .saturating_sub(self.ahead)
    }
    /// Moves on to the window at `at`.
    pub fn advance(&mut self, at: Instant) {
        let begun = self.cycle_at(at).saturating_sub(u64::from(self.stage) + 1);
        self.window = self.window.max(begun / 2);
        while self.next_window() <= at {
            self.window += 1;
        }
    }
    /// The channel on which this node listens in its present window.
    pub fn own_channel(&self) -> Channel {
        self.in_window(self.stage, self.window)
    }

    /// On which channel `stage` listens in `cycle`.
    pub fn channel(&self, stage: u8, cycle: u64) -> Channel {
        // Windows before the first one, in which a stage never receives, count as the first.
        self.in_window(stage, (cycle + 1).saturating_sub(u64::from(stage)) / 2)
    }

    fn in_window(&self, stage: u8, window: u64) -> Channel {
        let own = self.channels.of(stage);
        let base = self.sequence[..self.len]
            .iter()
            .position(|c| *c == own)
            .unwrap_or(0);
        self.sequence[(base + (window % self.len as u64) as usize) % self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLE: Duration = Duration::from_micros(4_537);

    fn hopper(hops: usize) -> Hopper {
        let four = [26, 20, 25, 15].map(|n| Channel::new(n).unwrap());
        let mut list: std::vec::Vec<_> = (0..=hops).map(|back| four[back % 4]).collect();
        list.reverse();
        let start = Instant::from_nanos(1_000_000_000);
        Hopper::new(
            Channels::new(&list).unwrap(),
            CYCLE,
            start,
            2,
            Duration::from_micros(400),
        )
    }

    #[test]
    fn a_packet_keeps_its_place_in_the_sequence_on_all_hops() {
        let hopper = hopper(4);
        for packet in 0..20u64 {
            let places = (1..=4u8).map(|k| {
                let cycle = 2 * packet + u64::from(k) - 1;
                let sequence = &hopper.sequence[..hopper.len];
                let base = hopper.channels.of(k);
                let base = sequence.iter().position(|c| *c == base).unwrap();
                let here = hopper.channel(k, cycle);
                let here = sequence.iter().position(|c| *c == here).unwrap();
                (here + hopper.len - base) % hopper.len
            });
            assert!(places.clone().all(|p| p as u64 == packet % 4));
        }
    }

    #[test]
    fn hops_less_than_eight_apart_never_share_a_channel() {
        let hopper = hopper(9);
        for cycle in 20..60u64 {
            // Stages that receive in this cycle: every second one.
            for k in (1..=9u8).filter(|k| (cycle + u64::from(*k)) % 2 == 1) {
                for other in (k + 1..=9).filter(|o| (o - k) % 2 == 0 && o - k < 8) {
                    assert_ne!(hopper.channel(k, cycle), hopper.channel(other, cycle));
                }
            }
        }
    }

    #[test]
    fn a_stage_listens_where_others_send_to_it() {
        let mut hopper = hopper(5);
        for cycle in 1..100u64 {
            hopper.advance(hopper.sfd_of(cycle));
            assert_eq!(hopper.own_channel(), hopper.channel(2, cycle));
        }
    }

    #[test]
    fn a_drifting_clock_follows_what_it_hears() {
        let mut hopper = hopper(3);
        let mut sfd = hopper.anchor;
        for k in 1..10_000u64 {
            sfd = sfd + CYCLE * 2 + Duration::from_nanos(700);
            hopper.heard(sfd);
            assert_eq!(hopper.anchor_cycle, 2 * k);
        }
        let symbol = Duration::from_micros(16);
        assert_eq!(hopper.align(sfd, Duration::ZERO), sfd);
        assert_eq!(hopper.align(sfd + symbol, symbol), sfd);
        assert_eq!(hopper.align(sfd + symbol, Duration::ZERO), sfd + CYCLE);
        assert_eq!(hopper.align(sfd.saturating_sub(CYCLE / 4), symbol), sfd);
        assert_eq!(hopper.cycle_at(hopper.sfd_of(5)), 5);
    }
}
