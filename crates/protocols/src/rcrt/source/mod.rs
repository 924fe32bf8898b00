//! RCRT on a mote: connections, a token bucket for each, and a buffer that the sink empties (RCRT, sections 3.3 and
//! 3.7).
//!
//! It is the upper layer of a [`stack`](crate::stack). The sink decides everything and the source obeys. Time base: the
//! node's clock. Invariants: a packet accepted from a supply is read again until the sink has it; every wait has a
//! time-out; a source with seals believes nothing that is not sealed. Tests: `tests.rs`, `sealed_tests.rs`.

mod flow;
#[cfg(test)]
mod sealed_tests;
mod supply;
#[cfg(test)]
mod tests;

pub use flow::State;
pub use supply::{Application, Ready, Ring, Supply};

use crate::ring::Fifo;
use crate::seals::{SessionSeal, Unsealed};
use crate::stack::{Packet, Room, Upper};
use crate::timer::sooner;
use flow::{FlowState, Heard, Next};
use thalweg_units::{Duration, Instant};
use thalweg_wire::rcrt::{Down, DownBody, FeedbackRequest, Flow, Met, Rate, Up, UpBody};
use thalweg_wire::seal::session::nearest;
use thalweg_wire::tree::Direction;
use thalweg_wire::FrameBuf;

/// How often a stalled source probes (section 3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Probing {
    /// At min(r / 2, 1 / RTT), as the paper has it.
    #[default]
    Steady,
    /// Each time after twice as long (section 3.8, "left to future work").
    Backoff {
        /// No longer than this.
        most: Duration,
    },
}

/// What a source needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// A connection is asked for again after this.
    pub open_again: Duration,
    /// Its end is announced again after this.
    pub finish_again: Duration,
    /// Of a stalled source.
    pub probing: Probing,
}

impl Config {
    /// The paper's; where it is silent, what its authors' later release takes: 2 s and 20 s.
    pub const PAPER: Self = Self {
        open_again: Duration::from_secs(2),
        finish_again: Duration::from_secs(20),
        probing: Probing::Steady,
    };
}

/// Orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A flow begins. One that is there starts over.
    Open {
        /// Which.
        flow: Flow,
        /// Other than that of the flow's last connection.
        connection: u8,
        /// The rate that it wants.
        demand: Rate,
    },
    /// The node was switched off and on, and its buffers were kept: the sink is asked where flows were.
    Resume,
}

/// Events of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The sink assigned a rate: applications may adapt their sampling.
    Rate {
        /// To this flow.
        flow: Flow,
        /// New.
        rate: Rate,
    },
    /// A connection has come to an end.
    Ended {
        /// Of this flow.
        flow: Flow,
        /// Finished or refused.
        state: State,
    },
    /// There was no room for another flow.
    NoRoom {
        /// This one.
        flow: Flow,
    },
    /// A message was handed to the stack.
    Sent {
        /// Of this flow.
        flow: Flow,
        /// Which.
        message: Message,
    },
}

/// What a source sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// It opens or ends a connection.
    Control,
    /// A packet, for the first time.
    First(u32),
    /// An end-to-end retransmission of a packet.
    Again(u32),
}

/// Events that wait; the oldest makes room.
const MAX_EVENTS: usize = 8;

/// The sources of a node: at most `FLOWS` flows, whose packets `supply` has. `G` seals its messages.
#[derive(Debug)]
pub struct Source<S, const FLOWS: usize = 1, G = Unsealed> {
    seals: G,
    config: Config,
    supply: S,
    flows: [Option<FlowState>; FLOWS],
    /// Which flow is asked first.
    turn: usize,
    refused: u32,
    events: Fifo<Event, MAX_EVENTS>,
}

impl<S: Supply, const FLOWS: usize> Source<S, FLOWS> {
    /// Without flows.
    pub const fn new(config: Config, supply: S) -> Self {
        Self::sealed(config, supply, Unsealed)
    }
}

impl<S: Supply, const FLOWS: usize, G: SessionSeal> Source<S, FLOWS, G> {
    /// The same with `seals`, of one session, in which no connection of a flow has the number of an earlier one.
    pub const fn sealed(config: Config, supply: S, seals: G) -> Self {
        Self {
            seals,
            config,
            supply,
            flows: [const { None }; FLOWS],
            turn: 0,
            refused: 0,
            events: Fifo::EMPTY,
        }
    }
    /// Messages to its flows that no sink sends: forged, or damaged. One that was believed could make a source forget what
    /// has not arrived.
    pub const fn refused(&self) -> u32 {
        self.refused
    }
    /// Where its packets come from.
    pub const fn supply(&self) -> &S {
        &self.supply
    }
    /// Where a flow stands, packets sent, and packets known to have arrived.
    pub fn state(&self, flow: Flow) -> Option<(State, u32, u32)> {
        let known = self.flows.iter().flatten().find(|f| f.flow == flow)?;
        Some((known.state, known.next, known.acked))
    }

    fn open(&mut self, flow: Flow, connection: u8, demand: Rate) {
        let room = self.supply.room();
        let mine = |slot: &Option<FlowState>| slot.as_ref().is_none_or(|f| f.flow == flow);
        let known = self.flows.iter().flatten().any(|f| f.flow == flow);
        let place = match known {
            true => (self.flows.iter_mut().flatten()).find(|f| f.flow == flow),
            false => None,
        };
        let fresh = FlowState::new(flow, connection, demand, room);
        if let Some(place) = place {
            *place = fresh;
        } else if let Some(slot) = self.flows.iter_mut().find(|slot| mine(slot)) {
            *slot = Some(fresh);
        } else {
            self.events.remember(Event::NoRoom { flow });
        }
    }

    /// The message that flow `k` sends next, if the stack has room for it.
    fn message(
        &mut self,
        now: Instant,
        k: usize,
        room: &mut impl FnMut(Direction) -> Room,
    ) -> Option<FrameBuf> {
        let supply = &mut self.supply;
        let flow = self.flows.get_mut(k)?.as_mut()?;
        let next = next_of(flow, supply, now)?;
        if room(Direction::Up) == Room::Taken {
            return None;
        }
        let payload;
        let echo = match next {
            Next::Open => None,
            _ => flow.echo(now),
        };
        let what = match next {
            Next::Open => UpBody::Open {
                demand: flow.demand,
                first: flow.acked as u16,
            },
            Next::Finish => UpBody::Finish {
                end: flow.next as u16,
                echo,
                proof: supply.proof(flow.flow),
            },
            Next::Again(sequence) | Next::New(sequence) => {
                payload = FrameBuf::build(|w| supply.read(flow.flow, sequence, w)).ok()?;
                UpBody::Data {
                    met: Met::default(),
                    sequence: sequence as u16,
                    rate: flow.rate,
                    ask: flow.feedback_request(next),
                    echo,
                    payload: &payload,
                }
            }
        };
        let (id, connection) = (flow.flow, flow.connection);
        let number = flow.number(next);
        flow.sent(now, next, &self.config);
        let message = match next {
            Next::Again(sequence) => Message::Again(sequence),
            Next::New(sequence) => Message::First(sequence),
            Next::Open | Next::Finish => Message::Control,
        };
        let flow = id;
        self.events.remember(Event::Sent { flow, message });
        let up = Up {
            flow: id,
            connection,
            what,
        };
        let mut message = FrameBuf::build(|w| up.emit(w)).ok()?;
        self.seals.seal(&mut message, number).ok()?;
        Some(message)
    }

    /// What `sealed` says, `down`, if it is its sink's.
    fn handle_down(&mut self, now: Instant, sealed: &[u8], down: &Down<'_>) {
        let known = self.flows.iter_mut().flatten();
        let mut known = known.filter(|f| f.connection == down.connection);
        let Some(flow) = known.find(|f| f.flow == down.flow) else {
            return;
        };
        let number = match down.what {
            DownBody::Accept(feedback) | DownBody::Feedback(feedback) => {
                nearest(flow.acked, feedback.next)
            }
            DownBody::Finished | DownBody::Unknown | DownBody::Refuse => 0,
        };
        if !self.seals.is_right(sealed, number) {
            self.refused = self.refused.saturating_add(1);
            return;
        }
        match down.what {
            DownBody::Accept(feedback) | DownBody::Feedback(feedback) => {
                if matches!(flow.state, State::Finished | State::Refused) {
                    return;
                }
                let acked = flow.acked;
                match flow.heard(now, &feedback) {
                    Heard::Nothing => {}
                    Heard::Rate => {
                        let (flow, rate) = (flow.flow, flow.rate);
                        self.events.remember(Event::Rate { flow, rate });
                    }
                    Heard::Impossible => self.refused = self.refused.saturating_add(1),
                }
                if flow.acked != acked {
                    self.supply.release(flow.flow, flow.acked);
                }
            }
            DownBody::Finished if flow.state != State::Finished && !flow.may_be_finished() => {
                self.refused = self.refused.saturating_add(1);
            }
            DownBody::Finished if !matches!(flow.state, State::Finished | State::Refused) => {
                flow.end(State::Finished);
                self.supply.release(flow.flow, flow.next);
                let (flow, state) = (flow.flow, flow.state);
                self.events.remember(Event::Ended { flow, state });
            }
            // The sink has restarted: the source opens again.
            DownBody::Unknown => {
                if matches!(flow.state, State::Open | State::Finishing) {
                    flow.reopen();
                }
            }
            DownBody::Refuse => {
                if flow.state == State::Opening {
                    flow.end(State::Refused);
                    let (flow, state) = (flow.flow, flow.state);
                    self.events.remember(Event::Ended { flow, state });
                }
            }
            DownBody::Finished => {}
        }
    }
}

/// What `flow` sends next: of new packets those that `supply` has.
fn next_of(flow: &mut FlowState, supply: &mut impl Supply, now: Instant) -> Option<Next> {
    if let Some(Next::New(sequence)) = flow.wants() {
        match supply.poll(now, flow.flow, sequence) {
            Ready::Packet => return Some(Next::New(sequence)),
            ready => flow.supplied(ready),
        }
    }
    flow.wants()
}

impl FlowState {
    /// A probe asks for feedback whatever the buffer holds.
    fn feedback_request(&self, next: Next) -> FeedbackRequest {
        match next {
            Next::Again(_) | Next::New(_) => self.asks(),
            Next::Open | Next::Finish => FeedbackRequest::No,
        }
    }
}

impl<S: Supply, const FLOWS: usize, G: SessionSeal> Upper for Source<S, FLOWS, G> {
    type Command = Order;
    type Event = Event;

    fn handle_command(&mut self, _now: Instant, order: Order) {
        match order {
            Order::Open {
                flow,
                connection,
                demand,
            } => self.open(flow, connection, demand),
            Order::Resume => self.flows.iter_mut().flatten().for_each(FlowState::reopen),
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let flows = self.flows.iter().flatten();
        flows.fold(None, |first, f| sooner(first, f.poll_timeout()))
    }
    fn handle_timeout(&mut self, now: Instant) {
        for flow in self.flows.iter_mut().flatten() {
            flow.handle_timeout(now);
        }
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
    fn next(
        &mut self,
        now: Instant,
        mut room: impl FnMut(Direction) -> Room,
    ) -> Option<(Direction, FrameBuf)> {
        for k in 0..FLOWS {
            let k = (self.turn + k) % FLOWS.max(1);
            if let Some(message) = self.message(now, k, &mut room) {
                self.turn = (k + 1) % FLOWS.max(1);
                return Some((Direction::Up, message));
            }
        }
        None
    }
    fn arrived(&mut self, now: Instant, packet: &Packet) {
        let message = self.seals.unchecked(&packet.payload);
        if let Some(Ok(down)) = message.map(Down::parse) {
            self.handle_down(now, &packet.payload, &down);
        }
    }
    /// What is in flash outlasts it: [`Order::Resume`].
    fn stop(&mut self) {
        self.flows.iter_mut().flatten().for_each(FlowState::stop);
    }
}
