//! Why frames are lost: how an ear stands to a frame on the air, and what would have saved it.
//!
//! Of frames that are meant for one ear, the first reason found is kept; all else is looked at only
//! on request, and changes nothing. Meaningful from a frame's beginning to its end. Tests:
//! `src/tests/same_air.rs`.

use super::{place_of, Medium, Receiver};
use crate::air::{EarStatus, FrameId};
use crate::cause::{Cause, Senses, Without};
use crate::receiver::can_lock;
use crate::reception::LockedReceiver;
use crate::signal::{On, Signal};
use crate::EarId;
use thalweg_units::{Channel, SimTime};

impl Medium {
    /// Keeps the first reason that is found for the loss of `of` at the ear that it is meant for.
    pub(super) fn note(&mut self, of: FrameId, ear: EarId, why: Cause) {
        let found = self.transmissions.get_mut(place_of(of));
        if let Some(tx) = found.filter(|tx| tx.id == of && tx.to == Some(ear)) {
            tx.missed.get_or_insert(why);
        }
    }

    /// The frame `id` has begun: what it stole, and why its own ear did not lock on it; `unlocked` is
    /// how that ear hears it, where it tried.
    pub(super) fn note_beginning(&mut self, at: SimTime, id: FrameId, unlocked: Option<Signal>) {
        let mut stolen = core::mem::take(&mut self.stolen);
        for (of, ear) in stolen.drain(..) {
            let senders = [of, id].map(|frame| self.transmission(frame).map(|tx| tx.from));
            if let [Some(robbed), Some(by)] = senders {
                let why = self.collision(robbed, by, id);
                self.note(of, ear, why);
            }
        }
        self.stolen = stolen;
        let Some((ear, on)) = self
            .transmission(id)
            .and_then(|tx| Some((tx.to?, tx.channel)))
        else {
            return;
        };
        let why = match unlocked {
            Some(signal) => Some(self.why_unlocked(at, ear.0 as usize, on, &signal)),
            None => self.why_not(at, ear, id),
        };
        if let Some(why) = why {
            self.note(id, ear, why);
        }
    }

    /// `ear` came on in time for the long preamble of a frame that is meant for it: if it does not get
    /// it, the cause is what kept it from locking, and not that it was off when the frame began.
    pub(super) fn excuse_sleep(
        &mut self,
        at: SimTime,
        ear: EarId,
        on: Channel,
        found: Option<FrameId>,
    ) {
        let Some(chip) = self.fixed.get(ear.0 as usize).map(|fixed| fixed.chip) else {
            return;
        };
        let on_air = self.on_air.get(on.index()).into_iter().flatten();
        let mut frames = on_air.filter_map(|place| self.transmissions.get(*place as usize));
        let meant = frames.find(|tx| {
            tx.to == Some(ear) && tx.is_long(chip) && at.as_nanos() < tx.preamble_end(chip)
        });
        let Some(id) = meant.map(|tx| tx.id).filter(|id| found != Some(*id)) else {
            return;
        };
        let why = self.why_not(at, ear, id);
        if let Some(tx) = self.transmissions.get_mut(place_of(id)) {
            tx.missed = why;
        }
    }

    /// Which kind of collision two senders make: whether one could sense the other, if both send as
    /// the sender of `like` does.
    fn collision(&self, a: EarId, b: EarId, like: FrameId) -> Cause {
        let Some(tx) = self.transmission(like) else {
            return Cause::Collision;
        };
        let senses = |from: EarId, to: EarId| {
            let link = self.env.links.between(from, to, tx.channel);
            let chip = self.fixed.get(to.0 as usize).map(|fixed| fixed.chip);
            link.zip(chip).is_some_and(|(link, chip)| {
                f64::from(link.gain_mw) * tx.power >= chip.cca_threshold.milliwatts().0
            })
        };
        Cause::of_two(match senses(a, b) || senses(b, a) {
            true => Senses::Yes,
            false => Senses::No,
        })
    }

    /// Why `ear` is not locked on `of`; none where it is.
    fn why_not(&mut self, at: SimTime, ear: EarId, of: FrameId) -> Option<Cause> {
        let tx = self.transmission(of)?;
        if !self.is_near(tx.from, ear.0 as usize, of) {
            return Some(Cause::Weak);
        }
        match self.state_of(at, ear, of) {
            EarStatus::Locked | EarStatus::WithCopy => None,
            EarStatus::Off(_) | EarStatus::Elsewhere(_) => Some(Cause::Deaf),
            EarStatus::Unlocked(why) => Some(why),
            EarStatus::Taken(by) => {
                let from = self.transmission(of)?.from;
                Some(self.collision(from, by, of))
            }
        }
    }

    /// Whether the ear at `place` could lock on `from`, were it to send as the sender of `like` does.
    fn is_near(&self, from: EarId, place: usize, like: FrameId) -> bool {
        let (Some(fixed), Some(tx)) = (self.fixed.get(place), self.transmission(like)) else {
            return false;
        };
        let link = self
            .env
            .links
            .between(from, EarId(place as u32), tx.channel);
        link.is_some_and(|link| fixed.could_lock(link, tx.power * self.draws.most))
    }

    pub(super) fn state_of(&mut self, at: SimTime, ear: EarId, of: FrameId) -> EarStatus {
        let place = ear.0 as usize;
        let (Some(receiver), Some(state), Some(sent)) = (
            self.receivers.get(place),
            self.states.get(place),
            self.transmission(of),
        ) else {
            return EarStatus::Unlocked(Cause::Weak);
        };
        let tuned = match *receiver {
            Receiver::Off(why) => return EarStatus::Off(why),
            Receiver::On(channel) => channel,
        };
        if tuned != sent.channel {
            return EarStatus::Elsewhere(tuned);
        }
        let signal = state.signals.iter().find(|signal| signal.tx == of);
        match (&state.locked, signal) {
            (Some(locked), _) if locked.tx == of => EarStatus::Locked,
            (Some(locked), Some(signal)) if signal.is_synchronous_with(locked) => {
                EarStatus::WithCopy
            }
            (Some(locked), _) => EarStatus::Taken(EarId(locked.from)),
            (None, Some(signal)) => {
                let signal = *signal;
                EarStatus::Unlocked(self.why_unlocked(at, place, tuned, &signal))
            }
            (None, None) => EarStatus::Unlocked(Cause::Weak),
        }
    }

    /// Why the idle ear at `place` could not lock on `signal`.
    fn why_unlocked(&mut self, at: SimTime, place: usize, on: Channel, signal: &Signal) -> Cause {
        let (Some(fixed), Some(state)) = (self.fixed.get(place), self.states.get(place)) else {
            return Cause::Weak;
        };
        let external = self.env.interference.at(place, on);
        let burst = self.bursts.power_at(&self.env.interference, external, at);
        let locks = |left: &[Signal], external: bool| {
            can_lock(
                fixed,
                left,
                signal,
                at,
                || if external { burst } else { 0.0 },
            )
        };
        let is_other = |other: &Signal| other.on == On::Same && !other.is_synchronous_with(signal);
        let least = Without::least(|without| {
            let stays = |other: &&Signal| match other.on {
                On::Same => !is_other(other) || without < Without::CoChannel,
                On::Other => without < Without::OtherChannels,
            };
            let left: Vec<Signal> = state.signals.iter().filter(stays).copied().collect();
            // Power alone decides about the lock: there is nothing to gain from fewer senders.
            without < Without::OtherSenders && locks(&left, without < Without::External)
        });
        if least != Some(Without::CoChannel) {
            return cause_of(least);
        }
        let near = |s: &Signal| self.is_near(EarId(s.from), place, signal.tx);
        let others = state.signals.iter();
        let others = others.filter(|s| is_other(s) && s.is_on_at(at) && near(s));
        let loudest = others.max_by(|a, b| a.power.total_cmp(&b.power));
        match loudest.filter(|loudest| !locks(&[*signal, **loudest], true)) {
            Some(by) => self.collision(EarId(signal.from), EarId(by.from), signal.tx),
            None => Cause::NoiseFloor,
        }
    }

    /// Why the frame that `ear` was locked on is wrong.
    pub(super) fn why_corrupt(&mut self, at: SimTime, ear: EarId, locked: &Signal) -> Cause {
        let place = ear.0 as usize;
        let Some(total) = self.phy(place, locked).map(|phy| locked.symbols(&phy)) else {
            return Cause::Weak;
        };
        let endurance = locked.endurance();
        let Some(whole) = self.assess(at, place, locked, total, Without::Nothing) else {
            return Cause::Weak;
        };
        let least = Without::least(|without| {
            whole.disturbed.by(without)
                && self
                    .assess(at, place, locked, total, without)
                    .is_some_and(|assessment| assessment.hazard < endurance)
        });
        match least {
            Some(Without::CoChannel) => self.which_frames(place, locked, total),
            other => cause_of(other),
        }
    }

    /// Which frames on the channel are to blame for what the ear at `place` got wrong of `locked`
    /// before symbol `until`.
    fn which_frames(&self, place: usize, locked: &Signal, until: u32) -> Cause {
        let (Some(fixed), Some(state)) = (self.fixed.get(place), self.states.get(place)) else {
            return Cause::NoiseFloor;
        };
        let receiver = LockedReceiver {
            demodulator: self.env.demodulator(),
            chip: fixed.chip,
            noise: fixed.noise,
            locked,
            signals: &state.signals,
            bursts: &[],
            burst_power: 0.0,
            carriers: &self.carriers,
        };
        let near = |s: &Signal| self.is_near(EarId(s.from), place, locked.tx);
        match receiver.loudest(until, near) {
            Some((hazard, by)) if hazard >= locked.endurance() => {
                self.collision(EarId(locked.from), by, locked.tx)
            }
            _ => Cause::NoiseFloor,
        }
    }

    /// Why `ear`, which is locked on `of`, does not get its header right; none where it does.
    pub(super) fn header_loss(&mut self, at: SimTime, ear: EarId, of: FrameId) -> Option<Cause> {
        let place = ear.0 as usize;
        let locked = self.states.get(place)?.locked.filter(|l| l.tx == of)?;
        let header = self.phy(place, &locked)?.mpdu_symbol();
        let endurance = locked.endurance();
        let mut right = |without| {
            let assessment = self.assess(at, place, &locked, header, without);
            assessment.is_some_and(|assessment| assessment.hazard < endurance)
        };
        if right(Without::Nothing) {
            return None;
        }
        match Without::least(right) {
            Some(Without::CoChannel) => Some(self.which_frames(place, &locked, header)),
            other => Some(cause_of(other)),
        }
    }

    /// The sender of the strongest other frame that `ear` hears on its channel during `of`.
    pub(super) fn interferer(&self, ear: EarId, of: FrameId) -> Option<EarId> {
        let state = self.states.get(ear.0 as usize)?;
        let signal = state.signals.iter().find(|signal| signal.tx == of)?;
        state
            .signals
            .iter()
            .filter(|other| {
                other.on == On::Same
                    && !other.is_synchronous_with(signal)
                    && other.start < signal.end()
                    && other.end() > signal.start
            })
            .max_by(|a, b| a.power.total_cmp(&b.power))
            .map(|other| EarId(other.from))
    }
}

/// The cause where taking away so much helps, other frames on the channel apart.
const fn cause_of(least: Option<Without>) -> Cause {
    match least {
        Some(Without::OtherChannels) => Cause::AdjacentChannel,
        Some(Without::External) => Cause::External,
        Some(Without::OtherSenders) => Cause::BeatNull,
        Some(Without::CoChannel) => Cause::NoiseFloor,
        Some(Without::Nothing) | None => Cause::Weak,
    }
}
