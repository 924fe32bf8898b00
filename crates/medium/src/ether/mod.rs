//! The air of one run on one channel where frames contend: CSMA networks of any size.
//!
//! The same chips, links, modems and capture rules as [`crate::Medium`], without its synchronous
//! senders and foreign traffic, in return for a cost that does not depend on how many frames are on
//! the air: each ear keeps the sum of what it hears, in whole units of 1e-18 mW, so that what was
//! added can be taken away again exactly. Hazard is summed piecewise between changes. Calls come in
//! time order. Not modelled: several channels, propagation delay. Tests: `tests.rs`.

mod loss;
mod reach;
mod tally;
#[cfg(test)]
mod tests;

pub use loss::Loss;
pub use reach::Reach;

use crate::logarithm::Logarithm;
use crate::random::{derive, mix, nth, open_unit};
use crate::variation::Factors;
use crate::EarId;
use loss::Blame;
use reach::Path;
use std::sync::Arc;
use tally::{grains, milliwatts, Admission, Grains, Tallies};
use thalweg_units::{Dbm, Duration, MilliWatts, SimTime};

/// Names a frame while it is on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnAir(pub u32);

/// Who can synchronise on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any ear that listens: a frame with a preamble of this many bytes.
    Preamble(u16),
    /// Only the ear that it is meant for, which waits for it: an acknowledgement without a
    /// preamble (TinyOS on the CC1000).
    Expected,
}

/// A frame to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Sending {
    /// Its sender.
    pub from: EarId,
    /// Whose loss of it is to be explained, where it is meant for one ear.
    pub to: Option<EarId>,
    /// Nominal transmit power.
    pub power: Dbm,
    /// How it begins.
    pub form: Form,
    /// From its first symbol to its last.
    pub air: Duration,
}

/// What an ear got of a frame that it was synchronised on to the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heard {
    /// The ear.
    pub ear: EarId,
    /// Whether the check sequence is right.
    pub good: bool,
    /// Received power of this frame.
    pub power: MilliWatts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receiver {
    Off,
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
    /// Hazard that no frame of this draw stands: -ln u < 1 / u.
    fn fatal(&self) -> f64 {
        1.0 / self.draw
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
    from: u32,
    to: Option<u32>,
    form: Form,
    start: u64,
    /// When its preamble ends.
    preamble_end: u64,
    end: u64,
    /// The power at every ear in reach, in the order of the row.
    levels: Vec<Grains>,
    loss: Option<Loss>,
}

impl Frame {
    /// Whether its preamble is longer than it must be. Such a one is there to be found late: that it
    /// was not found at its beginning explains no loss.
    fn is_long(&self, usual: u32) -> bool {
        matches!(self.form, Form::Preamble(bytes) if u32::from(bytes) > usual)
    }
}

/// The state of the air.
#[derive(Debug)]
pub struct Ether {
    reach: Arc<Reach>,
    tallies: Tallies,
    logarithm: Logarithm,
    factors: Factors,
    varies: bool,
    key: u64,
    ears: Vec<Ear>,
    frames: Vec<Frame>,
    free: Vec<u32>,
    count: u64,
    lock_factor: f64,
    steal: f64,
    /// Of the frame sent last, in dBm: all nodes of a network send alike.
    nominal_power: f64,
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
                receiver: Receiver::Off,
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
            factors: Factors::new(reach.packet_variation),
            varies: reach.packet_variation.0 > 0.0,
            key: derive(seed, "ether", &[]),
            ears,
            frames: Vec::new(),
            free: Vec::new(),
            count: 0,
            lock_factor: chip.lock_sinr.factor(),
            steal: chip.steal.factor(),
            nominal_power: 0.0,
            reach: Arc::new(reach),
        }
    }

    /// Who reaches whom.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }
    /// How many frames were sent.
    pub fn sent(&self) -> u64 {
        self.count
    }

    /// Power at `ear` as energy detection sees it: what it hears and thermal noise.
    pub fn sensed(&self, ear: EarId) -> MilliWatts {
        let e = self.place(ear);
        match (self.tallies.get(e), self.ears.get(e)) {
            (Some(tally), Some(ear)) => MilliWatts(milliwatts(tally.total) + ear.thermal),
            _ => MilliWatts::ZERO,
        }
    }
    /// Since when `ear` is synchronised on a frame; none where it is not.
    pub fn receiving_since(&self, ear: EarId) -> Option<SimTime> {
        let lock = self.ears.get(self.place(ear))?.lock.as_ref()?;
        Some(SimTime::from_nanos(lock.from))
    }

    /// The receiver of `ear` is on from `at` on. It synchronises on the strongest frame of whose
    /// preamble enough is still to come.
    pub fn listen(&mut self, at: SimTime, ear: EarId) {
        let e = self.place(ear);
        let Some(state) = self.ears.get_mut(e) else {
            return;
        };
        if state.receiver == Receiver::Off {
            state.receiver = Receiver::On;
            self.seek(at.as_nanos(), e);
            self.excuse_sleep(at.as_nanos(), e);
        }
    }

    /// The receiver of `ear` is off from now on; a reception in progress is dropped.
    pub fn deafen(&mut self, ear: EarId) {
        let e = self.place(ear);
        if let Some(state) = self.ears.get_mut(e) {
            state.receiver = Receiver::Off;
            if let Some(lock) = state.lock.take() {
                self.tallies.dismiss(e);
                self.explain(lock.tx, e, Loss::Deaf);
            }
        }
    }

    /// A frame begins at `at`. Its sender's receiver goes off. The caller calls [`Ether::end`] when
    /// its air time is over.
    pub fn begin(&mut self, at: SimTime, sending: Sending) -> OnAir {
        self.deafen(sending.from);
        let now = at.as_nanos();
        let tx = self.enter(now, sending);
        self.nominal_power = sending.power.0;
        let Some(frame) = self.frames.get_mut(tx as usize) else {
            return OnAir(tx);
        };
        let mut levels = core::mem::take(&mut frame.levels);
        levels.clear();
        let reach = Arc::clone(&self.reach);
        let (near, far) = reach.row(frame.from as usize);
        let to = frame.to;
        let power = sending.power.milliwatts().0;
        let key = nth(self.key, frame.number);
        for path in near {
            let (e, level) = (path.to as usize, self.level(path, power, key));
            levels.push(level);
            self.shift(now, e, level);
            let Some(ear) = self.ears.get_mut(e) else {
                continue;
            };
            ear.near.push((tx, level));
            if ear.receiver == Receiver::On {
                self.arrive(now, e, tx, level);
            } else if to == Some(path.to) {
                self.explain(tx, e, Loss::Deaf);
            }
        }
        for path in far {
            let level = self.level(path, power, key);
            levels.push(level);
            self.shift(now, path.to as usize, level);
        }
        if let Some(frame) = self.frames.get_mut(tx as usize) {
            frame.levels = levels;
        }
        OnAir(tx)
    }

    /// Where `ear` is kept.
    #[inline]
    fn place(&self, ear: EarId) -> usize {
        self.reach.order.place(ear) as usize
    }

    /// What a frame whose draws have `key` brings over `path`.
    #[inline]
    fn level(&self, path: &Path, power: f64, key: u64) -> Grains {
        let mut level = f64::from(path.gain) * power;
        if self.varies {
            level *= f64::from(
                self.factors
                    .pick(nth(key, u64::from(self.reach.order.ear(path.to).0))),
            );
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

    /// The last symbol of a frame: pushes what every ear got that is still synchronised on it, and
    /// says why the ear that it was meant for did not get it, where it did not.
    pub fn end(&mut self, at: SimTime, frame: OnAir, heard: &mut Vec<Heard>) -> Option<Loss> {
        let now = at.as_nanos();
        let tx = frame.0;
        let frame = self.frames.get_mut(tx as usize)?;
        let levels = core::mem::take(&mut frame.levels);
        let (from, to) = (frame.from, frame.to);
        let mut got_it = false;
        let reach = Arc::clone(&self.reach);
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
            match ear.lock {
                Some(lock) if lock.tx == tx => {
                    ear.lock = None;
                    self.tallies.dismiss(place);
                    let suffered = self.tallies.get(place);
                    let (whole, header) =
                        suffered.map_or((0.0, 0.0), |tally| (tally.hazard, tally.header_hazard));
                    let good = lock.stands(whole, &self.logarithm);
                    if good || lock.stands(header, &self.logarithm) {
                        heard.push(Heard {
                            ear: reach.order.ear(path.to),
                            good,
                            power: MilliWatts(milliwatts(level)),
                        });
                    }
                    if to == Some(path.to) {
                        got_it = good;
                        if !good {
                            let why = self.why_corrupt(place, from, level, lock);
                            self.explain(tx, place, why);
                        }
                    }
                }
                Some(_) => continue,
                None => {}
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
            (Some(_), false) => Some(frame.loss.unwrap_or(Loss::WeakLink)),
        }
    }

    fn enter(&mut self, now: u64, sending: Sending) -> u32 {
        let phy = self.reach.chip.phy;
        let byte = phy.symbol.as_nanos() * u64::from(phy.symbols_per_byte);
        let preamble = match sending.form {
            Form::Preamble(bytes) => byte * u64::from(bytes),
            Form::Expected => 0,
        };
        let number = self.count;
        self.count += 1;
        let mut frame = Frame {
            number,
            from: self.reach.order.place(sending.from),
            to: sending.to.map(|ear| self.reach.order.place(ear)),
            form: sending.form,
            start: now,
            preamble_end: now + preamble,
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

    /// Frame `tx` begins at the listening ear `e`, which may synchronise on it.
    fn arrive(&mut self, now: u64, e: usize, tx: u32, level: Grains) {
        let (Some(frame), Some(ear)) = (self.frames.get(tx as usize), self.ears.get_mut(e)) else {
            return;
        };
        let wanted = frame.to == Some(e as u32);
        if frame.form == Form::Expected && !wanted {
            return;
        }
        if let Some(lock) = ear.lock {
            let current = self.frames.get(lock.tx as usize);
            let (Some(current), Some(tally)) = (current, self.tallies.get(e)) else {
                return;
            };
            let in_preamble = now < current.preamble_end;
            let free = if in_preamble {
                // A node that waits for an acknowledgement does not look for preambles.
                frame.form == Form::Expected || level as f64 >= self.steal * tally.power as f64
            } else {
                // It is free again if the header of what it was locked on was wrong.
                now >= tally.header_end && !lock.stands(tally.header_hazard, &self.logarithm)
            };
            if !free {
                let (from, other) = (frame.from, current.from);
                if wanted {
                    let why = self.collision(from, other);
                    self.explain(tx, e, why);
                }
                return;
            }
        }
        if milliwatts(level) <= self.lock_factor * self.tallies.beside(e, level) {
            if wanted {
                let why = self.why_deaf(e, tx, level);
                self.explain(tx, e, why);
            }
            return;
        }
        if let Some(old) = ear.lock.take() {
            let by = frame.from;
            let robbed = self.frames.get(old.tx as usize).map(|f| f.from);
            let why = self.collision(robbed.unwrap_or(by), by);
            self.explain(old.tx, e, why);
        }
        self.lock(now, e, tx, level);
    }

    /// The listening, idle ear `e` looks for a preamble that is still going on.
    fn seek(&mut self, now: u64, e: usize) {
        let phy = &self.reach.chip.phy;
        let byte = phy.symbol.as_nanos() * u64::from(phy.symbols_per_byte);
        let Some(ear) = self.ears.get(e) else { return };
        if ear.receiver == Receiver::Off || ear.lock.is_some() {
            return;
        }
        let best = ear
            .near
            .iter()
            .filter(|(tx, _)| {
                self.frames.get(*tx as usize).is_some_and(|frame| {
                    // A byte of preamble is enough to synchronise on.
                    now + byte <= frame.preamble_end && frame.end > now
                })
            })
            .max_by_key(|(_, level)| *level);
        let Some(&(tx, level)) = best else { return };
        if milliwatts(level) > self.lock_factor * self.tallies.beside(e, level) {
            self.lock(now, e, tx, level);
        }
    }

    fn lock(&mut self, now: u64, e: usize, tx: u32, level: Grains) {
        let phy = &self.reach.chip.phy;
        let usual = phy.preamble_bytes;
        if let Some(frame) = self.frames.get_mut(tx as usize) {
            if frame.is_long(usual) && frame.to == Some(e as u32) {
                frame.loss = None;
            }
        }
        let (Some(frame), Some(ear)) = (self.frames.get(tx as usize), self.ears.get_mut(e)) else {
            return;
        };
        let symbol = phy.symbol.as_nanos();
        let header = phy.symbols_per_byte * (phy.sfd_bytes + phy.phr_bytes);
        let sync = u64::from(phy.sync_symbols) * symbol;
        let id = self.reach.order.ear(e as u32);
        let word = mix(nth(nth(self.key, frame.number), u64::from(id.0)) ^ 0x5851_f42d_4c95_7f2d);
        let wanted = frame.to == Some(e as u32);
        ear.blame = Blame::default();
        let lock = Lock {
            tx,
            from: now,
            draw: open_unit(word),
        };
        ear.lock = Some(lock);
        let must_be_right = frame.preamble_end.saturating_sub(sync);
        let admission = Admission {
            since: must_be_right.max(frame.start).max(now),
            header_end: frame.preamble_end + u64::from(header) * symbol,
            power: level,
            enough: (!wanted).then(|| lock.fatal()),
        };
        self.tallies.admit(e, &admission);
    }
}
