//! Transfers: what runs, what waits, what was.

use maud::{html, Markup};

use super::label::{bar, name, state};
use super::text::{count, seconds, seconds_of, when};
use super::{fact, fetched, forms, lines, more, page, queue, series, ROWS};
use crate::running::{total, Running};
use crate::station_state::now;
use crate::stations::Stations;
use crate::view::number;
use thalweg_host::store::{JobId, JobState, StoreError, StoredJob, Work};

/// Why `job` is still queued, where windows or limits are to blame; and when a window opens.
pub(super) fn why_waiting(
    stations: &Stations,
    job: &StoredJob,
) -> Result<Option<Markup>, StoreError> {
    let why = stations.waiting()?.why(job);
    let station = stations.named(Some(&job.station)).ok();
    let opens = station.and_then(|station| queue::opens_at(&station.transfers, now()));
    Ok(why.map(|why| {
        html! {
            (why)
            @if let Some(at) = opens { ", which opens at " (when(&crate::view::utc(at))) }
        }
    }))
}

/// What runs, on every page.
pub(super) fn strip(stations: &Stations) -> Result<Markup, StoreError> {
    let mut jobs = Vec::new();
    for running in stations.running() {
        let job = stations.shared().store().job(running.id)?;
        jobs.extend(job.map(|job| (job, running)));
    }
    let is_open = stations.all().iter().any(|station| station.is_open());
    Ok(html! {
        div #now.strip data-live {
            @for (job, running) in &jobs {
                div {
                    a href=(format!("/jobs/{}", job.id.0)) { "Job " (job.id.0) } ": "
                    (name(stations, job)) " " (bar(running))
                }
            }
            @if jobs.is_empty() {
                @if is_open { "Nothing runs." }
                @else { "Nothing runs: it waits for its window. " (queue::window(stations)) }
            }
        }
    })
}

pub(crate) fn transfers(stations: &Stations, before: Option<i64>) -> Result<String, StoreError> {
    let all = stations.list();
    let open = stations.open_jobs(&all)?;
    let ended = stations.ended_jobs(&all, before.map(JobId), ROWS)?;
    let (now, queued): (Vec<&StoredJob>, Vec<&StoredJob>) =
        open.iter().partition(|job| job.state == JobState::Running);
    let running = stations.running();
    let last = ended.last().map(|job| job.id.0);
    let content = html! {
        div.row { (forms::fetch(&all, None)) }
        (forms::session(&all))
        (queue::rules(stations))
        div #jobs data-live {
            @for job in now {
                @if let Some(running) = running.iter().find(|running| running.id == job.id) {
                    (card(stations, job, running))
                }
            }
            (queue::groups(stations, &open)?)
            (queue::waiting(stations, &queued)?)
            h2 { "Ended" }
            @if ended.is_empty() && open.is_empty() {
                p { "Nothing was asked yet: choose a node above and press " em { "Fetch" } "." }
            } @else {
                (against_time(&ended))
                (history(stations, &ended))
            }
            (more("/transfers", ended.len() == ROWS as usize, last))
        }
    };
    page(stations, ("/transfers", "Transfers"), &content)
}

/// The job that runs, with what is expected of it.
fn card(stations: &Stations, job: &StoredJob, running: &Running) -> Markup {
    let id = job.id.0;
    let facts = html! {
        @match &job.work {
            Work::Session(_) => {
                @let sum = total(running.sources.iter().filter_map(|s| s.rate));
                @let packets: u64 = running.sources.iter().map(|s| s.packets).sum();
                (fact("All rates", format!("{sum:.1} packets/s")))
                (fact("Delivered", count(packets, "packet")))
            }
            Work::Fetch { .. } => (fetched::numbers(job, Some(running))),
            Work::Survey | Work::Plan { .. } => {}
        }
        (fact("All of it", html! { a href=(format!("/jobs/{id}")) { "job " (id) } }))
    };
    html! {
        section.card aria-label="What runs" {
            h2 { "Job " (id) ": " (name(stations, job)) }
            p.wide { (bar(running)) }
            dl { (facts) }
            (forms::cancel(job.id, "Cancel this job"))
        }
    }
}

/// Goodput of transfers that ended, by the time of their end, beside what was expected.
fn against_time(jobs: &[StoredJob]) -> Markup {
    let of = |job: &StoredJob| {
        let at = seconds_of(job.ended_at.as_deref()?)?;
        let reached = number(job.outcome.as_ref(), "goodput_kbps")?;
        let hoped = number(job.expected.as_ref(), "goodput_kbps")?;
        let is_done = matches!(job.work, Work::Fetch { .. }) && job.state == JobState::Done;
        is_done.then_some(((now() - at).max(0) as f64, reached, hoped))
    };
    let mut all: Vec<_> = jobs.iter().filter_map(of).collect();
    // Jobs end in another order than that of their numbers.
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    if all.len() < 2 {
        return html! {};
    }
    let line = |value: fn(&(f64, f64, f64)) -> f64| all.iter().map(|t| (t.0, value(t))).collect();
    let lines = vec![
        ("came".to_owned(), line(|t| t.1)),
        ("expected".to_owned(), line(|t| t.2)),
    ];
    let chart = series::before_now(("Goodput", "kbit/s"), lines);
    let about = "Goodput of the transfers below, and what the planner had expected of each.";
    series::framed(&chart, about)
}

/// What a job brought, or why nothing.
fn brought(job: &StoredJob) -> Markup {
    let outcome = |key: &str| number(job.outcome.as_ref(), key);
    let to_job = |text: String| html! { a href=(format!("/jobs/{}", job.id.0)) { (text) } };
    match (&job.work, job.transfer, &job.error) {
        (_, Some(id), _) => html! { a href=(format!("/objects/{}", id.0)) { "object " (id.0) } },
        (_, None, Some(why)) => html! { (why) },
        (Work::Survey, ..) => html! { @if let Some(links) = outcome("links") { (links) " links" } },
        (Work::Plan { .. }, ..) => match outcome("hops") {
            Some(hops) => to_job(format!("route of {}", count(hops, "hop"))),
            None => html! {},
        },
        (Work::Session(_), ..) => match outcome("packets") {
            Some(packets) => to_job(count(packets, "packet")),
            None => html! {},
        },
        (Work::Fetch { .. }, ..) => html! {},
    }
}

/// Jobs that ended, in rows.
pub(super) fn history(stations: &Stations, jobs: &[StoredJob]) -> Markup {
    if jobs.is_empty() {
        return html! { p { "None yet." } };
    }
    let rows = html! { @for job in jobs { (row(stations, job)) } };
    let head = [
        "Job", "What", "State", "Goodput", "Took", "Rounds", "Brought", "Ended",
    ];
    lines("Jobs that ended", &head, &rows)
}

fn row(stations: &Stations, job: &StoredJob) -> Markup {
    let outcome = |key: &str| number(job.outcome.as_ref(), key);
    let expected = |key: &str| number(job.expected.as_ref(), key);
    let against = |value: Option<f64>, hoped: Option<f64>, show: fn(f64) -> String| {
        html! {
            @match (value, hoped) {
                (None, _) => "\u{2013}",
                (Some(value), None) => (show(value)),
                (Some(value), Some(hoped)) => { (show(value)) " " br; small { (show(hoped)) " expected" } }
            }
        }
    };
    let rate = |kbps: f64| format!("{kbps:.0} kbit/s");
    html! {
        tr {
            td { a href=(format!("/jobs/{}", job.id.0)) { (job.id.0) } }
            td { (name(stations, job)) }
            td { (state(job.state)) }
            td.more { (against(outcome("goodput_kbps"), expected("goodput_kbps"), rate)) }
            td.more { (against(outcome("duration_s"), expected("time_s"), seconds)) }
            td.more { @match outcome("rounds") { Some(n) => (n), None => "\u{2013}" } }
            td { (brought(job)) }
            td { @if let Some(at) = &job.ended_at { (when(at)) } }
        }
    }
}
