//! What a collector reports of a fetch. JSON keys are stable. Tests: `crates/cli/tests/all/collect.rs`.

use crate::outcome::Outcome;
use crate::segments::{SegmentDetails, SegmentError};
use crate::survey::SurveyCost;
use crate::transfer::reroute::BadHop;
use serde::Serialize;
use thalweg_planner::Prediction;

/// What a pipeline transfer reports beside its summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Details {
    /// Share of retransmissions in all data transmissions of the source, 0..=1; none where the source cannot be
    /// inspected.
    pub retransmitted: Option<f64>,
    /// Of the duration, up to the source's first packet, in seconds.
    pub wake_up_s: f64,
    /// Chains whose probe brought too little, over all attempts: alternate relays joined them, or the transfer was
    /// rerouted.
    pub degraded_paths: u32,
    /// Hops that lost too much, of attempts that broke off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bad_hops: Vec<BadHop>,
}

impl SegmentDetails for Details {
    fn append(&mut self, next: &Self, (bytes, more): (u64, u64)) {
        let (bytes, more) = (bytes as f64, more as f64);
        let weighted = |(a, b): (f64, f64)| (a * bytes + b * more) / (bytes + more).max(1.0);
        let shares = self.retransmitted.zip(next.retransmitted);
        self.retransmitted = shares.map(weighted);
        self.degraded_paths += next.degraded_paths;
        self.bad_hops.extend_from_slice(&next.bad_hops);
    }
}

/// The report of a fetch, from the first transfer to the last.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// All transfers as one.
    #[serde(flatten)]
    pub outcome: Outcome<Details>,
    /// The planner's prediction for the first plan.
    pub predicted: Prediction,
    /// Of that, the goodput, in kbit/s.
    pub predicted_goodput_kbps: f64,
    /// PIP over one of the same paths, on the same channels.
    pub baseline: Option<Outcome<Details>>,
    /// Reception channels of stages 0 to H.
    pub channels: Vec<u8>,
    /// The sink's for the even group, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_even: Option<u8>,
    /// The cost of the survey, where it was made for this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub survey: Option<SurveyCost>,
    /// The age of the links at the transfer, in seconds.
    pub links_age_s: f64,
    /// The number of segments; left out where it is one.
    #[serde(skip_serializing_if = "is_one")]
    pub parts: usize,
    /// Every protocol that was tried, in order; empty where the first plan served.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<&'static str>,
    /// The object as it arrived, where it did.
    #[serde(skip)]
    pub object: Option<Vec<u8>>,
    /// Why it is refused although it arrived.
    #[serde(skip)]
    pub refused: Option<SegmentError>,
}

impl Report {
    /// Whether what is missing may come another way, or later.
    pub const fn is_broken_off(&self) -> bool {
        self.object.is_none() && self.refused.is_none()
    }
    /// The report of both: `failed`, and after `pause_s` seconds this one, of what was missing.
    pub(super) fn after(mut self, failed: Self, pause_s: f64) -> Self {
        self.outcome
            .summary
            .add_failed(&failed.outcome.summary, pause_s);
        if let Some(survey) = &failed.survey {
            // Its energy is among that of what failed.
            (self.outcome.summary).after(survey.seconds(), Some(0.0));
        }
        Self {
            outcome: self.outcome,
            object: self.object,
            refused: self.refused,
            parts: self.parts,
            tried: [failed.tried.as_slice(), &self.tried].concat(),
            ..failed
        }
    }
}

const fn is_one(parts: &usize) -> bool {
    *parts == 1
}
