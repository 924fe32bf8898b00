//! The air of one run on one channel where frames contend: CSMA networks of any size.
//!
//! The same chips, links, modems and capture rules as [`crate::Medium`], in return for a cost that
//! does not depend on how many frames are on the air: each ear keeps the sum of what it hears, in
//! whole units of 1e-18 mW, so that what was added can be taken away again exactly. Hazard is summed
//! piecewise between changes. Not modelled: other channels, synchronous senders, propagation delay,
//! reports of locks before a frame is over. Tests: `tests.rs`, `../tests/same_air.rs`.

mod foreign;
mod lock;
mod loss;
mod reach;
mod tally;
#[cfg(test)]
mod tests;

pub use reach::Reach;

use crate::air::{
    Able, Air, Deaf, EarStatus, Explain, FrameId, Lead, Locked, Outcome, Receiving, Reception,
    Sending,
};
use crate::cause::Cause;
use crate::chip::{Chip, Modem};
use crate::drift::{Drift, Held};
use crate::logarithm::Logarithm;
use crate::modem::Demodulator;
use crate::random::{derive, nth};
use crate::receiver::{lqi, rssi};
use crate::variation::Factors;
use crate::EarId;
use foreign::Foreign;
use loss::Blame;
use reach::Path;
use std::sync::Arc;
use tally::{grains, milliwatts, Grains, Tallies};
use thalweg_units::{Channel, ChannelSet, Dbm, MilliWatts, SimTime};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receiver {
    Off(Deaf),
    On,
}

/// A reception in progress. What it suffers is in the ear's tally.
#[derive(Debug, Clone, Copy)]
struct Lock {
    tx: u32,
    /// When it began.
    from: u64,
    /// Decides how much hazard the frame stands: uniform in (0, 1).
    draw: f64,
}

impl Lock {
    /// Whether the frame is right after so much hazard: an exponential draw is above it.
    fn stands(&self, hazard: f64, logarithm: &Logarithm) -> bool {
        // 1 - u <= -ln u: spares most receptions the logarithm.
        hazard < 1.0 - self.draw || hazard < -logarithm.ln(self.draw)
    }
    /// Hazard that no frame of this draw stands: -ln u <= (1 - u) / u^1/2, and hardly more.
    fn fatal(&self) -> f64 {
        (1.0 - self.draw) / self.draw.sqrt()
    }
}

#[derive(Debug)]
struct Ear {
    /// What energy detection sees of noise, milliwatts.
    thermal: f64,
    receiver: Receiver,
    lock: Option<Lock>,
    blame: Blame,
    /// Frames on the air that it could receive, and their powers.
    near: Vec<(u32, Grains)>,
}

#[derive(Debug)]
struct Frame {
    number: u64,
    /// Of its random draws.
    key: u64,
    from: u32,
    to: Option<u32>,
    lead: Lead,
    start: u64,
    /// When its preamble ends.
    preamble_end: u64,
    /// When its SFD ends.
    sfd_end: u64,
    end: u64,
    /// The power at every ear in reach, in the order of the row.
    levels: Vec<Grains>,
    loss: Option<Cause>,
}

impl Frame {
    /// Whether its preamble is longer than it must be. Such a one is there to be found late: that it
    /// was not found at its beginning explains no loss.
    fn is_long(&self, usual: u32) -> bool {
        matches!(self.lead, Lead::Preamble(bytes) if u32::from(bytes) > usual)
    }
}

/// Low bits of a [`FrameId`]: where the frame is kept.
const PLACE_BITS: u32 = 20;

const fn place_of(frame: FrameId) -> usize {
    (frame.0 & ((1 << PLACE_BITS) - 1)) as usize
}

/// The state of the air.
#[derive(Debug)]
pub struct Ether {
    reach: Arc<Reach>,
    tallies: Tallies,
    logarithm: Logarithm,
    factors: Factors,
    drift: Drift,
    /// By path; none where power does not vary.
    held: Vec<Held>,
    foreign: Foreign,
    /// More than power is raised by.
    most: f64,
    key: u64,
    ears: Vec<Ear>,
    frames: Vec<Frame>,
    free: Vec<u32>,
    count: u64,
    lock_factor: f64,
    steal: f64,
    /// For how long after its preamble a stronger frame steals the lock, nanoseconds.
    steal_after: u64,
    /// Of the frame sent last, also in milliwatts: all nodes of a network send alike.
    nominal_power: (Dbm, f64),
    /// From this power on, in milliwatts, carrier sense finds a sender.
    sensed_from: f64,
}

impl Ether {
    /// The silent air of a run; all receivers are off. Draws depend on (seed, frame, ear) only.
    pub fn new(reach: Reach, seed: u64) -> Self {
        let chip = reach.chip;
        let loss = chip.demodulator_loss.factor();
        let ears = reach
            .noise
            .iter()
            .map(|noise| Ear {
                thermal: f64::from(*noise) / loss,
                receiver: Receiver::Off(Deaf::Sleeping),
                lock: None,
                blame: Blame::default(),
                near: Vec::new(),
            })
            .collect();
        let noise = reach.noise.iter().map(|noise| f64::from(*noise)).collect();
        let symbols_per_ns = 1.0 / chip.phy.symbol.as_nanos() as f64;
        Self {
            tallies: Tallies::new(noise, chip.modem, symbols_per_ns),
            logarithm: Logarithm::default(),
            factors: Factors::new(reach.variation.packet),
            drift: Drift::new(&reach.variation, reach.world),
            foreign: Foreign::new(&reach, seed),
            held: match reach.variation.total().0 > 0.0 {
                true => vec![Held::default(); reach.links()],
                false => Vec::new(),
            },
            most: reach.variation.most().factor(),
            key: derive(seed, "ether", &[]),
            ears,
            frames: Vec::new(),
            free: Vec::new(),
            count: 0,
            lock_factor: chip.lock_sinr.factor(),
            steal: chip.steal.factor(),
            steal_after: chip.phy.symbol.as_nanos() * u64::from(chip.phy.steal_symbols),
            nominal_power: (Dbm(0.0), 1.0),
            sensed_from: chip.cca_threshold.milliwatts().0,
            reach: Arc::new(reach),
        }
    }

    /// The same with the draws that [`crate::Medium`] makes.
    #[cfg(test)]
    pub(crate) fn with_packet_draws(reach: Reach, seed: u64) -> Self {
        let key = derive(seed, "packets", &[]);
        Self {
            key,
            ..Self::new(reach, seed)
        }
    }

    /// Which ear reaches which.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }
    /// How many frames were sent.
    pub fn sent(&self) -> u64 {
        self.count
    }

    fn frame(&self, of: FrameId) -> Option<&Frame> {
        let frame = self.frames.get(place_of(of))?;
        (frame.number == of.0 >> PLACE_BITS).then_some(frame)
    }
    fn id(&self, tx: u32) -> FrameId {
        let number = self.frames.get(tx as usize).map_or(0, |frame| frame.number);
        FrameId(number << PLACE_BITS | u64::from(tx))
    }
    /// Where `ear` is kept.
    #[inline]
    fn place(&self, ear: EarId) -> usize {
        self.reach.order.place(ear) as usize
    }

    /// What a frame sent `at` that time, whose draws have `key`, brings from `from` over `path`, which varies by what is
    /// `held` of it.
    #[inline]
    fn level(
        &mut self,
        (at, from): (SimTime, u32),
        (path, held): (&Path, Option<&mut Held>),
        power: f64,
        key: u64,
    ) -> Grains {
        let mut level = f64::from(path.gain) * power;
        if let Some(held) = held {
            let order = &self.reach.order;
            let (from, to) = (order.ear(from), order.ear(path.to));
            let packet = self.factors.pick(nth(key, u64::from(to.0)));
            let drift = (self.drift).factor(held, at, from, to, self.reach.channel);
            level *= (f64::from(packet) * f64::from(drift)).min(self.most);
        }
        grains(level)
    }

    /// The power at ear `e` changes by `by`.
    #[inline]
    fn shift(&mut self, now: u64, e: usize, by: Grains) {
        if let Some(length) = self.tallies.shift(now, e, by) {
            self.blame(length, e);
        }
    }

    fn enter(&mut self, now: u64, sending: &Sending<'_>) -> u32 {
        let phy = self.reach.chip.phy;
        let byte = phy.symbol.as_nanos() * u64::from(phy.symbols_per_byte);
        let (preamble, sfd) = match sending.lead {
            Lead::Preamble(bytes) => (byte * u64::from(bytes), byte * u64::from(phy.sfd_bytes)),
            Lead::Expected => (0, 0),
        };
        let number = self.count;
        self.count += 1;
        let mut frame = Frame {
            number,
            key: nth(self.key, number),
            from: self.reach.order.place(sending.from),
            to: sending.to.map(|ear| self.reach.order.place(ear)),
            lead: sending.lead,
            start: now,
            preamble_end: now + preamble,
            sfd_end: now + preamble + sfd,
            end: now + sending.air.as_nanos(),
            levels: Vec::new(),
            loss: None,
        };
        let Some(tx) = self.free.pop() else {
            self.frames.push(frame);
            return (self.frames.len() - 1) as u32;
        };
        if let Some(old) = self.frames.get_mut(tx as usize) {
            frame.levels = core::mem::take(&mut old.levels);
            *old = frame;
        }
        tx
    }
}

impl Ether {
    /// The frame of `lock` ends that arrived from `from` at `level`: what became of it, and the reception, where the header
    /// was right.
    fn receive(
        &mut self,
        at: SimTime,
        to: u32,
        (from, level): (u32, Grains),
        lock: Lock,
        explained: bool,
    ) -> (Outcome, Option<Reception>) {
        let e = to as usize;
        self.tallies.dismiss(e);
        let tally = self.tallies.get(e);
        let (whole, header) = tally.map_or((0.0, 0.0), |tally| (tally.hazard, tally.header_hazard));
        let outcome = match lock.stands(whole, &self.logarithm) {
            true => Outcome::Good,
            false => Outcome::Corrupt(explained.then(|| self.why_corrupt(e, from, level, lock))),
        };
        let frame = self
            .frames
            .get(lock.tx as usize)
            .filter(|_| outcome == Outcome::Good || lock.stands(header, &self.logarithm));
        let reception = frame.map(|frame| Reception {
            ear: self.reach.order.ear(to),
            outcome,
            senders: 1,
            sfd: SimTime::from_nanos(frame.sfd_end),
            end: at,
            power: MilliWatts(milliwatts(level)),
            interference: MilliWatts(self.tallies.others(e)),
        });
        (outcome, reception)
    }
}

impl Air for Ether {
    const ABLE: Able = Able {
        heads: false,
        synchronous: false,
    };

    fn chip(&self, ear: EarId) -> Option<&'static Chip> {
        ((ear.0 as usize) < self.ears.len()).then_some(self.reach.chip)
    }
    fn ears(&self) -> usize {
        self.ears.len()
    }
    fn channels(&self) -> ChannelSet {
        ChannelSet::EMPTY.with(self.reach.channel)
    }

    fn listen(&mut self, at: SimTime, ear: EarId, on: Channel) -> Option<FrameId> {
        self.catch_up(at.as_nanos());
        let e = self.place(ear);
        if on != self.reach.channel {
            self.deafen(at, ear, Deaf::Busy);
            return None;
        }
        let state = self.ears.get_mut(e)?;
        state.receiver = Receiver::On;
        if let Some(lock) = state.lock.take() {
            self.tallies.dismiss(e);
            self.explain(lock.tx, e, Cause::Deaf);
        }
        self.seek(at.as_nanos(), e);
        self.excuse_sleep(at.as_nanos(), e);
        let lock = self.ears.get(e)?.lock?;
        Some(self.id(lock.tx))
    }

    fn deafen(&mut self, at: SimTime, ear: EarId, why: Deaf) {
        self.catch_up(at.as_nanos());
        let e = self.place(ear);
        if let Some(state) = self.ears.get_mut(e) {
            state.receiver = Receiver::Off(why);
            if let Some(lock) = state.lock.take() {
                self.tallies.dismiss(e);
                self.explain(lock.tx, e, Cause::Deaf);
            }
        }
    }

    fn begin(&mut self, at: SimTime, sending: &Sending<'_>, _locked: &mut Vec<Locked>) -> FrameId {
        self.deafen(at, sending.from, Deaf::Busy);
        let now = at.as_nanos();
        let tx = self.enter(now, sending);
        if self.nominal_power.0 != sending.power {
            self.nominal_power = (sending.power, sending.power.milliwatts().0);
        }
        let id = self.id(tx);
        let Some(frame) = self.frames.get_mut(tx as usize) else {
            return id;
        };
        let mut levels = core::mem::take(&mut frame.levels);
        levels.clear();
        let reach = Arc::clone(&self.reach);
        let (near, far) = reach.row(frame.from as usize);
        let to = frame.to;
        let (power, key, from) = (self.nominal_power.1, frame.key, (at, frame.from));
        let mut held = core::mem::take(&mut self.held);
        let row = held.get_mut(reach.start(frame.from as usize)..);
        let mut of_row = row.unwrap_or_default().iter_mut();
        for path in near {
            let level = self.level(from, (path, of_row.next()), power, key);
            let e = path.to as usize;
            levels.push(level);
            self.shift(now, e, level);
            let Some(ear) = self.ears.get_mut(e) else {
                continue;
            };
            ear.near.push((tx, level));
            if ear.receiver == Receiver::On {
                self.arrive(now, e, tx, level);
            } else if to == Some(path.to) {
                self.explain(tx, e, Cause::Deaf);
            }
        }
        for path in far {
            let level = self.level(from, (path, of_row.next()), power, key);
            levels.push(level);
            self.shift(now, path.to as usize, level);
        }
        self.held = held;
        if let Some(frame) = self.frames.get_mut(tx as usize) {
            frame.levels = levels;
        }
        id
    }

    fn head(&mut self, _: SimTime, _: EarId, _: FrameId, _: usize) -> Option<SimTime> {
        None
    }

    fn end(
        &mut self,
        at: SimTime,
        of: FrameId,
        explain: Explain,
        got: &mut Vec<Reception>,
        _locked: &mut Vec<Locked>,
    ) -> Option<Cause> {
        let now = at.as_nanos();
        self.catch_up(now);
        let tx = place_of(of) as u32;
        let frame = self.frames.get_mut(tx as usize)?;
        let levels = core::mem::take(&mut frame.levels);
        let (from, to) = (frame.from, frame.to);
        let reach = Arc::clone(&self.reach);
        let mut got_it = false;
        let (near, far) = reach.row(from as usize);
        let (near_levels, far_levels) = levels.split_at(near.len().min(levels.len()));
        for (path, &level) in far.iter().zip(far_levels) {
            self.shift(now, path.to as usize, -level);
        }
        for (path, &level) in near.iter().zip(near_levels) {
            let place = path.to as usize;
            self.shift(now, place, -level);
            let Some(ear) = self.ears.get_mut(place) else {
                continue;
            };
            if let Some(found) = ear.near.iter().position(|(other, _)| *other == tx) {
                ear.near.swap_remove(found);
            }
            if let Some(lock) = ear.lock.take_if(|lock| lock.tx == tx) {
                let wanted = to == Some(path.to);
                let explained = wanted || explain == Explain::Losses;
                let (outcome, reception) =
                    self.receive(at, path.to, (from, level), lock, explained);
                if wanted {
                    got_it = outcome == Outcome::Good;
                    if let Outcome::Corrupt(Some(cause)) = outcome {
                        self.explain(tx, place, cause);
                    }
                }
                got.extend(reception);
            } else if ear.lock.is_some() {
                continue;
            }
            if self.ears.get(place).is_some_and(|ear| !ear.near.is_empty()) {
                self.seek(now, place);
            }
        }
        let frame = self.frames.get_mut(tx as usize)?;
        frame.levels = levels;
        self.free.push(tx);
        match (to, got_it) {
            (None, _) | (_, true) => None,
            (Some(_), false) => Some(frame.loss.unwrap_or(Cause::Weak)),
        }
    }

    #[inline]
    fn sensed(&mut self, at: SimTime, ear: EarId, _on: Channel) -> MilliWatts {
        self.catch_up(at.as_nanos());
        let e = self.place(ear);
        match (self.tallies.get(e), self.ears.get(e)) {
            (Some(tally), Some(ear)) => MilliWatts(milliwatts(tally.total) + ear.thermal),
            _ => MilliWatts::ZERO,
        }
    }
    #[inline]
    fn receiving(&self, ear: EarId) -> Option<Receiving> {
        let lock = self.ears.get(self.place(ear))?.lock.as_ref()?;
        let frame = self.frames.get(lock.tx as usize)?;
        Some(Receiving {
            since: SimTime::from_nanos(lock.from),
            sfd: SimTime::from_nanos(frame.sfd_end),
            until: SimTime::from_nanos(frame.end),
        })
    }
    fn registers(&self, of: FrameId, reception: &Reception) -> (Dbm, u8) {
        let e = self.place(reception.ear);
        let (chip, power) = (self.reach.chip, reception.power.0);
        let thermal = self.ears.get(e).map_or(0.0, |ear| ear.thermal);
        let strength = rssi(&self.logarithm, chip.rssi_step, power, thermal, 0.0);
        // A receiver that demodulates bit by bit correlates nothing.
        if let Modem::Fsk { .. } = chip.modem {
            return (strength, 0);
        }
        let (noise, others) = (self.tallies.noise_of(e), reception.interference.0);
        let frame = nth(self.key, of.0 >> PLACE_BITS);
        let word = nth(frame, u64::from(reception.ear.0));
        let ratio = Demodulator::ratio(chip.modem, power, noise, others);
        (strength, lqi(ratio, word))
    }

    fn ear_status(&mut self, at: SimTime, ear: EarId, of: FrameId) -> EarStatus {
        self.catch_up(at.as_nanos());
        let (e, tx) = (self.place(ear), place_of(of) as u32);
        let Some(state) = self.ears.get(e) else {
            return EarStatus::Unlocked(Cause::Weak);
        };
        match (state.receiver, state.lock) {
            (Receiver::Off(why), _) => EarStatus::Off(why),
            (Receiver::On, Some(lock)) if lock.tx == tx => EarStatus::Locked,
            (Receiver::On, Some(lock)) => {
                let other = self
                    .frames
                    .get(lock.tx as usize)
                    .map_or(u32::MAX, |f| f.from);
                EarStatus::Taken(self.reach.order.ear(other))
            }
            (Receiver::On, None) => {
                let level = state.near.iter().find(|(near, _)| *near == tx);
                let level = level.map_or(0, |(_, level)| *level);
                EarStatus::Unlocked(self.why_deaf(e, tx, level))
            }
        }
    }
    fn troubles(&mut self, at: SimTime, ear: EarId, of: FrameId) -> (Option<Cause>, Option<EarId>) {
        self.catch_up(at.as_nanos());
        let (e, tx) = (self.place(ear), place_of(of) as u32);
        let (Some(state), Some(frame)) = (self.ears.get(e), self.frame(of)) else {
            return (None, None);
        };
        let others = state.near.iter().filter(|(near, _)| *near != tx);
        let loudest = others.max_by_key(|(_, level)| *level);
        let other = loudest.and_then(|(near, _)| self.frames.get(*near as usize));
        let other = other.map(|other| self.reach.order.ear(other.from));
        let level = state.near.iter().find(|(near, _)| *near == tx);
        let wrong = level.zip(state.lock).filter(|(_, lock)| {
            let suffered = self.tallies.get(e).map_or(0.0, |tally| tally.header_hazard);
            lock.tx == tx && !lock.stands(suffered, &self.logarithm)
        });
        let why = wrong.map(|((_, level), lock)| self.why_corrupt(e, frame.from, *level, lock));
        (why, other)
    }
}
