//! Measured links as every link file gives them: sender, receiver and channel, how often and
//! how loud. Indices are places in the sorted list of node ids.

use std::collections::BTreeMap;

use thalweg_units::{Channel, ChannelSet, Duration, NodeId};

use crate::assumed::Assumed;
use crate::error::{Location, Problem, TestbedError};

/// One measured link on one channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceLink {
    /// Index of the sender.
    pub from: u16,
    /// Index of the receiver.
    pub to: u16,
    /// Channel.
    pub channel: Channel,
    /// Packet reception ratio, 0..=1.
    pub prr: f64,
    /// Mean RSSI of the frames received, dBm, where measured. Biased upward near the threshold of
    /// reception, because what is not received is not measured.
    pub rssi_dbm: Option<f64>,
}

/// Links that were measured more than once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visits {
    /// The links as each visit found them, sorted as those of [`Trace`].
    pub links: Vec<Vec<TraceLink>>,
    /// From one visit to the next.
    pub period: Duration,
    /// The visit at which surveys are; none for one that the seed draws.
    pub survey: Option<usize>,
}

/// The contents of a link file.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The nodes' ids, ascending; a link's indices point here.
    pub nodes: Vec<NodeId>,
    /// What nodes are called beside their numbers.
    pub labels: BTreeMap<NodeId, String>,
    /// The channels measured.
    pub channels: ChannelSet,
    /// The links, sorted by (from, to, channel), each once, reception ratio above zero.
    pub links: Vec<TraceLink>,
    /// The same visit by visit, where there were several.
    pub visits: Visits,
    /// What the file calls itself (a K7 trace's `location`).
    pub name: Option<String>,
    /// What the file leaves open, and what was made of it.
    pub assumed: Vec<Assumed>,
}

impl Trace {
    /// Sorts nodes and links, drops links that never carried a frame, and refuses a trace without any.
    pub(crate) fn settle(&mut self, source_name: &str) -> Result<(), TestbedError> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_unstable_by_key(|i| self.nodes.get(*i).copied());
        let mut place = vec![0u16; order.len()];
        for (new, old) in order.iter().enumerate() {
            if let Some(slot) = place.get_mut(*old) {
                *slot = new as u16;
            }
        }
        self.nodes.sort_unstable();
        let moved = |index: u16| place.get(usize::from(index)).copied().unwrap_or(index);
        let visits = self.visits.links.iter_mut();
        for links in visits.chain([&mut self.links]) {
            for link in links.iter_mut() {
                (link.from, link.to) = (moved(link.from), moved(link.to));
            }
            links.retain(|l| l.prr > 0.0);
            links.sort_unstable_by_key(|l| (l.from, l.to, l.channel));
        }
        if self.links.is_empty() {
            return Err(Problem::TooFew("links", 1).at(source_name, Location::Whole));
        }
        // Sorted, as links are.
        let mut pairs: Vec<(u16, u16)> = self.links.iter().map(|l| (l.from, l.to)).collect();
        pairs.dedup();
        let goes_back = |(from, to): &(u16, u16)| pairs.binary_search(&(*to, *from)).is_ok();
        if !pairs.iter().any(goes_back) {
            self.assumed.push(Assumed::OneWay);
        }
        Ok(())
    }
}
