//! Plan requests for a node's object, and plan jobs. Time base: none. Tests: `crates/daemon/tests/all/`.

use serde::Serialize;
use thalweg_planner::Plan;
use thalweg_units::NodeId;
use thalweg_wire::route::PayloadSize;

use super::stop::Stop;
use crate::clock::wall_time;
use crate::snapshot::LinkSnapshot;
use crate::station_state::{now, StationState};
use thalweg_host::link_state::{LinkState, PlanRequest, PlanRequestError, PlanSummary};
use thalweg_host::store::{JobState, Level, StoreError, StoredJob};
use thalweg_host::transfer::account::expected;
use thalweg_host::transfer::pipeline::TransferTerms;

/// How many of a node's last objects to look at for the length of the next.
const BEFORE: u32 = 8;

/// The prediction of a transfer, as JSON.
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

/// The plan request for the object of node `from`, which is assumed to be as long as the last.
pub(super) fn request(station: &StationState, from: NodeId) -> Result<PlanRequest, StoreError> {
    let before = station.store().latest_of(station.network(), from, BEFORE)?;
    // An object of a session is as long as the session was.
    let last = before
        .iter()
        .find(|t| !t.record.protocol.starts_with("rcrt"));
    Ok(PlanRequest {
        from: Some(from),
        bytes: last.map_or(station.facts.usual_bytes, |t| t.record.bytes.max(1)),
        protocol: station.transfers.protocol,
        payload: PayloadSize::MAX,
        paths: None,
        hops: None,
    })
}

/// The plan of `request` into the base station that is expected to be the fastest, and `link_state` towards that.
///
/// # Errors
/// [`PlanRequestError`].
pub(super) fn fastest(
    station: &StationState,
    link_state: &LinkState,
    request: &PlanRequest,
) -> Result<(LinkState, Plan), PlanRequestError> {
    link_state.towards_fastest(&station.facts.network.stations(), request)
}

/// Stores the prediction of `plan`.
pub(super) fn store_prediction(
    station: &StationState,
    job: &StoredJob,
    (link_state, plan): (&LinkState, &Plan),
    request: &PlanRequest,
) -> Result<(), StoreError> {
    let (prediction, paths) = expected(plan, request.protocol.scheme);
    let expected = Expected {
        time_s: prediction.time_s,
        goodput_kbps: prediction.goodput_kbps,
        rounds: prediction.rounds,
        hops: plan.hops,
        paths,
        energy_j: prediction.energy_j,
        links_age_s: link_state.age().map(|age| age.as_secs_f64()),
    };
    let expected = serde_json::to_string(&expected).unwrap_or_default();
    station.store().set_expected(job.id, &expected)
}

/// Plans a fetch of the object of node `from` over the links of `snapshot`, and stores the plan with `job`.
pub(super) fn run(
    station: &StationState,
    (job, name): (&StoredJob, &str),
    from: NodeId,
    snapshot: &LinkSnapshot,
) -> Result<(), Stop> {
    let request = request(station, from)?;
    let mut spared = station.eligibility()?.nodes();
    spared.retain(|node| *node != from);
    let link_state = snapshot.link_state.as_of(wall_time(now())).without(&spared);
    let (link_state, plan) = fastest(station, &link_state, &request)?;
    store_prediction(station, job, (&link_state, &plan), &request)?;
    let faithful = TransferTerms {
        payload: request.payload,
        ..TransferTerms::default()
    };
    let protocol = request.protocol.over(&plan);
    let payload = protocol.terms(faithful).payload.bytes();
    let of = (request.bytes, payload);
    let planned = PlanSummary::new(&link_state, protocol.name, of, &plan);
    let outcome = serde_json::to_string(&planned).unwrap_or_default();
    station
        .store()
        .end_job(job.id, JobState::Done, Some(&outcome), None)?;
    let age_s = link_state.age().map_or(0.0, |age| age.as_secs_f64());
    let line = format!(
        "{name}: hops {}, paths {}, {:.0} kbit/s expected by links {age_s:.0} s old",
        plan.hops,
        plan.path_count(),
        plan.prediction.goodput_kbps
    );
    station.log(Level::Info, &line);
    Ok(())
}
