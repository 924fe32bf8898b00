//! The path probe: do both chains deliver the first packets?
//!
//! After some packets the source asks for a report. The destination has counted those of each group, and one byte of its
//! NACK carries a [`Verdict`] on each chain: good, inconclusive (a longer probe follows), switch to the alternate chain,
//! or abort and start again over another path. The source obeys, so both always agree. In the pauses of a long round
//! ([`Adaptation::goes_on`]) the destination counts, too. Time base: none. Tests: `probe_tests.rs`,
//! `../pipeline/tests/pause.rs`.

use super::dual_channel_sink::DualChannelSink;
use super::pauses::STRETCH;
use super::rendezvous::Rendezvous;
use super::report::{Verdict, LONG_PROBE, PROBE};
use crate::pipeline::{Adaptation, Beat, Chain, End, Fixed, Reception, Retune, Tally};
use thalweg_units::{Channel, Instant};
use thalweg_wire::pipeline::{Group, Purpose};
use thalweg_wire::route::Progress;

/// A transfer of fewer packets, or with fewer missing, has less to win than to lose by a probe.
pub const WORTH: u16 = 64;
/// The most probes of a transfer.
const MAX_PROBES: u8 = 4;
/// Packets that could be sent while a transfer restarts over another path: .4 s until the network's next rendezvous,
/// for the wake-up, a request and a probe.
const RESTART_PACKETS: u32 = 96;
/// A chain that loses so much of many packets is degraded if another is at hand, or if enough is left to make a restart
/// worthwhile.
pub const BAD: (u32, u32) = (3, 16);
/// The same if there is no other.
const DEGRADED: (u32, u32) = (5, 16);
/// An exchange takes as long as so many packets.
const EXCHANGE_PACKETS: u32 = 5;
/// If the last packets of a round, so many of them, were all of one group, the other group's chain is dead.
const SOLE_RUN: u16 = 16;

/// How a chain did in a probe or a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    of: u16,
    lost: u16,
}

impl Record {
    /// Whether it has lost at least `lost` of `of`.
    const fn lost_share(self, (lost, of): (u32, u32)) -> bool {
        self.lost as u32 * of >= lost * self.of as u32
    }
    /// Whether to go on like this with so many packets takes longer than a restart. Half of what is sent goes over this
    /// chain, so what all rounds lose is half its loss over half of what it delivers and the other's.
    const fn is_hopeless(self, missing: u16) -> bool {
        let (of, lost) = (self.of as u32, self.lost as u32);
        missing as u32 * lost > RESTART_PACKETS * (2 * of - lost)
    }
    /// The same for the rounds to come, each of what the one before lost, at the same loss.
    const fn is_in_vain(self, missing: u16) -> bool {
        let (mut left, mut takes) = (missing as u32, 0);
        while left > 0 && takes <= RESTART_PACKETS {
            left = left * self.lost as u32 / self.of as u32;
            takes += left + EXCHANGE_PACKETS;
        }
        takes > RESTART_PACKETS
    }
}

/// What source and destination know about the groups' chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathProbe {
    fixed: Fixed,
    /// Destination: its radio, if it listens on two channels in turn.
    dual_sink: Option<DualChannelSink>,
    /// Destination: when another path may be called.
    rendezvous: Rendezvous,
    /// The round that is a probe, and its packets; none once all is well.
    probe: Option<(u16, u16)>,
    /// Probes so far.
    probes: u8,
    /// Destination: the round that is over.
    round: u16,
    /// Whether the odd, and the even group has another chain.
    alternates: [bool; 2],
    using: [Chain; 2],
    received: [u16; 2],
    /// Destination: the group of the last packets, and how many of them were of it in a row.
    last_run: (Group, u16),
    /// Destination: how the planned chains did that alternates took over from.
    planned: [Option<Record>; 2],
    /// On the last round, if it was a probe.
    verdicts: Option<[Verdict; 2]>,
    degraded: [Option<Chain>; 2],
    gives_up: bool,
}

impl PathProbe {
    /// For a source or destination on the channels of `fixed` and the schedule `beat`; the odd and even group have
    /// `alternates`. A transfer that keeps earlier packets calls these from the start, since another path has turned out to
    /// be bad, and its second round is the probe: the first is the request of a source that does not know what is missing.
    pub fn new(fixed: Fixed, progress: Progress, alternates: [bool; 2], beat: &Beat) -> Self {
        Self {
            fixed,
            dual_sink: None,
            rendezvous: Rendezvous::new(beat, None),
            probe: Some((u16::from(progress == Progress::Kept), PROBE)),
            probes: 0,
            round: 0,
            alternates,
            using: match progress {
                Progress::Fresh => [Chain::Planned; 2],
                Progress::Kept => alternates.map(|has| {
                    if has {
                        Chain::Alternate
                    } else {
                        Chain::Planned
                    }
                }),
            },
            received: [0; 2],
            last_run: (Group::Odd, 0),
            planned: [None; 2],
            verdicts: None,
            degraded: [None; 2],
            gives_up: false,
        }
    }

    /// The same for a destination that listens with `dual_sink` and, once it gives up, must be free at `rendezvous`.
    #[must_use]
    pub fn with(self, dual_sink: Option<DualChannelSink>, rendezvous: Rendezvous) -> Self {
        Self {
            dual_sink,
            rendezvous,
            ..self
        }
    }

    /// The destination's verdict on a group that did like `now` in a probe, with `missing` packets left.
    fn verdict(&mut self, group: usize, now: Record, missing: u16) -> Verdict {
        let is_long = now.of >= LONG_PROBE / 2;
        let has_other = self.alternates[group] && self.using[group] == Chain::Planned;
        let is_degraded = match (is_long, has_other) {
            // Chance takes many of a few.
            (false, _) => now.lost_share((4, 8)),
            (true, true) => now.lost_share(BAD),
            (true, false) if now.is_hopeless(missing) => now.lost_share(BAD),
            (true, false) => now.lost_share(DEGRADED),
        };
        let may_probe = self.probes + 1 < MAX_PROBES;
        match (is_degraded, has_other, self.planned[group]) {
            (true, true, _) if may_probe => {
                self.planned[group] = Some(now);
                Verdict::UseAlternate
            }
            // The chain before it was better.
            (true, _, Some(before)) if before.lost * now.of < now.lost * before.of => {
                match before.is_hopeless(missing) {
                    true => Verdict::Abort,
                    false => {
                        (self.alternates[group], self.planned[group]) = (false, None);
                        Verdict::UseAlternate
                    }
                }
            }
            (true, ..) if now.is_hopeless(missing) => Verdict::Abort,
            (false, ..) if now.lost > 0 && !is_long && may_probe => Verdict::Inconclusive,
            _ => Verdict::Good,
        }
    }

    /// Judges a round after the probes that brought `received` of each group: good chains may have degraded. At its end
    /// only packets of `sole_group` came.
    fn judge_round(&mut self, received: [u16; 2], tally: Tally, sole_group: Option<Group>) {
        let (here, missing) = (received.iter().sum::<u16>(), tally.missing);
        let lost = missing.min(tally.sent.saturating_sub(here));
        let of = here.saturating_add(lost);
        let round = match sole_group {
            Some(_) if lost < of / 2 => Record { of: 2, lost: 1 },
            _ => Record { of, lost },
        };
        // Even a small share of a long round takes long, but the alternative was probed with a few packets only.
        let is_bad = round.lost_share(DEGRADED) && round.is_in_vain(missing);
        if of < WORTH || self.gives_up || !is_bad {
            return;
        }
        for (group, received) in received.into_iter().enumerate() {
            let of = of / 2;
            let lost = of.saturating_sub(received);
            let is_degraded = Record { of, lost }.lost_share(DEGRADED);
            let is_silent = sole_group.is_some_and(|sole_group| sole_group.index() != group);
            self.degraded[group] = (is_degraded || is_silent).then_some(self.using[group]);
        }
        let verdicts = [Verdict::Abort; 2];
        self.verdicts = Some(verdicts);
        self.follow(verdicts);
    }

    /// Carries out the verdicts.
    fn follow(&mut self, verdicts: [Verdict; 2]) {
        for (using, verdict) in self.using.iter_mut().zip(verdicts) {
            if verdict == Verdict::UseAlternate {
                *using = match *using {
                    Chain::Planned => Chain::Alternate,
                    Chain::Alternate => Chain::Planned,
                };
            }
        }
        self.gives_up |= verdicts.contains(&Verdict::Abort);
        self.probes = self.probes.saturating_add(1);
        let next = Verdict::next_probe(verdicts).filter(|_| self.probes < MAX_PROBES);
        let round = self.probe.map_or(0, |(round, _)| round.saturating_add(1));
        self.probe = next.map(|packets| (round, packets));
    }
}

impl Adaptation for PathProbe {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.fixed.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        match &self.dual_sink {
            Some(dual_sink) => Some(dual_sink.listening()),
            None => self.fixed.listening(),
        }
    }
    fn wants_heads(&self) -> bool {
        self.dual_sink.is_some()
    }
    fn on_reception(&mut self, reception: Reception, sfd: Instant) {
        self.rendezvous.hold_until(sfd);
        if let Some(dual_sink) = &mut self.dual_sink {
            dual_sink.on_reception(reception, sfd);
        }
    }
    fn next(&self) -> Option<Instant> {
        self.dual_sink.as_ref().and_then(DualChannelSink::next)
    }
    fn advance(&mut self, at: Instant) -> Retune {
        (self.dual_sink.as_mut()).map_or(Retune::Stay, |dual_sink| dual_sink.advance(at))
    }
    fn stops_after(&self, round: u16, packets: u16) -> Option<u16> {
        let probe = self.probe.filter(|(probed_from, _)| *probed_from == round);
        probe.filter(|_| packets >= WORTH).map(|(_, of)| of)
    }
    fn goes_on(&mut self, due: Instant) -> bool {
        if let Some(dual_sink) = &mut self.dual_sink {
            dual_sink.expect_packet(self.last_run.0.other(), due);
        }
        let of = STRETCH / 2;
        let is_bad = |received: u16| {
            let lost = of.saturating_sub(received);
            Record { of, lost }.lost_share(BAD)
        };
        let goes_on = !self.received.into_iter().any(is_bad);
        if goes_on {
            self.received = [0; 2];
        }
        goes_on
    }
    fn calls(&self, group: Group) -> bool {
        self.using[group.index()] == Chain::Alternate
    }
    fn request_purpose(&self, round: u16) -> Purpose {
        let may_end = match self.probe {
            Some((probed_from, _)) => round == probed_from,
            None => true,
        };
        // Relays of two chains would write different counts at the same time.
        match may_end && self.using == [Chain::Planned; 2] {
            true => Purpose::Count,
            false => Purpose::Report,
        }
    }
    fn on_packet(&mut self, group: Group) {
        let received = &mut self.received[group.index()];
        *received = received.saturating_add(1);
        self.last_run = match self.last_run {
            (before, count) if before == group => (group, count.saturating_add(1)),
            _ => (group, 1),
        };
    }
    fn on_round_end(&mut self, round: u16, tally: Option<Tally>) {
        let received = core::mem::take(&mut self.received);
        self.round = round;
        (self.verdicts, self.degraded) = (None, [None; 2]);
        let missing = tally.map_or(0, |tally| tally.missing);
        let (group, count) = core::mem::replace(&mut self.last_run, (Group::Odd, 0));
        let sole_group = (count >= SOLE_RUN).then_some(group);
        let packets = received.iter().sum::<u16>() + missing;
        let probe = self.probe.filter(|(probed_from, _)| *probed_from == round);
        let Some((_, probed_from)) = probe.filter(|_| packets >= WORTH) else {
            let has_moved = match (sole_group, &mut self.dual_sink) {
                (Some(group), Some(dual_sink)) => dual_sink.move_other(group),
                _ => false,
            };
            if let (false, None, Some(tally)) = (has_moved, self.probe, tally) {
                self.judge_round(received, tally, sole_group);
            }
            return;
        };
        let mut verdicts = [Verdict::Good; 2];
        for (group, received) in received.into_iter().enumerate() {
            // The odd group has the first.
            let of = (probed_from + 1 - group as u16) / 2;
            let lost = of.saturating_sub(received);
            verdicts[group] = self.verdict(group, Record { of, lost }, missing);
            let is_degraded = matches!(verdicts[group], Verdict::UseAlternate | Verdict::Abort);
            self.degraded[group] = is_degraded.then_some(self.using[group]);
        }
        self.verdicts = Some(verdicts);
        self.follow(verdicts);
    }
    fn expect_copy(&mut self, sfd: Instant) {
        if let Some(dual_sink) = &mut self.dual_sink {
            dual_sink.expect_copy(sfd);
        }
    }
    fn write_note(&mut self, into: &mut [u8], due: Option<Instant>) {
        let moved = self.dual_sink.as_mut().map_or(0, |dual_sink| {
            dual_sink.round_after(self.round, due);
            dual_sink.moved_bits()
        });
        into.fill(Verdict::write(self.verdicts) | moved);
    }
    fn on_nack(&mut self, note: &[u8], _due: Instant) -> Retune {
        if let Some(verdicts) = Verdict::read(note) {
            self.follow(verdicts);
        }
        Retune::Stay
    }
    fn degraded(&self) -> [Option<Chain>; 2] {
        self.degraded
    }
    fn gives_up(&self) -> bool {
        self.gives_up
    }
    fn leaves(&self) -> Option<(Instant, End)> {
        let free_by = self.rendezvous.free_by().filter(|_| self.gives_up);
        free_by.map(|leaves| (leaves, End::Released))
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
