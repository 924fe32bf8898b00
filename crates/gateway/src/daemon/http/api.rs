//! Jobs, objects, nodes and the log as JSON.

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{header, HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::Json;
use serde::Deserialize;
use serde_json::{json, Value};
use thalweg_units::NodeId;

use super::{App, Refusal};
use crate::daemon::desk::{now, Cancel, Desk, Line};
use crate::daemon::mqtt::Broker;
use crate::daemon::view;
use crate::store::{JobId, TransferId, Work};

/// What the API is, in OpenAPI 3.1.
pub(super) const DESCRIPTION: &str = include_str!("api.json");
/// So many jobs, objects and lines are told at once.
const PAGE: u32 = 100;

type Answer = Result<Response, Refusal>;

/// Which part of a long list: what is older than this number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    before: Option<i64>,
    limit: Option<u32>,
}

impl Part {
    fn limit(&self) -> u32 {
        self.limit.unwrap_or(PAGE).clamp(1, 1_000)
    }
}

/// What is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    kind: Kind,
    from: Option<From>,
    #[serde(default)]
    priority: i8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Survey,
    Fetch,
}

/// One node, some, or `"all"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum From {
    One(u16),
    Some(Vec<u16>),
    Word(String),
}

pub(super) async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION).into_response()
}

pub(super) async fn health(State(app): State<App>) -> Answer {
    app.ask(|desk| {
        let line = desk.line();
        // A store that does not answer is no health.
        desk.store().total()?;
        let version = env!("CARGO_PKG_VERSION");
        let mqtt = desk.mqtt.as_ref().map(|mqtt| mqtt.broker());
        let waiting = desk.store().count_waiting()?;
        let is_cut = matches!(line, Line::Down(_)) || matches!(mqtt, Some(Broker::Away(_)));
        let mqtt = mqtt.map(|broker| json!({ "broker": broker, "waiting": waiting }));
        let status = if is_cut { "degraded" } else { "ok" };
        let told = json!({ "status": status, "version": version, "line": line, "mqtt": mqtt });
        Ok(Json(told).into_response())
    })
    .await
}

pub(super) async fn jobs(State(app): State<App>, part: Query<Part>) -> Answer {
    app.ask(move |desk| {
        let (open, ended) = {
            let store = desk.store();
            let open = match part.before {
                None => store.open_jobs(desk.network())?,
                Some(_) => Vec::new(),
            };
            let before = part.before.map(JobId);
            (
                open,
                store.ended_jobs(desk.network(), before, part.limit())?,
            )
        };
        let running = desk.running();
        let all = open.iter().chain(&ended);
        let all: Vec<_> = all.map(|job| view::job(job, running.as_ref())).collect();
        Ok(Json(json!({ "jobs": all })).into_response())
    })
    .await
}

/// The work that is asked for.
fn work(desk: &Desk, kind: &str, from: &[u16]) -> Result<Vec<Work>, Refusal> {
    if kind == "survey" {
        return Ok(vec![Work::Survey]);
    }
    let refused = |why: String| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
    let place = &desk.facts.place;
    let one = |from: &u16| {
        let node = NodeId::new(*from).map_err(|why| refused(format!("from: {why}")))?;
        place
            .index_of(node)
            .map_err(|why| refused(why.to_string()))?;
        match node == desk.facts.sink {
            true => Err(refused(format!("node {node} is the base station"))),
            false => Ok(Work::Fetch { from: node }),
        }
    };
    match from.len() > place.ids.len() {
        true => Err(refused("more nodes than the network has".to_owned())),
        false => from.iter().map(one).collect(),
    }
}

/// Queues what a form or a program asks for.
pub(super) fn queue(
    desk: &Desk,
    (kind, from): (&str, &[u16]),
    priority: i8,
) -> Result<Vec<crate::store::StoredJob>, Refusal> {
    let work = work(desk, kind, from)?;
    Ok(desk.submit(&work, priority)?)
}

/// All nodes that may have objects.
pub(super) fn everyone(desk: &Desk) -> Vec<u16> {
    desk.facts.sources().map(NodeId::get).collect()
}

pub(super) async fn submit(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Answer {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Refusal::new(
            status,
            "expected Content-Type: application/json",
        ));
    }
    let wrong = |why: String| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
    let asked: Asked = serde_json::from_slice(&body).map_err(|why| wrong(why.to_string()))?;
    let from = match (asked.kind, asked.from) {
        (Kind::Survey, None) => Some(Vec::new()),
        (Kind::Survey, Some(_)) => return Err(wrong("a survey is of all nodes".to_owned())),
        (Kind::Fetch, Some(From::One(node))) => {
            let jobs = app.ask(move |desk| queue(desk, ("fetch", &[node]), asked.priority));
            return one(&jobs.await?);
        }
        (Kind::Fetch, Some(From::Some(nodes))) if !nodes.is_empty() => Some(nodes),
        (Kind::Fetch, Some(From::Word(word))) if word == "all" => None,
        (Kind::Fetch, _) => {
            return Err(wrong(
                "from: expected a node, a list, or \"all\"".to_owned(),
            ))
        }
    };
    let kind = match asked.kind {
        Kind::Survey => "survey",
        Kind::Fetch => "fetch",
    };
    let jobs = app.ask(move |desk| {
        let from = from.unwrap_or_else(|| everyone(desk));
        queue(desk, (kind, &from), asked.priority)
    });
    let jobs = jobs.await?;
    if asked.kind == Kind::Survey {
        return one(&jobs);
    }
    let jobs: Vec<_> = jobs.iter().map(|job| view::job(job, None)).collect();
    Ok((StatusCode::CREATED, Json(json!({ "jobs": jobs }))).into_response())
}

/// The one job that was made.
fn one(jobs: &[crate::store::StoredJob]) -> Answer {
    let Some(job) = jobs.first() else {
        return Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "no job was made",
        ));
    };
    let at = [(header::LOCATION, format!("/api/jobs/{}", job.id.0))];
    Ok((StatusCode::CREATED, at, Json(view::job(job, None))).into_response())
}

/// Job `id` as it is.
fn told(desk: &Desk, id: i64) -> Result<Value, Refusal> {
    let job = desk.store().job(JobId(id))?;
    let job = job.ok_or_else(|| Refusal::nothing(format!("there is no job {id}")))?;
    let told = serde_json::to_value(view::job(&job, desk.running().as_ref()));
    told.map_err(|why| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why.to_string()))
}

pub(super) async fn job(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    let job = app.ask(move |desk| told(desk, id)).await?;
    Ok(Json(job).into_response())
}

pub(super) async fn cancel(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    app.ask(move |desk| {
        let status = match desk.cancel(JobId(id))? {
            Cancel::Done => StatusCode::OK,
            Cancel::Asked => StatusCode::ACCEPTED,
            Cancel::TooLate => {
                return Err(Refusal::new(StatusCode::CONFLICT, "the job has ended"));
            }
            Cancel::Unknown => return Err(Refusal::nothing(format!("there is no job {id}"))),
        };
        Ok((status, Json(told(desk, id)?)).into_response())
    })
    .await
}

pub(super) async fn objects(State(app): State<App>, part: Query<Part>) -> Answer {
    app.ask(move |desk| {
        let before = part.before.map(TransferId);
        let all = desk.store().latest(before, part.limit())?;
        let all: Vec<_> = all.iter().map(view::object).collect();
        Ok(Json(json!({ "objects": all })).into_response())
    })
    .await
}

pub(super) async fn object(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    app.ask(move |desk| {
        let found = desk.store().transfer(TransferId(id))?;
        let found = found.filter(|found| found.object.is_some());
        let found = found.ok_or_else(|| Refusal::nothing(format!("there is no object {id}")))?;
        Ok(Json(view::object(&found)).into_response())
    })
    .await
}

pub(super) async fn network(State(app): State<App>) -> Answer {
    app.ask(|desk| {
        let (facts, surveyed) = (&desk.facts, desk.surveyed());
        let survey = surveyed.map(|surveyed| {
            let channel = surveyed.known.routing_channel();
            let missing: Vec<u16> = surveyed.missing.iter().map(|n| n.get()).collect();
            json!({
                "age_s": now() - surveyed.at,
                "took_s": surveyed.took_s,
                "channel": channel.number(),
                "links": surveyed.known.links().summary(channel).heard_pairs,
                "missing": missing,
            })
        });
        let told = json!({
            "name": desk.network(),
            "about": facts.about,
            "sink": facts.sink.get(),
            "nodes": facts.place.ids.len(),
            "protocol": desk.transfers.protocol.name,
            "line": desk.line(),
            "survey": survey,
        });
        Ok(Json(told).into_response())
    })
    .await
}

/// All nodes, or the one called `only`.
fn list(desk: &Desk, only: Option<NodeId>) -> Result<Vec<view::Node>, Refusal> {
    let last = desk.store().last_heard(desk.network())?;
    let node = |(index, id): (usize, &NodeId)| {
        let last = last.iter().find(|(node, ..)| node == id);
        let last = last.map(|(_, at, transfer)| (&**at, *transfer));
        view::node(&desk.facts, index, last)
    };
    let all = desk.facts.place.ids.iter().enumerate();
    let all = all.filter(|(_, id)| only.is_none_or(|only| **id == only));
    Ok(all.map(node).collect())
}

pub(super) async fn nodes(State(app): State<App>) -> Answer {
    let nodes = app.ask(|desk| list(desk, None)).await?;
    Ok(Json(json!({ "nodes": nodes })).into_response())
}

pub(super) async fn node(State(app): State<App>, Path(id): Path<u16>) -> Answer {
    app.ask(move |desk| {
        let nothing = || Refusal::nothing(format!("there is no node {id}"));
        let node = NodeId::new(id).map_err(|_| nothing())?;
        let of = list(desk, Some(node))?.pop().ok_or_else(nothing)?;
        let index = desk.facts.place.index_of(node).map_err(|_| nothing())?;
        let links = desk.surveyed();
        let links = links.map(|surveyed| view::links(&desk.facts, surveyed.known.links(), index));
        Ok(Json(json!({ "node": of, "links": links })).into_response())
    })
    .await
}

pub(super) async fn log(State(app): State<App>, part: Query<Part>) -> Answer {
    app.ask(move |desk| {
        let lines = desk.store().lines(part.before, part.limit())?;
        Ok(Json(json!({ "lines": lines })).into_response())
    })
    .await
}
