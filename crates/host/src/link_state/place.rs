//! The network as its plans see it: nodes by index, their names and levels.

use super::PlanRequestError;
use std::collections::BTreeMap;
use thalweg_engine::BoardTiming;
use thalweg_planner::{Currents, RelayOrder};
use thalweg_units::{Channel, ChannelSet, Dbm, Named, NodeId};

/// The nodes of a network, and what its radios offer.
#[derive(Debug, Clone)]
pub struct Place {
    /// The network's name.
    pub name: String,
    /// Its nodes, by index.
    pub ids: Vec<NodeId>,
    /// What they are called beside their numbers, where they have names.
    pub labels: BTreeMap<NodeId, String>,
    /// The channels that it offers.
    pub channels: ChannelSet,
    /// Which relay a search of paths tries first: by places, where they are known.
    pub order: RelayOrder,
    /// The noise floor of its radios.
    pub floor: Dbm,
    /// The channel of floods and calls.
    pub control: Channel,
    /// The costs of its boards; those of P3's code where they are not known.
    pub timing: Option<BoardTiming>,
    /// What its boards draw.
    pub currents: Currents,
}

impl Place {
    /// The index of `node`.
    ///
    /// # Errors
    /// [`PlanRequestError::UnknownNode`].
    pub fn index_of(&self, node: NodeId) -> Result<usize, PlanRequestError> {
        let view = self.ids.iter().position(|id| *id == node);
        view.ok_or_else(|| PlanRequestError::UnknownNode {
            network: self.name.clone(),
            node,
            first: self.ids.iter().min().copied().unwrap_or(node),
            last: self.ids.iter().max().copied().unwrap_or(node),
        })
    }
    /// Whether all of `channels` are there.
    ///
    /// # Errors
    /// [`PlanRequestError::Channel`].
    pub fn check_channels(&self, channels: Option<&[Channel]>) -> Result<(), PlanRequestError> {
        let wanted: ChannelSet = channels.unwrap_or_default().iter().copied().collect();
        match wanted.iter().find(|c| !self.channels.contains(*c)) {
            None => Ok(()),
            Some(channel) => Err(PlanRequestError::Channel {
                network: self.name.clone(),
                channel,
                available: (self.channels.iter().map(|c| c.to_string()))
                    .collect::<Vec<_>>()
                    .join(" "),
            }),
        }
    }
    /// A node's name, for texts and pictures.
    pub fn name_of(&self, index: usize) -> String {
        let id = self.ids.get(index);
        id.map_or_else(|| index.to_string(), |id| self.named(*id))
    }
    /// Node `id` for people.
    pub fn named(&self, id: NodeId) -> String {
        let label = self.labels.get(&id).map(String::as_str);
        Named { id, label }.to_string()
    }
}
