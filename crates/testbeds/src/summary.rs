//! A site in numbers: links, degrees, hops, connectivity, asymmetry, per channel, from the
//! expected reception ratio of a link alone on the air (no interference). For people and maps: no
//! protocol may read it. Tests: below.

use serde::Serialize;
use thalweg_medium::{EarId, Environment};
use thalweg_units::{Channel, Dbm};

use crate::reach::{hops, Reach};
use crate::Site;

/// What counts as a link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SummaryOptions {
    /// Length of the frame, PSDU bytes.
    pub psdu_bytes: usize,
    /// Transmit power, dBm.
    pub power_dbm: f64,
    /// Reception ratio from which two nodes are neighbours.
    pub neighbour_prr: f64,
    /// Reception ratio from which a link is good; hops are counted over links that are good in both directions.
    pub good_prr: f64,
    /// Difference between the two directions' ratios from which a pair is asymmetric.
    pub asymmetry: f64,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        Self {
            psdu_bytes: 127,
            power_dbm: 0.0,
            neighbour_prr: 0.5,
            good_prr: 0.9,
            asymmetry: 0.3,
        }
    }
}

/// One channel of a testbed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelSummary {
    /// The channel.
    pub channel: u8,
    /// Directed links that carry anything (ratio at least 0.01).
    pub links: usize,
    /// Directed links with at least the neighbours' ratio.
    pub neighbour_links: usize,
    /// Directed links with at least the good ratio.
    pub good_links: usize,
    /// Neighbours of a node: those it hears with at least the neighbours' ratio.
    pub degree: Spread,
    /// How many nodes have 0, 1, 2... neighbours.
    pub degree_histogram: Vec<usize>,
    /// How many nodes are 0, 1, 2... hops of good links from the sink.
    pub hops_histogram: Vec<usize>,
    /// Hops of the nodes that the sink can reach over good links, itself left out.
    pub hops: Spread,
    /// Nodes that the sink cannot reach over good links.
    pub unreachable: usize,
    /// Parts that good links leave the network in.
    pub parts: usize,
    /// Most hops between any two nodes that good links join.
    pub diameter: usize,
    /// Of the pairs that are neighbours in at least one direction, the share that is asymmetric.
    pub asymmetric_share: f64,
}

/// How values are spread.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Spread {
    /// Least.
    pub min: usize,
    /// Middle one (the lower of two).
    pub median: usize,
    /// Mean; zero of no values.
    pub mean: f64,
    /// Greatest.
    pub max: usize,
}

impl Spread {
    fn of(mut values: Vec<usize>) -> Self {
        values.sort_unstable();
        let (Some(min), Some(max)) = (values.first(), values.last()) else {
            return Self::default();
        };
        Self {
            min: *min,
            median: values.get((values.len() - 1) / 2).copied().unwrap_or(*min),
            mean: values.iter().sum::<usize>() as f64 / values.len() as f64,
            max: *max,
        }
    }
}

/// Who hears whom on one channel, and how often: every node's links that carry at least one frame in a
/// hundred, receivers ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratios(Vec<Vec<(usize, f64)>>);

impl Ratios {
    /// Those of `environment`.
    pub fn of(environment: &Environment, channel: Channel, options: &SummaryOptions) -> Self {
        let expected = environment.expected(options.psdu_bytes, Dbm(options.power_dbm));
        let row = |from: usize| {
            let from = EarId(from as u32);
            let heard = environment.links.heard_by(from, channel).iter();
            heard
                .map(|link| (link.to.0 as usize, expected(from, link.to, channel)))
                .filter(|(_, prr)| *prr >= 0.01)
                .collect()
        };
        Self((0..environment.ears.len()).map(row).collect())
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// The reception ratio of one link, 0 to 1.
    pub fn ratio(&self, from: usize, to: usize) -> f64 {
        let row = self.0.get(from).map(Vec::as_slice).unwrap_or_default();
        let found = row.binary_search_by_key(&to, |(to, _)| *to).ok();
        found.and_then(|i| row.get(i)).map_or(0.0, |(_, prr)| *prr)
    }

    /// Sender, receiver and ratio of every link.
    fn links(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let rows = self.0.iter().enumerate();
        rows.flat_map(|(from, row)| row.iter().map(move |(to, prr)| (from, *to, *prr)))
    }

    /// Pairs of nodes, of which at least one hears the other, and their better ratio.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        self.links().filter_map(|(from, to, prr)| {
            let back = self.ratio(to, from);
            (back == 0.0 || from < to).then_some((from, to, prr.max(back)))
        })
    }

    /// Each node's neighbours over links that are good both ways, ascending.
    pub fn good_neighbours(&self, good_prr: f64) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.nodes()];
        for (from, to, prr) in self.links() {
            if prr >= good_prr && self.ratio(to, from) >= good_prr {
                neighbours[from].push(to);
            }
        }
        neighbours
    }

    /// The channel in numbers; hops are counted from node `sink`.
    pub fn summary(
        &self,
        channel: Channel,
        sink: usize,
        options: &SummaryOptions,
    ) -> ChannelSummary {
        let nodes = self.nodes();
        let count = |least: f64| self.links().filter(|(_, _, prr)| *prr >= least).count();
        let mut degrees = vec![0; nodes];
        let (mut pairs, mut asymmetric) = (0usize, 0usize);
        let least = options.neighbour_prr;
        for (from, to, prr) in self.links().filter(|(_, _, prr)| *prr >= least) {
            degrees[to] += 1;
            // A pair is met twice if both directions qualify: count it at its lower end then.
            let back = self.ratio(to, from);
            if back < least || from < to {
                pairs += 1;
                asymmetric += usize::from((prr - back).abs() >= options.asymmetry);
            }
        }
        let neighbours = self.good_neighbours(options.good_prr);
        let from_sink = hops(&neighbours, sink);
        let reached: Vec<usize> = from_sink.iter().copied().flatten().collect();
        let Reach { parts, diameter } = Reach::of(&neighbours);
        ChannelSummary {
            channel: channel.number(),
            links: count(0.0),
            neighbour_links: count(least),
            good_links: count(options.good_prr),
            degree: Spread::of(degrees.clone()),
            degree_histogram: histogram(degrees.into_iter()),
            hops_histogram: histogram(reached.iter().copied()),
            hops: Spread::of(reached.iter().copied().filter(|h| *h > 0).collect()),
            unreachable: nodes - reached.len(),
            parts,
            diameter,
            asymmetric_share: asymmetric as f64 / pairs.max(1) as f64,
        }
    }
}

fn histogram(values: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut counts = Vec::new();
    for value in values {
        counts.resize(counts.len().max(value + 1), 0);
        counts[value] += 1;
    }
    counts
}

/// A site in numbers, by channel, lowest first; before losses. `watch` hears of each channel before it is looked at.
pub fn summary(
    site: &Site,
    options: &SummaryOptions,
    mut watch: impl FnMut(Channel),
) -> Vec<ChannelSummary> {
    let (sink, calm) = (site.testbed.sink_index(), site.undisturbed().environment);
    let mut found: Vec<ChannelSummary> = Vec::new();
    let mut last: Option<Channel> = None;
    for channel in site.testbed.channels.iter() {
        watch(channel);
        // A table without channels has the same links on all sixteen.
        let same = last.filter(|last| are_alike(&calm, *last, channel));
        let summary = match same.and(found.last()) {
            Some(before) => ChannelSummary {
                channel: channel.number(),
                ..before.clone()
            },
            None => Ratios::of(&calm, channel, options).summary(channel, sink, options),
        };
        found.push(summary);
        last = Some(channel);
    }
    found
}

/// Whether two channels have the same links.
fn are_alike(environment: &Environment, a: Channel, b: Channel) -> bool {
    let mut ears = 0..environment.ears.len() as u32;
    let links = |from, channel| environment.links.heard_by(EarId(from), channel);
    ears.all(|from| links(from, a) == links(from, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of four nodes, the last link good one way only, and a node alone.
    fn chain() -> Ratios {
        Ratios(vec![
            vec![(1, 1.0)],
            vec![(0, 0.95), (2, 0.92)],
            vec![(1, 0.9), (3, 0.99)],
            vec![(2, 0.4)],
            vec![],
        ])
    }

    #[test]
    fn hops_go_over_links_that_are_good_both_ways() {
        let s = chain().summary(Channel::LAST, 0, &SummaryOptions::default());
        assert_eq!((s.links, s.neighbour_links, s.good_links), (6, 5, 5));
        assert_eq!(s.hops_histogram, [1, 1, 1]);
        assert_eq!((s.unreachable, s.parts, s.diameter), (2, 3, 2));
        assert_eq!(s.degree_histogram, [1, 3, 1]);
        assert_eq!((s.degree.min, s.degree.median, s.degree.max), (0, 1, 2));
        // Pairs 0-1, 1-2 and 2-3, of which the last.
        assert!((s.asymmetric_share - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(s.hops.max, 2);
    }

    #[test]
    fn nothing_is_still_a_summary() {
        let s = Ratios(vec![]).summary(Channel::LAST, 0, &SummaryOptions::default());
        assert_eq!((s.links, s.parts, s.unreachable), (0, 0, 0));
        let text = serde_json::to_string(&s).unwrap();
        assert!(text.contains("\"asymmetric_share\":0.0"));
    }
}
