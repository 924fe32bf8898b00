//! A report: an experiment's results beside the paper's, with what they were measured of.
//! Tests: `tests.rs`.

use super::spec::Experiment;
use crate::results::{
    filtered, ranks, why_nothing, Claim, Claims, Filtered, Judged, MetricSpec, Rank, Row, DECIDED,
};

/// What came of an experiment.
#[derive(Debug, Clone)]
pub struct Report {
    /// The experiment.
    pub experiment: Experiment,
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
    pub fn new(experiment: &Experiment, seeds: &[u64], rows: Vec<Row>, claims: &Claims) -> Self {
        let metrics = experiment.metrics.iter();
        let measured: Vec<_> = metrics.flat_map(|m| m.measure(&rows)).collect();
        let (id, paper) = (&experiment.id, experiment.paper.as_deref());
        let unanswered = claims.unanswered(id, &measured).into_iter().cloned();
        let figures = experiment.figures.iter();
        let judge = |m| claims.judge(id, paper, m, &measured);
        let results: Vec<Judged> = measured.iter().cloned().map(judge).collect();
        let has_none = |m: &&MetricSpec| !measured.iter().any(|found| found.metric == m.name);
        let nothing = experiment.metrics.iter().filter(has_none);
        Self {
            experiment: experiment.clone(),
            seeds: seeds.to_vec(),
            ranks: ranks(&experiment.metrics, &results),
            filtered: filtered(&experiment.metrics, &rows),
            nothing: nothing
                .map(|m| (m.name.clone(), why_nothing(m, &rows)))
                .collect(),
            results,
            unanswered: unanswered.collect(),
            figures: figures.map(|f| (f.name.clone(), f.svg(&rows))).collect(),
            rows,
        }
    }

    /// What is wrong with it: misses ([`Judged::is_miss`]) without a written exception, and claims
    /// with a band that nothing answers; over few seeds only where the whole metric is missing, as a
    /// ratio over nothing is no value. One line each.
    pub fn misses(&self) -> Vec<String> {
        let outside = self.results.iter();
        let outside = outside.filter(|r| r.is_miss() && r.exception.is_none());
        let few = self.seeds.len() < DECIDED;
        let is_known = |name: &String| self.results.iter().any(|r| r.measured.metric == *name);
        let is_judged = |c: &&Claim| c.band.is_some() || c.interval_of.is_some();
        let silent = (self.unanswered.iter().filter(is_judged))
            .filter(|c| c.exception.is_none() && !(few && is_known(&c.metric)));
        outside
            .map(|r| format!("{}: {} is outside its band", r.id, r.measured.label()))
            .chain(silent.map(|c| format!("{}: {} was not measured", c.id, c.metric)))
            .collect()
    }
}
