//! A paper's page in Markdown: what misses its band and why, then each result with its pictures, every judged value beside the
//! paper's, and what is printed only. The same data gives the same bytes. Tests: `paper_tests.rs`.

use super::numbers::{seeds, verdict};
use super::paper::{Measurement, PaperResults};
use super::Experiment;
use crate::results::{
    columns, excused, fitted, short, span, spread_of, Basis, Claim, Claims, ClaimsError, Extent,
    Judged, Pivot, Spread, Tally, Verdict, Window,
};
use std::collections::BTreeSet;
use std::fmt::Write;

/// More than this beside each other is a list.
const BESIDE: usize = 12;

/// One experiment with what was measured of it.
struct Part<'a> {
    experiment: &'a Experiment,
    measurement: &'a Measurement,
    judged: Vec<Judged>,
    unanswered: Vec<&'a Claim>,
}

impl PaperResults {
    /// The page of the paper of that short name. Figures lie beside it, as `PAPER/ID-NAME.svg`.
    ///
    /// # Errors
    /// [`ClaimsError`], which a test rules out.
    pub fn page(&self, paper: &str, experiments: &[Experiment]) -> Result<String, ClaimsError> {
        let claims = Claims::of_paper(paper)?;
        let of_paper = |e: &&Experiment| e.paper.as_deref() == Some(paper);
        let mut parts = Vec::new();
        let mut missing = Vec::new();
        for experiment in experiments.iter().filter(of_paper) {
            let Some(measurement) = self.of(&experiment.id) else {
                missing.push(format!("`{}`", experiment.id));
                continue;
            };
            let (judged, unanswered) = measurement.judged(experiment, &claims);
            parts.push(Part {
                experiment,
                measurement,
                judged,
                unanswered,
            });
        }
        let name = claims.name.as_deref().unwrap_or(paper);
        let mut page = match &claims.cite {
            Some(cite) => format!("# {name}: our results beside the paper's\n\n{cite}.\n\n"),
            None => format!("# {name}: what it must do, and what it does\n\n"),
        };
        made(&mut page, paper, &parts, &missing);
        misses(&mut page, &parts);
        for part in &parts {
            section(&mut page, paper, part);
        }
        fits(&mut page, &parts);
        Ok(page)
    }
}

/// How the page was made, and what came of it.
fn made(page: &mut String, paper: &str, parts: &[Part<'_>], missing: &[String]) {
    let all = parts.iter().flat_map(|r| &r.judged);
    let silent = parts.iter().flat_map(|r| r.unanswered.iter().copied());
    let tally = Tally::of(all, silent);
    let versions: BTreeSet<&str> = (parts.iter())
        .map(|r| r.measurement.version.as_str())
        .collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    // Writing to a string does not fail.
    let _ = writeln!(
        page,
        "`thalweg reproduce {paper} --report DIR` writes this page (version {}). Each result below has the command that simulates \
         it alone.\n",
        versions.join(", ")
    );
    page.push_str("| judged by | in the band |\n|---|---|\n");
    for basis in Basis::ALL {
        let count = tally.count(basis);
        let name = match basis {
            Basis::Paper => "the paper's value",
            Basis::Own => "a requirement of our own, `[own]`",
            Basis::Fitted => "the paper's value, to which a constant was fitted, `[F]`",
        };
        if count.of > 0 {
            let _ = writeln!(page, "| {name} | {} of {} |", count.within, count.of);
        }
    }
    if tally.printed > 0 {
        let _ = writeln!(page, "| nothing, printed only | {} |", tally.printed);
    }
    if !missing.is_empty() {
        let _ = writeln!(page, "\nNot measured yet: {}.", missing.join(", "));
    }
    page.push('\n');
}

/// What lies outside its band, with the reason.
fn misses(page: &mut String, parts: &[Part<'_>]) {
    let all = || parts.iter().flat_map(|r| &r.judged);
    let mut outside = all().filter(|r| r.within == Some(false)).peekable();
    page.push_str("## Outside their bands\n\n");
    if outside.peek().is_none() {
        page.push_str("Nothing.\n\n");
        return;
    }
    // What one reason excuses stands together.
    let mut groups: Vec<(&str, Vec<&Judged>)> = Vec::new();
    for r in outside {
        let why = r.excuse.as_ref().map_or("", |excuse| excuse.why.trim());
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, group)) => group.push(r),
            None => groups.push((why, vec![r])),
        }
    }
    for (why, group) in groups {
        let why = if why.is_empty() {
            "Not explained."
        } else {
            why
        };
        let _ = writeln!(page, "* {why}");
        for r in group {
            let _ = writeln!(page, "  * {}", miss(r));
        }
    }
    for r in all().filter(|r| r.verdict() == Some(Verdict::Returned)) {
        let (id, label, why) = (&r.id, cell(&r.measured.label()), excused(r));
        let _ = writeln!(
            page,
            "* `{id}` {label} is within its band again. It was {why}"
        );
    }
    for (part, claim) in (parts.iter()).flat_map(|p| p.unanswered.iter().map(move |c| (p, c))) {
        if claim.judgement.is_some() {
            let (id, metric) = (&part.experiment.id, &claim.metric);
            let _ = writeln!(page, "* `{id}` {metric} was not measured.");
        }
    }
    page.push('\n');
}

/// A value outside its band: the paper's, the band, and what is excused.
fn miss(r: &Judged) -> String {
    let (id, label, ours) = (&r.id, cell(&r.measured.label()), value(r));
    let band = r.band.map(span).unwrap_or_default();
    let paper = r.reference.map(|paper| format!(", paper {}", short(paper)));
    let excused = r.excuse.as_ref().map(|excuse| {
        let Window { value, within } = excuse.window;
        format!(", excused at {} \u{b1} {}", short(value), short(within))
    });
    let (paper, excused) = (paper.unwrap_or_default(), excused.unwrap_or_default());
    format!("`{id}` {label}: {ours}{paper}, band {band}{excused}")
}

/// One result.
fn section(page: &mut String, paper: &str, part: &Part<'_>) {
    let (e, measurement) = (part.experiment, part.measurement);
    let id = &e.id;
    let _ = writeln!(page, "## {id}: {}\n\n{}\n", e.title, e.about.trim());
    for figure in &e.figures {
        let (title, name) = (&figure.title, &figure.name);
        let _ = writeln!(page, "![{title}]({paper}/{id}-{name}.svg)\n");
    }
    let is_held = |r: &&Judged| r.reference.is_some() || r.judged.is_some();
    let (held, printed): (Vec<&Judged>, Vec<&Judged>) = part.judged.iter().partition(is_held);
    if !(held.is_empty() && part.unanswered.is_empty()) {
        against_paper(page, &held, &part.unanswered);
    }
    printed_only(page, e, &printed);
    for note in &measurement.notes {
        let _ = writeln!(page, "* {note}");
    }
    if !measurement.notes.is_empty() {
        page.push('\n');
    }
    let (command, rows) = (command(e, measurement), measurement.rows);
    let (set, version) = (seeds(&measurement.seeds), &measurement.version);
    let _ = writeln!(
        page,
        "`{command}`: {set}, {rows} rows, version {version}.\n"
    );
}

/// The command that measures the same.
fn command(experiment: &Experiment, measurement: &Measurement) -> String {
    let id = &experiment.id;
    if measurement.extent == Extent::Quick {
        return format!("thalweg reproduce {id} --quick");
    }
    match measurement.seeds.as_slice() {
        seeds if *seeds == experiment.default_seeds() => format!("thalweg run {id}"),
        [one] => format!("thalweg run {id} --seeds {one}"),
        [first, .., last] => format!("thalweg run {id} --seeds {first}..{last}"),
        [] => format!("thalweg run {id}"),
    }
}

/// Every value that a paper or a requirement speaks of.
fn against_paper(page: &mut String, held: &[&Judged], unanswered: &[&Claim]) {
    page.push_str("| | ours | paper | band | |\n|---|---|---|---|---|\n");
    for r in held {
        let (label, ours) = (cell(&r.measured.label()), value(r));
        let paper = r.reference.map(short).unwrap_or_default();
        let band = r.band.map(span).unwrap_or_default();
        let (_, word) = verdict(r);
        let _ = writeln!(page, "| {label} | {ours} | {paper} | {band} | {word} |");
    }
    for claim in unanswered {
        let metric = cell(&claim.metric);
        let paper = claim.reference.map(short).unwrap_or_default();
        let band = claim.span().map(span).unwrap_or_default();
        let _ = writeln!(page, "| {metric} | not measured | {paper} | {band} | |");
    }
    page.push('\n');
}

/// What nothing speaks of, beside each other where it can be.
fn printed_only(page: &mut String, experiment: &Experiment, printed: &[&Judged]) {
    let mut left = printed.to_vec();
    loop {
        let columns = columns(&experiment.metrics, &left);
        let mut pivots = columns.iter().filter_map(|column| Pivot::by(column, &left));
        let Some(pivot) = pivots.find(|pivot| pivot.names.len() <= BESIDE) else {
            break;
        };
        beside(page, &pivot);
        left = pivot.rest;
    }
    if left.is_empty() {
        return;
    }
    page.push_str("| printed only | ours |\n|---|---|\n");
    for r in left {
        let _ = writeln!(page, "| {} | {} |", cell(&r.measured.label()), value(r));
    }
    page.push('\n');
}

fn beside(page: &mut String, pivot: &Pivot<'_>) {
    let fixed = match pivot.fixed.as_str() {
        "" => String::new(),
        fixed => format!(" ({fixed})"),
    };
    let names: Vec<String> = pivot.names.iter().map(|name| cell(name)).collect();
    let (column, names) = (&pivot.column, names.join(" | "));
    let _ = writeln!(page, "| by {column}{fixed} | {names} |");
    let _ = writeln!(page, "|---|{}", "---|".repeat(pivot.names.len()));
    for line in &pivot.lines {
        let unit = match line.unit {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        let at = match line.at.as_str() {
            "" => String::new(),
            at => format!(" ({at})"),
        };
        let cells = line.cells.iter().map(|cell| match cell {
            Some(r) => short(r.measured.value),
            None => String::new(),
        });
        let cells: Vec<String> = cells.collect();
        let label = cell(&format!("{}{at}{unit}", line.metric));
        let _ = writeln!(page, "| {label} | {} |", cells.join(" | "));
    }
    page.push('\n');
}

/// Which results owe something to a constant that was fitted.
fn fits(page: &mut String, parts: &[Part<'_>]) {
    let fits = (parts.iter().flat_map(|r| &r.judged)).filter_map(|r| Some((r, fitted(r)?)));
    let mut fits = fits.peekable();
    if fits.peek().is_none() {
        return;
    }
    page.push_str("## [F]: constants that were fitted\n\n| result | | constant |\n|---|---|---|\n");
    for (r, what) in fits {
        let (label, what) = (cell(&r.measured.label()), cell(&what));
        let _ = writeln!(page, "| `{}` | {label} | {what} |", r.id);
    }
    page.push('\n');
}

/// A result's number with its interval and unit.
fn value(r: &Judged) -> String {
    let m = &r.measured;
    let unit = match m.unit.as_str() {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    let interval = m.spread().filter(|spread| *spread != Spread::About(0.0));
    let interval = match interval {
        Some(Spread::Between(ends)) => format!(" ({})", span(ends)),
        Some(about) => format!(" {}", spread_of(about)),
        None => String::new(),
    };
    format!("{}{interval}{unit}", short(m.value))
}

/// Text as a table's cell has it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
