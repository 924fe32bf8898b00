//! A report: an experiment's results beside the paper's, with what they were measured of.
//! Tests: `tests.rs`.

use super::manifest::{labelled, labelled_columns};
use super::spec::Experiment;
use crate::results::{
    csv, filtered, of_some_seeds, ranks, short, why_nothing, Claim, Claims, Column, Extent,
    Filtered, Judged, MetricSpec, Rank, Row, Tally, Verdict, Window, DECIDED, SEED,
};
use std::collections::BTreeSet;

/// The results of an experiment.
#[derive(Debug, Clone)]
pub struct Report {
    /// The experiment.
    pub experiment: Experiment,
    /// Whether it is of the quick subset.
    pub extent: Extent,
    /// The seeds it was run with.
    pub seeds: Vec<u64>,
    /// What was observed.
    pub rows: Vec<Row>,
    /// The results, in the order of the experiment's metrics.
    pub results: Vec<Judged>,
    /// Claims that no result answers.
    pub unanswered: Vec<Claim>,
    /// The figures, as file stem and SVG.
    pub figures: Vec<(String, String)>,
    /// The results' ranks, in their order.
    pub ranks: Vec<Option<Rank>>,
    /// Metrics that are of some rows only.
    pub filtered: Vec<Filtered>,
    /// Metrics some of whose results are of fewer seeds than were run: fewest and most.
    pub of_some_seeds: Vec<(String, [usize; 2])>,
    /// Metrics without any result, and why.
    pub nothing: Vec<(String, String)>,
}

impl Report {
    /// The rank of `result`, one of its own.
    pub fn rank(&self, result: &Judged) -> Option<Rank> {
        let is_it = |known: &Judged| known.measured == result.measured;
        let place = self.results.iter().position(is_it)?;
        self.ranks.get(place).copied().flatten()
    }

    /// The report of `rows`, judged against `claims`.
    pub fn new(
        experiment: &Experiment,
        seeds: &[u64],
        rows: Vec<Row>,
        claims: &Claims,
        extent: Extent,
    ) -> Self {
        let metrics = experiment.metrics.iter();
        let measured: Vec<_> = metrics.flat_map(|m| m.measure(&rows)).collect();
        let (id, paper) = (&experiment.id, experiment.paper.as_deref());
        let unanswered = claims.unanswered(id, &measured).into_iter().cloned();
        let figures = experiment.figures.iter();
        let judge = |m| claims.judge(id, paper, m, &measured, extent);
        let results: Vec<Judged> = measured.iter().cloned().map(judge).collect();
        let has_none = |m: &&MetricSpec| !measured.iter().any(|found| found.metric == m.name);
        let nothing = experiment.metrics.iter().filter(has_none);
        Self {
            experiment: experiment.clone(),
            extent,
            seeds: seeds.to_vec(),
            ranks: ranks(&experiment.metrics, &results),
            filtered: filtered(&experiment.metrics, &rows),
            of_some_seeds: of_some_seeds(&measured, seeds.len()),
            nothing: nothing
                .map(|m| (m.name.clone(), why_nothing(m, &rows)))
                .collect(),
            results,
            unanswered: unanswered.collect(),
            figures: figures.map(|f| (f.name.clone(), f.svg(&rows))).collect(),
            rows,
        }
    }

    /// Metrics of fewer seeds than were run, a line each.
    pub fn seeds_notes(&self) -> impl Iterator<Item = String> + '_ {
        let all = self.seeds.len();
        self.of_some_seeds
            .iter()
            .map(move |(metric, [least, most])| match least == most {
                true => format!("{metric}: of {least} of {all} seeds"),
                false => format!("{metric}: of {least} to {most} of {all} seeds"),
            })
    }

    /// What else there is to say of it, a line each: seeds short of routes, metrics of some rows or seeds only, and those
    /// without results.
    pub fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let all = self.rows.len();
        let of_some = self.filtered.iter().map(move |f| {
            let metrics = f.metrics.join(", ");
            format!("{metrics}: of {} of {all} rows ({})", f.count, f.rows)
        });
        let nothing = self.nothing.iter();
        let nothing = nothing.map(|(metric, why)| format!("{metric}: nothing: {why}"));
        (self.routes_notes().chain(of_some))
            .chain(self.seeds_notes())
            .chain(nothing)
    }

    /// Its rows, each with the experiment and the testbed that it is of.
    pub fn labelled_rows(&self) -> Vec<Row> {
        labelled(&self.experiment, &self.rows)
    }
    /// What a folder of results holds of it beside a manifest, by name: rows, results and figures.
    ///
    /// # Errors
    /// [`serde_json::Error`], for no report that was measured.
    pub fn files(&self) -> Result<Vec<(String, String)>, serde_json::Error> {
        let rows = self.labelled_rows();
        let mut files = vec![
            ("rows.csv".to_owned(), csv(&rows)),
            ("rows.json".to_owned(), serde_json::to_string(&rows)? + "\n"),
            (
                "results.json".to_owned(),
                serde_json::to_string_pretty(&self.results)? + "\n",
            ),
        ];
        let figures = self.figures.iter();
        files.extend(figures.map(|(name, svg)| (format!("{name}.svg"), svg.clone())));
        Ok(files)
    }
    /// Every column that those rows may have. A table of them has all of these, whichever any row has.
    pub fn columns(&self) -> Vec<Column> {
        labelled_columns(&self.experiment)
    }
    /// Seeds that had fewer routes than were asked for: seed, routes found, routes asked for.
    pub fn routes_short(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let of_row = |row: &Row| {
            let number = |column| row.number(column).map(|n| n as u64);
            let seed = number(SEED)?;
            Some((seed, number("routes_found")?, number("routes_wanted")?))
        };
        let short = self.rows.iter().filter_map(of_row);
        short.collect::<BTreeSet<_>>().into_iter()
    }
    /// The same in words, a line each.
    pub fn routes_notes(&self) -> impl Iterator<Item = String> + '_ {
        let by = self.experiment.run.sought();
        let by = by.map(|by| format!(" ({by})")).unwrap_or_default();
        // A statistic is taken of each seed's routes, and then averaged over seeds.
        let weight = match self.seeds.len() {
            0 | 1 => "",
            _ => "; a seed weighs the same in means, however few routes it has",
        };
        self.routes_short().map(move |(seed, found, wanted)| {
            format!("seed {seed}: {found} of {wanted} routes were found{by}{weight}")
        })
    }

    /// How many results lie in their bands.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.results, &self.unanswered)
    }

    /// Its results of that verdict.
    pub fn of_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Judged> {
        let is_it = move |r: &&Judged| r.verdict() == Some(verdict);
        self.results.iter().filter(is_it)
    }

    /// What is wrong with it: results that lie neither in their band nor where an exception excuses them, and claims
    /// with a band that nothing answers; over few seeds only where the whole metric is missing, as a
    /// ratio over nothing is no value. One line each.
    pub fn misses(&self) -> Vec<String> {
        let few = self.seeds.len() < DECIDED;
        let is_known = |name: &String| self.results.iter().any(|r| r.measured.metric == *name);
        let judged = self.unanswered.iter().filter(|c| c.judgement.is_some());
        let judged = judged.filter(|c| !c.excuses_none());
        let silent = judged.filter(|c| !(few && is_known(&c.metric)));
        let missed = self.results.iter().filter_map(|r| {
            let what = match r.verdict()? {
                Verdict::Missed => "is outside its band",
                Verdict::Moved => "is outside its band, and is not what its exception excuses",
                _ => return None,
            };
            let value = short(r.measured.value);
            Some(format!("{}: {} {value} {what}", r.id, r.measured.label()))
        });
        missed
            .chain(silent.map(|c| format!("{}: {} was not measured", c.id, c.metric)))
            .collect()
    }

    /// Lines of `papers/*.toml` that would excuse the misses, once their reasons are known: the result's
    /// label, and what to write below its claim.
    pub fn restated(&self) -> Vec<String> {
        let missed = self
            .results
            .iter()
            .filter(|r| r.verdict().is_some_and(Verdict::is_miss));
        let restated = missed.map(|r| {
            let Window { value, within } = Window::around(&r.measured);
            let window = format!("value = {value:?}, within = {within:?}");
            let line = match self.extent {
                Extent::Full => format!("exception = {{ {window}, why = \"\" }}"),
                Extent::Quick => format!("exception = {{ quick = {{ {window} }}, why = \"\" }}"),
            };
            format!("{}: {}\n    {line}", r.id, r.measured.label())
        });
        restated.collect()
    }
}
