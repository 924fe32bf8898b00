//! A backup relay: a node beside a relay of a chain, which takes over when the relay fails.
//!
//! In a window it listens like the relay: one cycle for the packet from the stage before, the next cycle on the channel
//! of the stage after, for the relay's own transmission. A relay that does not forward what its neighbour received is
//! dead, deaf or too far away, and the backup starts to send as well. That needs no signalling, since frames name
//! stages and not nodes. Between windows it sleeps. Time base: the node's clock; a window takes the beat of the
//! pipeline from the packets that it receives. Tests: `backup_tests.rs`.

use super::report::{probe_end, Verdict};
use super::stage_role::ChainRole;
use super::TRIES;
use crate::pipeline::{Adaptation, Beat, End, Fixed, Reception, Retune};
use crate::timer::sooner;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::Probe;

/// A relay that forwards so many packets in one window is alive: the window closes.
const SENT_ON: u8 = 3;
/// A relay that fails to forward so many in one window has failed: the backup takes over.
const MISSED: u8 = 3;
/// Cycles after which a window closes in any case.
const WINDOW: u64 = 28;
/// Cycles between the end of a window and the next.
pub const REST: u64 = 100;

/// Whether a verdict on the first packets is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdicts {
    /// It comes no earlier than this. The node waits for it after a window, to open another, or to be free for another
    /// transfer.
    Awaited(Instant),
    /// None is to come.
    Over,
}

/// What a backup relay does at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Listens for a packet from the stage before, until the window closes.
    Before,
    /// Has one, and will retune then to the channel of the stage after.
    Turning(Instant),
    /// Listens there for the relay, until then.
    After(Instant),
    /// Sleeps until a verdict on the first packets may come.
    AwaitVerdict(Instant),
    /// Listens for it, until then.
    Verdict(Instant),
    /// The transfer is over; it listens for the rest of it until then.
    Leaving(Instant),
    /// Sleeps until then.
    Rest(Instant),
    /// Takes part.
    Relaying,
}

/// A backup relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupRelay {
    chain: ChainRole,
    cycle: Duration,
    verdicts: Verdicts,
    /// Retune so long before an SFD.
    ahead: Duration,
    state: State,
    /// When the window closes.
    closes: Instant,
    /// Packets of this window that the relay forwarded, and those that it did not.
    sent_on: u8,
    missed: u8,
    /// The relay was heard forwarding this packet.
    relay_heard: bool,
    /// When the transfer is expected to end.
    expected_end: Option<Instant>,
}

impl BackupRelay {
    /// A node beside the relay of `chain`, by the schedule of `beat`, of a transfer whose first packets have such a
    /// `probe`, and begin so long after the source. It leaves a transfer that is expected to be `over`, where it does
    /// not take part by then.
    pub fn new(
        (chain, probe): (ChainRole, Probe),
        beat: &Beat,
        expected_end: Option<Instant>,
    ) -> Self {
        let stages_before = u64::from(chain.fixed.stage);
        Self {
            chain,
            cycle: beat.cycle,
            verdicts: match probe {
                Probe::First => Verdicts::Awaited(probe_end(beat, chain.fixed.channels.hops())),
                Probe::None => Verdicts::Over,
            },
            ahead: beat.ahead,
            state: State::Before,
            closes: beat.start + beat.cycle * (stages_before + WINDOW),
            sent_on: 0,
            missed: 0,
            relay_heard: false,
            expected_end,
        }
    }

    /// For how long it may hear nothing of a transfer that goes on.
    pub fn patience(beat: &Beat) -> Duration {
        beat.silence + beat.cycle * (2 * REST + WINDOW)
    }

    /// Whether it has taken over.
    pub const fn takes_part(&self) -> bool {
        matches!(self.state, State::Relaying)
    }

    fn open_window(&mut self, now: Instant) {
        self.state = State::Before;
        self.closes = now + self.cycle * WINDOW;
        (self.sent_on, self.missed) = (0, 0);
    }

    /// The relay forwarded the packet, or did not.
    fn count_packet(&mut self, now: Instant) {
        match self.relay_heard {
            true => self.sent_on += 1,
            false => self.missed += 1,
        }
        self.state = if self.missed >= MISSED {
            State::Relaying
        } else if self.sent_on >= SENT_ON {
            self.after_window(now)
        } else {
            State::Before
        };
    }

    /// What follows a window.
    fn after_window(&self, now: Instant) -> State {
        match self.verdicts {
            Verdicts::Awaited(from) if from > now => State::AwaitVerdict(from),
            Verdicts::Awaited(_) => State::Verdict(self.verdict_deadline(now)),
            Verdicts::Over => State::Rest(now + self.rest()),
        }
    }
    /// Until when it listens for a verdict that may come from `now` on: the source makes [`TRIES`] requests.
    fn verdict_deadline(&self, now: Instant) -> Instant {
        now + self.chain.rendezvous.silence() * u64::from(TRIES)
    }
    /// From when on packets belong to the round after the probe, if it listens for a verdict until `until`.
    fn next_round_from(&self, until: Instant) -> Instant {
        let over = until.saturating_sub(self.chain.rendezvous.silence() * u64::from(TRIES));
        over + self.cycle * (u64::from(self.chain.fixed.stage) + 1)
    }
    fn rest(&self) -> Duration {
        self.cycle * REST
    }

    /// When its next step is due.
    fn due(&self) -> Option<Instant> {
        match self.state {
            State::Before => Some(self.closes),
            State::Turning(then)
            | State::After(then)
            | State::AwaitVerdict(then)
            | State::Verdict(then)
            | State::Rest(then) => Some(then),
            State::Leaving(_) | State::Relaying => None,
        }
    }
}

impl Adaptation for BackupRelay {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.chain.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        let Fixed { channels, stage } = self.chain.fixed;
        match self.state {
            State::Before
            | State::Turning(_)
            | State::Verdict(_)
            | State::Leaving(_)
            | State::Relaying => Some(channels.of(stage)),
            State::After(_) => Some(channels.of(stage + 1)),
            State::AwaitVerdict(_) | State::Rest(_) => None,
        }
    }
    fn passes_on(&self, reception: Reception) -> bool {
        // Its count differs from the relay's, and both may send at the same time.
        self.takes_part() && reception != Reception::Count
    }
    fn on_reception(&mut self, reception: Reception, sfd: Instant) {
        self.chain.rendezvous.hold_until(sfd);
        match (reception, self.state) {
            (Reception::Packet | Reception::Call, State::Before) => {
                self.relay_heard = false;
                self.state = State::Turning((sfd + self.cycle).saturating_sub(self.ahead));
            }
            (Reception::Peer, State::After(_)) => self.relay_heard = true,
            // It does not hear those who would tell: after the last packet of the probe, one more tells as much.
            (Reception::Call, State::Verdict(until)) if sfd > self.next_round_from(until) => {
                self.state = State::Relaying;
            }
            (Reception::Packet, State::Verdict(until)) if sfd > self.next_round_from(until) => {
                self.chain.rendezvous.settle();
                self.state = State::Verdict(sfd);
            }
            _ => {}
        }
    }
    fn on_nack(&mut self, note: &[u8], due: Instant) -> Retune {
        self.chain.follow_note(note);
        let before = self.listening();
        let verdicts = match Verdict::read(note) {
            Some(verdicts) if !self.takes_part() => verdicts,
            _ => return Retune::Stay,
        };
        if verdicts.contains(&Verdict::Abort) {
            self.state = State::Leaving(due + self.chain.rendezvous.silence());
        } else if verdicts[self.chain.group.index()] == Verdict::UseAlternate {
            // In time to relay this very NACK.
            self.state = State::Relaying;
        } else if let Some(packets) = Verdict::next_probe(verdicts) {
            self.verdicts = Verdicts::Awaited(due + self.cycle * u64::from(packets));
            self.open_window(due);
        } else {
            self.verdicts = Verdicts::Over;
            self.state = State::Rest(due + self.rest());
        }
        match self.listening() == before {
            true => Retune::Stay,
            false => Retune::Now,
        }
    }
    fn gives_up(&self) -> bool {
        self.chain.gives_up
    }
    fn leaves(&self) -> Option<(Instant, End)> {
        let expected_end = self.expected_end.filter(|_| !self.takes_part());
        let leaves = match self.state {
            State::Leaving(then) => Some(then),
            State::AwaitVerdict(_) => None,
            _ => self.chain.rendezvous.free_by(),
        };
        sooner(leaves, expected_end).map(|leaves| (leaves, End::NotCalled))
    }
    fn next(&self) -> Option<Instant> {
        self.due()
    }
    fn advance(&mut self, at: Instant) -> Retune {
        let before = self.listening();
        while self.due().is_some_and(|due| due <= at) {
            match self.state {
                State::Before => self.state = self.after_window(at),
                State::AwaitVerdict(then) => {
                    self.chain.rendezvous.hold_until(then);
                    self.state = State::Verdict(self.verdict_deadline(then));
                }
                State::Verdict(_) if self.chain.rendezvous.is_settled() => {
                    self.verdicts = Verdicts::Over;
                    self.state = State::Rest(at + self.rest());
                }
                State::Verdict(_) => self.state = State::Leaving(at),
                State::Turning(then) => self.state = State::After(then + self.cycle),
                State::After(_) => self.count_packet(at),
                State::Rest(_) => self.open_window(at),
                State::Leaving(_) | State::Relaying => {}
            }
        }
        match self.listening() == before {
            true => Retune::Stay,
            false => Retune::Now,
        }
    }
}

#[cfg(test)]
#[path = "backup_tests.rs"]
mod tests;
