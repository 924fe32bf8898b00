//! The end of a campaign: each source whose attempts in waves are used up gets the network to itself, with a probe,
//! backups and other routes; what has arrived is kept.
//!
//! Time base: simulated time. Invariants: a source is fetched from into one base station after the other, nearest first,
//! until its object is whole. Tests: `tests.rs`.

use super::report::{Campaign, InWave, Phase};
use crate::motes::{Motes, RunError};
use thalweg_host::job::Watch;
use thalweg_host::outcome::Outcome;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_planner::Plan;
use thalweg_units::Duration;
use thalweg_wire::route::Scheme;

/// A source whose attempts in waves are used up.
pub(super) struct Leftover<'a> {
    /// Its attempts so far.
    pub(super) attempts: u32,
    /// What it offers.
    pub(super) object: Option<&'a [u8]>,
    /// Its plans, the best first.
    pub(super) plans: Vec<Plan>,
    /// What moves its packets.
    pub(super) scheme: Scheme,
    /// Those of a wave, but for the deadline: no other transfer waits for it.
    pub(super) terms: TransferTerms,
    /// After it, nodes that missed the end of their last transfer hear the wake-up.
    pub(super) pause: Duration,
}

/// Fetches over one of the plans of `leftover` after the other until its object is there, and gives that; what became of each
/// is in `campaign`.
pub(super) fn fetch(
    motes: &mut Motes,
    leftover: Leftover<'_>,
    campaign: &mut Campaign,
    watch: Watch<'_>,
) -> Result<Option<Vec<u8>>, RunError> {
    let terms = TransferTerms {
        deadline_s: TransferTerms::default().deadline_s,
        ..leftover.terms
    };
    let mut attempts = leftover.attempts;
    for plan in &leftover.plans {
        motes.wait(leftover.pause)?;
        campaign.add(Phase::Waiting, leftover.pause);
        let begun = motes.network().now();
        let (Outcome { summary, details }, whole) =
            motes.fetch(plan, leftover.scheme, &terms, watch)?;
        let took_s = motes.network().now().since(begun).as_secs_f64();
        let transfer_s = (summary.duration_s - details.wake_up_s).max(0.0);
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
        attempts += summary.attempts;
        let object = whole.map(|segment| segment.bytes);
        let mut row = Outcome {
            summary,
            details: InWave {
                wave: campaign.waves,
                wrong: object.is_some() && object.as_deref() != leftover.object,
                predicted_kbps: plan.prediction.goodput_kbps,
            },
        };
        (row.summary.attempts, row.summary.seed) = (attempts, campaign.seed);
        campaign.transfers.push(row);
        campaign.waves += 1;
        if object.is_some() {
            return Ok(object);
        }
    }
    Ok(None)
}
