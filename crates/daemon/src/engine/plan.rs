//! What is asked of the network for a node's object, and plans as jobs. Time base: none. Tests:
//! `crates/daemon/tests/all/`.

use serde::Serialize;
use thalweg_planner::Plan;
use thalweg_units::NodeId;
use thalweg_wire::route::PayloadSize;

use super::stop::Stop;
use super::survey::wall;
use crate::desk::{now, Desk, Surveyed};
use thalweg_host::link_state::{LinkState, PlanRequest, Planned};
use thalweg_host::store::{JobState, Level, StoreError, StoredJob};
use thalweg_host::transfer::account::expected;
use thalweg_host::transfer::pipeline::Terms;

/// So many of a node's last objects are looked at for how long the next may be.
const BEFORE: u32 = 8;

/// What is expected of a transfer.
#[derive(Serialize)]
struct Expected {
    time_s: Option<f64>,
    goodput_kbps: f64,
    rounds: Option<f64>,
    hops: usize,
    paths: usize,
    energy_j: Option<f64>,
    links_age_s: Option<f64>,
}

/// How the object of node `from` is asked for; it is taken to be as long as the last.
pub(super) fn ask(desk: &Desk, from: NodeId) -> Result<PlanRequest, StoreError> {
    let before = desk.store().latest_of(desk.network(), from, BEFORE)?;
    // What came in a session is as long as the session was.
    let last = before.iter().find(|t| t.record.protocol != "rcrt");
    Ok(PlanRequest {
        from: Some(from),
        bytes: last.map_or(desk.facts.usual_bytes, |t| t.record.bytes.max(1)),
        protocol: desk.transfers.protocol,
        payload: PayloadSize::MAX,
        paths: None,
        hops: None,
    })
}

/// Writes down what is expected of `plan`.
pub(super) fn expect(
    desk: &Desk,
    job: &StoredJob,
    (known, plan): (&LinkState, &Plan),
    ask: &PlanRequest,
) -> Result<(), StoreError> {
    let (prediction, paths) = expected(plan, ask.protocol.scheme);
    let expected = Expected {
        time_s: prediction.time_s,
        goodput_kbps: prediction.goodput_kbps,
        rounds: prediction.rounds,
        hops: plan.hops,
        paths,
        energy_j: prediction.energy_j,
        links_age_s: known.age().map(|age| age.as_secs_f64()),
    };
    let expected = serde_json::to_string(&expected).unwrap_or_default();
    desk.store().expect_of_job(job.id, &expected)
}

/// Plans how the object of node `from` would come over links as `surveyed` has them, and keeps the plan with `job`.
pub(super) fn run(
    desk: &Desk,
    (job, name): (&StoredJob, &str),
    from: NodeId,
    surveyed: &Surveyed,
) -> Result<(), Stop> {
    let ask = ask(desk, from)?;
    let mut left_alone = desk.holds()?.nodes();
    left_alone.retain(|node| *node != from);
    let known = surveyed.known.viewed_at(wall(now())).without(&left_alone);
    let plan = known.plan(&ask)?;
    expect(desk, job, (&known, &plan), &ask)?;
    let faithful = Terms {
        payload: ask.payload,
        ..Terms::default()
    };
    let payload = ask.protocol.terms(faithful).payload.bytes();
    let of = (ask.bytes, payload);
    let planned = Planned::new(&known, ask.protocol.name, of, &plan);
    let outcome = serde_json::to_string(&planned).unwrap_or_default();
    desk.store()
        .end_job(job.id, JobState::Done, Some(&outcome), None)?;
    let age_s = known.age().map_or(0.0, |age| age.as_secs_f64());
    let line = format!(
        "{name}: {} hops, {} paths, {:.0} kbit/s expected by links {age_s:.0} s old",
        plan.hops,
        plan.path_count(),
        plan.prediction.goodput_kbps
    );
    desk.log(Level::Info, &line);
    Ok(())
}
