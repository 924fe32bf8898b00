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
    /// In place of a band: the 95 % interval of the same metric elsewhere, for a paper that finds no
    /// significant difference.
    pub interval_of: Option<BTreeMap<String, Value>>,
    /// Where in the paper, and what the definition is.
    #[serde(default)]
    pub source: String,
    /// Why a miss is accepted for now, in words a reader can check. A result with an exception is
    /// still printed as outside its band.
    pub exception: Option<String>,
}

impl Claim {
    /// Whether it is of `measured`, a result of experiment `id`.
    fn is_of(&self, id: &str, measured: &Measured) -> bool {
        self.id == id && self.metric == measured.metric && self.at == measured.at
    }
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

/// Bands are for the mean over at least so many seeds.
pub const DECIDED: usize = 10;

impl Judged {
    /// Whether it is outside its band for certain: over fewer seeds than bands are meant for, a
    /// mean whose 95 % interval reaches into the band decides nothing.
    pub fn is_miss(&self) -> bool {
        if self.within != Some(false) {
            return false;
        }
        match (self.band, self.measured.ci95) {
            (Some([lo, hi]), Some([least, most])) if self.measured.n < DECIDED => {
                most < lo || least > hi
            }
            _ => true,
        }
    }
}

/// The papers' claims, by short name: the files in `papers/`.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// A claims file that is none.
#[derive(Debug, thiserror::Error)]
#[error("papers/{paper}.toml: {why}")]
pub struct ClaimsError {
    /// The paper's short name.
    pub paper: String,
    /// Place and expectation.
    pub why: String,
}

impl Claims {
    /// The claims of the paper of that short name; none where it is not known.
    ///
    /// # Errors
    /// [`ClaimsError`], which a test rules out.
    pub fn of_paper(paper: &str) -> Result<Self, ClaimsError> {
        let Some((_, text)) = BUILT_IN.iter().find(|(name, _)| *name == paper) else {
            return Ok(Self::default());
        };
        toml::from_str(text).map_err(|e| ClaimsError {
            paper: paper.to_owned(),
            why: e.to_string().replace('\n', " "),
        })
    }
    /// `measured`, a result of experiment `id`, beside its claim if it has one; `all` are the
    /// experiment's results.
    pub fn judge(
        &self,
        id: &str,
        paper: Option<&str>,
        measured: Measured,
        all: &[Measured],
    ) -> Judged {
        let claim = self.claims.iter().find(|c| c.is_of(id, &measured));
        let interval_of = |c: &Claim| {
            let at = c.interval_of.as_ref()?;
            let beside = |m: &&Measured| m.metric == c.metric && m.at == *at;
            all.iter().find(beside)?.ci95
        };
        let band = claim.and_then(|c| c.band.or_else(|| interval_of(c)));
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
        let of_it = self.claims.iter().filter(|c| c.id == id);
        let silent = of_it.filter(|c| !measured.iter().any(|m| c.is_of(id, m)));
        silent.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    #[test]
    fn every_claim_belongs_to_a_metric_of_an_experiment() {
        let experiments = Experiment::built_in().unwrap();
        for (paper, _) in BUILT_IN {
            for claim in Claims::of_paper(paper).unwrap().claims {
                let experiment = experiments.iter().find(|e| e.id == claim.id).unwrap();
                let metric = experiment.metrics.iter().find(|m| m.name == claim.metric);
                let metric = metric.unwrap_or_else(|| panic!("{} {}", claim.id, claim.metric));
                let by: Vec<&String> = claim.at.keys().collect();
                let mut wanted: Vec<&String> = metric.by.iter().collect();
                wanted.sort();
                assert_eq!(by, wanted, "{} {}", claim.id, claim.metric);
                assert!(!claim.source.is_empty() && claim.band.is_none_or(|b| b[0] <= b[1]));
                assert!(claim.band.is_none() || claim.interval_of.is_none());
                let beside: Option<Vec<&String>> =
                    (claim.interval_of.as_ref()).map(|at| at.keys().collect());
                assert!(beside.is_none_or(|beside| beside == by), "{}", claim.id);
            }
        }
        assert!(Claims::of_paper("none").unwrap().claims.is_empty());
    }

    /// Metric `m` of protocol `p`, one value or the mean of `n` seeds.
    fn measured(p: &str, value: f64, (ci95, n): (Option<[f64; 2]>, usize)) -> Measured {
        Measured {
            metric: "m".into(),
            at: [("p".to_owned(), Value::from(p))].into(),
            value,
            ci95,
            ci99: None,
            n,
            unit: String::new(),
        }
    }
    const ONE: (Option<[f64; 2]>, usize) = (None, 1);

    fn claims(says: &str) -> Claims {
        let text = format!("[[claim]]\nid='e'\nmetric='m'\nat={{p='x'}}\nsource='s'\n{says}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn few_seeds_miss_a_band_only_with_their_whole_interval() {
        let claims = claims("band=[4.0,5.0]");
        let judged = |n: usize, ci95: Option<[f64; 2]>| {
            let measured = measured("x", 3.0, (ci95, n));
            claims.judge("e", None, measured, &[]).is_miss()
        };
        assert!(!judged(3, Some([1.0, 5.0])));
        assert!(judged(3, Some([2.5, 3.5])));
        assert!(judged(10, Some([1.0, 5.0])));
        assert!(judged(1, None));
    }

    #[test]
    fn a_value_is_judged_by_the_interval_of_another() {
        let claims = claims("interval_of={p='y'}");
        let all = [measured("y", 3.0, (Some([2.0, 4.0]), 15))];
        let within = |value, all: &[Measured]| {
            let judged = claims.judge("e", None, measured("x", value, ONE), all);
            judged.within
        };
        assert_eq!(within(3.9, &all), Some(true));
        assert_eq!(within(4.1, &all), Some(false));
        assert_eq!(within(3.9, &[]), None);
    }

    #[test]
    fn a_value_is_judged_by_its_own_claim() {
        let claims = claims("reference=5.0\nband=[4.0,inf]");
        let judge = |p, value| claims.judge("e", Some("q"), measured(p, value, ONE), &[]);
        assert_eq!(judge("x", 4.0).within, Some(true));
        assert_eq!(judge("x", 3.9).within, Some(false));
        assert_eq!(judge("y", 3.9).within, None);
        let other = measured("y", 1.0, ONE);
        assert_eq!(claims.unanswered("e", &[other]).len(), 1);
        let line = serde_json::to_string(&judge("x", 4.5)).unwrap();
        let expected = concat!(
            r#"{"id":"e","paper":"q","metric":"m","at":{"p":"x"},"value":4.5,"ci95":null,"n":1,"unit":"","#,
            r#""reference":5.0,"band":[4.0,null],"within":true}"#
        );
        assert_eq!(line, expected);
    }
}
