//! The end of a campaign: each source whose attempts in waves are used up gets the network to itself, with a probe,
//! backups and other routes, and at last paths hop by hop; what has arrived is kept.
//!
//! Time base: simulated time. Invariants: a source is fetched from into one base station after the other, nearest first,
//! until its object is whole. Tests: `tests.rs`.

use super::report::{Campaign, InWave, Phase};
use crate::motes::{Motes, RunError};
use thalweg_host::collector::Transfer;
use thalweg_host::job::{Retry, RetryMode, Watch};
use thalweg_host::outcome::{Outcome, Summary};
use thalweg_host::segments::{self, Assembly, Attempt, FetchTerms};
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_planner::{Plan, Style};
use thalweg_units::Duration;
use thalweg_wire::route::Scheme;

/// A source whose attempts in waves are used up.
pub(super) struct Leftover<'a> {
    /// Its attempts so far.
    pub(super) attempts: u32,
    /// What it offers.
    pub(super) object: &'a [u8],
    /// Its plans, the best first.
    pub(super) plans: Vec<Plan>,
    /// What moves its packets.
    pub(super) scheme: Scheme,
    /// Those of a wave, but for the deadline: no other transfer waits for it.
    pub(super) terms: TransferTerms,
    /// Before it, nodes that missed the end of their last transfer hear the wake-up.
    pub(super) pause: Duration,
}

/// Fetches over one of the plans of `leftover` after the other until its object is there, and gives that; what became of it
/// is in `campaign`.
pub(super) fn fetch(
    motes: &mut Motes,
    leftover: Leftover<'_>,
    campaign: &mut Campaign,
    watch: Watch<'_>,
) -> Result<Option<Vec<u8>>, RunError> {
    let Leftover { plans, pause, .. } = &leftover;
    let Some(first) = plans.first() else {
        return Ok(None);
    };
    let terms = FetchTerms {
        segment_bytes: u32::MAX,
        expected: leftover.object.len() as u64,
        retry: Retry {
            attempts: plans.len() as u32,
            mode: RetryMode::NewPlan,
        },
        pause: *pause,
    };
    let carry = |plan: &&Plan, attempt: Attempt| {
        motes.wait(*pause)?;
        campaign.add(Phase::Waiting, *pause);
        carry(motes, &leftover, campaign, (plan, attempt), &mut *watch)
    };
    let next = |_: &&Plan, tried: u32| plans.get(tried as usize);
    let mut assembly = Assembly::default();
    let fetched = segments::fetch(&mut assembly, terms, first, |_| *pause, carry, next)?;
    let object = fetched.object;
    let mut row = Outcome {
        summary: fetched.outcome.summary,
        details: InWave {
            wave: campaign.waves,
            wrong: object
                .as_deref()
                .is_some_and(|object| object != leftover.object),
            predicted_kbps: first.prediction.goodput_kbps,
        },
    };
    // Part of an object is none.
    if object.is_none() {
        (row.summary.verified, row.summary.bytes) = (false, 0);
        row.summary.goodput_kbps = 0.0;
    }
    row.summary.attempts += leftover.attempts;
    row.summary.seed = campaign.seed;
    campaign.transfers.push(row);
    campaign.waves += 1;
    Ok(object)
}

/// One transfer of `leftover` over a plan.
fn carry(
    motes: &mut Motes,
    leftover: &Leftover<'_>,
    campaign: &mut Campaign,
    (plan, attempt): (&Plan, Attempt),
    watch: Watch<'_>,
) -> Result<Transfer, RunError> {
    let terms = TransferTerms {
        range: attempt.range,
        deadline_s: TransferTerms::default().deadline_s,
        ..leftover.terms
    };
    let terms = match plan.style {
        Style::Hops => terms,
        Style::Paths | Style::Chains => terms.with_last_resort(plan),
    };
    let begun = motes.network().now();
    let (outcome, segment) = motes.fetch(plan, leftover.scheme, &terms, watch)?;
    let took_s = motes.network().now().since(begun).as_secs_f64();
    share_out(
        campaign,
        &outcome.summary,
        outcome.details.wake_up_s,
        took_s,
    );
    Ok((outcome, segment))
}

/// Shares the time of a transfer among the phases: `took_s` seconds in all, of them `wake_up_s` of waking up.
fn share_out(campaign: &mut Campaign, summary: &Summary, wake_up_s: f64, took_s: f64) {
    let transfer_s = (summary.duration_s - wake_up_s).max(0.0);
    let shares = [
        (Phase::Waiting, summary.waited_s),
        (Phase::WakingUp, summary.duration_s - transfer_s),
        (Phase::Transferring, transfer_s),
        (
            Phase::Ending,
            took_s - summary.waited_s - summary.duration_s,
        ),
    ];
    for (phase, seconds) in shares {
        campaign.add(phase, Duration::from_secs_f64(seconds.max(0.0)));
    }
    if summary.verified {
        campaign.busy_s += transfer_s;
    }
}
