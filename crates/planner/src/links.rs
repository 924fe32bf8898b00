//! What was measured: beacons received of beacons sent and mean RSSI, per directed pair of nodes
//! and channel (P3, section IV-D), and where the nodes are, if known.
//! Invariants: node indices are 0..nodes(), a reception ratio is 0..=1, no node has a link to itself.
//! Not modelled: when a measurement was made; every table is one campaign. Tests: `links_tests.rs`.

use serde::Serialize;
use thalweg_units::{Channel, ChannelSet, Db, Dbm};

/// Where a node is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Place {
    /// Along the building, in metres.
    pub x_m: f64,
    /// Across the building, in metres.
    pub y_m: f64,
    /// Height, in metres.
    pub z_m: f64,
    /// The floor it is on; 0 where there is but one.
    pub floor: u16,
}

/// The measurement of one directed link on one channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkQuality {
    /// Packet reception ratio, 0..=1.
    pub prr: f64,
    /// Mean received power of what was received; none where nothing was, or power was not recorded.
    pub rssi: Option<Dbm>,
    /// How many beacons the ratio stands on; none where the source of the data does not say.
    pub sent: Option<u32>,
    /// Standard deviation of its level in the coming transfer, in decibels; none where that is the same as of other links ([`crate::LinkModel::unknown`]).
    pub unknown: Option<Db>,
}

impl LinkQuality {
    /// Whether it stands on so few beacons that they were not sent in a row: a turn has five or more, a sweep one.
    pub(crate) fn is_swept(&self) -> bool {
        self.sent.is_some_and(|sent| sent < 5)
    }
}

/// A frame's way from one node to another on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Who sends.
    pub from: usize,
    /// Who receives.
    pub to: usize,
    /// On which channel.
    pub channel: Channel,
}

/// A measurement that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A node that is not in the table.
    #[error("node {node} is not one of the {nodes} nodes (0 to {last})", last = nodes.saturating_sub(1))]
    UnknownNode {
        /// The node named.
        node: usize,
        /// How many nodes the table has.
        nodes: usize,
    },
    /// From a node to itself.
    #[error("node {node} has no link to itself")]
    OwnLink {
        /// The node named.
        node: usize,
    },
    /// More beacons received than sent, or none sent.
    #[error("{received} beacons received of {sent} sent from {from} to {to} is no measurement")]
    Count {
        /// Sender.
        from: usize,
        /// Receiver.
        to: usize,
        /// Beacons received.
        received: u32,
        /// Beacons sent.
        sent: u32,
    },
    /// A ratio outside 0..=1.
    #[error("a reception ratio of {prr} from {from} to {to}: it is between 0 and 1")]
    Ratio {
        /// Sender.
        from: usize,
        /// Receiver.
        to: usize,
        /// The ratio named.
        prr: f64,
    },
    /// Not one place for each node.
    #[error("{places} places for {nodes} nodes")]
    Places {
        /// How many were given.
        places: usize,
        /// How many nodes there are.
        nodes: usize,
    },
}

/// The table of link qualities of one network. Sparse: only pairs that were heard of take room.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkQualities {
    nodes: usize,
    /// Per channel and sender, sorted by receiver; a channel without data has no rows.
    rows: Vec<Vec<Vec<(usize, LinkQuality)>>>,
    places: Option<Vec<Place>>,
    ids: Option<Vec<u16>>,
}

/// One line about a channel as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChannelSummary {
    /// Directed pairs with any reception.
    pub heard_pairs: usize,
    /// Mean reception ratio over those pairs.
    pub mean_prr: f64,
    /// Mean number of neighbours that a node hears with PRR of at least one half.
    pub mean_degree: f64,
}

impl LinkQualities {
    /// An empty table for `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            rows: vec![Vec::new(); Channel::COUNT],
            places: None,
            ids: None,
        }
    }
    /// How many nodes there are; their indices are below this.
    pub fn nodes(&self) -> usize {
        self.nodes
    }
    /// Says by which id users know every node, for pictures and graphs.
    ///
    /// # Errors
    /// [`LinkError::Places`] where there is not one id for each node.
    pub fn set_ids(&mut self, ids: Vec<u16>) -> Result<(), LinkError> {
        self.one_each(ids.len())?;
        self.ids = Some(ids);
        Ok(())
    }
    /// The id by which users know `node`; its index where none was set.
    pub fn id(&self, node: usize) -> usize {
        let id = self.ids.as_ref().and_then(|ids| ids.get(node));
        id.map_or(node, |id| usize::from(*id))
    }
    /// Says where every node is.
    ///
    /// # Errors
    /// [`LinkError::Places`] where there is not one place for each node.
    pub fn set_places(&mut self, places: Vec<Place>) -> Result<(), LinkError> {
        self.one_each(places.len())?;
        self.places = Some(places);
        Ok(())
    }
    fn one_each(&self, places: usize) -> Result<(), LinkError> {
        let nodes = self.nodes;
        let wrong = LinkError::Places { places, nodes };
        (places == nodes).then_some(()).ok_or(wrong)
    }
    /// The same without links to and from the nodes of these indices, which can then be no part of a plan.
    #[must_use]
    pub fn without(&self, nodes: &[usize]) -> Self {
        self.filtered(|from, to, _| !nodes.contains(&from) && !nodes.contains(&to))
    }
    /// The same with at least this uncertainty of every link's level.
    pub(crate) fn with_least_unknown(&self, least: Db) -> Self {
        self.mapped(|_, quality| LinkQuality {
            unknown: quality.unknown.map(|unknown| Db(unknown.0.max(least.0))),
            ..quality
        })
    }
    /// The same with each link as `of` has it.
    pub(crate) fn mapped(&self, mut of: impl FnMut(Hop, LinkQuality) -> LinkQuality) -> Self {
        let mut links = self.clone();
        for (channel, table) in Channel::all().zip(&mut links.rows) {
            for (from, row) in table.iter_mut().enumerate() {
                for (to, quality) in row {
                    let to = *to;
                    *quality = of(Hop { from, to, channel }, *quality);
                }
            }
        }
        links
    }
    /// The links from node to node on a channel for which `keeps` holds.
    pub(crate) fn filtered(&self, keeps: impl Fn(usize, usize, Channel) -> bool) -> Self {
        let mut kept = self.clone();
        for (channel, table) in Channel::all().zip(&mut kept.rows) {
            for (from, row) in table.iter_mut().enumerate() {
                row.retain(|(to, _)| keeps(from, *to, channel));
            }
        }
        kept
    }
    /// Where every node is, if known.
    pub fn places(&self) -> Option<&[Place]> {
        self.places.as_deref()
    }
    /// Notes that `to` received `received` of the `sent` beacons of `from` on `channel`, on average
    /// at `rssi`. A second record of the same link adds to the first.
    ///
    /// # Errors
    /// [`LinkError`] for nodes that are not there and for counts that cannot be.
    pub fn record(
        &mut self,
        from: usize,
        to: usize,
        channel: Channel,
        received: u32,
        sent: u32,
        rssi: Option<Dbm>,
    ) -> Result<(), LinkError> {
        if sent == 0 || received > sent {
            return Err(LinkError::Count {
                from,
                to,
                received,
                sent,
            });
        }
        let mut quality = LinkQuality {
            prr: f64::from(received) / f64::from(sent),
            rssi: rssi.filter(|_| received > 0),
            sent: Some(sent),
            unknown: None,
        };
        if let Some(old) = self.quality(from, to, channel) {
            quality = merged(old, quality, received, sent);
        }
        self.put(from, to, channel, quality)
    }
    /// Adds what another campaign of the same nodes counted. A link that it does not name was not heard in it, or was not
    /// reported: that counts for nothing.
    pub fn add(&mut self, other: &Self) {
        for (at, table) in other.rows.iter().enumerate() {
            let channel = Channel::from_index(at);
            for (from, row) in table.iter().enumerate() {
                for (to, quality) in row {
                    let sent = quality.sent.unwrap_or(1);
                    let received = (quality.prr * f64::from(sent)).round() as u32;
                    // Both tables have the same nodes.
                    let _ = self.record(from, *to, channel, received.min(sent), sent, quality.rssi);
                }
            }
        }
    }
    /// Notes a ratio that comes without counts (a trace, a link matrix); replaces what was there.
    ///
    /// # Errors
    /// [`LinkError`] for nodes that are not there and for a ratio outside 0..=1.
    pub fn record_prr(
        &mut self,
        from: usize,
        to: usize,
        channel: Channel,
        prr: f64,
        rssi: Option<Dbm>,
    ) -> Result<(), LinkError> {
        if !(0.0..=1.0).contains(&prr) {
            return Err(LinkError::Ratio { from, to, prr });
        }
        let quality = LinkQuality {
            prr,
            rssi,
            sent: None,
            unknown: None,
        };
        self.put(from, to, channel, quality)
    }
    /// Replaces the measurement of a link.
    pub(crate) fn put(
        &mut self,
        from: usize,
        to: usize,
        channel: Channel,
        quality: LinkQuality,
    ) -> Result<(), LinkError> {
        let nodes = self.nodes;
        if let Some(node) = [from, to].into_iter().find(|node| *node >= nodes) {
            return Err(LinkError::UnknownNode { node, nodes });
        }
        if from == to {
            return Err(LinkError::OwnLink { node: from });
        }
        let table = &mut self.rows[channel.index()];
        if table.is_empty() {
            table.resize(self.nodes, Vec::new());
        }
        let row = &mut table[from];
        match row.binary_search_by_key(&to, |(to, _)| *to) {
            Ok(at) => row[at].1 = quality,
            Err(at) => row.insert(at, (to, quality)),
        }
        Ok(())
    }
    /// The measurement of the link from `from` to `to` on `channel`; none where nothing was recorded.
    pub fn quality(&self, from: usize, to: usize, channel: Channel) -> Option<LinkQuality> {
        let row = self.rows[channel.index()].get(from)?;
        let at = row.binary_search_by_key(&to, |(to, _)| *to).ok()?;
        Some(row[at].1)
    }
    /// Reception ratio from `from` to `to`; 0 where nothing was recorded.
    pub fn prr(&self, from: usize, to: usize, channel: Channel) -> f64 {
        self.quality(from, to, channel).map_or(0.0, |q| q.prr)
    }
    /// Mean received power from `from` at `to`, where known.
    pub fn rssi(&self, from: usize, to: usize, channel: Channel) -> Option<Dbm> {
        self.quality(from, to, channel).and_then(|q| q.rssi)
    }
    /// Of each node whether one heard it, or it said what it heard.
    pub fn known(&self) -> Vec<bool> {
        let mut known = vec![false; self.nodes()];
        for channel in self.channels().iter() {
            for from in 0..self.nodes() {
                let heard = self.heard_from(from, channel);
                for (to, _) in heard.filter(|(_, quality)| quality.prr > 0.0) {
                    (known[from], known[to]) = (true, true);
                }
            }
        }
        known
    }
    /// The receivers that a record of `from` on `channel` names, lowest index first.
    pub fn heard_from(
        &self,
        from: usize,
        channel: Channel,
    ) -> impl Iterator<Item = (usize, LinkQuality)> + '_ {
        let row = self.rows[channel.index()].get(from);
        row.into_iter().flatten().copied()
    }
    /// The reception ratios on `channel` of all links on which anything was received.
    fn heard(&self, channel: Channel) -> impl Iterator<Item = f64> + '_ {
        let all = self.rows[channel.index()].iter().flatten();
        all.map(|(_, quality)| quality.prr).filter(|prr| *prr > 0.0)
    }
    /// The channels on which anything was received at all.
    pub fn channels(&self) -> ChannelSet {
        let is_heard = |channel: &Channel| self.heard(*channel).next().is_some();
        Channel::all().filter(is_heard).collect()
    }
    /// One line about `channel` as a whole.
    pub fn summary(&self, channel: Channel) -> ChannelSummary {
        let pairs = self.heard(channel).count();
        let good = self.heard(channel).filter(|prr| *prr >= 0.5).count();
        ChannelSummary {
            heard_pairs: pairs,
            mean_prr: self.heard(channel).fold(0.0, |sum, prr| sum + prr) / pairs.max(1) as f64,
            mean_degree: good as f64 / self.nodes.max(1) as f64,
        }
    }
}

/// Both records together, weighted by what each stands on.
fn merged(old: LinkQuality, new: LinkQuality, received: u32, sent: u32) -> LinkQuality {
    let old_sent = f64::from(old.sent.unwrap_or(0));
    let (old_received, received) = (old.prr * old_sent, f64::from(received));
    let total = old_sent + f64::from(sent);
    let rssi = match (old.rssi, new.rssi) {
        (Some(a), Some(b)) if old_received + received > 0.0 => {
            let sum = a.0 * old_received + b.0 * received;
            Some(Dbm(sum / (old_received + received)))
        }
        (a, b) => b.or(a),
    };
    LinkQuality {
        prr: (old_received + received) / total,
        rssi,
        sent: Some(old.sent.unwrap_or(0).saturating_add(sent)),
        unknown: None,
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
