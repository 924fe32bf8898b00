//! Which routes: a survey of the seed's building, pairs of nodes drawn at random, a plan for each.

use super::rate::single_hop_rate;
use super::{Cell, Ends, Transfers, Wanted};
use crate::experiment::context::{in_order, RunContext};
use crate::experiment::kind::{or_none, Kind as _};
use crate::experiment::sites::survey_once;
use crate::experiment::{ExperimentError, Result};
use std::sync::Arc;
use thalweg_host::registry::Pipelined;
use thalweg_host::survey::SurveyOutcome;
use thalweg_host::transfer::pipeline::transfer;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::channels::spread_order;
use thalweg_planner::pairs::{suggest_pairs, Pair, PairOrder, PairRequest};
use thalweg_planner::Style;
use thalweg_planner::{
    plan, Dated, FusedLinks, LinkModel, LinkQualities, Plan, PlanError, RouteRequest, Topology,
};
use thalweg_simnet::motes::currents;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Db, Duration};

/// How many hops more than the fewest routes of a given length may have.
const MORE_HOPS: usize = 2;
/// For a route of a given length, so many of lengths up to that are looked at.
const LOOKED_AT: usize = 12;

/// What those know that plan chains.
#[derive(Clone)]
struct Chained {
    /// Newest first.
    surveys: Vec<Arc<SurveyOutcome>>,
    /// What they come to for a transfer so long after the last of them began.
    pictures: Vec<(Duration, Arc<FusedLinks>)>,
}

/// Where surveys and transfers over the same routes differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct World {
    /// Between the beacons of surveys.
    pub(super) beacon_ms: u32,
    /// By how much links change, where the experiment says so.
    pub(super) change_db: Option<f64>,
    /// Surveys that those plan by that plan chains.
    pub(super) surveys: u32,
}

/// A seed's site and its routes.
struct Routes {
    site: Site,
    pairs: Vec<Pair>,
    /// The effective physical rate, from a single-hop run.
    rate_kbps: f64,
}

/// A seed's routes in a world, and what is known of it.
#[derive(Clone)]
pub(in crate::experiment) struct Drawn {
    pub(in crate::experiment) site: Site,
    pub(super) world: World,
    /// When the last survey began.
    begins: Duration,
    /// What those that plan paths know of the links.
    routing: Arc<SurveyOutcome>,
    /// How far they trust it.
    model: LinkModel,
    /// What those that plan chains know.
    pipeline: Option<Chained>,
    pub(in crate::experiment) pairs: Vec<Pair>,
    /// The effective physical rate, from a single-hop run.
    pub(super) rate_kbps: f64,
}

impl Drawn {
    /// The surveys that `variant` plans from.
    fn known_to(&self, variant: Pipelined) -> &[Arc<SurveyOutcome>] {
        match (variant.style, &self.pipeline) {
            (Style::Chains | Style::Hops, Some(chained)) => &chained.surveys,
            _ => std::slice::from_ref(&self.routing),
        }
    }
    /// What they took: seconds, and the energy of all nodes in joules.
    pub(super) fn cost_to(&self, variant: Pipelined) -> (f64, Option<f64>) {
        let surveys = self.known_to(variant).iter();
        let seconds = surveys.clone().map(|one| one.time().as_secs_f64());
        (seconds.sum(), surveys.map(|one| one.joules).sum())
    }
    /// The links that `variant` plans over for a transfer that was to begin at `wanted`, and how far it trusts them.
    fn picture(&self, variant: Pipelined, wanted: Duration) -> (&LinkQualities, LinkModel) {
        let found = self.pipeline.iter().flat_map(|of| &of.pictures);
        let mut found = found.filter(|(age, _)| variant.style != Style::Paths && *age == wanted);
        match found.next() {
            Some((_, picture)) => (&picture.links, picture.model),
            None => (&self.routing.links, self.model),
        }
    }

    /// The age at which transfers begin that were to begin at `wanted`: not before the surveys are over.
    pub(super) fn age(&self, wanted: Duration) -> Duration {
        let surveys = self.pipeline.iter().flat_map(|of| &of.surveys);
        let all = surveys.chain([&self.routing]).map(|one| one.time());
        all.fold(wanted, Duration::max)
    }
    /// The site of transfers that were to begin at `wanted`.
    pub(super) fn site_at(&self, wanted: Duration) -> Result<Site> {
        Ok(self.site.aged(self.begins + self.age(wanted))?)
    }
}

impl Transfers {
    /// What `each`, a part, gives of `routes` routes, in their order. A building with fewer routes than wanted is done
    /// all the same.
    pub(in crate::experiment) fn each_route<T: Clone + Send>(
        &self,
        routes: usize,
        lab: &RunContext<'_>,
        each: impl Fn(usize) -> Result<Vec<T>> + Send + Sync,
    ) -> Result<Vec<T>> {
        let all: Vec<usize> = (0..routes).collect();
        let all = in_order(&all, |route| each(*route))?;
        lab.tick(self.parts().saturating_sub(routes as u64));
        Ok(all.concat())
    }

    /// The routes of `seed` where links change as the testbed's do.
    pub(in crate::experiment) fn draw(&self, seed: u64, lab: &RunContext<'_>) -> Result<Drawn> {
        self.draw_in(seed, self.first_world(), lab)
    }

    /// The routes of `seed` in `world`.
    pub(super) fn draw_in(&self, seed: u64, world: World, lab: &RunContext<'_>) -> Result<Drawn> {
        self.in_world(&self.routes(seed, lab)?, world, lab)
    }

    /// The routes of `seed` in all worlds.
    pub(super) fn draw_all(&self, seed: u64, lab: &RunContext<'_>) -> Result<Vec<Drawn>> {
        let routes = self.routes(seed, lab)?;
        in_order(&self.worlds(), |world| self.in_world(&routes, *world, lab))
    }

    /// Surveys the site of `seed` and draws its routes.
    fn routes(&self, seed: u64, lab: &RunContext<'_>) -> Result<Routes> {
        lab.go_on()?;
        let site = lab.site(&self.testbed, seed)?;
        let unfit = |why: String| ExperimentError::unfit(&site, why);
        let (mut wanted, offered) = (self.channel_list(&site.testbed), site.testbed.channels);
        wanted.push(self.routing_channel(&site.testbed));
        if let Some(missing) = wanted.iter().find(|c| !offered.contains(**c)) {
            let offered: Vec<String> = offered.iter().map(|c| c.to_string()).collect();
            let offered = offered.join(" ");
            let why = format!("channel {missing} is not available; the testbed has {offered}");
            return Err(unfit(why));
        }
        let routing = self.routing((&self.testbed, &site), self.first_world(), lab)?;
        let model = LinkModel::learned(&routing.links, site.board.chip.noise_floor);
        let pairs = match self.ends {
            Ends::Farthest => {
                let pair = self.farthest(&site, &routing, model);
                vec![pair.ok_or_else(|| unfit("no node has a way to the sink".to_owned()))?]
            }
            Ends::Drawn => match &self.routes {
                Wanted::Named(named) => self.named(named, &site, &routing, model)?,
                Wanted::Drawn(count) => self.pairs(*count as usize, &site, (&routing, model)),
            },
        };
        if pairs.is_empty() {
            return Err(unfit(format!(
                "no two nodes have {} node-distinct paths of {} to {} hops",
                self.route.min_paths, self.route.min_hops, self.route.max_hops
            )));
        }
        Ok(Routes {
            rate_kbps: single_hop_rate(lab.sites, seed)?,
            site,
            pairs,
        })
    }

    /// Pairs of nodes drawn at random from what is known of links.
    fn pairs(
        &self,
        count: usize,
        site: &Site,
        (routing, model): (&SurveyOutcome, LinkModel),
    ) -> Vec<Pair> {
        let request = PairRequest {
            order: PairOrder::Random,
            floors: self.route.floors,
            min_hops: self.route.min_hops,
            route: self.request(&site.testbed, (0, 0), None, model),
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
            let mut rng = stream(derive(site.seed, "routes", &[]), &self.draw, ids.as_slice());
            let mut pairs = suggest_pairs(&routing.links, &request, &mut rng);
            pairs.retain(|pair| hops.is_none_or(|hops| pair.hops == hops));
            pairs.truncate(count);
            pairs
        };
        let lengths = or_none(&self.hops).into_iter();
        lengths.flat_map(of_length).collect()
    }

    /// The pairs of nodes that `named` says. One that no links join is a row that says so.
    fn named(
        &self,
        named: &[[u16; 2]],
        site: &Site,
        routing: &SurveyOutcome,
        model: LinkModel,
    ) -> Result<Vec<Pair>> {
        let unfit = |why: String| ExperimentError::unfit(site, why);
        let request = self.request(&site.testbed, (0, 0), None, model);
        let topology = Topology::new(&routing.links, request.routing_channel, &request.rule);
        let pair = |ends: &[u16; 2]| {
            let known = |id: u16| site.testbed.nodes.iter().position(|n| n.id.get() == id);
            let index =
                |id| known(id).ok_or_else(|| unfit(format!("routes: there is no node {id}")));
            let (source, sink) = (index(ends[0])?, index(ends[1])?);
            if source == sink {
                let why = format!("routes: node {} is both source and sink", ends[0]);
                return Err(unfit(why));
            }
            let shortest = topology.hops_from(sink)[source].unwrap_or(0);
            Ok(Pair {
                source,
                sink,
                shortest,
                hops: shortest,
                paths: 1,
            })
        };
        named.iter().map(pair).collect()
    }

    /// The way to the sink from the node that is the most hops away; of several the last.
    fn farthest(&self, site: &Site, surveyed: &SurveyOutcome, model: LinkModel) -> Option<Pair> {
        let sink = site.testbed.sink_index();
        let request = self.request(&site.testbed, (sink, sink), None, model);
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

    /// Whether all plan by the survey of those that plan chains, which routes are drawn from then.
    fn all_chains(&self, testbed: &Testbed) -> bool {
        let all = self.protocols.iter().all(|v| v.style == Style::Chains);
        let seen = (self.channel_list(testbed)).contains(&self.routing_channel(testbed));
        self.ends == Ends::Farthest || (all && seen)
    }

    /// What those know that plan paths.
    fn routing(
        &self,
        of: (&str, &Site),
        world: World,
        lab: &RunContext<'_>,
    ) -> Result<Arc<SurveyOutcome>> {
        let testbed = &of.1.testbed;
        if self.all_chains(testbed) {
            let survey = self.survey_of_all(testbed, world.beacon_ms);
            return lab.survey_later(of, survey, self.last_survey());
        }
        let channels = [self.routing_channel(testbed)].into_iter().collect();
        let survey = Self::survey(channels, world.beacon_ms);
        lab.survey_later(of, survey, Duration::ZERO)
    }

    /// What those know that plan chains, where there are any.
    fn pipeline(
        &self,
        of: (&str, &Site),
        world: World,
        lab: &RunContext<'_>,
    ) -> Result<Option<Chained>> {
        let any = self.protocols.iter().any(|v| v.style != Style::Paths);
        let testbed = &of.1.testbed;
        if !any && !self.all_chains(testbed) {
            return Ok(None);
        }
        let survey = self.survey_of_all(testbed, world.beacon_ms);
        let newest = |back: u32| {
            let before = u64::from(back) * u64::from(self.apart_s);
            let begins = self
                .last_survey()
                .saturating_sub(Duration::from_secs(before));
            lab.survey_later(of, survey, begins)
        };
        let surveys: Result<Vec<_>> = (0..world.surveys).map(newest).collect();
        self.chained(of.1, surveys?).map(Some)
    }

    /// What `surveys` come to, newest first.
    fn chained(&self, site: &Site, surveys: Vec<Arc<SurveyOutcome>>) -> Result<Chained> {
        let picture = |age_s: &u32| {
            let age = Duration::from_secs(u64::from(*age_s));
            let apart = Duration::from_secs(u64::from(self.apart_s));
            let dated = (0..).zip(&surveys).map(|(back, of)| Dated {
                links: &of.links,
                age: age + apart * back,
            });
            let dated: Vec<Dated<'_>> = dated.collect();
            let (newest, earlier) = dated.split_first()?;
            let floor = site.board.chip.noise_floor;
            let picture = FusedLinks::of(*newest, earlier, &[], floor);
            Some((age, Arc::new(picture)))
        };
        let pictures = self.age_s.iter().filter_map(picture).collect();
        Ok(Chained { surveys, pictures })
    }

    /// `routes` in `world`.
    fn in_world(&self, routes: &Routes, world: World, lab: &RunContext<'_>) -> Result<Drawn> {
        let (name, site) = match world.change_db {
            None => (self.testbed.clone(), routes.site.clone()),
            Some(db) => {
                let name = format!("{}, changing by {db} dB", self.testbed);
                (name, routes.site.changing(Db(db)))
            }
        };
        let routing = self.routing((&name, &site), world, lab)?;
        Ok(Drawn {
            model: LinkModel::learned(&routing.links, site.board.chip.noise_floor),
            pipeline: self.pipeline((&name, &site), world, lab)?,
            site,
            world,
            begins: self.last_survey(),
            routing,
            pairs: routes.pairs.clone(),
            rate_kbps: routes.rate_kbps,
        })
    }

    /// The same routes with the pipeline channels surveyed again at `changed`.
    pub(in crate::experiment) fn resurveyed(
        &self,
        drawn: &Drawn,
        changed: &Site,
        lab: &RunContext<'_>,
    ) -> Result<Drawn> {
        let survey = self.survey_of_all(&changed.testbed, drawn.world.beacon_ms);
        let surveyed = survey_once(changed, survey, &mut |_| lab.flow())?;
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
        let (links, model) = drawn.picture(variant, cell.age);
        let (testbed, ends) = (&drawn.site.testbed, (pair.source, pair.sink));
        let mut request = self.request(testbed, ends, cell.max_paths, drawn.model);
        if !self.hops.is_empty() {
            request = exactly(request, pair.hops);
        }
        request.model = model;
        let packets = cell.bytes.div_ceil(u32::from(cell.payload.bytes())).max(1);
        let board = &drawn.site.board;
        let size = (packets, cell.payload);
        request.transfer = transfer(request.transfer, variant.scheme, size, Some(&board.timing));
        request.transfer.currents = currents(board);
        let request = variant.request(&request);
        // One stream for a route and a cell, whatever the variant: `p3` and `pip` share the plan.
        let ids = [pair.source, pair.sink, cell.max_paths.unwrap_or(0)].map(|n| n as u64);
        let mut rng = stream(derive(drawn.site.seed, "plan", &[]), &self.draw, &ids);
        plan(links, &request, &mut rng)
    }

    /// What P3 and PIP ask of the planner.
    fn request(
        &self,
        testbed: &Testbed,
        (source, sink): (usize, usize),
        max_paths: Option<usize>,
        model: LinkModel,
    ) -> RouteRequest {
        let mut request = RouteRequest::new(source, sink).trusting(model);
        request.routing_channel = self.routing_channel(testbed);
        request.channels = spread_order(&self.channel_list(testbed), request.routing_channel);
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
