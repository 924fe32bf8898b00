//! An experiment's results as text: what is compared beside each other where that fits, with the papers' values,
//! ranks, and why what is outside its band is accepted. Tests: below, `tests/experiments.rs`.

use std::fmt::Write as _;

use thalweg_lab::experiment::{short, span, Report};
use thalweg_lab::results::{columns, Judged, Line, Pivot};

use crate::output::plural;
use crate::table::Table;

/// A line's width that terminals and mails have.
const WIDTH: usize = 100;

/// The results of `report`, with what is to be known of them.
pub(crate) fn text(report: &Report) -> String {
    let e = &report.experiment;
    let seeds = match report.seeds.as_slice() {
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first}..{last}"),
        [] => String::new(),
    };
    let rows = plural(report.rows.len(), "row", "rows");
    let mut text = format!("{}: {} ({seeds}, {rows})\n\n", e.id, e.title);
    let all: Vec<&Judged> = report.results.iter().collect();
    let columns = columns(&e.metrics, &all);
    let beside = columns.iter().find_map(|column| {
        let pivot = Pivot::by(column, &all)?;
        let table = pivoted(&pivot, report);
        let fits = table.lines().all(|line| line.chars().count() <= WIDTH);
        fits.then_some((table, pivot.rest))
    });
    let rest = match beside {
        Some((table, rest)) => {
            text.push_str(&table);
            if !(rest.is_empty() && report.unanswered.is_empty()) {
                text.push('\n');
            }
            rest
        }
        None => all,
    };
    if !(rest.is_empty() && report.unanswered.is_empty()) {
        text.push_str(&listed(&rest, report));
    }
    text.push_str(&notes(report));
    text
}

/// A line for each metric, and below it lines for what else there is to tell of it.
fn pivoted(pivot: &Pivot<'_>, report: &Report) -> String {
    let first = (format!("by {}", pivot.column), crate::table::Align::Left);
    let names = pivot
        .names
        .iter()
        .map(|n| (n.clone(), crate::table::Align::Right));
    let mut table = Table::new([first].into_iter().chain(names));
    for line in &pivot.lines {
        let label = match line.unit {
            "" => line.label.clone(),
            unit => format!("{}, {unit}", line.label),
        };
        let mut add = |label: &str, cells: Vec<Option<String>>| {
            if cells.iter().any(Option::is_some) {
                let cells = cells.into_iter().map(Option::unwrap_or_default);
                table.row([label.to_owned()].into_iter().chain(cells));
            }
        };
        let each = |of: &dyn Fn(&Judged) -> Option<String>| -> Vec<Option<String>> {
            line.cells.iter().map(|cell| cell.and_then(of)).collect()
        };
        add(&label, each(&|r| Some(short(r.measured.value))));
        add("  95 %, \u{b1}", each(&half_width));
        add("  paper", each(&|r| r.reference.map(short)));
        add("  band", each(&|r| r.band.map(span)));
        add(
            "  verdict",
            each(&|r| Some(verdict(r).to_owned()).filter(|v| !v.is_empty())),
        );
        add("  rank", ranks(line, report));
    }
    table.render()
}

/// Half the width of the interval, which lies about the mean.
fn half_width(result: &Judged) -> Option<String> {
    result
        .measured
        .ci95
        .map(|[low, high]| short((high - low) / 2.0))
}

fn ranks(line: &Line<'_>, report: &Report) -> Vec<Option<String>> {
    let rank = |result: &Judged| {
        let place = report
            .results
            .iter()
            .position(|r| std::ptr::eq(r, result))?;
        report.ranks.get(place).copied().flatten()
    };
    let ranks = line.cells.iter();
    ranks
        .map(|cell| cell.and_then(rank).map(|rank| rank.to_string()))
        .collect()
}

/// A line for each result.
fn listed(results: &[&Judged], report: &Report) -> String {
    let heading = ["metric", ">value", ">95 %", "unit", ">paper", ">band", ""];
    let mut table = Table::of(&heading);
    for r in results {
        table.row([
            r.measured.label(),
            short(r.measured.value),
            r.measured.ci95.map(span).unwrap_or_default(),
            r.measured.unit.clone(),
            r.reference.map(short).unwrap_or_default(),
            r.band.map(span).unwrap_or_default(),
            verdict(r).to_owned(),
        ]);
    }
    for claim in &report.unanswered {
        let band = claim.band.map(span).unwrap_or_default();
        let reference = claim.reference.map(short).unwrap_or_default();
        let (metric, missing) = (&claim.metric, "not measured");
        table.row([metric, "", "", "", &reference, &band, missing]);
    }
    table.render()
}

/// Rows that are left out, metrics without results, and misses with their reasons.
fn notes(report: &Report) -> String {
    let mut text = String::new();
    let all = report.rows.len();
    for f in &report.filtered {
        let metrics = f.metrics.join(", ");
        let _ = writeln!(text, "{metrics}: of {} of {all} rows ({})", f.count, f.rows);
    }
    for (metric, why) in &report.nothing {
        let _ = writeln!(text, "{metric}: nothing: {why}");
    }
    for r in report.results.iter().filter(|r| r.within == Some(false)) {
        let why = r.exception.as_deref().unwrap_or("not explained");
        let _ = writeln!(text, "outside its band: {}: {why}", r.measured.label());
    }
    match text.is_empty() {
        true => text,
        false => format!("\n{text}"),
    }
}

fn verdict(result: &Judged) -> &'static str {
    match (result.within, &result.exception) {
        (Some(true), _) => "within",
        (Some(false), None) => "OUTSIDE",
        (Some(false), Some(_)) => "outside (explained)",
        (None, _) => "",
    }
}
