//! An experiment's results as text: what is compared beside each other where that fits, with the papers' values,
//! ranks, and why what is outside its band is accepted. Tests: below, `tests/all/experiments.rs`.

use std::fmt::Write as _;

use thalweg_lab::experiment::Report;
use thalweg_lab::results::{
    columns, excused, fitted, mark, short, span, spread_of, Judged, Pivot, Spread, Verdict,
};

use crate::output::plural;
use crate::table::{Align, Table};

/// A line's width that terminals and mails have.
const WIDTH: usize = 100;

/// Names in a heading are not broken before this.
const NAME: usize = 12;

/// The results of `report`, with notes on them.
pub(crate) fn text(report: &Report) -> String {
    let e = &report.experiment;
    let seeds = match report.seeds.as_slice() {
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first}..{last}"),
        [] => String::new(),
    };
    let rows = plural(report.rows.len(), "row", "rows");
    let mut text = format!("{}: {} ({seeds}, {rows})\n\n", e.id, e.title);
    let mut left: Vec<&Judged> = report.results.iter().collect();
    let mut tables = Vec::new();
    while let Some((table, rest)) = beside(&left, report) {
        tables.push(table);
        left = rest;
    }
    if !(left.is_empty() && report.unanswered.is_empty()) {
        tables.push(listed(&left, report));
    }
    text.push_str(&tables.join("\n"));
    text.push_str(&notes(report));
    text
}

/// As many of `results` as fit beside each other, and the others.
fn beside<'a>(results: &[&'a Judged], report: &Report) -> Option<(String, Vec<&'a Judged>)> {
    let columns = columns(&report.experiment.metrics, results);
    columns.iter().find_map(|column| {
        let pivot = Pivot::by(column, results)?;
        let table = pivoted(&pivot, report);
        let fits = table.lines().all(|line| line.chars().count() <= WIDTH);
        fits.then_some((table, pivot.rest))
    })
}

/// `name` in lines of a heading, so that a long one takes no more room than numbers.
fn in_lines(name: &str) -> String {
    let mut lines = vec![String::new()];
    for part in name.split_inclusive(['-', '+', '_', ' ']) {
        if let Some(line) = lines.last_mut() {
            if line.is_empty() || line.len() + part.len() <= NAME {
                line.push_str(part);
                continue;
            }
        }
        lines.push(part.to_owned());
    }
    lines.join("\n")
}

/// A line for each metric, and its notes below.
fn pivoted(pivot: &Pivot<'_>, report: &Report) -> String {
    let first = (format!("by {}", pivot.column), Align::Left);
    let names = pivot.names.iter().map(|n| (in_lines(n), Align::Right));
    let mut table = Table::new([first].into_iter().chain(names));
    let mut before = "";
    for line in &pivot.lines {
        let mut label = match line.unit {
            "" => line.metric.to_owned(),
            unit => format!("{}, {unit}", line.metric),
        };
        let mut indent = "";
        if !line.at.is_empty() {
            let empty = pivot.names.iter().map(|_| String::new());
            if line.metric != before {
                table.row([label].into_iter().chain(empty));
            }
            (label, indent) = (format!("  {}", line.at), "  ");
        }
        before = line.metric;
        let mut add = |label: &str, cells: Vec<Option<String>>| {
            if cells.iter().any(Option::is_some) {
                let cells = cells.into_iter().map(Option::unwrap_or_default);
                table.row([format!("{indent}{label}")].into_iter().chain(cells));
            }
        };
        let each = |of: &dyn Fn(&Judged) -> Option<String>| -> Vec<Option<String>> {
            line.cells.iter().map(|cell| cell.and_then(of)).collect()
        };
        add(label.trim_start(), each(&|r| Some(short(r.measured.value))));
        add("  95 %", each(&|r| r.measured.spread().map(interval)));
        add("  paper", each(&|r| r.reference.map(short)));
        add("  band", each(&|r| r.band.map(span)));
        let verdicts = each(&|r| Some(verdict(r)).filter(|v| !v.is_empty()));
        add("  verdict", verdicts);
        let ranks = each(&|r| report.rank(r).map(|rank| rank.place.to_string()));
        add("  rank", ranks);
    }
    table.render()
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
            verdict(r),
        ]);
    }
    for claim in &report.unanswered {
        let band = claim.span().map(span).unwrap_or_default();
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
    for line in report.routes_notes().chain(report.seeds_notes()) {
        let _ = writeln!(text, "{line}");
    }
    for (metric, why) in &report.nothing {
        let _ = writeln!(text, "{metric}: nothing: {why}");
    }
    for r in report.results.iter().filter(|r| r.within == Some(false)) {
        let why = excused(r);
        let _ = writeln!(text, "outside its band: {}: {why}", r.measured.label());
    }
    for r in report.of_verdict(Verdict::Returned) {
        let (label, why) = (r.measured.label(), excused(r));
        let _ = writeln!(text, "within its band again: {label}: {why}");
    }
    text.push_str(&fits(report));
    match text.is_empty() {
        true => text,
        false => format!("\n{text}"),
    }
}

/// What results owe to constants that were fitted to them: each constant once.
fn fits(report: &Report) -> String {
    let mut fits: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for r in &report.results {
        let Some(what) = fitted(r) else { continue };
        let (constant, moved) = what.rsplit_once("; ").unwrap_or((&what, ""));
        let of_it = (r.measured.label(), moved.to_owned());
        match fits.iter_mut().find(|(known, _)| known == constant) {
            Some((_, results)) => results.push(of_it),
            None => fits.push((constant.to_owned(), vec![of_it])),
        }
    }
    let mut text = String::new();
    for (constant, results) in fits {
        if let [(label, moved)] = &results[..] {
            let _ = writeln!(text, "[F] {label}: {constant}; {moved}");
            continue;
        }
        let _ = writeln!(text, "[F] {constant}; with a tenth less and a tenth more:");
        for (label, moved) in results {
            let short = moved.replacen("a tenth less gives ", "", 1);
            let short = short.replacen(", a tenth more ", ", ", 1);
            let _ = writeln!(text, "    {label}: {short}");
        }
    }
    text
}

/// An interval; nothing where the value is exact.
fn interval(spread: Spread) -> String {
    match spread {
        Spread::About(0.0) => "exact".to_owned(),
        other => spread_of(other),
    }
}

/// A miss without a reason stands out.
fn verdict(result: &Judged) -> String {
    let Some(verdict) = result.verdict() else {
        return String::new();
    };
    let word = match verdict {
        Verdict::Within => "within",
        Verdict::Returned => "within again",
        Verdict::Excused => "outside",
        Verdict::Open => "outside?",
        Verdict::Moved => "MOVED",
        Verdict::Missed => "OUTSIDE",
    };
    format!("{}{word}", mark(result))
}

#[cfg(test)]
mod tests {
    use super::in_lines;

    #[test]
    fn long_names_are_broken_where_their_words_end() {
        for (name, lines) in [
            ("p3-planned", "p3-planned"),
            ("fastforward-noack", "fastforward-\nnoack"),
            ("both-ends-4-reuse", "both-ends-4-\nreuse"),
            ("0.25", "0.25"),
        ] {
            assert_eq!(in_lines(name), lines);
        }
    }
}
