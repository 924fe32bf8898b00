//! The default source of a transfer, and why there may be none. Tests: `crates/simnet/src/collect/`.

use super::{LinkState, PlanRequest, PlanRequestError};
use thalweg_planner::channels::REUSE_DISTANCE;
use thalweg_planner::{count_paths, LinkRule, Topology};
use thalweg_units::Channel;

/// Beyond this P3's four channels come round a second time; no source is picked farther away.
const FAR: usize = 6;

/// Whether a source has more than half of the paths that are enough, and is more than a third as far as the farthest node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supply {
    Ample,
    Poor,
}

impl LinkState {
    /// The default source, by index: the farthest node from the sink that has enough paths to it, or the one with the most.
    /// Where that one has no more than half of what is enough, or a third as many hops as the farthest, the farthest of all. Weaker link rules count where no node is
    /// linked to the sink under a stronger one.
    ///
    /// # Errors
    /// [`PlanRequestError::NoSource`].
    pub fn far_source(&self, request: &PlanRequest) -> Result<usize, PlanRequestError> {
        let mut rules = [self.rule].into_iter().chain(self.rule.weaker());
        let found = rules.find_map(|rule| self.far_source_under(rule, request));
        let found = match found {
            Some((source, Supply::Ample)) => Some(source),
            Some((source, Supply::Poor)) => self.farthest().or(Some(source)),
            None => self.farthest(),
        };
        found.ok_or_else(|| PlanRequestError::NoSource {
            network: self.place.name.clone(),
            sink: self.place.name_of(self.sink),
            heard: self.heard(),
        })
    }

    /// The node that is the most hops away over links of any quality.
    fn farthest(&self) -> Option<usize> {
        let links = &self.links;
        let edges = links.channels().iter().flat_map(|channel| {
            (0..links.nodes()).flat_map(move |from| {
                let heard = links.heard_from(from, channel);
                let both = heard.filter(move |(to, _)| links.prr(*to, from, channel) > 0.0);
                both.map(move |(to, _)| (from, to))
            })
        });
        let hops = Topology::from_edges(links.nodes(), edges).hops_from(self.sink);
        let far = (0..hops.len()).filter_map(|node| Some((hops[node]?, std::cmp::Reverse(node))));
        let far = far.filter(|(hops, _)| *hops > 0).max();
        far.map(|(_, std::cmp::Reverse(node))| node)
    }

    /// The farthest node with enough paths under `rule`, or with the most, and whether these are more than half of what is
    /// enough, and it is far.
    fn far_source_under(&self, rule: LinkRule, request: &PlanRequest) -> Option<(usize, Supply)> {
        let sink = self.sink;
        let topology = Topology::new(&self.links, self.routing_channel, &rule);
        let hops = topology.hops_from(sink);
        let mut sources: Vec<(usize, usize)> = (0..hops.len())
            .filter(|n| *n != sink)
            .filter_map(|n| hops[n].map(|h| (h, n)))
            .collect();
        sources.sort_by_key(|(h, n)| (std::cmp::Reverse(*h), *n));
        let farthest = sources.first().map_or(0, |(hops, _)| *hops);
        let mut best: Option<(usize, usize, Supply)> = None;
        for (far, source) in &sources {
            // The same source for every variant.
            let mut route = self.faithful_request(*source, request, 1);
            route.max_hops = FAR;
            let most = route.max_paths.unwrap_or(usize::MAX).max(1);
            let enough = route.min_paths.min(most);
            let mut rng = (self.draw)(self.seed, "source", &[*source as u64]);
            let found = count_paths(&topology, &self.links, &route, &mut rng);
            let channels = route.channels.len();
            let found = found.filter(|(_, hops)| channels >= (*hops).min(REUSE_DISTANCE));
            // One or two hops are no job for a pipeline, if there is anything else.
            let paths = match found {
                Some((paths, 3..=FAR)) => paths.min(enough),
                Some((_, 2)) => 1,
                _ => 0,
            };
            if best.is_none_or(|(most, _, _)| paths > most) {
                let supply = match paths * 2 > enough && far * 3 > farthest {
                    true => Supply::Ample,
                    false => Supply::Poor,
                };
                best = Some((paths, *source, supply));
            }
            if paths == enough {
                break;
            }
        }
        best.map(|(_, source, supply)| (source, supply))
    }

    /// The best of the sink's links, in words.
    fn heard(&self) -> String {
        let (links, sink) = (&self.links, self.sink);
        let both = |n: usize, c: Channel| (links.prr(n, sink, c), links.prr(sink, n, c));
        let all = || (0..links.nodes()).flat_map(|n| Channel::all().map(move |c| (n, c)));
        let best = |worth: fn((f64, f64)) -> f64| {
            let links = all().map(|(n, c)| (n, c, both(n, c)));
            let links = links.filter(|(_, _, both)| worth(*both) > 0.0);
            links.max_by(|a, b| worth(a.2).total_cmp(&worth(b.2)))
        };
        let needed = self
            .rule
            .weaker()
            .last()
            .map_or(self.rule.min_prr, |r| r.min_prr);
        let link_text = |(n, c, (to, from)): (usize, Channel, (f64, f64))| {
            let id = self.place.name_of(n);
            format!("node {id} on channel {c} ({to:.2} towards it, {from:.2} back)")
        };
        match (best(|(a, b)| a.min(b)), best(|(a, b)| a.max(b))) {
            (Some(link), _) => format!(
                "its best link is with {}; a route needs {needed} both ways on channel {}",
                link_text(link),
                self.routing_channel
            ),
            (None, Some(link)) => {
                format!(
                    "it has links in one direction only, as with {}",
                    link_text(link)
                )
            }
            (None, None) => "it hears nobody, and nobody hears it".to_owned(),
        }
    }
}
