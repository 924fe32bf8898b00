//! Claims: what a paper reports, and the band within which our own number counts as the same.
//! They are data (`papers/*.toml`), read only to be printed beside what the simulation measured. A claim that
//! contradicts itself is no claim: it is refused as the file is read. Tests: `claims_tests.rs`, `targets_tests.rs`.

use super::metric::Measured;
use super::row::Value;
use super::verdict::{Basis, Excuse, Extent, Fit, Judged, Window};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One value of a paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Written")]
pub struct Claim {
    /// The result's id, as `p3.fig5`.
    pub id: String,
    /// The metric of the experiment of that id.
    pub metric: String,
    /// Which of the metric's results, by its `by` columns.
    pub at: BTreeMap<String, Value>,
    /// The paper's value, where it prints one.
    pub reference: Option<f64>,
    /// What judges our value; none for a claim that is printed only.
    pub judgement: Option<Judgement>,
    /// Where in the paper, and what the definition is.
    pub source: String,
}

/// How a result is judged.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// By what.
    pub by: By,
    /// Where it has to lie.
    pub band: Band,
    /// What is accepted outside the band for now.
    pub exception: Option<Exception>,
}

/// What judges a result.
#[derive(Debug, Clone)]
pub enum By {
    /// The paper.
    Paper,
    /// A requirement of our own.
    Own,
    /// The paper, to which a constant was fitted.
    Fitted(Fit),
}

/// Where a result has to lie.
#[derive(Debug, Clone)]
pub enum Band {
    /// From the lowest to the highest mean that count as reproduced; one side may be open (`inf`).
    Span([f64; 2]),
    /// In the 95 % interval of the same metric elsewhere, for a paper that finds no significant difference.
    IntervalOf(BTreeMap<String, Value>),
}

/// A miss that is accepted for now, at the values that it names and at no others; one that names none excuses that there is
/// none, as of a ratio over nothing. It is still printed as outside its band, or as not measured.
#[derive(Debug, Clone)]
pub struct Exception {
    /// The values over the experiment's own seeds; none where these lie within the band.
    full: Option<Window>,
    /// The values over those of `reproduce --quick`; none where they are the others, or lie within the band.
    quick: Option<Window>,
    /// Why, in words that a reader can check.
    why: String,
}

impl Judgement {
    /// What kind of judgement it is.
    pub fn basis(&self) -> Basis {
        match self.by {
            By::Paper => Basis::Paper,
            By::Own => Basis::Own,
            By::Fitted(_) => Basis::Fitted,
        }
    }
}

impl Exception {
    /// What excuses a result of this extent, which lies `within` its band or not. Where the quick subset has no window
    /// the other one counts for it; but a quick result in its band does not say that the other window can go.
    fn of(&self, extent: Extent, within: Option<bool>) -> Option<Excuse> {
        let window = match (extent, within) {
            (Extent::Full, _) => self.full,
            (Extent::Quick, Some(false)) => self.quick.or(self.full),
            (Extent::Quick, _) => self.quick,
        };
        let why = self.why.clone();
        window.map(|window| Excuse { window, why })
    }
}

/// A claim as files have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    metric: String,
    #[serde(default)]
    at: BTreeMap<String, Value>,
    reference: Option<f64>,
    band: Option<[f64; 2]>,
    interval_of: Option<BTreeMap<String, Value>>,
    judged: Option<Owner>,
    fitted: Option<Fit>,
    #[serde(default)]
    source: String,
    exception: Option<WrittenException>,
}

/// Whose band it is where it is not the paper's.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Owner {
    Own,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenException {
    value: Option<f64>,
    within: Option<f64>,
    quick: Option<Window>,
    why: String,
}

impl TryFrom<Written> for Claim {
    type Error = String;

    fn try_from(w: Written) -> Result<Self, String> {
        let place = format!("{} {}", w.id, w.metric);
        let refuse = |why: &str| Err(format!("{place}: {why}"));
        let band = match (w.band, w.interval_of) {
            (Some(_), Some(_)) => return refuse("`band` or `interval_of`, not both"),
            (Some([low, high]), _) if low > high => return refuse("the lower end of a band first"),
            (Some(span), None) => Some(Band::Span(span)),
            (None, Some(at)) => Some(Band::IntervalOf(at)),
            (None, None) => None,
        };
        let by = match (w.judged, w.fitted) {
            (Some(Owner::Own), Some(_)) => return refuse("a requirement of our own is not fitted"),
            (Some(Owner::Own), None) => Some(By::Own),
            (None, fit) => fit.map(By::Fitted),
        };
        let exception = w.exception.map(Exception::try_from).transpose();
        let exception = exception.map_err(|why| format!("{place}: {why}"))?;
        let judgement = match band {
            Some(band) => Some(Judgement {
                by: by.unwrap_or(By::Paper),
                band,
                exception,
            }),
            None if by.is_some() || exception.is_some() => {
                return refuse("without a band nothing is judged, fitted or excused");
            }
            None => None,
        };
        Ok(Self {
            id: w.id,
            metric: w.metric,
            at: w.at,
            reference: w.reference,
            judgement,
            source: w.source,
        })
    }
}

impl TryFrom<WrittenException> for Exception {
    type Error = String;

    fn try_from(w: WrittenException) -> Result<Self, String> {
        let full = match (w.value, w.within) {
            (Some(value), Some(within)) => Some(Window { value, within }),
            (None, None) => None,
            _ => return Err("an exception has `value` and `within`".to_owned()),
        };
        Ok(Self {
            full,
            quick: w.quick,
            why: w.why,
        })
    }
}

impl Claim {
    /// Whether its exception excuses that nothing was measured.
    pub(crate) fn excuses_none(&self) -> bool {
        let exception = self.judgement.as_ref().and_then(|j| j.exception.as_ref());
        exception.is_some_and(|e| e.full.is_none() && e.quick.is_none())
    }
    /// Whether it is of `measured`, a result of experiment `id`.
    fn is_of(&self, id: &str, measured: &Measured) -> bool {
        self.id == id && self.metric == measured.metric && self.at == measured.at
    }

    /// The band, where it is the same whatever is measured.
    pub fn span(&self) -> Option<[f64; 2]> {
        match self.judgement.as_ref()?.band {
            Band::Span(span) => Some(span),
            Band::IntervalOf(_) => None,
        }
    }
}

/// The claims of one paper.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// What the paper is called in headings; none leaves its short name.
    pub name: Option<String>,
    /// Whose it is, its title and where it appeared.
    pub cite: Option<String>,
    /// All of them.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
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
    /// The claims of the paper of that short name; none for other papers.
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
        extent: Extent,
    ) -> Judged {
        let claim = self.claims.iter().find(|c| c.is_of(id, &measured));
        let judgement = claim.and_then(|c| c.judgement.as_ref());
        let band = judgement.and_then(|j| match &j.band {
            Band::Span(span) => Some(*span),
            Band::IntervalOf(at) => {
                let beside = |m: &&Measured| m.metric == measured.metric && m.at == *at;
                all.iter().find(beside)?.ci95
            }
        });
        let fitted = judgement.and_then(|j| match &j.by {
            By::Fitted(fit) => Some(fit.clone()),
            By::Paper | By::Own => None,
        });
        let within = band.map(|[lo, hi]| (lo..=hi).contains(&measured.value));
        Judged {
            id: id.to_owned(),
            paper: paper.map(str::to_owned),
            reference: claim.and_then(|c| c.reference),
            band,
            judged: judgement.map(Judgement::basis),
            within,
            fitted,
            excuse: judgement.and_then(|j| j.exception.as_ref()?.of(extent, within)),
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
#[path = "targets_tests.rs"]
mod targets;

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
