//! A spare relay, of which there may be one beside each relay. It sleeps while the first packets are sent, and listens when
//! the source is told what became of them: whether its group calls, or another look follows, through which it sleeps as
//! well. In a transfer that keeps earlier packets its group calls from the beginning. A packet that calls makes it a relay; it
//! leaves where none will come.
//!
//! The relays of its group go on: nobody knows which of their hops carries nothing, and those of a stage send what they have
//! heard in step. Time base: the node's clock. Tests: at the end.

use super::lane::Lane;
use super::said::{look_over, Verdict, LONG_LOOK};
use crate::due::sooner;
use crate::pipeline::{Adaptation, Beat, End, Heard, Retune};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::Progress;

/// Silences of an exchange that it waits for a call.
const PATIENT: u64 = 2;

/// A spare relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spare {
    lane: Lane,
    cycle: Duration,
    at: At,
}

/// What it is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Sleeps until a look is over, and listens then until so long.
    Asleep(Instant, Instant),
    /// Listens for what becomes of it, until then.
    Listening(Instant),
    /// Is not wanted: sleeps until the transfer goes on, and leaves it.
    Leaving(Instant),
    /// Takes part.
    Relaying,
}

impl Spare {
    /// A node on `lane`, by the schedule of `beat`.
    pub fn new(lane: Lane, progress: Progress, beat: &Beat) -> Self {
        let look = look_over(beat, lane.fixed.channels.hops());
        Self {
            lane,
            cycle: beat.cycle,
            at: match progress {
                Progress::Fresh => At::Asleep(look, look + beat.silence * PATIENT),
                Progress::Kept => At::Listening(look + beat.silence * PATIENT),
            },
        }
    }

    /// The longest that it hears nothing of a transfer that goes on.
    pub fn patience(beat: &Beat) -> Duration {
        beat.cycle * u64::from(LONG_LOOK) + beat.silence * (PATIENT + 1)
    }
}

impl Adaptation for Spare {
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
        self.lane.meetings.hears(sfd);
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
        let is_called = verdicts[self.lane.group.index()] == Verdict::Other;
        self.at = match Verdict::next_look(verdicts) {
            Some(_) if is_called => At::Listening(due + self.lane.meetings.silence()),
            Some(packets) => {
                let look = due + self.cycle * u64::from(packets);
                self.lane.meetings.hears(look);
                At::Asleep(look, look + self.lane.meetings.silence() * PATIENT)
            }
            None if verdicts.contains(&Verdict::Over) => At::Listening(due),
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
                let leaves = sooner(self.lane.meetings.free_by(), Some(until));
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
    use super::super::said::LOOK;
    use super::*;
    use crate::thalweg::testing::{beat, route, CYCLE};
    use thalweg_wire::pipeline::Group;

    /// One of the even group, awake after the first look.
    fn awake() -> (Spare, Instant) {
        let lane = Lane::new(&route(&[26, 20, 25]), (1, Group::Even), &beat(), None);
        let mut spare = Spare::new(lane, Progress::Fresh, &beat());
        assert_eq!(spare.listening(), None);
        let wakes = spare.next().unwrap();
        assert_eq!(wakes, beat().start + CYCLE * (u64::from(LOOK) + 1));
        assert_eq!(spare.advance(wakes), Retune::Now);
        assert_eq!(spare.listening(), Some(Channel::new(20).unwrap()));
        (spare, wakes)
    }

    #[test]
    fn it_leaves_two_exchanges_after_the_look_where_it_hears_nothing() {
        let (spare, wakes) = awake();
        let leaves = wakes + CYCLE * 20;
        assert_eq!(spare.leaves(), Some((leaves, End::NotCalled)));
        assert!(leaves <= beat().start + Spare::patience(&beat()));
    }

    #[test]
    fn a_packet_makes_it_a_relay_and_control_does_not() {
        let (mut spare, at) = awake();
        spare.heard(Heard::Control, at);
        assert!(!spare.passes_on(Heard::Control));
        spare.heard(Heard::Call, at);
        assert!(spare.passes_on(Heard::Call) && spare.passes_on(Heard::Control));
        assert_eq!((spare.leaves(), spare.next()), (None, None));
        assert!(!spare.passes_on(Heard::Count), "its count is another");
    }

    #[test]
    fn it_does_what_the_verdicts_say() {
        use Verdict::{Again, Good, Other, Over};
        let due = |at: Instant| at + CYCLE;
        let told = |odd: Verdict, even: Verdict| {
            let (mut spare, at) = awake();
            let _ = spare.told(&[0x10 | odd as u8 | (even as u8) << 2], due(at));
            (spare, at)
        };
        for (odd, even, end) in [
            (Good, Good, End::NotNeeded),
            (Over, Good, End::NotCalled),
            (Good, Over, End::NotCalled),
        ] {
            let (spare, at) = told(odd, even);
            assert_eq!(spare.leaves(), Some((due(at), end)));
            assert_eq!(spare.listening().is_none(), end == End::NotNeeded);
        }
        for (odd, even, packets) in [(Good, Again, LONG_LOOK), (Other, Good, LOOK)] {
            let (mut spare, at) = told(odd, even);
            assert_eq!(spare.listening(), None, "it sleeps through the look");
            let wakes = due(at) + CYCLE * u64::from(packets);
            assert_eq!((spare.next(), spare.leaves()), (Some(wakes), None));
            assert_eq!(spare.advance(wakes), Retune::Now);
            assert_eq!(spare.leaves(), Some((wakes + CYCLE * 20, End::NotCalled)));
        }
        let (spare, at) = told(Good, Other);
        let leaves = Some((due(at) + CYCLE * 10, End::NotCalled));
        assert_eq!(spare.leaves(), leaves, "a call comes");
        let (mut spare, at) = awake();
        let before = spare;
        assert_eq!(spare.told(&[0], due(at)), Retune::Stay);
        assert_eq!(spare, before, "no verdict");
    }
}
