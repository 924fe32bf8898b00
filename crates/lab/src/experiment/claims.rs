//! Claims: what a paper reports, and the band within which our own number counts as the same.
//! They are data (`papers/*.toml`), read only to be printed beside what the simulation measured.

use super::metric::Measured;
use super::row::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One value of a paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The result's id, as `p3.fig5`.
    pub id: String,
    /// The metric of the experiment of that id.
    pub metric: String,
    /// Which of the metric's results, by its `by` columns.
    #[serde(default)]
    pub at: BTreeMap<String, Value>,
    /// The paper's value, where it prints one.
    pub reference: Option<f64>,
    /// Lowest and highest mean that count as reproduced; one side may be open (`inf`).
    pub band: Option<[f64; 2]>,
    /// Where in the paper, and what the definition is.
    #[serde(default)]
    pub source: String,
    /// Why a miss is accepted for now, in words a reader can check. A result with an exception is
    /// still printed as outside its band.
    pub exception: Option<String>,
}

/// The claims of one paper.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// All of them.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A measured result beside its claim: one object of machine-readable output.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The result's id.
    pub id: String,
    /// The paper's short name, where the experiment belongs to one.
    pub paper: Option<String>,
    /// What was measured.
    #[serde(flatten)]
    pub measured: Measured,
    /// The paper's value.
    pub reference: Option<f64>,
    /// The band.
    pub band: Option<[f64; 2]>,
    /// Whether the value lies in the band; none without a band.
    pub within: Option<bool>,
    /// Why a miss is accepted for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
}

impl Claims {
    /// `measured`, a result of experiment `id`, beside its claim if it has one.
    pub fn judge(&self, id: &str, paper: Option<&str>, measured: Measured) -> Judged {
        let claim = self
            .claims
            .iter()
            .find(|c| c.id == id && c.metric == measured.metric && c.at == measured.at);
        let band = claim.and_then(|c| c.band);
        Judged {
            id: id.to_owned(),
            paper: paper.map(str::to_owned),
            reference: claim.and_then(|c| c.reference),
            band,
            within: band.map(|[lo, hi]| (lo..=hi).contains(&measured.value)),
            exception: claim.and_then(|c| c.exception.clone()),
            measured,
        }
    }
    /// Claims of `id` that none of `measured` answers: an experiment that lost a metric.
    pub fn unanswered<'a>(&'a self, id: &str, measured: &[Measured]) -> Vec<&'a Claim> {
        self.claims
            .iter()
            .filter(|c| c.id == id)
            .filter(|c| !measured.iter().any(|m| m.metric == c.metric && m.at == c.at))
            .collect()
    }
}
