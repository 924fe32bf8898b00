//! Which relays of the last but one stage speak (P3, section IV-E: "those nodes on the penultimate
//! stage with a good reception reliability of at least a predefined threshold").
//!
//! The reception reliability is that of the relay itself: of the packets of its group whose
//! beginning it heard, the share that it received whole. Packets that never reached the stage
//! before say nothing about it; counted as its losses they would silence whole stages of routes
//! whose losses lie elsewhere. Tests: `threshold_tests.rs`.

use crate::pipeline::{Adaptation, Fixed, Reception, Tally};
use thalweg_units::{Channel, Instant};
use thalweg_wire::route::{Groups, Member, Percent, Role, Route};

/// A relay speaks whatever its ratio until so many packets were judged: below twenty, one lost
/// packet alone would silence it at the usual 95 %.
const MIN_SAMPLE: u32 = 20;

/// P3 as published: channels stay, and bad relays of the last but one stage are silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selective {
    pub(super) fixed: Fixed,
    /// At relays that may be silent.
    threshold: Option<Threshold>,
}

impl Selective {
    /// That of the node at `place` of `route`, where its channels are `fixed`.
    pub fn new(route: &Route, role: Role, fixed: Fixed) -> Self {
        let percent = route.threshold.filter(|_| may_be_silent(route, role));
        let threshold = percent.map(Threshold::new);
        Self { fixed, threshold }
    }
}

impl Adaptation for Selective {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.fixed.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        self.fixed.listening()
    }
    fn passes_on(&self, reception: Reception) -> bool {
        let speaks = || self.threshold.is_none_or(|threshold| threshold.speaks());
        reception != Reception::Packet || speaks()
    }
    fn on_reception(&mut self, reception: Reception, _sfd: Instant) {
        match (&mut self.threshold, reception) {
            (Some(threshold), Reception::Packet) => threshold.begun(1),
            (Some(threshold), Reception::Broken) => threshold.begun(0),
            _ => {}
        }
    }
    fn on_round_end(&mut self, round: u16, _tally: Option<Tally>) {
        if let Some(threshold) = &mut self.threshold {
            threshold.round = round.saturating_add(1);
        }
    }
}

/// Whether the node at `place` is of the last but one stage, and not the only one there for some packets:
/// its silence would leave a hole in the pipeline, where P3 is to be no worse than a single path (P3,
/// section IV-C).
fn may_be_silent(route: &Route, role: Role) -> bool {
    let Role::Relay { stage, group } = role else {
        return false;
    };
    let all = route.groups() == Groups::One;
    let beside = |m: &&Member| m.stage == stage && (all || m.group == group);
    stage + 1 == route.channels.hops() && route.members().iter().filter(beside).count() != 1
}

/// A relay's own reception ratio against the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Threshold {
    percent: Percent,
    begun: u32,
    whole: u32,
    round: u16,
}

impl Threshold {
    /// Nothing received yet; speak at `percent` or more.
    const fn new(percent: Percent) -> Self {
        Self {
            percent,
            begun: 0,
            whole: 0,
            round: 0,
        }
    }

    /// A packet of the own group began; `whole` of it was received, one or none.
    fn begun(&mut self, whole: u32) {
        self.begun = self.begun.saturating_add(1);
        self.whole = self.whole.saturating_add(whole);
    }

    /// Whether to forward packets now. The threshold is halved with every round, so that a stage
    /// whose relays are all below it does not hold the last packets back forever.
    fn speaks(&self) -> bool {
        let percent = u64::from(self.percent.get()) >> self.round.min(7);
        self.begun < MIN_SAMPLE || u64::from(self.whole) * 100 >= percent * u64::from(self.begun)
    }
}

#[cfg(test)]
#[path = "threshold_tests.rs"]
mod tests;
