//! Learning during a transfer which channels do best (P3, section VI: "the best channel" is left to the
//! future).
//!
//! The channels of a route can be handed round: rotation r gives each stage the channel that is r places
//! further in the sequence of those that the route uses, so stages that differ go on differing. In a trial
//! with the first packets they travel under each rotation in turn, changed by the clock: what arrives tells
//! the destination which is best ([`Scores`]), and its NACK tells everyone. Who hears nothing any more looks
//! for the pipeline under other rotations. Time base: the node's clock. Tests: at the end, `pipeline/tests`.

use super::Selective;
use crate::pipeline::{Adaptation, Beat, Cycles, Heard, Retune, Tally, Trial};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::TrialRun;

/// The most rotations that are tried.
const MAX_ROTATIONS: usize = 4;
/// Requests in a row without an answer after which the source looks elsewhere.
const TRIES: u8 = 6;
/// Packets of a round from which on it says something about its rotation.
const LEAST: u16 = 16;
/// Bytes that a NACK says: the rotation to go on with.
pub const SAID_BYTES: u8 = 1;

/// A node's idea of the rotation of the channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuner {
    base: Selective,
    run: TrialRun,
    /// How many there are: at most [`MAX_ROTATIONS`].
    rotations: u8,
    cycles: Cycles,
    /// How long before an SFD to retune.
    ahead: Duration,
    /// Run of the trial that this node listens in; as many as rotations when it is over.
    at_run: u8,
    /// After the trial.
    rotation: u8,
    /// The one before it, the first where to look for a pipeline that is not heard.
    before: u8,
    /// When the next packet is due, and which rotation holds then.
    change: Option<(Instant, u8)>,
    /// When to look elsewhere, and how long to wait there.
    look: Option<Instant>,
    patience: Duration,
    /// At the destination.
    scores: Option<Scores>,
}

impl Tuner {
    /// For a node whose channels and silence are `base`'s, by the schedule of `beat`; each rotation has
    /// `run` cycles of the trial. A node that hears nothing for an exchange looks elsewhere.
    pub fn new(base: Selective, run: TrialRun, beat: &Beat) -> Self {
        let channels = &base.fixed.channels;
        let (hops, stage) = (channels.hops(), base.fixed.stage);
        let rotations = channels.different().count().min(MAX_ROTATIONS) as u8;
        let cycles = Cycles::new(beat);
        let trial = u64::from(rotations) * u64::from(run.get());
        let ends = cycles.sfd_of(trial + u64::from(hops));
        Self {
            base,
            run,
            rotations,
            cycles,
            ahead: beat.ahead,
            // The source hears nothing before the trial is over.
            at_run: if stage == 0 { rotations } else { 0 },
            rotation: 0,
            before: 0,
            change: None,
            look: (stage > 0).then(|| ends + beat.silence),
            patience: beat.silence,
            scores: (stage == hops).then(|| Scores::new(run, rotations)),
        }
    }

    /// The rotation under which `stage` hears a frame whose SFD is at `sfd`.
    fn rotation_at(&self, stage: u8, sfd: Instant) -> u8 {
        let on_its_way = u64::from(stage.max(1) - 1);
        let cycle = self.cycles.at(sfd).saturating_sub(on_its_way);
        match u8::try_from(cycle / u64::from(self.run.get())) {
            Ok(run) if run < self.rotations => self.of_run(run),
            _ => self.rotation,
        }
    }
    /// Rotations count down to the route as it is: packets of two of them then meet on one channel three
    /// stages apart, not one.
    fn of_run(&self, run: u8) -> u8 {
        self.rotations.saturating_sub(run + 1)
    }
    /// The rotation under which this node listens.
    fn own_rotation(&self) -> u8 {
        match self.at_run < self.rotations {
            true => self.of_run(self.at_run),
            false => self.rotation,
        }
    }
    /// The channel of `stage` under `rotation`.
    fn turned(&self, stage: u8, rotation: u8) -> Channel {
        let channels = &self.base.fixed.channels;
        let (own, all) = (channels.of(stage), || channels.different());
        let place = all().position(|c| c == own).unwrap_or(0);
        let turned = (place + usize::from(rotation)) % all().count().max(1);
        all().nth(turned).unwrap_or(own)
    }
    /// Silence up to `from` says nothing.
    fn wait(&mut self, from: Instant) {
        self.look = self.look.map(|look| look.max(from + self.patience));
    }
    /// From `sfd` on, when the next packet is due here, `rotation` holds.
    fn change_to(&mut self, rotation: u8, sfd: Instant) {
        // A NACK of many frames, and its way, take long.
        self.wait(sfd);
        let changes = rotation < self.rotations && rotation != self.rotation;
        self.change = changes.then(|| (sfd.saturating_sub(self.ahead), rotation));
    }
    /// `rotation` holds from now on.
    fn turn_to(&mut self, rotation: u8) {
        if rotation < self.rotations && rotation != self.rotation {
            (self.before, self.rotation) = (self.rotation, rotation);
        }
    }
    /// Where else to look.
    fn other(&self) -> u8 {
        (self.own_rotation() + 1) % self.rotations.max(1)
    }
}

impl Adaptation for Tuner {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.turned(stage, self.rotation_at(stage, sfd))
    }
    fn listening(&self) -> Option<Channel> {
        Some(self.turned(self.base.fixed.stage, self.own_rotation()))
    }
    fn trial(&self, round: u16, _packets: u16) -> Option<Trial> {
        if round > 0 {
            return None;
        }
        let packets = u16::from(self.run.get()) * u16::from(self.rotations);
        let ends = self.cycles.sfd_of(u64::from(packets));
        Some(Trial { packets, ends })
    }
    fn passes_on(&self, what: Heard) -> bool {
        self.base.passes_on(what)
    }
    fn heard(&mut self, what: Heard, sfd: Instant) {
        self.base.heard(what, sfd);
        match what {
            Heard::Packet | Heard::Call => {
                let rotation = self.rotation_at(self.base.fixed.stage, sfd);
                if let Some(scores) = &mut self.scores {
                    scores.heard(rotation);
                }
                if self.at_run < self.rotations {
                    self.cycles.keep(sfd);
                }
            }
            Heard::Neighbour | Heard::Control | Heard::Count | Heard::Peer => {}
            Heard::Broken => return,
        }
        // The pipeline is here; what was heard came before a change.
        self.wait(self.change.map_or(sfd, |(at, _)| sfd.max(at)));
    }
    fn round_over(&mut self, round: u16, tally: Option<Tally>) {
        self.base.round_over(round, tally);
        if let (Some(scores), Some(tally)) = (&mut self.scores, tally) {
            scores.round_over(round, tally);
        }
    }
    fn say(&mut self, into: &mut [u8], due: Option<Instant>) {
        let best = self.scores.as_ref().map_or(0, Scores::best);
        into.fill(best);
        if let Some(due) = due {
            self.change_to(best, due);
        }
    }
    fn told(&mut self, said: &[u8], due: Instant) -> Retune {
        match said {
            [rotation, ..] if self.base.fixed.stage == 0 => {
                self.turn_to(*rotation);
                Retune::Now
            }
            [rotation, ..] => {
                self.change_to(*rotation, due);
                Retune::Stay
            }
            [] => Retune::Stay,
        }
    }
    fn unanswered(&mut self, tries: u8) -> Retune {
        if tries % TRIES != 0 || self.rotations <= 1 {
            return Retune::Stay;
        }
        self.turn_to(self.other());
        Retune::Now
    }
    fn next(&self) -> Option<Instant> {
        let run = (self.at_run < self.rotations).then(|| {
            let cycle = (u64::from(self.at_run) + 1) * u64::from(self.run.get());
            let on_its_way = u64::from(self.base.fixed.stage.max(1) - 1);
            let sfd = self.cycles.sfd_of(cycle + on_its_way);
            sfd.saturating_sub(self.ahead)
        });
        let change = self.change.map(|(at, _)| at);
        [run, change, self.look].into_iter().flatten().min()
    }
    fn advance(&mut self, at: Instant) -> Retune {
        let before = self.listening();
        while self.next().is_some_and(|next| next <= at) {
            if let Some((_, to)) = self.change.filter(|(due, _)| *due <= at) {
                self.change = None;
                self.turn_to(to);
                self.look = Some(at + self.patience);
            } else if self.look.is_some_and(|look| look <= at) {
                let is_lost = self.before == self.rotation;
                let other = if is_lost { self.other() } else { self.before };
                // Next time the one after it.
                (self.before, self.rotation) = (other, other);
                self.look = Some(at + self.patience);
            } else {
                self.at_run += 1;
            }
        }
        match self.listening() == before {
            true => Retune::Stay,
            false => Retune::Now,
        }
    }
}

/// What the destination knows of the rotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scores {
    run: TrialRun,
    rotations: u8,
    /// Packets heard in the trial, at most a run of each.
    heard: [u8; MAX_ROTATIONS],
    /// The rotation under which the last packet arrived.
    under: u8,
    /// Share of packets that arrived, in 256ths.
    share: [u16; MAX_ROTATIONS],
    /// When the last round was over; none in the trial.
    last: Option<Tally>,
}

impl Scores {
    /// Nothing known of `rotations`, each of which has `run` packets of the trial.
    const fn new(run: TrialRun, rotations: u8) -> Self {
        Self {
            run,
            rotations,
            heard: [0; MAX_ROTATIONS],
            under: 0,
            // What was not tried is worth a try.
            share: [256; MAX_ROTATIONS],
            last: None,
        }
    }
    /// A packet arrived under `rotation`.
    fn heard(&mut self, rotation: u8) {
        self.under = rotation;
        let heard = self.heard.get_mut(usize::from(rotation));
        if let (Some(heard), None) = (heard, self.last) {
            *heard = heard.saturating_add(1);
        }
    }
    /// Round `round`, the trial where it is 0, is over.
    fn round_over(&mut self, round: u16, tally: Tally) {
        if round == 0 {
            for (share, heard) in self.share.iter_mut().zip(self.heard) {
                *share = u16::from(heard) * 256 / u16::from(self.run.get());
            }
        } else {
            self.judge(tally);
        }
        self.last = Some(tally);
    }
    /// A round that lost more than a third is held against its rotation.
    fn judge(&mut self, tally: Tally) {
        let (received, missing) = (tally.received, tally.missing);
        let all = received.saturating_add(missing);
        let (before, wanted) = match self.last {
            Some(last) => (last.received, last.missing),
            None => (0, all),
        };
        let came = u32::from(received.saturating_sub(before));
        let lost_much = came * 3 < u32::from(wanted) * 2;
        if let Some(share) = self.share.get_mut(usize::from(self.under)) {
            if wanted >= LEAST && lost_much {
                *share = (came * 256 / u32::from(wanted)) as u16;
            }
        }
    }
    /// The best of them; the lowest of several.
    fn best(&self) -> u8 {
        let tried = self.share.iter().zip(0..self.rotations);
        let best = tried.rev().max_by_key(|(share, _)| **share);
        best.map_or(0, |(_, rotation)| rotation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Fixed;
    use std::vec::Vec;
    use thalweg_units::NodeId;
    use thalweg_wire::route::{Channels, Place, Route, Scheme};

    const CYCLE: Duration = Duration::from_micros(4_537);
    const PATIENCE: Duration = Duration::from_millis(40);

    fn id(n: u16) -> NodeId {
        NodeId::new(n).unwrap()
    }
    fn start() -> Instant {
        Instant::from_nanos(1_000_000_000)
    }
    fn tuner(stage: u8) -> Tuner {
        let run = TrialRun::new(10).unwrap();
        let list = [20, 26, 15, 25, 20, 26].map(|c| Channel::new(c).unwrap());
        let channels = Channels::new(&list).unwrap();
        let route = Route::new(1, id(5), id(0), Scheme::P3, channels);
        let fixed = Fixed { channels, stage };
        let beat = Beat {
            start: start(),
            cycle: CYCLE,
            ahead: Duration::from_micros(400),
            silence: PATIENCE,
        };
        Tuner::new(Selective::new(&route, Place::Source, fixed), run, &beat)
    }

    #[test]
    fn everyone_follows_the_packets_through_the_trial() {
        for stage in 1..=5u8 {
            let mut tuner = tuner(stage);
            for packet in 0..60u64 {
                let sfd = start() + CYCLE * (packet + u64::from(stage) - 1);
                let _ = tuner.advance(sfd.saturating_sub(Duration::from_micros(200)));
                tuner.heard(Heard::Neighbour, sfd);
                let rotation = 3u8.saturating_sub((packet / 10) as u8);
                assert_eq!(tuner.rotation_at(stage, sfd), rotation, "{packet}");
                assert_eq!(
                    tuner.listening(),
                    Some(tuner.channel(stage, sfd)),
                    "{packet}"
                );
                // Who sends to it agrees.
                let sender = super::tests::tuner(stage - 1);
                assert_eq!(Some(sender.channel(stage, sfd)), tuner.listening());
            }
            assert_eq!(tuner.listening(), Some(tuner.base.fixed.channels.of(stage)));
        }
    }

    #[test]
    fn stages_that_differ_go_on_differing() {
        let tuner = tuner(2);
        for rotation in 0..4 {
            let turned: Vec<Channel> = (0..6).map(|s| tuner.turned(s, rotation)).collect();
            for (i, a) in turned.iter().enumerate() {
                for (j, b) in turned.iter().enumerate() {
                    assert_eq!(a == b, i % 4 == j % 4);
                }
            }
        }
    }

    #[test]
    fn who_hears_nothing_looks_everywhere_beginning_where_it_was() {
        let mut tuner = tuner(3);
        let after = tuner.trial(0, 500).unwrap().ends + CYCLE * 2;
        let _ = tuner.advance(after);
        tuner.heard(Heard::Control, after);
        let _ = tuner.told(&[2], after + CYCLE);
        let _ = tuner.advance(after + CYCLE);
        assert_eq!(tuner.rotation, 2);
        let mut found = Vec::new();
        for _ in 0..5 {
            let next = tuner.next().unwrap();
            assert!(next > after);
            let _ = tuner.advance(next);
            found.push(tuner.rotation);
        }
        assert_eq!(found, [0, 1, 2, 3, 0]);
    }

    fn over(scores: &mut Scores, round: u16, received: u16, missing: u16) {
        let tally = Tally {
            received,
            missing,
            sent: received + missing,
        };
        scores.round_over(round, tally);
    }

    #[test]
    fn the_best_is_kept_until_it_does_badly() {
        let mut scores = Scores::new(TrialRun::DEFAULT, 4);
        for (rotation, heard) in [(0, 14), (1, 16), (2, 15), (3, 9)] {
            (0..heard).for_each(|_| scores.heard(rotation));
        }
        over(&mut scores, 0, 54, 446);
        assert_eq!(scores.best(), 1);
        scores.heard(1);
        over(&mut scores, 1, 54 + 400, 46);
        assert_eq!(scores.best(), 1, "one in ten lost is not much");
        scores.heard(1);
        over(&mut scores, 2, 454 + 20, 26);
        assert_eq!(scores.best(), 2);
        scores.heard(2);
        over(&mut scores, 3, 474 + 15, 11);
        assert_eq!(scores.best(), 0);
        scores.heard(0);
        over(&mut scores, 4, 489, 11);
        assert_eq!(scores.best(), 0, "too few to say anything");
        // What comes after the trial is no part of it.
        assert_eq!(scores.heard[1], 16);
    }
}
