//! Server-sent events: jobs as they move, the log, the network. A client that is too slow gets `lagged`, and
//! reloads.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use tokio::sync::broadcast::error::RecvError;

use super::{App, Refusal};

/// So often a line is sent where there is no news, so that both sides see that the other is there.
const BEAT: Duration = Duration::from_secs(15);

pub(super) async fn events(State(app): State<App>) -> Result<Response, Refusal> {
    let seat = app.watchers.clone().try_acquire_owned();
    let full = |_| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many watch already");
    let seat = seat.map_err(full)?;
    let news = app.stations.shared().watch();
    // What runs at the moment comes first; what changes from here on follows.
    let jobs = app.with_stations(|stations| {
        let running = stations.running();
        let mut open_jobs = Vec::new();
        for one in &running {
            let job = stations.shared().store().job(one.id)?;
            let job =
                job.map(|job| serde_json::to_string(&stations.job_view(&job, &running, None)));
            open_jobs.extend(job.and_then(Result::ok));
        }
        Ok(open_jobs)
    });
    let event = |job| Ok::<_, Infallible>(Event::default().event("job").data(job));
    let first = stream::iter(jobs.await?).map(event);
    let stations = app.stations.clone();
    let rest = stream::unfold((news, seat), move |(mut news, seat)| {
        let stations = stations.clone();
        async move {
            if stations.is_stopping() {
                return None;
            }
            let event = match news.recv().await {
                Ok(news) => Event::default().event(news.event).data(&*news.data),
                Err(RecvError::Lagged(_)) => Event::default().event("lagged").data("{}"),
                Err(RecvError::Closed) => return None,
            };
            Some((Ok(event), (news, seat)))
        }
    });
    let alive = KeepAlive::new().interval(BEAT);
    Ok(Sse::new(first.chain(rest))
        .keep_alive(alive)
        .into_response())
}
