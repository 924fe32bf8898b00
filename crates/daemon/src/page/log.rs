//! What happened, line by line.

use maud::{html, Markup};

use super::text::when_exactly;
use super::{lines, more, page};
use crate::stations::Stations;
use thalweg_host::store::{JobId, Level, Line, StoreError, KEPT_LINES};

/// Lines of a page.
const SHOWN: u32 = 200;
/// Lines of a job.
const OF_JOB: usize = 50;

pub(crate) fn log(stations: &Stations, before: Option<i64>) -> Result<String, StoreError> {
    let found = stations.shared().store().lines(before, SHOWN)?;
    let last = found.last().filter(|line| line.id > 1);
    let content = html! {
        div #lines data-live {
            @if found.is_empty() {
                p { "Nothing has happened yet. " a href="/transfers" { "Fetch an object" } ", and its lines are here." }
            } @else { (rows(&found)) }
            (more("/log", found.len() == SHOWN as usize, last.map(|line| line.id)))
        }
    };
    page(stations, ("/log", "Log"), &content)
}

fn rows(found: &[Line]) -> Markup {
    let rows = html! {
        @for line in found {
            tr.warning[line.level == Level::Warning] {
                td { (when_exactly(&line.at)) }
                td { @if line.level == Level::Warning { "\u{26a0} warning" } }
                td.whole {
                    (line.text)
                    @if let Some(since) = &line.since {
                        " " small { (line.times) " times since " (when_exactly(since)) }
                    }
                }
            }
        }
    };
    lines("Log", &["When", "", "What"], &rows)
}

/// The lines of a job, the youngest first.
pub(super) fn of_job(stations: &Stations, id: JobId) -> Result<Markup, StoreError> {
    let mark = format!("job {}: ", id.0);
    let mut found = stations.shared().store().lines(None, KEPT_LINES)?;
    // Where there are several stations, their names come first.
    found.retain(|line| {
        let of_job = line.text.starts_with(&mark);
        of_job || (!stations.is_only() && line.text.contains(&format!(": {mark}")))
    });
    found.truncate(OF_JOB);
    Ok(html! { @if !found.is_empty() { h2 { "Log" } (rows(&found)) } })
}
