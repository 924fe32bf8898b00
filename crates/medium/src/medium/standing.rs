//! How an ear stands to a frame on the air: what explanations of losses ask beyond receptions.
//!
//! Looked at only where somebody explains; nothing here changes the state of the air. Meaningful
//! from a frame's `transmit` to its `end`. Tests: here.

use super::{Deaf, Medium, Receiver, PLACE_BITS};
use crate::losscause::{LossCause, Without};
use crate::receiver::can_lock;
use crate::signal::{On, Signal};
use crate::{EarId, TxId};
use thalweg_units::{Channel, SimTime};

/// How an ear stands to a frame on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its receiver is off.
    Off(Deaf),
    /// It listens to another channel.
    Elsewhere(Channel),
    /// It is synchronised on the frame.
    Locked,
    /// It is synchronised on a synchronous copy of the frame.
    WithCopy,
    /// It is synchronised on another frame, of this sender.
    Taken(EarId),
    /// It hears nothing of it, or could not synchronise on it, for this reason.
    Unlocked(LossCause),
}

impl Medium {
    /// How `ear` stands to `tx` at `at`, the present: right after its `transmit`, or right before
    /// its `end`.
    pub fn standing(&mut self, at: SimTime, ear: EarId, tx: TxId) -> Standing {
        let place = ear.0 as usize;
        let (number, tx_place) = (tx.0 >> PLACE_BITS, tx.0 & ((1 << PLACE_BITS) - 1));
        let (Some(receiver), Some(hears), Some(fixed), Some(sent)) = (
            self.receivers.get(place),
            self.hears.get(place),
            self.fixed.get(place),
            self.transmissions.get(tx_place as usize),
        ) else {
            return Standing::Unlocked(LossCause::Weak);
        };
        let tuned = match *receiver {
            Receiver::Off(why) => return Standing::Off(why),
            Receiver::On(channel) => channel,
        };
        if tuned != sent.channel {
            return Standing::Elsewhere(tuned);
        }
        let signal = hears.signals.iter().find(|signal| signal.tx == number);
        match (&hears.locked, signal) {
            (Some(locked), _) if locked.tx == number => return Standing::Locked,
            (Some(locked), Some(signal)) if signal.is_synchronous_with(locked) => {
                return Standing::WithCopy;
            }
            (Some(locked), _) => return Standing::Taken(EarId(locked.from)),
            (None, _) => {}
        }
        let Some(signal) = signal else {
            return Standing::Unlocked(LossCause::Weak);
        };
        let external = self.env.interference.at(place, tuned);
        let burst = self.bursts.power_at(&self.env.interference, external, at);
        Standing::Unlocked(LossCause::find(|without| {
            let stays = |other: &&Signal| match other.on {
                On::Same => other.is_synchronous_with(signal) || without < Without::CoChannel,
                On::Other => without < Without::OtherChannels,
            };
            let left: Vec<Signal> = hears.signals.iter().filter(stays).copied().collect();
            let external = without < Without::External;
            // Power alone decides about the lock: there is nothing to gain from fewer senders.
            without < Without::OtherSenders
                && can_lock(
                    fixed,
                    &left,
                    signal,
                    at,
                    || if external { burst } else { 0.0 },
                )
        }))
    }

    /// Why `ear`, which is synchronised on `tx`, does not get its header right; asked right before
    /// the frame's `end`, after which such an ear tells nothing. `None` where it does.
    pub fn header_loss(&mut self, at: SimTime, ear: EarId, tx: TxId) -> Option<LossCause> {
        let place = ear.0 as usize;
        let locked = self.hears.get(place)?.locked?;
        if locked.tx != tx.0 >> PLACE_BITS {
            return None;
        }
        let header = self.fixed.get(place)?.chip.phy.mpdu_symbol();
        let endurance = locked.endurance();
        let right = |medium: &mut Self, without| {
            medium
                .assess(at, place, &locked, header, without)
                .is_some_and(|heard| heard.hazard < endurance)
        };
        if right(self, Without::Nothing) {
            return None;
        }
        Some(LossCause::find(|without| right(self, without)))
    }

    /// The sender of the strongest other frame that `ear` hears on its channel during `tx`; asked
    /// right before the end of `tx`.
    pub fn interferer(&self, ear: EarId, tx: TxId) -> Option<EarId> {
        let hears = self.hears.get(ear.0 as usize)?;
        let number = tx.0 >> PLACE_BITS;
        let signal = hears.signals.iter().find(|signal| signal.tx == number)?;
        hears
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::CC2420;
    use crate::Environment;
    use std::sync::Arc;
    use thalweg_units::{Dbm, Duration};

    const POWER: Dbm = Dbm(0.0);

    fn air(rssi: impl Fn(usize, usize) -> f64) -> Medium {
        let env = Environment::from_gains(4, &CC2420, 1, |from, to, _| Some(Dbm(rssi(from, to))));
        Medium::new(Arc::new(env), 1)
    }
    fn ms(at: u64) -> SimTime {
        SimTime::from_nanos(at * 1_000_000)
    }

    #[test]
    fn ears_that_are_off_elsewhere_or_far_say_so() {
        let mut air = air(|_, to| if to == 3 { -104.0 } else { -70.0 });
        let (mut locked, ch26) = (Vec::new(), Channel::LAST);
        let ch20 = Channel::new(20).unwrap();
        air.listen(ms(1), EarId(2), ch20);
        air.listen(ms(1), EarId(3), ch26);
        let tx = air.transmit(ms(2), EarId(0), ch26, POWER, &[1; 60], &mut locked);
        assert_eq!(
            air.standing(ms(2), EarId(1), tx),
            Standing::Off(Deaf::Sleeping)
        );
        assert_eq!(air.standing(ms(2), EarId(2), tx), Standing::Elsewhere(ch20));
        let far = air.standing(ms(2), EarId(3), tx);
        assert_eq!(far, Standing::Unlocked(LossCause::Weak));
    }

    #[test]
    fn copies_and_strangers_are_told_apart() {
        let mut air = air(|_, _| -70.0);
        let (mut locked, ch26) = (Vec::new(), Channel::LAST);
        air.listen(ms(1), EarId(3), ch26);
        let first = air.transmit(ms(2), EarId(0), ch26, POWER, &[1; 60], &mut locked);
        let soon = ms(2) + Duration::from_nanos(200);
        let copy = air.transmit(soon, EarId(1), ch26, POWER, &[1; 60], &mut locked);
        let late = ms(2) + Duration::from_micros(600);
        let other = air.transmit(late, EarId(2), ch26, POWER, &[2; 60], &mut locked);
        assert_eq!(air.standing(late, EarId(3), first), Standing::Locked);
        assert_eq!(air.standing(late, EarId(3), copy), Standing::WithCopy);
        assert_eq!(
            air.standing(late, EarId(3), other),
            Standing::Taken(EarId(0))
        );
        assert_eq!(air.interferer(EarId(3), first), Some(EarId(2)));
        assert_eq!(air.header_loss(late, EarId(3), first), None);
    }

    #[test]
    fn a_stronger_frame_on_the_same_channel_keeps_an_ear_from_synchronising() {
        let mut air = air(|from, _| if from == 0 { -60.0 } else { -70.0 });
        let (mut locked, ch26) = (Vec::new(), Channel::LAST);
        let _ = air.transmit(ms(2), EarId(0), ch26, POWER, &[1; 60], &mut locked);
        // Too late for the first frame's preamble, and it is in the way of the second.
        let on = ms(2) + Duration::from_micros(400);
        assert_eq!(air.listen(on, EarId(3), ch26), None);
        let second = air.transmit(on, EarId(1), ch26, POWER, &[2; 60], &mut locked);
        assert_eq!(
            air.standing(on, EarId(3), second),
            Standing::Unlocked(LossCause::Collision)
        );
    }
}
