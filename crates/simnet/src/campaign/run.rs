//! A campaign from switching on to the last byte: a survey, then wave after wave. Time base: simulated time.
//!
//! Invariants: the next wave starts after all sinks of this one are free; a [`Schedule`] says which sources it has, and which
//! are left over. Those get the network to themselves at the end (`alone.rs`).

use super::report::{Campaign, InWave, Phase};
use super::CampaignError;
use crate::collect::Object;
use crate::motes::{Motes, RunError};
use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_host::collector::{Patience, Search};
use thalweg_host::job::{Failure, Progress, Watch};
use thalweg_host::outcome::Outcome;
use thalweg_host::registry::name_of;
use thalweg_host::segments::Assembly;
use thalweg_host::survey::{Survey, SurveyOutcome};
use thalweg_host::transfer::account::Account;
use thalweg_host::waves::{
    predicted_kbps, Landing, Schedule, Start, Terms, TransferResult, WaveResult,
};
use thalweg_medium::random::{derive, stream};
use thalweg_planner::{Plan, PlanError};
use thalweg_testbeds::{equip, Equipped, Losses, Site, Station, Testbed};
use thalweg_units::{Duration, NodeId};

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
    /// How transfers are sought and carried.
    pub waves: Terms,
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
    let sealing = site.sealing();
    let site = Site::new(testbed, seed).with_losses(links, *psdu_bytes)?;
    let site = site.secured(sealing);
    let testbed = &site.testbed;
    let opened = derive(seed, "campaign", &[sinks.len() as u64]);
    let mut motes = Motes::open(&site, opened)?;
    let object = |n: usize| settings.object.of(seed, testbed.nodes[n].id);
    let objects: BTreeMap<usize, Arc<[u8]>> = sources.iter().map(|&n| (n, object(n))).collect();
    for (&source, object) in &objects {
        motes.offer(source, object.clone());
    }
    let surveyed = match settings.waves.is_ours() {
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
    add_survey(&mut campaign, &surveyed, &mut motes);
    let planner = settings.waves.planner(&surveyed.links, &sinks);
    let rng = stream(seed, "waves", &[]);
    let mut run = Run {
        settings,
        site: &site,
        sinks: &sinks,
        motes,
        objects,
        schedule: Schedule::new(planner, settings.waves.scheme, sources, rng),
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

/// A campaign after its survey.
pub(super) struct Run<'a> {
    pub(super) settings: &'a Settings,
    site: &'a Site,
    pub(super) sinks: &'a [usize],
    pub(super) motes: Motes,
    /// What each source offers.
    pub(super) objects: BTreeMap<usize, Arc<[u8]>>,
    pub(super) schedule: Schedule,
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
        loop {
            let (motes, campaign) = (&mut self.motes, &mut self.campaign);
            let next = self.schedule.next(|linger| {
                motes.wait(linger)?;
                campaign.add(Phase::Waiting, linger);
                Ok::<_, RunError>(())
            })?;
            let Some(wave) = next else {
                break;
            };
            self.give_up(&wave.lost)?;
            for (_, why) in &wave.idle {
                *self.campaign.idle.entry(*why).or_default() += 1;
            }
            if !wave.transfers.is_empty() {
                self.wave(&wave.transfers)?;
            }
        }
        self.leftover.extend(self.schedule.take_leftover());
        Ok(())
    }

    /// Reports the sources that have no route.
    pub(super) fn give_up(&mut self, lost: &[(usize, PlanError)]) -> Result<(), CampaignError> {
        for (source, why) in lost {
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

    /// `transfers` at once.
    fn wave(&mut self, transfers: &[(Plan, Start)]) -> Result<(), CampaignError> {
        let Terms {
            scheme, transfer, ..
        } = &self.settings.waves;
        go_on((self.observer)(Progress::Wave {
            number: self.campaign.waves,
            transfers: transfers.len(),
            left: self.schedule.left(),
        }))?;
        let waved = self.motes.wave(transfers, *scheme, transfer)?;
        share_out(&mut self.campaign, &waved);
        for (begun, landed) in transfers.iter().zip(waved.transfers) {
            self.landed(begun, landed)?;
        }
        self.campaign.waves += 1;
        Ok(())
    }

    /// Notes what a transfer of a wave brought, and whether its source is tried again.
    fn landed(
        &mut self,
        (plan, start): &(Plan, Start),
        landed: TransferResult,
    ) -> Result<(), CampaignError> {
        let source = plan.source;
        let mut row = self.outcome(plan, &landed);
        let attempts = self.schedule.attempts(source) + 1;
        (row.summary.attempts, row.details.wave) = (attempts, self.campaign.waves);
        let is_whole = row.summary.verified;
        match (self.schedule).land(source, *start, is_whole, landed.received) {
            Landing::Whole | Landing::Failed => {
                go_on((self.turns)(&row, landed.object.as_deref()))?;
            }
            Landing::Again | Landing::LeftOver => {}
        }
        self.campaign.transfers.push(row);
        Ok(())
    }

    /// What became of a transfer, but for its wave.
    fn outcome(&mut self, plan: &Plan, landed: &TransferResult) -> Outcome<InWave> {
        let settings = self.settings;
        let account = account(settings, self.site, self.motes.nodes.ids());
        let packets = self.motes.packets(plan.source, &settings.waves.transfer);
        let offered = self.objects.get(&plan.source);
        let object = landed.object.as_deref();
        let details = InWave {
            wave: 0,
            wrong: object.is_some_and(|bytes| offered.is_none_or(|o| **o != *bytes)),
            predicted_kbps: predicted_kbps(plan, settings.waves.scheme),
        };
        Outcome {
            summary: landed.summary(plan, &account, packets),
            details,
        }
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
        protocol: name_of(settings.waves.scheme),
        scheme: settings.waves.scheme,
        network: &site.testbed.name,
        ids,
        seed: site.seed,
        sealing: site.sealing(),
    }
}

/// This many of `nodes`, evenly; at most all.
pub fn spread(nodes: &[usize], wanted: usize) -> Vec<usize> {
    let wanted = wanted.min(nodes.len());
    (0..wanted)
        .map(|i| nodes[i * nodes.len() / wanted])
        .collect()
}

/// Adds what `surveyed` took; what `motes` did beside it was waiting.
fn add_survey(campaign: &mut Campaign, surveyed: &SurveyOutcome, motes: &mut Motes) {
    campaign.add(Phase::Measuring, surveyed.measuring);
    campaign.add(Phase::Collecting, surveyed.collecting);
    let rest = motes.network().now().as_secs_f64() - campaign.total_s();
    campaign.add(Phase::Waiting, Duration::from_secs_f64(rest.max(0.0)));
    campaign.survey_energy_j = joules(motes);
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
