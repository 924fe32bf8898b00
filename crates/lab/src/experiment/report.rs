//! A report: an experiment's results beside the paper's, with what they were measured of.
//! Tests: `tests.rs`.

use super::spec::Experiment;
use crate::results::{Claim, Claims, Judged, Row, DECIDED};

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
}

impl Report {
    /// The report of `rows`, judged against `claims`.
    pub fn new(experiment: &Experiment, seeds: &[u64], rows: Vec<Row>, claims: &Claims) -> Self {
        let measured: Vec<_> = experiment
            .metrics
            .iter()
            .flat_map(|m| m.measure(&rows))
            .collect();
        let (id, paper) = (&experiment.id, experiment.paper.as_deref());
        let unanswered = claims
            .unanswered(id, &measured)
            .into_iter()
            .cloned()
            .collect();
        let figures = experiment
            .figures
            .iter()
            .map(|f| (f.name.clone(), f.svg(&rows)))
            .collect();
        let judge = |m| claims.judge(id, paper, m, &measured);
        let results = measured.iter().cloned().map(judge).collect();
        Self {
            experiment: experiment.clone(),
            seeds: seeds.to_vec(),
            rows,
            results,
            unanswered,
            figures,
        }
    }

    /// What is wrong with it: misses ([`Judged::is_miss`]) without a written exception, and claims
    /// with a band that nothing answers; over few seeds only where the whole metric is missing, as a
    /// ratio over nothing is no value. One line each.
    pub fn misses(&self) -> Vec<String> {
        let outside = self
            .results
            .iter()
            .filter(|r| r.is_miss() && r.exception.is_none());
        let few = self.seeds.len() < DECIDED;
        let is_known = |name: &String| self.results.iter().any(|r| r.measured.metric == *name);
        let silent = self
            .unanswered
            .iter()
            .filter(|c| (c.band.is_some() || c.interval_of.is_some()) && c.exception.is_none())
            .filter(|c| !(few && is_known(&c.metric)));
        outside
            .map(|r| format!("{}: {} is outside its band", r.id, r.measured.label()))
            .chain(silent.map(|c| format!("{}: {} was not measured", c.id, c.metric)))
            .collect()
    }
}
