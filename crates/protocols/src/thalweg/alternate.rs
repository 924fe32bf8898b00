//! A alternate relay, of which there may be one beside each relay. It sleeps while the first packets are sent, and listens when
//! the source is told what became of them: whether its group calls, or another probe follows, through which it sleeps as
//! well. In a transfer that keeps earlier packets its group calls from the beginning. A packet that calls makes it a relay; it
//! leaves where none will come.
//!
//! The relays of its group go on: nobody knows which of their hops carries nothing, and those of a stage send what they have
//! heard in step. Time base: the node's clock. Tests: at the end.

use super::report::{probe_over, Verdict, LONG_PROBE};
use super::stage_role::ChainRole;
use crate::pipeline::{Adaptation, Beat, End, Heard, Retune};
use crate::timer::sooner;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::Progress;

/// Silences of an exchange that it waits for a call.
const PATIENT: u64 = 2;

/// A alternate relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlternateRelay {
    lane: ChainRole,
    cycle: Duration,
    at: At,
}

/// What it is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Sleeps until a probe is over, and listens then until so long.
    Asleep(Instant, Instant),
    /// Listens for what becomes of it, until then.
    Listening(Instant),
    /// Is not wanted: sleeps until the transfer goes on, and leaves it.
    Leaving(Instant),
    /// Takes part.
    Relaying,
}

impl AlternateRelay {
    /// A node on `lane`, by the schedule of `beat`.
    pub fn new(lane: ChainRole, progress: Progress, beat: &Beat) -> Self {
        let probe = probe_over(beat, lane.fixed.channels.hops());
        Self {
            lane,
            cycle: beat.cycle,
            at: match progress {
                Progress::Fresh => At::Asleep(probe, probe + beat.silence * PATIENT),
                Progress::Kept => At::Listening(probe + beat.silence * PATIENT),
            },
        }
    }

    /// The longest that it hears nothing of a transfer that goes on.
    pub fn patience(beat: &Beat) -> Duration {
        beat.cycle * u64::from(LONG_PROBE) + beat.silence * (PATIENT + 1)
    }
}

impl Adaptation for AlternateRelay {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.lane.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        match self.at {
            At::Asleep(..) | At::Leaving(_) => None,
            At::Listening(_) | At::Relaying => {
                Some(self.lane.fixed.channels.of(self.lane.fixed.stage))
            }
        }
    }
    fn passes_on(&self, what: Heard) -> bool {
        self.at == At::Relaying && what != Heard::Count
    }
    fn heard(&mut self, what: Heard, sfd: Instant) {
        self.lane.rendezvous.hears(sfd);
        if what == Heard::Call {
            self.at = At::Relaying;
        }
    }
    fn told(&mut self, said: &[u8], due: Instant) -> Retune {
        self.lane.said(said);
        let verdicts = match (self.at, Verdict::read(said)) {
            (At::Listening(_), Some(verdicts)) => verdicts,
            _ => return Retune::Stay,
        };
        let is_called = verdicts[self.lane.group.index()] == Verdict::UseAlternate;
        self.at = match Verdict::next_probe(verdicts) {
            Some(_) if is_called => At::Listening(due + self.lane.rendezvous.silence()),
            Some(packets) => {
                let probe = due + self.cycle * u64::from(packets);
                self.lane.rendezvous.hears(probe);
                At::Asleep(probe, probe + self.lane.rendezvous.silence() * PATIENT)
            }
            None if verdicts.contains(&Verdict::Abort) => At::Listening(due),
            None => At::Leaving(due),
        };
        match self.at {
            At::Asleep(..) | At::Leaving(_) => Retune::Now,
            At::Listening(_) | At::Relaying => Retune::Stay,
        }
    }
    fn gives_up(&self) -> bool {
        self.lane.gives_up
    }
    fn leaves(&self) -> Option<(Instant, End)> {
        match self.at {
            At::Listening(until) => {
                let leaves = sooner(self.lane.rendezvous.free_by(), Some(until));
                leaves.map(|leaves| (leaves, End::NotCalled))
            }
            At::Leaving(then) => Some((then, End::NotNeeded)),
            At::Asleep(..) => None,
            At::Relaying => self.lane.leaves(),
        }
    }
    fn next(&self) -> Option<Instant> {
        match self.at {
            At::Asleep(wakes, _) => Some(wakes),
            At::Listening(_) | At::Leaving(_) | At::Relaying => None,
        }
    }
    fn advance(&mut self, at: Instant) -> Retune {
        match self.at {
            At::Asleep(wakes, until) if wakes <= at => {
                self.at = At::Listening(until);
                Retune::Now
            }
            _ => Retune::Stay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::PROBE;
    use super::*;
    use crate::thalweg::testing::{beat, route, CYCLE};
    use thalweg_wire::pipeline::Group;

    /// One of the even group, awake after the first probe.
    fn awake() -> (AlternateRelay, Instant) {
        let lane = ChainRole::new(&route(&[26, 20, 25]), (1, Group::Even), &beat(), None);
        let mut alternate = AlternateRelay::new(lane, Progress::Fresh, &beat());
        assert_eq!(alternate.listening(), None);
        let wakes = alternate.next().unwrap();
        assert_eq!(wakes, beat().start + CYCLE * (u64::from(PROBE) + 1));
        assert_eq!(alternate.advance(wakes), Retune::Now);
        assert_eq!(alternate.listening(), Some(Channel::new(20).unwrap()));
        (alternate, wakes)
    }

    #[test]
    fn it_leaves_two_exchanges_after_the_probe_where_it_hears_nothing() {
        let (alternate, wakes) = awake();
        let leaves = wakes + CYCLE * 20;
        assert_eq!(alternate.leaves(), Some((leaves, End::NotCalled)));
        assert!(leaves <= beat().start + AlternateRelay::patience(&beat()));
    }

    #[test]
    fn a_packet_makes_it_a_relay_and_control_does_not() {
        let (mut alternate, at) = awake();
        alternate.heard(Heard::Control, at);
        assert!(!alternate.passes_on(Heard::Control));
        alternate.heard(Heard::Call, at);
        assert!(alternate.passes_on(Heard::Call) && alternate.passes_on(Heard::Control));
        assert_eq!((alternate.leaves(), alternate.next()), (None, None));
        assert!(!alternate.passes_on(Heard::Count), "its count is another");
    }

    #[test]
    fn it_does_what_the_verdicts_say() {
        use Verdict::{Abort, Good, Inconclusive, UseAlternate};
        let due = |at: Instant| at + CYCLE;
        let told = |odd: Verdict, even: Verdict| {
            let (mut alternate, at) = awake();
            let _ = alternate.told(&[0x10 | odd as u8 | (even as u8) << 2], due(at));
            (alternate, at)
        };
        for (odd, even, end) in [
            (Good, Good, End::NotNeeded),
            (Abort, Good, End::NotCalled),
            (Good, Abort, End::NotCalled),
        ] {
            let (alternate, at) = told(odd, even);
            assert_eq!(alternate.leaves(), Some((due(at), end)));
            assert_eq!(alternate.listening().is_none(), end == End::NotNeeded);
        }
        for (odd, even, packets) in [
            (Good, Inconclusive, LONG_PROBE),
            (UseAlternate, Good, PROBE),
        ] {
            let (mut alternate, at) = told(odd, even);
            assert_eq!(alternate.listening(), None, "it sleeps through the probe");
            let wakes = due(at) + CYCLE * u64::from(packets);
            assert_eq!((alternate.next(), alternate.leaves()), (Some(wakes), None));
            assert_eq!(alternate.advance(wakes), Retune::Now);
            assert_eq!(
                alternate.leaves(),
                Some((wakes + CYCLE * 20, End::NotCalled))
            );
        }
        let (alternate, at) = told(Good, UseAlternate);
        let leaves = Some((due(at) + CYCLE * 10, End::NotCalled));
        assert_eq!(alternate.leaves(), leaves, "a call comes");
        let (mut alternate, at) = awake();
        let before = alternate;
        assert_eq!(alternate.told(&[0], due(at)), Retune::Stay);
        assert_eq!(alternate, before, "no verdict");
    }
}
