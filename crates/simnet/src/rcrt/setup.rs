//! The setup of a run: nodes, their stacks, flows and incidents.

use super::incident::Incident;
use super::mote::FLOWS;
use thalweg_host::transfer::rcrt::PAYLOAD_BYTES;
use thalweg_host::transfer::session::FLOW;
use thalweg_medium::chip::NRF52840;
use thalweg_protocols::csma;
use thalweg_protocols::member;
use thalweg_protocols::rcrt::{sink, source};
use thalweg_protocols::stack::Queue;
use thalweg_protocols::tree::Routing;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Dbm, Duration, NodeId};
use thalweg_wire::seal::keys::Numbered;

/// A flow, or what a node without a transport sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// The source's index.
    pub node: usize,
    /// Index of its sink.
    pub sink: u8,
    /// Packets per second that it wants; without a transport, those that it sends.
    pub demand: f64,
    /// Packets, each once.
    pub packets: u32,
    /// When it begins, after routes have settled.
    pub at: Duration,
}

/// What carries packets end to end.
#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    /// Nothing: packets are sent at the demanded rate, and that is all.
    BestEffort,
    /// RCRT, with one sink for each.
    Rcrt(Vec<Sink>),
    /// IFRC: every node always has a packet, and sends at the rate that IFRC gives it. What is lost is lost.
    Ifrc,
}

impl Transport {
    /// Whether packets carry sequence numbers of a transport.
    pub(super) const fn is_reliable(&self) -> bool {
        match self {
            Self::Rcrt(_) => true,
            Self::BestEffort | Self::Ifrc => false,
        }
    }
}

/// A sink's program.
#[derive(Debug, Clone, PartialEq)]
pub struct Sink {
    /// Its constants.
    pub config: sink::Config,
    /// Its policy, by name.
    pub policy: String,
}

/// What becomes of the tree once routes have settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tree {
    /// It follows beacons.
    Dynamic,
    /// It stays as it is.
    Static,
}

/// How long routes have before the first flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settle {
    /// For this long.
    For(Duration),
    /// Until every source has a route to a base station, at most so long.
    UntilRoutes(Duration),
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Medium access of motes.
    pub mac: csma::Config,
    /// That of base stations.
    pub base_mac: csma::Config,
    /// How trees are found.
    pub routing: Routing,
    /// What becomes of them.
    pub tree: Tree,
    /// Packets that a queue holds.
    pub queue: Queue,
    /// Nominal transmit power; none for the board's.
    pub power: Option<Dbm>,
    /// The channel.
    pub channel: Channel,
    /// Base stations by index: one, or gateways that hand packets on to each other's sinks.
    pub bases: Vec<usize>,
    /// What carries packets.
    pub transport: Transport,
    /// What sends: at most one flow of a node to each sink.
    pub flows: Vec<Flow>,
    /// Bytes of a packet that its application gets.
    pub payload_bytes: u8,
    /// Constants of sources.
    pub source: source::Config,
    /// Packets that a source's buffer holds.
    pub buffer: u16,
    /// Time for routes before the first flow.
    pub settle: Settle,
    /// The run ends when all flows have, at the latest so long after routes have settled.
    pub limit: Duration,
    /// What happens to nodes, after routes have settled.
    pub incidents: Vec<(Duration, usize, Incident)>,
    /// In a secured network the base station of the session, and the session's number.
    pub sealed: Option<Numbered>,
}

/// No session takes so long.
const LIMIT: Duration = Duration::from_secs(10_000_000);

impl Setup {
    /// Sources of RCRT at their board's power, each with the packets per second that it wants from the beginning; `base`
    /// has no sink. They have TinyOS' CSMA and MultiHopLQI, but an nRF52840 what its firmware has.
    pub fn session(
        site: &Site,
        base: NodeId,
        sources: impl IntoIterator<Item = (NodeId, f64)>,
    ) -> Self {
        let testbed = &site.testbed;
        let (mac, routing) = match *site.board.chip == NRF52840 {
            true => (member::MAC, member::ROUTING),
            false => (csma::Config::TINYOS_CC2420, Routing::MULTI_HOP_LQI),
        };
        let flow = |(source, demand)| {
            Some(Flow {
                node: testbed.index_of(source)?,
                sink: FLOW.sink,
                demand,
                packets: u32::MAX,
                at: Duration::ZERO,
            })
        };
        Self {
            mac,
            base_mac: mac,
            routing,
            source: source::Config::PAPER,
            tree: Tree::Dynamic,
            queue: member::QUEUE,
            power: None,
            channel: testbed.channels.iter().last().unwrap_or(Channel::LAST),
            bases: testbed.index_of(base).into_iter().collect(),
            transport: Transport::Rcrt(Vec::new()),
            flows: sources.into_iter().filter_map(flow).collect(),
            payload_bytes: PAYLOAD_BYTES,
            buffer: sink::Config::PAPER.window,
            settle: Settle::For(Duration::ZERO),
            limit: LIMIT,
            incidents: Vec::new(),
            sealed: None,
        }
    }
    /// Packets of each flow of `node`, by sink.
    pub(super) fn packets_of(&self, node: usize) -> [u32; FLOWS] {
        let mut packets = [0; FLOWS];
        for flow in self.flows.iter().filter(|flow| flow.node == node) {
            if let Some(count) = packets.get_mut(usize::from(flow.sink)) {
                *count = flow.packets;
            }
        }
        packets
    }
}
