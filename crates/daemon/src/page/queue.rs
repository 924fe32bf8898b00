//! What waits at stations, and when it begins.

use maud::{html, Markup};

use super::label::name;
use super::text::{count, seconds, when};
use super::{forms, ROWS};
use crate::config::{Transfers, Window};
use crate::station_state::now;
use crate::stations::Stations;
use crate::view::utc;
use thalweg_host::store::{JobGroup, JobId, StoreError, StoredJob};

/// Minutes of a day: every window opens within one.
const DAY_MIN: i64 = 1_440;

/// When the next window opens, in seconds since 1970; none where one is open, or there is none.
pub(super) fn opens_at(transfers: &Transfers, now: i64) -> Option<i64> {
    let is_open = |at: i64| {
        transfers
            .limits_at(u64::try_from(at).unwrap_or(0))
            .is_some()
    };
    if is_open(now) {
        return None;
    }
    let minutes = (1..=DAY_MIN).map(|minute| (now / 60 + minute) * 60);
    minutes.into_iter().find(|at| is_open(*at))
}

/// That jobs wait for their window, and when it opens; nothing where one is open.
pub(super) fn window(stations: &Stations) -> Markup {
    // Those of all stations are the same.
    let opens = stations.all().first();
    let opens = opens.and_then(|station| opens_at(&station.transfers, now()));
    html! {
        @if let Some(at) = opens {
            "Jobs wait for their window: it opens in " (seconds((at - now()) as f64)) ", at " (when(&utc(at))) "."
        }
    }
}

/// When jobs begin, and what limits hold: those of all stations are the same.
pub(super) fn rules(stations: &Stations) -> Markup {
    let Some(station) = stations.all().first() else {
        return html! {};
    };
    let transfers = &station.transfers;
    let hours = |window: &Window| format!("{} UTC{}", window.hours, window.limits);
    let windows: Vec<String> = transfers.windows.iter().map(hours).collect();
    let always = transfers.limits().to_string();
    html! {
        @if !windows.is_empty() { p { "Jobs begin at " (windows.join("; at ")) ". " (window(stations)) } }
        @if let Some(limits) = always.strip_prefix(", ") {
            p {
                @if windows.is_empty() { "Limits" } @else { "Limits where a window has none of its own" }
                ": " (limits) "."
            }
        }
    }
}

/// Groups of which a job runs or waits, each with its progress and one cancel.
pub(super) fn groups(stations: &Stations, open: &[StoredJob]) -> Result<Markup, StoreError> {
    let mut ids: Vec<JobId> = open.iter().filter_map(|job| job.group).collect();
    ids.sort();
    ids.dedup();
    let mut groups = Vec::with_capacity(ids.len());
    for id in ids {
        groups.extend(stations.shared().store().group(id)?);
    }
    Ok(html! { @for group in &groups { (one_group(stations, group)) } })
}

fn one_group(stations: &Stations, group: &JobGroup) -> Markup {
    let [queued, running, done, failed, cancelled] = group.counts;
    let ended = done + failed + cancelled;
    let id = group.group.0;
    let what = match &*group.kind {
        "plan" => "plan",
        _ => "object",
    };
    html! {
        section.card #(format!("group-{id}")) aria-label="Asked for at once" {
            h2 {
                @if !stations.is_only() { (group.station) ": " }
                (count(group.jobs, what)) ", asked for at once"
            }
            p.wide {
                progress max=(group.jobs) value=(ended) aria-label=(format!("Progress of group {id}")) {}
                (done) " done, " span.bad[failed > 0] { (failed) " failed" } ", "
                @if cancelled > 0 { (cancelled) " cancelled, " }
                (running) " running, " (queued) " waiting"
            }
            form method="post" action=(format!("/groups/{id}/cancel")) {
                button.plain aria-label=(format!("Cancel group {id}")) { "Cancel what is left of them" }
            }
        }
    }
}

/// Jobs that wait by themselves, in their order; those of groups are counted there.
pub(super) fn waiting(stations: &Stations, queued: &[&StoredJob]) -> Result<Markup, StoreError> {
    let waiting = stations.waiting()?;
    let alone: Vec<&&StoredJob> = queued.iter().filter(|job| job.group.is_none()).collect();
    // Why a group waits is why its first job does.
    let grouped = queued.iter().find(|job| job.group.is_some());
    let why = grouped.and_then(|job| waiting.why(job));
    Ok(html! {
        @if let Some(why) = why { p { "The next of these " (why) "." } }
        @if !alone.is_empty() {
            h2 { "Waiting: " (count(alone.len(), "job")) }
            ol.queue {
                @for job in alone.iter().take(ROWS as usize) {
                    li #(format!("job-{}", job.id.0)) {
                        span {
                            "job " (job.id.0) ": " (name(stations, job))
                            @if let Some(why) = waiting.why(job) { " " small { (why) } }
                        }
                        " " (forms::cancel(job.id, "Cancel"))
                    }
                }
            }
            @if let Some(rest) = alone.len().checked_sub(ROWS as usize).filter(|rest| *rest > 0) {
                p.faint { "and " (rest) " more" }
            }
        }
    })
}
