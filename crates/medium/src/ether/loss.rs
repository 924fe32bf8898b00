//! Why the ear that a frame was meant for did not get it: what a measurement on real nodes has to
//! guess (Fusion, section 3.2), a simulation knows.

use super::{milliwatts, Ether, Grains, Lock};
use crate::cause::{Cause, Senses};

/// What the strongest other sender would have done alone, summed over a reception, and which sender did most.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Blame {
    hazard: f64,
    most: f64,
    by: u32,
    /// What foreign traffic alone would have done beyond noise.
    external: f64,
}

impl Blame {
    pub(super) fn add(&mut self, by: u32, hazard: f64) {
        self.hazard += hazard;
        if hazard > self.most {
            self.most = hazard;
            self.by = by;
        }
    }
}

impl Ether {
    /// Keeps the first reason that is found for the loss of `tx` at the ear that it is meant for.
    pub(super) fn explain(&mut self, tx: u32, e: usize, why: Cause) {
        if let Some(frame) = self.frames.get_mut(tx as usize) {
            if frame.to == Some(e as u32) && frame.loss.is_none() {
                frame.loss = Some(why);
            }
        }
    }

    /// Adds what the strongest other sender would have done alone, in `length` nanoseconds, to the
    /// frame that ear `e` receives.
    pub(super) fn blame(&mut self, length: u64, e: usize) {
        let (Some(ear), Some(tally)) = (self.ears.get_mut(e), self.tallies.get(e)) else {
            return;
        };
        let Some(lock) = &ear.lock else { return };
        let burst = self.foreign.power(e);
        if burst > 0 {
            let with = |mw: f64| (self.tallies).hazard(e, tally.power, mw, length);
            ear.blame.external += with(milliwatts(burst)) - with(0.0);
        }
        let others = ear.near.iter().filter(|(tx, _)| *tx != lock.tx);
        if let Some(&(tx, level)) = others.max_by_key(|(_, level)| *level) {
            let alone = (self.tallies).hazard(e, tally.power, milliwatts(level), length);
            let by = self.frames.get(tx as usize).map_or(0, |frame| frame.from);
            ear.blame.add(by, alone);
        }
    }

    /// Ear `e` came on in time for the long preamble of a frame that is meant for it: if it does not
    /// get it, what kept it from synchronising is why, and not that it was off when it began.
    pub(super) fn excuse_sleep(&mut self, now: u64, e: usize) {
        let Some(ear) = self.ears.get(e) else { return };
        let usual = self.reach.chip.phy.preamble_bytes;
        let held_by = ear.lock.map(|lock| lock.tx);
        let meant = ear.near.iter().find(|(tx, _)| {
            let frame = self.frames.get(*tx as usize);
            frame
                .is_some_and(|f| f.to == Some(e as u32) && f.is_long(usual) && now < f.preamble_end)
        });
        let Some(&(tx, level)) = meant.filter(|(tx, _)| held_by != Some(*tx)) else {
            return;
        };
        let sender = |tx: u32| self.frames.get(tx as usize).map(|frame| frame.from);
        let why = match (sender(tx), held_by.and_then(sender)) {
            (Some(from), Some(other)) => self.collision(from, other),
            _ => self.why_deaf(e, tx, level),
        };
        if let Some(frame) = self.frames.get_mut(tx as usize) {
            frame.loss = Some(why);
        }
    }

    /// Which kind of collision two senders make: whether one could sense the other.
    pub(super) fn collision(&self, a: u32, b: u32) -> Cause {
        let senses = |from: u32, to: u32| {
            let gain = self.reach.gain_between(from, to);
            gain.is_some_and(|gain| gain * self.nominal_power.1 >= self.sensed_from)
        };
        Cause::of_two(match senses(a, b) || senses(b, a) {
            true => Senses::Yes,
            false => Senses::No,
        })
    }

    /// Why ear `e` could not synchronise on frame `tx`.
    pub(super) fn why_deaf(&self, e: usize, tx: u32, level: Grains) -> Cause {
        let (Some(ear), Some(frame)) = (self.ears.get(e), self.frames.get(tx as usize)) else {
            return Cause::Weak;
        };
        let signal = milliwatts(level);
        let noise = self.tallies.noise_of(e);
        let burst = milliwatts(self.foreign.power(e));
        if signal <= self.lock_factor * noise {
            return Cause::Weak;
        }
        if signal <= self.lock_factor * (noise + burst) {
            return Cause::External;
        }
        let others = ear.near.iter().filter(|(other, _)| *other != tx);
        match others.max_by_key(|(_, level)| *level) {
            Some(&(other, power))
                if signal <= self.lock_factor * (noise + burst + milliwatts(power)) =>
            {
                let by = self.frames.get(other as usize).map_or(0, |f| f.from);
                self.collision(frame.from, by)
            }
            _ => Cause::NoiseFloor,
        }
    }

    /// Why a frame of `from` that ear `e` was synchronised on to the end is corrupt.
    pub(super) fn why_corrupt(&self, e: usize, from: u32, level: Grains, lock: Lock) -> Cause {
        let (Some(ear), Some(frame)) = (self.ears.get(e), self.frames.get(lock.tx as usize)) else {
            return Cause::Weak;
        };
        let phy = &self.reach.chip.phy;
        let sync = phy.symbol.as_nanos() * u64::from(phy.sync_symbols);
        let begin = frame.preamble_end.saturating_sub(sync).max(frame.start);
        let length = frame.end.saturating_sub(begin);
        let alone = self.tallies.hazard(e, level, 0.0, length);
        let wanted = frame.to == Some(e as u32);
        if !lock.stands(alone, &self.logarithm) {
            Cause::Weak
        } else if !wanted {
            // Without an account, the sender that is loudest now.
            let others = ear.near.iter().filter(|(tx, _)| *tx != lock.tx);
            let loudest = others.max_by_key(|(_, level)| *level);
            let by = loudest.and_then(|(tx, _)| self.frames.get(*tx as usize));
            by.map_or(Cause::NoiseFloor, |by| self.collision(from, by.from))
        } else if !lock.stands(ear.blame.external + alone, &self.logarithm) {
            Cause::External
        } else if !lock.stands(ear.blame.hazard + alone, &self.logarithm) {
            self.collision(from, ear.blame.by)
        } else {
            Cause::NoiseFloor
        }
    }
}
