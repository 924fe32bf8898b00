//! The main job on `indriya`, in pieces: survey of all sixteen channels, plan, transfer of 500
//! packets with P3 (wake-up included, the network switched on before the clock starts).
//!
//! Rates are air frames and events of the simulation per second of processor time.

#[path = "../../../bench/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::{BatchSize, Criterion, Throughput};
use std::hint::black_box;
use std::ops::ControlFlow::Continue;
use thalweg_host::survey::{Survey, SurveyOutcome};
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::pairs::{suggest_pairs, Floors, PairOrder, PairRequest};
use thalweg_planner::{plan, Plan, RouteRequest};
use thalweg_sim::Stats;
use thalweg_simnet::collect::random_object;
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::Channel;
use thalweg_wire::route::Scheme;

const SEED: u64 = 1;
/// 500 packets of 118 bytes.
const OBJECT_BYTES: usize = 59_000;

struct Bench {
    site: Site,
}

impl Bench {
    fn open() -> Self {
        let testbed = Testbed::load("indriya").unwrap_or_else(|error| panic!("{error}"));
        let site = Site::new(testbed, SEED);
        Self { site }
    }
    fn session(&self, purpose: &str) -> Motes {
        Motes::open(&self.site, derive(SEED, purpose, &[]))
            .unwrap_or_else(|error| panic!("{error}"))
    }
    fn survey(&self, session: &mut Motes) -> SurveyOutcome {
        let survey = Survey::of(Channel::all().collect());
        session
            .survey(
                self.site.testbed.sink_index(),
                survey,
                &mut |_| Continue(()),
            )
            .unwrap_or_else(|error| panic!("{error}"))
    }
    /// The first of the routes between floors that the survey supports, drawn from the seed.
    fn route(&self, surveyed: &SurveyOutcome) -> RouteRequest {
        let request = PairRequest {
            order: PairOrder::Random,
            floors: Floors::Different,
            ..PairRequest::new(1)
        };
        let mut rng = stream(SEED, "routes", &[]);
        let pairs = suggest_pairs(&surveyed.links, &request, &mut rng);
        RouteRequest::new(pairs[0].source, pairs[0].sink)
    }
    fn plan(surveyed: &SurveyOutcome, route: &RouteRequest) -> Plan {
        let mut rng = stream(SEED, "plan", &[]);
        plan(&surveyed.links, route, &mut rng).unwrap_or_else(|error| panic!("{error}"))
    }
    /// A network that is switched on, the object at the plan's source.
    fn offering(&self, plan: &Plan) -> Motes {
        let mut session = self.session("route");
        session.offer(
            plan.source,
            random_object(SEED, self.site.testbed.nodes[plan.source].id, OBJECT_BYTES),
        );
        session
    }
}

fn fetch(session: &mut Motes, plan: &Plan) -> Stats {
    let terms = TransferTerms::default();
    let fetched = session.fetch(plan, Scheme::P3, &terms, &mut |_| Continue(()));
    match fetched {
        Ok((outcome, object)) => {
            assert!(outcome.summary.verified, "{outcome:?}");
            black_box(object);
        }
        Err(error) => panic!("{error}"),
    }
    session.network().stats()
}

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(CpuTime)
        .configure_from_args();
    let site = Bench::open();
    let mut session = site.session("survey");
    let surveyed = site.survey(&mut session);
    let frames = session.network().stats().air_frames;
    let route = site.route(&surveyed);
    let plan = Bench::plan(&surveyed, &route);
    let stats = fetch(&mut site.offering(&plan), &plan);

    let mut group = criterion.benchmark_group("indriya");
    group.sample_size(10);
    group.throughput(Throughput::Elements(frames));
    group.bench_function("survey_air_frames", |b| {
        b.iter_batched_ref(
            || site.session("survey"),
            |session| site.survey(session),
            BatchSize::PerIteration,
        );
    });
    group.sample_size(50);
    group.throughput(Throughput::Elements(1));
    group.bench_function("plan", |b| b.iter(|| Bench::plan(&surveyed, &route)));
    for (what, count) in [
        ("p3_air_frames", stats.air_frames),
        ("p3_events", stats.events),
    ] {
        group.throughput(Throughput::Elements(count));
        group.bench_function(what, |b| {
            b.iter_batched_ref(
                || site.offering(&plan),
                |session| fetch(session, &plan),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
    criterion.final_summary();
}
