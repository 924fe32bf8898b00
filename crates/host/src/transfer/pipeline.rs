//! Packet pipelines over one radio (P3, PIP and their descendants): the node, and the job that fetches an object.
//!
//! Time base: the sink's clock for what it measured, network time for how long it may take. Invariants: orders
//! go to the sink alone; an object is handed out only where length and digest are the source's.

use super::log::Log;
use super::reroute::{BadHop, Reroute, TURNS};
use super::terms::expected;
pub use super::terms::{active_nodes, route, transfer, RoutePlan, TransferTerms};
use crate::job::{Failure, Job, Progress, Retry, RetryMode, Step};
use crate::network::{Clock, NetworkTime, SourceCounts};
use crate::object::{Holds, Memory, Proof};
use crate::segments::Segment;
use std::collections::VecDeque;
use std::num::NonZeroU16;
use thalweg_protocols::mote::rendezvous::PERIOD;
use thalweg_protocols::mote::{self, Command, Mote};
use thalweg_protocols::object::ObjectStore;
use thalweg_protocols::pipeline::Complete;
use thalweg_protocols::seals::Seals;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::route::{Route, Scheme};
use thalweg_wire::seal::SoftwareAes;

/// The most nodes that a sink's orders can name.
pub const MAX_NODES: usize = 1024;
/// Longer than any relay of P3 waits in a silent pipeline (3 s): a relay that missed the end stays until then, and
/// hears no wake-up.
pub const SETTLING: Duration = Duration::from_secs(4);
/// The pause between two transfers of `scheme`. A relay that missed the end of one of Thalweg's is soon back, and has a
/// backup; one that carries blocks is called until it is back.
pub const fn settling(scheme: Scheme) -> Duration {
    match scheme {
        Scheme::Thalweg | Scheme::HopByHop => Duration::ZERO,
        _ => SETTLING,
    }
}

/// How long to wait for a transfer's end beyond its own deadline.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Attempts of a protocol that keeps received packets, for each attempt of another: its source may be in a round that
/// no node hears, and is then back within seconds.
const RESUMED: u32 = 16;

/// The longest rest after failed attempts, in periods of the network's rendezvous: four seconds.
const LONGEST_REST: u32 = 8;

/// The engine of every node.
pub type Node = Mote<Memory, 160, MAX_NODES, Option<Seals<SoftwareAes>>>;
/// The orders to its sink.
pub type Order = Command<MAX_NODES>;

impl Holds for Node {
    fn memory(&mut self) -> &mut Memory {
        self.store_mut()
    }
    fn resume(&mut self, before: &mut Self) {
        *self.memory() = before.memory().kept();
        if let Some(seals) = before.guard() {
            self.restore(seals.kept());
        }
    }
    fn source_counts(&self) -> Option<SourceCounts> {
        let stats = self.pipeline().stats();
        Some(SourceCounts {
            rounds: stats.rounds,
            sent: stats.data_sent,
            retransmitted: stats.retransmitted(),
            object_bytes: self.pipeline().store().info().len,
        })
    }
}

/// The result of a fetch.
#[derive(Debug)]
pub struct Fetched {
    /// The requested bytes, where all arrived.
    pub segment: Option<Segment>,
    /// The sink's report when it had all of it.
    pub complete: Option<Complete>,
    /// From the first wake-up packet to the last data packet; to the end of the last attempt where the
    /// object did not arrive.
    pub duration: Duration,
    /// Before that, from the order to the first wake-up packet.
    pub waited: Duration,
    /// Of the last attempt: from the first wake-up packet to the source's first.
    pub wake_up: Duration,
    /// The last round, from 1.
    pub round: u32,
    /// Packets that the first round brought.
    pub first_round: Option<u16>,
    /// The number of attempts.
    pub attempts: u32,
    /// Chains whose probe brought too little, over all attempts.
    pub degraded_paths: u32,
    /// Hops that lost too much, of attempts that broke off.
    pub bad_hops: Vec<BadHop>,
    /// The number of nodes that took part.
    pub participants: u32,
    /// Their energy, in joules.
    pub joules: Option<f64>,
    /// The same of all nodes of the network.
    pub network_joules: Option<f64>,
    /// How it ended, where it failed.
    pub failure: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Until the relays of a broken attempt have left it.
    Resting,
    /// Ordered: the sink begins at its network's next rendezvous.
    Waking,
    /// The floods have begun. Energy spent up to then is not the transfer's.
    Awake,
    Following,
    /// Everything arrived, or the attempt is over: the energy up to now is the transfer's.
    Metering,
    /// The object arrived; the sink's node lingers until the source knows.
    Lingering,
    Taking,
    Done,
}

/// Fetches the object that a route's source offers, or the part of it that the route names.
#[derive(Debug)]
pub struct Fetch {
    /// The route of the present attempt, or of the next.
    route: Route,
    reroute: Reroute,
    /// Hops that were bad so far.
    bad_hops: Vec<BadHop>,
    /// The number of the first attempt's transfer.
    first: u16,
    /// All nodes of the network.
    nodes: Vec<NodeId>,
    /// Those that took part in any attempt.
    participants: Vec<NodeId>,
    retry: Retry,
    patience: Duration,
    /// After how long no further attempt is made; none to go on.
    limit: Option<Duration>,
    /// What another way takes that P3's rounds may be left for.
    other_way: Option<Duration>,
    /// After how many seconds an attempt is given up.
    deadline_s: u16,
    state: State,
    /// Of the state: it ends by then.
    until: NetworkTime,
    attempt: u32,
    /// How many of the last attempts brought nothing more.
    failures: u32,
    /// The most packets that the sink had at the end of an attempt.
    held: u32,
    log: Log,
    /// What nodes had spent when floods began and at the end, in joules; none without meters.
    energy: Readings,
    progress: VecDeque<Progress>,
    failed: Option<Failure>,
}

impl Fetch {
    /// A fetch over the routes of `reroute`, in a network of the nodes `ids`. Transfers are numbered from `first` on.
    pub fn new(reroute: Reroute, first: u16, ids: &[NodeId], terms: &TransferTerms) -> Self {
        let mut route = reroute.current().route;
        route.transfer = first;
        if let Some(limit) = terms.limit {
            let seconds = limit.as_nanos().div_ceil(1_000_000_000);
            route.deadline_s = terms
                .deadline_s
                .min(u16::try_from(seconds).unwrap_or(u16::MAX));
        }
        let retry = match (route.scheme, terms.retry.mode) {
            (Scheme::P3, RetryMode::SamePlan) => terms.retry,
            (Scheme::Thalweg, RetryMode::SamePlan) => Retry {
                attempts: terms.retry.attempts * RESUMED,
                ..terms.retry
            },
            _ => Retry::NEVER,
        };
        Self {
            patience: Duration::from_secs(u64::from(route.deadline_s)) + PATIENCE,
            log: Log::new(route.payload.bytes(), route.range.offset),
            limit: terms.limit,
            other_way: terms.other_way.filter(|_| route.scheme == Scheme::P3),
            deadline_s: route.deadline_s,
            route,
            reroute,
            bad_hops: Vec::new(),
            first,
            nodes: ids.to_vec(),
            participants: Vec::new(),
            retry,
            state: State::Resting,
            until: NetworkTime::ZERO,
            attempt: 0,
            failures: 0,
            held: 0,
            energy: Readings::default(),
            progress: VecDeque::new(),
            failed: None,
        }
    }

    /// The object is whole by `proof`; by its digest otherwise.
    #[must_use]
    pub fn proved_by(mut self, proof: Proof) -> Self {
        self.log.proof = proof;
        self
    }

    fn is_overdue(&self, now: NetworkTime) -> bool {
        let began = self.log.ordered.unwrap_or(now);
        self.limit.is_some_and(|limit| now.since(began) > limit)
    }

    /// Whether the first round has just ended, and the remaining rounds will take longer than the other way and the pause before
    /// it. Each round brings about the same share of the missing packets.
    fn is_slow(&self, now: NetworkTime) -> bool {
        let Some(((woke, _), (came, of))) = self.log.woke.zip(self.log.first_share) else {
            return false;
        };
        let missing = f64::from(of.saturating_sub(came)) / f64::from(came.max(1));
        let left_s = now.since(woke).as_secs_f64() * missing;
        let is_slower = |way: Duration| left_s > (way + SETTLING).as_secs_f64();
        self.log.round == 2 && self.other_way.is_some_and(is_slower)
    }

    /// An attempt is over.
    fn end_attempt(&mut self, now: NetworkTime) {
        let has_more = self.retry.allows(self.attempt) && !self.is_overdue(now);
        if self.log.complete.is_some() {
            self.state = State::Taking;
        } else if self.log.is_broken() && has_more {
            self.failures = match self.log.received > self.held {
                true => 0,
                false => self.failures + 1,
            };
            self.held = self.held.max(self.log.received);
            let rest = match (self.route.scheme, self.log.received) {
                // Another route is the better cure, as long as there is one. Where none helps, an end may be off or
                // deaf for seconds, and close rendezvous would use up all attempts meanwhile.
                (Scheme::Thalweg, _) if self.failures >= TURNS => {
                    PERIOD * u64::from((self.failures - TURNS + 1).min(LONGEST_REST))
                }
                (_, 0) => Duration::ZERO,
                // Relays of the broken transfer are deaf to a wake-up until they leave it.
                _ => settling(self.route.scheme),
            };
            self.bad_hops.extend(self.reroute.next(&self.log.report));
            self.next_route();
            (self.state, self.until) = (State::Resting, now + rest);
        } else {
            self.state = State::Done;
        }
    }

    /// The sink has restarted and lost its packets: calls again over the same route.
    fn restart(&mut self, now: NetworkTime) {
        // Nodes that have joined stay for a while, whether the sink has received anything or not.
        let rest = self.log.woke.map(|_| settling(self.route.scheme));
        self.log.on_sink_restart(now);
        (self.held, self.failures) = (0, 0);
        self.reroute.repeat();
        self.next_route();
        (self.state, self.until) = (State::Resting, now + rest.unwrap_or_default());
    }

    /// The route of the next attempt.
    fn next_route(&mut self) {
        if self.route.scheme == Scheme::Thalweg {
            // Where more arrived than was expected, it is unknown how much is left.
            let mut route = self.reroute.current().route;
            let all = route.expected.map_or(0, NonZeroU16::get);
            route.expected = expected(u32::from(all).saturating_sub(self.held));
            self.route = route;
        }
        self.route.transfer = self.first.wrapping_add(self.attempt as u16);
        self.route.deadline_s = self.deadline_s;
    }

    /// Adds the nodes of the present route to those that took part.
    fn add_participants(&mut self) {
        for node in &self.reroute.current().nodes {
            if !self.participants.contains(node) {
                self.participants.push(*node);
            }
        }
    }

    fn output(&mut self) -> Fetched {
        let (joules, network_joules) = self.energy.spent(&self.nodes, &self.participants);
        let log = &mut self.log;
        let segment = log.segment();
        let failure = segment.is_none().then(|| log.failure());
        Fetched {
            segment,
            complete: log.complete,
            duration: log.duration(),
            waited: log.waited(),
            wake_up: log.wake_up,
            round: log.round,
            first_round: log
                .complete
                .map_or(log.first_round, |c| Some(c.first_round)),
            attempts: self.attempt,
            degraded_paths: log.degraded,
            bad_hops: core::mem::take(&mut self.bad_hops),
            joules,
            network_joules,
            participants: self.participants.len() as u32,
            failure,
        }
    }
}

/// A job that fetches an object over a plan.
pub trait TransferJob: Job<Order = Order, Event = mote::Event, Output = Fetched> {
    /// The number of attempts so far. Each has the next transfer number.
    fn attempts(&self) -> u32;
    /// The nodes that took part in any attempt so far.
    fn participants(&self) -> &[NodeId];
    /// The result so far. Where all meters were read at the end, all nodes had spent so many `joules` by then.
    fn so_far(&mut self, joules: Option<Vec<Option<f64>>>) -> Fetched;

    /// The result where the job failed for the reason `why`, when all nodes had spent so many `joules`.
    fn abandon(&mut self, why: &Failure, joules: Vec<Option<f64>>) -> Fetched {
        let is_read = joules.iter().all(Option::is_some);
        Fetched {
            segment: None,
            failure: Some(why.to_string()),
            ..self.so_far(is_read.then_some(joules))
        }
    }
}

/// What all nodes had spent when a transfer began and at its end, in joules; none without meters.
#[derive(Debug, Default)]
pub(super) struct Readings {
    pub(super) before: Vec<Option<f64>>,
    pub(super) after: Vec<Option<f64>>,
}

impl Readings {
    /// Notes what they had spent by the end, where that was read.
    pub(super) fn end(&mut self, joules: Option<Vec<Option<f64>>>) {
        if let Some(joules) = joules {
            self.after = joules;
        }
    }
    /// What `participants`, and what all `nodes`, have spent meanwhile; none where meters were not read.
    pub(super) fn spent(
        &self,
        nodes: &[NodeId],
        participants: &[NodeId],
    ) -> (Option<f64>, Option<f64>) {
        if self.after.is_empty() {
            return (None, None);
        }
        let of = |is_counted: &dyn Fn(&NodeId) -> bool| {
            let each = nodes.iter().zip(self.before.iter().zip(&self.after));
            let each = each.filter(|(node, _)| is_counted(node));
            each.map(|(_, (before, after))| after.zip(*before).map(|(a, b)| a - b))
                .sum()
        };
        (of(&|node| participants.contains(node)), of(&|_| true))
    }
}

impl TransferJob for Fetch {
    fn attempts(&self) -> u32 {
        self.attempt
    }
    fn participants(&self) -> &[NodeId] {
        &self.participants
    }
    fn so_far(&mut self, joules: Option<Vec<Option<f64>>>) -> Fetched {
        self.energy.end(joules);
        self.output()
    }
}

impl Job for Fetch {
    type Order = Order;
    type Event = mote::Event;
    type Output = Fetched;

    fn on_event(&mut self, clock: &dyn Clock, at: NetworkTime, by: NodeId, event: mote::Event) {
        if by != self.route.sink {
            return;
        }
        match (self.state, event) {
            (State::Waking, mote::Event::WakeUp { .. }) => {
                self.log.note(clock, at, by, event);
                self.progress.push_back(Progress::WakingUp);
                (self.state, self.until) = (State::Awake, at + self.patience);
            }
            (State::Waking, _) => self.failed = refused(&event),
            _ => self.progress.extend(self.log.note(clock, at, by, event)),
        }
    }
    fn on_loss(&mut self, at: NetworkTime, station: NodeId, why: Failure) {
        match why {
            _ if station != self.route.sink || self.attempt == 0 => {}
            Failure::Restarted(_) if self.retry.allows(self.attempt) => self.restart(at),
            why => self.failed = Some(why),
        }
    }
    fn on_meters(&mut self, joules: Vec<Option<f64>>) {
        match self.state {
            State::Awake => {
                self.energy.before = joules;
                self.state = State::Following;
            }
            _ => {
                self.energy.after = joules;
                self.state = State::Lingering;
            }
        }
    }
    fn on_bytes(&mut self, _station: NodeId, bytes: Vec<u8>) {
        self.log.bytes = Some(bytes);
        self.state = State::Done;
    }

    fn poll(&mut self, now: NetworkTime) -> Step<Order, Fetched> {
        if let Some(why) = self.failed.take() {
            return Step::Done(Err(why));
        }
        if let Some(progress) = self.progress.pop_front() {
            return Step::Report(progress);
        }
        let (is_done, is_whole) = (self.log.end.is_some(), self.log.complete.is_some());
        match self.state {
            State::Resting if now >= self.until => {
                self.log.begin(now);
                self.attempt += 1;
                self.add_participants();
                (self.state, self.until) = (State::Waking, now + self.patience);
                Step::Order(self.route.sink, Command::Fetch(self.route))
            }
            State::Awake if self.energy.before.is_empty() => Step::Meter(self.nodes.clone()),
            State::Awake => {
                self.state = State::Following;
                self.poll(now)
            }
            State::Following if is_done || is_whole => {
                (self.state, self.until) = (State::Metering, now + self.patience);
                Step::Meter(self.nodes.clone())
            }
            State::Following if self.is_slow(now) => {
                self.log.leave(now);
                Step::Order(self.route.sink, Command::Stop)
            }
            State::Lingering if is_done => {
                self.end_attempt(now);
                self.poll(now)
            }
            State::Taking => {
                let len = self.log.complete.map_or(0, |c| c.len as usize);
                Step::Take(self.route.sink, len)
            }
            State::Done => Step::Done(Ok(self.output())),
            _ if now < self.until => Step::Wait(self.until),
            _ => Step::Done(Err(Failure::NoEnd(self.patience))),
        }
    }

    fn stop(&mut self) -> Vec<(NodeId, Order)> {
        // The sink is free for its next order at once; the other nodes leave when they hear nothing more.
        vec![(self.route.sink, Command::Stop)]
    }
}

/// The refusal that `event` is, of any order.
pub(crate) fn refused(event: &mote::Event) -> Option<Failure> {
    let why = match event {
        mote::Event::Refused(mote::Refused::Busy) => "it is busy with another".to_owned(),
        mote::Event::Refused(mote::Refused::Sealing) => {
            "either it or this program has keys, and the other has none".to_owned()
        }
        mote::Event::Refused(why) => format!("{why:?}"),
        mote::Event::Floods(thalweg_protocols::floodnet::Event::Refused(why)) => {
            format!("{why:?}")
        }
        _ => return None,
    };
    Some(Failure::Refused(why))
}
