//! A relay of a spare chain. It sleeps while the first packets are sent over other relays, and listens when the source
//! knows what became of them. A packet that calls its group's spare chain makes it a relay; it leaves where none comes.
//!
//! Nobody has to tell the relays whose place it takes: packets that call are none of theirs. Time base: the node's clock.
//! Tests: at the end.

use super::looking::LOOK;
use crate::pipeline::{Adaptation, Beat, Fixed, Heard, Retune};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::Progress;

/// A node of a spare chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spare {
    fixed: Fixed,
    /// From when on a call may come.
    wakes: Instant,
    /// Until then, and never once it has come.
    leaves: Option<Instant>,
    is_awake: bool,
}

impl Spare {
    /// A node of the stage that `fixed` tells, by the schedule of `beat`.
    pub fn new(fixed: Fixed, progress: Progress, beat: &Beat) -> Self {
        // One that keeps earlier packets begins with an exchange.
        let exchanges = match progress {
            Progress::Fresh => 0,
            Progress::Kept => 1,
        };
        let look = beat.start + beat.cycle * u64::from(LOOK);
        Self {
            fixed,
            wakes: look,
            leaves: Some(look + beat.silence * (exchanges + 2)),
            is_awake: false,
        }
    }

    /// How long it waits for a look to end.
    pub fn patience(beat: &Beat) -> Duration {
        beat.cycle * u64::from(LOOK) + beat.silence * 3
    }
}

impl Adaptation for Spare {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.fixed.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        self.is_awake
            .then(|| self.fixed.channels.of(self.fixed.stage))
    }
    fn passes_on(&self, _what: Heard) -> bool {
        self.leaves.is_none()
    }
    fn heard(&mut self, what: Heard, _sfd: Instant) {
        if what == Heard::Packet {
            self.leaves = None;
        }
    }
    fn leaves(&self) -> Option<Instant> {
        self.leaves
    }
    fn next(&self) -> Option<Instant> {
        (!self.is_awake).then_some(self.wakes)
    }
    fn advance(&mut self, at: Instant) -> Retune {
        if self.is_awake || at < self.wakes {
            return Retune::Stay;
        }
        self.is_awake = true;
        Retune::Now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_wire::route::Channels;

    const CYCLE: Duration = Duration::from_micros(4_537);

    fn beat() -> Beat {
        Beat {
            start: Instant::from_nanos(50_000_000),
            cycle: CYCLE,
            ahead: Duration::from_micros(400),
            silence: CYCLE * 10,
        }
    }
    fn spare() -> Spare {
        let channels = Channels::new(&[26, 20, 25].map(|n| Channel::new(n).unwrap())).unwrap();
        Spare::new(Fixed { channels, stage: 1 }, Progress::Fresh, &beat())
    }

    #[test]
    fn it_sleeps_until_the_look_is_over_and_leaves_two_exchanges_later() {
        let mut spare = spare();
        assert_eq!(spare.listening(), None);
        let wakes = spare.next().unwrap();
        assert_eq!(wakes, beat().start + CYCLE * u64::from(LOOK));
        assert_eq!(spare.advance(wakes), Retune::Now);
        assert_eq!(spare.listening(), Some(Channel::new(20).unwrap()));
        assert_eq!(spare.leaves(), Some(wakes + CYCLE * 20));
        assert!(spare.leaves() <= Some(beat().start + Spare::patience(&beat())));
    }

    #[test]
    fn a_packet_makes_it_a_relay_and_control_does_not() {
        let mut spare = spare();
        let at = spare.next().unwrap();
        let _ = spare.advance(at);
        spare.heard(Heard::Control, at);
        assert!(!spare.passes_on(Heard::Control));
        spare.heard(Heard::Packet, at);
        assert!(spare.passes_on(Heard::Packet) && spare.passes_on(Heard::Control));
        assert_eq!((spare.leaves(), spare.next()), (None, None));
    }
}
