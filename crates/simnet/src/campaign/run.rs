//! A campaign from switching on to the last byte: survey, then wave after wave. Time base: simulated
//! time. Invariants: a wave's sinks all ended their part before the next wave is ordered; a source that
//! fails is tried again, as often as [`RETRY`] says: after all others, or with Thalweg as soon as its nodes are free. Where
//! there is one sink it goes on at once, with what has arrived. Whom all that did not help has the network for itself at the
//! end (`alone.rs`).

use super::alone::{self, Left};
use super::report::{Campaign, InWave, Part};
use super::CampaignError;
use crate::collect::Object;
use crate::motes::{Motes, RunError};
use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_host::job::{Failure, Progress, Retry, RetryMode};
use thalweg_host::outcome::{Outcome, Summary};
use thalweg_host::registry::name_of;
use thalweg_host::survey::Survey;
use thalweg_host::transfer::account::{expected, Account};
use thalweg_host::transfer::pipeline::{active_nodes, Terms};
use thalweg_host::waves::{Start, TransferResult, WaveResult};
use thalweg_medium::random::{derive, stream};
use thalweg_planner::concurrent::{Reuse, WaveRequest, Waves};
use thalweg_planner::{Backups, LinkModel, Plan, RouteRequest};
use thalweg_testbeds::{equip, Equipped, Losses, Site, Station};
use thalweg_units::{BitRate, Channel, Duration, NodeId};
use thalweg_wire::route::Scheme;

/// After this, a node that did not hear that its transfer of `scheme` is over has left it: a little more than
/// [`thalweg_protocols::p3::policy`]'s linger, or than [`thalweg_protocols::thalweg::policy`]'s over ten hops.
const fn linger(scheme: Scheme) -> Duration {
    match scheme {
        Scheme::Thalweg => Duration::from_millis(300),
        Scheme::P3 | Scheme::Pip(_) | Scheme::PipCit => Duration::from_millis(1_100),
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
    pub terms: Terms,
    /// How each route is sought; source, sink and channels are set for every transfer.
    pub route: RouteRequest,
    /// The channels for pipelines, best first; where none are named, all that were measured, ranked by
    /// what was measured.
    pub channels: Option<Vec<Channel>>,
    /// Whether transfers that run at once may share a channel.
    pub reuse: Reuse,
}

/// Which nodes are emptied.
#[derive(Debug, Clone, PartialEq)]
pub enum Sources {
    /// All that are no base station.
    All,
    /// So many of those, spread over the network.
    Spread(usize),
    /// Those of them that are named.
    These(Vec<NodeId>),
}

/// Told of each source whose turn is over: what became of it, and its object where that is whole.
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
    let sources = match &settings.sources {
        Sources::All => sources,
        Sources::Spread(wanted) => spread(&sources, *wanted),
        Sources::These(named) => {
            let is_named = |n: &usize| testbed.id_of(*n).is_some_and(|id| named.contains(&id));
            sources.into_iter().filter(is_named).collect()
        }
    };
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
    let surveyed = motes.survey(sinks[0], settings.survey, observer)?;
    let mut campaign = Campaign {
        testbed: testbed.name.clone(),
        seed,
        radios: sinks.len(),
        sources: sources.len(),
        bytes_each: settings.object.bytes() as u32,
        ..Campaign::default()
    };
    campaign.add(Part::Measuring, surveyed.measuring);
    campaign.add(Part::Collecting, surveyed.collecting);
    let rest = motes.network().now().as_secs_f64() - campaign.total_s();
    campaign.add(Part::Waiting, Duration::from_secs_f64(rest.max(0.0)));
    campaign.survey_energy_j = joules(&mut motes);

    let floor = settings.route.rule.floor;
    let model = LinkModel::learned(&surveyed.links, floor);
    let route = settings.route.clone().trusting(model);
    let mut request = WaveRequest::new(&surveyed.links, route, sinks.clone());
    if let Some(channels) = &settings.channels {
        request.channels.clone_from(channels);
    }
    (request.reuse, request.least_share) = (settings.reuse, LEAST_SHARE);
    request.tries = CANDIDATES;
    let mut waves = Waves::new(&surveyed.links, request);
    let mut rng = stream(seed, "waves", &[]);
    let mut active: Vec<usize> = Vec::new();
    let mut tries: BTreeMap<usize, u32> = sources.iter().map(|n| (*n, 0)).collect();
    // Where there is one sink, a source whose transfer broke off, and what it brought: it goes on at once.
    let mut broken: Option<(usize, u32)> = None;
    let keeps = sinks.len() == 1 && settings.scheme == Scheme::Thalweg;
    // No other protocol makes its way anew.
    let has_ways = settings.scheme == Scheme::Thalweg;
    // Sources whose tries are used up, to be fetched from at the end.
    let mut left: Vec<(usize, u32)> = Vec::new();
    while let Some(&least) = tries.values().min() {
        let goes_on = broken.take();
        // Who was only looked at comes back while there are others to fill its wave.
        let is_next = |tried: u32| settings.scheme == Scheme::Thalweg || tried == least;
        let pending = tries.iter().filter(|(_, tried)| is_next(**tried));
        let pending: Vec<usize> = pending.map(|(n, _)| *n).collect();
        // Who did not hear that its last transfer is over would miss this one's wake-up.
        let rested = |n: &usize| !active.contains(n);
        let mut ready: Vec<usize> = match goes_on {
            Some((source, _)) => vec![source],
            None => pending.iter().copied().filter(rested).collect(),
        };
        if ready.is_empty() {
            let linger = linger(settings.scheme);
            motes.wait(linger)?;
            campaign.add(Part::Waiting, linger);
            ready = pending;
        }
        let wave = waves.next(&ready, &mut rng);
        for (source, why) in &wave.lost {
            tries.remove(source);
            let ids = motes.nodes.ids();
            let ends = (ids[*source], ids[sinks[0]]);
            let mut summary = account(settings, &site, ids).unplanned(ends);
            summary.failure = Some(why.to_string());
            let extra = InWave {
                wave: campaign.waves,
                wrong: false,
                predicted_kbps: 0.0,
            };
            let lost = Outcome {
                summary,
                details: extra,
            };
            told(turns(&lost, None))?;
            campaign.transfers.push(lost);
        }
        for (_, why) in &wave.idle {
            *campaign.idle.entry(*why).or_default() += 1;
        }
        if wave.plans.is_empty() {
            continue;
        }
        let plans = wave.plans.iter();
        active = plans
            .flat_map(|plan| active_nodes(plan, settings.scheme))
            .collect();
        told(observer(Progress::Wave {
            number: campaign.waves,
            transfers: wave.plans.len(),
            left: tries.len(),
        }))?;
        let several = wave.plans.len() > 1;
        let is_last = |source| {
            let tried = tries.get(&source).copied().unwrap_or(0);
            !RETRY.allows(tried + 1)
        };
        let begins = |plan: &Plan| match goes_on {
            Some((_, received)) => Start::Resuming(received),
            // A chain that others of the wave disturb would hold them all up. The last time it takes what there is.
            None if several && !is_last(plan.source) => Start::Probing,
            None => Start::Fresh,
        };
        let plans: Vec<(&Plan, Start)> = (wave.plans.iter())
            .map(|plan| (plan, begins(plan)))
            .collect();
        let waved = motes.wave(&plans, settings.scheme, &settings.terms)?;
        share_out(&mut campaign, &waved);
        for (plan, landed) in wave.plans.iter().zip(waved.transfers) {
            let tried = tries.entry(plan.source).or_default();
            *tried += 1;
            let tried = *tried;
            let object = landed.object.clone();
            let received = landed.received;
            let mut row = outcome(&mut motes, plan, settings, landed, &objects, &site);
            (row.summary.attempts, row.details.wave) = (tried, campaign.waves);
            if row.summary.verified || !RETRY.allows(tried) {
                tries.remove(&plan.source);
                match has_ways && !row.summary.verified {
                    true => left.push((plan.source, tried)),
                    false => told(turns(&row, object.as_deref()))?,
                }
            } else if keeps && received > 0 && goes_on.is_none() {
                broken = Some((plan.source, received));
            }
            campaign.transfers.push(row);
        }
        campaign.waves += 1;
    }
    let count = left.len();
    for (done, (source, tried)) in left.into_iter().enumerate() {
        told(observer(Progress::Wave {
            number: campaign.waves,
            transfers: 1,
            left: count - done,
        }))?;
        let left = Left {
            tried,
            object: objects.get(&source).map(|object| &**object),
            plans: waves.plans_of(source, Backups::Relays, &mut rng),
            scheme: settings.scheme,
            terms: settings.terms,
            pause: linger(settings.scheme),
        };
        let object = alone::fetch(&mut motes, left, &mut campaign, observer)?;
        let id = motes.nodes.ids()[source];
        let mut of_source = campaign.transfers.iter().rev();
        if let Some(row) = of_source.find(|row| row.summary.source == id) {
            told(turns(row, object.as_deref()))?;
        }
    }
    campaign.network_energy_j = joules(&mut motes);
    Ok(campaign)
}

/// Shares the time of a wave among its parts.
fn share_out(campaign: &mut Campaign, waved: &WaveResult) {
    let WaveResult {
        ordered,
        end,
        transfers: parts,
    } = waved;
    let began = || parts.iter().filter_map(|part| part.began);
    let first = began().map(|(first, _)| first).min();
    let (Some(first), Some(start)) = (first, began().map(|(_, start)| start).min()) else {
        return campaign.add(Part::Waiting, end.since(*ordered));
    };
    let last = |part: &TransferResult| part.last.or(part.ended).unwrap_or(*end);
    let slowest = parts.iter().map(last).max().unwrap_or(*end).max(start);
    campaign.add(Part::Waiting, first.since(*ordered));
    campaign.add(Part::WakingUp, start.since(first));
    campaign.add(Part::Transferring, slowest.since(start));
    campaign.add(Part::Ending, end.since(slowest));
    let busy = parts.iter().filter_map(|part| part.last);
    let busy = busy.map(|last| last.since(start).as_secs_f64());
    campaign.busy_s += busy.sum::<f64>();
}

/// What is known of a transfer before it runs.
fn account<'a>(settings: &Settings, site: &'a Site, ids: &'a [NodeId]) -> Account<'a> {
    Account {
        protocol: name_of(settings.scheme),
        scheme: settings.scheme,
        network: &site.testbed.name,
        ids,
        seed: site.seed,
    }
}

/// What became of a transfer, but for its wave.
fn outcome(
    motes: &mut Motes,
    plan: &Plan,
    settings: &Settings,
    landed: TransferResult,
    objects: &BTreeMap<usize, Arc<[u8]>>,
    site: &Site,
) -> Outcome<InWave> {
    let ids = motes.nodes.ids();
    let nothing = account(settings, site, ids).nothing(plan);
    let packets = motes.packets(plan.source, &settings.terms);
    let (object, offered) = (landed.object, objects.get(&plan.source));
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
    let extra = InWave {
        wave: 0,
        wrong,
        predicted_kbps: prediction.goodput_kbps,
    };
    Outcome {
        summary,
        details: extra,
    }
}

/// So many of `nodes`, evenly; at most all.
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

fn told(flow: ControlFlow<()>) -> Result<(), CampaignError> {
    match flow {
        Continue(()) => Ok(()),
        Break(()) => Err(RunError::Failed(Failure::Cancelled).into()),
    }
}
