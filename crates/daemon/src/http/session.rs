//! Requests for sessions, and the status of their sources over time. Tests: `crates/daemon/tests/all/`.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::Json;
use serde_json::json;
use thalweg_units::NodeId;

use super::{App, Refusal};
use crate::station_state::StationState;
use crate::view;
use thalweg_host::connector::Sessions;
use thalweg_host::store::{JobId, StoredJob, Work};
pub(super) use thalweg_host::transfer::session::{SessionRequest, DEMAND};

/// The policy of a session, unless the request names one.
pub(super) const POLICY: &str = "demand-limited";

/// Queues a session that a form or a program asks for.
pub(super) fn queue(
    station: &StationState,
    mut request: SessionRequest,
    priority: i8,
) -> Result<Vec<StoredJob>, Refusal> {
    let refused = |why: String| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
    if let Sessions::Lacking(why) = station.facts.sessions {
        return Err(refused(why.to_owned()));
    }
    request.check().map_err(|why| refused(why.to_string()))?;
    for source in &request.sources {
        let node = NodeId::new(*source).map_err(|why| refused(format!("sources: {why}")))?;
        let place = &station.facts.network.place;
        place
            .index_of(node)
            .map_err(|why| refused(why.to_string()))?;
        if station.facts.network.is_station(node) {
            return Err(refused(format!("node {node} is the base station")));
        }
    }
    request.sources.sort_unstable();
    Ok(station.submit(&[Work::Session(request)], priority)?)
}

/// How the sources of a session fared over time, and fare now.
pub(super) async fn rates(
    State(app): State<App>,
    Path(id): Path<i64>,
) -> Result<Response, Refusal> {
    app.with_stations(move |stations| {
        let id = JobId(id);
        let job = stations.shared().store().job(id)?;
        match job.map(|job| job.work) {
            Some(Work::Session(_)) => {}
            Some(_) => return Err(Refusal::not_found(format!("job {} is no session", id.0))),
            None => return Err(Refusal::not_found(format!("there is no job {}", id.0))),
        }
        let samples = stations.shared().store().samples(id)?;
        let of = |sample: &thalweg_host::store::Sample| {
            view::rates(id, f64::from(sample.at_s), &sample.sources)
        };
        let samples: Vec<_> = samples.iter().map(of).collect();
        Ok(Json(json!({ "job": id.0, "samples": samples })).into_response())
    })
    .await
}
