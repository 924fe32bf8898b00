//! Jobs, objects, nodes and the log as JSON.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{header, HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use thalweg_units::NodeId;

use super::{session, App, Refusal};
use crate::mqtt::Broker;
use crate::station_state::{Cancel, Line, StationState};
use crate::stations::Stations;
use crate::view;
use thalweg_host::store::{Deleted, JobId, Level, TransferId, Work};
use thalweg_host::text::count;
use thalweg_host::transfer::session::{SessionRequest, SessionRequestError, DEMAND};
use thalweg_host::API_VERSION;

/// What the API is, in OpenAPI 3.1.
pub(super) const DESCRIPTION: &str = include_str!("api.json");
/// The default number of jobs, objects or lines in an answer.
const PAGE: u32 = 100;

type Answer = Result<Response, Refusal>;

/// Which part of a long list: what is older than this number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageQuery {
    before: Option<i64>,
    limit: Option<u32>,
}

fn limit(request: Option<u32>) -> u32 {
    request.unwrap_or(PAGE).clamp(1, 1_000)
}

/// Which jobs: of one station, or of all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobsPart {
    before: Option<i64>,
    limit: Option<u32>,
    station: Option<String>,
    group: Option<i64>,
}

/// Of which station.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StationQuery {
    station: Option<String>,
}

impl PageQuery {
    fn limit(&self) -> u32 {
        limit(self.limit)
    }
    /// Older than which number, and how many.
    pub(super) fn bounds(&self) -> (Option<i64>, u32) {
        (self.before, self.limit())
    }
}

/// The body of a request for jobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobRequest {
    kind: Kind,
    from: Option<From>,
    #[serde(default)]
    priority: i8,
    station: Option<String>,
    sources: Option<From>,
    policy: Option<String>,
    demand: Option<f64>,
    demands: Option<BTreeMap<u16, f64>>,
    duration_s: Option<f64>,
}

impl JobRequest {
    /// The request in `body`, which `headers` call JSON.
    fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, Refusal> {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Refusal::new(
                status,
                "expected Content-Type: application/json",
            ));
        }
        serde_json::from_slice(body).map_err(|why| wrong(why.to_string()))
    }
    /// Whether something is named that only a session has.
    fn is_of_session(&self) -> bool {
        let terms = self.policy.is_some() || self.demand.is_some() || self.demands.is_some();
        terms || self.sources.is_some() || self.duration_s.is_some()
    }
    /// The request for a session; without sources it is for all nodes.
    fn session(self) -> Result<SessionRequest, Refusal> {
        let nobody = SessionRequestError::Nobody.to_string();
        let nobody = || Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, nobody.clone());
        let sources = match self.sources {
            Some(From::One(node)) => vec![node],
            Some(From::Some(nodes)) if !nodes.is_empty() => nodes,
            Some(From::Word(word)) if word == "all" => Vec::new(),
            _ => return Err(nobody()),
        };
        Ok(SessionRequest {
            sources,
            policy: self.policy.unwrap_or_else(|| session::POLICY.to_owned()),
            demand: self.demand.unwrap_or(DEMAND),
            demands: self.demands.unwrap_or_default(),
            duration_s: self.duration_s,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Survey,
    Fetch,
    Plan,
    Session,
}

/// One node, some, or `"all"`.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "from: expected a node (0 to 65535), a list, or \"all\""
)]
enum From {
    One(u16),
    Some(Vec<u16>),
    Word(String),
}

pub(super) async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION).into_response()
}

pub(super) async fn health(State(app): State<App>) -> Answer {
    app.with_stations(|stations| {
        let disk = stations.shared().disk_state();
        let lines = stations
            .all()
            .iter()
            .map(|station| (station, station.line()));
        let lines: Vec<_> = lines.collect();
        let is_down = |(_, line): &(_, Line)| matches!(line, Line::Down(_));
        let mqtt = stations.shared().mqtt.as_ref().map(|mqtt| mqtt.broker());
        let is_cut = lines.iter().any(is_down)
            || matches!(mqtt, Some(Broker::Away(_)))
            || disk.trouble().is_some();
        let waiting = stations.shared().store().count_waiting()?;
        let mqtt = mqtt.map(|broker| json!({ "broker": broker, "waiting": waiting }));
        let mut job_json = json!({
            "status": if is_cut { "degraded" } else { "ok" },
            "version": env!("CARGO_PKG_VERSION"),
            "api": API_VERSION,
            "mqtt": mqtt,
            "store": disk,
        });
        let mut all = serde_json::Map::new();
        for (station, line) in &lines {
            if station.is_only {
                job_json["line"] = json!(line);
            }
            all.insert(station.network().to_owned(), json!(line));
        }
        job_json["stations"] = all.into();
        Ok(Json(job_json).into_response())
    })
    .await
}

/// A list of jobs.
#[derive(Serialize)]
struct Jobs<'a> {
    jobs: Vec<view::Job<'a>>,
}

pub(super) async fn jobs(State(app): State<App>, Query(part): Query<JobsPart>) -> Answer {
    app.with_stations(move |stations| {
        let of: Vec<&StationState> = match &part.station {
            Some(name) => vec![stations.of(Some(name))?],
            None => stations.list(),
        };
        let before = part.before.map(JobId);
        let (open, ended) = match (part.group, before) {
            (Some(group), _) => (stations.jobs_of(JobId(group))?, Vec::new()),
            (None, None) => {
                let open = stations.open_jobs(&of)?;
                (open, stations.ended_jobs(&of, before, limit(part.limit))?)
            }
            (None, Some(_)) => {
                let ended = stations.ended_jobs(&of, before, limit(part.limit))?;
                (Vec::new(), ended)
            }
        };
        let running = stations.running();
        let all = open.iter().chain(&ended);
        let waiting = stations.waiting()?;
        let job_json = |job| stations.job_view(job, &running, waiting.why(job));
        let jobs = all.map(job_json).collect();
        // Not by way of values: outcomes of a thousand jobs are megabytes.
        Ok(Json(Jobs { jobs }).into_response())
    })
    .await
}

/// The refusal of a request that is understood, and cannot be met.
fn wrong(why: String) -> Refusal {
    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}

/// The work of a request.
fn work(station: &StationState, kind: &str, from: &[u16]) -> Result<Vec<Work>, Refusal> {
    if kind == "survey" {
        return Ok(vec![Work::Survey]);
    }
    let place = &station.facts.network.place;
    let one = |from: &u16| {
        let node = NodeId::new(*from).map_err(|why| wrong(format!("from: {why}")))?;
        place.index_of(node).map_err(|why| wrong(why.to_string()))?;
        match station.facts.network.is_station(node) {
            true => Err(wrong(format!("node {node} is the base station"))),
            false if kind == "plan" => Ok(Work::Plan { from: node }),
            false => Ok(Work::Fetch { from: node }),
        }
    };
    match from.len() > place.ids.len() {
        true => Err(wrong("more nodes than the network has".to_owned())),
        false => from.iter().map(one).collect(),
    }
}

/// Queues what a form or a program asks for.
pub(super) fn queue(
    station: &StationState,
    (kind, from): (&str, &[u16]),
    priority: i8,
) -> Result<Vec<thalweg_host::store::StoredJob>, Refusal> {
    let work = work(station, kind, from)?;
    Ok(station.submit(&work, priority)?)
}

/// All nodes that may have objects.
pub(super) fn everyone(station: &StationState) -> Vec<u16> {
    station.facts.sources().map(NodeId::get).collect()
}

pub(super) async fn submit(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Answer {
    let request = JobRequest::read(&headers, &body)?;
    let (priority, station) = (request.priority, request.station.clone());
    if request.kind == Kind::Session {
        if request.from.is_some() {
            return Err(wrong("a session has sources, not from".to_owned()));
        }
        let mut session_request = request.session()?;
        let jobs = app.with_station(station, move |station| {
            if session_request.sources.is_empty() {
                session_request.sources = everyone(station);
            }
            session::queue(station, session_request, priority)
        });
        return one(&app, &jobs.await?);
    }
    if request.is_of_session() {
        let why = "sources, policy, demand, demands and duration_s are a session's";
        return Err(wrong(why.to_owned()));
    }
    let kind = match request.kind {
        Kind::Survey => "survey",
        Kind::Plan => "plan",
        Kind::Fetch | Kind::Session => "fetch",
    };
    let from = match (request.kind, request.from) {
        (Kind::Survey, None) => Some(Vec::new()),
        (Kind::Survey, Some(_)) => return Err(wrong("a survey is of all nodes".to_owned())),
        (_, Some(From::One(node))) => {
            let jobs = app.with_station(station, move |station| {
                queue(station, (kind, &[node]), priority)
            });
            return one(&app, &jobs.await?);
        }
        (_, Some(From::Some(nodes))) if !nodes.is_empty() => Some(nodes),
        (_, Some(From::Word(word))) if word == "all" => None,
        _ => {
            return Err(wrong(
                "from: expected a node, a list, or \"all\"".to_owned(),
            ))
        }
    };
    let jobs = app.with_station(station, move |station| {
        let from = from.unwrap_or_else(|| everyone(station));
        queue(station, (kind, &from), priority)
    });
    let jobs = jobs.await?;
    if kind == "survey" {
        return one(&app, &jobs);
    }
    let group = jobs.first().and_then(|job| job.group).map(|id| id.0);
    let job_view = |job| app.stations.job_view(job, &[], None);
    let jobs: Vec<_> = jobs.iter().map(job_view).collect();
    let answer = json!({ "group": group, "jobs": jobs });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// The one job that was made.
fn one(app: &App, jobs: &[thalweg_host::store::StoredJob]) -> Answer {
    let Some(job) = jobs.first() else {
        return Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "no job was made",
        ));
    };
    let at = [(header::LOCATION, format!("/api/jobs/{}", job.id.0))];
    Ok((
        StatusCode::CREATED,
        at,
        Json(app.stations.job_view(job, &[], None)),
    )
        .into_response())
}

/// Job `id` as it is.
fn job_json(stations: &Stations, id: i64) -> Result<Value, Refusal> {
    let job = stations.job(JobId(id))?;
    let job = job.ok_or_else(|| Refusal::not_found(format!("there is no job {id}")))?;
    let job_json = serde_json::to_value(stations.job_view(
        &job,
        &stations.running(),
        stations.waiting()?.why(&job),
    ));
    job_json.map_err(|why| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why.to_string()))
}

pub(super) async fn job(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    let job = app
        .with_stations(move |stations| job_json(stations, id))
        .await?;
    Ok(Json(job).into_response())
}

pub(super) async fn cancel(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    app.with_stations(move |stations| {
        let status = match stations.cancel(JobId(id))? {
            Cancel::Done => StatusCode::OK,
            Cancel::Requested => StatusCode::ACCEPTED,
            Cancel::TooLate => {
                return Err(Refusal::new(StatusCode::CONFLICT, "the job has ended"));
            }
            Cancel::Unknown => return Err(Refusal::not_found(format!("there is no job {id}"))),
        };
        Ok((status, Json(job_json(stations, id)?)).into_response())
    })
    .await
}

pub(super) async fn objects(State(app): State<App>, part: Query<PageQuery>) -> Answer {
    app.with_stations(move |stations| {
        let before = part.before.map(TransferId);
        let all = stations.shared().store().latest(before, part.limit())?;
        let all: Vec<_> = all.iter().map(|one| stations.object_view(one)).collect();
        Ok(Json(json!({ "objects": all })).into_response())
    })
    .await
}

pub(super) async fn object(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    app.with_stations(move |stations| {
        let found = stations.shared().store().transfer(TransferId(id))?;
        let found = found.filter(|found| found.object.is_some());
        let found = found.ok_or_else(|| Refusal::not_found(format!("there is no object {id}")))?;
        Ok(Json(stations.object_view(&found)).into_response())
    })
    .await
}

pub(super) async fn delete_object(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    app.with_stations(move |stations| {
        let deleted = delete(stations, id)?;
        Ok(Json(json!({ "objects": deleted.objects, "bytes": deleted.bytes })).into_response())
    })
    .await
}
/// Deletes the object of transfer `id`.
pub(super) fn delete(stations: &Stations, id: i64) -> Result<Deleted, Refusal> {
    let deleted = stations.shared().store().delete_object(TransferId(id))?;
    if deleted.objects == 0 {
        return Err(Refusal::not_found(format!("there is no object {id}")));
    }
    let line = format!("object {id} deleted, {}", count(deleted.bytes, "byte"));
    stations.shared().log(Level::Info, &line);
    Ok(deleted)
}

/// A station: its network, the state of its line, its last survey.
fn station_json(station: &StationState) -> Value {
    let (facts, snapshot) = (&station.facts, station.snapshot());
    let survey = snapshot.map(|snapshot| {
        let channel = snapshot.link_state.routing_channel();
        let missing: Vec<u16> = snapshot.missing.iter().map(|n| n.get()).collect();
        json!({
            "age_s": snapshot.age_s(),
            "took_s": snapshot.took_s,
            "channel": channel.number(),
            "links": snapshot.link_state.links().summary(channel).heard_pairs,
            "missing": missing,
        })
    });
    json!({
        "name": station.network(),
        "about": facts.about,
        "sink": facts.network.sink.get(),
        "beside": facts.network.beside.iter().map(|node| node.get()).collect::<Vec<u16>>(),
        "nodes": facts.network.place.ids.len(),
        "protocol": station.transfers.protocol.name,
        "line": station.line(),
        "secured": facts.network.keys.is_some(),
        "survey": survey,
    })
}

pub(super) async fn stations(State(app): State<App>) -> Answer {
    app.with_stations(|stations| {
        let all = stations.all().iter().map(|station| station_json(station));
        let all: Vec<Value> = all.collect();
        Ok(Json(json!({ "stations": all })).into_response())
    })
    .await
}

pub(super) async fn network(State(app): State<App>, of: Query<StationQuery>) -> Answer {
    let job_json = app.with_station(of.0.station, |station| Ok(station_json(station)));
    Ok(Json(job_json.await?).into_response())
}

/// All nodes, or the one called `only`.
fn node_list(station: &StationState, only: Option<NodeId>) -> Result<Vec<view::NodeNow>, Refusal> {
    let (health, snapshot) = (station.health()?, station.snapshot());
    let last = station.store().last_deliveries(station.network())?;
    let node = |(index, id): (usize, &NodeId)| {
        let last = last.iter().find(|(node, ..)| node == id);
        let last = last.map(|(_, at, transfer)| (&**at, *transfer));
        let heard = snapshot.as_ref().filter(|s| !s.missing.contains(id));
        let health = health.get(index).copied().unwrap_or_default();
        let node = view::node(&station.facts, index, last);
        view::node_now(node, &health, heard.map(|s| s.at))
    };
    let all = station.facts.network.place.ids.iter().enumerate();
    let all = all.filter(|(_, id)| only.is_none_or(|only| **id == only));
    Ok(all.map(node).collect())
}

pub(super) async fn nodes(State(app): State<App>, of: Query<StationQuery>) -> Answer {
    let nodes = app
        .with_station(of.0.station, |station| node_list(station, None))
        .await?;
    Ok(Json(json!({ "nodes": nodes })).into_response())
}

pub(super) async fn node(
    State(app): State<App>,
    Path(id): Path<u16>,
    of: Query<StationQuery>,
) -> Answer {
    app.with_station(of.0.station, move |station| {
        let not_found = || Refusal::not_found(format!("there is no node {id}"));
        let node = NodeId::new(id).map_err(|_| not_found())?;
        let of = node_list(station, Some(node))?
            .pop()
            .ok_or_else(not_found)?;
        let index = station
            .facts
            .network
            .place
            .index_of(node)
            .map_err(|_| not_found())?;
        let links = station.snapshot();
        let links =
            links.map(|snapshot| view::links(&station.facts, snapshot.link_state.links(), index));
        let view::NodeNow { node, health } = of;
        let job_json = json!({ "node": node, "health": health, "links": links });
        Ok(Json(job_json).into_response())
    })
    .await
}

pub(super) async fn log(State(app): State<App>, part: Query<PageQuery>) -> Answer {
    app.with_stations(move |stations| {
        let lines = stations.shared().store().lines(part.before, part.limit())?;
        Ok(Json(json!({ "lines": lines })).into_response())
    })
    .await
}
