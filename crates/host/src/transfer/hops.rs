//! A transfer hop by hop: the job that fetches an object over one path, block by block.
//!
//! Time base: the sink's clock for what it measured, network time for how long it may take. Invariants: orders go to the
//! sink alone; packets arrive in order, so a transfer that breaks off brings the beginning of what was asked for.

use super::log::Log;
use super::pipeline::{refused, Fetched, Order, Readings, TransferJob};
use super::terms::TransferTerms;
use crate::job::{Failure, Job, Progress, Step};
use crate::network::{Clock, NetworkTime};
use crate::object::Proof;
use std::collections::VecDeque;
use thalweg_planner::Plan;
use thalweg_protocols::collection::LinkReport;
use thalweg_protocols::mote::{self, Command};
use thalweg_protocols::{floodnet, pipeline};
use thalweg_units::{Duration, NodeId};
use thalweg_wire::hop::{HopRoute, Subject};
use thalweg_wire::seal::frame::Sealing;

/// How long a transfer may bring nothing: longer than its nodes wait for each other, and calls over a whole route.
const PATIENCE: Duration = Duration::from_secs(90);

/// The route over the path of `plan`, for nodes called `ids`, as transfer number `transfer`.
///
/// # Errors
/// [`Failure::Unfit`] where it is too long.
pub fn hop_route(
    plan: &Plan,
    terms: &TransferTerms,
    ids: &[NodeId],
    transfer: u16,
) -> Result<HopRoute, Failure> {
    let nodes = plan.pip.path.iter().zip(&plan.channels);
    let nodes: Option<Vec<_>> = nodes
        .map(|(node, channel)| Some((*ids.get(*node)?, *channel)))
        .collect();
    let payload = terms.in_blocks().payload.bytes();
    let route = HopRoute::new(transfer, &nodes.unwrap_or_default(), terms.range, payload);
    let route = route.and_then(|route| route.secured(terms.sealing));
    let mut route = route.map_err(|_| {
        let hops = plan.hops;
        Failure::Unfit(format!(
            "no call of a transfer hop by hop holds the addresses of {hops} hops"
        ))
    })?;
    route.calls = plan.calls;
    Ok(route)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Ordered,
    /// It has begun. Energy spent up to then is not the transfer's.
    Begun,
    Following,
    /// The energy up to now is the transfer's.
    Metering,
    Taking,
    Done,
}

/// Fetches the object that a route's source offers, or the part of it that the route names.
#[derive(Debug)]
pub struct HopFetch {
    route: HopRoute,
    /// All nodes of the network.
    nodes: Vec<NodeId>,
    state: State,
    /// When the job gives up.
    until: NetworkTime,
    log: Log,
    /// What nodes had spent when it began and at the end, in joules; none without meters.
    energy: Readings,
    progress: VecDeque<Progress>,
    failed: Option<Failure>,
}

impl HopFetch {
    /// A fetch over `route`, in a network of the nodes `ids`.
    pub fn new(route: HopRoute, ids: &[NodeId]) -> Self {
        Self {
            log: Log::new(route.payload(), route.range.offset),
            route,
            nodes: ids.to_vec(),
            state: State::New,
            until: NetworkTime::ZERO,
            energy: Readings::default(),
            progress: VecDeque::new(),
            failed: None,
        }
    }

    /// The same where `proof` shows that the object is whole.
    #[must_use]
    pub fn proved_by(mut self, proof: Proof) -> Self {
        self.log.proof = proof;
        self
    }

    fn output(&mut self) -> Fetched {
        let (joules, network_joules) = self.energy.spent(&self.nodes, self.route.nodes());
        let log = &mut self.log;
        let segment = log.segment();
        let failure = segment.is_none().then(|| log.failure());
        Fetched {
            segment,
            complete: log.complete,
            duration: log.duration(),
            waited: log.waited(),
            wake_up: log.wake_up,
            round: 1,
            // Blocks are repeated until they are whole: there are no rounds.
            first_round: None,
            attempts: 1,
            degraded_paths: 0,
            bad_hops: Vec::new(),
            participants: self.route.nodes().len() as u32,
            joules,
            network_joules,
            failure,
        }
    }
}

impl TransferJob for HopFetch {
    fn attempts(&self) -> u32 {
        1
    }
    fn participants(&self) -> &[NodeId] {
        self.route.nodes()
    }
    fn so_far(&mut self, joules: Option<Vec<Option<f64>>>) -> Fetched {
        self.energy.end(joules);
        self.output()
    }
}

impl Job for HopFetch {
    type Order = Order;
    type Event = mote::Event;
    type Output = Fetched;

    fn on_event(&mut self, clock: &dyn Clock, at: NetworkTime, by: NodeId, event: mote::Event) {
        if by != self.route.sink() {
            return;
        }
        let received = self.log.received;
        match (self.state, event) {
            (State::Ordered, mote::Event::WakeUp { .. }) => {
                self.log.note(clock, at, by, event);
                self.progress.push_back(Progress::WakingUp);
                (self.state, self.until) = (State::Begun, at + PATIENCE);
            }
            (State::Ordered, _) => self.failed = refused(&event),
            _ => self.progress.extend(self.log.note(clock, at, by, event)),
        }
        if self.log.received > received {
            self.until = at + PATIENCE;
        }
    }
    fn on_loss(&mut self, _at: NetworkTime, station: NodeId, why: Failure) {
        if station == self.route.sink() && self.state != State::New {
            self.failed = Some(why);
        }
    }
    fn on_meters(&mut self, joules: Vec<Option<f64>>) {
        if self.state == State::Begun {
            self.energy.before = joules;
            self.state = State::Following;
        } else {
            self.energy.after = joules;
            self.state = match self.log.complete {
                Some(_) => State::Taking,
                None => State::Done,
            };
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
        match self.state {
            State::New => {
                self.log.begin(now);
                (self.state, self.until) = (State::Ordered, now + PATIENCE);
                Step::Order(self.route.sink(), Command::FetchHops(self.route))
            }
            State::Begun => Step::Meter(self.nodes.clone()),
            State::Following if self.log.end.is_some() => {
                self.state = State::Metering;
                Step::Meter(self.nodes.clone())
            }
            State::Taking => {
                let len = self.log.complete.map_or(0, |c| c.len as usize);
                Step::Take(self.route.sink(), len)
            }
            State::Done => Step::Done(Ok(self.output())),
            _ if now < self.until => Step::Wait(self.until),
            _ => Step::Done(Err(Failure::NoEnd(PATIENCE))),
        }
    }

    fn stop(&mut self) -> Vec<(NodeId, Order)> {
        vec![(self.route.sink(), Command::Stop)]
    }
}

/// How long a report may take.
const REPORT_PATIENCE: Duration = Duration::from_secs(90);

/// Asks the source of a route for its report of the last sweep.
#[derive(Debug)]
pub struct ReportFetch {
    route: HopRoute,
    until: Option<NetworkTime>,
    links: Vec<LinkReport>,
    is_done: bool,
    failed: Option<Failure>,
}

impl ReportFetch {
    /// Over the path of `plan`, for nodes called `ids`, as transfer number `transfer`, in a network that is secured, or
    /// open, as `sealing` says.
    ///
    /// # Errors
    /// As [`hop_route`].
    pub fn new(
        plan: &Plan,
        ids: &[NodeId],
        transfer: u16,
        sealing: Sealing,
    ) -> Result<Self, Failure> {
        let terms = TransferTerms {
            sealing,
            ..TransferTerms::default()
        };
        let mut route = hop_route(plan, &terms, ids, transfer)?;
        route.subject = Subject::Report;
        Ok(Self {
            route,
            until: None,
            links: Vec::new(),
            is_done: false,
            failed: None,
        })
    }
}

impl Job for ReportFetch {
    type Order = Order;
    type Event = mote::Event;
    type Output = Vec<LinkReport>;

    fn on_event(&mut self, _clock: &dyn Clock, _at: NetworkTime, by: NodeId, event: mote::Event) {
        if by != self.route.sink() {
            return;
        }
        match event {
            mote::Event::Floods(floodnet::Event::Link(link)) if link.to == self.route.source() => {
                self.links.push(link);
            }
            mote::Event::Pipeline(pipeline::Event::Finished(_)) => self.is_done = true,
            event => self.failed = refused(&event),
        }
    }
    fn on_loss(&mut self, _at: NetworkTime, station: NodeId, why: Failure) {
        if station == self.route.sink() {
            self.failed = Some(why);
        }
    }
    fn poll(&mut self, now: NetworkTime) -> Step<Order, Vec<LinkReport>> {
        if let Some(why) = self.failed.take() {
            return Step::Done(Err(why));
        }
        match self.until {
            None => {
                self.until = Some(now + REPORT_PATIENCE);
                Step::Order(self.route.sink(), Command::FetchHops(self.route))
            }
            _ if self.is_done => Step::Done(Ok(std::mem::take(&mut self.links))),
            Some(until) if now < until => Step::Wait(until),
            Some(_) => Step::Done(Err(Failure::NoEnd(REPORT_PATIENCE))),
        }
    }
    fn stop(&mut self) -> Vec<(NodeId, Order)> {
        vec![(self.route.sink(), Command::Stop)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;
    use crate::security::NetworkKeys;
    use thalweg_protocols::object::ObjectStore;
    use thalweg_units::{Channel, Instant};
    use thalweg_wire::route::ObjectRange;
    use thalweg_wire::seal::{Key, MasterKey};

    /// What is left of an object after a transfer that broke off lies further on in the key stream.
    #[test]
    fn a_sealed_part_is_opened_at_its_place_in_the_object() {
        let [source, sink] = [7, 1].map(|n| NodeId::new(n).unwrap());
        let proof = NetworkKeys::new(MasterKey::new(Key::new([3; 16]))).proof(source);
        let object: Vec<u8> = (0..=99).collect();
        let mut memory = Memory::proving(proof.clone());
        memory.offer(object.clone().into());
        let range = ObjectRange {
            offset: 40,
            len: 60,
        };
        let mut sealed = vec![0; 60];
        memory.read(range.offset, &mut sealed);
        assert_ne!(sealed, object[40..]);
        let nodes = [source, sink].map(|node| (node, Channel::LAST));
        let route = HopRoute::new(1, &nodes, range, 100).unwrap();
        let mut fetch = HopFetch::new(route, &[source, sink]).proved_by(proof);
        fetch.log.bytes = Some(sealed);
        fetch.log.complete = Some(pipeline::Complete {
            len: 60,
            object_len: 100,
            digest: memory.info().digest,
            packets: 1,
            first_round: 1,
            rounds: 1,
            last_packet: Instant::ZERO,
        });
        assert_eq!(fetch.log.segment().unwrap().bytes, object[40..]);
    }
}
