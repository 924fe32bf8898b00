//! Learning during a transfer which channels do best (P3, section VI: "the best channel" is left to the
//! future).
//!
//! The channels of a route can be handed round: rotation r gives each stage the channel that is r places
//! further in the sequence of those that the route uses, so stages that differ go on differing. In a trial
//! with the first packets they travel under each rotation in turn, changed by the clock: what arrives tells
//! the destination which is best ([`Scores`]), and its NACK tells everyone. Who hears nothing any more looks
//! for the pipeline under other rotations. Time base: the node's clock. Tests: at the end, `pipeline/tests`.

use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::{Channels, TrialRun};

/// The most rotations that are tried.
pub const MAX_ROTATIONS: usize = 4;
/// Requests in a row without an answer after which the source looks elsewhere.
const TRIES: u8 = 6;
/// Packets of a round from which on it says something about its rotation.
const LEAST: u16 = 16;

/// How many rotations of `channels` are tried, 1..=[`MAX_ROTATIONS`].
pub fn rotations(channels: &Channels) -> u8 {
    channels.different().count().min(MAX_ROTATIONS) as u8
}

/// Cycles of a trial in which each rotation of `channels` has `run` cycles.
pub fn trial_cycles(run: TrialRun, channels: &Channels) -> u16 {
    u16::from(run.get()) * u16::from(rotations(channels))
}

/// A node's idea of the rotation of the channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuner {
    run: TrialRun,
    channels: Channels,
    /// How many there are: at most [`MAX_ROTATIONS`].
    rotations: u8,
    stage: u8,
    cycle: Duration,
    /// How long before an SFD to retune.
    ahead: Duration,
    /// SFD of a frame of the source in cycle `anchor_cycle`.
    anchor: Instant,
    anchor_cycle: u64,
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
}

impl Tuner {
    /// For a node at `stage` whose source sends a frame every `cycle`, the first with its SFD at `start`,
    /// retuning `ahead` of SFDs; each rotation has `run` cycles of the trial. A node that hears nothing
    /// for `patience` looks elsewhere.
    pub fn new(
        channels: Channels,
        stage: u8,
        (start, cycle): (Instant, Duration),
        run: TrialRun,
        ahead: Duration,
        patience: Duration,
    ) -> Self {
        let rotations = rotations(&channels);
        let cycles = u64::from(trial_cycles(run, &channels));
        let ends = start + cycle * (cycles + u64::from(channels.hops()));
        Self {
            run,
            channels,
            rotations,
            stage,
            cycle,
            ahead,
            anchor: start,
            anchor_cycle: 0,
            // The source hears nothing before the trial is over.
            at_run: if stage == 0 { rotations } else { 0 },
            rotation: 0,
            before: 0,
            change: None,
            look: (stage > 0).then(|| ends + patience),
            patience,
        }
    }

    /// The rotation under which `stage` hears a frame whose SFD is at `sfd`.
    pub fn rotation_at(&self, stage: u8, sfd: Instant) -> u8 {
        let cycle = self
            .cycle_at(sfd)
            .saturating_sub(u64::from(stage.max(1) - 1));
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
    fn cycle_at(&self, sfd: Instant) -> u64 {
        let half = self.cycle / 2;
        if sfd >= self.anchor {
            self.anchor_cycle + (sfd.since(self.anchor) + half) / self.cycle
        } else {
            let back = (self.anchor.since(sfd) + half) / self.cycle;
            self.anchor_cycle.saturating_sub(back)
        }
    }

    /// On which channel `stage` hears a frame whose SFD is at `sfd`.
    pub fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.turned(stage, self.rotation_at(stage, sfd))
    }
    /// The channel on which this node listens.
    pub fn own_channel(&self) -> Channel {
        self.turned(self.stage, self.own_rotation())
    }
    /// The rotation under which this node listens.
    fn own_rotation(&self) -> u8 {
        if self.at_run < self.rotations {
            self.of_run(self.at_run)
        } else {
            self.rotation
        }
    }
    /// The channel of `stage` under `rotation`.
    fn turned(&self, stage: u8, rotation: u8) -> Channel {
        let own = self.channels.of(stage);
        let all = || self.channels.different();
        let place = all().position(|c| c == own).unwrap_or(0);
        let turned = (place + usize::from(rotation)) % all().count().max(1);
        all().nth(turned).unwrap_or(own)
    }

    /// SFD at the source of the first frame after the trial.
    pub fn trial_ends(&self) -> Instant {
        let cycles = u64::from(trial_cycles(self.run, &self.channels));
        self.anchor + self.cycle * cycles.saturating_sub(self.anchor_cycle)
    }

    /// A frame of a neighbouring stage had its SFD at `sfd`: the pipeline is here.
    pub fn heard(&mut self, sfd: Instant) {
        let from = match self.change {
            // What was heard came before the change.
            Some((at, _)) => sfd.max(at),
            None => sfd,
        };
        self.wait(from);
    }
    /// Silence up to `from` says nothing.
    fn wait(&mut self, from: Instant) {
        self.look = self.look.map(|look| look.max(from + self.patience));
    }
    /// A data frame for this node had its SFD at `sfd`: a time base for the trial.
    pub fn tick(&mut self, sfd: Instant) {
        if self.at_run < self.rotations {
            (self.anchor_cycle, self.anchor) = (self.cycle_at(sfd), sfd);
        }
    }
    /// A NACK said that from `sfd` on, when the next packet is due here, `rotation` holds.
    pub fn told(&mut self, rotation: u8, sfd: Instant) {
        // A NACK of many frames, and its way, take long.
        self.wait(sfd);
        let changes = rotation < self.rotations && rotation != self.rotation;
        self.change = changes.then(|| (sfd.saturating_sub(self.ahead), rotation));
    }
    /// `rotation` holds from now on.
    pub fn turn_to(&mut self, rotation: u8) {
        if rotation < self.rotations && rotation != self.rotation {
            (self.before, self.rotation) = (self.rotation, rotation);
        }
    }
    /// The source has asked `tries` times in vain; whether it looks elsewhere.
    pub fn unanswered(&mut self, tries: u8) -> bool {
        let elsewhere = tries % TRIES == 0 && self.rotations > 1;
        if elsewhere {
            self.turn_to(self.other());
        }
        elsewhere
    }
    /// Where else to look.
    fn other(&self) -> u8 {
        (self.own_rotation() + 1) % self.rotations.max(1)
    }

    /// When to call [`Tuner::advance`] next.
    pub fn next(&self) -> Option<Instant> {
        let run = (self.at_run < self.rotations).then(|| {
            let cycle = (u64::from(self.at_run) + 1) * u64::from(self.run.get());
            let cycle = cycle + u64::from(self.stage - self.stage.min(1));
            let sfd = if cycle >= self.anchor_cycle {
                self.anchor + self.cycle * (cycle - self.anchor_cycle)
            } else {
                self.anchor
            };
            sfd.saturating_sub(self.ahead)
        });
        let change = self.change.map(|(at, _)| at);
        [run, change, self.look].into_iter().flatten().min()
    }
    /// Does what is due at `at`; whether to listen on another channel then.
    pub fn advance(&mut self, at: Instant) -> bool {
        let before = self.own_channel();
        while self.next().is_some_and(|next| next <= at) {
            if let Some((_, to)) = self.change.filter(|(due, _)| *due <= at) {
                self.change = None;
                self.turn_to(to);
                self.look = Some(at + self.patience);
            } else if self.look.is_some_and(|look| look <= at) {
                let other = if self.before == self.rotation {
                    self.other()
                } else {
                    self.before
                };
                // Next time the one after it.
                (self.before, self.rotation) = (other, other);
                self.look = Some(at + self.patience);
            } else {
                self.at_run += 1;
            }
        }
        self.own_channel() != before
    }
}

/// What the destination knows of the rotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scores {
    run: TrialRun,
    rotations: u8,
    /// Packets heard in the trial, at most a run of each.
    heard: [u8; MAX_ROTATIONS],
    /// The rotation under which the last packet arrived.
    under: u8,
    /// Share of packets that arrived, in 256ths.
    share: [u16; MAX_ROTATIONS],
    /// Received when the last round was over, and missing then; none in the trial.
    last: Option<(u16, u16)>,
}

impl Scores {
    /// Nothing known of `rotations`, each of which has `run` packets of the trial.
    pub const fn new(run: TrialRun, rotations: u8) -> Self {
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
    pub fn heard(&mut self, rotation: u8) {
        self.under = rotation;
        let heard = self.heard.get_mut(usize::from(rotation));
        if let (Some(heard), None) = (heard, self.last) {
            *heard = heard.saturating_add(1);
        }
    }
    /// Round `round`, the trial where it is 0, is over; `received` packets are there and `missing` not.
    pub fn round_over(&mut self, round: u16, received: u16, missing: u16) {
        if round == 0 {
            for (share, heard) in self.share.iter_mut().zip(self.heard) {
                *share = u16::from(heard) * 256 / u16::from(self.run.get());
            }
        } else {
            self.judge(received, missing);
        }
        self.last = Some((received, missing));
    }
    /// A round that lost more than a third is held against its rotation.
    fn judge(&mut self, received: u16, missing: u16) {
        let all = received.saturating_add(missing);
        let (before, wanted) = self.last.unwrap_or((0, all));
        let came = u32::from(received.saturating_sub(before));
        let lost_much = came * 3 < u32::from(wanted) * 2;
        if let Some(share) = self.share.get_mut(usize::from(self.under)) {
            if wanted >= LEAST && lost_much {
                *share = (came * 256 / u32::from(wanted)) as u16;
            }
        }
    }
    /// The best of them; the lowest of several.
    pub fn best(&self) -> u8 {
        let mut best = 0u8;
        for rotation in 1..self.rotations.min(MAX_ROTATIONS as u8) {
            if self.share[usize::from(rotation)] > self.share[usize::from(best)] {
                best = rotation;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const CYCLE: Duration = Duration::from_micros(4_537);
    const PATIENCE: Duration = Duration::from_millis(40);

    fn start() -> Instant {
        Instant::from_nanos(1_000_000_000)
    }
    fn tuner(stage: u8) -> Tuner {
        let run = TrialRun::new(10).unwrap();
        let list = [20, 26, 15, 25, 20, 26].map(|c| Channel::new(c).unwrap());
        let channels = Channels::new(&list).unwrap();
        let ahead = Duration::from_micros(400);
        Tuner::new(channels, stage, (start(), CYCLE), run, ahead, PATIENCE)
    }

    #[test]
    fn everyone_follows_the_packets_through_the_trial() {
        for stage in 1..=5u8 {
            let mut tuner = tuner(stage);
            for packet in 0..60u64 {
                let sfd = start() + CYCLE * (packet + u64::from(stage) - 1);
                tuner.advance(sfd.saturating_sub(Duration::from_micros(200)));
                tuner.heard(sfd);
                let rotation = 3u8.saturating_sub((packet / 10) as u8);
                assert_eq!(tuner.rotation_at(stage, sfd), rotation, "{packet}");
                assert_eq!(tuner.own_channel(), tuner.channel(stage, sfd), "{packet}");
                // Who sends to it agrees.
                let sender = super::tests::tuner(stage - 1);
                assert_eq!(sender.channel(stage, sfd), tuner.own_channel());
            }
            assert_eq!(tuner.own_channel(), tuner.channels.of(stage));
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
        let after = tuner.trial_ends() + CYCLE * 2;
        tuner.advance(after);
        tuner.heard(after);
        tuner.told(2, after + CYCLE);
        tuner.advance(after + CYCLE);
        assert_eq!(tuner.rotation, 2);
        let mut found = Vec::new();
        for _ in 0..5 {
            let next = tuner.next().unwrap();
            assert!(next > after);
            tuner.advance(next);
            found.push(tuner.rotation);
        }
        assert_eq!(found, [0, 1, 2, 3, 0]);
    }

    #[test]
    fn the_best_is_kept_until_it_does_badly() {
        let mut scores = Scores::new(TrialRun::DEFAULT, 4);
        for (rotation, heard) in [(0, 14), (1, 16), (2, 15), (3, 9)] {
            (0..heard).for_each(|_| scores.heard(rotation));
        }
        scores.round_over(0, 54, 446);
        assert_eq!(scores.best(), 1);
        scores.heard(1);
        scores.round_over(1, 54 + 400, 46);
        assert_eq!(scores.best(), 1, "one in ten lost is not much");
        scores.heard(1);
        scores.round_over(2, 454 + 20, 26);
        assert_eq!(scores.best(), 2);
        scores.heard(2);
        scores.round_over(3, 474 + 15, 11);
        assert_eq!(scores.best(), 0);
        scores.heard(0);
        scores.round_over(4, 489, 11);
        assert_eq!(scores.best(), 0, "too few to say anything");
        assert_eq!(
            scores.heard[1], 16,
            "what comes after the trial is no part of it"
        );
    }
}
