//! Orders to [`super::Floodnet`] and events from it.

use crate::collection::{Collect, LinkReport, Missing};
use crate::glossy::Insistence;
use crate::linkprobe::Measure;
use crate::sweep::Sweep;
use thalweg_engine::{Refusal, When};
use thalweg_units::{BatteryLevel, Duration, Instant, NodeId, Restarts};
use thalweg_wire::FrameBuf;

/// An order to one node.
// The lists of nodes are stored in place: there is no allocator to put them elsewhere.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<const NODES: usize = 256> {
    /// Take the radio and listen on the control channel; what was going on is dropped.
    Listen,
    /// Drop everything, without events, and leave the radio to another engine.
    Stop,
    /// Flood these bytes, at most 117, to all nodes.
    Flood {
        /// What is flooded.
        payload: FrameBuf,
        /// When it is sent again.
        insistence: Insistence,
        /// When its first frame is sent.
        begin: When,
    },
    /// Measure links.
    Measure(Measure<NODES>),
    /// Collect the tables of the last measurement.
    Collect(Collect<NODES>),
    /// Measure links the short way, and collect what was measured.
    Sweep(Sweep<NODES>),
}

/// Why an order is not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// An order is being carried out, here or by the sink of a measurement.
    Busy,
    /// The payload does not fit into one flood.
    TooLong,
    /// The radio refused the flood's first frame.
    Radio(Refusal),
    /// Nothing was heard of the radio.
    Silent,
    /// The network is secured, and this node has no number left for its floods.
    NoNumber,
}

/// Events for the layer above.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A flood of the application: on its initiator when it is on the air, on every other node
    /// when it has arrived. Its bytes are [`super::Floodnet::payload`].
    Flooded {
        /// Who flooded it.
        initiator: NodeId,
        /// The flood's number among its initiator's.
        sequence: u8,
        /// After how many slots it arrived; 0 on the initiator and on those who heard it.
        relay: u8,
        /// T_ref: the end of the SFD of the initiator's first frame, by this node's clock.
        reference: Instant,
    },
    /// This node's part in an application's flood is over: as far as the flood is concerned it may
    /// sleep.
    FloodFinished {
        /// Who flooded.
        initiator: NodeId,
        /// The flood's number among its initiator's.
        sequence: u8,
        /// How many times this node sent it.
        sent: u8,
        /// How many times this node received it.
        heard: u8,
    },
    /// On the initiator: the next flood may follow, at once. Until `quiet` this one may still be on
    /// the air far away.
    FloodDone {
        /// T_ref of the flood.
        reference: Instant,
        /// From when on the whole network is silent.
        quiet: Instant,
    },
    /// On the sink: the turn of a node begins.
    Probing {
        /// Whose.
        node: NodeId,
        /// Its number, from 0.
        turn: u16,
        /// How many there are.
        of: u16,
    },
    /// On the sink: the measurement is over.
    Measured {
        /// How many nodes had their turn.
        nodes: u16,
        /// From the first flood's reference time to the end of the last turn, equation (1), or of a sweep's last
        /// beacon.
        time: Duration,
    },
    /// On the sink: one link, of a report that came in.
    Link(LinkReport),
    /// On the sink: the voltage of a node's battery, of a report that came in.
    Battery {
        /// Whose.
        node: NodeId,
        /// What it measured.
        level: BatteryLevel,
    },
    /// On the sink: a node has restarted, by a report that came in.
    Restarted {
        /// Which.
        node: NodeId,
        /// How often since power came, and why last.
        restarts: Restarts,
    },
    /// On the sink: a round of the collection is over.
    Progress {
        /// How many reports are complete.
        complete: u16,
        /// How many are wanted.
        of: u16,
    },
    /// On the sink: a node was given up.
    Missing(Missing),
    /// On the sink: the collection is over.
    Collected {
        /// How many reports are complete.
        complete: u16,
        /// How many nodes were given up.
        missing: u16,
        /// How long it took.
        time: Duration,
    },
    /// An order was not carried out.
    Refused(Refused),
}
