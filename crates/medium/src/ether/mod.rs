//! The air of one run on one channel where frames contend: CSMA networks of any size.
//!
//! The same chips, links, modems and capture rules as [`crate::Medium`], without its synchronous
//! senders and foreign traffic, in return for a cost that does not depend on how many frames are on
//! the air: each ear keeps the sum of what it hears, in whole units of 1e-18 mW, so that what was
//! added can be taken away again exactly. Hazard is summed piecewise between changes. Calls come in
//! time order. Not modelled: several channels, propagation delay. Tests: `tests.rs`.

mod loss;
mod reach;
#[cfg(test)]
mod tests;

pub use loss::Loss;
pub use reach::Reach;

use crate::chip::Modem;
use crate::modem::Demodulator;
use crate::random::{derive, mix, nth, open_unit};
use crate::variation::Factors;
use crate::EarId;
use loss::Blame;
use thalweg_units::{Dbm, Duration, MilliWatts, SimTime};

/// Power in units of 1e-18 mW: what is added up at an ear. 18 mW is the most that fits.
type Grains = u64;
const GRAINS_PER_MW: f64 = 1e18;

fn grains(mw: f64) -> Grains {
    (mw * GRAINS_PER_MW + 0.5) as Grains
}
fn milliwatts(power: Grains) -> f64 {
    power as f64 * (1.0 / GRAINS_PER_MW)
}

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

/// A reception in progress.
#[derive(Debug, Clone, Copy)]
struct Lock {
    tx: u32,
    power: Grains,
    /// When it began.
    from: u64,
    /// From when on symbols must be right: hazard is summed up to `since`.
    since: u64,
    /// The end of the header: until then the frame holds the receiver only if it is right.
    header_end: u64,
    hazard: f64,
    header_hazard: f64,
    /// Whether the frame is meant for this ear, so that its loss is to be explained.
    wanted: bool,
    /// The random word that decides how much hazard the frame stands.
    word: u64,
}

impl Lock {
    /// Whether the frame is right after so much hazard: an exponential draw is above it.
    fn stands(&self, hazard: f64) -> bool {
        let u = open_unit(self.word);
        // 1 - h <= exp(-h) <= 1 / (1 + h): spares most receptions the logarithm.
        u <= 1.0 - hazard || (u * (1.0 + hazard) < 1.0 && hazard < -libm::log(u))
    }
}

#[derive(Debug)]
struct Ear {
    /// All that it hears, its own frame not among it.
    total: Grains,
    /// Effective: what a demodulator suffers.
    noise: f64,
    /// What energy detection sees of it.
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
    /// Every ear in reach and the power there, in the order of the row.
    signals: Vec<(u32, Grains)>,
    /// How many of them could receive it.
    near: usize,
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
    reach: Reach,
    demodulator: Demodulator,
    factors: Factors,
    varies: bool,
    key: u64,
    ears: Vec<Ear>,
    frames: Vec<Frame>,
    free: Vec<u32>,
    count: u64,
    lock_factor: f64,
    steal: f64,
    symbols_per_ns: f64,
    modem: Modem,
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
                total: 0,
                noise: f64::from(*noise),
                thermal: f64::from(*noise) / loss,
                receiver: Receiver::Off,
                lock: None,
                blame: Blame::default(),
                near: Vec::new(),
            })
            .collect();
        Self {
            demodulator: Demodulator::default(),
            factors: Factors::new(reach.packet_variation),
            varies: reach.packet_variation.0 > 0.0,
            key: derive(seed, "ether", &[]),
            ears,
            frames: Vec::new(),
            free: Vec::new(),
            count: 0,
            lock_factor: chip.lock_sinr.factor(),
            steal: chip.steal.factor(),
            symbols_per_ns: 1.0 / chip.phy.symbol.as_nanos() as f64,
            modem: chip.modem,
            nominal_power: 0.0,
            reach,
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
        let ear = self.ears.get(ear.0 as usize);
        ear.map_or(MilliWatts::ZERO, |ear| {
            MilliWatts(milliwatts(ear.total) + ear.thermal)
        })
    }
    /// Since when `ear` is synchronised on a frame; none where it is not.
    pub fn receiving_since(&self, ear: EarId) -> Option<SimTime> {
        let lock = self.ears.get(ear.0 as usize)?.lock.as_ref()?;
        Some(SimTime::from_nanos(lock.from))
    }

    /// The receiver of `ear` is on from `at` on. It synchronises on the strongest frame of whose
    /// preamble enough is still to come.
    pub fn listen(&mut self, at: SimTime, ear: EarId) {
        let e = ear.0 as usize;
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
        let e = ear.0 as usize;
        if let Some(state) = self.ears.get_mut(e) {
            state.receiver = Receiver::Off;
            if let Some(lock) = state.lock.take() {
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
        let reach = &self.reach;
        let Some(frame) = self.frames.get_mut(tx as usize) else {
            return OnAir(tx);
        };
        let mut signals = core::mem::take(&mut frame.signals);
        signals.clear();
        let (near, far) = reach.row(sending.from.0 as usize);
        frame.near = near.len();
        let power = sending.power.milliwatts().0;
        let key = nth(self.key, frame.number);
        for path in near.iter().chain(far) {
            let mut level = f64::from(path.gain) * power;
            if self.varies {
                level *= f64::from(self.factors.pick(nth(key, u64::from(path.to))));
            }
            signals.push((path.to, grains(level)));
        }
        let (near, far) = signals.split_at(near.len());
        for &(e, level) in near {
            let place = e as usize;
            self.settle(now, place);
            let Some(ear) = self.ears.get_mut(place) else {
                continue;
            };
            ear.total += level;
            ear.near.push((tx, level));
            if ear.receiver == Receiver::On {
                self.arrive(now, place, tx, level);
            } else if sending.to == Some(EarId(e)) {
                self.explain(tx, place, Loss::Deaf);
            }
        }
        for &(e, level) in far {
            self.settle(now, e as usize);
            if let Some(ear) = self.ears.get_mut(e as usize) {
                ear.total += level;
            }
        }
        if let Some(frame) = self.frames.get_mut(tx as usize) {
            frame.signals = signals;
        }
        OnAir(tx)
    }

    /// The last symbol of a frame: pushes what every ear got that is still synchronised on it, and
    /// says why the ear that it was meant for did not get it, where it did not.
    pub fn end(&mut self, at: SimTime, frame: OnAir, heard: &mut Vec<Heard>) -> Option<Loss> {
        let now = at.as_nanos();
        let tx = frame.0;
        let frame = self.frames.get_mut(tx as usize)?;
        let signals = core::mem::take(&mut frame.signals);
        let (from, to, near) = (frame.from, frame.to, frame.near);
        let mut got_it = false;
        let (near, far) = signals.split_at(near.min(signals.len()));
        for &(e, level) in far {
            self.settle(now, e as usize);
            if let Some(ear) = self.ears.get_mut(e as usize) {
                ear.total -= level;
            }
        }
        for &(e, level) in near {
            let place = e as usize;
            self.settle(now, place);
            let Some(ear) = self.ears.get_mut(place) else {
                continue;
            };
            ear.total -= level;
            if let Some(found) = ear.near.iter().position(|(other, _)| *other == tx) {
                ear.near.swap_remove(found);
            }
            match ear.lock {
                Some(lock) if lock.tx == tx => {
                    ear.lock = None;
                    let good = lock.stands(lock.hazard);
                    if good || lock.stands(lock.header_hazard) {
                        heard.push(Heard {
                            ear: EarId(e),
                            good,
                            power: MilliWatts(milliwatts(level)),
                        });
                    }
                    if to == Some(e) {
                        got_it = good;
                        if !good {
                            let why = self.why_corrupt(place, from, lock);
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
        frame.signals = signals;
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
            from: sending.from.0,
            to: sending.to.map(|ear| ear.0),
            form: sending.form,
            start: now,
            preamble_end: now + preamble,
            end: now + sending.air.as_nanos(),
            signals: Vec::new(),
            near: 0,
            loss: None,
        };
        let Some(tx) = self.free.pop() else {
            self.frames.push(frame);
            return (self.frames.len() - 1) as u32;
        };
        if let Some(old) = self.frames.get_mut(tx as usize) {
            frame.signals = core::mem::take(&mut old.signals);
            *old = frame;
        }
        tx
    }

    /// Sums the hazard of what ear `e` receives up to `now`.
    #[inline]
    fn settle(&mut self, now: u64, e: usize) {
        if let Some(ear) = self.ears.get_mut(e) {
            if let Some(lock) = &mut ear.lock {
                if lock.since < now {
                    let rates = (&self.demodulator, self.modem, self.symbols_per_ns);
                    sum(now, rates, ear.total, ear.noise, lock);
                    if lock.wanted && lock.hazard > 0.0 {
                        self.blame(now, e);
                    } else {
                        lock.since = now;
                    }
                }
            }
        }
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
            let Some(current) = self.frames.get(lock.tx as usize) else {
                return;
            };
            let in_preamble = now < current.preamble_end;
            let free = if in_preamble {
                // A node that waits for an acknowledgement does not look for preambles.
                frame.form == Form::Expected || level as f64 >= self.steal * lock.power as f64
            } else {
                // It is free again if the header of what it was locked on was wrong.
                now >= lock.header_end && !lock.stands(lock.header_hazard)
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
        let rest = milliwatts(ear.total - level) + ear.noise;
        if milliwatts(level) <= self.lock_factor * rest {
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
        let rest = milliwatts(ear.total - level) + ear.noise;
        if milliwatts(level) > self.lock_factor * rest {
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
        let word = mix(nth(nth(self.key, frame.number), e as u64) ^ 0x5851_f42d_4c95_7f2d);
        ear.blame = Blame::default();
        ear.lock = Some(Lock {
            tx,
            power: level,
            from: now,
            since: frame
                .preamble_end
                .saturating_sub(sync)
                .max(frame.start)
                .max(now),
            header_end: frame.preamble_end + u64::from(header) * symbol,
            hazard: 0.0,
            header_hazard: 0.0,
            wanted: frame.to == Some(e as u32),
            word,
        });
    }
}

/// Adds to `lock` what it suffers from its `since` to `now`.
#[inline]
fn sum(
    now: u64,
    (demodulator, modem, symbols_per_ns): (&Demodulator, Modem, f64),
    total: Grains,
    noise: f64,
    lock: &mut Lock,
) {
    let disturbance = milliwatts(total.saturating_sub(lock.power));
    let ratio = Demodulator::ratio(modem, milliwatts(lock.power), noise, disturbance);
    let hazard = demodulator.hazard(modem, ratio);
    if hazard <= 0.0 {
        return;
    }
    lock.hazard += hazard * (now - lock.since) as f64 * symbols_per_ns;
    if lock.since < lock.header_end {
        let part = now.min(lock.header_end) - lock.since;
        lock.header_hazard += hazard * part as f64 * symbols_per_ns;
    }
}
