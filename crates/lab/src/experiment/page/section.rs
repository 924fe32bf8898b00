//! One result on the page: what was done, pictures, numbers beside each other, and variants of the paper's protocols
//! in a table of their own. Tests: `mod.rs`.

use super::numbers::{escaped, prose, seeds, value, verdict};
use super::Report;
use crate::results::{columns, short, span, spread_of, Judged, Line, Pivot, Spread, Value};
use std::fmt::Write;
use thalweg_host::registry::{Origin, PROTOCOLS};

/// More than this beside each other is a list.
const BESIDE: usize = 12;

pub(super) fn write(html: &mut String, report: &Report, rows: Option<&str>) {
    let e = &report.experiment;
    let (id, title) = (escaped(&e.id), escaped(&e.title));
    // Writing to a string does not fail.
    let _ = writeln!(html, "<h2 id=\"{id}\">{id}: {title}</h2>");
    let _ = writeln!(html, "<p class=\"about\">{}</p>", prose(e.about.trim()));
    for (name, svg) in &report.figures {
        let _ = writeln!(html, "<figure id=\"{id}-{}\">{svg}</figure>", escaped(name));
    }
    let (ours, papers): (Vec<&Judged>, Vec<&Judged>) =
        report.results.iter().partition(|r| is_ours(r));
    tables(html, report, &papers, "Numbers");
    tables(html, report, &ours, "Variants, which are not the paper's");
    notes(html, report);
    let (set, count) = (seeds(&report.seeds), report.rows.len());
    let _ = write!(
        html,
        "<p><code>thalweg run {id}</code>, {set}, {count} rows"
    );
    if let Some(folder) = rows {
        let folder = escaped(folder);
        for file in ["rows.csv", "rows.json", "results.json"] {
            let _ = write!(html, ", <a href=\"{folder}/{id}/{file}\">{file}</a>");
        }
    }
    html.push_str("</p>\n");
}

/// Whether it is of a protocol made here.
fn is_ours(r: &Judged) -> bool {
    let is_ours = |value: &Value| {
        let Value::Text(name) = value else {
            return false;
        };
        let protocol = PROTOCOLS.iter().find(|p| p.name == name);
        protocol.is_some_and(|p| p.origin == Origin::Ours)
    };
    r.measured.at.values().any(is_ours)
}

/// `results` beside each other where they can be, the others one below the other.
fn tables(html: &mut String, report: &Report, results: &[&Judged], caption: &str) {
    let mut left = results.to_vec();
    let mut caption = caption;
    loop {
        let columns = columns(&report.experiment.metrics, &left);
        let mut pivots = columns.iter().filter_map(|column| Pivot::by(column, &left));
        let Some(pivot) = pivots.find(|pivot| pivot.names.len() <= BESIDE) else {
            break;
        };
        beside(html, report, &pivot, caption);
        (left, caption) = (pivot.rest, "");
    }
    if !left.is_empty() {
        list(html, &left, caption);
    }
}

fn beside(html: &mut String, report: &Report, pivot: &Pivot<'_>, caption: &str) {
    let _ = write!(
        html,
        "<div class=\"scroll\"><table class=\"beside\"><caption>{caption}</caption>\
         <thead><tr><th>by {}{}</th>",
        escaped(&pivot.column),
        match pivot.fixed.as_str() {
            "" => String::new(),
            fixed => format!(" <small>({})</small>", escaped(fixed)),
        }
    );
    for name in &pivot.names {
        let _ = write!(html, "<th class=\"n\">{}</th>", escaped(name));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    let mut before = "";
    for line in &pivot.lines {
        if !line.at.is_empty() && line.metric != before {
            let (metric, unit) = (escaped(line.metric), unit(line));
            let columns = pivot.names.len() + 1;
            let _ = writeln!(
                html,
                "<tr class=\"of\"><th colspan=\"{columns}\">{metric}{unit}</th></tr>"
            );
        }
        before = line.metric;
        html.push_str(&row(report, line));
    }
    html.push_str("</tbody></table></div>\n");
}

/// The unit after a metric's name.
fn unit(line: &Line<'_>) -> String {
    match line.unit {
        "" => String::new(),
        unit => format!(" <small>{}</small>", escaped(unit)),
    }
}

fn row(report: &Report, line: &Line<'_>) -> String {
    let mut html = match line.at.as_str() {
        "" => format!("<tr><th>{}{}</th>", escaped(line.metric), unit(line)),
        at => format!("<tr><th class=\"at\">{}</th>", escaped(at)),
    };
    for cell in &line.cells {
        let Some(r) = cell else {
            html.push_str("<td></td>");
            continue;
        };
        let (class, word) = verdict(r);
        let mut small = Vec::new();
        let spread = r
            .measured
            .spread()
            .filter(|spread| *spread != Spread::About(0.0));
        small.extend(spread.map(spread_of));
        small.extend(r.reference.map(|paper| format!("paper {}", short(paper))));
        if !word.is_empty() {
            small.push(format!("<span class=\"{class}\">{word}</span>"));
        }
        let rank = report.rank(r);
        small.extend(rank.map(|rank| format!("rank {} of {}", rank.place, rank.of)));
        let small: String = small
            .iter()
            .map(|s| format!("<small>{s}</small>"))
            .collect();
        let _ = write!(
            html,
            "<td class=\"n\">{}{small}</td>",
            short(r.measured.value)
        );
    }
    html + "</tr>\n"
}

fn list(html: &mut String, results: &[&Judged], caption: &str) {
    let _ = write!(
        html,
        "<div class=\"scroll\"><table class=\"cards\"><caption>{caption}</caption><thead><tr>\
         <th>metric</th><th class=\"n\">value</th><th class=\"n\">paper</th>\
         <th class=\"n\">band</th><th></th></tr></thead>\n<tbody>\n"
    );
    for r in results {
        let (class, word) = verdict(r);
        let _ = writeln!(
            html,
            "<tr><th>{}</th><td class=\"n\">{}</td><td class=\"n\" data-is=\"paper\">{}</td>\
             <td class=\"n\" data-is=\"band\">{}</td><td class=\"{class}\">{word}</td></tr>",
            escaped(&r.measured.label()),
            value(r),
            r.reference.map(short).unwrap_or_default(),
            r.band.map(span).unwrap_or_default(),
        );
    }
    html.push_str("</tbody></table></div>\n");
}

/// Rows that are left out, and metrics without results.
fn notes(html: &mut String, report: &Report) {
    for note in report.notes() {
        let _ = writeln!(html, "<p><small>{}</small></p>", escaped(&note));
    }
}
