//! The end of a campaign: sources whose tries in waves are used up have the network for themselves, one after the other,
//! with all that a single transfer has: a look, backups, other ways, and what has arrived is kept.
//!
//! Time base: simulated time. Invariants: each source is fetched from into one base station after the other, the nearest
//! first, until its object is there; it ends, since each fetch does. Tests: `tests.rs`.

use super::report::{Campaign, InWave, Part};
use crate::motes::{Motes, RunError};
use thalweg_host::job::Watch;
use thalweg_host::outcome::Outcome;
use thalweg_host::transfer::pipeline::Terms;
use thalweg_planner::Plan;
use thalweg_units::Duration;
use thalweg_wire::route::Scheme;

/// A source that is left over.
pub(super) struct Left<'a> {
    /// How often it was tried.
    pub(super) tried: u32,
    /// What it offers.
    pub(super) object: Option<&'a [u8]>,
    /// Its plans, the best first.
    pub(super) plans: Vec<Plan>,
    /// What moves its packets.
    pub(super) scheme: Scheme,
    /// On the terms of a wave, but for the deadline: nobody else waits for it.
    pub(super) terms: Terms,
    /// Who did not hear that its last transfer is over is back after it, and hears the wake-up.
    pub(super) pause: Duration,
}

/// Fetches over one of the plans of `left` after the other until its object is there, and gives that; what became of each
/// is in `campaign`.
pub(super) fn fetch(
    motes: &mut Motes,
    left: Left<'_>,
    campaign: &mut Campaign,
    watch: Watch<'_>,
) -> Result<Option<Vec<u8>>, RunError> {
    let terms = Terms {
        deadline_s: Terms::default().deadline_s,
        ..left.terms
    };
    let mut tried = left.tried;
    for plan in &left.plans {
        motes.wait(left.pause)?;
        campaign.add(Part::Waiting, left.pause);
        let begun = motes.network().now();
        let (
            Outcome {
                summary,
                details: extra,
            },
            part,
        ) = motes.fetch(plan, left.scheme, &terms, watch)?;
        let took_s = motes.network().now().since(begun).as_secs_f64();
        let transfer_s = (summary.duration_s - extra.wake_up_s).max(0.0);
        let shares = [
            (Part::Waiting, summary.waited_s),
            (Part::WakingUp, summary.duration_s - transfer_s),
            (Part::Transferring, transfer_s),
            (Part::Ending, took_s - summary.waited_s - summary.duration_s),
        ];
        for (part, seconds) in shares {
            campaign.add(part, Duration::from_secs_f64(seconds.max(0.0)));
        }
        if summary.verified {
            campaign.busy_s += transfer_s;
        }
        tried += summary.attempts;
        let object = part.map(|part| part.bytes);
        let mut row = Outcome {
            summary,
            details: InWave {
                wave: campaign.waves,
                wrong: object.is_some() && object.as_deref() != left.object,
                predicted_kbps: plan.prediction.goodput_kbps,
            },
        };
        (row.summary.attempts, row.summary.seed) = (tried, campaign.seed);
        campaign.transfers.push(row);
        campaign.waves += 1;
        if object.is_some() {
            return Ok(object);
        }
    }
    Ok(None)
}
