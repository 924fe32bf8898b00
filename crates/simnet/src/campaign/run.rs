//! A campaign from switching on to the last byte: a survey, then wave after wave. Time base: simulated time.
//!
//! Invariants: the next wave starts after all sinks of this one are free; a failed source is tried [`RETRY`] times: after
//! all others, or with Thalweg as soon as its nodes are free. With one sink it continues at once from what has arrived. A
//! source that still failed gets the network to itself at the end (`alone.rs`).

use super::report::{Campaign, InWave, Phase};
use super::CampaignError;
use crate::collect::Object;
use crate::motes::{Motes, RunError};
use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_host::collector::{Patience, Search};
use thalweg_host::job::{Failure, Progress, Retry, RetryMode, Watch};
use thalweg_host::outcome::{Outcome, Summary};
use thalweg_host::registry::name_of;
use thalweg_host::segments::Assembly;
use thalweg_host::survey::Survey;
use thalweg_host::transfer::account::{expected, Account};
use thalweg_host::transfer::pipeline::{active_nodes, TransferTerms};
use thalweg_host::waves::{Start, TransferResult, WaveResult};
use thalweg_medium::random::{derive, stream, Stream};
use thalweg_planner::concurrent::{Reuse, WaveRequest, Waves};
use thalweg_planner::{LinkModel, LinkQualities, Plan, PlanError, RouteRequest};
use thalweg_testbeds::{equip, Equipped, Losses, Site, Station, Testbed};
use thalweg_units::{BitRate, Channel, Duration, NodeId};
use thalweg_wire::route::Scheme;
use thalweg_wire::seal::frame::Sealing;

/// After this, a node that missed the end of its transfer by `scheme` has left it: a little more than
/// [`thalweg_protocols::p3::policy`]'s linger, or than [`thalweg_protocols::thalweg::policy`]'s over ten hops.
pub(super) const fn linger(scheme: Scheme) -> Duration {
    match scheme {
        Scheme::Thalweg => Duration::from_millis(300),
        _ => Duration::from_millis(1_100),
    }
}

/// The least share of a transfer's predicted goodput alone that it must keep beside others.
const LEAST_SHARE: f64 = 0.6;
/// How many sources of each distance are tried for a place in a wave.
const CANDIDATES: usize = 12;
/// How often a source is tried.
const RETRY: Retry = Retry {
    attempts: 3,
    mode: RetryMode::Later,
};

/// How a network is emptied.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to; as many transfers run at once as there are radios.
    pub stations: Vec<Station>,
    /// How links are measured.
    pub survey: Survey,
    /// What each node has.
    pub object: Object,
    /// From which nodes.
    pub sources: Sources,
    /// What moves the packets of every transfer.
    pub scheme: Scheme,
    /// Of every transfer.
    pub terms: TransferTerms,
    /// How each route is sought; source, sink and channels are set for every transfer.
    pub route: RouteRequest,
    /// The channels for pipelines, best first; where none are named, all that were measured, ranked by
    /// what was measured.
    pub channels: Option<Vec<Channel>>,
    /// Whether transfers that run at once may share a channel.
    pub reuse: Reuse,
    /// How long links are measured again for sources that are left at the end.
    pub patience: Patience,
}

/// Which nodes are emptied.
#[derive(Debug, Clone, PartialEq)]
pub enum Sources {
    /// All that are no base station.
    All,
    /// This many of those, spread over the network.
    Spread(usize),
    /// Those of them that are named.
    These(Vec<NodeId>),
}

/// Called for each source that is done, with what became of it and its object where that is whole.
pub type Turns<'a> = &'a mut dyn FnMut(&Outcome<InWave>, Option<&[u8]>) -> ControlFlow<()>;

/// Fetches an object from the nodes of `site` that `settings` names.
///
/// # Errors
/// [`CampaignError`] where nothing can be said of it; transfers that fail are rows.
pub fn empty(
    site: &Site,
    settings: &Settings,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    turns: Turns<'_>,
) -> Result<Campaign, CampaignError> {
    let seed = site.seed;
    let Equipped {
        testbed,
        sinks,
        sources,
    } = equip(&site.testbed, &settings.stations, seed)?;
    let sources = settings.sources.of(&testbed, sources);
    // One time line: the survey meets the losses too.
    let Losses { links, psdu_bytes } = &site.losses;
    let site = Site::new(testbed, seed).with_losses(links, *psdu_bytes)?;
    let testbed = &site.testbed;
    let opened = derive(seed, "campaign", &[sinks.len() as u64]);
    let mut motes = Motes::open(&site, opened)?;
    let object = |n: usize| settings.object.of(seed, testbed.nodes[n].id);
    let objects: BTreeMap<usize, Arc<[u8]>> = sources.iter().map(|&n| (n, object(n))).collect();
    for (&source, object) in &objects {
        motes.offer(source, object.clone());
    }
    let surveyed = match settings.is_ours() {
        true => motes.survey_all(sinks[0], settings.survey, observer)?,
        false => motes.survey(sinks[0], settings.survey, observer)?,
    };
    let mut campaign = Campaign {
        testbed: testbed.name.clone(),
        seed,
        radios: sinks.len(),
        sources: sources.len(),
        bytes_each: settings.object.bytes() as u32,
        ..Campaign::default()
    };
    campaign.add(Phase::Measuring, surveyed.measuring);
    campaign.add(Phase::Collecting, surveyed.collecting);
    let rest = motes.network().now().as_secs_f64() - campaign.total_s();
    campaign.add(Phase::Waiting, Duration::from_secs_f64(rest.max(0.0)));
    campaign.survey_energy_j = joules(&mut motes);
    let request = settings.waves(&surveyed.links, &sinks);
    let mut run = Run {
        settings,
        site: &site,
        sinks: &sinks,
        motes,
        objects,
        waves: Waves::new(&surveyed.links, request),
        rng: stream(seed, "waves", &[]),
        attempts: sources.iter().map(|n| (*n, 0)).collect(),
        active: Vec::new(),
        partial: None,
        leftover: Vec::new(),
        assemblies: BTreeMap::new(),
        search: Search::new(settings.patience, &surveyed.links),
        campaign,
        observer,
        turns,
    };
    run.in_waves()?;
    run.one_by_one()?;
    run.campaign.network_energy_j = joules(&mut run.motes);
    Ok(run.campaign)
}

impl Sources {
    /// Those of `all` that are meant.
    fn of(&self, testbed: &Testbed, all: Vec<usize>) -> Vec<usize> {
        match self {
            Self::All => all,
            Self::Spread(wanted) => spread(&all, *wanted),
            Self::These(named) => {
                let is_named = |n: &usize| testbed.id_of(*n).is_some_and(|id| named.contains(&id));
                all.into_iter().filter(is_named).collect()
            }
        }
    }
}

impl Settings {
    /// The request to the planner of waves, on surveyed `links`.
    pub(super) fn waves(&self, links: &LinkQualities, sinks: &[usize]) -> WaveRequest {
        let model = LinkModel::learned(links, self.route.rule.floor);
        let route = self.route.clone().trusting(model);
        let mut request = WaveRequest::new(links, route, sinks.to_vec());
        if let Some(channels) = &self.channels {
            request.channels.clone_from(channels);
        }
        (request.reuse, request.least_share) = (self.reuse, LEAST_SHARE);
        request.tries = CANDIDATES;
        request
    }
    /// Whether it is to bring everything, and not as published.
    pub(super) fn is_ours(&self) -> bool {
        matches!(self.scheme, Scheme::Thalweg | Scheme::HopByHop)
    }
    fn is_thalweg(&self) -> bool {
        self.scheme == Scheme::Thalweg
    }
}

/// A campaign after its survey.
pub(super) struct Run<'a> {
    pub(super) settings: &'a Settings,
    site: &'a Site,
    pub(super) sinks: &'a [usize],
    pub(super) motes: Motes,
    /// What each source offers.
    pub(super) objects: BTreeMap<usize, Arc<[u8]>>,
    pub(super) waves: Waves,
    pub(super) rng: Stream,
    /// Attempts so far of each source that is still to come in waves.
    attempts: BTreeMap<usize, u32>,
    /// Nodes of the wave before.
    active: Vec<usize>,
    /// With one sink: the source whose transfer broke off, and how many packets arrived. It continues at once.
    partial: Option<(usize, u32)>,
    /// Sources whose attempts are used up, and how many those were.
    pub(super) leftover: Vec<(usize, u32)>,
    /// What has arrived of their objects.
    pub(super) assemblies: BTreeMap<usize, Assembly>,
    /// Surveys in a row for the sources that are left, which none of them brought a byte of.
    pub(super) search: Search,
    pub(super) campaign: Campaign,
    pub(super) observer: Watch<'a>,
    pub(super) turns: Turns<'a>,
}

impl Run<'_> {
    /// Wave after wave, until every source is done or left over.
    fn in_waves(&mut self) -> Result<(), CampaignError> {
        if self.settings.scheme == Scheme::HopByHop {
            // Such transfers have the network to themselves.
            let sources = std::mem::take(&mut self.attempts);
            self.leftover.extend(sources);
        }
        while let Some(&least) = self.attempts.values().min() {
            let partial = self.partial.take();
            let ready = self.ready(least, partial)?;
            let mut wave = self.waves.next(&ready, &mut self.rng);
            wave.lost.retain(|(source, _)| !self.is_left_over(*source));
            self.give_up(&wave.lost)?;
            wave.plans.retain(|plan| !self.is_better_alone(plan));
            for (_, why) in &wave.idle {
                *self.campaign.idle.entry(*why).or_default() += 1;
            }
            if !wave.plans.is_empty() {
                self.wave(&wave.plans, partial)?;
            }
        }
        Ok(())
    }

    /// Whether `source`, from which no pipeline leads, is left for a path hop by hop, which links may offer later.
    fn is_left_over(&mut self, source: usize) -> bool {
        let is_left = self.settings.is_ours();
        if is_left {
            self.leave(source);
        }
        is_left
    }
    /// Leaves `source` until the waves are over.
    fn leave(&mut self, source: usize) {
        let attempts = self.attempts.remove(&source).unwrap_or(0);
        self.leftover.push((source, attempts));
    }
    /// Whether the source of `plan` is left for a path hop by hop, which is quicker.
    fn is_better_alone(&mut self, plan: &Plan) -> bool {
        let may_be = self.settings.is_thalweg() && plan.may_be_quicker_by_hops();
        if !may_be {
            return false;
        }
        let alone = self.waves.hop_plans_of(plan.source, 0, &mut self.rng);
        let goodput = plan.prediction.goodput_kbps * plan.prediction.completion;
        let is_better = alone
            .first()
            .is_some_and(|hops| hops.prediction.goodput_kbps > goodput);
        if is_better {
            self.leave(plan.source);
        }
        is_better
    }

    /// The sources that the next wave may fetch from, where `least` is the fewest attempts of any.
    fn ready(
        &mut self,
        least: u32,
        partial: Option<(usize, u32)>,
    ) -> Result<Vec<usize>, CampaignError> {
        if let Some((source, _)) = partial {
            return Ok(vec![source]);
        }
        // A source that failed a probe comes back while there are others to fill its wave.
        let is_next = |attempts: u32| self.settings.is_thalweg() || attempts == least;
        let pending = (self.attempts.iter()).filter(|(_, attempts)| is_next(**attempts));
        let pending: Vec<usize> = pending.map(|(n, _)| *n).collect();
        // A node that missed the end of its last transfer would miss this one's wake-up.
        let is_rested = |n: &usize| !self.active.contains(n);
        let rested: Vec<usize> = pending.iter().copied().filter(is_rested).collect();
        if !rested.is_empty() {
            return Ok(rested);
        }
        let linger = linger(self.settings.scheme);
        self.motes.wait(linger)?;
        self.campaign.add(Phase::Waiting, linger);
        Ok(pending)
    }

    /// Reports the sources that have no route.
    pub(super) fn give_up(&mut self, lost: &[(usize, PlanError)]) -> Result<(), CampaignError> {
        for (source, why) in lost {
            self.attempts.remove(source);
            let ids = self.motes.nodes.ids();
            let ends = (ids[*source], ids[self.sinks[0]]);
            let mut summary = account(self.settings, self.site, ids).unplanned(ends);
            summary.failure = Some(why.to_string());
            let details = InWave {
                wave: self.campaign.waves,
                wrong: false,
                predicted_kbps: 0.0,
            };
            let row = Outcome { summary, details };
            go_on((self.turns)(&row, None))?;
            self.campaign.transfers.push(row);
        }
        Ok(())
    }

    /// Transfers over all of `plans` at once.
    fn wave(&mut self, plans: &[Plan], partial: Option<(usize, u32)>) -> Result<(), CampaignError> {
        let Settings { scheme, terms, .. } = *self.settings;
        let nodes = plans.iter().flat_map(|plan| active_nodes(plan, scheme));
        self.active = nodes.collect();
        go_on((self.observer)(Progress::Wave {
            number: self.campaign.waves,
            transfers: plans.len(),
            left: self.attempts.len(),
        }))?;
        let is_last = |source| {
            let attempts = self.attempts.get(&source).copied().unwrap_or(0);
            !RETRY.allows(attempts + 1)
        };
        let begins = |plan: &Plan| match partial {
            Some((_, received)) => Start::Resuming(received),
            // A chain that others of the wave disturb would hold them all up. The last time it takes what there is.
            None if plans.len() > 1 && !is_last(plan.source) => Start::Probing,
            None => Start::Fresh,
        };
        let begun: Vec<(&Plan, Start)> = plans.iter().map(|plan| (plan, begins(plan))).collect();
        let waved = self.motes.wave(&begun, scheme, &terms)?;
        share_out(&mut self.campaign, &waved);
        for (plan, landed) in plans.iter().zip(waved.transfers) {
            self.landed(plan, landed, partial.is_some())?;
        }
        self.campaign.waves += 1;
        Ok(())
    }

    /// Notes what a transfer of a wave brought, and whether its source is tried again.
    fn landed(
        &mut self,
        plan: &Plan,
        landed: TransferResult,
        continues: bool,
    ) -> Result<(), CampaignError> {
        let attempts = self.attempts.entry(plan.source).or_default();
        *attempts += 1;
        let attempts = *attempts;
        let (object, received) = (landed.object.clone(), landed.received);
        let mut row = self.outcome(plan, landed);
        (row.summary.attempts, row.details.wave) = (attempts, self.campaign.waves);
        let is_thalweg = self.settings.is_thalweg();
        if row.summary.verified || !RETRY.allows(attempts) {
            self.attempts.remove(&plan.source);
            // No other protocol reroutes.
            match is_thalweg && !row.summary.verified {
                true => self.leftover.push((plan.source, attempts)),
                false => go_on((self.turns)(&row, object.as_deref()))?,
            }
        } else if is_thalweg && self.sinks.len() == 1 && received > 0 && !continues {
            self.partial = Some((plan.source, received));
        }
        self.campaign.transfers.push(row);
        Ok(())
    }

    /// What became of a transfer, but for its wave.
    fn outcome(&mut self, plan: &Plan, landed: TransferResult) -> Outcome<InWave> {
        let settings = self.settings;
        let nothing = account(settings, self.site, self.motes.nodes.ids()).nothing(plan);
        let packets = self.motes.packets(plan.source, &settings.terms);
        let (object, offered) = (landed.object, self.objects.get(&plan.source));
        let verified = object.is_some();
        let wrong = object.is_some_and(|bytes| offered.is_none_or(|o| **o != *bytes));
        let duration = match (landed.began, landed.last.or(landed.ended)) {
            (Some((began, _)), Some(last)) => last.since(began),
            _ => Duration::ZERO,
        };
        let bytes = offered.filter(|_| verified).map_or(0, |o| o.len() as u64);
        let (prediction, _) = expected(plan, settings.scheme);
        let share = |f: u16| f64::from(f) / f64::from(packets.max(1));
        let summary = Summary {
            verified,
            bytes,
            goodput_kbps: match verified {
                true => BitRate::of_bytes(bytes, duration).kbps(),
                false => 0.0,
            },
            rounds: landed.rounds,
            duration_s: duration.as_secs_f64(),
            first_round_reliability: landed.first_round.map(share),
            active_nodes: active_nodes(plan, settings.scheme).len() as u32,
            failure: landed.failure,
            // Meters are read for the whole campaign: others are on the air meanwhile.
            ..nothing
        };
        let details = InWave {
            wave: 0,
            wrong,
            predicted_kbps: prediction.goodput_kbps,
        };
        Outcome { summary, details }
    }
}

/// Shares the time of a wave among the phases.
fn share_out(campaign: &mut Campaign, waved: &WaveResult) {
    let WaveResult {
        ordered,
        end,
        transfers: parts,
    } = waved;
    let began = || parts.iter().filter_map(|part| part.began);
    let first = began().map(|(first, _)| first).min();
    let (Some(first), Some(start)) = (first, began().map(|(_, start)| start).min()) else {
        return campaign.add(Phase::Waiting, end.since(*ordered));
    };
    let last = |part: &TransferResult| part.last.or(part.ended).unwrap_or(*end);
    let slowest = parts.iter().map(last).max().unwrap_or(*end).max(start);
    campaign.add(Phase::Waiting, first.since(*ordered));
    campaign.add(Phase::WakingUp, start.since(first));
    campaign.add(Phase::Transferring, slowest.since(start));
    campaign.add(Phase::Ending, end.since(slowest));
    let busy = parts.iter().filter_map(|part| part.last);
    let busy = busy.map(|last| last.since(start).as_secs_f64());
    campaign.busy_s += busy.sum::<f64>();
}

/// The account of a transfer before it runs.
fn account<'a>(settings: &Settings, site: &'a Site, ids: &'a [NodeId]) -> Account<'a> {
    Account {
        protocol: name_of(settings.scheme),
        scheme: settings.scheme,
        network: &site.testbed.name,
        ids,
        seed: site.seed,
        sealing: Sealing::Open,
    }
}

/// This many of `nodes`, evenly; at most all.
pub fn spread(nodes: &[usize], wanted: usize) -> Vec<usize> {
    let wanted = wanted.min(nodes.len());
    (0..wanted)
        .map(|i| nodes[i * nodes.len() / wanted])
        .collect()
}

/// What all nodes have spent so far.
fn joules(motes: &mut Motes) -> f64 {
    let net = motes.network();
    (0..net.len()).map(|n| net.energy(n).joules()).sum()
}

/// Goes on unless an observer wants to stop.
pub(super) fn go_on(flow: ControlFlow<()>) -> Result<(), CampaignError> {
    match flow {
        Continue(()) => Ok(()),
        Break(()) => Err(RunError::Failed(Failure::Cancelled).into()),
    }
}
