//! Testbeds: what a network is (nodes, board, channels, sink) and whence its physics come: a
//! generated building, placed nodes, or measured links (a K7 trace, a link matrix). [`Testbed::load`]
//! finds one by name or file; [`Testbed::realise`] makes the [`Environment`] that the simulator runs
//! on. A node's index is its place in [`Testbed::nodes`] and its ear's number in the environment.
//! Formats: `docs/testbeds.md`. Tests: beside each file.

mod dual;
mod error;
mod file;
mod k7;
mod layout;
mod load;
mod loss;
mod map;
mod matrix;
mod propagation;
mod rows;
mod summary;
mod trace;

use thalweg_medium::chip::{Chip, AT86RF231, CC1000, CC2420, NRF52840};
use thalweg_medium::{
    corridor_layout, BuildingModel, Environment, MeasuredFrame, MeasuredLink, Placement,
};
use thalweg_units::{ChannelSet, Dbm, NodeId};

pub use error::{Place, Problem, TestbedError};
pub use k7::read_k7;
pub use loss::{Loss, LossError, Losses};
pub use map::map_svg;
pub use matrix::read_matrix;
pub use propagation::constants;
pub use rows::{MAX_NODES, MAX_ROWS};
pub use summary::{summary, ChannelSummary, Spread, Summary, SummaryOptions};
pub use trace::{Trace, TraceLink};

/// A network, before a seed makes it an [`Environment`].
#[derive(Debug, Clone)]
pub struct Testbed {
    /// Its name.
    pub name: String,
    /// What it is, in a line; may be empty.
    pub description: String,
    /// The board of all its nodes.
    pub board: Board,
    /// Its nodes, by index.
    pub nodes: Vec<Node>,
    /// The channels that may be used: those listed in its file, or measured, or all.
    pub channels: ChannelSet,
    /// The node that data goes to unless told otherwise; one of `nodes`.
    pub sink: NodeId,
    /// Whence its links come.
    pub physics: Physics,
    /// What is lost besides, since somebody wants it so.
    pub losses: Losses,
}

/// A node as its testbed knows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// Its number, as users name it.
    pub id: NodeId,
    /// Where it is, where that is known without a seed.
    pub placement: Option<Placement>,
}

/// Whence a testbed's links come.
#[derive(Debug, Clone)]
pub enum Physics {
    /// A building drawn by the seed: places of nodes and links.
    Generated {
        /// Size of the building.
        building: Building,
        /// How radio propagates in it.
        model: BuildingModel,
    },
    /// Nodes at given places, links drawn by the seed.
    Placed {
        /// How radio propagates between them.
        model: BuildingModel,
    },
    /// Measured links.
    Measured(Measured),
}

/// Size of a generated building.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Building {
    /// Number of floors.
    pub floors: u16,
    /// Length, metres.
    pub length_m: f64,
    /// Width, metres.
    pub width_m: f64,
    /// From floor to floor, metres.
    pub floor_height_m: f64,
}

/// Measured links; their indices are those of [`Testbed::nodes`].
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The links.
    pub links: Vec<TraceLink>,
    /// PSDU bytes (FCS included) of the frames that the links were measured with.
    pub frame_bytes: u16,
}

impl Measured {
    /// Frame length taken for a trace that does not say: the longest, so that no simulated frame
    /// is lost more often than a measured one.
    pub const DEFAULT_FRAME_BYTES: u16 = 127;

    /// The nodes of a trace, and its links between them.
    pub(crate) fn of_trace(trace: Trace, frame_bytes: u16) -> (Vec<Node>, Self) {
        let nodes = trace
            .nodes
            .iter()
            .map(|id| Node {
                id: *id,
                placement: None,
            })
            .collect();
        (
            nodes,
            Self {
                links: trace.links,
                frame_bytes,
            },
        )
    }
}

/// The kind of board that a testbed's nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Board {
    /// TelosB or Tmote Sky: CC2420.
    #[default]
    TelosB,
    /// The same with an operating system's driver, which does one thing at a time (CIT's Contiki).
    TelosBContiki,
    /// Mica2: CC1000.
    Mica2,
    /// Opal: AT86RF231, and AT86RF212 as its second radio ([`Testbed::realise_dual`]).
    Opal,
    /// nRF52840.
    Nrf52840,
}

impl Board {
    /// What errors say about a board's name.
    const NAMES_EXPECTED: &'static str = "one of telosb, telosb-contiki, mica2, opal, nrf52840";

    /// The board called `name` in testbed files.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::TelosB,
            Self::TelosBContiki,
            Self::Mica2,
            Self::Opal,
            Self::Nrf52840,
        ];
        all.into_iter().find(|board| board.name() == name)
    }
    /// Its name in testbed files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TelosB => "telosb",
            Self::TelosBContiki => "telosb-contiki",
            Self::Mica2 => "mica2",
            Self::Opal => "opal",
            Self::Nrf52840 => "nrf52840",
        }
    }
    /// Its radio chip.
    pub const fn chip(self) -> &'static Chip {
        match self {
            Self::TelosB | Self::TelosBContiki => &CC2420,
            Self::Mica2 => &CC1000,
            Self::Opal => &AT86RF231,
            Self::Nrf52840 => &NRF52840,
        }
    }
}

impl Testbed {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Whether there is none; a loaded testbed has at least two.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// The index of node `id`, if the testbed has it.
    pub fn index_of(&self, id: NodeId) -> Option<usize> {
        self.nodes.iter().position(|n| n.id == id)
    }
    /// The id of the node with this index.
    pub fn id_of(&self, index: usize) -> Option<NodeId> {
        self.nodes.get(index).map(|n| n.id)
    }
    /// The index of the sink.
    pub fn sink_index(&self) -> usize {
        self.index_of(self.sink).unwrap_or(0)
    }

    /// The site that simulations run on. `seed` draws what the testbed leaves open: the places of
    /// nodes and the links of a generated building, the links between placed nodes, the radios'
    /// spread; the same seed gives the same site.
    pub fn realise(&self, seed: u64) -> Environment {
        let chip = self.board.chip();
        match &self.physics {
            Physics::Generated { building: b, model } => {
                let placements = corridor_layout(
                    b.floors,
                    self.nodes.len(),
                    b.length_m,
                    b.width_m,
                    b.floor_height_m,
                    seed,
                );
                Environment::from_building(model, &placements, chip, seed)
            }
            Physics::Placed { model } => {
                let placements: Vec<Placement> = self
                    .nodes
                    .iter()
                    .map(|n| n.placement.unwrap_or_default())
                    .collect();
                Environment::from_building(model, &placements, chip, seed)
            }
            Physics::Measured(measured) => {
                let links = measured.links.iter().map(|l| MeasuredLink {
                    from: u32::from(l.from),
                    to: u32::from(l.to),
                    channel: l.channel,
                    prr: l.prr,
                    rssi: l.rssi_dbm.map(Dbm),
                });
                let frame = MeasuredFrame {
                    psdu_bytes: measured.frame_bytes,
                };
                let mut environment =
                    Environment::from_measured(self.nodes.len(), links, frame, chip, seed);
                for (ear, node) in environment.ears.iter_mut().zip(&self.nodes) {
                    ear.placement = node.placement;
                }
                environment
            }
        }
    }
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod hostile_tests;
