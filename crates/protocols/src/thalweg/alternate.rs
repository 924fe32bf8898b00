//! An alternate relay, at most one beside each relay. It sleeps through the first packets and wakes for the verdict on
//! them: either the source calls its group's alternates, or it sleeps through another probe. In a transfer that keeps
//! earlier packets they are called from the start. A packet that calls makes it a relay; it leaves when none can come.
//!
//! The planned relays keep relaying: no node knows which hop is bad, and relays of one stage send the same frame in
//! step. Time base: the node's clock. Tests: `alternate_tests.rs`.

use super::report::{probe_end, Verdict, LONG_PROBE};
use super::stage_role::ChainRole;
use crate::pipeline::{Adaptation, Beat, End, Reception, Retune};
use crate::timer::sooner;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::Progress;

/// It waits for a call for so many silences of an exchange.
const PATIENT: u64 = 2;

/// An alternate relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlternateRelay {
    chain: ChainRole,
    cycle: Duration,
    state: State,
}

/// What it does at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Sleeps until a probe is over, then listens until the second instant.
    Asleep(Instant, Instant),
    /// Listens for a verdict or a call, until then.
    Listening(Instant),
    /// Is not needed: sleeps until the transfer goes on, then leaves it.
    Leaving(Instant),
    /// Takes part.
    Relaying,
}

impl AlternateRelay {
    /// On `chain`, in a transfer of the schedule `beat`.
    pub fn new(chain: ChainRole, progress: Progress, beat: &Beat) -> Self {
        let probe = probe_end(beat, chain.fixed.channels.hops());
        Self {
            chain,
            cycle: beat.cycle,
            state: match progress {
                Progress::Fresh => State::Asleep(probe, probe + beat.silence * PATIENT),
                Progress::Kept => State::Listening(probe + beat.silence * PATIENT),
            },
        }
    }

    /// For how long it may hear nothing of a transfer that goes on.
    pub fn patience(beat: &Beat) -> Duration {
        beat.cycle * u64::from(LONG_PROBE) + beat.silence * (PATIENT + 1)
    }
}

impl Adaptation for AlternateRelay {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.chain.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        match self.state {
            State::Asleep(..) | State::Leaving(_) => None,
            State::Listening(_) | State::Relaying => {
                Some(self.chain.fixed.channels.of(self.chain.fixed.stage))
            }
        }
    }
    fn passes_on(&self, reception: Reception) -> bool {
        self.state == State::Relaying && reception != Reception::Count
    }
    fn on_reception(&mut self, reception: Reception, sfd: Instant) {
        self.chain.rendezvous.hold_until(sfd);
        if reception == Reception::Call {
            self.state = State::Relaying;
        }
    }
    fn on_nack(&mut self, note: &[u8], due: Instant) -> Retune {
        self.chain.follow_note(note);
        let verdicts = match (self.state, Verdict::read(note)) {
            (State::Listening(_), Some(verdicts)) => verdicts,
            _ => return Retune::Stay,
        };
        let is_called = verdicts[self.chain.group.index()] == Verdict::UseAlternate;
        self.state = match Verdict::next_probe(verdicts) {
            Some(_) if is_called => State::Listening(due + self.chain.rendezvous.silence()),
            Some(packets) => {
                let probe = due + self.cycle * u64::from(packets);
                self.chain.rendezvous.hold_until(probe);
                State::Asleep(probe, probe + self.chain.rendezvous.silence() * PATIENT)
            }
            None if verdicts.contains(&Verdict::Abort) => State::Listening(due),
            None => State::Leaving(due),
        };
        match self.state {
            State::Asleep(..) | State::Leaving(_) => Retune::Now,
            State::Listening(_) | State::Relaying => Retune::Stay,
        }
    }
    fn gives_up(&self) -> bool {
        self.chain.gives_up
    }
    fn leaves(&self) -> Option<(Instant, End)> {
        match self.state {
            State::Listening(until) => {
                let leaves = sooner(self.chain.rendezvous.free_by(), Some(until));
                leaves.map(|leaves| (leaves, End::NotCalled))
            }
            State::Leaving(then) => Some((then, End::NotNeeded)),
            State::Asleep(..) => None,
            State::Relaying => self.chain.leaves(),
        }
    }
    fn next(&self) -> Option<Instant> {
        match self.state {
            State::Asleep(wakes, _) => Some(wakes),
            State::Listening(_) | State::Leaving(_) | State::Relaying => None,
        }
    }
    fn advance(&mut self, at: Instant) -> Retune {
        match self.state {
            State::Asleep(wakes, until) if wakes <= at => {
                self.state = State::Listening(until);
                Retune::Now
            }
            _ => Retune::Stay,
        }
    }
}

#[cfg(test)]
#[path = "alternate_tests.rs"]
mod tests;
