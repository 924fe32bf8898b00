//! The end of a campaign: each source whose attempts in waves are used up gets the network to itself, with a probe,
//! backups and other routes, and at last paths hop by hop; what has arrived is kept.
//!
//! Time base: simulated time. Invariants: a source is fetched from into one base station after the other, nearest first,
//! until its object is whole. Tests: `tests.rs`.

use super::report::{Campaign, InWave, Phase};
use super::run::{go_on, Run};
use super::CampaignError;
use crate::motes::{Motes, RunError};
use thalweg_host::collector::Transfer;
use thalweg_host::job::{Progress, Retry, RetryMode, Watch};
use thalweg_host::outcome::{Outcome, Summary};
use thalweg_host::segments::{self, Assembly, Attempt, FetchTerms};
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_host::waves::{linger, Schedule};
use thalweg_planner::{Backups, Plan, Style};
use thalweg_units::Duration;
use thalweg_wire::route::Scheme;

/// How many paths hop by hop are tried into each base station.
const HOP_PLANS: u32 = 4;

impl Run<'_> {
    /// Fetches from each of the leftover sources with the network to itself. Where that fails, links have changed: they are
    /// measured again.
    pub(super) fn one_by_one(&mut self) -> Result<(), CampaignError> {
        loop {
            let leftover = std::mem::take(&mut self.leftover);
            let before = (leftover.len(), self.arrived());
            let is_last = !self.settings.waves.is_ours() || self.has_no_patience(&leftover);
            for (done, (source, attempts)) in leftover.into_iter().enumerate() {
                go_on((self.observer)(Progress::Wave {
                    number: self.campaign.waves,
                    transfers: 1,
                    left: before.0 - done,
                }))?;
                let object = self.alone(source, attempts)?;
                let id = self.motes.nodes.ids()[source];
                let mut of_source = self.campaign.transfers.iter().rev();
                let row = of_source.find(|row| row.summary.source == id);
                if object.is_none() && !is_last {
                    let attempts = row.map_or(attempts, |row| row.summary.attempts);
                    self.leftover.push((source, attempts));
                    continue;
                }
                match row {
                    Some(row) => go_on((self.turns)(row, object.as_deref()))?,
                    None => self.give_up(&[(source, self.schedule.planner.unreachable(source))])?,
                }
            }
            if self.leftover.is_empty() {
                return Ok(());
            }
            let is_vain = self.leftover.len() == before.0 && self.arrived() <= before.1;
            match is_vain {
                true => self.search.fail(),
                false => self.search.restart(),
            }
            self.survey_again(self.search.pause())?;
        }
    }

    /// Bytes that have arrived of objects that are not whole.
    fn arrived(&self) -> u64 {
        self.assemblies.values().map(Assembly::bytes).sum()
    }

    /// Whether links have been measured again for long enough without a byte of `leftover`.
    fn has_no_patience(&self, leftover: &[(usize, u32)]) -> bool {
        leftover.iter().all(|(n, _)| self.search.is_over(*n))
    }

    /// Fetches from `source`, which has nothing beside it.
    fn alone(&mut self, source: usize, attempts: u32) -> Result<Option<Vec<u8>>, CampaignError> {
        let leftover = Leftover {
            attempts,
            plans: self.plans_of_leftover(source),
            object: self.objects.get(&source).map_or(&[], |object| &**object),
            scheme: self.settings.waves.scheme,
            terms: self.settings.waves.transfer,
            pause: linger(self.settings.waves.scheme),
        };
        let assembly = self.assemblies.entry(source).or_default();
        assembly.prove_by(self.motes.proof(source));
        let (motes, campaign) = (&mut self.motes, &mut self.campaign);
        Ok(fetch(motes, leftover, assembly, campaign, self.observer)?)
    }

    /// Measures links once more after `pause`, for the plans of those that are left.
    fn survey_again(&mut self, pause: Duration) -> Result<(), CampaignError> {
        let (settings, sinks) = (self.settings, self.sinks);
        let began = self.motes.network().now();
        self.motes.wait(pause)?;
        let surveyed = self
            .motes
            .survey_all(sinks[0], settings.survey, self.observer)?;
        self.campaign.add(Phase::Measuring, surveyed.measuring);
        self.campaign.add(Phase::Collecting, surveyed.collecting);
        let took = self.motes.network().now().since(began);
        self.search.note(&surveyed.links, took);
        let rest = took.saturating_sub(surveyed.measuring + surveyed.collecting);
        self.campaign.add(Phase::Waiting, rest);
        self.schedule.planner = settings.waves.planner(&surveyed.links, sinks);
        Ok(())
    }

    /// The plans of a leftover source, the best first: routes of its own, then paths hop by hop.
    fn plans_of_leftover(&mut self, source: usize) -> Vec<Plan> {
        let Schedule { planner, rng, .. } = &mut self.schedule;
        let mut plans = match self.settings.waves.scheme {
            Scheme::HopByHop => Vec::new(),
            _ => planner.plans_of(source, Backups::Relays, rng),
        };
        for attempt in 0..HOP_PLANS {
            plans.extend(planner.hop_plans_of(source, attempt, rng));
        }
        plans
    }
}

/// A source whose attempts in waves are used up.
struct Leftover<'a> {
    /// Its attempts so far.
    attempts: u32,
    /// What it offers.
    object: &'a [u8],
    /// Its plans, the best first.
    plans: Vec<Plan>,
    /// What moves its packets.
    scheme: Scheme,
    /// Those of a wave, but for the deadline: no other transfer waits for it.
    terms: TransferTerms,
    /// Before it, nodes that missed the end of their last transfer hear the wake-up.
    pause: Duration,
}

/// Fetches what `assembly` lacks of an object, over one of the plans of `leftover` after the other, until it is there, and
/// gives that; what became of it is in `campaign`.
fn fetch(
    motes: &mut Motes,
    leftover: Leftover<'_>,
    assembly: &mut Assembly,
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
    };
    let carry = |plan: &&Plan, attempt: Attempt| {
        motes.wait(*pause)?;
        campaign.add(Phase::Waiting, *pause);
        carry(motes, &leftover, campaign, (plan, attempt), &mut *watch)
    };
    let next = |_: &&Plan, tried: u32| Some((plans.get(tried as usize)?, *pause));
    let fetched = segments::fetch(assembly, terms, first, |_| *pause, carry, next)?;
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
        Style::Paths | Style::Chains => {
            let hops = leftover.plans.iter().find(|plan| plan.style == Style::Hops);
            terms.with_last_resort(plan, hops)
        }
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
