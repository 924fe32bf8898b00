//! What single links are worth on every channel: links of a tree built on one channel, tried on all
//! sixteen, packet by packet (P3, Table I).
//!
//! Owns the keys of `kind = "link-channels"` and its rows. One sender, one receiver, alone on the
//! air. Tests: `tests.rs`.

use super::context::{rows_in_order, RunContext};
use super::keys::keys;
use super::kind::{with_seed, Kind};
use super::sites::faithful_survey;
use super::{ExperimentError, Result};
use crate::results::{columns, Column, Row, SEED};
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use thalweg_medium::random::{derive, stream, Stream};
use thalweg_planner::{LinkModel, LinkQualities, LinkRule, RouteRequest, Topology};
use thalweg_sim::boards;
use thalweg_simnet::probe::{Order, Probes, Train};
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Duration};

keys! {
    "link-channels",
    /// Packets over single links of a tree, on every channel.
    pub struct LinkChannels {
        /// Testbed, by name or file.
        pub testbed: String;
        /// The channel on which the tree is built.
        pub tree_channel: u8, 11..=26;
        /// Links drawn per seed among the tree's links between floors.
        pub links: u32, 1..=10_000;
        /// Packets per link and channel.
        pub packets: u32, 1..=1_000_000;
        /// From one packet to the next, in milliseconds.
        pub interval_ms: u64, 6..=60_000;
    }
}

impl Kind for LinkChannels {
    fn columns() -> Vec<Column> {
        with_seed(&[columns! {
            link: Whole, "Number of the link, from 1 on.";
            from: Whole, "Node that sends.";
            to: Whole, "Node that receives.";
            channel: Whole, "Channel.";
            tree: Text, "`own` on the channel on which the tree was built, else `other`.";
            packets: Whole, "Packets sent.";
            prr: Number, "Share of them that was received.";
            below_tenth: YesNo, "Whether less than a tenth was.";
        }])
    }

    fn parts(&self) -> u64 {
        u64::from(self.links)
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let site = context.site(&self.testbed, seed)?;
        let (links, surveying) = self.links(&site, context)?;
        // The tree stands while its links are tried.
        let site = site.aged(surveying)?;
        let numbered: Vec<(usize, (usize, usize))> = links.into_iter().enumerate().collect();
        let rows = rows_in_order(&numbered, |link| {
            context.part(|| self.link_rows(&site, *link))
        })?;
        context.tick(self.parts().saturating_sub(numbered.len() as u64));
        Ok(rows)
    }

    fn routes_key(&self) -> Option<&'static str> {
        Some("links")
    }
}

impl LinkChannels {
    /// Links of high quality between floors of the tree, drawn at random, and how long it took to know them.
    fn links(
        &self,
        site: &Site,
        context: &RunContext<'_>,
    ) -> Result<(Vec<(usize, usize)>, Duration)> {
        let channel = Channel::new(self.tree_channel).unwrap_or(Channel::LAST);
        let surveyed = context.survey(&self.testbed, site, faithful_survey(channel))?;
        let mut rng = stream(site.seed, "tree", &[]);
        let root = site.testbed.sink_index();
        let tree = collection_tree(&surveyed.links, channel, root, &mut rng);
        let places = surveyed.links.places();
        let floor_of = |n: usize| places.and_then(|p| p.get(n)).map(|p| p.floor);
        // "We particularly choose high-quality inter-floor links": what a planner takes for sure.
        let model = LinkModel::learned(&surveyed.links, site.board.chip.noise_floor);
        let sure = RouteRequest::new(root, root).trusting(model).rule;
        let wanted = |(a, b): &(usize, usize)| {
            floor_of(*a) != floor_of(*b) && sure.admits(&surveyed.links, *a, *b, channel)
        };
        let mut links: Vec<(usize, usize)> = tree.into_iter().filter(wanted).collect();
        let mut rng = stream(site.seed, "links", &[]);
        links.shuffle(&mut rng);
        links.truncate(self.links as usize);
        if links.is_empty() {
            let why = "the tree has no good link between floors".to_owned();
            return Err(ExperimentError::unfit(site, why));
        }
        Ok((links, surveyed.measuring + surveyed.collecting))
    }

    fn link_rows(
        &self,
        site: &Site,
        (number, (from, to)): (usize, (usize, usize)),
    ) -> Result<Vec<Row>> {
        let seed = derive(site.seed, "link", &[from as u64, to as u64]);
        let mut net = probes(site, seed)?;
        let id = |n: usize| site.testbed.id_of(n).map_or(0, |id| u32::from(id.get()));
        let on_channel = |channel: Channel| {
            net.command(to, Order::Receive(channel));
            let train = Train {
                channel,
                count: self.packets,
                interval: Duration::from_millis(self.interval_ms),
            };
            let mut received = 0u32;
            net.send(from, train, &mut |node, _, _| {
                received += u32::from(node == to);
            })?;
            let own = channel.number() == self.tree_channel;
            let prr = f64::from(received) / f64::from(self.packets);
            Ok(Row::new()
                .with(SEED, site.seed)
                .with("link", number + 1)
                .with("from", id(from))
                .with("to", id(to))
                .with("channel", u32::from(channel.number()))
                .with("tree", if own { "own" } else { "other" })
                .with("packets", self.packets)
                .with("prr", prr)
                // What the last row of Table I counts.
                .with("below_tenth", u32::from(prr < 0.1)))
        };
        Channel::all().map(on_channel).collect()
    }
}

/// A network of probes at `site`.
pub(super) fn probes(site: &Site, seed: u64) -> Result<Probes> {
    let board = boards::telosb();
    if site.board.chip != board.chip {
        let why = format!("board {}: expected telosb", site.testbed.board_name);
        return Err(ExperimentError::unfit(site, why));
    }
    Ok(Probes::new(site, &board, seed)?)
}

/// A collection tree (CTP) as (child, parent): least expected transmissions, by what the beacons of
/// `links` tell and nothing else. Such a protocol keeps a parent until another is clearly better,
/// so among equals the one that was heard first stays: any of them, drawn by `rng`.
fn collection_tree(
    links: &LinkQualities,
    channel: Channel,
    root: usize,
    rng: &mut Stream,
) -> Vec<(usize, usize)> {
    // Worse links exist; a path of better ones is always cheaper here.
    let heard = LinkRule {
        min_prr: 0.1,
        ..LinkRule::default()
    }
    .with_margin(None);
    let topology = Topology::new(links, channel, &heard);
    let nodes = topology.nodes();
    let etx = |a: usize, b: usize| 1.0 / (links.prr(a, b, channel) * links.prr(b, a, channel));
    let mut cost = vec![f64::INFINITY; nodes];
    let mut settled = vec![false; nodes];
    if let Some(c) = cost.get_mut(root) {
        *c = 0.0;
    }
    loop {
        let nearest = (0..nodes)
            .filter(|n| !settled[*n] && cost[*n].is_finite())
            .min_by(|a, b| cost[*a].total_cmp(&cost[*b]).then(a.cmp(b)));
        let Some(node) = nearest else { break };
        settled[node] = true;
        for &child in topology.neighbours(node) {
            cost[child] = cost[child].min(cost[node] + etx(node, child));
        }
    }
    // Sums of the same ratios in another order differ in the last bit.
    let equal = |a: f64, b: f64| (a - b).abs() < 1e-9;
    (0..nodes)
        .filter(|child| *child != root && cost[*child].is_finite())
        .filter_map(|child| {
            let best = |p: &&usize| equal(cost[**p] + etx(**p, child), cost[child]);
            let parents: Vec<&usize> = topology.neighbours(child).iter().filter(best).collect();
            Some((child, **parents.choose(rng)?))
        })
        .collect()
}

#[cfg(test)]
#[path = "link_channels_tests.rs"]
mod tests;
