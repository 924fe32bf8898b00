//! Which routes: a survey of the seed's building, pairs of nodes drawn at random, a plan for each.

use super::rate::single_hop_rate;
use super::{Ends, Transfers};
use crate::experiment::kind::{or_none, Kind as _};
use crate::experiment::lab::{in_order, Lab};
use crate::experiment::sites::survey_once;
use crate::experiment::{ExperimentError, Result};
use std::sync::Arc;
use thalweg_gateway::registry::Pipelined;
use thalweg_gateway::survey::Surveyed;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::channels::spread_order;
use thalweg_planner::pairs::{suggest_pairs, Pair, PairOrder, PairRequest};
use thalweg_planner::Style;
use thalweg_planner::{plan, LinkModel, Plan, PlanError, RouteRequest, Topology};
use thalweg_testbeds::Site;
use thalweg_units::{Db, Duration};

/// How many hops more than the fewest routes of a given length may have.
const MORE_HOPS: usize = 2;
/// For a route of a given length, so many of lengths up to that are looked at.
const LOOKED_AT: usize = 12;

/// What those know that plan paths, and those that plan chains.
type Surveys = (Arc<Surveyed>, Option<Arc<Surveyed>>);

/// A seed's site with its routes.
#[derive(Clone)]
pub(in crate::experiment) struct Drawn {
    pub(in crate::experiment) site: Site,
    /// Between the beacons of both surveys.
    pub(super) beacon_ms: u32,
    /// By how much links change, where the experiment says so.
    pub(super) change_db: Option<f64>,
    /// What those that plan paths know of the links.
    routing: Arc<Surveyed>,
    /// What those that plan chains know.
    pipeline: Option<Arc<Surveyed>>,
    /// How far each of them trusts it: those that plan paths, and chains.
    models: [LinkModel; 2],
    pub(in crate::experiment) pairs: Vec<Pair>,
    /// The effective physical rate, from a single-hop run.
    pub(super) rate_kbps: f64,
}

impl Drawn {
    /// The survey that `variant` plans from.
    pub(super) fn known_to(&self, variant: Pipelined) -> &Surveyed {
        match (variant.style, &self.pipeline) {
            (Style::Chains, Some(surveyed)) => surveyed,
            _ => &self.routing,
        }
    }

    /// The age at which transfers begin that were to begin at `wanted`: not before the surveys are over.
    pub(super) fn age(&self, wanted: Duration) -> Duration {
        let surveying = self.pipeline.as_ref().map(|surveyed| surveyed.time());
        let surveying = surveying.unwrap_or_default().max(self.routing.time());
        wanted.max(surveying)
    }
    /// The site of transfers that were to begin at `wanted`.
    pub(super) fn site_at(&self, wanted: Duration) -> Result<Site> {
        Ok(self.site.aged(self.age(wanted))?)
    }
}

impl Transfers {
    /// What `each`, a part, gives of the routes of `seed`, in their order. A building with fewer routes than wanted
    /// is done all the same.
    pub(in crate::experiment) fn each_route<T: Clone + Send>(
        &self,
        seed: u64,
        lab: &Lab<'_>,
        each: impl Fn(&Drawn, usize) -> Result<Vec<T>> + Send + Sync,
    ) -> Result<Vec<T>> {
        let drawn = self.draw(seed, lab)?;
        let routes: Vec<usize> = (0..drawn.pairs.len()).collect();
        let all = in_order(&routes, |route| each(&drawn, *route))?;
        lab.tick(self.parts().saturating_sub(routes.len() as u64));
        Ok(all.concat())
    }

    /// Surveys the site of `seed` and draws its routes.
    pub(in crate::experiment) fn draw(&self, seed: u64, lab: &Lab<'_>) -> Result<Drawn> {
        lab.go_on()?;
        let site = lab.site(&self.testbed, seed)?;
        let routing_channel = self.routing_channel();
        let unfit = |why: String| ExperimentError::unfit(&site, why);
        let mut wanted = self.channel_list();
        wanted.push(routing_channel);
        if let Some(missing) = wanted.iter().find(|c| !site.testbed.channels.contains(**c)) {
            return Err(unfit(format!("channel {missing} is not available")));
        }
        let beacon_ms = self.first_beacon_ms();
        let (routing, pipeline) = self.surveys(&self.testbed, &site, beacon_ms, lab)?;
        let count = self.routes as usize;
        let models = trusted(&site, &routing, pipeline.as_deref());
        if self.ends == Ends::Farthest {
            let pair = self.farthest(&site, &routing, models[0]);
            let pair = pair.ok_or_else(|| unfit("no node has a way to the sink".to_owned()))?;
            return Ok(Drawn {
                rate_kbps: single_hop_rate(lab.sites, seed)?,
                pairs: vec![pair],
                site,
                beacon_ms,
                change_db: None,
                routing,
                pipeline,
                models,
            });
        }
        let request = PairRequest {
            order: PairOrder::Random,
            floors: self.route.floors,
            min_hops: self.route.min_hops,
            route: self.request((0, 0), None, models[0]),
            ..PairRequest::new(count)
        };
        let of_length = |hops: Option<usize>| {
            let mut request = request.clone();
            if let Some(hops) = hops {
                // Longer routes seldom have that many paths of the fewest hops.
                request.min_hops = hops.saturating_sub(MORE_HOPS).max(1);
                request.route = exactly(request.route, hops);
                request.count = count * LOOKED_AT;
            }
            let ids = hops.map(|hops| hops as u64);
            let mut rng = stream(derive(seed, "routes", &[]), &self.draw, ids.as_slice());
            let mut pairs = suggest_pairs(&routing.links, &request, &mut rng);
            pairs.retain(|pair| hops.is_none_or(|hops| pair.hops == hops));
            pairs.truncate(count);
            pairs
        };
        let lengths = or_none(&self.hops).into_iter();
        let pairs: Vec<Pair> = lengths.flat_map(of_length).collect();
        if pairs.is_empty() {
            return Err(unfit(format!(
                "no two nodes have {} node-distinct paths of {} to {} hops",
                self.route.min_paths, self.route.min_hops, self.route.max_hops
            )));
        }
        let rate_kbps = single_hop_rate(lab.sites, seed)?;
        Ok(Drawn {
            site,
            beacon_ms,
            change_db: None,
            routing,
            pipeline,
            models,
            pairs,
            rate_kbps,
        })
    }

    /// The way to the sink from the node that is the most hops away; of several the last.
    fn farthest(&self, site: &Site, surveyed: &Surveyed, model: LinkModel) -> Option<Pair> {
        let sink = site.testbed.sink_index();
        let request = self.request((sink, sink), None, model);
        let topology = Topology::new(&surveyed.links, request.routing_channel, &request.rule);
        let hops = topology.hops_from(sink).into_iter().enumerate();
        let hops = hops.filter_map(|(node, hops)| Some((hops.filter(|_| node != sink)?, node)));
        let (shortest, source) = hops.max()?;
        Some(Pair {
            source,
            sink,
            shortest,
            hops: shortest,
            paths: 1,
        })
    }

    /// What those know that plan paths, and those that plan chains where there are any.
    fn surveys(
        &self,
        testbed: &str,
        site: &Site,
        beacon_ms: u32,
        lab: &Lab<'_>,
    ) -> Result<Surveys> {
        let survey = |survey| lab.survey(testbed, site, survey);
        if self.ends == Ends::Farthest {
            let all = survey(self.survey_of_all(beacon_ms))?;
            return Ok((all.clone(), Some(all)));
        }
        let routing = [self.routing_channel()].into_iter().collect();
        let routing = survey(Self::survey(routing, beacon_ms))?;
        let all = self.protocols.iter().any(|v| v.style == Style::Chains);
        let of_all = || survey(self.survey_of_all(beacon_ms));
        Ok((routing, all.then(of_all).transpose()?))
    }

    /// The same routes, planned by surveys with `beacon_ms` between beacons, where links change by `change_db`.
    pub(super) fn elsewhere(
        &self,
        drawn: &Drawn,
        (beacon_ms, change_db): (u32, Option<f64>),
        lab: &Lab<'_>,
    ) -> Result<Drawn> {
        if (beacon_ms, change_db) == (drawn.beacon_ms, drawn.change_db) {
            return Ok(drawn.clone());
        }
        let (name, site) = match change_db {
            None => (self.testbed.clone(), drawn.site.clone()),
            Some(db) => {
                let name = format!("{}, changing by {db} dB", self.testbed);
                (name, drawn.site.changing(Db(db)))
            }
        };
        let (routing, pipeline) = self.surveys(&name, &site, beacon_ms, lab)?;
        Ok(Drawn {
            models: trusted(&site, &routing, pipeline.as_deref()),
            site,
            beacon_ms,
            change_db,
            routing,
            pipeline,
            ..drawn.clone()
        })
    }

    /// The same routes with the pipeline channels surveyed anew at `changed`.
    pub(in crate::experiment) fn resurveyed(
        &self,
        drawn: &Drawn,
        changed: &Site,
        lab: &Lab<'_>,
    ) -> Result<Drawn> {
        let survey = self.survey_of_all(drawn.beacon_ms);
        let pipeline = survey_once(changed, survey, &mut |_| lab.heard())?;
        Ok(Drawn {
            models: trusted(changed, &drawn.routing, Some(&pipeline)),
            pipeline: Some(Arc::new(pipeline)),
            ..drawn.clone()
        })
    }

    /// The plan of `variant` for a route.
    pub(super) fn plan(
        &self,
        drawn: &Drawn,
        route: usize,
        variant: Pipelined,
        max_paths: Option<usize>,
    ) -> std::result::Result<Plan, PlanError> {
        let pair = &drawn.pairs[route];
        let [of_paths, of_chains] = drawn.models;
        let mut request = self.request((pair.source, pair.sink), max_paths, of_paths);
        if !self.hops.is_empty() {
            request = exactly(request, pair.hops);
        }
        if variant.style == Style::Chains {
            request.model = of_chains;
        }
        let request = variant.request(&request);
        let links = &drawn.known_to(variant).links;
        // One stream for a route and a cell, whatever the variant: `p3` and `pip` share the plan.
        let ids = [pair.source, pair.sink, max_paths.unwrap_or(0)].map(|n| n as u64);
        let mut rng = stream(derive(drawn.site.seed, "plan", &[]), &self.draw, &ids);
        plan(links, &request, &mut rng)
    }

    /// What P3 and PIP ask of the planner.
    fn request(
        &self,
        (source, sink): (usize, usize),
        max_paths: Option<usize>,
        model: LinkModel,
    ) -> RouteRequest {
        let mut request = RouteRequest::new(source, sink).trusting(model);
        request.routing_channel = self.routing_channel();
        request.channels = spread_order(&self.channel_list(), request.routing_channel);
        request.min_paths = self.route.min_paths;
        request.max_paths = max_paths;
        request.max_hops = self.route.max_hops;
        request
    }
}

/// How far what surveys brought can be trusted, by what they tell themselves.
fn trusted(site: &Site, routing: &Surveyed, pipeline: Option<&Surveyed>) -> [LinkModel; 2] {
    let learned = |of: &Surveyed| LinkModel::learned(&of.links, site.board.chip.noise_floor);
    [learned(routing), learned(pipeline.unwrap_or(routing))]
}

/// `request` for routes of exactly `hops` hops; over a single hop there is but one path.
fn exactly(request: RouteRequest, hops: usize) -> RouteRequest {
    RouteRequest {
        hops: Some(hops),
        max_hops: hops,
        min_paths: if hops == 1 { 1 } else { request.min_paths },
        ..request
    }
}
