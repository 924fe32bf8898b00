//! How many good links each node had in the last surveys: a page of a node shows it, and reading whole surveys for that would
//! take a large site's gateway a second.
//!
//! Time base: wall clock. Tests: `crates/daemon/tests/all/pages.rs`.

use thalweg_planner::LinkQualities;
use thalweg_units::Channel;

/// The share of frames that a good link carries.
pub(super) const GOOD: f64 = 0.9;
/// How many surveys, the last ones, it is kept of.
pub(super) const SURVEYS: u32 = 16;

/// A survey's good links, node by node.
#[derive(Debug, Clone)]
pub(super) struct GoodLinks {
    /// When they were measured, in seconds since 1970.
    pub(super) at: i64,
    /// The channels that were measured.
    pub(super) channels: Vec<Channel>,
    /// For each node as many as there are channels.
    counts: Vec<u16>,
}

impl GoodLinks {
    /// Those of `links`, measured at `at`.
    pub(super) fn of(links: &LinkQualities, at: i64) -> Self {
        let channels: Vec<Channel> = links.channels().iter().collect();
        let nodes = 0..links.nodes();
        let on = |node: usize, channel: Channel| {
            let heard = links.heard_from(node, channel);
            let good = heard.filter(|(other, quality)| {
                quality.prr >= GOOD && links.prr(*other, node, channel) >= GOOD
            });
            u16::try_from(good.count()).unwrap_or(u16::MAX)
        };
        let counts = nodes.flat_map(|node| channels.iter().map(move |c| (node, *c)));
        Self {
            at,
            counts: counts.map(|(node, channel)| on(node, channel)).collect(),
            channels,
        }
    }
    /// Neighbours of a node over links that are good both ways.
    pub(super) fn on(&self, node: usize, channel: Channel) -> u16 {
        let nth = self.channels.iter().position(|c| *c == channel);
        let count = nth.and_then(|nth| self.counts.get(node * self.channels.len() + nth));
        count.copied().unwrap_or(0)
    }
}
