//! Which ear locks on which frame: ears that a frame reaches when it begins, and idle ears that look for a
//! preamble that is still going on.

use super::loss::Blame;
use super::tally::{milliwatts, Admission, Grains};
use super::{Ether, Lock, Receiver};
use crate::air::Lead;
use crate::random::{mix, nth, open_unit};

impl Ether {
    /// Frame `tx` begins at the listening ear `e`, which may synchronise on it.
    pub(super) fn arrive(&mut self, now: u64, e: usize, tx: u32, level: Grains) {
        let (Some(frame), Some(ear)) = (self.frames.get(tx as usize), self.ears.get_mut(e)) else {
            return;
        };
        let wanted = frame.to == Some(e as u32);
        if frame.lead == Lead::Expected && !wanted {
            return;
        }
        if let Some(lock) = ear.lock {
            let current = self.frames.get(lock.tx as usize);
            let (Some(current), Some(tally)) = (current, self.tallies.get(e)) else {
                return;
            };
            let steal_end = current.preamble_end + self.steal_after;
            let free = if now < steal_end {
                // A node that waits for an acknowledgement does not look for preambles.
                frame.lead == Lead::Expected || level as f64 >= self.steal * tally.power as f64
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
    pub(super) fn seek(&mut self, now: u64, e: usize) {
        let phy = &self.reach.chip.phy;
        let byte = phy.symbol.as_nanos() * u64::from(phy.symbols_per_byte);
        let Some(ear) = self.ears.get(e) else { return };
        if ear.receiver != Receiver::On || ear.lock.is_some() {
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
        let word = mix(nth(frame.key, u64::from(id.0)) ^ 0x5851_f42d_4c95_7f2d);
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
