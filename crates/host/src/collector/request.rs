//! A request to a collector: its plans, one after the other, and its report. Tests: as of [`super`].

use super::{Details, Patience, ProtocolPlan, Report};
use crate::job::{Retry, RetryMode};
use crate::link_state::{LinkState, PlanRequest};
use crate::registry::Pipelined;
use crate::segments::{FetchResult, FetchTerms};
use crate::survey::SurveyCost;
use crate::transfer::account::expected;
use crate::transfer::pipeline::TransferTerms;
use std::sync::Arc;
use thalweg_planner::Plan;
use thalweg_units::{Channel, NodeId};
use thalweg_wire::route::ObjectRange;
use thalweg_wire::seal::frame::Sealing;

/// A transfer that breaks off is begun again over another plan.
pub const RETRY: Retry = Retry {
    attempts: 3,
    mode: RetryMode::NewPlan,
};
/// The same for Thalweg, whose further plans go hop by hop.
pub const LAST_RESORT: Retry = Retry {
    attempts: 4,
    mode: RetryMode::NewPlan,
};
/// A request to a collector.
#[derive(Debug, Clone)]
pub struct FetchRequest<'a> {
    /// The network's present links.
    pub link_state: &'a LinkState,
    /// The request to the planner.
    pub plan_request: PlanRequest,
    /// The planner's answer.
    pub plan: Arc<Plan>,
    /// The cost of the survey, where it was made for this object.
    pub survey: Option<SurveyCost>,
    /// How often each plan is tried before another one is.
    pub retry: Retry,
    /// How long links are measured again where all plans failed; none where the caller does that.
    pub patience: Option<Patience>,
}

impl FetchRequest<'_> {
    pub(super) fn first(&self, sealing: Sealing) -> ProtocolPlan {
        ProtocolPlan::new(self.plan.clone(), self.plan_request.protocol, sealing)
    }
    /// Whether a path hop by hop follows where a transfer breaks off.
    pub(super) fn has_last_resort(&self) -> bool {
        self.plan_request.protocol.measures_again()
    }
    /// The terms for the bytes of `range` by `protocol`.
    pub(super) fn terms(&self, protocol: Pipelined, range: ObjectRange) -> TransferTerms {
        protocol.terms(TransferTerms {
            range,
            payload: self.plan_request.payload,
            retry: self.retry,
            ..TransferTerms::default()
        })
    }
    /// What carries what is left where a transfer breaks off.
    fn further(&self) -> Pipelined {
        match self.has_last_resort() {
            true => Pipelined::HOP_BY_HOP,
            // As published, over as many paths as there are, with other halves: a node of the first plan may be gone.
            false => Pipelined::P3,
        }
    }
    /// Whether other plans follow where a transfer breaks off.
    pub(super) fn goes_on(&self) -> bool {
        self.has_last_resort() || self.plan_request.protocol.has_paths()
    }
    /// The plan after `tried` others from node `source`.
    pub(super) fn next_plan(
        &self,
        source: NodeId,
        tried: u32,
        sealing: Sealing,
    ) -> Option<ProtocolPlan> {
        let further = self.further();
        let is_other = self.first(sealing).protocol != further && self.has_last_resort();
        self.over(further, source, u64::from(tried - u32::from(is_other)))
    }
    /// The plan of that number by `protocol` from node `source`.
    pub(super) fn over(
        &self,
        protocol: Pipelined,
        source: NodeId,
        attempt: u64,
    ) -> Option<ProtocolPlan> {
        let request = PlanRequest {
            from: Some(source),
            protocol,
            ..self.plan_request
        };
        let plan = self.link_state.plan_attempt(&request, attempt).ok()?;
        Some(ProtocolPlan {
            plan: Arc::new(plan),
            protocol,
        })
    }
    /// The terms of the fetch.
    pub(super) fn fetch_terms(&self) -> FetchTerms {
        FetchTerms {
            segment_bytes: self.plan_request.segment_bytes(),
            expected: self.plan_request.bytes,
            retry: match self.has_last_resort() {
                true => LAST_RESORT,
                false => RETRY,
            },
        }
    }
    /// The report of what was `brought`, for which the first plan was taken `repeats` times more.
    pub(super) fn report(
        &self,
        brought: FetchResult<Details>,
        repeats: u32,
        sealing: Sealing,
    ) -> Report {
        let mut outcome = brought.outcome;
        if let Some(survey) = &self.survey {
            (outcome.summary).after(survey.seconds(), survey.network_energy_j);
        }
        let (plan, first) = (&self.plan, self.first(sealing).protocol);
        let predicted = expected(plan, first.scheme).0.clone();
        let again = |nth| nth <= repeats;
        let more = (1..brought.plans).map(|nth| match again(nth) {
            true => first.name,
            false => self.further().name,
        });
        Report {
            outcome,
            predicted_goodput_kbps: predicted.goodput_kbps,
            predicted,
            baseline: None,
            channels: plan.channels.iter().map(|c| c.number()).collect(),
            last_even: plan.last_even.map(Channel::number),
            survey: self.survey.clone(),
            links_age_s: self.link_state.age().unwrap_or_default().as_secs_f64(),
            parts: brought.segments as usize,
            tried: match brought.plans {
                1 => Vec::new(),
                _ => [first.name].into_iter().chain(more).collect(),
            },
            object: brought.object,
            refused: brought.refused,
        }
    }
}
