//! RCRT's sink: everything that is decided (RCRT, sections 3.3 to 3.7).
//!
//! Sans I/O: packets in, messages and events out. Runs beside a base station, on a computer. Time base: any
//! clock that does not go back. Invariants: what a source sent is delivered in order, exactly once; memory
//! for a flow is bounded by its window; bad input is counted and changes nothing. Tests: `tests/`.

mod adapt;
mod arrivals;
mod closed;
mod config;
mod events;
mod flow;
mod loss;
pub mod policy;
mod rtt;
mod sealed;
mod spare;
#[cfg(test)]
mod tests;

pub use adapt::Why;
pub use config::{Config, Control, Decrease, Evidence, Excess, Gap, Leave, Length, Repeat};
pub use events::{Completion, Event, Refused, Saved, View};

use adapt::Total;
use closed::{ClosedFlows, Last};
use flow::{Answer, FlowState, Key, Took};
use policy::Policy;
use std::boxed::Box;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::vec::Vec;
use thalweg_units::{Instant, NodeId};
use thalweg_wire::rcrt::{
    Down, DownBody, Feedback, FeedbackRequest, Flow, Nacks, Proof, Rate, Up, UpBody, MAX_NACKS,
};
use thalweg_wire::FrameBuf;

/// Flows at a time: any node can open flows, and each may take a window of memory.
const MAX_FLOWS: usize = 4096;
/// Sequence numbers that a store may have kept are no higher.
const MAX_SEQUENCE: u64 = 1 << 48;
/// Refusals that wait to be sent; others are not sent: the source asks again.
const MAX_REFUSALS: usize = 64;

/// A sink.
#[derive(Debug)]
pub struct Sink {
    config: Config,
    policy: Box<dyn Policy>,
    flows: Vec<FlowState>,
    /// Where a flow stands in `flows`.
    index: BTreeMap<Key, usize>,
    closed: ClosedFlows,
    total: Total,
    /// Flows that are to be answered, each once.
    answers: VecDeque<Key>,
    /// When flows are asked again for what is missing ([`Repeat::ByTimer`]).
    repeats: BTreeSet<(Instant, Key)>,
    refusals: VecDeque<(NodeId, Flow, u8, DownBody<'static>)>,
    events: VecDeque<Event>,
    refused: Refused,
    /// In a secured network.
    seals: Option<sealed::Seals>,
}

impl Sink {
    /// A sink without flows.
    pub fn new(config: Config, policy: Box<dyn Policy>) -> Self {
        Self {
            config,
            policy,
            flows: Vec::new(),
            index: BTreeMap::new(),
            closed: ClosedFlows::default(),
            total: Total::default(),
            answers: VecDeque::new(),
            repeats: BTreeSet::new(),
            refusals: VecDeque::new(),
            events: VecDeque::new(),
            refused: Refused::default(),
            seals: None,
        }
    }
    /// Goes on with a flow that a store has kept. Its source asks for the connection again, by itself or after
    /// an answer. A flow
    /// that is there already stays as it is; one beyond those that there is room for is refused.
    pub fn restore(&mut self, now: Instant, saved: Saved) {
        let key = (saved.origin, saved.flow);
        let (connection, before) = (saved.connection, None);
        let next = saved.next.min(MAX_SEQUENCE);
        if self.index.contains_key(&key) {
            return;
        }
        if saved.completion == Completion::Complete {
            let last = Last {
                connection,
                before,
                next,
            };
            return self.closed.remember(key, last);
        }
        if self.flows.len() >= MAX_FLOWS {
            self.refused.flows += 1;
            return;
        }
        // A store may hold anything.
        let demand = Rate::from_per_s(saved.demand).max(Rate::LEAST);
        self.insert(now, key, (connection, before), demand.per_s(), next);
    }
    /// What a store has to keep of flow `flow` of `origin`, with everything that was delivered.
    pub fn saved(&self, origin: NodeId, flow: Flow) -> Option<Saved> {
        let key = (origin, flow);
        if let Some(last) = self.closed.last(key) {
            return Some(Saved {
                origin,
                flow,
                connection: last.connection,
                demand: 0.0,
                next: last.next,
                completion: Completion::Complete,
            });
        }
        let f = self.flows.get(*self.index.get(&key)?)?;
        Some(Saved {
            origin,
            flow,
            connection: f.connection,
            demand: f.demand,
            next: f.next,
            completion: Completion::Open,
        })
    }
    /// The flows that have not ended.
    pub fn flows(&self) -> impl Iterator<Item = View> + '_ {
        self.flows.iter().map(|f| View {
            origin: f.origin,
            flow: f.flow,
            connection: f.connection,
            demand: f.demand,
            rate: f.rate,
            congestion: f.congestion,
            delivery: f.delivery(),
            rtt_s: f.rtt.mean(),
            next: f.next,
            repaired: f.repaired,
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
        if self.seals.is_none() {
            return self.handle_message(now, origin, bytes);
        }
        match self.opened(origin, bytes) {
            Some(message) => self.handle_message(now, origin, &message),
            None => self.refused.forged += 1,
        }
    }
    fn handle_message(&mut self, now: Instant, origin: NodeId, bytes: &[u8]) {
        let Ok(up) = Up::parse(bytes) else {
            self.refused.malformed += 1;
            return;
        };
        let key = (origin, up.flow);
        match up.what {
            UpBody::Open { demand, first } => self.open(now, key, up.connection, demand, first),
            UpBody::Data { .. } | UpBody::Finish { .. } => {
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
    fn late(&mut self, key: Key, connection: u8) {
        let answer = match self.closed.last(key) {
            Some(last) if last.connection == connection => DownBody::Finished,
            _ => {
                self.refused.unknown += 1;
                DownBody::Unknown
            }
        };
        self.refuse(key, connection, answer);
    }
    fn refuse(&mut self, (origin, flow): Key, connection: u8, what: DownBody<'static>) {
        let refusal = (origin, flow, connection, what);
        if self.refusals.len() < MAX_REFUSALS && !self.refusals.contains(&refusal) {
            self.refusals.push_back(refusal);
        }
    }

    fn open(&mut self, now: Instant, key: Key, connection: u8, demand: Rate, first: u16) {
        let (origin, flow) = key;
        if demand == Rate::ZERO {
            self.refused.demands += 1;
            return self.refuse(key, connection, DownBody::Refuse);
        }
        let known = self.index.get(&key).copied();
        let stands = known.and_then(|k| self.flows.get(k));
        let last = match stands {
            Some(f) => Some((f.connection, f.before)),
            None => (self.closed.last(key)).map(|last| (last.connection, last.before)),
        };
        match (last, known) {
            (Some((current, _)), Some(k)) if current == connection => {
                return self.open_again(now, k, first);
            }
            (Some((current, _)), None) if current == connection => {
                return self.refuse(key, connection, DownBody::Finished);
            }
            // Long on its way: were it taken, the newer connection would begin again and deliver twice.
            (Some((_, Some(before))), _) if before == connection => {
                self.refused.outdated += 1;
                return self.refuse(key, connection, DownBody::Refuse);
            }
            _ => {}
        }
        let before = last.map(|(current, _)| current);
        if let Some(k) = known {
            self.remove(now, k);
            if let Some(connection) = before {
                self.events.push_back(Event::Closed {
                    origin,
                    flow,
                    connection,
                });
            }
        } else if self.flows.len() >= MAX_FLOWS {
            self.refused.flows += 1;
            return self.refuse(key, connection, DownBody::Refuse);
        }
        let (demand, next) = (demand.per_s(), u64::from(first));
        let k = self.insert(now, key, (connection, before), demand, next);
        self.events.push_back(Event::Opened {
            origin,
            flow,
            connection,
            demand,
        });
        self.answer(now, k, Answer::Accept);
    }
    /// The source did not hear the answer, or restarted: it goes on where it was, if it can.
    fn open_again(&mut self, now: Instant, k: usize, first: u16) {
        let Some(f) = self.flows.get_mut(k) else {
            return;
        };
        f.heard = now;
        if f.unwrap(first).is_some_and(|first| first <= f.next) {
            return self.answer(now, k, Answer::Accept);
        }
        // What is missing is at the source no more.
        let (key, connection) = (f.key(), f.connection);
        self.refused.sequences += 1;
        self.refuse(key, connection, DownBody::Refuse);
    }
    fn insert(
        &mut self,
        now: Instant,
        key: Key,
        connections: (u8, Option<u8>),
        demand: f64,
        next: u64,
    ) -> usize {
        let state = FlowState::new(key, connections, demand, next, now, &self.config);
        let k = self.flows.len();
        self.flows.push(state);
        self.index.insert(key, k);
        self.closed.forget(key);
        self.total.joins(demand);
        self.allocate(Why::Join);
        k
    }
    fn remove(&mut self, now: Instant, k: usize) {
        if k >= self.flows.len() {
            return;
        }
        let gone = self.flows.swap_remove(k);
        self.index.remove(&gone.key());
        if gone.answer != Answer::Nothing {
            self.answers.retain(|key| *key != gone.key());
        }
        if let Some(at) = gone.repeat {
            self.repeats.remove(&(at, gone.key()));
        }
        if let Some(moved) = self.flows.get(k) {
            self.index.insert(moved.key(), k);
        }
        self.total
            .leaves(now, &self.config, gone.rate, &mut self.flows);
        self.allocate(Why::Leave);
    }

    /// Data or the end of flow `k`.
    fn go_on(&mut self, now: Instant, k: usize, says: &UpBody<'_>) {
        let Some(f) = self.flows.get(k) else {
            return;
        };
        let (key, connection, was) = (f.key(), f.connection, f.congestion);
        let Some(wants) = self.take(now, k, says) else {
            self.refused.sequences += 1;
            return;
        };
        let Some(f) = self.flows.get_mut(k) else {
            return;
        };
        f.measure(&self.config);
        let is = f.congestion;
        if f.is_complete() {
            let last = Last {
                connection,
                before: f.before,
                next: f.next,
            };
            let proof = f.proof;
            self.total.changed(&self.config, was, 0.0);
            self.remove(now, k);
            return self.finish(key, last, proof);
        }
        self.total.changed(&self.config, was, is);
        self.decide(now, k);
        let is_stale = self.flows.get(k).is_some_and(|f| !f.is_fresh());
        if is_stale || matches!(wants, FeedbackRequest::Yes) {
            self.answer(now, k, Answer::Feedback);
        }
    }
    /// What `says` tells flow `k`, and whether it waits for feedback; nothing where its numbers cannot be true.
    fn take(&mut self, now: Instant, k: usize, says: &UpBody<'_>) -> Option<FeedbackRequest> {
        let (window, events) = (self.config.window, &mut self.events);
        let f = self.flows.get_mut(k)?;
        let ((origin, flow), connection) = (f.key(), f.connection);
        let had_gap = f.is_heard(now);
        if core::mem::take(&mut f.is_counted_silent) {
            self.total.heard_again();
        }
        let wants = match *says {
            UpBody::Data {
                sequence,
                rate,
                ask,
                met,
                echo,
                payload,
            } => {
                f.spare.noted(met);
                let deliver = |sequence, payload| {
                    events.push_back(Event::Delivered {
                        origin,
                        flow,
                        connection,
                        sequence,
                        payload,
                    });
                };
                let sequence = f.unwrap(sequence)?;
                let took = f.take(sequence, rate, payload, window, deliver);
                match took {
                    Took::Impossible => return None,
                    Took::New => self.total.arrivals.packet(now),
                    Took::Duplicate => {}
                }
                if had_gap {
                    f.is_back();
                }
                // The first packet after an outage waited for the relay: that is no round trip.
                let waited = had_gap && self.config.gap == Gap::Outage;
                f.echoed(now, echo.filter(|_| !waited));
                took == Took::Duplicate
                    || ask == FeedbackRequest::Yes
                    || !f.is_fresh()
                    || f.misses()
            }
            UpBody::Finish { end, echo, proof } => {
                f.unwrap(end).filter(|end| f.ends(*end, window))?;
                f.echoed(now, echo);
                f.proof = proof;
                true
            }
            UpBody::Open { .. } => false,
        };
        Some(match wants {
            true => FeedbackRequest::Yes,
            false => FeedbackRequest::No,
        })
    }
    /// All of the flow `key` is there, and it was removed.
    fn finish(&mut self, key: Key, last: Last, proof: Option<Proof>) {
        let ((origin, flow), connection) = (key, last.connection);
        self.closed.remember(key, last);
        self.events.push_back(Event::Finished {
            origin,
            flow,
            connection,
            proof,
        });
        self.refuse(key, connection, DownBody::Finished);
    }
    /// A packet of flow `k` came in: whether the total rate is to change.
    fn decide(&mut self, now: Instant, k: usize) {
        if let Some(f) = self.flows.get_mut(k) {
            let factor = f.spare.factor();
            if f.tells_congestion(&self.config) && f.is_fresh() && f.spare.congested() {
                // It is congested by what it sends beyond its share.
                f.rate = (f.rate / factor).max(Rate::LEAST.per_s());
                return;
            }
        }
        let Some(why) = self.total.decides(now, &self.config, &self.flows, k) else {
            return;
        };
        self.allocate(why);
    }
    /// Shares out the total.
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
        let is_decision = matches!(why, Why::Increase | Why::Decrease { .. });
        for (f, rate) in self.flows.iter_mut().zip(rates) {
            if is_decision && self.config.excess == Excess::WhereFree {
                f.spare.decided();
            }
            if let Why::Decrease { .. } = why {
                f.decreased();
            }
            let rate = rate * f.spare.factor();
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
            self.answers.push_back(f.key());
        }
    }

    /// When [`Sink::handle_timeout`] is due: a flow may have fallen silent, or is asked again.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let check = self
            .total
            .silence_check()
            .filter(|_| !self.flows.is_empty());
        let repeat = self.repeats.first().map(|(at, _)| *at);
        check.into_iter().chain(repeat).min()
    }
    /// That instant has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.total.silence_check().is_some_and(|at| at <= now) {
            self.total.check_silence(now, &self.config, &mut self.flows);
        }
        while let Some((at, key)) = self.repeats.pop_first() {
            if at > now {
                self.repeats.insert((at, key));
                break;
            }
            let Some(&k) = self.index.get(&key) else {
                continue;
            };
            let Some(f) = self.flows.get_mut(k) else {
                continue;
            };
            f.repeat = None;
            if f.misses() && now.since(f.heard) <= self.config.silent {
                self.answer(now, k, Answer::Feedback);
            }
        }
    }
    /// The next message and its addressee. Taken when it is sent: round trips begin here.
    pub fn poll_message(&mut self, now: Instant) -> Option<(NodeId, FrameBuf)> {
        while let Some((to, flow, connection, what)) = self.refusals.pop_front() {
            let down = Down {
                flow,
                connection,
                what,
            };
            if let Some(message) = self.message(to, &down, 0) {
                return Some(message);
            }
        }
        while let Some(key) = self.answers.pop_front() {
            let place = self.index.get(&key).copied();
            let Some(f) = place.and_then(|k| self.flows.get_mut(k)) else {
                continue;
            };
            let answer = core::mem::replace(&mut f.answer, Answer::Nothing);
            let number = f.sends(now);
            if self.config.repeat == Repeat::ByTimer && f.misses() {
                let again = f.repeats_at(now);
                let before = f.repeat.replace(again);
                before.map(|at| self.repeats.remove(&(at, key)));
                self.repeats.insert((again, key));
            }
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
                    Answer::Accept => DownBody::Accept(feedback),
                    _ => DownBody::Feedback(feedback),
                },
            };
            let (to, next) = (f.origin, f.next);
            if let Some(message) = self.message(to, &down, next) {
                return Some(message);
            }
        }
        None
    }
    /// What has happened, in order.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
