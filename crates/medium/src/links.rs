//! Which ears hear which senders: sparse, per channel, one row per sender.
//!
//! A row holds every ear at which the sender's strongest setting is above a hundredth of the
//! noise floor: those that can receive it and those that it merely disturbs. Rows are sorted by
//! ear. 16 bytes per link and channel, 256 per pair and direction. Gains are relative to 0 dBm
//! nominal transmit power and hold the sender's own offset. Tests: `links_tests.rs`.

use crate::EarId;
use thalweg_units::{Channel, Dbm};

/// Signals weaker than the noise floor by more than this are not heard and disturb no reception:
/// a hundredth of the floor, 0.04 dB on the SINR.
pub const INAUDIBLE_FACTOR: f64 = 0.01;

/// One sender at one ear on one channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// The ear.
    pub to: EarId,
    /// Received power at 0 dBm nominal transmit power, in milliwatts: the mean over variation (of
    /// its level in dBm).
    pub gain_mw: f32,
    /// Propagation delay in nanoseconds.
    pub delay_ns: f32,
    /// Hazard per symbol that does not depend on power: what a measured link loses although its
    /// signal is strong. Zero on modelled links.
    pub erasure: f32,
}

/// The links of one channel.
#[derive(Debug, Clone, Default)]
struct Rows {
    /// Row `i` is `links[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    links: Vec<Link>,
}

/// All links of an environment.
#[derive(Debug, Clone)]
pub struct Links {
    channels: Vec<Rows>,
}

impl Links {
    /// The ears that sender `from` reaches or disturbs on `channel`, by rising number.
    #[inline]
    pub fn heard_by(&self, from: EarId, channel: Channel) -> &[Link] {
        let from = from.0 as usize;
        self.channels
            .get(channel.index())
            .and_then(|rows| match rows.starts.get(from..from + 2) {
                Some(&[start, end]) => rows.links.get(start as usize..end as usize),
                _ => None,
            })
            .unwrap_or(&[])
    }

    /// The link between two ears, where there is one.
    pub fn between(&self, from: EarId, to: EarId, channel: Channel) -> Option<&Link> {
        let row = self.heard_by(from, channel);
        row.get(self.place(from, to, channel)?)
    }
    /// Where the link between two ears is among those of `from`.
    pub(crate) fn place(&self, from: EarId, to: EarId, channel: Channel) -> Option<usize> {
        let row = self.heard_by(from, channel);
        row.binary_search_by_key(&to, |link| link.to).ok()
    }

    /// Mean received power at 0 dBm nominal transmit power; `None` where it cannot be heard.
    pub fn mean_rssi(&self, from: EarId, to: EarId, channel: Channel) -> Option<Dbm> {
        self.between(from, to, channel)
            .map(|link| thalweg_units::MilliWatts(f64::from(link.gain_mw)).dbm())
    }

    /// These links between `own` ears, and those of `others` more ears, numbered after them.
    pub(crate) fn beside(mut self, own: usize, other: Self, others: usize) -> Self {
        for (rows, more) in self.channels.iter_mut().zip(other.channels) {
            let before = rows.links.len() as u32;
            rows.starts.resize(own + 1, before);
            let shifted = |link: Link| Link {
                to: EarId(link.to.0 + own as u32),
                ..link
            };
            rows.links.extend(more.links.into_iter().map(shifted));
            let ends = (1..=others).map(|n| before + more.starts.get(n).copied().unwrap_or(0));
            rows.starts.extend(ends);
        }
        self
    }

    /// Adds `hazard` per symbol to what `to` hears of `from`, on every channel.
    pub(crate) fn erase(&mut self, from: EarId, to: EarId, hazard: f32) {
        let from = from.0 as usize;
        for rows in &mut self.channels {
            let Some(&[start, end]) = rows.starts.get(from..from + 2) else {
                continue;
            };
            let row = rows.links.get_mut(start as usize..end as usize);
            for link in row.into_iter().flatten().filter(|link| link.to == to) {
                link.erasure += hazard;
            }
        }
    }

    /// How many links there are, all channels together.
    pub fn len(&self) -> usize {
        self.channels.iter().map(|rows| rows.links.len()).sum()
    }

    /// Whether there is no link at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Collects links in any order.
#[derive(Debug, Clone)]
pub struct LinksBuilder {
    ears: usize,
    channels: Vec<Vec<(EarId, Link)>>,
}

impl LinksBuilder {
    /// For a network of `ears` ears.
    pub fn new(ears: usize) -> Self {
        Self {
            ears,
            channels: vec![Vec::new(); Channel::COUNT],
        }
    }

    /// Adds a link. Links to itself and of ears that do not exist are left out; of two links
    /// between the same ears the later one holds.
    pub fn add(&mut self, from: EarId, channel: Channel, link: Link) {
        let exists = |ear: EarId| (ear.0 as usize) < self.ears;
        if from == link.to || !exists(from) || !exists(link.to) {
            return;
        }
        if let Some(links) = self.channels.get_mut(channel.index()) {
            links.push((from, link));
        }
    }

    /// The finished links.
    pub fn build(self) -> Links {
        let ears = self.ears;
        let channels = self
            .channels
            .into_iter()
            .map(|mut links| {
                // Stable, so that of two equal ones the later is still the later.
                links.sort_by_key(|(from, link)| (*from, link.to));
                links.reverse();
                links.dedup_by_key(|(from, link)| (*from, link.to));
                links.reverse();
                let mut starts = vec![0u32; ears + 1];
                for (from, _) in &links {
                    if let Some(count) = starts.get_mut(from.0 as usize + 1) {
                        *count += 1;
                    }
                }
                let mut total = 0;
                for start in &mut starts {
                    total += *start;
                    *start = total;
                }
                Rows {
                    starts,
                    links: links.into_iter().map(|(_, link)| link).collect(),
                }
            })
            .collect();
        Links { channels }
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
