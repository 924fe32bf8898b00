//! Pages, the forms in them, and what they load. Forms work without a script.

use axum::body::Bytes;
use axum::extract::{Form, Path, Query, State};
use axum::http::{header, HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::{api, App, Refusal};
use crate::daemon::desk::Desk;
use crate::daemon::page;
use crate::store::{JobId, TransferId};

type Answer = Result<Response, Refusal>;

/// Renders a page on a thread that may wait for the store.
async fn shown(
    app: &App,
    make: impl FnOnce(&Desk) -> Result<Option<String>, crate::store::StoreError> + Send + 'static,
) -> Answer {
    let page = app.ask(move |desk| Ok(make(desk)?)).await?;
    Ok(match page {
        Some(page) => Html(page).into_response(),
        None => (StatusCode::NOT_FOUND, Html(page::nothing())).into_response(),
    })
}

pub(super) async fn network(State(app): State<App>) -> Answer {
    shown(&app, |desk| page::network(desk).map(Some)).await
}
/// What is older than this number.
#[derive(Deserialize)]
pub(super) struct Older {
    before: Option<i64>,
}
pub(super) async fn transfers(State(app): State<App>, older: Query<Older>) -> Answer {
    shown(&app, move |desk| {
        page::transfers(desk, older.before).map(Some)
    })
    .await
}
pub(super) async fn objects(State(app): State<App>, older: Query<Older>) -> Answer {
    shown(&app, move |desk| {
        page::objects(desk, older.before).map(Some)
    })
    .await
}
pub(super) async fn object(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    shown(&app, move |desk| page::object(desk, TransferId(id))).await
}
pub(super) async fn node(State(app): State<App>, Path(id): Path<u16>) -> Answer {
    shown(&app, move |desk| page::node(desk, id)).await
}
pub(super) async fn log(State(app): State<App>, older: Query<Older>) -> Answer {
    shown(&app, move |desk| page::log(desk, older.before).map(Some)).await
}

/// A job that somebody asks for in a form: a survey, a node, or `all`.
#[derive(Deserialize)]
pub(super) struct Wish {
    what: String,
}

pub(super) async fn submit(State(app): State<App>, Form(wish): Form<Wish>) -> Answer {
    let queued = app.ask(move |desk| match wish.what.as_str() {
        "survey" => api::queue(desk, ("survey", &[]), 0),
        "all" => api::queue(desk, ("fetch", &api::everyone(desk)), 0),
        node => {
            let wrong = |_| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "what: expected a node");
            let node: u16 = node.parse().map_err(wrong)?;
            api::queue(desk, ("fetch", &[node]), 0)
        }
    });
    queued.await?;
    Ok(Redirect::to("/transfers").into_response())
}

pub(super) async fn cancel(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    // One that has ended meanwhile is seen to have.
    app.ask(move |desk| Ok(desk.cancel(JobId(id))?)).await?;
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
            let cookie = [(header::SET_COOKIE, app.guard.cookie())];
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
    let tag = concat!("\"", env!("CARGO_PKG_VERSION"), "\"");
    let known = headers.get(header::IF_NONE_MATCH);
    if cfg!(not(debug_assertions)) && known.is_some_and(|known| known == tag) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::ETAG, tag),
    ];
    (headers, Bytes::from_static(text.as_bytes())).into_response()
}

pub(super) async fn style(headers: HeaderMap) -> Response {
    file("text/css; charset=utf-8", page::STYLE, &headers)
}
pub(super) async fn script(headers: HeaderMap) -> Response {
    file("text/javascript; charset=utf-8", page::SCRIPT, &headers)
}
