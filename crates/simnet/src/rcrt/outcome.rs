//! The outcome of a run: when each flow's packets arrived, its rates, how the tree changed.
//!
//! Times are seconds after routes have settled. Invariant: a packet counts once, and only with the bytes
//! that its source sent.

use super::mote::{ProgramEvent, Synthetic};
use super::setup::{Flow, Setup};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thalweg_protocols::rcrt::sink::{Event as SinkEvent, Sink};
use thalweg_protocols::rcrt::source::{Event as SourceEvent, Message};
use thalweg_protocols::rcrt::Send;
use thalweg_protocols::stack::{Drop, Event, Gone};
use thalweg_sim::Aired;
use thalweg_units::{Instant, NodeId, SimTime};
use thalweg_wire::rcrt::{Down, DownBody, Up, UpBody};
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::seal::session::unchecked;

/// The outcome of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowOutcome {
    /// As it was set up.
    pub flow: Flow,
    /// When the sink accepted it.
    pub opened: Option<f64>,
    /// When it was closed with everything delivered.
    pub ended: Option<f64>,
    /// When each packet was given to the application, in order; without a transport when it came in.
    pub delivered: Vec<f64>,
    /// When each packet came in first, and its number.
    pub arrived: Vec<(f64, u32)>,
    /// Packets whose first copy at the sink was an end-to-end retransmission.
    pub repaired: u32,
    /// Feedbacks sent to it.
    pub feedbacks: u32,
    /// Packets given to the application out of order, twice, or with other bytes: none, ever.
    pub wrong: u32,
    /// Its rate, each time that it changed.
    pub rates: Vec<(f64, f64)>,
}

impl FlowOutcome {
    /// Packets delivered from second `from` to `to`, per second.
    pub fn rate_within(&self, (from, to): (f64, f64)) -> f64 {
        let within = |at: &&f64| (from..to).contains(*at);
        self.delivered.iter().filter(within).count() as f64 / (to - from)
    }
    /// Packets over the time from the connection to the last delivery in order; none before two came.
    pub fn goodput(&self) -> Option<f64> {
        let (opened, last) = (self.opened?, *self.delivered.last()?);
        (last > opened).then(|| self.delivered.len() as f64 / (last - opened))
    }
    /// The rate assigned at second `at`.
    pub fn rate_at(&self, at: f64) -> Option<f64> {
        let since = self.rates.iter().rev().find(|(since, _)| *since <= at);
        since.map(|(_, rate)| *rate)
    }
    /// Whether it was open at second `at`.
    pub fn is_active(&self, at: f64) -> bool {
        self.opened.is_some_and(|opened| opened <= at) && self.ended.is_none_or(|ended| at < ended)
    }
    /// Share of packets whose first copy at the sink was an end-to-end retransmission.
    pub fn repaired_share(&self) -> Option<f64> {
        let count = self.arrived.len();
        (count > 0).then(|| f64::from(self.repaired) / count as f64)
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Of each flow.
    pub flows: Vec<FlowOutcome>,
    /// Each node's parents, and since when.
    pub parents: Vec<Vec<(f64, Option<NodeId>)>>,
    /// Data frames sent over single links, and those of them that did not arrive.
    pub frames: (u64, u64),
    /// Packets dropped on their way, by cause.
    pub dropped: BTreeMap<Drop, u64>,
    /// Frames on the air.
    pub air_frames: u64,
    /// How long it took.
    pub lasted: f64,
    begins: SimTime,
    ids: Vec<NodeId>,
    index: BTreeMap<(NodeId, u8), usize>,
    /// Numbers of packets that a node's stack took, until their source says what is in them.
    taken: BTreeMap<usize, VecDeque<u16>>,
    /// Packets that are end-to-end retransmissions.
    repairs: BTreeSet<(NodeId, u16)>,
    /// Packets that came in: without a transport by the stack's number.
    received: BTreeSet<(usize, u32)>,
    numbers: Numbers,
    sealing: Sealing,
}

/// What says which packet came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Numbers {
    /// The transport's sequence number.
    #[default]
    Transport,
    /// The stack's number, as there is no transport.
    Stack,
}

impl Outcome {
    pub(super) fn new(setup: &Setup, ids: Vec<NodeId>) -> Self {
        let of_id = |flow: &Flow| ids.get(flow.node).copied().unwrap_or(NodeId::MAX);
        let index = setup.flows.iter().enumerate();
        let index = index
            .map(|(k, flow)| ((of_id(flow), flow.sink), k))
            .collect();
        let flow = |flow: &Flow| FlowOutcome {
            flow: *flow,
            opened: None,
            ended: None,
            delivered: Vec::new(),
            arrived: Vec::new(),
            repaired: 0,
            feedbacks: 0,
            wrong: 0,
            rates: Vec::new(),
        };
        Self {
            flows: setup.flows.iter().map(flow).collect(),
            parents: vec![Vec::new(); ids.len()],
            ids,
            index,
            numbers: match setup.transport.is_reliable() {
                true => Numbers::Transport,
                false => Numbers::Stack,
            },
            sealing: match setup.sealed {
                Some(_) => Sealing::Sealed,
                None => Sealing::Open,
            },
            ..Self::default()
        }
    }
    /// Routes have settled.
    pub(super) const fn begin(&mut self, at: SimTime) {
        self.begins = at;
    }
    /// Seconds after routes have settled.
    fn seconds(&self, at: SimTime) -> f64 {
        at.since(self.begins).as_secs_f64()
    }
    /// Whether every flow has ended.
    pub(super) fn is_done(&self) -> bool {
        self.flows.iter().all(|flow| flow.ended.is_some())
    }
    /// An event of a node.
    pub(super) fn node_event(&mut self, node: usize, event: &Event<ProgramEvent>) {
        // Before routes have settled nothing is noted.
        let Some(&id) = self.ids.get(node) else {
            return;
        };
        match *event {
            Event::Taken { number } => self.taken.entry(node).or_default().push_back(number),
            Event::Upper(ProgramEvent::Source(SourceEvent::Sent { message, .. })) => {
                let number = self.taken.get_mut(&node).and_then(VecDeque::pop_front);
                match (message, number) {
                    (Message::Again(_), Some(number)) => self.repairs.insert((id, number)),
                    // The stack's numbers wrap.
                    (_, Some(number)) => self.repairs.remove(&(id, number)),
                    (_, None) => false,
                };
            }
            Event::Gone {
                how: Gone::Dropped(why),
                ..
            } => *self.dropped.entry(why).or_default() += 1,
            _ => {}
        }
    }
    pub(super) fn aired(&mut self, frame: &Aired<'_>) {
        if frame.to.is_some() {
            self.frames.0 += 1;
            self.frames.1 += u64::from(frame.lost.is_some());
        }
    }
    /// What `message` says beside its payload.
    fn said<'m>(&self, message: &'m [u8]) -> &'m [u8] {
        match self.sealing {
            Sealing::Open => message,
            Sealing::Sealed => unchecked(message).unwrap_or_default(),
        }
    }
    /// A packet came in at a base station.
    pub(super) fn arrived(&mut self, at: SimTime, origin: NodeId, number: u16, message: &[u8]) {
        let at = self.seconds(at);
        let has_transport = self.numbers == Numbers::Transport;
        let up = Up::parse(self.said(message)).ok().filter(|_| has_transport);
        let sink = up.map_or(0, |up| up.flow.sink);
        let Some(&k) = self.index.get(&(origin, sink)) else {
            return;
        };
        let flow = &mut self.flows[k];
        let sequence = match up.map(|up| up.what) {
            None => u32::from(number),
            // The number nearest to the last: those on the air wrap.
            Some(UpBody::Data { sequence, .. }) => {
                let last = flow.arrived.last().map_or(0, |(_, last)| *last);
                last.wrapping_add_signed(i32::from(sequence.wrapping_sub(last as u16) as i16))
            }
            Some(UpBody::Open { .. } | UpBody::Finish { .. }) => return,
        };
        if !self.received.insert((k, sequence)) {
            return;
        }
        flow.arrived.push((at, sequence));
        if !has_transport {
            flow.delivered.push(at);
        }
        flow.repaired += u32::from(self.repairs.contains(&(origin, number)));
    }
    /// A message of a sink goes down.
    pub(super) fn sent_down(&mut self, send: &Send) {
        let Ok(down) = Down::parse(self.said(&send.message)) else {
            return;
        };
        let place = self.index.get(&(send.to, down.flow.sink));
        if let (Some(&k), DownBody::Feedback(_)) = (place, down.what) {
            self.flows[k].feedbacks += 1;
        }
    }
    /// An event of a sink.
    pub(super) fn sink_event(&mut self, now: Instant, event: &SinkEvent) {
        let at = self.seconds(SimTime::from_nanos(now.as_nanos()));
        match event {
            SinkEvent::Opened { origin, flow, .. } => {
                if let Some(&k) = self.index.get(&(*origin, flow.sink)) {
                    self.flows[k].opened.get_or_insert(at);
                }
            }
            SinkEvent::Delivered {
                origin,
                flow,
                sequence,
                payload,
                ..
            } => {
                if let Some(&k) = self.index.get(&(*origin, flow.sink)) {
                    let flow_outcome = &mut self.flows[k];
                    let is_next = *sequence == flow_outcome.delivered.len() as u64;
                    let is_right = Synthetic::is(*origin, *flow, *sequence, payload);
                    flow_outcome.wrong += u32::from(!is_next || !is_right);
                    flow_outcome.delivered.push(at);
                }
            }
            SinkEvent::Finished { origin, flow, .. } => {
                if let Some(&k) = self.index.get(&(*origin, flow.sink)) {
                    self.flows[k].ended = Some(at);
                }
            }
            _ => {}
        }
    }
    /// Samples rates and parents.
    pub(super) fn sample(
        &mut self,
        now: SimTime,
        sinks: &[Sink],
        parent: impl Fn(usize) -> Option<NodeId>,
    ) {
        let at = self.seconds(now);
        for flow in sinks.iter().flat_map(Sink::flows) {
            let Some(&k) = self.index.get(&(flow.origin, flow.flow.sink)) else {
                continue;
            };
            let (rates, rate) = (&mut self.flows[k].rates, flow.rate);
            if rates.last().is_none_or(|(_, last)| *last != rate) {
                rates.push((at, rate));
            }
        }
        for (n, parents) in self.parents.iter_mut().enumerate() {
            let parent = parent(n);
            if parents.last().is_none_or(|(_, last)| *last != parent) {
                parents.push((at, parent));
            }
        }
    }
    /// Samples rates that nodes give themselves; they count for all their flows, which are then open.
    pub(super) fn sample_nodes(&mut self, now: SimTime, rate: impl Fn(usize) -> Option<f64>) {
        let at = self.seconds(now);
        for flow in &mut self.flows {
            let Some(rate) = rate(flow.flow.node) else {
                continue;
            };
            flow.opened.get_or_insert(at);
            if flow.rates.last().is_none_or(|(_, last)| *last != rate) {
                flow.rates.push((at, rate));
            }
        }
    }
    pub(super) fn finish(&mut self, at: SimTime, air_frames: u64) {
        self.lasted = self.seconds(at);
        self.air_frames = air_frames;
    }

    /// The node of index `n`.
    pub fn id_of(&self, n: usize) -> NodeId {
        self.ids.get(n).copied().unwrap_or(NodeId::MAX)
    }
    /// How often node `n` took another parent; to lose one and take it again is no change.
    pub fn parent_changes(&self, n: usize) -> usize {
        let parents = self.parents.get(n).map(Vec::as_slice).unwrap_or_default();
        let mut taken: Vec<NodeId> = parents.iter().filter_map(|(_, parent)| *parent).collect();
        taken.dedup();
        taken.len().saturating_sub(1)
    }
    /// The nodes from `n` up to a base station at second `at`; without a route, those up to where it ends.
    pub fn route(&self, bases: &[usize], n: usize, at: f64) -> Vec<usize> {
        let parent = |node: usize| {
            let before = |since: &&(f64, Option<NodeId>)| since.0 <= at;
            let parent = self.parents.get(node)?.iter().rev().find(before)?.1?;
            self.ids.iter().position(|id| *id == parent)
        };
        let mut route = vec![n];
        let mut node = n;
        while let Some(next) = parent(node).filter(|next| !route.contains(next)) {
            if bases.contains(&node) {
                break;
            }
            route.push(next);
            node = next;
        }
        route
    }
    /// Links from node `n` up to a base station at second `at`; none without a route.
    pub fn depth(&self, bases: &[usize], n: usize, at: f64) -> Option<u32> {
        let route = self.route(bases, n, at);
        let arrives = route.last().is_some_and(|last| bases.contains(last));
        arrives.then(|| route.len() as u32 - 1)
    }
}
