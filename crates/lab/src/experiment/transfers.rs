//! Transfers over routes drawn at random: one link survey per seed, every protocol over the same
//! plan and, route by route, over the same run of the radio environment (P3, section V).
//!
//! Owns the keys of `kind = "transfers"` and its rows. Every transfer has a session of its own, so
//! that no result depends on which others were asked for. Tests: `tests.rs`.

use super::row::Row;
use super::site::{faithful_survey, Site, Sites};
use super::spec::expect;
use super::{in_order, ExperimentError, Ticker};
use crate::collect::random_object;
use crate::testbed::Testbed;
use crate::transfer::{Outcome, Protocol, Session, Survey, Surveyed, Terms};
use crate::variant::{Knowledge, Variant};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_medium::random::{derive, stream};
use thalweg_medium::{Environment, Outcome as Fate};
use thalweg_planner::channels::spread_order;
use thalweg_planner::pairs::{suggest_pairs, Floors as PairFloors, Pair, PairOrder, PairRequest};
use thalweg_planner::{plan, Plan, RouteRequest};
use thalweg_units::{Channel, ChannelSet, Duration, SimTime};
use thalweg_wire::route::PayloadSize;

/// Transfers over routes drawn at random.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Testbed, by name or file.
    pub testbed: String,
    /// Routes drawn per seed.
    #[serde(default = "twenty")]
    pub routes: u32,
    /// Which routes are drawn.
    #[serde(default)]
    pub route: RouteSpec,
    /// Names the draw: two experiments with the same name see the same routes.
    #[serde(default)]
    pub draw: String,
    /// Pipeline channels, the set that stages take turns with.
    #[serde(default = "clean_channels")]
    pub channels: Vec<u8>,
    /// The channel on which routes are sought.
    #[serde(default = "last_channel")]
    pub routing_channel: u8,
    /// Payload bytes of a packet, 1..=118; more than one value sweeps.
    #[serde(default = "full_payload")]
    pub payload: Vec<u8>,
    /// Packets of the object, all full.
    #[serde(default = "five_hundred")]
    pub packets: u32,
    /// Bytes of the object, instead of `packets`; more than one value sweeps.
    #[serde(default)]
    pub bytes: Vec<u32>,
    /// Protocols, each over the same routes.
    pub protocols: Vec<Variant>,
    /// The one whose energy, goodput and nodes stand beside the others' in every row.
    pub baseline: Option<Variant>,
    /// Highest number of node-distinct paths; more than one value sweeps.
    #[serde(default)]
    pub max_paths: Vec<usize>,
}

const fn twenty() -> u32 {
    20
}
const fn five_hundred() -> u32 {
    500
}
const fn last_channel() -> u8 {
    26
}
fn clean_channels() -> Vec<u8> {
    vec![15, 20, 25, 26]
}
fn full_payload() -> Vec<u8> {
    vec![118]
}

/// Which routes are drawn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteSpec {
    /// Fewest hops.
    pub min_hops: usize,
    /// Most hops.
    pub max_hops: usize,
    /// Fewest node-distinct paths.
    pub min_paths: usize,
    /// Source and sink on different floors.
    pub floors: Floors,
}

/// Whether source and sink may share a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Floors {
    /// Any two nodes.
    Any,
    /// Two floors.
    Different,
}

impl Default for RouteSpec {
    /// P3, section V: 2 to 6 hops between floors, N = 6.
    fn default() -> Self {
        Self {
            min_hops: 2,
            max_hops: 6,
            min_paths: 6,
            floors: Floors::Different,
        }
    }
}

/// One cell of a sweep.
#[derive(Debug, Clone, Copy)]
struct Cell {
    payload: PayloadSize,
    bytes: u32,
    max_paths: Option<usize>,
}

/// What the planner of each kind of variant knows.
struct Known {
    routing: Arc<Surveyed>,
    pipeline: Option<Arc<Surveyed>>,
}

/// A seed's site with its routes.
pub(super) struct Drawn {
    site: Site,
    known: Known,
    pub(super) pairs: Vec<Pair>,
    /// The effective physical rate, from a single-hop run.
    rate_kbps: f64,
}

impl Transfers {
    pub(super) fn check(&self) -> Result<(), String> {
        let channel = |c: u8| Channel::new(c).is_ok();
        expect("routes", (1..=10_000).contains(&self.routes), "1 to 10000")?;
        expect(
            "packets",
            (1..=16_384).contains(&self.packets),
            "1 to 16384",
        )?;
        expect("bytes", !self.bytes.contains(&0), "lengths of at least 1")?;
        let payloads =
            !self.payload.is_empty() && self.payload.iter().all(|p| (1..=118).contains(p));
        expect("payload", payloads, "values from 1 to 118")?;
        let most = u64::from(thalweg_wire::pipeline::MAX_PACKETS);
        let fits = self
            .cells()
            .iter()
            .all(|c| u64::from(c.bytes).div_ceil(u64::from(c.payload.bytes())) <= most);
        expect("bytes", fits, "no more than 16384 packets")?;
        let channels = !self.channels.is_empty() && self.channels.iter().all(|c| channel(*c));
        expect("channels", channels, "channels from 11 to 26")?;
        expect(
            "routing_channel",
            channel(self.routing_channel),
            "a channel from 11 to 26",
        )?;
        expect(
            "protocols",
            !self.protocols.is_empty(),
            "at least one protocol",
        )?;
        let known = self.baseline.is_none_or(|b| self.protocols.contains(&b));
        expect("baseline", known, "one of the protocols")?;
        let route = &self.route;
        let hops = 1 <= route.min_hops && route.min_hops <= route.max_hops && route.max_hops <= 10;
        expect(
            "route",
            hops && (1..=20).contains(&route.min_paths),
            "1 to 10 hops, 1 to 20 paths",
        )?;
        let paths = self.max_paths.iter().all(|m| (1..=20).contains(m));
        expect("max_paths", paths, "values from 1 to 20")
    }
    pub(super) fn parts(&self) -> u64 {
        u64::from(self.routes)
    }

    pub(super) fn rows(
        &self,
        seeds: &[u64],
        sites: &Sites,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let rows = in_order(seeds, |seed| {
            let drawn = self.draw(*seed, sites, ticker)?;
            let routes: Vec<usize> = (0..drawn.pairs.len()).collect();
            let rows = in_order(&routes, |route| {
                ticker.go_on()?;
                let rows = self.route_rows(&drawn, *route)?;
                ticker.tick(1);
                Ok(rows)
            })?;
            // A building with fewer routes than wanted is done all the same.
            ticker.tick(u64::from(self.routes).saturating_sub(routes.len() as u64));
            Ok(rows.concat())
        })?;
        Ok(rows.concat())
    }

    /// Surveys the site of `seed` and draws its routes.
    pub(super) fn draw(
        &self,
        seed: u64,
        sites: &Sites,
        ticker: &Ticker<'_>,
    ) -> Result<Drawn, ExperimentError> {
        ticker.go_on()?;
        let site = sites.site(&self.testbed, seed)?;
        let routing_channel = self.routing_channel();
        let channels: ChannelSet = self.channel_list().into_iter().collect();
        let unfit = |why: String| ExperimentError::Unfit {
            testbed: self.testbed.clone(),
            seed,
            why,
        };
        let mut wanted = self.channel_list();
        wanted.push(routing_channel);
        if let Some(missing) = wanted.iter().find(|c| !site.testbed.channels.contains(**c)) {
            return Err(unfit(format!("channel {missing} is not available")));
        }
        let routing = sites.survey(&site, faithful_survey(routing_channel), ticker)?;
        let all = self
            .protocols
            .iter()
            .any(|v| v.knowledge() == Knowledge::PipelineChannels);
        let pipeline = match all {
            true => Some(sites.survey(&site, Survey::of(channels), ticker)?),
            false => None,
        };
        let count = self.routes as usize;
        let request = PairRequest {
            order: PairOrder::Random,
            floors: match self.route.floors {
                Floors::Any => PairFloors::Any,
                Floors::Different => PairFloors::Different,
            },
            min_hops: self.route.min_hops,
            route: self.request(&site, 0, 0, None),
            ..PairRequest::new(count)
        };
        let mut rng = stream(derive(seed, "routes", &[]), &self.draw, &[]);
        let pairs = suggest_pairs(&routing.links, &request, &mut rng);
        if pairs.is_empty() {
            return Err(unfit(format!(
                "no two nodes have {} node-distinct paths of {} to {} hops",
                self.route.min_paths, self.route.min_hops, self.route.max_hops
            )));
        }
        let rate_kbps = single_hop_rate(sites, seed)?;
        Ok(Drawn {
            site,
            known: Known { routing, pipeline },
            pairs,
            rate_kbps,
        })
    }

    fn route_rows(&self, drawn: &Drawn, route: usize) -> Result<Vec<Row>, ExperimentError> {
        let mut rows = Vec::new();
        for cell in self.cells() {
            let mut cell_rows = Vec::new();
            let mut baseline: Option<Outcome> = None;
            for &variant in &self.protocols {
                let Some(plan) = self.plan(drawn, route, variant, cell.max_paths) else {
                    continue;
                };
                let outcome = self.fetch(drawn, route, &plan, variant, &cell, None)?;
                if self.baseline == Some(variant) {
                    baseline = Some(outcome.clone());
                }
                cell_rows.push(self.row(drawn, route, &plan, variant, &cell, &outcome));
            }
            if let Some(b) = baseline {
                for row in &mut cell_rows {
                    row.set("baseline_goodput_kbps", b.goodput_kbps);
                    row.set("baseline_active_nodes", b.active_nodes);
                    row.set_some("baseline_energy_j", b.verified.then_some(b.energy_j));
                }
            }
            rows.extend(cell_rows);
        }
        Ok(rows)
    }

    /// The plan of `variant` for a route; none where its planner finds none.
    pub(super) fn plan(
        &self,
        drawn: &Drawn,
        route: usize,
        variant: Variant,
        max_paths: Option<usize>,
    ) -> Option<Plan> {
        let pair = drawn.pairs.get(route)?;
        let request =
            variant.request(&self.request(&drawn.site, pair.source, pair.sink, max_paths));
        let known = &drawn.known;
        let links = match (variant.knowledge(), &known.pipeline) {
            (Knowledge::PipelineChannels, Some(surveyed)) => &surveyed.links,
            _ => &known.routing.links,
        };
        // One stream for a route and a cell, whatever the variant: `p3` and `pip` share the plan.
        let ids = [
            pair.source as u64,
            pair.sink as u64,
            max_paths.map_or(0, |m| m as u64),
        ];
        let mut rng = stream(derive(drawn.site.seed, "plan", &[]), &self.draw, &ids);
        plan(links, &request, &mut rng).ok()
    }

    fn fetch(
        &self,
        drawn: &Drawn,
        route: usize,
        plan: &Plan,
        variant: Variant,
        cell: &Cell,
        environment: Option<Arc<Environment>>,
    ) -> Result<Outcome, ExperimentError> {
        let site = &drawn.site;
        // Without the variant: protocols meet the same run of the environment.
        let seed = derive(derive(site.seed, &self.draw, &[]), "route", &[route as u64]);
        let environment = environment.unwrap_or_else(|| site.environment.clone());
        let mut session = Session::open(&site.testbed, environment, seed)?;
        let object = random_object(derive(seed, "object", &[]), cell.bytes as usize);
        session.offer(plan.source, object);
        let terms = variant.terms(Terms {
            payload: cell.payload,
            ..Terms::default()
        });
        let protocol = variant.protocol();
        let (outcome, _) =
            session.fetch(plan, protocol, &terms, &mut |_| ControlFlow::Continue(()))?;
        Ok(outcome)
    }

    /// The transfer of the first cell over a route, in another environment than the site's.
    pub(super) fn fetch_in(
        &self,
        drawn: &Drawn,
        route: usize,
        plan: &Plan,
        variant: Variant,
        environment: Arc<Environment>,
    ) -> Result<Row, ExperimentError> {
        let cell = self.first_cell();
        let outcome = self.fetch(drawn, route, plan, variant, &cell, Some(environment))?;
        Ok(self.row(drawn, route, plan, variant, &cell, &outcome))
    }

    fn row(
        &self,
        drawn: &Drawn,
        route: usize,
        plan: &Plan,
        variant: Variant,
        cell: &Cell,
        o: &Outcome,
    ) -> Row {
        let mut row = outcome_row(o)
            .with(super::metric::SEED, drawn.site.seed)
            .with("route", route + 1)
            .with("protocol", variant.name())
            .with("shortest", plan.shortest)
            .with("payload", u32::from(cell.payload.bytes()))
            .with("object_bytes", cell.bytes)
            .with("rate_kbps", drawn.rate_kbps)
            .with("utilisation", o.goodput_kbps / drawn.rate_kbps);
        row.set_some("max_paths", cell.max_paths);
        let data_s = o.duration_s - o.wake_up_s;
        if o.verified && data_s > 0.0 {
            let kbps = o.bytes as f64 * 8.0 / 1000.0 / data_s;
            row.set("utilisation_without_overhead", kbps / drawn.rate_kbps);
        }
        let predicted = match variant.protocol() {
            Protocol::Pip | Protocol::PipHopping | Protocol::Cit => {
                plan.pip.prediction.goodput_kbps
            }
            _ => plan.prediction.goodput_kbps,
        };
        row.set("predicted_kbps", predicted);
        row
    }

    /// The cells of the sweep, in the order of the file.
    fn cells(&self) -> Vec<Cell> {
        let max_paths: Vec<Option<usize>> = match self.max_paths.is_empty() {
            true => vec![None],
            false => self.max_paths.iter().copied().map(Some).collect(),
        };
        let mut cells = Vec::new();
        for payload in self.payload.iter().filter_map(|p| PayloadSize::new(*p)) {
            let full = [self.packets.saturating_mul(u32::from(payload.bytes()))];
            let bytes = if self.bytes.is_empty() {
                &full[..]
            } else {
                &self.bytes[..]
            };
            for &bytes in bytes {
                cells.extend(max_paths.iter().map(|&max_paths| Cell {
                    payload,
                    bytes,
                    max_paths,
                }));
            }
        }
        cells
    }
    fn first_cell(&self) -> Cell {
        let whole = Cell {
            payload: PayloadSize::MAX,
            bytes: 59_000,
            max_paths: None,
        };
        self.cells().first().copied().unwrap_or(whole)
    }

    fn routing_channel(&self) -> Channel {
        Channel::new(self.routing_channel).unwrap_or(Channel::LAST)
    }
    fn channel_list(&self) -> Vec<Channel> {
        self.channels
            .iter()
            .filter_map(|c| Channel::new(*c).ok())
            .collect()
    }
    /// What P3 and PIP ask of the planner.
    fn request(
        &self,
        site: &Site,
        source: usize,
        sink: usize,
        max_paths: Option<usize>,
    ) -> RouteRequest {
        let mut request = RouteRequest::new(source, sink);
        request.routing_channel = self.routing_channel();
        request.channels = spread_order(&self.channel_list(), request.routing_channel);
        request.rule.floor = site.testbed.board.chip().noise_floor;
        request.fallback = request.rule.weaker();
        request.min_paths = self.route.min_paths;
        request.max_paths = max_paths;
        request.max_hops = self.route.max_hops;
        request
    }
}

/// What every row of a transfer tells.
pub(super) fn outcome_row(o: &Outcome) -> Row {
    let mut row = Row::new()
        .with("source", u32::from(o.source))
        .with("sink", u32::from(o.sink))
        .with("hops", o.hops)
        .with("paths", o.paths)
        .with("active_nodes", o.active_nodes)
        .with("goodput_kbps", o.goodput_kbps)
        .with("rounds", o.rounds)
        .with("energy_j", o.energy_j)
        .with("duration_s", o.duration_s)
        .with("wake_up_s", o.wake_up_s)
        .with("bytes", o.bytes)
        .with("verified", u32::from(o.verified));
    row.set_some("r1", o.first_round_reliability);
    row.set_some("retransmitted", o.retransmitted);
    row.set_some("failure", o.failure.as_deref());
    row
}

/// The effective physical rate in kbit/s (P3, section V): the bits of data frames, header and
/// payload, per time at which a single hop without losses delivers them. Measured at the sink of
/// testbed `pair`.
fn single_hop_rate(sites: &Sites, seed: u64) -> Result<f64, ExperimentError> {
    const PACKETS: usize = 500;
    let testbed: Arc<Testbed> = sites.testbed("pair")?;
    let unfit = |why: &str| ExperimentError::Unfit {
        testbed: testbed.name.clone(),
        seed,
        why: why.to_owned(),
    };
    let environment = Arc::new(testbed.realise(seed));
    let seed = derive(seed, "single hop", &[]);
    let mut session = Session::open(&testbed, environment, seed)?;
    let sink = testbed.sink_index();
    let mut silent = |_| ControlFlow::Continue(());
    let survey = Survey {
        interval: Duration::from_millis(10),
        ..faithful_survey(Channel::LAST)
    };
    let links = session.survey(sink, survey, &mut silent)?.links;
    let source = usize::from(sink == 0);
    let request = RouteRequest {
        hops: Some(1),
        min_paths: 1,
        ..RouteRequest::new(source, sink)
    };
    let mut rng = stream(seed, "plan", &[]);
    let plan = plan(&links, &request, &mut rng).map_err(|e| unfit(&e.to_string()))?;
    let terms = Terms::default();
    let payload = usize::from(terms.payload.bytes());
    session.offer(source, random_object(seed, PACKETS * payload));
    let heard: Arc<Mutex<Vec<(SimTime, usize)>>> = Arc::default();
    let hook = heard.clone();
    session.network().trace(Some(Box::new(move |r| {
        if r.to == sink && r.outcome == Fate::Good && r.mpdu.len() > payload {
            hook.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((r.at, r.mpdu.len()));
        }
    })));
    session.fetch(&plan, Protocol::P3, &terms, &mut silent)?;
    session.network().trace(None);
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let data: Vec<&(SimTime, usize)> = heard.iter().take(PACKETS).collect();
    let (Some((first, _)), Some((last, _))) = (data.first(), data.last()) else {
        return Err(unfit("a single hop delivered nothing"));
    };
    let bits: usize = data.iter().skip(1).map(|(_, bytes)| bytes * 8).sum();
    Ok(bits as f64 / 1000.0 / last.since(*first).as_secs_f64())
}
