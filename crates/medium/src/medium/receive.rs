//! Receptions of an ear that is locked on a frame: the head, the whole frame, the registers.

use super::{number_of, Medium, Receiver};
use crate::air::{Explain, FrameId, Locked, Outcome, Reception};
use crate::cause::{Cause, Without};
use crate::modem::Demodulator;
use crate::random::nth;
use crate::receiver::{lqi, rssi};
use crate::reception::{Assessment, LockedReceiver};
use crate::signal::Signal;
use crate::EarId;
use thalweg_units::{Dbm, Duration, MilliWatts, SimTime};

impl Medium {
    /// When the SFD of `of` ended at `ear`, if the ear is locked on it and got its first `bytes` right.
    pub(super) fn receive_head(
        &mut self,
        at: SimTime,
        ear: EarId,
        of: FrameId,
        bytes: usize,
    ) -> Option<SimTime> {
        let place = ear.0 as usize;
        let locked = self.states.get(place)?.locked.filter(|l| l.tx == of)?;
        let phy = self.phy(place, &locked)?;
        let until = phy.mpdu_symbol() + phy.symbols_per_byte * bytes as u32;
        let until = until.min(locked.symbols(&phy));
        let assessment = self.assess(at, place, &locked, until, Without::Nothing)?;
        (assessment.hazard < locked.endurance())
            .then(|| arrival(&locked, &assessment) + phy.sfd_offset())
    }

    /// The last symbol of `of`.
    pub(super) fn receive_all(
        &mut self,
        at: SimTime,
        of: FrameId,
        explain: Explain,
        got: &mut Vec<Reception>,
        now_locked: &mut Vec<Locked>,
    ) -> Option<Cause> {
        let place = super::place_of(of);
        let tx = self.transmissions.get_mut(place).filter(|tx| tx.id == of)?;
        if self.ended.contains(&(place as u32)) {
            return None;
        }
        let (sender, to) = ((tx.from, tx.channel, tx.power), tx.to);
        let mut ears = core::mem::take(&mut tx.locked);
        if let Some(on_air) = self.on_air.get_mut(sender.1.index()) {
            on_air.retain(|&other| other as usize != place);
        }
        // What its own ear got; nothing, where it was not locked on it to the end.
        let mut outcome = None;
        for &ear in &ears {
            let Some(state) = self.states.get_mut(ear.0 as usize) else {
                continue;
            };
            let Some(locked) = state.locked.take_if(|locked| locked.tx == of) else {
                continue;
            };
            let explain = if to == Some(ear) {
                Explain::Losses
            } else {
                explain
            };
            let reception = self.receive(at, ear, &locked, explain);
            if to == Some(ear) {
                let header = || Outcome::Corrupt(Some(self.why_corrupt(at, ear, &locked)));
                outcome = Some(reception.map_or_else(header, |r| r.outcome));
            }
            got.extend(reception);
        }
        ears.clear();
        self.ended.push(place as u32);
        self.seek(at, sender, now_locked);
        let tx = self.transmissions.get_mut(place)?;
        tx.locked = ears;
        to?;
        match outcome {
            Some(Outcome::Good) => None,
            Some(Outcome::Corrupt(cause)) => tx.missed.or(cause),
            None => tx.missed.or(Some(Cause::Weak)),
        }
    }

    fn receive(
        &mut self,
        at: SimTime,
        ear: EarId,
        locked: &Signal,
        explain: Explain,
    ) -> Option<Reception> {
        let place = ear.0 as usize;
        let phy = self.phy(place, locked)?;
        let total = locked.symbols(&phy);
        let assessment = self.assess(at, place, locked, total, Without::Nothing)?;
        // Most receptions are spared the logarithm.
        let outcome = if assessment.hazard <= 0.0 || assessment.hazard < locked.endurance() {
            Outcome::Good
        } else {
            let header = self.assess(at, place, locked, phy.mpdu_symbol(), Without::Nothing)?;
            if header.hazard >= locked.endurance() {
                return None;
            }
            Outcome::Corrupt(match explain {
                Explain::No => None,
                Explain::Losses => Some(self.why_corrupt(at, ear, locked)),
            })
        };
        let begin = arrival(locked, &assessment);
        Some(Reception {
            ear,
            outcome,
            senders: assessment.senders,
            sfd: begin + phy.sfd_offset(),
            end: begin + Duration::from_nanos(u64::from(locked.air)),
            power: MilliWatts(assessment.power),
            interference: MilliWatts(assessment.interference),
        })
    }

    /// Signal strength and link quality of a reception of `of`.
    pub(super) fn read_registers(&self, of: FrameId, reception: &Reception) -> (Dbm, u8) {
        let ear = reception.ear.0;
        let Some(fixed) = self.fixed.get(ear as usize) else {
            return (Dbm(f64::NEG_INFINITY), 0);
        };
        let (power, others) = (reception.power.0, reception.interference.0);
        let (step, noise) = (fixed.chip.rssi_step, fixed.sensed_noise);
        let ratio = Demodulator::ratio(fixed.chip.modem, power, fixed.noise, others);
        let word = nth(self.draws.key(number_of(of)), u64::from(ear));
        let strength = rssi(&self.logarithm, step, power, noise, fixed.rssi_bias);
        (strength, lqi(ratio, word))
    }

    pub(super) fn assess(
        &mut self,
        at: SimTime,
        place: usize,
        locked: &Signal,
        until: u32,
        without: Without,
    ) -> Option<Assessment> {
        let fixed = self.fixed.get(place)?;
        let Receiver::On(channel) = *self.receivers.get(place)? else {
            return None;
        };
        let external = self.env.interference.at(place, channel);
        self.bursts.gather(
            &self.env.interference,
            external,
            locked.start,
            at,
            &mut self.burst_list,
        );
        let receiver = LockedReceiver {
            demodulator: self.env.demodulator(),
            chip: fixed.chip,
            noise: fixed.noise,
            locked,
            signals: &self.states.get(place)?.signals,
            bursts: &self.burst_list,
            burst_power: external.map_or(0.0, |(_, power)| power),
            carriers: &self.carriers,
        };
        Some(receiver.assess(until, without, &mut self.scratch))
    }
}

/// When the first symbol of a reception arrived.
fn arrival(locked: &Signal, assessment: &Assessment) -> SimTime {
    let offset = f64::from(locked.delay) + assessment.centre_ns;
    if offset >= 0.0 {
        SimTime::from_nanos(locked.start) + Duration::from_nanos((offset + 0.5) as u64)
    } else {
        SimTime::from_nanos(locked.start)
            .saturating_sub(Duration::from_nanos((0.5 - offset) as u64))
    }
}
