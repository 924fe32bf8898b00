//! What must hold, and what is said where it does not.

use serde::Serialize;
use thalweg_units::{Duration, NodeId};

/// An invariant that did not hold.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Breach {
    /// An engine, or what runs beside a base station, panicked.
    #[error("panic: {0}")]
    Panic(String),
    /// The simulation cannot go on: an engine keeps its node busy for ever.
    #[error("stuck: {0}")]
    Stuck(String),
    /// So many events in one second of the network.
    #[error("{events} events in one second of the network")]
    Busy {
        /// How many.
        events: u64,
    },
    /// An object was handed out that is not its source's.
    #[error("node {source_node}: {got} bytes were handed out as its object of {sent} bytes, and they are others")]
    Foreign {
        /// The source.
        source_node: NodeId,
        /// Bytes that were handed out.
        got: usize,
        /// Bytes that it offers.
        sent: usize,
    },
    /// A report contradicts itself: success without the object, or the object without success.
    #[error("node {source_node}: the report contradicts itself: {why}")]
    Report {
        /// The source.
        source_node: NodeId,
        /// How.
        why: String,
    },
    /// A job took longer than it may.
    #[error("{job} took {took} of the network's time; it may take {bound}")]
    Overtime {
        /// Which.
        job: String,
        /// How long it took.
        took: Duration,
        /// How long it may take.
        bound: Duration,
    },
    /// All is well again, and an object that can arrive does not.
    #[error("all faults are over, and the object of node {source_node} does not arrive: {why}")]
    Undelivered {
        /// The source.
        source_node: NodeId,
        /// What its fetch said.
        why: String,
    },
    /// A node read its object out, or took one in, and nobody had ordered that.
    #[error("node {node} {did}, and no order asked for that")]
    Unordered {
        /// The node.
        node: NodeId,
        /// What it did.
        did: &'static str,
    },
    /// A survey reported a link between nodes that do not hear each other.
    #[error("a survey has a link from node {from} to node {to}, which do not hear each other")]
    Link {
        /// Sender.
        from: u16,
        /// Receiver.
        to: u16,
    },
    /// A survey reported a battery, and no node has one.
    #[error("a survey has a battery of node {node}, which has none")]
    Battery {
        /// The node.
        node: NodeId,
    },
    /// An outsider with a captured mote's keys read an object of another node.
    #[error("an outsider can read the object of node {source_node}")]
    Secret {
        /// The source.
        source_node: NodeId,
    },
    /// A meter does not add up.
    #[error("node {node}: its meter has {metered} of {passed}")]
    Meter {
        /// The node.
        node: NodeId,
        /// The time in all states.
        metered: Duration,
        /// The time that passed.
        passed: Duration,
    },
}

/// The kind of a breach: what shrinking keeps, and what is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreachKind {
    /// [`Breach::Panic`].
    Panic,
    /// [`Breach::Stuck`], [`Breach::Busy`].
    Stuck,
    /// [`Breach::Foreign`].
    Foreign,
    /// [`Breach::Report`].
    Report,
    /// [`Breach::Overtime`].
    Overtime,
    /// [`Breach::Undelivered`].
    Undelivered,
    /// [`Breach::Unordered`].
    Unordered,
    /// [`Breach::Link`], [`Breach::Battery`].
    Survey,
    /// [`Breach::Meter`].
    Meter,
    /// [`Breach::Secret`].
    Secret,
}

impl Breach {
    /// Its kind.
    pub const fn kind(&self) -> BreachKind {
        match self {
            Self::Panic(_) => BreachKind::Panic,
            Self::Stuck(_) | Self::Busy { .. } => BreachKind::Stuck,
            Self::Foreign { .. } => BreachKind::Foreign,
            Self::Report { .. } => BreachKind::Report,
            Self::Overtime { .. } => BreachKind::Overtime,
            Self::Undelivered { .. } => BreachKind::Undelivered,
            Self::Unordered { .. } => BreachKind::Unordered,
            Self::Link { .. } | Self::Battery { .. } => BreachKind::Survey,
            Self::Meter { .. } => BreachKind::Meter,
            Self::Secret { .. } => BreachKind::Secret,
        }
    }
}

impl BreachKind {
    /// The invariant, in a few words.
    pub const fn invariant(self) -> &'static str {
        match self {
            Self::Panic => "nothing panics",
            Self::Stuck => "no engine keeps its node busy",
            Self::Foreign => "an object is what its node sent",
            Self::Report => "a report says what came",
            Self::Overtime => "every job ends within its bound",
            Self::Undelivered => "what can arrive does arrive",
            Self::Unordered => "no order is obeyed that was not given",
            Self::Survey => "links and batteries are those that nodes have",
            Self::Meter => "energy adds up",
            Self::Secret => "an outsider reads no object of a network with keys",
        }
    }
}
