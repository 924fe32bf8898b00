//! The report page: one self-contained HTML file. First how it was made and what it has, then all results against the
//! papers, then each result: pictures, numbers, variants. No scripts, nothing fetched; the same reports give the same
//! bytes. Tests: below, `crates/cli/tests/all/report.rs`.

#[cfg(test)]
mod committed_tests;
mod markdown;
mod numbers;
mod paper;
mod section;

pub use paper::{Measurement, PaperResults};

use super::report::Report;
use super::spec::Experiment;
use crate::results::{excused, fitted, short, span, Basis, Judged, Tally, Verdict};
use numbers::{escaped, prose, seeds, value, verdict};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

/// A page, as far as its reports go.
#[derive(Debug)]
pub struct Page<'a> {
    /// What has come.
    pub reports: &'a [Report],
    /// What is still to come.
    pub to_come: &'a [Experiment],
    /// The command that makes it.
    pub command: &'a str,
    /// Which other version of this program made the rows, where one did.
    pub simulated_by: Option<&'a str>,
    /// The folder with a folder of rows and figures for each report, as seen from the page.
    pub rows: Option<&'a str>,
}

impl Page<'_> {
    /// The page as HTML.
    pub fn html(&self) -> String {
        let title = "Results beside the papers'";
        // Writing to a string does not fail.
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"generator\" content=\"thalweg\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>Thalweg: {title}</title>\n<style>\n{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
        );
        self.made(&mut html);
        self.contents(&mut html);
        self.against_papers(&mut html);
        for report in self.reports {
            section::write(&mut html, report, self.rows);
        }
        html.push_str("</body></html>\n");
        html
    }

    /// How the page was made, and what came of it in a line.
    fn made(&self, html: &mut String) {
        let mut sets: Vec<String> = self.reports.iter().map(|r| seeds(&r.seeds)).collect();
        sets.dedup();
        let sets = match sets.as_slice() {
            [one] => one.clone(),
            [] => "none yet".to_owned(),
            _ => "as each result says".to_owned(),
        };
        let lines = tally(self.reports).lines().into_iter();
        let lines: String = lines
            .map(|line| format!("<li>{}</li>", escaped(&line)))
            .collect();
        let (version, command) = (env!("CARGO_PKG_VERSION"), escaped(self.command));
        let earlier = self.simulated_by.map(escaped);
        let earlier = earlier.map(|by| format!("; simulated by {by}"));
        let earlier = earlier.unwrap_or_default();
        let _ = write!(
            html,
            "<ul class=\"made\">{lines}</ul>\n\
             <dl class=\"made\"><dt>made by</dt><dd>thalweg {version}{earlier}</dd>\n\
             <dt>with</dt><dd><code>{command}</code></dd>\n<dt>seeds</dt><dd>{sets}</dd>\n"
        );
        if let Some(folder) = self.rows {
            let folder = escaped(folder);
            let _ = writeln!(
                html,
                "<dt>rows</dt><dd><a href=\"{folder}/\">{folder}</a></dd>"
            );
        }
        html.push_str("</dl>\n");
        if !self.to_come.is_empty() {
            let names: Vec<&str> = self.to_come.iter().map(|e| e.id.as_str()).collect();
            let (count, names) = (names.len(), escaped(&names.join(", ")));
            let _ = writeln!(
                html,
                "<p class=\"told\">Unfinished: {count} of the results are still to come: {names}.</p>"
            );
        }
    }

    /// Links to all results, paper by paper.
    fn contents(&self, html: &mut String) {
        html.push_str(
            "<nav aria-label=\"Contents\">\n<p><a href=\"#papers\">Against the papers</a>: all results in one table</p>\n",
        );
        for of_paper in self
            .reports
            .chunk_by(|a, b| a.experiment.paper == b.experiment.paper)
        {
            let paper = of_paper.first().and_then(|r| r.experiment.paper.as_deref());
            let _ = writeln!(html, "<h3>{}</h3><ul>", escaped(paper.unwrap_or("others")));
            for report in of_paper {
                let id = escaped(&report.experiment.id);
                let title = escaped(&report.experiment.title);
                let count = counted(report);
                let _ = writeln!(html, "<li><a href=\"#{id}\">{id}</a> {title}{count}</li>");
            }
            html.push_str("</ul>\n");
        }
        html.push_str("</nav>\n");
    }

    /// One table of what the papers report, and why what is outside its band is accepted.
    fn against_papers(&self, html: &mut String) {
        let is_held = |r: &&Judged| r.reference.is_some() || r.band.is_some();
        html.push_str(
            "<h2 id=\"papers\">Against the papers</h2>\n<div class=\"scroll\"><table class=\"cards\"><thead><tr>\
             <th>metric</th><th class=\"n\">ours</th><th class=\"n\">paper</th>\
             <th class=\"n\">band</th><th></th></tr></thead>\n",
        );
        for report in self.reports {
            let held: Vec<&Judged> = report.results.iter().filter(is_held).collect();
            if held.is_empty() && report.unanswered.is_empty() {
                continue;
            }
            let (id, title) = (&report.experiment.id, escaped(&report.experiment.title));
            let id = escaped(id);
            let _ = writeln!(
                html,
                "<tbody><tr class=\"group\"><th colspan=\"5\"><a href=\"#{id}\">{id}</a>: {title}</th></tr>"
            );
            for r in held {
                let (class, word) = verdict(r);
                let reference = r.reference.map(short).unwrap_or_default();
                let band = r.band.map(span).unwrap_or_default();
                let _ = writeln!(
                    html,
                    "<tr><th>{}</th><td class=\"n\" data-is=\"ours\">{}</td>\
                     <td class=\"n\" data-is=\"paper\">{reference}</td>\
                     <td class=\"n\" data-is=\"band\">{band}</td><td class=\"{class}\">{word}</td></tr>",
                    escaped(&r.measured.label()),
                    value(r),
                );
            }
            for claim in &report.unanswered {
                let metric = escaped(&claim.metric);
                let missing = "<td colspan=\"4\" class=\"out\">not measured</td>";
                let _ = writeln!(html, "<tr><th>{metric}</th>{missing}</tr>");
            }
            html.push_str("</tbody>\n");
        }
        html.push_str("</table></div>\n");
        let all = || self.reports.iter().flat_map(|r| &r.results);
        let outside = |r: &&Judged| r.within == Some(false);
        let why = |r: &Judged| prose(&excused(r));
        listed(
            html,
            "Outside their bands, and why that is accepted",
            all().filter(outside),
            why,
        );
        let returned = |r: &&Judged| r.verdict() == Some(Verdict::Returned);
        let heading = "Within their bands again, though excused";
        listed(html, heading, all().filter(returned), why);
        let is_fitted = |r: &&Judged| r.fitted.is_some();
        let what = |r: &Judged| prose(&fitted(r).unwrap_or_default());
        listed(
            html,
            "[F]: constants that were fitted to results",
            all().filter(is_fitted),
            what,
        );
    }
}

/// A heading with what there is to say of each of `results`; nothing where there are none.
fn listed<'a>(
    html: &mut String,
    heading: &str,
    results: impl Iterator<Item = &'a Judged>,
    say: impl Fn(&Judged) -> String,
) {
    let mut results = results.peekable();
    if results.peek().is_none() {
        return;
    }
    let _ = writeln!(html, "<h3>{heading}</h3>\n<dl class=\"why\">");
    for r in results {
        let (id, label) = (escaped(&r.id), escaped(&r.measured.label()));
        let link = format!("<a href=\"#{id}\">{id}</a>");
        let _ = writeln!(html, "<dt>{link} {label}</dt><dd>{}</dd>", say(r));
    }
    html.push_str("</dl>\n");
}

/// All results of `reports`, counted.
fn tally(reports: &[Report]) -> Tally {
    let results = reports.iter().flat_map(|r| &r.results);
    Tally::of(results, reports.iter().flat_map(|r| &r.unanswered))
}

/// How many of a report's results lie in their bands, for the contents; each kind apart.
fn counted(report: &Report) -> String {
    let tally = report.tally();
    let count = |basis: Basis| {
        let (count, name) = (
            tally.count(basis),
            match basis {
                Basis::Paper => "",
                Basis::Own => " of our own",
                Basis::Fitted => " fitted",
            },
        );
        (count.of > 0).then(|| format!("{} of {}{name}", count.within, count.of))
    };
    let counts: Vec<String> = Basis::ALL.into_iter().filter_map(count).collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!(" <small>{} within</small>", counts.join(", ")),
    }
}
