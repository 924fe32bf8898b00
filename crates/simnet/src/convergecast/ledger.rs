//! What each node sent, received and dropped in a run, and the fate of every packet.

use super::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use thalweg_medium::Cause;
use thalweg_protocols::stack::{Drop, Event, Gone, Reading, Schedule};
use thalweg_sim::{Aired, Kind, Observer};
use thalweg_units::{Instant, NodeId, SimTime};
use thalweg_wire::addressed::HEADER_BYTES;
use thalweg_wire::dispatch;

/// Counts of one node, in the window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NodeCounts {
    /// Packets that its application made.
    pub made: u64,
    /// Of them, those that its application gave up before the stack took them.
    pub skipped: u64,
    /// Packets that its stack took from its application.
    pub taken: u64,
    /// Packets that came in over the air, each once.
    pub received: u64,
    /// Packets of its own that reached a sink.
    pub delivered: u64,
    /// Packets that it passed on which the next hop received, each once.
    pub passed: u64,
    /// Data frames that it sent.
    pub sent: u64,
    /// Packets that it dropped for want of room.
    pub overflowed: u64,
}

/// Data over one link.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Link {
    /// Frames sent.
    pub sent: u64,
    /// Packets received, each once.
    pub received: u64,
}

/// The fates of all packets that were there or that applications made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packets {
    /// Packets that were on their way or with an application when the window began.
    pub before: u64,
    /// Packets that were made.
    pub made: u64,
    /// Given up by the application, which had no room for them.
    pub skipped: u64,
    /// Still with the application at the end.
    pub unsent: u64,
    /// Arrived at a sink.
    pub delivered: u64,
    /// Dropped on the way, by the cause of the last copy's end.
    pub dropped: BTreeMap<Drop, u64>,
    /// Still in a queue at the end.
    pub waiting: u64,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    /// When its reading was made.
    made: Instant,
    delivered: bool,
    dropped: Option<Drop>,
}

/// Counts what happens in a run.
pub(super) struct Ledger {
    begins: SimTime,
    ids: Vec<NodeId>,
    index: BTreeMap<NodeId, usize>,
    is_sink: Vec<bool>,
    /// When applications make readings.
    loads: Vec<Option<Schedule>>,
    packets: BTreeMap<(u16, u16), Packet>,
    depth: Vec<i64>,
    /// The node that a packet came in at last; the next event says whether it found room.
    entered: Option<usize>,
    outcome: Outcome,
}

impl Ledger {
    pub(super) fn new(
        ids: Vec<NodeId>,
        sinks: &[usize],
        loads: Vec<Option<Schedule>>,
        begins: SimTime,
    ) -> Self {
        let nodes = ids.len();
        Self {
            begins,
            index: ids.iter().enumerate().map(|(n, id)| (*id, n)).collect(),
            is_sink: (0..nodes).map(|n| sinks.contains(&n)).collect(),
            ids,
            loads,
            packets: BTreeMap::new(),
            depth: vec![0; nodes],
            entered: None,
            outcome: Outcome {
                nodes: vec![NodeCounts::default(); nodes],
                sinks: sinks.to_vec(),
                ..Outcome::default()
            },
        }
    }

    /// The window begins: what was counted is forgotten. Packets that wait in queues stay, and so
    /// do `unsent` ones of applications.
    pub(super) fn open(&mut self, waiting: &[(u16, u16)], unsent: u64) {
        self.settle();
        let waiting: BTreeSet<&(u16, u16)> = waiting.iter().collect();
        let packets = &mut self.packets;
        packets.retain(|key, packet| !packet.delivered && waiting.contains(key));
        let outcome = &mut self.outcome;
        outcome.packets.before = packets.len() as u64 + unsent;
        outcome.nodes.fill(NodeCounts::default());
        outcome.links.clear();
        outcome.dropped.clear();
        outcome.useful_hops = 0;
        outcome.latencies.clear();
    }

    /// The outcome, with the packets that wait in queues and at applications at the end.
    pub(super) fn finish(mut self, waiting: &[(u16, u16)], unsent: u64) -> Outcome {
        self.settle();
        let fates = &mut self.outcome.packets;
        fates.unsent = unsent;
        fates.made = self.outcome.nodes.iter().map(|n| n.made).sum();
        fates.skipped = self.outcome.nodes.iter().map(|n| n.skipped).sum();
        let waiting: BTreeSet<&(u16, u16)> = waiting.iter().collect();
        for (key, packet) in &self.packets {
            if packet.delivered {
                fates.delivered += 1;
            } else if waiting.contains(key) {
                fates.waiting += 1;
            } else if let Some(why) = packet.dropped {
                *fates.dropped.entry(why).or_default() += 1;
            }
        }
        self.outcome
    }

    fn held(&mut self, node: usize, more: i64) {
        self.depth[node] += more;
        if more > 0 {
            self.entered = Some(node);
        }
    }

    /// The queue that a packet came into last has it for good.
    fn settle(&mut self) {
        if let Some(node) = self.entered.take() {
            let depth = self.depth[node].max(0) as usize;
            self.outcome.deepest_queue = self.outcome.deepest_queue.max(depth);
        }
    }

    /// A packet is at a sink, by so many hops.
    fn deliver(&mut self, at: SimTime, (origin, number): (NodeId, u16), hops: u8) {
        let packet = self.packets.get_mut(&(origin.get(), number));
        let Some(packet) = packet.filter(|p| !p.delivered) else {
            return;
        };
        packet.delivered = true;
        self.outcome.useful_hops += u64::from(hops);
        let at = Instant::from_nanos(at.as_nanos());
        let latency = at.since(packet.made).as_secs_f64();
        self.outcome.latencies.push(latency);
        if let Some(&origin) = self.index.get(&origin) {
            self.outcome.nodes[origin].delivered += 1;
        }
    }

    fn note(&mut self, at: SimTime, node: usize, event: Event<Reading>) {
        match event {
            // No packet's.
            Event::Parent { .. } => return,
            Event::Gone {
                how: Gone::Dropped(Drop::Buffer | Drop::Hops),
                ..
            } => {}
            _ => self.settle(),
        }
        let counts = &mut self.outcome.nodes[node];
        match event {
            Event::Upper(Reading { made, skipped }) => {
                counts.made += u64::from(made);
                counts.skipped += u64::from(skipped);
            }
            Event::Taken { number } => {
                counts.taken += 1;
                // Nodes' clocks are ideal, and a reading that waits makes way for the next.
                let at = Instant::from_nanos(at.as_nanos());
                let load = self.loads.get(node).and_then(Option::as_ref);
                let packet = Packet {
                    made: load.map_or(at, |load| load.latest(at)),
                    delivered: false,
                    dropped: None,
                };
                self.packets.insert((self.ids[node].get(), number), packet);
                self.held(node, 1);
            }
            Event::Received {
                from,
                origin,
                number,
                hops,
            } => {
                counts.received += 1;
                if let Some(&from) = self.index.get(&from) {
                    self.outcome.nodes[from].passed += 1;
                    self.outcome.links.entry((from, node)).or_default().received += 1;
                }
                match self.is_sink[node] {
                    true => self.deliver(at, (origin, number), hops),
                    false => self.held(node, 1),
                }
            }
            Event::Gone {
                origin,
                number,
                how,
            } => self.gone(node, (origin, number), how),
            Event::Parent { .. } => {}
        }
    }

    /// `node` has this packet no more.
    fn gone(&mut self, node: usize, (origin, number): (NodeId, u16), how: Gone) {
        if let Gone::Dropped(why) = how {
            self.outcome.nodes[node].overflowed += u64::from(why == Drop::Buffer);
            *self.outcome.dropped.entry(why).or_default() += 1;
            if let Some(packet) = self.packets.get_mut(&(origin.get(), number)) {
                packet.dropped = Some(why);
            }
        }
        self.held(node, -1);
    }
}

impl Observer<Event<Reading>> for Ledger {
    fn event(&mut self, at: SimTime, node: usize, event: Event<Reading>) -> ControlFlow<()> {
        self.note(at, node, event);
        ControlFlow::Continue(())
    }

    fn aired(&mut self, frame: &Aired<'_>) {
        let is_data = frame.mpdu.get(HEADER_BYTES) == Some(&dispatch::TREE_DATA);
        let counts = is_data && frame.end >= self.begins;
        let (Kind::Data, Some(to), true) = (frame.kind, frame.to, counts) else {
            return;
        };
        self.outcome.sent += 1;
        self.outcome.nodes[frame.from].sent += 1;
        self.outcome.links.entry((frame.from, to)).or_default().sent += 1;
        if let Some(loss) = frame.lost {
            *self.outcome.lost.entry(loss).or_default() += 1;
        }
    }
}

impl Outcome {
    /// Frames lost by `cause`.
    pub fn lost_by(&self, cause: Cause) -> u64 {
        self.lost.get(&cause).copied().unwrap_or(0)
    }
    /// Share of data frames that did not arrive; none where none was sent.
    pub fn channel_loss(&self) -> Option<f64> {
        let lost: u64 = self.lost.values().sum();
        (self.sent > 0).then(|| lost as f64 / self.sent as f64)
    }
    /// Efficiency, equation 3.1: hops of packets that arrived over transmissions.
    pub fn efficiency(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.useful_hops as f64 / self.sent as f64)
    }
    /// The nodes that send: all but sinks.
    pub fn sources(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|n| !self.sinks.contains(n))
    }
    /// Fairness, equation 3.3, over the sources' delivered packets; none where nothing arrived.
    pub fn fairness(&self) -> Option<f64> {
        let rates = || self.sources().map(|n| self.nodes[n].delivered as f64);
        let (sum, squares): (f64, f64) = (rates().sum(), rates().map(|r| r * r).sum());
        (squares > 0.0).then(|| sum * sum / (rates().count() as f64 * squares))
    }
    /// Imbalance of node `n`, equation 3.2: packets received over those received of it by the next
    /// hop, which count as one where there are none; none for nodes that received nothing.
    pub fn imbalance(&self, n: usize) -> Option<f64> {
        let node = self.nodes.get(n)?;
        (node.received > 0).then(|| node.received as f64 / node.passed.max(1) as f64)
    }
}
