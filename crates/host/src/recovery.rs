//! What follows on a transfer that broke off: its relays are waited for, and a survey that lacks nodes is made again.
//!
//! Invariant: nodes that were missed before are not waited for again, so one that is off costs no second
//! survey each time. Time base: the field's. Tests: `tests/all/recovery.rs`.

use crate::job::{run, Failure, Watch};
use crate::network::{Network, NetworkTime, Notice};
use crate::survey::{SurveyJob, Surveyed};
use crate::transfer::pipeline::{Order, SETTLING};
use std::time::SystemTime;
use thalweg_protocols::mote;
use thalweg_units::NodeId;

/// So many surveys are made at most, where each lacks nodes.
const SURVEYS: u32 = 2;

/// Waits until every relay of a transfer that broke off at `since` has given it up. What is told meanwhile is
/// left aside.
///
/// # Errors
/// [`Failure::Cancelled`], [`Failure::Network`].
pub fn settle<F: Network>(field: &mut F, since: NetworkTime) -> Result<(), Failure> {
    let until = since + SETTLING;
    while field.now() < until {
        if let Notice::Cancelled = field.next(until)? {
            return Err(Failure::Cancelled);
        }
    }
    Ok(())
}

/// Runs the survey that `make` makes, when the relays of a transfer that broke off at `broken` have given it up; once
/// more where the tables of nodes are missing that were not `missed` before, or where the station was not free.
/// Time and energy are those of all of them.
///
/// # Errors
/// [`Failure`].
pub fn survey<F>(
    field: &mut F,
    broken: Option<NetworkTime>,
    missed: &[NodeId],
    mut make: impl FnMut() -> Result<SurveyJob, Failure>,
    watch: Watch<'_>,
) -> Result<Surveyed, Failure>
where
    F: Network<Order = Order, Event = mote::Event>,
{
    if let Some(since) = broken {
        settle(field, since)?;
    }
    let mut best: Option<Surveyed> = None;
    for made in 1..=SURVEYS {
        let last = made == SURVEYS;
        match (run(field, &mut make()?, watch), best.take()) {
            (Ok(now), None) => best = Some(now),
            (Ok(now), Some(before)) => best = Some(better(before, now)),
            // One that lacks nodes is better than none.
            (Err(Failure::NoEnd(_) | Failure::Unreported { .. }), Some(before)) => {
                return Ok(before)
            }
            (Err(Failure::Refused(_)), None) if !last => {}
            (Err(why), _) => return Err(why),
        }
        if let Some(best) = best.take_if(|best| {
            let known = |node: &NodeId| missed.contains(node);
            last || best.missing.iter().all(known)
        }) {
            return Ok(best);
        }
        let now = field.now();
        settle(field, now)?;
    }
    // The last of them returned.
    Err(Failure::NoEnd(SETTLING))
}

/// The survey that lacks fewer nodes, or the later one, at the cost of both.
fn better(before: Surveyed, now: Surveyed) -> Surveyed {
    let measuring = before.measuring + now.measuring;
    let collecting = before.collecting + now.collecting;
    let joules = before.joules.zip(now.joules).map(|(a, b)| a + b);
    let kept = match before.missing.len() < now.missing.len() {
        true => before,
        false => now,
    };
    Surveyed {
        measuring,
        collecting,
        joules,
        ..kept
    }
}

/// The number of a program's first transfer: nodes may remember those of one that ran before.
pub fn first_transfer() -> u16 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| (since.as_millis() / 100) as u16)
}
