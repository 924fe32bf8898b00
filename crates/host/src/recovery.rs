//! Recovery after a transfer that broke off: wait for its relays, and repeat a survey that lacks nodes.
//!
//! Invariant: nodes that an earlier survey missed, too, cause no second one. So a node that is off costs it once, not
//! each time. Time base: the network's. Tests: `tests/all/recovery.rs`.

mod reports;

pub use reports::Reports;

use crate::job::{run, Failure, Progress, Watch};
use crate::network::{Network, NetworkTime, Notice};
use crate::survey::{SurveyJob, SurveyOutcome};
use crate::transfer::pipeline::{Order, SETTLING};
use std::time::SystemTime;
use thalweg_protocols::mote;
use thalweg_units::{Duration, NodeId};

/// Where no more than one of so many nodes is missing, it is probably off: one survey that does not bring it is enough.
/// Where links are weak many are missing, and come in a few seconds later.
const FEW: usize = 40;
/// Then so many surveys in a row may bring none.
const IN_VAIN: u32 = 4;
/// A survey whose end the sink did not report is made so often again.
const UNREPORTED: u32 = 2;
/// The most surveys in a row, where each lacks nodes.
const SURVEYS: u32 = 24;

/// Pauses between surveys in vain double up to this one.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// For how many hops the floods of the second survey have time, and of those after it.
const FARTHER: [u8; 2] = [20, 31];

/// Which survey of several in a row is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The first, or the first that was not refused.
    First,
    /// One that is to find what those before lacked.
    Later,
    /// The same where one such did not: nodes that no flood reaches join by beacons, hop after hop.
    Longer,
}

/// Waits until every relay of a transfer that broke off at `since` has left it. Notices are dropped meanwhile.
///
/// # Errors
/// [`Failure::Cancelled`], [`Failure::Network`].
pub fn settle<F: Network>(network: &mut F, since: NetworkTime) -> Result<(), Failure> {
    wait(network, since + SETTLING)
}

/// The pause before links are measured again, after `in_vain` surveys in a row that brought nothing: none at first, then
/// from 4 to 64 s, each twice as long as the one before.
pub fn pause_after(in_vain: u32) -> Duration {
    match in_vain {
        0 => Duration::ZERO,
        _ => (SETTLING * (1 << (in_vain - 1).min(8))).clamp(SETTLING, LONGEST_PAUSE),
    }
}

/// Waits until the network's time is `until`. Notices are dropped meanwhile.
///
/// # Errors
/// As [`settle`].
pub fn wait<F: Network>(network: &mut F, until: NetworkTime) -> Result<(), Failure> {
    while network.now() < until {
        if let Notice::Cancelled = network.next(until)? {
            return Err(Failure::Cancelled);
        }
    }
    Ok(())
}

/// What surveys in a row are to bring, and for how long.
#[derive(Clone, Copy)]
pub struct Sought<'a> {
    /// Nodes that an earlier survey missed: none is made for them again.
    pub missed: &'a [NodeId],
    /// None begins later than so long after the first.
    pub within: Duration,
    /// Whether these links, of so many surveys, serve although nodes are silent.
    pub serves: &'a dyn Fn(&SurveyOutcome, u32) -> bool,
}

impl<'a> Sought<'a> {
    /// All nodes but those that were `missed` before.
    pub const fn all_but(missed: &'a [NodeId]) -> Self {
        Self {
            missed,
            within: Duration::MAX,
            serves: &|_, _| false,
        }
    }
    /// Whether `surveyed`, which lacks nodes and was `made` in so many surveys, is what was sought.
    fn is_met(
        &self,
        reports: &Reports<'_>,
        (surveyed, lacking): (&SurveyOutcome, &[NodeId]),
        made: u32,
    ) -> bool {
        let is_old = |node: &NodeId| self.missed.contains(node);
        let is_silent = |node: &NodeId| !reports.is_heard(surveyed, *node);
        lacking.iter().all(is_old)
            || surveyed.missing.iter().all(is_silent) && (self.serves)(surveyed, made)
    }
}

/// Runs the survey that `make` makes, after relays have left a transfer that broke off at `broken`; runs it again
/// where tables are missing, or links to the sink, of nodes that are `sought`, as long as that brings one of them, or where the
/// station was not free. Where all that were heard have reported, links may serve without the others.
/// What was counted, time and energy add up. Nodes of a transfer that a killed host left are deaf, and no farther away: the
/// second survey is made as the first then.
///
/// # Errors
/// [`Failure`].
pub fn survey<F>(
    network: &mut F,
    (broken, sought): (Option<NetworkTime>, Sought<'_>),
    mut make: impl FnMut(Turn) -> Result<SurveyJob, Failure>,
    mut reports: Reports<'_>,
    watch: Watch<'_>,
) -> Result<SurveyOutcome, Failure>
where
    F: Network<Order = Order, Event = mote::Event>,
{
    if let Some(since) = broken {
        settle(network, since)?;
    }
    let began = network.now();
    let (mut best, mut in_vain, mut held_up) = (None::<SurveyOutcome>, 0, 0);
    for made in 1..=SURVEYS {
        let mut job = nth(made - held_up, &mut make)?;
        let beacons = job.swept();
        match (run(network, &mut job, watch), best.take()) {
            (Ok(now), before) => {
                held_up = u32::from(before.is_none() && job.met_transfer()).max(held_up);
                let lacked = before.as_ref().map(|before| reports.lacking(before).len());
                let missed = beacons.map(|beacons| (sought.missed, beacons));
                let all = added(network, before, now, (&mut reports, missed))?;
                let is_vain = lacked.is_some_and(|lacked| reports.lacking(&all).len() >= lacked);
                in_vain = if is_vain { in_vain + 1 } else { 0 };
                best = Some(all);
            }
            // One that lacks nodes is better than none.
            (Err(Failure::NoEnd(_) | Failure::Unreported { .. }), Some(before)) => {
                return Ok(before)
            }
            (Err(Failure::Refused(_)), None) if made == 1 => {}
            (Err(Failure::Unreported { .. }), None) if made <= UNREPORTED => {}
            (Err(why), _) => return Err(why),
        }
        let now = network.now();
        if let Some(all) = best.take() {
            let lacking = reports.lacking(&all);
            let is_few = lacking.len() * FEW <= all.links.nodes();
            let is_vain = in_vain > if is_few { 0 } else { IN_VAIN };
            let is_late = (now + SETTLING).since(began) > sought.within;
            let is_last = made == SURVEYS || is_vain || is_late;
            let is_over = is_last || sought.is_met(&reports, (&all, &lacking), made);
            if !lacking.is_empty() {
                let (nodes, of) = (lacking, all.links.nodes());
                if watch(Progress::Silent { nodes, of }).is_break() {
                    return Err(Failure::Cancelled);
                }
            }
            if is_over {
                return Ok(all);
            }
            best = Some(all);
        }
        settle(network, now)?;
    }
    // The last of them returned.
    Err(Failure::NoEnd(SETTLING))
}

/// The survey that is made as the `made`th of a series.
fn nth(
    made: u32,
    make: &mut impl FnMut(Turn) -> Result<SurveyJob, Failure>,
) -> Result<SurveyJob, Failure> {
    Ok(match made {
        1 => make(Turn::First)?,
        2 => make(Turn::Later)?.reaching(FARTHER[0]),
        _ => make(Turn::Longer)?.reaching(FARTHER[1]),
    })
}

/// The survey `now` added to what there was before it. Where it was a sweep, tables that it lacks are fetched, but not of
/// nodes that were `missed` before.
fn added<F>(
    network: &mut F,
    before: Option<SurveyOutcome>,
    now: SurveyOutcome,
    (reports, missed): (&mut Reports<'_>, Option<(&[NodeId], u32)>),
) -> Result<SurveyOutcome, Failure>
where
    F: Network<Order = Order, Event = mote::Event>,
{
    let mut all = match before {
        Some(before) => joined(before, &now),
        None => now,
    };
    if let Some(missed) = missed {
        reports.fetch(network, &mut all, missed)?;
    }
    Ok(all)
}

/// Two surveys as one: nodes that one missed are in the other, beacons add up, and so does the cost.
fn joined(before: SurveyOutcome, now: &SurveyOutcome) -> SurveyOutcome {
    let rousing = before.rousing + now.rousing;
    let measuring = before.measuring + now.measuring;
    let collecting = before.collecting + now.collecting;
    let joules = before.joules.zip(now.joules).map(|(a, b)| a + b);
    let mut links = before.links;
    links.add(&now.links);
    let batteries = newer(before.batteries, &now.batteries);
    let restarts = newer(before.restarts, &now.restarts);
    let mut missing = before.missing;
    missing.retain(|node| now.missing.contains(node));
    SurveyOutcome {
        links,
        rousing,
        measuring,
        collecting,
        joules,
        missing,
        batteries,
        restarts,
    }
}

/// What nodes reported `before`, or report again `now`.
fn newer<T: Copy>(mut before: Vec<(NodeId, T)>, now: &[(NodeId, T)]) -> Vec<(NodeId, T)> {
    before.retain(|(node, _)| !now.iter().any(|(other, _)| other == node));
    before.extend(now);
    before
}

/// The number of a program's first transfer: nodes may remember those of one that ran before.
pub fn first_transfer() -> u16 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| (since.as_millis() / 100) as u16)
}
