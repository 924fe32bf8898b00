//! Testbeds: what a network is (nodes, board, channels, sink) and whence its physics come, before a
//! seed makes it a [`crate::Site`]. A node's index is its place in [`Testbed::nodes`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::assumed::Assumed;
use crate::battery::Batteries;
use crate::building::Building;
use crate::central;
use crate::control;
use crate::error::{NameError, Problem};
use crate::names::are_alike;
use crate::trace::{Trace, TraceLink, Visits};
use serde::Deserialize;
use thalweg_medium::random::derive;
use thalweg_medium::{BuildingModel, MeasuredFrame, Placement, Variation};
use thalweg_sim::{boards, Board, BoardError};
use thalweg_units::{Channel, ChannelSet, Db, Dbm, Duration, Named, NodeId};
use thalweg_wire::seal::frame::Sealing;

/// The board of nodes whose file names none.
pub(crate) const DEFAULT_BOARD: &str = "telosb";

/// A network, before a seed makes it a [`crate::Site`].
#[derive(Debug, Clone)]
pub struct Testbed {
    /// Its name.
    pub name: String,
    /// What it is, in a line; may be empty.
    pub description: String,
    /// What its file calls the board of all its nodes.
    pub board_name: String,
    /// That board.
    pub board: Board,
    /// Its nodes, by index.
    pub nodes: Vec<Node>,
    /// What nodes are called beside their numbers, where the file says so.
    pub labels: BTreeMap<NodeId, String>,
    /// The channels that may be used: those listed in its file, or measured, or all.
    pub channels: ChannelSet,
    /// The control channel, on which floods go and idle nodes listen: its file's, or 26, or on measured links that on
    /// which floods reach most nodes.
    pub control: Channel,
    /// Whether its nodes have keys, and act on nothing that is not sealed.
    pub sealing: Sealing,
    /// Where the keys of its real nodes are, if its file says so. Simulated ones need none.
    pub keys: Option<PathBuf>,
    /// The node that data goes to by default; one of `nodes`.
    pub sink: NodeId,
    /// Why it is that node.
    pub sink_by: SinkBy,
    /// Whether planners know where its nodes are.
    pub places: Places,
    /// The batteries of its nodes; mains where there are none.
    pub batteries: Option<Batteries>,
    /// Whence its links come.
    pub physics: Physics,
    /// What its file leaves open, and what was made of it.
    pub assumed: Vec<Assumed>,
}

/// Whether the planner knows where the nodes of a testbed are. Pictures and draws of experiments always do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Places {
    /// Nobody has measured them.
    #[default]
    Unknown,
    /// Its file says so.
    Known,
}

/// Why a node is its testbed's sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinkBy {
    /// The testbed's file says so.
    File,
    /// It is the first node of a testbed whose file names none.
    First,
    /// The file of measured links names none, and most nodes reach this one, with the fewest expected transmissions.
    Central,
}

/// A node as its testbed knows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// Its number, as users name it.
    pub id: NodeId,
    /// Where it is, where that is known without a seed.
    pub placement: Option<Placement>,
}

impl Node {
    pub(crate) const fn unplaced(id: NodeId) -> Self {
        let placement = None;
        Self { id, placement }
    }
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

/// Measured links; their indices are those of [`Testbed::nodes`].
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The links: means over all visits.
    pub links: Vec<TraceLink>,
    /// The same visit by visit, in time; none where links were measured once.
    pub visits: Visits,
    /// PSDU bytes (FCS included) of the frames that the links were measured with.
    pub frame_bytes: u16,
}

impl Measured {
    /// Frame length taken for a trace that does not say: the longest, so that no simulated frame
    /// is lost more often than a measured one.
    pub const DEFAULT_FRAME_BYTES: u16 = 127;

    /// Gives every link without an RSSI a level estimated from its reception ratio, and returns how many those are.
    ///
    /// A ratio below [`Self::SURE_PRR`] is that of a link at the edge of sensitivity: the level is the one at which
    /// `board`'s radio receives so many frames. Better links may have any level above; they get the fade margin of
    /// [`Self::USUAL_MARGIN`], and what they lose all the same is taken for interference.
    fn estimate_levels(&mut self, board: &Board) -> usize {
        let psdu_bytes = self.frame_bytes;
        let levels = MeasuredFrame { psdu_bytes }.levels(board.chip);
        let sure = Dbm(levels.needed(0.5).0 + Self::USUAL_MARGIN.0);
        let estimate = |links: &mut Vec<TraceLink>| {
            let mut unknown = 0;
            for link in links.iter_mut().filter(|l| l.rssi_dbm.is_none()) {
                let level = match link.prr {
                    prr if prr < Self::SURE_PRR => levels.needed(prr),
                    _ => sure,
                };
                link.rssi_dbm = Some(level.0);
                unknown += 1;
            }
            unknown
        };
        for visit in &mut self.visits.links {
            estimate(visit);
        }
        estimate(&mut self.links)
    }

    /// The links so long after a survey, as `seed` plays the visits: the survey is at one of them, and whatever comes
    /// later at a later one.
    pub(crate) fn at(&self, seed: u64, age: Duration) -> &[TraceLink] {
        let visits = &self.visits.links;
        let Some(last) = visits.len().checked_sub(1).filter(|last| *last > 0) else {
            return &self.links;
        };
        let drawn = (derive(seed, "visit", &[]) % last as u64) as usize;
        let first = self.visits.survey.unwrap_or(drawn);
        let since = (age.as_nanos() / self.visits.period.as_nanos().max(1)) as usize;
        let later = usize::from(age > Duration::ZERO).max(since);
        let visit = visits.get(first.saturating_add(later).min(last));
        visit.map_or(&self.links, Vec::as_slice)
    }
    /// How links go on to vary: as in a building with people, but without the changes that were measured.
    pub(crate) fn variation(&self) -> Variation {
        match self.visits.links.len() > 1 {
            true => Variation::STILL,
            false => Variation::BUILDING,
        }
    }

    /// Reception ratio from which a link is taken to be well above sensitivity: what P3 calls a link of high quality
    /// ("ETX 1", section V), as the planner's link rule has it.
    const SURE_PRR: f64 = 0.9;
    /// What such a link has above the level at which half of the frames arrive: in the trace of 50 nodes in Grenoble
    /// (6TiSCH simulator), links without any loss have a median of -72 dBm, and those of .5 have -87 dBm.
    const USUAL_MARGIN: Db = Db(15.0);

    /// The nodes of a trace, and its links between them.
    pub(crate) fn of_trace(trace: Trace, frame_bytes: u16) -> (Vec<Node>, Self) {
        let nodes = trace.nodes.into_iter().map(Node::unplaced).collect();
        let measured = Self {
            links: trace.links,
            visits: trace.visits,
            frame_bytes,
        };
        (nodes, measured)
    }
}

impl Testbed {
    /// The same with what a file of measured links leaves open: its levels, and its sink where none is named.
    pub(crate) fn settled(mut self) -> Self {
        let Physics::Measured(measured) = &mut self.physics else {
            return self;
        };
        let all = measured.links.len();
        let unknown = measured.estimate_levels(&self.board);
        if self.sink_by == SinkBy::Central {
            let central = central::node(self.nodes.len(), self.channels, &measured.links);
            let central = self.nodes.get(central).map(|n| n.id);
            self.sink = central.unwrap_or(self.sink);
        }
        if unknown > 0 {
            self.assumed.push(Assumed::Levels(unknown, all));
        }
        self
    }

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
    /// What node `id` is called beside its number, if anything.
    pub fn label(&self, id: NodeId) -> Option<&str> {
        self.labels.get(&id).map(String::as_str)
    }
    /// The node that is called `name`; an EUI-64 in any spelling.
    ///
    /// # Errors
    /// Where none or more than one is.
    pub fn called(&self, name: &str) -> Result<NodeId, NameError> {
        let nodes = self.nodes.iter().map(|node| node.id);
        let is_called = |id: &NodeId| self.label(*id).is_some_and(|l| are_alike(l, name));
        let nodes: Vec<NodeId> = nodes.filter(is_called).collect();
        let testbed = || self.name.clone();
        match nodes[..] {
            [id] => Ok(id),
            [] => Err(NameError::NoNode(testbed())),
            [..] => {
                let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
                Err(NameError::Several(testbed(), nodes.join(", ")))
            }
        }
    }
    /// Node `id` for people: `12`, or `12 (pier-north)`.
    pub fn named(&self, id: NodeId) -> String {
        let label = self.label(id);
        Named { id, label }.to_string()
    }
    /// `nodes` for people.
    pub fn listed(&self, nodes: &[NodeId]) -> String {
        let named: Vec<String> = nodes.iter().map(|id| self.named(*id)).collect();
        named.join(", ")
    }
    /// The id of the node with this index.
    pub fn id_of(&self, index: usize) -> Option<NodeId> {
        self.nodes.get(index).map(|n| n.id)
    }
    /// The same with surveys so long after the first visit of its trace.
    ///
    /// # Errors
    /// In one line, where its links were measured once, or the trace is shorter.
    pub fn surveyed_at(mut self, at: Duration) -> Result<Self, String> {
        let (name, visits) = (self.name.clone(), self.visits());
        match &mut self.physics {
            Physics::Measured(measured) if visits > 1 => {
                let period = measured.visits.period.as_nanos().max(1);
                let visit = usize::try_from(at.as_nanos() / period).unwrap_or(usize::MAX);
                if visit + 1 >= visits {
                    let hours = measured.visits.period.as_secs_f64() / 3600.0;
                    return Err(format!(
                        "{name}: {visits} visits, {hours:.1} h apart; a survey comes before the last"
                    ));
                }
                measured.visits.survey = Some(visit);
                Ok(self)
            }
            _ => Err(format!(
                "{name}: its links were not measured more than once; there is nothing to play"
            )),
        }
    }
    /// How often its links were measured: more than once, or once.
    pub fn visits(&self) -> usize {
        match &self.physics {
            Physics::Measured(measured) => measured.visits.links.len().max(1),
            _ => 1,
        }
    }
    /// The index of the sink.
    pub fn sink_index(&self) -> usize {
        self.index_of(self.sink).unwrap_or(0)
    }

    /// The same with floods on channel `control`.
    ///
    /// # Errors
    /// In one line, where links were measured and none on that channel.
    pub fn flooding_on(mut self, control: Channel) -> Result<Self, String> {
        let is_measured = matches!(self.physics, Physics::Measured(_));
        if is_measured && !self.channels.contains(control) {
            let name = &self.name;
            let why = Problem::unlisted(control, self.channels);
            return Err(format!("{name}: {why}"));
        }
        self.control = control;
        Ok(self)
    }
    /// The control channel where no file names one: 26, or on measured links as `control.rs` chooses.
    pub(crate) fn control_of(nodes: usize, channels: ChannelSet, physics: &Physics) -> Channel {
        match physics {
            Physics::Measured(measured) => control::channel(nodes, channels, &measured.links),
            _ => Channel::LAST,
        }
    }

    /// The same with the built-in board `name` at every node.
    pub fn with_board(mut self, name: &str) -> Result<Self, BoardError> {
        self.board = boards::load(name)?;
        name.clone_into(&mut self.board_name);
        Ok(self)
    }

    /// Where its nodes are, as `seed` draws what the testbed leaves open; none for nodes whose places
    /// nobody knows.
    pub(crate) fn places(&self, seed: u64) -> Vec<Option<Placement>> {
        let Physics::Generated { building, .. } = &self.physics else {
            return self.nodes.iter().map(|n| n.placement).collect();
        };
        let places = building.places(self.nodes.len(), seed);
        places.into_iter().map(Some).collect()
    }
    /// How radio propagates between its nodes; none where links were measured.
    pub(crate) fn model(&self) -> Option<&BuildingModel> {
        match &self.physics {
            Physics::Generated { model, .. } | Physics::Placed { model } => Some(model),
            Physics::Measured(_) => None,
        }
    }
}
