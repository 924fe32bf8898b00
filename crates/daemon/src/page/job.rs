//! One job: the request, the progress, what came of it, its log.

use maud::{html, Markup};

use super::label::{bar, state, title};
use super::text::{count, when};
use super::{fact, fetched, forms, log, page, plan, session, transfers};
use crate::stations::Stations;
use thalweg_host::store::{JobId, JobState, StoreError, StoredJob, Work};

pub(crate) fn job(
    stations: &Stations,
    id: JobId,
    chosen: Option<u16>,
) -> Result<Option<String>, StoreError> {
    let Some(job) = stations.job(id)? else {
        return Ok(None);
    };
    // Its station may be configured no more.
    let station = stations.named(Some(&job.station)).ok();
    let running = station.and_then(|station| station.running_job(id));
    let content = html! {
        div #job data-live {
            @if let Some(running) = &running { p.wide { (bar(running)) } }
            (facts(&job))
            @if job.state == JobState::Queued { p { (waits(stations, &job)?) } }
            @if let Some(why) = &job.error { (failed(&job, why)) }
            @match &job.work {
                Work::Session(request) => {
                    (session::session(stations, &job, request, (running.as_ref(), chosen))?)
                }
                Work::Plan { .. } => (plan::plan(station, &job)),
                Work::Fetch { .. } => (fetched::fetched(station, &job, running.as_ref())),
                Work::Survey => (surveyed(stations, &job)),
            }
            @if !job.state.is_end() { p { (forms::cancel(job.id, "Cancel this job")) } }
            (log::of_job(stations, id)?)
        }
    };
    let title = format!("Job {}: {}", id.0, title(stations, &job));
    page(stations, ("/transfers", &title), &content).map(Some)
}

/// Why a queued job waits, and for whom.
fn waits(stations: &Stations, job: &StoredJob) -> Result<Markup, StoreError> {
    if let Some(why) = transfers::why_waiting(stations, job)? {
        return Ok(html! { "It " (why) "." });
    }
    let station = stations.named(Some(&job.station)).ok();
    let open = match station {
        Some(station) => stations.open_jobs(&[station])?,
        None => Vec::new(),
    };
    let before = open.iter().take_while(|other| other.id != job.id).count();
    Ok(match before {
        0 => html! { "It is the next." },
        n => {
            html! { (count(n, "job")) " of its station " (if n == 1 { "goes" } else { "go" }) " first." }
        }
    })
}

fn facts(job: &StoredJob) -> Markup {
    html! {
        dl {
            (fact("State", state(job.state)))
            (fact("Asked", when(&job.asked_at)))
            @if let Some(at) = &job.begun_at { (fact("Began", when(at))) }
            @if let Some(at) = &job.ended_at { (fact("Ended", when(at))) }
            @if let Some(group) = job.group {
                (fact("Asked for with", html! { a href="/transfers" { "group " (group.0) } }))
            }
            @if let Some(object) = job.transfer {
                (fact("Brought", html! { a href=(format!("/objects/{}", object.0)) { "object " (object.0) } }))
            }
        }
    }
}

/// Why a job failed, and what to do.
fn failed(job: &StoredJob, why: &str) -> Markup {
    let advice = match why {
        why if why.contains("another digest") => {
            "A byte changed on its way, and nothing was stored. Fetch it again; where it happens again, look at the line."
        }
        why if why.contains("no recording") => {
            "A node hands out what it has recorded to the end. Fetch it once it has."
        }
        why if why.contains("no route") || why.contains("no path") => {
            "Measure the links again, and see on the node's page whom it hears."
        }
        _ => "",
    };
    let from = match job.work {
        Work::Fetch { from } => Some(from),
        _ => None,
    };
    html! {
        p.notice { (why) " " (advice) }
        @if let Some(from) = from {
            form method="post" action="/transfers" {
                input type="hidden" name="station" value=(job.station);
                input type="hidden" name="what" value=(from.get());
                button { "Fetch it again" }
            }
        }
    }
}

/// What a survey came to.
fn surveyed(stations: &Stations, job: &StoredJob) -> Markup {
    html! { @if job.state.is_end() { (transfers::history(stations, std::slice::from_ref(job))) } }
}
