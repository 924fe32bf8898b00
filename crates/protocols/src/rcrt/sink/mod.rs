//! RCRT's sink: everything that is decided (RCRT, sections 3.3 to 3.7).
//!
//! Sans I/O: packets in, messages and events out. Runs beside a base station, on a computer. Time base: any
//! clock that does not go back. Invariants: what a source sent is delivered in order, exactly once; memory
//! for a flow is bounded by its window; bad input is counted and changes nothing. Tests: `tests.rs`.

mod adapt;
mod config;
mod flow;
mod loss;
pub mod policy;
mod rtt;
#[cfg(test)]
mod tests;

pub use adapt::Why;
pub use config::{Config, Control, Length};

use adapt::Total;
use flow::{Answer, FlowState, Took};
use policy::Policy;
use std::boxed::Box;
use std::collections::{BTreeMap, VecDeque};
use std::vec::Vec;
use thalweg_units::{Instant, NodeId};
use thalweg_wire::rcrt::{Answers, Ask, Down, Feedback, Flow, Nacks, Rate, Says, Up, MAX_NACKS};
use thalweg_wire::FrameBuf;

/// Flows that have ended and are remembered, so that what comes late is answered.
const MAX_ENDED: usize = 4096;
/// Refusals that wait to be sent; others are not sent: the source asks again.
const MAX_REFUSALS: usize = 64;

/// What is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A connection stands.
    Opened {
        /// The source.
        origin: NodeId,
        /// Its flow.
        flow: Flow,
        /// The rate that it wants.
        demand: f64,
    },
    /// The next packet of a flow.
    Delivered {
        /// The source.
        origin: NodeId,
        /// Its flow.
        flow: Flow,
        /// Its number, counted from the connection's first.
        sequence: u64,
        /// What it carries.
        payload: FrameBuf,
    },
    /// The total rate has changed, and with it those of all flows.
    Assigned {
        /// Packets per second, R.
        total: f64,
        /// What for.
        why: Why,
    },
    /// Everything of a flow was delivered, and the source has nothing more.
    Finished {
        /// The source.
        origin: NodeId,
        /// Its flow.
        flow: Flow,
    },
}

/// Input that was refused, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused {
    /// No message of a source.
    pub malformed: u64,
    /// Of a connection that is not there.
    pub unknown: u64,
    /// A demand that is none.
    pub demands: u64,
    /// A sequence number that no source sends which keeps to its window.
    pub sequences: u64,
}

/// What a store has kept of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saved {
    /// The source.
    pub origin: NodeId,
    /// Its flow.
    pub flow: Flow,
    /// The connection.
    pub connection: u8,
    /// The rate that it wants.
    pub demand: f64,
    /// Everything before it was delivered.
    pub next: u64,
    /// Whether that was everything.
    pub ended: Ended,
}

/// Whether a flow has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It has not.
    No,
    /// Everything was delivered.
    Whole,
}

/// A flow as others see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// The source.
    pub origin: NodeId,
    /// Its flow.
    pub flow: Flow,
    /// The rate that it wants, d, packets per second.
    pub demand: f64,
    /// The rate that it has, r.
    pub rate: f64,
    /// Its congestion level, C.
    pub congestion: f64,
    /// Share of its packets that need no repair, p.
    pub delivery: f64,
    /// Its mean round trip, seconds.
    pub rtt_s: f64,
    /// Packets delivered.
    pub next: u64,
    /// Feedbacks sent to it.
    pub feedbacks: u64,
}

/// A sink.
#[derive(Debug)]
pub struct Sink {
    config: Config,
    policy: Box<dyn Policy>,
    flows: Vec<FlowState>,
    /// Where a flow stands in `flows`.
    index: BTreeMap<(NodeId, Flow), usize>,
    ended: BTreeMap<(NodeId, Flow), (u8, u64)>,
    /// Those in `ended`, the earliest first.
    order: VecDeque<(NodeId, Flow)>,
    total: Total,
    /// Flows that are to be answered.
    answers: VecDeque<(NodeId, Flow)>,
    refusals: VecDeque<(NodeId, Flow, u8, Answers<'static>)>,
    events: VecDeque<Event>,
    refused: Refused,
}

impl Sink {
    /// A sink without flows.
    pub fn new(config: Config, policy: Box<dyn Policy>) -> Self {
        Self {
            config,
            policy,
            flows: Vec::new(),
            index: BTreeMap::new(),
            ended: BTreeMap::new(),
            order: VecDeque::new(),
            total: Total::default(),
            answers: VecDeque::new(),
            refusals: VecDeque::new(),
            events: VecDeque::new(),
            refused: Refused::default(),
        }
    }
    /// Goes on with a flow that a store has kept. Its source asks for the connection again, or is told to.
    pub fn restore(&mut self, now: Instant, saved: Saved) {
        let key = (saved.origin, saved.flow);
        match saved.ended {
            Ended::Whole => self.remember(key, saved.connection, saved.next),
            Ended::No => {
                self.insert(now, key, saved.connection, saved.demand, saved.next);
            }
        }
    }
    /// What a store has to keep of flow `flow` of `origin`, with everything that was delivered.
    pub fn saved(&self, origin: NodeId, flow: Flow) -> Option<Saved> {
        let key = (origin, flow);
        if let Some(&(connection, next)) = self.ended.get(&key) {
            let (demand, ended) = (0.0, Ended::Whole);
            return Some(Saved {
                origin,
                flow,
                connection,
                demand,
                next,
                ended,
            });
        }
        let f = self.flows.get(*self.index.get(&key)?)?;
        Some(Saved {
            origin,
            flow,
            connection: f.connection,
            demand: f.demand,
            next: f.next,
            ended: Ended::No,
        })
    }
    /// The flows that have not ended.
    pub fn flows(&self) -> impl Iterator<Item = View> + '_ {
        self.flows.iter().map(|f| View {
            origin: f.origin,
            flow: f.flow,
            demand: f.demand,
            rate: f.rate,
            congestion: f.congestion,
            delivery: f.delivery(),
            rtt_s: f.rtt.mean(),
            next: f.next,
            feedbacks: f.feedbacks,
        })
    }
    /// The total rate, R, packets per second.
    pub fn total(&self) -> f64 {
        self.total.rate()
    }
    /// What was refused.
    pub const fn refused(&self) -> Refused {
        self.refused
    }

    /// A packet that `origin` made.
    pub fn handle_packet(&mut self, now: Instant, origin: NodeId, bytes: &[u8]) {
        let Ok(up) = Up::parse(bytes) else {
            self.refused.malformed += 1;
            return;
        };
        let key = (origin, up.flow);
        match up.what {
            Says::Open { demand, first } => self.open(now, key, up.connection, demand, first),
            Says::Data { .. } | Says::Finish { .. } => {
                let place = self.index.get(&key).copied();
                let of_it =
                    |k: &usize| (self.flows.get(*k)).is_some_and(|f| f.connection == up.connection);
                match place.filter(of_it) {
                    Some(k) => self.go_on(now, k, &up.what),
                    None => self.late(key, up.connection),
                }
            }
        }
    }
    /// A packet of a connection that is not there: it has ended, or is unknown.
    fn late(&mut self, (origin, flow): (NodeId, Flow), connection: u8) {
        let known = self.ended.get(&(origin, flow));
        let answer = match known.is_some_and(|(last, _)| *last == connection) {
            true => Answers::Finished,
            false => {
                self.refused.unknown += 1;
                Answers::Unknown
            }
        };
        self.refuse(origin, flow, connection, answer);
    }
    fn refuse(&mut self, origin: NodeId, flow: Flow, connection: u8, what: Answers<'static>) {
        let refusal = (origin, flow, connection, what);
        if self.refusals.len() < MAX_REFUSALS && !self.refusals.contains(&refusal) {
            self.refusals.push_back(refusal);
        }
    }

    fn open(
        &mut self,
        now: Instant,
        key: (NodeId, Flow),
        connection: u8,
        demand: Rate,
        first: u16,
    ) {
        let (origin, flow) = key;
        if demand == Rate::ZERO {
            self.refused.demands += 1;
            return self.refuse(origin, flow, connection, Answers::Refuse);
        }
        if self
            .ended
            .get(&key)
            .is_some_and(|(last, _)| *last == connection)
        {
            return self.refuse(origin, flow, connection, Answers::Finished);
        }
        let known = self.index.get(&key).copied();
        if let Some(k) = known {
            if self
                .flows
                .get(k)
                .is_some_and(|f| f.connection == connection)
            {
                return self.open_again(now, k, first);
            }
            self.remove(now, k);
        }
        let demand = demand.per_s();
        let k = self.insert(now, key, connection, demand, u64::from(first));
        self.events.push_back(Event::Opened {
            origin,
            flow,
            demand,
        });
        self.answer(now, k, Answer::Accept);
    }
    /// The source did not hear the answer, or started anew: it goes on where it was, if it can.
    fn open_again(&mut self, now: Instant, k: usize, first: u16) {
        let Some(f) = self.flows.get_mut(k) else {
            return;
        };
        f.heard = now;
        if f.unwrap(first).is_some_and(|first| first <= f.next) {
            return self.answer(now, k, Answer::Accept);
        }
        // What is missing is at the source no more.
        let (origin, flow, connection) = (f.origin, f.flow, f.connection);
        self.refused.sequences += 1;
        self.refuse(origin, flow, connection, Answers::Refuse);
    }
    fn insert(
        &mut self,
        now: Instant,
        key: (NodeId, Flow),
        connection: u8,
        demand: f64,
        next: u64,
    ) -> usize {
        let state = FlowState::new(key, connection, demand, next, now, &self.config);
        let k = self.flows.len();
        self.flows.push(state);
        self.index.insert(key, k);
        self.ended.remove(&key);
        self.total.joins(demand);
        self.allocate(Why::Join);
        k
    }
    fn remove(&mut self, now: Instant, k: usize) {
        if k >= self.flows.len() {
            return;
        }
        let gone = self.flows.swap_remove(k);
        self.index.remove(&(gone.origin, gone.flow));
        if let Some(moved) = self.flows.get(k) {
            self.index.insert((moved.origin, moved.flow), k);
        }
        self.total.leaves(now, &self.config, gone.rate, &self.flows);
        self.allocate(Why::Leave);
    }
    fn remember(&mut self, key: (NodeId, Flow), connection: u8, next: u64) {
        if self.ended.insert(key, (connection, next)).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MAX_ENDED {
            if let Some(oldest) = self.order.pop_front() {
                self.ended.remove(&oldest);
            }
        }
    }

    /// Data or the end of flow `k`.
    fn go_on(&mut self, now: Instant, k: usize, says: &Says<'_>) {
        let (window, events) = (self.config.window, &mut self.events);
        let Some(f) = self.flows.get_mut(k) else {
            return;
        };
        let (origin, flow) = (f.origin, f.flow);
        let was = f.congestion;
        f.heard = now;
        let wants = match *says {
            Says::Data {
                sequence,
                rate,
                ask,
                echo,
                payload,
            } => {
                let deliver = |sequence, payload| {
                    events.push_back(Event::Delivered {
                        origin,
                        flow,
                        sequence,
                        payload,
                    });
                };
                let took = f.unwrap(sequence).map_or(Took::Impossible, |sequence| {
                    f.take(sequence, rate, payload, window, deliver)
                });
                if took == Took::Impossible {
                    self.refused.sequences += 1;
                    return;
                }
                f.echoed(now, echo);
                let is_stale = !f.is_fresh();
                took == Took::Duplicate || ask == Ask::Feedback || is_stale || f.misses()
            }
            Says::Finish { end, echo } => {
                let ends = f.unwrap(end).is_some_and(|end| f.ends(end, window));
                if !ends {
                    self.refused.sequences += 1;
                    return;
                }
                f.echoed(now, echo);
                true
            }
            Says::Open { .. } => false,
        };
        f.measure(&self.config);
        let is = f.congestion;
        if f.is_complete() {
            let (connection, next) = (f.connection, f.next);
            self.remember((origin, flow), connection, next);
            self.events.push_back(Event::Finished { origin, flow });
            self.total.changed(&self.config, was, 0.0);
            self.remove(now, k);
            return self.refuse(origin, flow, connection, Answers::Finished);
        }
        self.total.changed(&self.config, was, is);
        self.decide(now, k);
        if wants || self.flows.get(k).is_some_and(|f| !f.is_fresh()) {
            self.answer(now, k, Answer::Feedback);
        }
    }
    /// Flow `k` has told something: whether the total rate is to change.
    fn decide(&mut self, now: Instant, k: usize) {
        let Some(why) = self.total.decides(now, &self.config, &self.flows, k) else {
            return;
        };
        self.allocate(why);
    }
    /// Shares the total anew.
    fn allocate(&mut self, why: Why) {
        let claims: Vec<policy::Claim> = (self.flows.iter())
            .map(|f| policy::Claim {
                origin: f.origin,
                demand: f.demand,
            })
            .collect();
        let mut rates: Vec<f64> = claims.iter().map(|claim| claim.demand).collect();
        if let Control::Aimd { .. } = self.config.control {
            let limit = self.policy.limit(&claims);
            let total = self.total.within(limit, claims.len());
            self.policy.allocate(total, &claims, &mut rates);
        }
        for (f, rate) in self.flows.iter_mut().zip(rates) {
            f.rate = rate.clamp(Rate::LEAST.per_s(), Rate::MAX.per_s());
        }
        let total = self.total.rate();
        self.events.push_back(Event::Assigned { total, why });
    }
    fn answer(&mut self, now: Instant, k: usize, answer: Answer) {
        let Some(f) = self.flows.get_mut(k) else {
            return;
        };
        let before = f.answer;
        f.wants(now, answer);
        if before == Answer::Nothing && f.answer != Answer::Nothing {
            self.answers.push_back((f.origin, f.flow));
        }
    }

    /// When [`Sink::handle_timeout`] is due: a flow may have fallen silent.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.total.looks_at().filter(|_| !self.flows.is_empty())
    }
    /// That instant has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.total.look(now, &self.config, &self.flows);
    }
    /// The next message, and whom it is for. Taken when it is sent: round trips begin here.
    pub fn poll_message(&mut self, now: Instant) -> Option<(NodeId, FrameBuf)> {
        while let Some((to, flow, connection, what)) = self.refusals.pop_front() {
            let down = Down {
                flow,
                connection,
                what,
            };
            if let Ok(message) = FrameBuf::build(|w| down.emit(w)) {
                return Some((to, message));
            }
        }
        while let Some(key) = self.answers.pop_front() {
            let place = self.index.get(&key).copied();
            let Some(f) = place.and_then(|k| self.flows.get_mut(k)) else {
                continue;
            };
            let answer = core::mem::replace(&mut f.answer, Answer::Nothing);
            let number = f.sends(now);
            let mut room = [0; 2 * MAX_NACKS];
            let missing = f.missing().map(|sequence| sequence as u16);
            let feedback = Feedback {
                number,
                rate: f.wire_rate(),
                next: f.next as u16,
                rtt_ms: (f.rtt.mean() * 1e3) as u16,
                nacks: Nacks::pack(missing, &mut room),
            };
            let down = Down {
                flow: f.flow,
                connection: f.connection,
                what: match answer {
                    Answer::Accept => Answers::Accept(feedback),
                    _ => Answers::Feedback(feedback),
                },
            };
            if let Ok(message) = FrameBuf::build(|w| down.emit(w)) {
                return Some((f.origin, message));
            }
        }
        None
    }
    /// What has happened, in order.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
