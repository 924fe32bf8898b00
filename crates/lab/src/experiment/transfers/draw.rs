//! Which routes: a survey of the seed's building, pairs of nodes drawn at random, a plan for each.

use super::rate::single_hop_rate;
use super::{Cell, Ends, Transfers};
use crate::experiment::context::{in_order, RunContext};
use crate::experiment::kind::{or_none, Kind as _};
use crate::experiment::sites::survey_once;
use crate::experiment::{ExperimentError, Result};
use std::sync::Arc;
use thalweg_host::registry::Pipelined;
use thalweg_host::survey::Surveyed;
use thalweg_host::transfer::pipeline::transfer;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::channels::spread_order;
use thalweg_planner::pairs::{suggest_pairs, Pair, PairOrder, PairRequest};
use thalweg_planner::Style;
use thalweg_planner::{
    plan, Dated, FusedLinks, LinkModel, LinkQualities, Plan, PlanError, RouteRequest, Topology,
};
use thalweg_simnet::motes::copying;
use thalweg_testbeds::Site;
use thalweg_units::{Db, Duration};

/// How many hops more than the fewest routes of a given length may have.
const MORE_HOPS: usize = 2;
/// For each route of a given length, so many candidates of lengths up to that are drawn.
const CANDIDATES: usize = 12;

/// The surveys of protocols that plan chains.
#[derive(Clone)]
struct ChainSurveys {
    /// Newest first.
    surveys: Vec<Arc<Surveyed>>,
    /// Their links fused for a transfer so long after the last of them began.
    fused: Vec<(Duration, Arc<FusedLinks>)>,
}

/// The survey of protocols that plan paths, and those of protocols that plan chains.
type Surveys = (Arc<Surveyed>, Option<ChainSurveys>);

/// What differs between surveys and transfers over the same routes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct World {
    /// Between the beacons of surveys.
    pub(super) beacon_ms: u32,
    /// By how much links change, where the experiment says so.
    pub(super) change_db: Option<f64>,
    /// How many surveys protocols that plan chains have.
    pub(super) surveys: u32,
}

/// The surveys that transfers wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// All protocols plan chains; the other survey serves to draw routes only.
    ForChained,
    /// Some plan paths.
    ForAll,
}

/// A seed's site with its routes.
#[derive(Clone)]
pub(in crate::experiment) struct Drawn {
    pub(in crate::experiment) site: Site,
    pub(super) world: World,
    /// When the last survey began.
    begins: Duration,
    /// The survey of protocols that plan paths.
    routing: Arc<Surveyed>,
    /// Their model of it.
    model: LinkModel,
    /// The surveys of protocols that plan chains.
    pipeline: Option<ChainSurveys>,
    waits: Waits,
    pub(in crate::experiment) pairs: Vec<Pair>,
    /// The effective physical rate, from a single-hop run.
    pub(super) rate_kbps: f64,
}

impl Drawn {
    /// The surveys that `variant` plans from.
    fn surveys_of(&self, variant: Pipelined) -> &[Arc<Surveyed>] {
        match (variant.style, &self.pipeline) {
            (Style::Chains, Some(chained)) => &chained.surveys,
            _ => std::slice::from_ref(&self.routing),
        }
    }
    /// Their cost: seconds, and the energy of all nodes in joules.
    pub(super) fn survey_cost(&self, variant: Pipelined) -> (f64, Option<f64>) {
        let surveys = self.surveys_of(variant).iter();
        let seconds = surveys.clone().map(|one| one.time().as_secs_f64());
        (seconds.sum(), surveys.map(|one| one.joules).sum())
    }
    /// The links that `variant` plans over for a transfer that was to begin at `wanted`, and its model of them.
    fn links_for(&self, variant: Pipelined, wanted: Duration) -> (&LinkQualities, LinkModel) {
        let fused = self.pipeline.iter().flat_map(|of| &of.fused);
        let mut fused = fused.filter(|(age, _)| variant.style == Style::Chains && *age == wanted);
        match fused.next() {
            Some((_, fused)) => (&fused.links, fused.model),
            None => (&self.routing.links, self.model),
        }
    }

    /// The age at which transfers begin that were to begin at `wanted`: not before the surveys are over.
    pub(super) fn age(&self, wanted: Duration) -> Duration {
        let surveys = self.pipeline.iter().flat_map(|of| &of.surveys);
        let chained = surveys.map(|one| one.time()).max().unwrap_or_default();
        let surveying = match self.waits {
            Waits::ForChained => chained,
            Waits::ForAll => chained.max(self.routing.time()),
        };
        wanted.max(surveying)
    }
    /// The site of transfers that were to begin at `wanted`.
    pub(super) fn site_at(&self, wanted: Duration) -> Result<Site> {
        Ok(self.site.aged(self.begins + self.age(wanted))?)
    }
}

impl Transfers {
    /// The results of `each` for the routes of `seed`, in their order. A building may have fewer routes than wanted.
    pub(in crate::experiment) fn each_route<T: Clone + Send>(
        &self,
        seed: u64,
        context: &RunContext<'_>,
        each: impl Fn(&Drawn, usize) -> Result<Vec<T>> + Send + Sync,
    ) -> Result<Vec<T>> {
        let drawn = self.draw(seed, context)?;
        let routes: Vec<usize> = (0..drawn.pairs.len()).collect();
        let all = in_order(&routes, |route| each(&drawn, *route))?;
        context.tick(self.parts().saturating_sub(routes.len() as u64));
        Ok(all.concat())
    }

    /// Surveys the site of `seed` and draws its routes.
    pub(in crate::experiment) fn draw(&self, seed: u64, context: &RunContext<'_>) -> Result<Drawn> {
        context.go_on()?;
        let site = context.site(&self.testbed, seed)?;
        let routing_channel = self.routing_channel();
        let unfit = |why: String| ExperimentError::unfit(&site, why);
        let mut wanted = self.channel_list();
        wanted.push(routing_channel);
        if let Some(missing) = wanted.iter().find(|c| !site.testbed.channels.contains(**c)) {
            return Err(unfit(format!("channel {missing} is not available")));
        }
        let world = self.first_world();
        let (routing, pipeline) = self.surveys(&self.testbed, &site, world, context)?;
        let model = LinkModel::learned(&routing.links, site.board.chip.noise_floor);
        let pairs = match self.ends {
            Ends::Farthest => {
                let pair = self.farthest(&site, &routing, model);
                let nothing = || unfit("no node has a way to the sink".to_owned());
                vec![pair.ok_or_else(nothing)?]
            }
            Ends::Drawn => self.draw_pairs(seed, &routing, model),
        };
        if pairs.is_empty() {
            return Err(unfit(format!(
                "no two nodes have {} node-distinct paths of {} to {} hops",
                self.route.min_paths, self.route.min_hops, self.route.max_hops
            )));
        }
        let rate_kbps = single_hop_rate(context.sites, seed)?;
        Ok(Drawn {
            site,
            world,
            begins: self.last_survey(),
            routing,
            model,
            pipeline,
            waits: self.waits(),
            pairs,
            rate_kbps,
        })
    }

    /// Sources and sinks as `seed` draws them, of each length that is wanted.
    fn draw_pairs(&self, seed: u64, routing: &Surveyed, model: LinkModel) -> Vec<Pair> {
        let count = self.routes as usize;
        let request = PairRequest {
            order: PairOrder::Random,
            floors: self.route.floors,
            min_hops: self.route.min_hops,
            route: self.request((0, 0), None, model),
            ..PairRequest::new(count)
        };
        let of_length = |hops: Option<usize>| {
            let mut request = request.clone();
            if let Some(hops) = hops {
                // Longer routes seldom have that many paths of the fewest hops.
                request.min_hops = hops.saturating_sub(MORE_HOPS).max(1);
                request.route = exactly(request.route, hops);
                request.count = count * CANDIDATES;
            }
            let ids = hops.map(|hops| hops as u64);
            let mut rng = stream(derive(seed, "routes", &[]), &self.draw, ids.as_slice());
            let mut pairs = suggest_pairs(&routing.links, &request, &mut rng);
            pairs.retain(|pair| hops.is_none_or(|hops| pair.hops == hops));
            pairs.truncate(count);
            pairs
        };
        let lengths = or_none(&self.hops).into_iter();
        lengths.flat_map(of_length).collect()
    }

    fn waits(&self) -> Waits {
        match self.protocols.iter().all(|v| v.style == Style::Chains) {
            true => Waits::ForChained,
            false => Waits::ForAll,
        }
    }

    /// The route to the sink from the node that is the most hops away; of several the last.
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

    /// Surveys for protocols that plan paths, and for those that plan chains where there are any.
    fn surveys(
        &self,
        testbed: &str,
        site: &Site,
        world: World,
        context: &RunContext<'_>,
    ) -> Result<Surveys> {
        let of_all = self.survey_of_all(world.beacon_ms);
        let chained = || {
            let newest = |back: u32| {
                let before = u64::from(back) * u64::from(self.apart_s);
                let begins = self
                    .last_survey()
                    .saturating_sub(Duration::from_secs(before));
                context.survey_later((testbed, site), of_all, begins)
            };
            let surveys: Result<Vec<_>> = (0..world.surveys).map(newest).collect();
            self.chained(site, surveys?)
        };
        if self.ends == Ends::Farthest {
            let all = context.survey(testbed, site, of_all)?;
            return Ok((all, Some(chained()?)));
        }
        let routing = [self.routing_channel()].into_iter().collect();
        let routing = context.survey(testbed, site, Self::survey(routing, world.beacon_ms))?;
        let any = self.protocols.iter().any(|v| v.style == Style::Chains);
        Ok((routing, any.then(chained).transpose()?))
    }

    /// `surveys`, newest first, and their links fused.
    fn chained(&self, site: &Site, surveys: Vec<Arc<Surveyed>>) -> Result<ChainSurveys> {
        let fused = |age_s: &u32| {
            let age = Duration::from_secs(u64::from(*age_s));
            let apart = Duration::from_secs(u64::from(self.apart_s));
            let dated = (0..).zip(&surveys).map(|(back, of)| Dated {
                links: &of.links,
                age: age + apart * back,
            });
            let dated: Vec<Dated<'_>> = dated.collect();
            let (newest, earlier) = dated.split_first()?;
            let floor = site.board.chip.noise_floor;
            let links = FusedLinks::of(*newest, earlier, &[], floor);
            Some((age, Arc::new(links)))
        };
        let fused = self.age_s.iter().filter_map(fused).collect();
        Ok(ChainSurveys { surveys, fused })
    }

    /// The same routes in another `world`.
    pub(super) fn in_world(
        &self,
        drawn: &Drawn,
        world: World,
        context: &RunContext<'_>,
    ) -> Result<Drawn> {
        if world == drawn.world {
            return Ok(drawn.clone());
        }
        let (name, site) = match world.change_db {
            None => (self.testbed.clone(), drawn.site.clone()),
            Some(db) => {
                let name = format!("{}, changing by {db} dB", self.testbed);
                (name, drawn.site.changing(Db(db)))
            }
        };
        let (routing, pipeline) = self.surveys(&name, &site, world, context)?;
        Ok(Drawn {
            model: LinkModel::learned(&routing.links, site.board.chip.noise_floor),
            site,
            world,
            routing,
            pipeline,
            ..drawn.clone()
        })
    }

    /// The same routes with the pipeline channels surveyed again at `changed`.
    pub(in crate::experiment) fn resurveyed(
        &self,
        drawn: &Drawn,
        changed: &Site,
        context: &RunContext<'_>,
    ) -> Result<Drawn> {
        let survey = self.survey_of_all(drawn.world.beacon_ms);
        let surveyed = survey_once(changed, survey, &mut |_| context.flow())?;
        Ok(Drawn {
            pipeline: Some(self.chained(changed, vec![Arc::new(surveyed)])?),
            ..drawn.clone()
        })
    }

    /// The plan of `variant` for a route.
    pub(super) fn plan(
        &self,
        drawn: &Drawn,
        route: usize,
        variant: Pipelined,
        cell: Cell,
    ) -> std::result::Result<Plan, PlanError> {
        let pair = &drawn.pairs[route];
        let (links, model) = drawn.links_for(variant, cell.age);
        let mut request = self.request((pair.source, pair.sink), cell.max_paths, drawn.model);
        if !self.hops.is_empty() {
            request = exactly(request, pair.hops);
        }
        request.model = model;
        let packets = cell.bytes.div_ceil(u32::from(cell.payload.bytes())).max(1);
        let timing = copying(&drawn.site.board);
        let size = (packets, cell.payload);
        request.transfer = transfer(request.transfer, variant.scheme, size, timing.as_ref());
        let request = variant.request(&request);
        // One stream for a route and a cell, whatever the variant: `p3` and `pip` share the plan.
        let ids = [pair.source, pair.sink, cell.max_paths.unwrap_or(0)].map(|n| n as u64);
        let mut rng = stream(derive(drawn.site.seed, "plan", &[]), &self.draw, &ids);
        plan(links, &request, &mut rng)
    }

    /// The request of P3 and PIP to the planner.
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

/// `request` for routes of exactly `hops` hops; over a single hop there is but one path.
fn exactly(request: RouteRequest, hops: usize) -> RouteRequest {
    RouteRequest {
        hops: Some(hops),
        max_hops: hops,
        min_paths: if hops == 1 { 1 } else { request.min_paths },
        ..request
    }
}
