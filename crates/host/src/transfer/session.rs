//! A session of RCRT: what many nodes have to tell, for as long as somebody wants it, at rates that the sink decides.
//!
//! A job without I/O beside a base station's mote. What came is given to a [`Keeper`], and no feedback that a source
//! may forget its packets by goes out before the keeper has them. Sources begin by themselves, as in the paper: no order
//! goes down the tree. Time base: the field's. Invariants: memory is bounded by the sink's windows and [`KEEP_EVERY`]; a
//! session ends when its time is over, by its keeper, by [`crate::network::Notice::Cancelled`], or with its base station.
//! Tests: `session_tests.rs`.

use crate::job::{Failure, Job, Step};
use crate::network::{Clock, NetworkTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_protocols::rcrt::sink::{policy, Config, Event, Sink};
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::{Flow, Up};

/// The one flow of a source.
pub const FLOW: Flow = Flow { sink: 0, number: 0 };
/// What came is given to the keeper at least as often.
pub const KEEP_EVERY: Duration = Duration::from_secs(1);
/// The longest session, in seconds; one without an end is cancelled.
pub const LONGEST_S: f64 = 366.0 * 86_400.0;
/// What a source wants unless somebody says, packets per second.
pub const DEMAND: f64 = 1.0;
/// The least demand, packets per second.
pub const LEAST_DEMAND: f64 = 0.01;
/// The most, packets per second: what one channel carries over one hop.
pub const MOST_DEMAND: f64 = 100.0;

/// What cannot be asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SessionRequestError {
    /// No policy's name, or not its nodes.
    #[error(
        "policy {0:?}: there are {names}; nodes as weighted:7=2,12=0.5 (above 0) or priority:7=1",
        names = policy::NAMES.join(", ")
    )]
    Policy(String),
    /// A demand that is none.
    #[error("a demand is from {LEAST_DEMAND} to {MOST_DEMAND} packets per second, not {0}")]
    Demand(f64),
    /// Nobody is to send.
    #[error("sources: expected a list of nodes, or \"all\"")]
    Nobody,
    /// A source is named twice.
    #[error("sources: node {0} is named twice")]
    Twice(u16),
    /// A demand of a node that is no source.
    #[error("demands: node {0} is no source")]
    NoSource(u16),
    /// A time that is none.
    #[error("duration_s: expected 1 to {LONGEST_S} seconds, not {0}")]
    Duration(f64),
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRequest {
    /// The nodes that send.
    pub sources: Vec<u16>,
    /// Who gets how much, by name (RCRT, section 3.6).
    pub policy: String,
    /// What a source wants, packets per second.
    pub demand: f64,
    /// What some want instead.
    #[serde(default)]
    pub demands: BTreeMap<u16, f64>,
    /// How long; until it is cancelled where nobody says.
    pub duration_s: Option<f64>,
}

impl SessionRequest {
    /// Whether it can be asked of any network.
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
            if !(LEAST_DEMAND..=MOST_DEMAND).contains(demand) {
                return Err(SessionRequestError::Demand(*demand));
            }
        }
        let stranger = |node: &&u16| sources.binary_search(node).is_err();
        if let Some(node) = self.demands.keys().find(stranger) {
            return Err(SessionRequestError::NoSource(*node));
        }
        match self.duration_s {
            Some(s) if !(1.0..=LONGEST_S).contains(&s) => Err(SessionRequestError::Duration(s)),
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

/// Something that came of a source, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// The source began: what follows is not what came before.
    Begun(NodeId, NetworkTime),
    /// Its next bytes, and when the last of them came.
    Bytes(NodeId, NetworkTime, Vec<u8>),
    /// It has sent all that it had.
    Ended(NodeId),
}

/// How a source fares.
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
    /// Packets that were missing before they came: lost on the way and sent again, or overtaken.
    pub repaired: u64,
}

/// Who has what came.
pub trait Keeper {
    /// Takes what came since the last time; it is safe when this returns.
    ///
    /// # Errors
    /// Why it cannot; the session ends.
    fn keep(&mut self, came: Vec<Came>) -> Result<(), Failure>;
    /// Is shown how the sources fare, `at_s` seconds after the session began, about once a second.
    ///
    /// # Errors
    /// Why it cannot go on; the session ends.
    fn look(&mut self, at_s: f64, sources: &[SourceStatus]) -> Result<(), Failure>;
    /// Whether it waits for nothing more.
    fn is_over(&self, _now: NetworkTime) -> bool {
        false
    }
}

/// A source and what came of it.
#[derive(Debug, Default)]
struct Part {
    packets: u64,
    bytes: u64,
    /// Of connections that are no more.
    repaired: u64,
    /// Of the one that is, when it was last looked at.
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
    ends: Option<NetworkTime>,
    parts: BTreeMap<NodeId, Part>,
    came: Vec<Came>,
    /// When the keeper is next given what came, and shown how sources fare.
    due: NetworkTime,
    lost: Option<Failure>,
    keeper: K,
}

impl<K: Keeper> Session<K> {
    /// What is wished for at base station `station`, from `now` on; `left` is how long, if it ends by itself.
    ///
    /// # Errors
    /// [`SessionRequestError`].
    pub fn new(
        (station, now): (NodeId, NetworkTime),
        wish: &SessionRequest,
        left: Option<Duration>,
        keeper: K,
    ) -> Result<Self, SessionRequestError> {
        wish.check()?;
        let policy = policy::named(&wish.policy);
        let policy = policy.ok_or_else(|| SessionRequestError::Policy(wish.policy.clone()))?;
        Ok(Self {
            sink: Sink::new(Config::PAPER, policy),
            station,
            begun: now,
            ends: left.map(|left| now + left),
            parts: wish.nodes().map(|node| (node, Part::default())).collect(),
            came: Vec::new(),
            due: now,
            lost: None,
            keeper,
        })
    }

    /// Gives the keeper what it does not have yet, shows it how the sources fare at the end, and gives it back.
    ///
    /// # Errors
    /// As the keeper's.
    pub fn finish(mut self, now: NetworkTime) -> (K, Result<(), Failure>) {
        let kept = self.keep().and_then(|()| self.show(now));
        (self.keeper, kept)
    }
    /// How each source fares.
    fn standing(&self) -> Vec<SourceStatus> {
        let standing = |(source, part): (&NodeId, &Part)| SourceStatus {
            source: *source,
            rate: part.rate,
            packets: part.packets,
            bytes: part.bytes,
            repaired: part.repaired + part.repairing,
        };
        self.parts.iter().map(standing).collect()
    }

    fn keep(&mut self) -> Result<(), Failure> {
        match self.came.is_empty() {
            true => Ok(()),
            false => self.keeper.keep(std::mem::take(&mut self.came)),
        }
    }

    /// Notes what the sink tells.
    fn note(&mut self, at: NetworkTime) {
        while let Some(event) = self.sink.poll_event() {
            let (Event::Opened { origin, .. }
            | Event::Delivered { origin, .. }
            | Event::Finished { origin, .. }) = event
            else {
                continue;
            };
            let Some(part) = self.parts.get_mut(&origin) else {
                continue;
            };
            match event {
                Event::Opened { .. } => {
                    part.repaired += std::mem::take(&mut part.repairing);
                    self.came.push(Came::Begun(origin, at));
                }
                Event::Delivered { payload, .. } => {
                    part.packets += 1;
                    part.bytes += payload.len() as u64;
                    match self.came.last_mut() {
                        Some(Came::Bytes(source, last, bytes)) if *source == origin => {
                            *last = at;
                            bytes.extend_from_slice(&payload);
                        }
                        _ => self.came.push(Came::Bytes(origin, at, payload.to_vec())),
                    }
                }
                _ => self.came.push(Came::Ended(origin)),
            }
        }
    }
    /// Looks at each flow's rate and repairs, and shows the keeper.
    fn show(&mut self, now: NetworkTime) -> Result<(), Failure> {
        for part in self.parts.values_mut() {
            part.rate = None;
        }
        for flow in self.sink.flows() {
            if let Some(part) = self.parts.get_mut(&flow.origin) {
                (part.rate, part.repairing) = (Some(flow.rate), flow.repaired);
            }
        }
        let at_s = now.since(self.begun).as_secs_f64();
        self.keeper.look(at_s, &self.standing())
    }
}

/// Whether a packet is of the one flow that a source has.
fn is_ours(message: &[u8]) -> bool {
    Up::parse(message).is_ok_and(|up| up.flow == FLOW)
}

/// The clock of what runs beside a base station is the field's.
const fn instant(at: NetworkTime) -> Instant {
    Instant::from_nanos(at.as_nanos())
}

impl<K: Keeper> Job for Session<K> {
    type Order = Send;
    type Event = Handed;
    type Brings = ();

    fn told(&mut self, _clock: &dyn Clock, at: NetworkTime, _by: NodeId, event: Handed) {
        match event {
            // What nobody asked for is left alone.
            Handed::Packet {
                origin, message, ..
            } if self.parts.contains_key(&origin) && is_ours(&message) => {
                self.sink.handle_packet(instant(at), origin, &message);
                self.note(at);
            }
            // A message that found no room is one that was lost: its source asks again.
            Handed::Packet { .. } | Handed::NoRoom { .. } => {}
        }
    }
    fn lost(&mut self, _at: NetworkTime, _station: NodeId, why: Failure) {
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
            self.due = now + KEEP_EVERY;
            if let Err(why) = self.keep().and_then(|()| self.show(now)) {
                return Step::Done(Err(why));
            }
        }
        if let Some((to, message)) = self.sink.poll_message(instant(now)) {
            // A source forgets what it is told has come: that has to be safe first.
            if let Err(why) = self.keep() {
                return Step::Done(Err(why));
            }
            return Step::Order(self.station, Send { to, message });
        }
        if self.ends.is_some_and(|end| end <= now) || self.keeper.is_over(now) {
            return Step::Done(Ok(()));
        }
        let at = self.sink.poll_timeout();
        let at = at.map(|at| NetworkTime::from_nanos(at.as_nanos()));
        let next = [at, self.ends].into_iter().flatten();
        Step::Wait(next.fold(self.due, NetworkTime::min))
    }
    fn stop(&mut self) -> Vec<(NodeId, Send)> {
        // Sources notice that nobody answers.
        Vec::new()
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
