//! Pages, the forms in them, and what they load. Forms work without a script.

use std::collections::BTreeMap;
use std::io::Write;

use axum::extract::{Form, Path, Query, State};
use axum::http::{header, HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use flate2::{write::GzEncoder, Compression};
use serde::Deserialize;

use super::guard::Guard;
use super::{api, session, App, Refusal};
use crate::page;
use crate::station_state::{now, StationState};
use crate::stations::Stations;
use thalweg_host::store::{digest_of, JobId, TransferId};

type Answer = Result<Response, Refusal>;

/// `text`, compressed where the client takes that. Pages hold no secret that a length could reveal.
fn packed(kind: &'static str, text: &str, headers: &HeaderMap) -> Response {
    let codings = headers.get(header::ACCEPT_ENCODING);
    let codings = codings.and_then(|c| c.to_str().ok()).unwrap_or_default();
    let kind = [
        (header::CONTENT_TYPE, kind),
        (header::VARY, "accept-encoding"),
    ];
    let takes = codings.split(',').any(|coding| coding.trim() == "gzip");
    let pack = || {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text.as_bytes())?;
        packer.finish()
    };
    match takes.then(pack) {
        Some(Ok(packed)) => (kind, [(header::CONTENT_ENCODING, "gzip")], packed).into_response(),
        _ => (kind, text.to_owned()).into_response(),
    }
}

/// Renders a page on a thread that may wait for the store.
async fn render(
    app: &App,
    headers: HeaderMap,
    make: impl FnOnce(&Stations) -> Result<Option<String>, thalweg_host::store::StoreError>
        + Send
        + 'static,
) -> Answer {
    let page = app.with_stations(move |stations| {
        let page = make(stations)?;
        Ok(page.map(|page| packed("text/html; charset=utf-8", &page, &headers)))
    });
    let not_found = || (StatusCode::NOT_FOUND, Html(page::not_found())).into_response();
    Ok(page.await?.unwrap_or_else(not_found))
}

/// The station that is shown: the first where none is named.
#[derive(Deserialize)]
pub(super) struct StationQuery {
    station: Option<String>,
}

pub(super) async fn overview(
    State(app): State<App>,
    headers: HeaderMap,
    of: Query<StationQuery>,
) -> Answer {
    render(&app, headers, move |stations| {
        let station = stations.shown(of.station.as_deref());
        station
            .map(|station| page::overview(stations, station))
            .transpose()
    })
    .await
}
pub(super) async fn network(
    State(app): State<App>,
    headers: HeaderMap,
    shown: Query<page::MapQuery>,
) -> Answer {
    render(&app, headers, move |stations| {
        let station = stations.shown(shown.station.as_deref());
        station
            .map(|station| page::network(stations, station, &shown))
            .transpose()
    })
    .await
}
pub(super) async fn nodes(
    State(app): State<App>,
    headers: HeaderMap,
    shown: Query<page::NodesQuery>,
) -> Answer {
    render(&app, headers, move |stations| {
        let station = stations.shown(shown.station.as_deref());
        station
            .map(|station| page::nodes(stations, station, &shown))
            .transpose()
    })
    .await
}
/// What is older than this number.
#[derive(Deserialize)]
pub(super) struct Older {
    before: Option<i64>,
}
pub(super) async fn transfers(
    State(app): State<App>,
    headers: HeaderMap,
    older: Query<Older>,
) -> Answer {
    render(&app, headers, move |stations| {
        page::transfers(stations, older.before).map(Some)
    })
    .await
}
pub(super) async fn objects(
    State(app): State<App>,
    headers: HeaderMap,
    older: Query<Older>,
) -> Answer {
    render(&app, headers, move |stations| {
        page::objects(stations, older.before).map(Some)
    })
    .await
}
pub(super) async fn object(
    State(app): State<App>,
    headers: HeaderMap,
    Path(id): Path<i64>,
) -> Answer {
    render(&app, headers, move |stations| {
        page::object(stations, TransferId(id))
    })
    .await
}
pub(super) async fn log_out() -> Response {
    let cookie = [(header::SET_COOKIE, Guard::no_cookie())];
    (cookie, Redirect::to("/login")).into_response()
}
pub(super) async fn delete(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    app.with_stations(move |stations| api::delete(stations, id))
        .await?;
    Ok(Redirect::to("/objects").into_response())
}
pub(super) async fn node(
    State(app): State<App>,
    headers: HeaderMap,
    Path(id): Path<u16>,
    of: Query<StationQuery>,
) -> Answer {
    render(&app, headers, move |stations| {
        let station = stations.shown(of.station.as_deref());
        Ok(station
            .map(|station| page::node(stations, station, id))
            .transpose()?
            .flatten())
    })
    .await
}
/// Which source of a session is drawn by itself.
#[derive(Deserialize)]
pub(super) struct NodeQuery {
    node: Option<u16>,
}
pub(super) async fn job(
    State(app): State<App>,
    headers: HeaderMap,
    Path(id): Path<i64>,
    drawn: Query<NodeQuery>,
) -> Answer {
    render(&app, headers, move |stations| {
        page::job(stations, JobId(id), drawn.node)
    })
    .await
}
pub(super) async fn log(State(app): State<App>, headers: HeaderMap, older: Query<Older>) -> Answer {
    render(&app, headers, move |stations| {
        page::log(stations, older.before).map(Some)
    })
    .await
}

/// What a form asks for: a survey, a node, or `all`; before it and a colon the station, where there are several. An
/// object of these, a plan, or a session.
#[derive(Deserialize)]
pub(super) struct SessionForm {
    what: String,
    /// The station of a session, where there are several.
    station: Option<String>,
    #[serde(default)]
    kind: FormKind,
    policy: Option<String>,
    demand: Option<String>,
    minutes: Option<String>,
}

#[derive(Deserialize, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum FormKind {
    #[default]
    Fetch,
    Plan,
    Session,
}

pub(super) async fn submit(State(app): State<App>, Form(form): Form<SessionForm>) -> Answer {
    let wrong = |why: &str| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
    let (station, what) = match form.what.split_once(':') {
        Some((station, what)) => (Some(station.to_owned()), what.to_owned()),
        None => (form.station.clone(), form.what.clone()),
    };
    let queued = app.with_station(station, move |station| match (&form.kind, what.as_str()) {
        (FormKind::Session, _) => session::queue(station, session_request(station, &form)?, 0),
        (_, "survey") => api::queue(station, ("survey", &[]), 0),
        (FormKind::Fetch, "all") => api::queue(station, ("fetch", &api::everyone(station)), 0),
        (kind, node) => {
            let node = node.parse();
            let node: u16 = node.map_err(|_| wrong("what: expected a node"))?;
            let kind = match kind {
                FormKind::Plan => "plan",
                _ => "fetch",
            };
            api::queue(station, (kind, &[node]), 0)
        }
    });
    let queued = match queued.await {
        Err(why) if why.status == StatusCode::UNPROCESSABLE_ENTITY => {
            return Ok((why.status, Html(page::refused(&why.why))).into_response());
        }
        queued => queued?,
    };
    // One job has a page, where it moves.
    let to = match queued.as_slice() {
        [job] => format!("/jobs/{}", job.id.0),
        _ => "/transfers".to_owned(),
    };
    Ok(Redirect::to(&to).into_response())
}

/// The session that a form asks for.
fn session_request(
    station: &StationState,
    form: &SessionForm,
) -> Result<session::SessionRequest, Refusal> {
    let wrong = |why: &str| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
    let given = |text: &Option<String>| {
        let text = text.as_deref().map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let number = |text: &Option<String>, name: &str| match given(text).map(|text| text.parse()) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err::<f64, _>(_)) => Err(wrong(&format!("{name}: expected a number"))),
    };
    let sources = match form.what.trim() {
        "all" => api::everyone(station),
        nodes => {
            let nodes = nodes.split([' ', ',']).filter(|node| !node.is_empty());
            let nodes: Result<_, _> = nodes.map(str::parse).collect();
            nodes.map_err(|_| wrong("nodes: expected numbers, or all"))?
        }
    };
    let minutes = number(&form.minutes, "minutes")?;
    Ok(session::SessionRequest {
        sources,
        policy: given(&form.policy).unwrap_or_else(|| session::POLICY.to_owned()),
        demand: number(&form.demand, "packets per second")?.unwrap_or(session::DEMAND),
        demands: BTreeMap::default(),
        duration_s: minutes.map(|minutes| minutes * 60.0),
    })
}

pub(super) async fn cancel(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    // One that has ended meanwhile is seen to have.
    app.with_stations(move |stations| Ok(stations.cancel(JobId(id))?))
        .await?;
    Ok(Redirect::to("/transfers").into_response())
}

pub(super) async fn cancel_group(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    // One that has ended meanwhile is seen to have.
    app.with_stations(move |stations| {
        let group = stations.shared().store().group(JobId(id))?;
        Ok(group
            .map(|group| stations.cancel_group(&group))
            .transpose()?)
    })
    .await?;
    Ok(Redirect::to("/transfers").into_response())
}

pub(super) async fn login(State(app): State<App>) -> Response {
    match app.guard.wants_token() {
        true => Html(page::login(None)).into_response(),
        false => Redirect::to("/").into_response(),
    }
}

#[derive(Deserialize)]
pub(super) struct Login {
    token: String,
}

pub(super) async fn log_in(State(app): State<App>, Form(login): Form<Login>) -> Response {
    match app.guard.is_token(login.token.trim()) {
        true => {
            let cookie = [(header::SET_COOKIE, app.guard.cookie(now()))];
            (cookie, Redirect::to("/")).into_response()
        }
        false => {
            let page = page::login(Some("That is not the token."));
            (StatusCode::UNAUTHORIZED, Html(page)).into_response()
        }
    }
}

/// A file of the page, which changes with the program only.
fn file(kind: &'static str, text: &'static str, headers: &HeaderMap) -> Response {
    let digest = digest_of(text.as_bytes());
    let tag = format!("\"{}\"", digest.get(..16).unwrap_or_default());
    let cached = headers.get(header::IF_NONE_MATCH);
    if cached.is_some_and(|cached| cached == tag.as_str()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let validators = [
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, tag),
    ];
    (validators, packed(kind, text, headers)).into_response()
}

pub(super) async fn style(headers: HeaderMap) -> Response {
    file("text/css; charset=utf-8", page::STYLE, &headers)
}
pub(super) async fn script(headers: HeaderMap) -> Response {
    file("text/javascript; charset=utf-8", page::SCRIPT, &headers)
}
