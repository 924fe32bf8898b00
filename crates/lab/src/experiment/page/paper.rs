//! What was measured of one paper, as data that is kept (`docs/results/PAPER.json`): experiments, claims and this give its page
//! in Markdown, without a simulation. Tests: `paper_tests.rs`.

use super::{Experiment, Report};
use crate::results::{Claim, Claims, Extent, Judged, Measured};
use serde::{Deserialize, Serialize};

/// What was measured of one experiment, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The experiment's id.
    pub id: String,
    /// Which version of this program simulated it.
    pub version: String,
    /// Whether it is of the quick subset.
    pub extent: Extent,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// How many rows came of them.
    pub rows: usize,
    /// What rows were left out, and which metrics have no result, a line each.
    pub notes: Vec<String>,
    /// The metrics' values, in the experiment's order.
    pub measured: Vec<Measured>,
}

impl Measurement {
    /// That of `report`, whose rows `version` of this program made.
    pub fn of(report: &Report, version: &str) -> Self {
        Self {
            id: report.experiment.id.clone(),
            version: version.to_owned(),
            extent: report.extent,
            seeds: report.seeds.clone(),
            rows: report.rows.len(),
            notes: report.notes().collect(),
            measured: report.results.iter().map(|r| r.measured.clone()).collect(),
        }
    }

    /// Its values beside the claims of `experiment`'s paper, and the claims that none of them answers.
    pub(super) fn judged<'a>(
        &self,
        experiment: &Experiment,
        claims: &'a Claims,
    ) -> (Vec<Judged>, Vec<&'a Claim>) {
        let paper = experiment.paper.as_deref();
        let judge =
            |m: &Measured| claims.judge(&self.id, paper, m.clone(), &self.measured, self.extent);
        let judged = self.measured.iter().map(judge).collect();
        (judged, claims.unanswered(&self.id, &self.measured))
    }
}

/// What was measured of a paper's experiments.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct PaperResults {
    /// Each experiment once.
    pub results: Vec<Measurement>,
}

impl PaperResults {
    /// The same with `new` in the place of what was known of that experiment.
    #[must_use]
    pub fn with(mut self, new: Measurement) -> Self {
        match self.results.iter_mut().find(|known| known.id == new.id) {
            Some(known) => *known = new,
            None => self.results.push(new),
        }
        self
    }

    /// As a file has it: a line for each value, so that a change can be read.
    ///
    /// # Errors
    /// [`serde_json::Error`], for no value that was measured.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let mut parts = Vec::new();
        for measurement in &self.results {
            let values = measurement.measured.iter().map(serde_json::to_string);
            let values = values.collect::<Result<Vec<_>, _>>()?.join(",\n");
            let head = Measurement {
                measured: Vec::new(),
                ..measurement.clone()
            };
            let head = serde_json::to_string(&head)?;
            // The list of values is the last field.
            let head = head.trim_end_matches("]}");
            parts.push(format!("{head}\n{values}\n]}}"));
        }
        let parts = parts.join(",\n");
        Ok(format!(
            "{{\"generator\":\"thalweg\",\"results\":[\n{parts}\n]}}\n"
        ))
    }

    /// The measurement of the experiment of that id.
    pub fn of(&self, id: &str) -> Option<&Measurement> {
        self.results.iter().find(|known| known.id == id)
    }
}

#[cfg(test)]
#[path = "paper_tests.rs"]
mod tests;
