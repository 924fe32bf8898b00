//! A network as it is configured: what a collector knows of it before anything is measured.

use crate::link_state::{Draw, LinkState, Place, CLEAN_CHANNELS};
use crate::security::NetworkKeys;
use std::sync::Arc;
use thalweg_engine::BoardTiming;
use thalweg_planner::{LinkQualities, Place as Position};
use thalweg_units::{Channel, ChannelSet, NodeId};
use thalweg_wire::seal::frame::Sealing;

/// A network as it is configured, before anything is measured.
#[derive(Debug, Clone)]
pub struct Description {
    /// Its name, its nodes, its channels.
    pub place: Place,
    /// Where the nodes are, if that is known.
    pub positions: Option<Vec<Position>>,
    /// The base station.
    pub sink: NodeId,
    /// Further base stations: as many transfers more go at once.
    pub beside: Vec<NodeId>,
    /// The channels of transfers, where they are configured.
    pub channels: Option<Vec<Channel>>,
    /// What the nodes' boards cost.
    pub timing: BoardTiming,
    /// Draws what a plan leaves to chance, under a seed.
    pub draw: (Draw, u64),
    /// Its keys, where it is secured.
    pub keys: Option<Arc<NetworkKeys>>,
}

impl Description {
    /// Whether the network is secured.
    pub const fn sealing(&self) -> Sealing {
        match &self.keys {
            Some(_) => Sealing::Sealed,
            None => Sealing::Open,
        }
    }
    /// The channels that a survey measures.
    pub fn measured_channels(&self) -> ChannelSet {
        match &self.channels {
            Some(list) => list.iter().copied().collect(),
            None => self.place.channels,
        }
    }
    /// The base station's index.
    pub fn sink_index(&self) -> usize {
        let index = self.place.ids.iter().position(|id| *id == self.sink);
        index.unwrap_or(0)
    }
    /// Whether `node` is one of the base stations.
    pub fn is_station(&self, node: NodeId) -> bool {
        node == self.sink || self.beside.contains(&node)
    }
    /// All base stations, [`Self::sink`] first.
    pub fn stations(&self) -> Vec<NodeId> {
        let stations = [&self.sink].into_iter().chain(&self.beside);
        stations.copied().collect()
    }
    /// The indices of all base stations, that of [`Self::sink`] first.
    pub fn station_indices(&self) -> impl Iterator<Item = usize> + '_ {
        let stations = [&self.sink].into_iter().chain(&self.beside);
        let index = |station: &NodeId| self.place.ids.iter().position(|id| id == station);
        stations.filter_map(index)
    }
    /// The name of the node with this index.
    pub(super) fn id(&self, index: usize) -> NodeId {
        let id = self.place.ids.get(index);
        id.copied().unwrap_or(NodeId::MAX)
    }
    /// The network with these `links`, which have no date.
    pub fn link_state(&self, links: LinkQualities) -> LinkState {
        let (place, channels) = (self.place.clone(), self.channels.clone());
        LinkState::new(place, links, self.sink_index(), channels, self.draw).sealed(self.sealing())
    }
}

/// P3's channels, where all of them are `of` those that a network has (P3, section IV-D2).
pub fn clean_channels(of: ChannelSet) -> Option<Vec<Channel>> {
    let clean = CLEAN_CHANNELS.iter().filter_map(|c| Channel::new(*c).ok());
    let clean: Vec<Channel> = clean.collect();
    clean.iter().all(|c| of.contains(*c)).then_some(clean)
}
