//! Groups of jobs: those that were asked for at once. Tests: `crates/daemon/tests/all/groups.rs`.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::Json;
use serde_json::{json, Value};

use super::api::PageQuery;
use super::{App, Refusal};
use crate::stations::Stations;
use thalweg_host::store::{JobGroup, JobId, JobState};

/// A group with how many of its jobs are in each state.
fn group_json(group: &JobGroup) -> Value {
    let mut json = json!(group);
    let counts = JobState::ALL.iter().zip(group.counts);
    json["states"] = counts.map(|(state, n)| (state.name(), n)).collect();
    json
}

/// Group `id`.
fn found(stations: &Stations, id: i64) -> Result<JobGroup, Refusal> {
    let group = stations.shared().store().group(JobId(id))?;
    group.ok_or_else(|| Refusal::not_found(format!("there is no group {id}")))
}

pub(super) async fn groups(
    State(app): State<App>,
    part: Query<PageQuery>,
) -> Result<Response, Refusal> {
    app.with_stations(move |stations| {
        let (before, most) = part.bounds();
        let all = stations.shared().store().groups(before.map(JobId), most)?;
        let all: Vec<Value> = all.iter().map(group_json).collect();
        Ok(Json(json!({ "groups": all })).into_response())
    })
    .await
}

pub(super) async fn group(
    State(app): State<App>,
    Path(id): Path<i64>,
) -> Result<Response, Refusal> {
    app.with_stations(move |stations| {
        let group = found(stations, id)?;
        Ok(Json(group_json(&group)).into_response())
    })
    .await
}

pub(super) async fn cancel(
    State(app): State<App>,
    Path(id): Path<i64>,
) -> Result<Response, Refusal> {
    app.with_stations(move |stations| {
        if stations.cancel_group(&found(stations, id)?)? == 0 {
            let why = "all jobs of the group have ended";
            return Err(Refusal::new(StatusCode::CONFLICT, why));
        }
        let group = found(stations, id)?;
        Ok(Json(group_json(&group)).into_response())
    })
    .await
}
