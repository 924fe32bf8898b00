//! Transfers: what runs, what waits, what was.

use std::fmt::Write as _;

use thalweg_draw::chart::{Chart, Mark, Point};

use super::text::{count, escape, seconds, seconds_of, when};
use super::{fetch_form, more, node_link, page, query, series, session_form, ROWS};
use crate::config::Window;
use crate::running::Running;
use crate::station_state::now;
use crate::stations::Stations;
use crate::view::number;
use thalweg_host::store::{JobId, JobState, StoreError, StoredJob, Work};

/// What a job is to do, in words without links.
pub(super) fn title(stations: &Stations, job: &StoredJob) -> String {
    let of = match stations.is_only() {
        true => String::new(),
        false => format!("{}: ", job.station),
    };
    let what = match &job.work {
        Work::Survey => "measure links".to_owned(),
        Work::Fetch { from } => format!("object of node {from}"),
        Work::Plan { from } => format!("plan for node {from}"),
        Work::Session(request) => format!("session of {}", count(request.sources.len(), "node")),
    };
    of + &what
}

/// What a job is to do, in words.
fn name(stations: &Stations, job: &StoredJob) -> String {
    let of = match stations.is_only() {
        true => String::new(),
        false => format!("{}: ", escape(&job.station)),
    };
    match &job.work {
        Work::Survey => format!("{of}measure links"),
        Work::Fetch { from } => {
            let node = node_link(stations, *from, &job.station);
            format!("{of}object of {node}")
        }
        Work::Plan { .. } | Work::Session(_) => {
            let title = escape(&title(stations, job));
            format!("<a href=\"/jobs/{}\">{title}</a>", job.id.0)
        }
    }
}

/// A state in a word and a sign.
pub(super) fn state(state: JobState) -> String {
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

pub(super) fn cancel(id: JobId, what: &str) -> String {
    format!(
        "<form method=\"post\" action=\"/transfers/{id}/cancel\"><button class=\"plain\" \
         aria-label=\"Cancel job {id}\">{what}</button></form>",
        id = id.0
    )
}

/// A bar that shows how far job `id` is.
pub(super) fn bar(running: &Running) -> String {
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
        let job = stations.shared().store().job(running.id)?;
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
    let is_open = stations.all().iter().any(|station| station.is_open());
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

/// When jobs begin, and what limits hold: those of all stations are the same.
fn rules(stations: &Stations) -> String {
    let Some(station) = stations.all().first() else {
        return String::new();
    };
    let (transfers, mut text) = (&station.transfers, String::new());
    let hours = |window: &Window| format!("{} UTC{}", window.hours, window.limits);
    let windows: Vec<String> = transfers.windows.iter().map(hours).collect();
    if !windows.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, "<p>Jobs begin at {}.</p>", windows.join("; at "));
    }
    let always = transfers.limits().to_string();
    if let Some(limits) = always.strip_prefix(", ") {
        let when = match windows.is_empty() {
            true => "Limits",
            false => "Limits where a window has none of its own",
        };
        let _ = write!(text, "<p>{when}: {limits}.</p>");
    }
    text
}

pub(crate) fn transfers(stations: &Stations, before: Option<i64>) -> Result<String, StoreError> {
    let all = stations.list();
    let open = stations.open_jobs(&all)?;
    let ended = stations.ended_jobs(&all, before.map(JobId), ROWS)?;
    let mut content = format!(
        "<div class=\"row\">{}</div>{}",
        fetch_form(&all, None),
        session_form(&all)
    );
    content.push_str(&rules(stations));
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
        let waiting = stations.waiting()?;
        for job in queued.iter().take(ROWS as usize) {
            let why = waiting.why(job);
            let why = why.map_or(String::new(), |why| {
                format!(" <small>{}</small>", escape(&why))
            });
            let _ = write!(
                content,
                "<li><span>job {}: {}{why}</span> {}</li>",
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
    content.push_str(&against_time(&ended));
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
    if let Work::Session(_) = job.work {
        let sum: f64 = running.sources.iter().filter_map(|s| s.rate).sum();
        fact("All rates", format!("{sum:.1} packets/s"));
        let packets: u64 = running.sources.iter().map(|s| s.packets).sum();
        fact("Delivered", count(packets as usize, "packet"));
        let link = format!("<a href=\"/jobs/{id}\">rates over time</a>");
        fact("Each node", link);
    } else if job.work != Work::Survey {
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
            let route = [(hops, "hop"), (paths, "path")].map(|(n, name)| count(n as usize, name));
            fact(
                "Route",
                format!("{} <a href=\"/{of}\">on the map</a>", route.join(", ")),
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

/// Goodput of transfers that ended, beside what was expected.
fn against_time(jobs: &[StoredJob]) -> String {
    let of = |job: &StoredJob| {
        let at = seconds_of(job.ended_at.as_deref()?)?;
        let reached = number(job.outcome.as_ref(), "goodput_kbps")?;
        let hoped = number(job.expected.as_ref(), "goodput_kbps")?;
        let is_fetch = matches!(job.work, Work::Fetch { .. });
        is_fetch.then_some(((now() - at).max(0) as f64, reached, hoped))
    };
    let all: Vec<_> = jobs.iter().rev().filter_map(of).collect();
    if all.len() < 2 {
        return String::new();
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

/// The outcome of a plan or a session.
fn brought(job: &StoredJob) -> String {
    let outcome = |key: &str| number(job.outcome.as_ref(), key);
    match &job.work {
        Work::Plan { .. } => outcome("hops").map_or(String::new(), |hops| {
            let id = job.id.0;
            format!(
                "<a href=\"/jobs/{id}\">route of {}</a>",
                count(hops as usize, "hop")
            )
        }),
        Work::Session(_) => outcome("packets").map_or(String::new(), |packets| {
            format!(
                "<a href=\"/jobs/{}\">{}</a>",
                job.id.0,
                count(packets as usize, "packet")
            )
        }),
        Work::Survey | Work::Fetch { .. } => String::new(),
    }
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
                None => brought(job),
            },
        };
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><td><a href=\"/jobs/{0}\">{0}</a></td><td>{1}</td><td>{2}</td><td>{3}</td><td>{4}</td><td>{5}</td>\
             <td>{brought}</td>\
             <td class=\"nowrap\">{6}</td></tr>",
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
