//! What the daemon is given: a network that it can open, and what is known of it beforehand.

use thalweg_engine::BoardTiming;
use thalweg_planner::Place as Spot;
use thalweg_protocols::mote;
use thalweg_units::{Channel, NodeId};

use crate::carry::pipeline::Order;
use crate::field::{Field, FieldError};
use crate::known::{Draw, Place};

/// What is known of a network before anything is measured.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Its name, its nodes, its channels.
    pub place: Place,
    /// Where the nodes are, if anybody knows.
    pub spots: Option<Vec<Spot>>,
    /// The base station.
    pub sink: NodeId,
    /// The channels of transfers, where somebody chose them.
    pub channels: Option<Vec<Channel>>,
    /// What the nodes' boards cost.
    pub timing: BoardTiming,
    /// Draws what a plan leaves to chance, under a seed.
    pub draw: (Draw, u64),
    /// An object that nobody has seen yet is taken to be as long.
    pub usual_bytes: u64,
    /// What it is, in a line for people.
    pub about: String,
}

impl Facts {
    /// The nodes that may have objects: all but the base station.
    pub fn sources(&self) -> impl Iterator<Item = NodeId> + '_ {
        let ids = self.place.ids.iter().copied();
        ids.filter(|id| *id != self.sink)
    }
    /// The base station's index.
    pub fn sink_index(&self) -> usize {
        let known = self.place.ids.iter().position(|id| *id == self.sink);
        known.unwrap_or(0)
    }
}

/// A network with a base station.
pub trait Network: Send + 'static {
    /// The way to it.
    type Field: Field<Order = Order, Event = mote::Event>;

    /// What is known of it.
    fn facts(&self) -> Facts;
    /// Opens the way to its base station; called again after the way was lost.
    ///
    /// # Errors
    /// [`FieldError`]; it is tried again.
    fn open(&mut self) -> Result<Self::Field, FieldError>;
}
