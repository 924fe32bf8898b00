//! Transfers: what runs, what waits, what was.

use std::fmt::Write as _;

use thalweg_draw::chart::{Chart, Mark, Point};

use super::text::{count, escape, seconds, when};
use super::{fetch_form, more, node_link, page, query, ROWS};
use crate::daemon::desk::Company;
use crate::daemon::running::Running;
use crate::daemon::stations::Stations;
use crate::daemon::view::number;
use crate::store::{JobId, JobState, StoreError, StoredJob, Work};

/// What a job is to do, in words.
fn name(stations: &Stations, job: &StoredJob) -> String {
    let of = match stations.company() {
        Company::Alone => String::new(),
        Company::Others => format!("{}: ", escape(&job.station)),
    };
    match job.work {
        Work::Survey => format!("{of}measure links"),
        Work::Fetch { from } => {
            let node = node_link(stations, from, &job.station);
            format!("{of}object of {node}")
        }
    }
}

/// A state in a word and a sign.
fn state(state: JobState) -> String {
    let sign = match state {
        JobState::Queued => "\u{2026}",
        JobState::Running => "\u{25b6}",
        JobState::Done => "\u{2713}",
        JobState::Failed => "\u{2717}",
        JobState::Cancelled => "\u{2013}",
    };
    let name = state.name();
    format!("<span class=\"state {name}\"><span aria-hidden=\"true\">{sign}</span> {name}</span>")
}

fn cancel(id: JobId, what: &str) -> String {
    format!(
        "<form method=\"post\" action=\"/transfers/{id}/cancel\"><button class=\"plain\" \
         aria-label=\"Cancel job {id}\">{what}</button></form>",
        id = id.0
    )
}

/// A bar that shows how far job `id` is.
fn bar(running: &Running) -> String {
    let (id, percent) = (running.id.0, running.progress * 100.0);
    format!(
        "<progress max=\"100\" value=\"{percent:.1}\" data-job=\"{id}\" data-key=\"progress\" \
         aria-label=\"Progress of job {id}\"></progress> \
         <span data-job=\"{id}\" data-key=\"phase\">{}</span>",
        escape(&running.phase)
    )
}

/// What runs, on every page.
pub(super) fn strip(stations: &Stations) -> Result<String, StoreError> {
    let mut text = String::new();
    for running in &stations.running() {
        let job = stations.common().store().job(running.id)?;
        if let Some(job) = job {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "<div><a href=\"/transfers\">Job {}</a>: {} {}</div>",
                job.id.0,
                name(stations, &job),
                bar(running)
            );
        }
    }
    let is_open = stations.all().iter().any(|desk| desk.is_open());
    if text.is_empty() {
        text.push_str(match is_open {
            true => "Nothing runs.",
            false => "Nothing runs: it waits for its window.",
        });
    }
    Ok(format!(
        "<div id=\"now\" class=\"strip\" data-live>{text}</div>"
    ))
}

pub(in crate::daemon) fn transfers(
    stations: &Stations,
    before: Option<i64>,
) -> Result<String, StoreError> {
    let desks = stations.desks();
    let open = stations.open_jobs(&desks)?;
    let ended = stations.ended_jobs(&desks, before.map(JobId), ROWS)?;
    let mut content = format!("<div class=\"row\">{}</div>", fetch_form(&desks, None));
    let windows = desks.first().map(|desk| desk.transfers.windows.iter());
    let windows = windows.into_iter().flatten().map(ToString::to_string);
    let windows: Vec<String> = windows.collect();
    if !windows.is_empty() {
        let _ = write!(
            content,
            "<p>Jobs begin between {} (UTC).</p>",
            windows.join(" and ")
        );
    }
    content.push_str("<div id=\"jobs\" data-live>");
    let (now, queued): (Vec<&StoredJob>, Vec<&StoredJob>) =
        open.iter().partition(|job| job.state == JobState::Running);
    let running = stations.running();
    for job in now {
        if let Some(running) = running.iter().find(|running| running.id == job.id) {
            content.push_str(&card(stations, job, running));
        }
    }
    if !queued.is_empty() {
        let _ = write!(content, "<h2>Waiting: {}</h2>", count(queued.len(), "job"));
        content.push_str("<ol class=\"queue\">");
        for job in queued.iter().take(ROWS as usize) {
            let _ = write!(
                content,
                "<li><span>job {}: {}</span> {}</li>",
                job.id.0,
                name(stations, job),
                cancel(job.id, "Cancel")
            );
        }
        content.push_str("</ol>");
        if let Some(rest) = queued
            .len()
            .checked_sub(ROWS as usize)
            .filter(|rest| *rest > 0)
        {
            let _ = write!(content, "<p class=\"faint\">and {rest} more</p>");
        }
    }
    content.push_str("<h2>Ended</h2>");
    content.push_str(&history(stations, &ended));
    let last = ended.last().map(|job| job.id.0);
    content.push_str(&more("/transfers", ended.len() == ROWS as usize, last));
    content.push_str("</div>");
    page(stations, ("/transfers", "Transfers"), &content)
}

/// The job that runs, with what is expected of it.
fn card(stations: &Stations, job: &StoredJob, running: &Running) -> String {
    let id = job.id.0;
    let live = |key: &str, value: String| {
        format!("<span data-job=\"{id}\" data-key=\"{key}\">{value}</span>")
    };
    let expected = |key: &str| number(job.expected.as_ref(), key);
    let of = stations
        .named(Some(&job.station))
        .map(query)
        .unwrap_or_default();
    let mut facts = String::new();
    let mut fact = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = write!(facts, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    if job.work != Work::Survey {
        let rate = match running.received {
            0 => "\u{2013}".to_owned(),
            _ => format!("{:.0}", running.rate_kbps),
        };
        let hoped = expected("goodput_kbps").map(|e| format!(" <small>of {e:.0} expected</small>"));
        let rate = live("rate_kbps", rate) + " kbit/s" + &hoped.unwrap_or_default();
        fact("Goodput", rate);
        let rounds = expected("rounds").map(|e| format!(" <small>of {e:.1} expected</small>"));
        let round = match running.round {
            0 => "\u{2013}".to_owned(),
            round => round.to_string(),
        };
        fact("Round", live("round", round) + &rounds.unwrap_or_default());
        let left = running.left_s().map_or("\u{2013}".to_owned(), seconds);
        let whole =
            expected("time_s").map(|e| format!(" <small>of {} expected</small>", seconds(e)));
        fact(
            "Time left",
            live("left_s", left) + &whole.unwrap_or_default(),
        );
        if let Some((hops, paths)) = expected("hops").zip(expected("paths")) {
            let way = [(hops, "hop"), (paths, "path")].map(|(n, name)| count(n as usize, name));
            fact(
                "Route",
                format!("{} <a href=\"/{of}\">on the map</a>", way.join(", ")),
            );
        }
    }
    format!(
        "<section class=\"card\" aria-label=\"What runs\"><h2>Job {id}: {}</h2><p class=\"wide\">{}</p>\
         <dl>{facts}</dl>{}{}</section>",
        name(stations, job),
        bar(running),
        course(running),
        cancel(job.id, "Cancel this job")
    )
}

/// Packets over time.
fn course(running: &Running) -> String {
    if running.course.len() < 2 {
        return String::new();
    }
    let points = running.course.iter();
    let points = points.map(|(s, received)| Point::new(*s, f64::from(*received)));
    let title = format!("Packets of {}", running.packets);
    let mut chart = Chart::new(&title, "s since the first packet", "packets");
    (chart.width, chart.height) = (480, 200);
    let svg = chart.with("", Mark::Line, points).to_svg();
    format!("<div class=\"chart\">{svg}</div>")
}

/// Jobs that ended, in rows.
pub(super) fn history(stations: &Stations, jobs: &[StoredJob]) -> String {
    if jobs.is_empty() {
        return "<p>None yet.</p>".to_owned();
    }
    let mut rows = String::new();
    for job in jobs {
        let outcome = |key: &str| number(job.outcome.as_ref(), key);
        let expected = |key: &str| number(job.expected.as_ref(), key);
        let against = |value: Option<f64>, hoped: Option<f64>, show: fn(f64) -> String| match (
            value, hoped,
        ) {
            (None, _) => "\u{2013}".to_owned(),
            (Some(value), None) => show(value),
            (Some(value), Some(hoped)) => {
                format!("{}<br><small>{} expected</small>", show(value), show(hoped))
            }
        };
        let rate = |kbps: f64| format!("{kbps:.0} kbit/s");
        let brought = match (job.transfer, &job.error) {
            (Some(id), _) => format!("<a href=\"/objects/{0}\">object {0}</a>", id.0),
            (None, Some(why)) => escape(why),
            (None, None) => match outcome("links") {
                Some(links) => format!("{links} links"),
                None => String::new(),
            },
        };
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{brought}</td>\
             <td class=\"nowrap\">{}</td></tr>",
            job.id.0,
            name(stations, job),
            state(job.state),
            against(outcome("goodput_kbps"), expected("goodput_kbps"), rate),
            against(outcome("duration_s"), expected("time_s"), seconds),
            outcome("rounds").map_or("\u{2013}".to_owned(), |n| n.to_string()),
            job.ended_at.as_deref().map_or(String::new(), when)
        );
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Jobs that ended\"><table><thead>\
         <tr><th>Job</th><th>What</th><th>State</th><th>Goodput</th><th>Took</th><th>Rounds</th>\
         <th>Brought</th><th>Ended (UTC)</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}
