//! The API and the page over HTTP: which path is whose, and what all answers have in common.
//!
//! Invariants: every request passes [`guard`]; what blocks runs on threads for that; bodies, queues and watchers
//! are bounded. Tests: `crates/daemon/tests/all/`.

mod api;
mod content;
mod events;
mod groups;
pub(super) mod guard;
mod metrics;
mod pages;
mod session;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{to_bytes, Body};
use axum::extract::Request;
use axum::http::{header, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{delete, get, post, MethodRouter};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::page;
use super::station_state::StationState;
use super::stations::Stations;
use guard::Guard;
use thalweg_host::store::StoreError;

/// The longest body of a request, in bytes.
const LONGEST_BODY: usize = 16 * 1024;
/// How long it may take.
const BODY: Duration = Duration::from_secs(10);
/// So many may watch events at once.
const WATCHERS: usize = 64;

/// What every answer is made from.
#[derive(Clone)]
pub(super) struct App {
    stations: Arc<Stations>,
    guard: Arc<Guard>,
    watchers: Arc<Semaphore>,
}

/// A path, its method, and its handler.
type Route = (&'static str, &'static str, fn() -> MethodRouter<App>);

/// What programs may rely on; described in `api.json`.
const API: &[Route] = &[
    ("get", "/healthz", || get(api::health)),
    ("get", "/metrics", || get(metrics::metrics)),
    ("get", "/api/jobs", || get(api::jobs)),
    ("post", "/api/jobs", || post(api::submit)),
    ("get", "/api/jobs/{id}", || get(api::job)),
    ("delete", "/api/jobs/{id}", || delete(api::cancel)),
    ("get", "/api/jobs/{id}/rates", || get(session::rates)),
    ("get", "/api/groups", || get(groups::groups)),
    ("get", "/api/groups/{id}", || get(groups::group)),
    ("delete", "/api/groups/{id}", || delete(groups::cancel)),
    ("get", "/api/objects", || get(api::objects)),
    ("get", "/api/objects/{id}", || get(api::object)),
    ("delete", "/api/objects/{id}", || delete(api::delete_object)),
    ("get", "/api/objects/{id}/content", || get(content::content)),
    ("get", "/api/stations", || get(api::stations)),
    ("get", "/api/network", || get(api::network)),
    ("get", "/api/nodes", || get(api::nodes)),
    ("get", "/api/nodes/{id}", || get(api::node)),
    ("get", "/api/log", || get(api::log)),
    ("get", "/api/events", || get(events::events)),
    ("get", "/api/openapi.json", || get(api::description)),
];

/// What browsers are shown.
const PAGES: &[Route] = &[
    ("get", "/", || get(pages::overview)),
    ("get", "/map", || get(pages::network)),
    ("get", "/nodes", || get(pages::nodes)),
    ("get", "/transfers", || get(pages::transfers)),
    ("post", "/transfers", || post(pages::submit)),
    ("post", "/transfers/{id}/cancel", || post(pages::cancel)),
    ("post", "/groups/{id}/cancel", || post(pages::cancel_group)),
    ("get", "/jobs/{id}", || get(pages::job)),
    ("get", "/objects", || get(pages::objects)),
    ("get", "/objects/{id}", || get(pages::object)),
    ("post", "/objects/{id}/delete", || post(pages::delete)),
    ("get", "/nodes/{id}", || get(pages::node)),
    ("get", "/log", || get(pages::log)),
    ("get", "/login", || get(pages::login)),
    ("post", "/login", || post(pages::log_in)),
    ("post", "/logout", || post(pages::log_out)),
    ("get", "/style.css", || get(pages::style)),
    ("get", "/page.js", || get(pages::script)),
];

/// All that is answered.
pub(super) fn router(stations: Arc<Stations>, guard: Guard) -> Router {
    let app = App {
        stations,
        guard: Arc::new(guard),
        watchers: Arc::new(Semaphore::new(WATCHERS)),
    };
    let routes = API.iter().chain(PAGES);
    let router = routes.fold(Router::new(), |router, (_, path, answer)| {
        router.route(path, answer())
    });
    router
        .fallback(|| async { Refusal::not_found("there is nothing at this address") })
        .method_not_allowed_fallback(|| async {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            Refusal::new(status, "this address does not take that method")
        })
        .layer(middleware::from_fn(whole))
        .layer(middleware::from_fn_with_state(app.clone(), guard::check))
        .layer(middleware::from_fn(worded))
        .layer(middleware::from_fn(headed))
        .with_state(app)
}

/// Nothing from elsewhere is loaded, framed, guessed or kept.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Puts the headers on that every answer has.
async fn headed(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut put = |name, value: &'static str| {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::REFERRER_POLICY, "same-origin");
    put(header::CACHE_CONTROL, "no-store");
    response
}

/// Says what is wrong in the words of whoever asked: programs get `{"error": ...}`, browsers a page. What is refused before
/// it comes to us is plain text.
async fn worded(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_page = !path.starts_with("/api/") && !matches!(path, "/metrics" | "/healthz");
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).cloned();
    let is_of = |name: &str| {
        kind.as_ref()
            .is_some_and(|kind| kind.as_bytes().starts_with(name.as_bytes()))
    };
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || !(is_of("text/plain") || (is_page && is_of("application/json"))) {
        return response;
    }
    let text = to_bytes(response.into_body(), LONGEST_BODY)
        .await
        .unwrap_or_default();
    let why = match serde_json::from_slice::<ErrorBody<'_>>(&text) {
        Ok(body) => body.error.into_owned(),
        Err(_) => plain_words(&String::from_utf8_lossy(&text)),
    };
    match is_page {
        true => (status, Html(page::refused(&why))).into_response(),
        false => Refusal::new(status, why).into_response(),
    }
}

/// What the library says of a path or a query, without the words of a programmer.
fn plain_words(text: &str) -> String {
    let before = [
        "Invalid URL: ",
        "Failed to deserialize query string: ",
        "Failed to deserialize form body: ",
    ];
    let said = before
        .iter()
        .fold(text, |text, words| text.strip_prefix(words).unwrap_or(text));
    let number = said.strip_prefix("Cannot parse `").and_then(|rest| {
        let (value, _) = rest.split_once("` to a `")?;
        Some(format!("{value:?} is no number that can stand here"))
    });
    number.unwrap_or_else(|| said.to_owned())
}

/// Passes a request on with its whole body, which is short and comes soon: who sends it slowly holds a seat.
async fn whole(request: Request, next: Next) -> Response {
    let too_long = || {
        let why = format!("a request's body has at most {LONGEST_BODY} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why).into_response()
    };
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > LONGEST_BODY as u64) {
        return too_long();
    }
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY, to_bytes(body, LONGEST_BODY)).await {
        Ok(Ok(bytes)) => next.run(Request::from_parts(head, Body::from(bytes))).await,
        Ok(Err(_)) => too_long(),
        Err(_) => {
            let why = format!("the body did not come within {} s", BODY.as_secs());
            Refusal::new(StatusCode::REQUEST_TIMEOUT, why).into_response()
        }
    }
}

/// Why something is not answered.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    why: String,
}

impl Refusal {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { status, why }
    }
    fn not_found(why: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, why)
    }
}

impl From<StoreError> for Refusal {
    fn from(why: StoreError) -> Self {
        let status = match why {
            StoreError::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
            StoreError::DiskLow(_) => StatusCode::INSUFFICIENT_STORAGE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!("{why}");
        }
        Self::new(status, why.to_string())
    }
}

#[derive(Serialize, Deserialize)]
struct ErrorBody<'a> {
    error: Cow<'a, str>,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (
            self.status,
            Json(ErrorBody {
                error: Cow::Borrowed(&self.why),
            }),
        )
            .into_response()
    }
}

impl App {
    /// Runs `work`, which may block, on the station called `name`, or on the only one.
    ///
    /// # Errors
    /// Those of `with_stations`; there is no such station.
    async fn with_station<T: Send + 'static>(
        &self,
        name: Option<String>,
        work: impl FnOnce(&StationState) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.with_stations(move |stations| work(stations.of(name.as_deref())?))
            .await
    }
    /// Runs `work`, which may block, on all stations.
    ///
    /// # Errors
    /// Those of `with_stations`.
    async fn with_stations<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stations) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let stations = self.stations.clone();
        let answer = tokio::task::spawn_blocking(move || work(&stations)).await;
        let broken = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the daemon failed");
        answer.map_err(broken)?
    }
}

impl Stations {
    /// The one called `name`, or the only one.
    fn of(&self, name: Option<&str>) -> Result<&StationState, Refusal> {
        let unknown = |why| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
        self.named(name).map_err(unknown)
    }
}

#[cfg(test)]
mod tests;
