//! Streams over nodes with two radios: a path whose links take turns between the radios, a channel
//! for each link, and what such a stream can carry at best (FastForward, sections II and III).
//!
//! Nodes are indices. Invariants of a plan: neighbouring links are in different bands; links that
//! would disturb each other never share a channel; streams into one sink are node-disjoint and
//! arrive on different radios. Does not know losses of the bus. Tests: `streams_tests.rs`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_units::{BitRate, Channel, Channel900, Duration, Tuning};

/// A stream's path and what its links are sent on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPlan {
    /// Nodes from source to sink.
    pub nodes: Vec<usize>,
    /// Of the link that leaves each node but the last.
    pub links: Vec<Tuning>,
}

/// A request for a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRequest {
    /// Where data comes from.
    pub source: usize,
    /// Where it goes.
    pub sink: usize,
    /// Nodes to pass, source and sink included; sought where there are none.
    pub via: Option<Vec<usize>>,
    /// Channels of the first radio.
    pub ghz2_4: Vec<Channel>,
    /// Channels of the second.
    pub mhz900: Vec<Channel900>,
    /// Which radios carry it.
    pub radios: Radios,
    /// The channel that wakes nodes up: a path that is sought takes links that are good there too.
    pub calling: Option<Tuning>,
}

/// The radios of a node that carry a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Radios {
    /// They take turns from link to link.
    #[default]
    Alternating,
    /// The first alone, to compare FastForward with.
    First,
}

/// The radio environment, as far as the planner knows it.
pub trait Radio {
    /// How many nodes there are.
    fn nodes(&self) -> usize;
    /// Reception ratio, 0 to 1, of the longest frames from one node to another.
    fn reception(&self, from: usize, to: usize, on: Tuning) -> f64;
    /// The level in dBm at which the one receives the other; none where it is lost in the noise.
    fn level(&self, from: usize, to: usize, on: Tuning) -> Option<f64>;
    /// The highest level in dBm that may be lost in the noise.
    fn unheard(&self, on: Tuning) -> f64;
}

/// Links share a channel only where interference is weaker than the signal by this, in dB: the
/// co-channel rejection of 3 dB and a margin for fading.
const CLEAR: f64 = 12.0;
/// Margins above this count as this.
const CLEAR_ENOUGH: f64 = 30.0;

/// The least margin, in dB, of the wanted signal over the other link's senders, at any receiver of two links on the
/// same channel.
fn margin(radio: &impl Radio, one: (usize, usize), two: (usize, usize), on: Tuning) -> f64 {
    let at = |to: usize, from: usize, by: [usize; 2]| {
        let wanted = radio.level(from, to, on).unwrap_or(f64::NEG_INFINITY);
        let above = |x: usize| match radio.level(x, to, on) {
            _ if x == to => f64::NEG_INFINITY,
            level => wanted - level.unwrap_or_else(|| radio.unheard(on)),
        };
        by.map(above).into_iter().fold(CLEAR_ENOUGH, f64::min)
    };
    let ((a, b), (c, d)) = (one, two);
    let first = at(a, b, [c, d]).min(at(b, a, [c, d]));
    first.min(at(c, d, [a, b])).min(at(d, c, [a, b]))
}

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// Fewer than two channels for one of the radios.
    #[error("streams need at least two channels for each radio")]
    FewChannels,
    /// The nodes to pass do not lead from the source to the sink, or pass one twice.
    #[error("the path does not lead from the source to the sink")]
    Path,
    /// No path over links that are good both ways.
    #[error("no path of good links, radios taking turns, from node {from} to node {to}")]
    NoPath {
        /// The source.
        from: usize,
        /// The sink.
        to: usize,
    },
    /// Links in reach of each other would have to share a channel.
    #[error("no channel is left for the link from node {from} to node {to}")]
    NoChannel {
        /// Its sender.
        from: usize,
        /// Its receiver.
        to: usize,
    },
}

/// A link is used where both directions bring at least this much through.
const GOOD: f64 = 0.9;
/// A path takes no link that needs more transmissions than this.
const MOST_TRANSMISSIONS: f64 = 1.0 / (GOOD * GOOD);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Band {
    Ghz2_4,
    Mhz900,
}

impl Band {
    const fn other(self) -> Self {
        match self {
            Self::Ghz2_4 => Self::Mhz900,
            Self::Mhz900 => Self::Ghz2_4,
        }
    }
    fn of(tuning: Tuning) -> Self {
        match tuning {
            Tuning::Ghz2_4(_) => Self::Ghz2_4,
            Tuning::Mhz900(_) => Self::Mhz900,
        }
    }
}

impl StreamRequest {
    /// The band of the link before one in `band`.
    const fn after(&self, band: Band) -> Band {
        match self.radios {
            Radios::Alternating => band.other(),
            Radios::First => band,
        }
    }
    fn channels(&self, band: Band) -> Vec<Tuning> {
        match band {
            Band::Ghz2_4 => self.ghz2_4.iter().map(|c| Tuning::Ghz2_4(*c)).collect(),
            Band::Mhz900 => self.mhz900.iter().map(|c| Tuning::Mhz900(*c)).collect(),
        }
    }

    /// A plan that gets along with `others`, which run at the same time.
    pub fn plan(
        &self,
        radio: &impl Radio,
        others: &[StreamPlan],
    ) -> Result<StreamPlan, StreamError> {
        let few = self.mhz900.len() < 2 && self.radios == Radios::Alternating;
        if self.ghz2_4.len() < 2 || few {
            return Err(StreamError::FewChannels);
        }
        let taken: BTreeSet<usize> = (others.iter().flat_map(|plan| &plan.nodes).copied())
            .filter(|n| *n != self.sink)
            .collect();
        // The radios of the sink that other streams come in on.
        let busy: BTreeSet<Band> = (others.iter())
            .filter(|plan| plan.nodes.last() == Some(&self.sink))
            .filter_map(|plan| plan.links.last().map(|on| Band::of(*on)))
            .collect();
        let last: Vec<Band> = [Band::Ghz2_4, Band::Mhz900]
            .into_iter()
            .filter(|band| !busy.contains(band))
            .filter(|band| *band == Band::Ghz2_4 || self.radios == Radios::Alternating)
            .collect();
        let (nodes, last) = match &self.via {
            Some(via) => {
                let ends = via.first() == Some(&self.source) && via.last() == Some(&self.sink);
                let different: BTreeSet<&usize> = via.iter().collect();
                let known = via.iter().all(|n| *n < radio.nodes() && !taken.contains(n));
                if !ends || via.len() < 2 || different.len() != via.len() || !known {
                    return Err(StreamError::Path);
                }
                let last = last.first().ok_or(StreamError::Path)?;
                (via.clone(), *last)
            }
            None => {
                let (from, to) = (self.source, self.sink);
                let path = |last: &Band| Some((self.shortest(radio, &taken, *last)?, *last));
                let found = last.iter().find_map(path);
                found.ok_or(StreamError::NoPath { from, to })?
            }
        };
        self.assign(radio, others, nodes, last)
    }

    /// The fewest expected transmissions from source to sink on alternating radios, the last link in
    /// `last`; searched from the sink.
    fn shortest(
        &self,
        radio: &impl Radio,
        taken: &BTreeSet<usize>,
        last: Band,
    ) -> Option<Vec<usize>> {
        type At = (usize, Band);
        let mut cost: BTreeMap<At, (f64, Option<At>)> = BTreeMap::new();
        let mut open: BTreeSet<At> = BTreeSet::new();
        // A node is reached with the band of the link that leaves the node before it.
        cost.insert((self.sink, last), (0.0, None));
        open.insert((self.sink, last));
        let best_on = |from: usize, to: usize, band: Band| {
            let both =
                |on: &Tuning| radio.reception(from, to, *on) * radio.reception(to, from, *on);
            let called = self.calling.map_or(1.0, |on| both(&on));
            (self.channels(band).iter().map(both).fold(0.0, f64::max)).min(called)
        };
        let ahead = |cost: &BTreeMap<At, (f64, Option<At>)>, at: At| {
            let way = std::iter::successors(Some(at), |at| cost.get(at)?.1);
            way.map(|(node, _)| node).collect::<Vec<_>>()
        };
        while let Some(at) = (open.iter())
            .min_by(|a, b| cost[*a].0.total_cmp(&cost[*b].0).then(a.cmp(b)))
            .copied()
        {
            open.remove(&at);
            let (here, band) = at;
            if here == self.source {
                return Some(ahead(&cost, at));
            }
            let passed = ahead(&cost, at);
            for from in (0..radio.nodes()).filter(|n| !taken.contains(n) && !passed.contains(n)) {
                let quality = best_on(from, here, band);
                if quality <= 0.0 || 1.0 / quality > MOST_TRANSMISSIONS {
                    continue;
                }
                let total = cost[&at].0 + 1.0 / quality;
                let next = (from, self.after(band));
                if cost.get(&next).is_none_or(|(known, _)| total < *known) {
                    cost.insert(next, (total, Some(at)));
                    open.insert(next);
                }
            }
        }
        None
    }

    /// A channel for each link: one that no link in reach has, best of its band otherwise.
    fn assign(
        &self,
        radio: &impl Radio,
        others: &[StreamPlan],
        nodes: Vec<usize>,
        last: Band,
    ) -> Result<StreamPlan, StreamError> {
        let mut used: Vec<(usize, usize, Tuning)> = (others.iter())
            .flat_map(|plan| {
                let links = plan.nodes.windows(2).zip(&plan.links);
                links.map(|(pair, on)| (pair[0], pair[1], *on))
            })
            .collect();
        let mut links = Vec::new();
        let mut band = last;
        for pair in nodes.windows(2).rev() {
            let (from, to) = (pair[0], pair[1]);
            // The least margin over the links that have channel `by` already.
            let clear = |on: Tuning, by: Tuning| {
                (used.iter())
                    .filter(|(_, _, other)| *other == by)
                    .map(|(a, b, _)| margin(radio, (from, to), (*a, *b), on))
                    .fold(CLEAR_ENOUGH, f64::min)
            };
            let neighbours = |on: Tuning| {
                let near = |c: u8| Tuning::from_code(c).filter(|t| t.same_band(on));
                let beside = [on.code().checked_sub(1), on.code().checked_add(1)];
                let beside = beside.into_iter().flatten().filter_map(near);
                beside.filter(|by| clear(on, *by) < -CLEAR).count()
            };
            let both = |on| radio.reception(from, to, on) * radio.reception(to, from, on);
            let best = (self.channels(band).into_iter())
                // One radio has to make do with what there is.
                .filter(|on| self.radios == Radios::First || clear(*on, *on) >= CLEAR)
                // Clear, then good; good enough is as good as best: then the clearest, then quiet
                // neighbours.
                .map(|on| {
                    let good = (both(on).min(0.99) * 1e2) as u32;
                    let clear = (clear(on, on) - CLEAR) as i32;
                    ((clear.min(0), good, clear), neighbours(on), on)
                })
                .min_by_key(|(fit, near, on)| (Reverse(*fit), *near, *on));
            let (_, _, on) = best.ok_or(StreamError::NoChannel { from, to })?;
            used.push((from, to, on));
            links.push(on);
            band = self.after(band);
        }
        links.reverse();
        Ok(StreamPlan { nodes, links })
    }
}

/// A radio's times at best: what its data sheet says of changing states (section II).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transceiver {
    /// From receiving to the first symbol sent.
    pub to_transmit: Duration,
    /// From the last symbol sent to receiving.
    pub to_receive: Duration,
}

/// Most that a stream of frames of `data` bytes with acknowledgements of `ack` bytes (both with
/// everything that is on the air) can carry where nothing but the radios takes time: with one
/// transceiver a node, and with two.
pub fn bounds(data: usize, ack: usize, radio: Transceiver) -> (BitRate, BitRate) {
    let byte = thalweg_wire::phy::BYTE;
    let air = byte * data as u64 + byte * ack as u64;
    let cycle = air + radio.to_transmit + radio.to_receive;
    (
        BitRate::of_bytes(data as u64, cycle * 2),
        BitRate::of_bytes(data as u64, cycle),
    )
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
