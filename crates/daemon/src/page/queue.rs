//! What waits at stations, and when it begins.

use maud::{html, Markup};

use super::text::{count, seconds, when};
use super::transfers::name;
use super::{forms, ROWS};
use crate::config::{Transfers, Window};
use crate::station_state::now;
use crate::stations::Stations;
use crate::view::utc;
use thalweg_host::store::{StoreError, StoredJob};

/// Minutes of a day: every window opens within one.
const DAY_MIN: i64 = 1_440;

/// When the next window opens, in seconds since 1970; none where one is open, or there is none.
pub(super) fn opens_at(transfers: &Transfers, now: i64) -> Option<i64> {
    let is_open = |at: i64| transfers.limits_at(u64::try_from(at).unwrap_or(0)).is_some();
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

/// Jobs that wait, in their order.
pub(super) fn waiting(stations: &Stations, queued: &[&StoredJob]) -> Result<Markup, StoreError> {
    let waiting = stations.waiting()?;
    let shown = queued.iter().take(ROWS as usize);
    Ok(html! {
        @if !queued.is_empty() {
            h2 { "Waiting: " (count(queued.len(), "job")) }
            ol.queue {
                @for job in shown {
                    li #(format!("job-{}", job.id.0)) {
                        span {
                            "job " (job.id.0) ": " (name(stations, job))
                            @if let Some(why) = waiting.why(job) { " " small { (why) } }
                        }
                        " " (forms::cancel(job.id, "Cancel"))
                    }
                }
            }
            @if let Some(rest) = queued.len().checked_sub(ROWS as usize).filter(|rest| *rest > 0) {
                p.faint { "and " (rest) " more" }
            }
        }
    })
}
