//! A session of RCRT: streams from many nodes at rates that the sink decides, until it is cancelled or its time is up.
//!
//! A job without I/O beside a base station's mote. Bytes go to a [`StreamStore`], and no feedback lets a source
//! forget packets before they are stored. Sources begin by themselves, as in the paper: no order goes down the tree.
//! Time base: the network's. Invariants: memory is bounded by the sink's windows and [`FLUSH_EVERY`]; a session ends
//! when its time is over, by its keeper, by [`crate::network::Notice::Cancelled`], or with its base station. Tests:
//! `session_tests.rs`.

use crate::job::{Failure, Job, Step};
use crate::network::{Clock, NetworkTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
/// The one flow of a source.
pub use thalweg_protocols::member::FLOW;
use thalweg_protocols::rcrt::sink::{policy, Config, Event, Sink};
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::{Flow, Proof};
use thalweg_wire::seal::session::SessionKeys;

/// How often bytes go to the store, at least.
pub const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// The longest session, in seconds; one without an end is cancelled.
pub const MAX_DURATION_S: f64 = 366.0 * 86_400.0;
/// The default demand of a source, in packets per second.
pub const DEMAND: f64 = 1.0;
/// The least demand, packets per second.
pub const MIN_DEMAND: f64 = 0.01;
/// The most, packets per second: what one channel carries over one hop.
pub const MAX_DEMAND: f64 = 100.0;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionRequestError {
    /// No policy's name, or not its nodes.
    #[error(
        "policy {0:?}: there are {names}; nodes as weighted:7=2,12=0.5 (above 0) or priority:7=1",
        names = policy::NAMES.join(", ")
    )]
    Policy(String),
    /// A demand that is none.
    #[error("a demand is from {MIN_DEMAND} to {MAX_DEMAND} packets per second, not {0}")]
    Demand(f64),
    /// There is no source.
    #[error("sources: expected a list of nodes, or \"all\"")]
    Nobody,
    /// A source is named twice.
    #[error("sources: node {0} is named twice")]
    Twice(u16),
    /// A demand of a node that is no source.
    #[error("demands: node {0} is no source")]
    NoSource(u16),
    /// A time that is none.
    #[error("duration_s: expected 1 to {MAX_DURATION_S} seconds, not {0}")]
    Duration(f64),
}

/// The request for a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRequest {
    /// The nodes that send.
    pub sources: Vec<u16>,
    /// The policy that shares out rates, by name (RCRT, section 3.6).
    pub policy: String,
    /// The demand of a source, in packets per second.
    pub demand: f64,
    /// Other demands of some sources.
    #[serde(default)]
    pub demands: BTreeMap<u16, f64>,
    /// Its duration; none for a session that runs until it is cancelled.
    pub duration_s: Option<f64>,
}

impl SessionRequest {
    /// Checks what holds for any network.
    ///
    /// # Errors
    /// [`SessionRequestError`].
    pub fn check(&self) -> Result<(), SessionRequestError> {
        if self.sources.is_empty() {
            return Err(SessionRequestError::Nobody);
        }
        let mut sources = self.sources.clone();
        sources.sort_unstable();
        if let Some(pair) = sources.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SessionRequestError::Twice(pair[0]));
        }
        if policy::named(&self.policy).is_none() {
            return Err(SessionRequestError::Policy(self.policy.clone()));
        }
        for demand in self.demands.values().chain([&self.demand]) {
            if !(MIN_DEMAND..=MAX_DEMAND).contains(demand) {
                return Err(SessionRequestError::Demand(*demand));
            }
        }
        let stranger = |node: &&u16| sources.binary_search(node).is_err();
        if let Some(node) = self.demands.keys().find(stranger) {
            return Err(SessionRequestError::NoSource(*node));
        }
        match self.duration_s {
            Some(s) if !(1.0..=MAX_DURATION_S).contains(&s) => {
                Err(SessionRequestError::Duration(s))
            }
            _ => Ok(()),
        }
    }
    /// What `node` wants, packets per second.
    pub fn demand_of(&self, node: NodeId) -> f64 {
        self.demands
            .get(&node.get())
            .copied()
            .unwrap_or(self.demand)
    }
    /// Its sources.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let nodes = self.sources.iter();
        nodes.filter_map(|node| NodeId::new(*node).ok())
    }
}

/// What a source brought, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// The source began: what follows is a new stream.
    Begun(NodeId, NetworkTime),
    /// Its next bytes, and when the last of them arrived.
    Bytes(NodeId, NetworkTime, Vec<u8>),
    /// It has sent all that it had; what that was, where it was an object.
    Ended(NodeId, Option<Proof>),
}

/// The status of a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SourceStatus {
    /// The source.
    pub source: NodeId,
    /// The rate that it has, packets per second; none while it has no connection.
    pub rate: Option<f64>,
    /// Packets delivered.
    pub packets: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Packets that were missing for a while: lost and sent again, or overtaken.
    pub repaired: u64,
}

/// Stores the bytes of a session.
pub trait StreamStore {
    /// Stores what arrived since the last call; it is safe when this returns.
    ///
    /// # Errors
    /// Why it cannot; the session ends.
    fn append(&mut self, events: Vec<StreamEvent>) -> Result<(), Failure>;
    /// Takes the status of the sources, `at_s` seconds after the session began, about once a second.
    ///
    /// # Errors
    /// Why it cannot go on; the session ends.
    fn sample(&mut self, at_s: f64, sources: &[SourceStatus]) -> Result<(), Failure>;
    /// Whether it needs nothing more.
    fn is_done(&self, _now: NetworkTime) -> bool {
        false
    }
}

/// The state of a source.
#[derive(Debug, Default)]
struct SourceState {
    packets: u64,
    bytes: u64,
    /// Of earlier connections.
    repaired: u64,
    /// Of the present one, at the last sample.
    repairing: u64,
    rate: Option<f64>,
}

/// The job.
#[derive(Debug)]
pub struct Session<K> {
    sink: Sink,
    station: NodeId,
    begun: NetworkTime,
    /// By the field's clock, if it ends by itself.
    end: Option<NetworkTime>,
    sources: BTreeMap<NodeId, SourceState>,
    events: Vec<StreamEvent>,
    /// When the store next gets bytes and status.
    due: NetworkTime,
    lost: Option<Failure>,
    store: K,
}

impl<K: StreamStore> Session<K> {
    /// The session of `request` at base station `station`, from `now` on; `left` is how long, if it ends by itself.
    /// Its sink has the constants `sink`.
    ///
    /// # Errors
    /// [`SessionRequestError`].
    pub fn new(
        (station, now): (NodeId, NetworkTime),
        request: &SessionRequest,
        left: Option<Duration>,
        sink: Config,
        store: K,
    ) -> Result<Self, SessionRequestError> {
        request.check()?;
        let policy = policy::named(&request.policy);
        let policy = policy.ok_or_else(|| SessionRequestError::Policy(request.policy.clone()))?;
        Ok(Self {
            sink: Sink::new(sink, policy),
            station,
            begun: now,
            end: left.map(|left| now + left),
            sources: request
                .nodes()
                .map(|node| (node, SourceState::default()))
                .collect(),
            events: Vec::new(),
            due: now,
            lost: None,
            store,
        })
    }

    /// The same in a secured network, whose nodes have these `keys` in this session.
    #[must_use]
    pub fn sealed(self, keys: impl Fn(NodeId) -> SessionKeys) -> Self {
        let sources = self.sources.keys();
        let sealed = self.sink.sealed(sources.map(|node| (*node, keys(*node))));
        Self {
            sink: sealed,
            ..self
        }
    }

    /// Gives the store the last bytes and the final status, and returns it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn finish(mut self, now: NetworkTime) -> (K, Result<(), Failure>) {
        let kept = self.flush().and_then(|()| self.take_sample(now));
        (self.store, kept)
    }
    /// The status of each source.
    fn statuses(&self) -> Vec<SourceStatus> {
        let statuses = |(source, state): (&NodeId, &SourceState)| SourceStatus {
            source: *source,
            rate: state.rate,
            packets: state.packets,
            bytes: state.bytes,
            repaired: state.repaired + state.repairing,
        };
        self.sources.iter().map(statuses).collect()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self.events.is_empty() {
            true => Ok(()),
            false => self.store.append(std::mem::take(&mut self.events)),
        }
    }

    /// Takes the sink's events.
    fn note(&mut self, at: NetworkTime) {
        while let Some(event) = self.sink.poll_event() {
            let (Event::Opened { origin, .. }
            | Event::Delivered { origin, .. }
            | Event::Finished { origin, .. }) = event
            else {
                continue;
            };
            let Some(state) = self.sources.get_mut(&origin) else {
                continue;
            };
            match event {
                Event::Opened { .. } => {
                    state.repaired += std::mem::take(&mut state.repairing);
                    self.events.push(StreamEvent::Begun(origin, at));
                }
                Event::Delivered { payload, .. } => {
                    state.packets += 1;
                    state.bytes += payload.len() as u64;
                    match self.events.last_mut() {
                        Some(StreamEvent::Bytes(source, last, bytes)) if *source == origin => {
                            *last = at;
                            bytes.extend_from_slice(&payload);
                        }
                        _ => self
                            .events
                            .push(StreamEvent::Bytes(origin, at, payload.to_vec())),
                    }
                }
                Event::Finished { proof, .. } => {
                    self.events.push(StreamEvent::Ended(origin, proof));
                }
                Event::Assigned { .. } | Event::Closed { .. } => {}
            }
        }
    }
    /// Samples each flow's rate and repairs for the store.
    fn take_sample(&mut self, now: NetworkTime) -> Result<(), Failure> {
        for state in self.sources.values_mut() {
            state.rate = None;
        }
        for flow in self.sink.flows() {
            if let Some(state) = self.sources.get_mut(&flow.origin) {
                (state.rate, state.repairing) = (Some(flow.rate), flow.repaired);
            }
        }
        let at_s = now.since(self.begun).as_secs_f64();
        self.store.sample(at_s, &self.statuses())
    }
}

/// Whether a packet is of the one flow that a source has.
fn is_ours(message: &[u8]) -> bool {
    Flow::of(message) == Some(FLOW)
}

/// What runs beside a base station has the network's clock.
const fn instant(at: NetworkTime) -> Instant {
    Instant::from_nanos(at.as_nanos())
}

impl<K: StreamStore> Job for Session<K> {
    type Order = Send;
    type Event = Handed;
    type Output = ();

    fn on_event(&mut self, _clock: &dyn Clock, at: NetworkTime, _by: NodeId, event: Handed) {
        match event {
            // Packets of other nodes are ignored.
            Handed::Packet {
                origin, message, ..
            } if self.sources.contains_key(&origin) && is_ours(&message) => {
                self.sink.handle_packet(instant(at), origin, &message);
                self.note(at);
            }
            // A message that found no room is lost: its source asks again.
            Handed::Packet { .. } | Handed::NoRoom { .. } => {}
        }
    }
    fn on_loss(&mut self, _at: NetworkTime, _station: NodeId, why: Failure) {
        self.lost = Some(why);
    }
    fn poll(&mut self, now: NetworkTime) -> Step<Send, ()> {
        if let Some(why) = self.lost.take() {
            return Step::Done(Err(why));
        }
        let due = self.sink.poll_timeout();
        if due.is_some_and(|at| at <= instant(now)) {
            self.sink.handle_timeout(instant(now));
            self.note(now);
        }
        if self.due <= now {
            self.due = now + FLUSH_EVERY;
            if let Err(why) = self.flush().and_then(|()| self.take_sample(now)) {
                return Step::Done(Err(why));
            }
        }
        if let Some((to, message)) = self.sink.poll_message(instant(now)) {
            // A source forgets packets that this acknowledges: they must be safe first.
            if let Err(why) = self.flush() {
                return Step::Done(Err(why));
            }
            return Step::Order(self.station, Send { to, message });
        }
        if self.end.is_some_and(|end| end <= now) || self.store.is_done(now) {
            return Step::Done(Ok(()));
        }
        let at = self.sink.poll_timeout();
        let at = at.map(|at| NetworkTime::from_nanos(at.as_nanos()));
        let next = [at, self.end].into_iter().flatten();
        Step::Wait(next.fold(self.due, NetworkTime::min))
    }
    fn stop(&mut self) -> Vec<(NodeId, Send)> {
        // Sources notice the silence.
        Vec::new()
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
