//! Which ear locks on which frame: ears that a frame reaches when it begins, ears that begin to listen, and
//! ears that a frame's end sets free in the middle of another's preamble.

use super::{link, place_of, Medium, Receiver};
use crate::air::{FrameId, Locked};
use crate::cause::Without;
use crate::environment::Environment;
use crate::interference::Bursts;
use crate::phasors::Carrier;
use crate::receiver::{arrive, can_lock, Fixed};
use crate::reception::{LockedReceiver, Scratch};
use crate::signal::{On, Signal};
use crate::EarId;
use std::sync::Arc;
use thalweg_units::{Channel, SimTime};

impl Medium {
    /// The receiver of `ear` is on and tuned; the frame on which it locks at once.
    pub(super) fn tune(&mut self, at: SimTime, ear: EarId, on: Channel) -> Option<FrameId> {
        let place = ear.0 as usize;
        let fixed = *self.fixed.get(place)?;
        *self.receivers.get_mut(place)? = Receiver::On(on);
        let state = self.states.get_mut(place)?;
        state.locked = None;
        state.signals.clear();
        let mut best: Option<(f64, FrameId)> = None;
        for &tx_place in self.on_air.iter().flatten() {
            let Some(tx) = self.transmissions.get(tx_place as usize) else {
                continue;
            };
            if tx.end() <= at.as_nanos() {
                continue;
            }
            let Some(over) = link(&self.env, &mut self.held, tx, ear) else {
                continue;
            };
            let Some(signal) = arrive(&mut self.draws, &fixed, on, tx, over) else {
                continue;
            };
            state.signals.push(signal);
            if tx.is_findable(at, fixed.chip)
                && signal.on == On::Same
                && best.is_none_or(|(power, _)| signal.power > power)
            {
                best = Some((signal.power, tx.id));
            }
        }
        let found = best.and_then(|(_, id)| self.find(at, ear, id));
        self.excuse_sleep(at, ear, on, found);
        found
    }

    /// The idle `ear` has found the preamble of `id`: whether it locks.
    fn find(&mut self, at: SimTime, ear: EarId, id: FrameId) -> Option<FrameId> {
        let place = ear.0 as usize;
        let fixed = self.fixed.get(place)?;
        let state = self.states.get_mut(place)?;
        let signal = *state.signals.iter().find(|signal| signal.tx == id)?;
        let tx = self.transmissions.get_mut(place_of(id))?;
        let external = self.env.interference.at(place, tx.channel);
        let (bursts, env) = (&mut self.bursts, &self.env);
        let burst = || bursts.power_at(&env.interference, external, at);
        if !can_lock(fixed, &state.signals, &signal, at, burst) {
            return None;
        }
        state.locked = Some(signal);
        state.since = at.as_nanos();
        state.header_right = false;
        tx.locked.push(ear);
        if tx.to == Some(ear) && tx.is_long(fixed.chip) {
            tx.missed = None;
        }
        Some(id)
    }

    /// A frame of `from` on `channel` is over: ears that could have received it and are idle find a
    /// preamble that goes on. `power` is nominal, in milliwatts.
    pub(super) fn seek(
        &mut self,
        at: SimTime,
        (from, channel, power): (EarId, Channel, f64),
        locked: &mut Vec<Locked>,
    ) {
        let Some(chip) = self.fixed.get(from.0 as usize).map(|ear| ear.chip) else {
            return;
        };
        let on_air = self.on_air.get(channel.index()).into_iter().flatten();
        let frames = on_air.filter_map(|place| self.transmissions.get(*place as usize));
        let going_on = frames.filter(|tx| tx.is_findable(at, chip) && tx.end() > at.as_nanos());
        let preambles: Vec<FrameId> = going_on.map(|tx| tx.id).collect();
        if preambles.is_empty() {
            return;
        }
        let env = Arc::clone(&self.env);
        for link in env.links.heard_by(from, channel) {
            let place = link.to.0 as usize;
            let (Some(fixed), Some(state)) = (self.fixed.get(place), self.states.get(place)) else {
                continue;
            };
            let listens = self.receivers.get(place) == Some(&Receiver::On(channel));
            let near = fixed.could_lock(link, power * self.draws.most);
            if !listens || !near || state.locked.is_some() {
                continue;
            }
            let findable = state.signals.iter().filter(|s| preambles.contains(&s.tx));
            let best = findable.max_by(|a, b| a.power.total_cmp(&b.power));
            let Some(best) = best.map(|best| best.tx) else {
                continue;
            };
            if let Some(on) = self.find(at, link.to, best) {
                let ear = link.to;
                locked.push(Locked { ear, on });
            }
        }
    }

    /// The frame at `place` begins: every ear that it reaches hears it, and may lock on it. Gives how
    /// the ear that it is meant for hears it, where that one tried to lock and could not.
    pub(super) fn arrive_everywhere(
        &mut self,
        at: SimTime,
        place: u32,
        locked: &mut Vec<Locked>,
    ) -> Option<Signal> {
        let (env, draws, receivers) = (&*self.env, &mut self.draws, &self.receivers);
        let tx = self.transmissions.get_mut(place as usize)?;
        let (id, channel, mut unlocked) = (tx.id, tx.channel, None);
        let audible = tx.power * draws.most;
        let mut contest = Contest {
            at,
            env,
            carriers: &self.carriers,
            bursts: &mut self.bursts,
            burst_list: &mut self.burst_list,
            scratch: &mut self.scratch,
        };
        let links = env.links.heard_by(tx.from, channel);
        let held = self.held.of(tx.from, channel, links.len());
        for (link, held) in links.iter().zip(held) {
            let ear_place = link.to.0 as usize;
            let Some(&Receiver::On(tuned)) = receivers.get(ear_place) else {
                continue;
            };
            let (ear, state) = (self.fixed.get(ear_place), self.states.get_mut(ear_place));
            let (Some(ear), Some(state)) = (ear, state) else {
                continue;
            };
            if tuned != channel
                && f64::from(link.gain_mw) * audible * ear.leak(tuned, channel) < ear.inaudible
            {
                continue;
            }
            let Some(signal) = arrive(draws, ear, tuned, tx, (link, held)) else {
                continue;
            };
            state.forget(at);
            state.signals.push(signal);
            // Read where it is kept: then it is written there and nowhere else.
            let is_open = !tx.expected || tx.to == Some(link.to);
            let signal = state.signals.last();
            let Some(signal) = signal.filter(|s| s.on == On::Same && is_open) else {
                continue;
            };
            let external = env.interference.at(ear_place, channel);
            if let Some(current) = &state.locked {
                let lock = (current, &mut state.header_right);
                if contest.keeps(ear, lock, &state.signals, external, tx.expected) {
                    continue;
                }
            }
            let burst = || contest.bursts.power_at(&env.interference, external, at);
            if can_lock(ear, &state.signals, signal, at, burst) {
                if let Some(old) = state.locked.replace(*signal) {
                    self.stolen.push((old.tx, link.to));
                }
                state.since = at.as_nanos();
                state.header_right = false;
                tx.locked.push(link.to);
                locked.push(Locked {
                    ear: link.to,
                    on: id,
                });
            } else if tx.to == Some(link.to) {
                unlocked = Some(*signal);
            }
        }
        unlocked
    }
}

/// What decides whether an ear that is locked on one frame leaves it for another.
struct Contest<'a> {
    at: SimTime,
    env: &'a Environment,
    carriers: &'a [Carrier],
    bursts: &'a mut Bursts,
    burst_list: &'a mut Vec<(u64, u64)>,
    scratch: &'a mut Scratch,
}

impl Contest<'_> {
    /// Whether `ear`, locked on `current`, stays so though the last of `signals` has begun. Notes where the header of
    /// `current` turns out to be right.
    fn keeps(
        &mut self,
        ear: &Fixed,
        (current, header_right): (&Signal, &mut bool),
        signals: &[Signal],
        external: Option<(usize, f64)>,
        expected: bool,
    ) -> bool {
        let is_copy = |signal: &Signal| signal.is_synchronous_with(current);
        let Some(signal) = signals.last() else {
            return true;
        };
        if *header_right || is_copy(signal) {
            return true;
        }
        let phy = ear.chip.phy.with_preamble(current.preamble);
        let age = self.at.as_nanos().saturating_sub(current.start);
        if age < phy.stealable().as_nanos() {
            let group = signals.iter().filter(|s| is_copy(s));
            let group: f64 = group.map(|s| s.power).sum();
            // A node that waits for an acknowledgement does not look for preambles.
            return signal.power < ear.steal * group && !expected;
        }
        // The ear is free again if the header of the frame that it was locked on was wrong.
        if age < phy.header().as_nanos() {
            return true;
        }
        let interference = &self.env.interference;
        self.bursts.gather(
            interference,
            external,
            current.start,
            self.at,
            self.burst_list,
        );
        let receiver = LockedReceiver {
            demodulator: self.env.demodulator(),
            chip: ear.chip,
            noise: ear.noise,
            locked: current,
            signals,
            bursts: self.burst_list,
            burst_power: external.map_or(0.0, |(_, power)| power),
            carriers: self.carriers,
        };
        let assessment = receiver.assess(phy.mpdu_symbol(), Without::Nothing, self.scratch);
        *header_right = assessment.hazard < current.endurance();
        *header_right
    }
}
