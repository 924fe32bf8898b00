//! Learning during a transfer which channels do best at which stages (P3, section VI: "the best
//! channel" is left to the future).
//!
//! The channels of a route can be handed round: rotation r gives each stage the channel that is r
//! places further in the sequence of those that the route uses, so stages that differ go on differing;
//! other orders: `arrangement`. In a trial packets travel under each rotation of an order in turn, changed
//! by the clock: what arrives tells the destination which is best (`Scores`, `yields`), and its NACK
//! tells everyone. Who hears nothing any more looks for the pipeline under other rotations, so nobody is
//! lost by a lost NACK. Time base: the node's clock. Rotations count down in a trial: packets of two of
//! them then meet on one channel three stages apart, not one. Tests: at the end, and `pipeline/tests`.

use super::arrangement::{sequence, Arrangements};
use super::directions::{Directions, Stretch};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::{Channels, TrialRun};

/// The most rotations that are tried.
pub const MAX_ROTATIONS: usize = 4;
/// Requests in a row without an answer after which the source looks elsewhere.
const TRIES: u8 = 6;
/// The same where there are arrangements: a request tells which it is, and whoever looks for the
/// pipeline finds a source that stays sooner than one that looks as well.
const STAYING_TRIES: u8 = 24;
/// Packets of a round from which on it says something about its rotation.
const LEAST: u16 = 16;

/// What a transfer tries of its channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tuning {
    /// Rotations of the route's order, each for so many cycles, with the first packets.
    Rotations(TrialRun),
    /// The same, and rotations of other orders where the destination says so.
    Arrangements(TrialRun),
}

impl Tuning {
    /// How many settings there are of a route of `channels`.
    fn settings(self, channels: &Channels) -> u8 {
        match self {
            Self::Rotations(_) => self.rotations(channels),
            Self::Arrangements(_) => Arrangements::of(channels).count(),
        }
    }
    /// How many of them are tried at a time.
    pub fn rotations(self, channels: &Channels) -> u8 {
        sequence(channels).count().min(MAX_ROTATIONS) as u8
    }
    /// Cycles of each.
    pub const fn run(self) -> u8 {
        match self {
            Self::Rotations(run) | Self::Arrangements(run) => run.get(),
        }
    }
    /// Cycles of a trial.
    pub fn cycles(self, channels: &Channels) -> u16 {
        u16::from(self.run()) * u16::from(self.rotations(channels))
    }
}

/// What is to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Setting,
    /// A trial of this order begins.
    Trial(u8),
}

/// A node's idea of the setting of the channels: a rotation or an arrangement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuner {
    tuning: Tuning,
    channels: Channels,
    arrangements: Arrangements,
    /// How many settings there are, and how many of them in a trial: at most [`MAX_ROTATIONS`].
    settings: u8,
    rotations: u8,
    /// The order of the last trial.
    order: u8,
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
    setting: u8,
    /// The one before it, the first where to look for a pipeline that is not heard.
    before: u8,
    /// When the next packet is due, what is told of it and which setting holds then.
    change: Option<(Instant, Change, u8)>,
    /// When to look elsewhere, and how long to wait there.
    look: Option<Instant>,
    patience: Duration,
    /// What was told last, whatever was found since.
    told: u8,
}

impl Tuner {
    /// For a node at `stage` whose source sends a frame every `cycle`, the first with its SFD at `start`,
    /// retuning `ahead` of SFDs; with a trial as `tuning` says. A node that hears nothing for `patience`
    /// looks elsewhere.
    pub fn new(
        channels: Channels,
        stage: u8,
        (start, cycle): (Instant, Duration),
        tuning: Tuning,
        ahead: Duration,
        patience: Duration,
    ) -> Self {
        let mut tuner = Self {
            tuning,
            channels,
            arrangements: Arrangements::of(&channels),
            settings: tuning.settings(&channels),
            rotations: tuning.rotations(&channels),
            order: 0,
            stage,
            cycle,
            ahead,
            anchor: start,
            anchor_cycle: 0,
            at_run: 0,
            setting: 0,
            before: 0,
            change: None,
            look: None,
            patience,
            told: 0,
        };
        tuner.begin(0, (start, 0));
        tuner
    }
    /// A trial of `order` begins, in whose cycle `cycle` a frame of the source has its SFD at `sfd`.
    fn begin(&mut self, order: u8, (sfd, cycle): (Instant, u64)) {
        self.order = order;
        (self.anchor, self.anchor_cycle) = (sfd, cycle);
        // The source hears nothing before the trial is over.
        self.at_run = if self.stage == 0 { self.rotations } else { 0 };
        let cycles = u64::from(self.tuning.cycles(&self.channels));
        let ends = sfd + self.cycle * (cycles + u64::from(self.channels.hops()) - cycle);
        self.look = (self.stage > 0).then(|| ends + self.patience);
    }

    /// The setting under which `stage` hears a frame whose SFD is at `sfd`.
    pub fn setting_at(&self, stage: u8, sfd: Instant) -> u8 {
        let cycle = self
            .cycle_at(sfd)
            .saturating_sub(u64::from(stage.max(1) - 1));
        match u8::try_from(cycle / u64::from(self.tuning.run())) {
            Ok(run) if run < self.rotations => self.of_run(run),
            _ => self.setting,
        }
    }
    /// Rotations count down, those of the route's own order to the route as it is.
    fn of_run(&self, run: u8) -> u8 {
        self.order * self.rotations + self.rotations.saturating_sub(run + 1)
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
        self.set(stage, self.setting_at(stage, sfd))
    }
    /// The channel on which this node listens.
    pub fn own_channel(&self) -> Channel {
        let setting = if self.at_run < self.rotations {
            self.of_run(self.at_run)
        } else {
            self.setting
        };
        self.set(self.stage, setting)
    }
    /// The channel of `stage` under `setting`.
    fn set(&self, stage: u8, setting: u8) -> Channel {
        let own = self.channels.of(stage);
        match self.tuning {
            Tuning::Rotations(_) => {
                let place = sequence(&self.channels).position(|c| c == own).unwrap_or(0);
                let all = sequence(&self.channels).count();
                let turned = (place + usize::from(setting)) % all.max(1);
                sequence(&self.channels).nth(turned).unwrap_or(own)
            }
            Tuning::Arrangements(_) => self.arrangements.channel(own, setting),
        }
    }

    /// SFD at the source of the first frame after the trial.
    pub fn trial_ends(&self) -> Instant {
        let cycles = u64::from(self.tuning.cycles(&self.channels));
        self.anchor + self.cycle * cycles.saturating_sub(self.anchor_cycle)
    }
    /// Whether the channel of the next stage is known: who looked for the pipeline and found its own channel
    /// knows which rotation of the route's order it may be, but not which arrangement it is.
    pub const fn knows_the_way(&self) -> bool {
        self.setting == self.told || self.order == 0
    }
    /// The setting after the trial.
    pub const fn setting(&self) -> u8 {
        self.setting
    }

    /// A frame of a neighbouring stage had its SFD at `sfd`: the pipeline is here.
    pub fn heard(&mut self, sfd: Instant) {
        let from = match self.change {
            // What was heard came before the change.
            Some((at, ..)) => sfd.max(at),
            None => sfd,
        };
        self.look = self.look.map(|look| look.max(from + self.patience));
    }
    /// A data frame for this node had its SFD at `sfd`: a time base for the trial.
    pub fn tick(&mut self, sfd: Instant) {
        if self.at_run < self.rotations {
            (self.anchor_cycle, self.anchor) = (self.cycle_at(sfd), sfd);
        }
    }
    /// A NACK told how to go on from `sfd` on, when the next packet is due here.
    pub fn directed(&mut self, told: &Directions, sfd: Instant) {
        // Until then silence says nothing: a NACK of many frames, and its way, take long.
        self.look = self.look.map(|look| look.max(sfd + self.patience));
        match told.next {
            Stretch::Order(order) => self.told_to_try(order, told.setting, sfd),
            Stretch::Speakers | Stretch::Silences(_) | Stretch::Packets(_) | Stretch::All => {
                self.told(told.setting, sfd);
            }
        }
    }
    /// A NACK said that from `sfd` on, when the next packet is due here, `setting` holds.
    pub fn told(&mut self, setting: u8, sfd: Instant) {
        let changes = setting < self.settings && setting != self.setting;
        self.change = changes.then(|| (sfd.saturating_sub(self.ahead), Change::Setting, setting));
    }
    /// A NACK said that from `sfd` on, when the next packet is due here, the rotations of `order` are
    /// tried; afterwards `setting` holds.
    pub fn told_to_try(&mut self, order: u8, setting: u8, sfd: Instant) {
        if order < self.arrangements.orders() && setting < self.settings {
            self.change = Some((
                sfd.saturating_sub(self.ahead),
                Change::Trial(order),
                setting,
            ));
        }
    }
    /// The source tries the rotations of `order` from `sfd` on, and afterwards `setting` holds.
    pub fn try_order(&mut self, order: u8, setting: u8, sfd: Instant) {
        self.turn_to(setting);
        if order < self.arrangements.orders() {
            self.begin(order, (sfd, 0));
        }
    }
    /// `setting` holds from now on.
    pub fn turn_to(&mut self, setting: u8) {
        if setting < self.settings && setting != self.setting {
            (self.before, self.setting) = (self.setting, setting);
        }
    }
    /// The source says that `setting` holds for it: so it does, whatever a NACK said that it may have
    /// missed. Whether to listen on another channel.
    pub fn holds(&mut self, setting: u8) -> bool {
        let before = self.own_channel();
        self.change = None;
        self.told = setting;
        self.turn_to(setting);
        self.own_channel() != before
    }
    /// The source has asked `tries` times in vain.
    pub fn unanswered(&mut self, tries: u8) -> bool {
        let most = match self.tuning {
            Tuning::Rotations(_) => TRIES,
            Tuning::Arrangements(_) => STAYING_TRIES,
        };
        let elsewhere = tries % most == 0 && self.settings > 1;
        if elsewhere {
            let returns =
                matches!(self.tuning, Tuning::Arrangements(_)) && self.before != self.setting;
            if returns {
                // Where the last exchange was, and where everyone looks first who hears nothing.
                self.setting = self.before;
            } else {
                self.turn_to(self.other());
                if matches!(self.tuning, Tuning::Arrangements(_)) {
                    self.before = self.setting;
                }
            }
        }
        elsewhere
    }
    /// Where else to look: rotations of the route's own order have this node on every channel.
    fn other(&self) -> u8 {
        let own = self.own_channel();
        let here = (0..self.pool()).find(|r| self.set(self.stage, *r) == own);
        (here.unwrap_or(self.setting) + 1) % self.pool()
    }
    /// `setting`, or what was told last where this node hears on the same channel.
    fn as_told(&self, setting: u8) -> u8 {
        if self.set(self.stage, setting) == self.set(self.stage, self.told) {
            self.told
        } else {
            setting
        }
    }
    /// How many rotations of the route's own order there are.
    fn pool(&self) -> u8 {
        let rotations = match self.tuning {
            Tuning::Rotations(_) => self.settings,
            Tuning::Arrangements(_) => self.arrangements.pool(),
        };
        rotations.max(1)
    }

    /// When to call [`Tuner::advance`] next.
    pub fn next(&self) -> Option<Instant> {
        let run = (self.at_run < self.rotations).then(|| {
            let cycle = (u64::from(self.at_run) + 1) * u64::from(self.tuning.run());
            let cycle = cycle + u64::from(self.stage - self.stage.min(1));
            let sfd = if cycle >= self.anchor_cycle {
                self.anchor + self.cycle * (cycle - self.anchor_cycle)
            } else {
                self.anchor
            };
            sfd.saturating_sub(self.ahead)
        });
        let change = self.change.map(|(at, ..)| at);
        [run, change, self.look].into_iter().flatten().min()
    }
    /// Does what is due at `at`; whether to listen on another channel then.
    pub fn advance(&mut self, at: Instant) -> bool {
        let before = self.own_channel();
        while self.next().is_some_and(|next| next <= at) {
            if let Some((due, what, to)) = self.change.filter(|(due, ..)| *due <= at) {
                self.change = None;
                self.told = to;
                self.turn_to(to);
                self.look = Some(at + self.patience);
                if let Change::Trial(order) = what {
                    let first = u64::from(self.stage - self.stage.min(1));
                    self.begin(order, (due + self.ahead, first));
                }
            } else if self.look.is_some_and(|look| look <= at) {
                let other = self.as_told(if self.before == self.setting {
                    self.other()
                } else {
                    self.before
                });
                // Next time the one after it.
                (self.before, self.setting) = (other, other);
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
    rotations: u8,
    /// Packets heard in the trial.
    heard: [u16; MAX_ROTATIONS],
    /// Share of packets that arrived, in 256ths.
    share: [u16; MAX_ROTATIONS],
    /// Received when the last round was over, and missing then.
    last: Option<(u16, u16)>,
}

impl Scores {
    /// Nothing known of `rotations`.
    pub const fn new(rotations: u8) -> Self {
        Self {
            rotations,
            heard: [0; MAX_ROTATIONS],
            // What was not tried is worth a try.
            share: [256; MAX_ROTATIONS],
            last: None,
        }
    }
    /// A packet of the trial arrived under `rotation`.
    pub fn heard(&mut self, rotation: u8) {
        if let Some(heard) = self.heard.get_mut(usize::from(rotation)) {
            *heard = heard.saturating_add(1);
        }
    }
    /// The trial of `run` packets for each rotation is over, after which `received` packets are there
    /// and `missing` not.
    pub fn trial_over(&mut self, run: u8, received: u16, missing: u16) {
        self.last = Some((received, missing));
        for (share, heard) in self.share.iter_mut().zip(self.heard) {
            *share = heard.saturating_mul(256) / u16::from(run.max(1));
        }
    }
    /// A round under `rotation` is over, after which `received` packets are there and `missing` not:
    /// one that lost more than a third is held against it.
    pub fn round_over(&mut self, rotation: u8, received: u16, missing: u16) {
        let all = received.saturating_add(missing);
        let (before, wanted) = self.last.unwrap_or((0, all));
        let came = u32::from(received.saturating_sub(before));
        let lost_much = came * 3 < u32::from(wanted) * 2;
        if let Some(share) = self.share.get_mut(usize::from(rotation)) {
            if wanted >= LEAST && lost_much {
                *share = (came * 256 / u32::from(wanted)) as u16;
            }
        }
        self.last = Some((received, missing));
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
    use std::collections::BTreeSet;
    use std::vec::Vec;

    const CYCLE: Duration = Duration::from_micros(4_537);
    const PATIENCE: Duration = Duration::from_millis(40);

    fn start() -> Instant {
        Instant::from_nanos(1_000_000_000)
    }
    fn tuner(stage: u8) -> Tuner {
        let run = TrialRun::new(10).unwrap();
        with(Tuning::Rotations(run), stage)
    }
    fn with(tuning: Tuning, stage: u8) -> Tuner {
        let list = [20, 26, 15, 25, 20, 26].map(|c| Channel::new(c).unwrap());
        let channels = Channels::new(&list).unwrap();
        let ahead = Duration::from_micros(400);
        Tuner::new(channels, stage, (start(), CYCLE), tuning, ahead, PATIENCE)
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
                assert_eq!(tuner.setting_at(stage, sfd), rotation, "{packet}");
                assert_eq!(tuner.own_channel(), tuner.channel(stage, sfd), "{packet}");
                // Who sends to it agrees.
                let sender = super::tests::tuner(stage - 1);
                assert_eq!(sender.channel(stage, sfd), tuner.own_channel());
            }
            assert_eq!(tuner.own_channel(), tuner.channels.of(stage));
        }
    }

    #[test]
    fn everyone_follows_a_trial_that_a_nack_tells() {
        let tuning = Tuning::Arrangements(TrialRun::new(10).unwrap());
        let begins = start() + CYCLE * 100;
        let mut source = with(tuning, 0);
        source.try_order(2, 5, begins);
        for stage in 1..=5u8 {
            let mut node = with(tuning, stage);
            node.advance(begins.saturating_sub(CYCLE));
            node.told_to_try(2, 5, begins + CYCLE * u64::from(stage - 1));
            for packet in 0..60u64 {
                // Late by what a round is late whose last NACK frame was lost.
                let late = Duration::from_micros(440);
                let sfd = begins + CYCLE * (packet + u64::from(stage) - 1) + late;
                node.advance(sfd.saturating_sub(Duration::from_micros(200)));
                node.heard(sfd);
                node.tick(sfd);
                let setting = match packet {
                    0..40 => 11 - (packet / 10) as u8,
                    _ => 5,
                };
                assert_eq!(node.setting_at(stage, sfd), setting, "{packet}");
                assert_eq!(node.own_channel(), node.set(stage, setting), "{packet}");
                assert_eq!(source.channel(stage, sfd), node.own_channel(), "{packet}");
            }
        }
        assert_eq!(source.trial_ends(), begins + CYCLE * 40);
    }

    #[test]
    fn what_the_source_says_holds() {
        let mut node = with(Tuning::Arrangements(TrialRun::DEFAULT), 3);
        let after = node.trial_ends() + CYCLE * 3;
        node.advance(after);
        node.told(11, after + CYCLE * 9);
        assert!(node.holds(6));
        node.advance(after + CYCLE * 9);
        assert_eq!(node.setting(), 6, "what was to come is forgotten");
    }

    #[test]
    fn who_strayed_knows_the_way_only_where_there_is_one_order() {
        let mut node = with(Tuning::Arrangements(TrialRun::DEFAULT), 3);
        let mut at = node.trial_ends() + CYCLE * 3;
        node.advance(at);
        let mut stray = |node: &mut Tuner| {
            // After its patience.
            at = node.next().unwrap().max(at) + CYCLE;
            node.advance(at);
            at
        };
        stray(&mut node);
        assert!(node.setting() != 0 && node.knows_the_way());
        // Once another order was tried, its channel may be that of several arrangements.
        let sfd = stray(&mut node);
        node.told_to_try(2, 6, sfd);
        while node.setting() != 6 {
            stray(&mut node);
        }
        assert!(node.knows_the_way());
        let over = node.trial_ends() + CYCLE * 3;
        node.advance(over);
        node.heard(over);
        let mut found = BTreeSet::new();
        for _ in 0..8 {
            stray(&mut node);
            let as_told = node.own_channel() == node.set(3, 6);
            assert_eq!(node.knows_the_way(), as_told, "{}", node.setting());
            found.insert(node.own_channel());
        }
        assert_eq!(found.len(), 4);
        assert!(!node.knows_the_way() || node.holds(9));
        node.holds(9);
        assert!(node.knows_the_way());
    }

    #[test]
    fn stages_that_differ_go_on_differing() {
        let tuner = tuner(2);
        for rotation in 0..4 {
            let turned: Vec<Channel> = (0..6).map(|s| tuner.set(s, rotation)).collect();
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
        assert_eq!(tuner.setting(), 2);
        let mut found = Vec::new();
        for _ in 0..5 {
            let next = tuner.next().unwrap();
            assert!(next > after);
            tuner.advance(next);
            found.push(tuner.setting());
        }
        assert_eq!(found, [0, 1, 2, 3, 0]);
    }

    #[test]
    fn the_best_is_kept_until_it_does_badly() {
        let mut scores = Scores::new(4);
        for (rotation, heard) in [(0, 14), (1, 16), (2, 15), (3, 9)] {
            (0..heard).for_each(|_| scores.heard(rotation));
        }
        scores.trial_over(16, 54, 446);
        assert_eq!(scores.best(), 1);
        scores.round_over(1, 54 + 400, 46);
        assert_eq!(scores.best(), 1, "one in ten lost is not much");
        scores.round_over(1, 454 + 20, 26);
        assert_eq!(scores.best(), 2);
        scores.round_over(2, 474 + 15, 11);
        assert_eq!(scores.best(), 0);
        scores.round_over(0, 489, 11);
        assert_eq!(scores.best(), 0, "too few to say anything");
    }
}
