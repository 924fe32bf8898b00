//! What a job is called, its state, and its bar.

use maud::{html, Markup};

use super::text::count;
use super::{named, node_link};
use crate::running::Running;
use crate::stations::Stations;
use thalweg_host::store::{JobState, StoredJob, Work};

/// What a job is to do, in words without links.
pub(super) fn title(stations: &Stations, job: &StoredJob) -> String {
    let of = match stations.is_only() {
        true => String::new(),
        false => format!("{}: ", job.station),
    };
    let place = stations.named(Some(&job.station)).ok();
    let node = |id| match place {
        Some(station) => named(station, id),
        None => format!("node {id}"),
    };
    let what = match &job.work {
        Work::Survey => "measure links".to_owned(),
        Work::Fetch { from } => format!("object of {}", node(*from)),
        Work::Plan { from } => format!("plan for {}", node(*from)),
        Work::Session(request) => format!("session of {}", count(request.sources.len(), "node")),
    };
    of + &what
}

/// What a job is to do, in words.
pub(super) fn name(stations: &Stations, job: &StoredJob) -> Markup {
    html! {
        @match &job.work {
            Work::Survey => (title(stations, job)),
            Work::Fetch { from } => {
                @if !stations.is_only() { (job.station) ": " }
                "object of " (node_link(stations, *from, &job.station))
            }
            Work::Plan { .. } | Work::Session(_) => {
                a href=(format!("/jobs/{}", job.id.0)) { (title(stations, job)) }
            }
        }
    }
}

/// A state in a word and a sign.
pub(super) fn state(state: JobState) -> Markup {
    let sign = match state {
        JobState::Queued => "\u{2026}",
        JobState::Running => "\u{25b6}",
        JobState::Done => "\u{2713}",
        JobState::Failed => "\u{2717}",
        JobState::Cancelled => "\u{2013}",
    };
    html! {
        span.state.bad[state == JobState::Failed] { span aria-hidden="true" { (sign) } " " (state.name()) }
    }
}

/// A bar that shows how far a job is.
pub(super) fn bar(running: &Running) -> Markup {
    let id = running.id.0;
    html! {
        progress max="100" value=(format!("{:.1}", running.progress * 100.0)) data-job=(id) data-key="progress"
            aria-label=(format!("Progress of job {id}")) {}
        " "
        span data-job=(id) data-key="phase" { (running.phase) }
    }
}
