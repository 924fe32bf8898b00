//! A campaign from switching on to the last byte: survey, then wave after wave. Time base: simulated
//! time. Invariants: a wave's sinks all ended their part before the next wave is ordered; a source that
//! fails is tried again after all others, [`Settings::attempts`] times in all.

use super::report::{Campaign, Part, TransferRow};
use super::CampaignError;
use crate::collect::random_object;
use crate::transfer::{active_nodes, digest, Node, Protocol, Session, SessionError, Survey, Terms};
use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_engine::BoardTiming;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::concurrent::{Reuse, WaveRequest, Waves};
use thalweg_planner::{Plan, RouteRequest};
use thalweg_protocols::floodnet;
use thalweg_protocols::glossy::{flood_spacing, flood_time};
use thalweg_protocols::mote::{self, Command};
use thalweg_protocols::pipeline::{self, Complete, End};
use thalweg_testbeds::{equip, Equipped, Losses, Site, Station};
use thalweg_units::{BitRate, Channel, Duration, SimTime};
use thalweg_wire::flood::HEADER_BYTES;
use thalweg_wire::phy::SFD_OFFSET;
use thalweg_wire::route::{Route, MAX_SEGMENT_BYTES};

/// Between the wake-up floods of two sinks, beyond the first's time to reach everyone.
const APART: Duration = Duration::from_millis(8);
/// After this, a node that did not hear that its transfer is over has left it: a little more than
/// [`thalweg_protocols::p3::policy`]'s linger.
const LINGER: Duration = Duration::from_millis(1_100);
/// Beyond a transfer's own deadline, how long a wave is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a network is emptied.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where to; as many transfers run at once as there are radios.
    pub stations: Vec<Station>,
    /// How links are measured.
    pub survey: Survey,
    /// Bytes of each node's object.
    pub bytes: u32,
    /// From so many nodes only, spread over the network.
    pub sources: Option<usize>,
    /// What moves the packets of every transfer.
    pub protocol: Protocol,
    /// Of every transfer.
    pub terms: Terms,
    /// How each route is sought; source, sink and channels are set for every transfer.
    pub route: RouteRequest,
    /// The channels for pipelines, best first; where none are named, all that were measured, ranked by
    /// what was measured.
    pub channels: Option<Vec<Channel>>,
    /// Whether transfers that run at once may share a channel.
    pub reuse: Reuse,
    /// The least share of a transfer's predicted goodput alone that it must keep beside others.
    pub least_share: f64,
    /// How many sources of each distance are tried for a place in a wave.
    pub candidates: usize,
    /// How often a source is tried.
    pub attempts: u32,
}

/// What is told while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Links are known.
    Surveyed,
    /// A wave begins.
    Wave {
        /// Which, from 0.
        number: usize,
        /// Its transfers.
        transfers: usize,
        /// Sources that have not delivered yet, these included.
        left: usize,
    },
}

/// One transfer of a wave, as its sink tells of it.
#[derive(Debug, Default)]
struct Log {
    /// First symbol of the first wake-up packet, and when the source begins.
    began: Option<(SimTime, SimTime)>,
    first_round: Option<u16>,
    rounds: u32,
    complete: Option<(Complete, SimTime)>,
    ended: Option<SimTime>,
    failure: Option<String>,
}

impl Log {
    fn fail(&mut self, at: SimTime, why: String) {
        self.failure.get_or_insert(why);
        self.ended.get_or_insert(at);
    }
    fn note(&mut self, at: SimTime, event: mote::Event) {
        match event {
            mote::Event::Refused(why) => self.fail(at, format!("refused: {why:?}")),
            mote::Event::Floods(floodnet::Event::Refused(why)) => {
                self.fail(at, format!("refused: {why:?}"));
            }
            mote::Event::Pipeline(pipeline::Event::Refused(why)) => self.fail(at, why.to_string()),
            mote::Event::Pipeline(pipeline::Event::RoundReported {
                round, received, ..
            }) => {
                self.first_round.get_or_insert(received);
                self.rounds = u32::from(round) + 1;
            }
            mote::Event::Pipeline(pipeline::Event::Finished(end)) => {
                if self.complete.is_none() {
                    let why = match end {
                        End::TimedOut if self.rounds == 0 => "nothing arrived".to_owned(),
                        End::TimedOut => "nothing arrived any more".to_owned(),
                        End::Released => "the source gave up".to_owned(),
                        end => format!("ended early: {end:?}"),
                    };
                    self.fail(at, why);
                }
                self.ended.get_or_insert(at);
            }
            _ => {}
        }
    }
}

/// Fetches an object from every node of `site` that is not a base station.
///
/// # Errors
/// [`CampaignError`] where nothing can be said of it; transfers that fail are rows.
pub fn empty(
    site: &Site,
    settings: &Settings,
    observer: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<Campaign, CampaignError> {
    let seed = site.seed;
    let Equipped {
        testbed,
        sinks,
        sources,
    } = equip(&site.testbed, &settings.stations, seed)?;
    let sources = spread(&sources, settings.sources);
    // One time line: the survey meets the losses too.
    let Losses { links, psdu_bytes } = &site.losses;
    let site = Site::new(testbed, seed).with_losses(links, *psdu_bytes)?;
    let testbed = &site.testbed;
    let opened = derive(seed, "campaign", &[sinks.len() as u64]);
    let mut session = Session::open(&site, opened)?;
    let objects: BTreeMap<usize, Arc<[u8]>> = (sources.iter())
        .map(|&n| {
            let object = random_object(seed, testbed.nodes[n].id, settings.bytes as usize);
            (n, object)
        })
        .collect();
    for (&source, object) in &objects {
        session.offer(source, object.clone());
    }
    let surveyed = session.survey(sinks[0], settings.survey, &mut |_| Continue(()))?;
    told(observer(Step::Surveyed))?;
    let mut campaign = Campaign::new(testbed, seed, sinks.len(), sources.len());
    campaign.bytes_each = settings.bytes;
    campaign.add(Part::Measuring, surveyed.measuring);
    campaign.add(Part::Collecting, surveyed.collecting);
    let rest = session.network().now().as_secs_f64() - campaign.total_s();
    campaign.add(Part::Waiting, Duration::from_secs_f64(rest.max(0.0)));
    campaign.missing_tables = surveyed.missing.len();
    campaign.survey_energy_j = joules(&mut session);

    let mut request = WaveRequest::new(&surveyed.links, settings.route.clone(), sinks);
    if let Some(channels) = &settings.channels {
        request.channels.clone_from(channels);
    }
    (request.reuse, request.least_share) = (settings.reuse, settings.least_share);
    request.tries = settings.candidates;
    campaign.channels = request.channels.iter().map(|c| c.number()).collect();
    let mut waves = Waves::new(&surveyed.links, request);
    let mut rng = stream(seed, "waves", &[]);
    let mut active: Vec<usize> = Vec::new();
    let mut tries: BTreeMap<usize, u32> = sources.iter().map(|n| (*n, 0)).collect();
    while let Some(&least) = tries.values().min() {
        let pending: Vec<usize> = (tries.iter())
            .filter(|(_, tried)| **tried == least)
            .map(|(n, _)| *n)
            .collect();
        // Who did not hear that its last transfer is over would miss this one's wake-up.
        let rested = |n: &usize| !active.contains(n);
        let mut ready: Vec<usize> = pending.iter().copied().filter(rested).collect();
        if ready.is_empty() {
            wait(&mut session, LINGER, &mut campaign)?;
            ready = pending;
        }
        let wave = waves.next(&ready, &mut rng);
        for (source, why) in &wave.lost {
            let id = testbed.id_of(*source).map_or(0, |id| id.get());
            let row = TransferRow::lost(campaign.waves, id, why.to_string());
            campaign.transfers.push(row);
            tries.remove(source);
        }
        for (_, why) in &wave.idle {
            *campaign.idle.entry(*why).or_default() += 1;
        }
        if wave.plans.is_empty() {
            continue;
        }
        active = wave
            .plans
            .iter()
            .flat_map(|plan| active_nodes(plan, settings.protocol))
            .collect();
        told(observer(Step::Wave {
            number: campaign.waves,
            transfers: wave.plans.len(),
            left: tries.len(),
        }))?;
        let rows = run_wave(&mut session, &wave.plans, settings, &objects, &mut campaign)?;
        for (plan, row) in wave.plans.iter().zip(rows) {
            let tried = tries.entry(plan.source).or_default();
            *tried += 1;
            if row.verified || *tried >= settings.attempts.max(1) {
                tries.remove(&plan.source);
            }
            campaign.transfers.push(row);
        }
        campaign.waves += 1;
    }
    campaign.energy_j = joules(&mut session);
    Ok(campaign)
}

fn wait(
    session: &mut Session,
    time: Duration,
    campaign: &mut Campaign,
) -> Result<(), CampaignError> {
    let net = session.network();
    let until = net.now() + time;
    net.run_until(until, |_, _, _| Continue(()))
        .map_err(SessionError::from)?;
    campaign.add(Part::Waiting, time);
    Ok(())
}

/// Orders the transfers of a wave and follows them to their ends.
fn run_wave(
    session: &mut Session,
    plans: &[Plan],
    settings: &Settings,
    objects: &BTreeMap<usize, Arc<[u8]>>,
    campaign: &mut Campaign,
) -> Result<Vec<TransferRow>, CampaignError> {
    let (protocol, terms) = (settings.protocol, &settings.terms);
    let mut routes = Vec::with_capacity(plans.len());
    for plan in plans {
        routes.push(session.route(plan, protocol, terms)?);
    }
    let timing = session.board().timing;
    let wake_ups: Vec<Duration> = routes.iter().map(|r| wake_up(r, &timing)).collect();
    let own = Node::wake_up_time(&routes[0], &floodnet::Config::default(), &timing);
    let all = wake_ups
        .iter()
        .fold(Duration::ZERO, |sum, time| sum + *time);
    let room = all.saturating_sub(own);
    let net = session.network();
    let ordered = net.now();
    let patience = PATIENCE + Duration::from_secs(u64::from(terms.deadline_s));
    let deadline = ordered + patience;
    let mut logs: Vec<Log> = plans.iter().map(|_| Log::default()).collect();
    let mut next = 0;
    let mut due = ordered;
    while next < routes.len() || logs.iter().any(|log| log.ended.is_none()) {
        let now = net.now();
        if now >= deadline {
            for (plan, log) in plans.iter().zip(&mut logs) {
                net.command(plan.sink, Command::Stop);
                log.fail(now, "no end".to_owned());
            }
            break;
        }
        if next < routes.len() && now >= due {
            let (route, sink) = (routes[next], plans[next].sink);
            net.engine_mut(sink).store_mut().clear();
            let alone = routes.len() == 1;
            let order = match alone {
                true => Command::Fetch(route),
                false => Command::FetchTogether { route, room },
            };
            net.command(sink, order);
            next += 1;
            // The next sink's turn comes when this one's flood is over; the first begins at a
            // meeting, nobody knows which.
            due = match next {
                1 => deadline,
                _ => now + wake_ups[next - 1],
            };
        }
        let until = if next < routes.len() {
            due.min(deadline)
        } else {
            deadline
        };
        let mut woke: Option<(usize, SimTime, mote::Event)> = None;
        net.run_until(until, |at, node, event| {
            let Some(job) = plans.iter().position(|plan| plan.sink == node) else {
                return Continue(());
            };
            match event {
                mote::Event::WakeUp { .. }
                | mote::Event::Pipeline(pipeline::Event::Complete(_)) => {
                    woke = Some((job, at, event));
                    return Break(());
                }
                event => logs[job].note(at, event),
            }
            match logs[job].ended.is_some() && (job == 0 || logs.iter().all(|l| l.ended.is_some()))
            {
                true => Break(()),
                false => Continue(()),
            }
        })
        .map_err(SessionError::from)?;
        match woke {
            Some((job, at, mote::Event::WakeUp { reference, start })) => {
                let sink = plans[job].sink;
                let first = net.when(sink, reference.saturating_sub(SFD_OFFSET));
                logs[job].began = Some((first, net.when(sink, start)));
                if job == 0 {
                    due = at + wake_ups[0];
                }
            }
            Some((job, _, mote::Event::Pipeline(pipeline::Event::Complete(complete)))) => {
                let last = net.when(plans[job].sink, complete.last_packet);
                logs[job].complete = Some((complete, last));
            }
            _ => {}
        }
        if logs[0].began.is_none() && logs[0].ended.is_some() && next < routes.len() {
            // Without the first there is nothing to begin together with.
            let now = net.now();
            for log in &mut logs[next..] {
                log.fail(now, "the wave did not begin".to_owned());
            }
            next = routes.len();
        }
    }
    let end = net.now();
    account(campaign, ordered, end, &logs);
    let wave = campaign.waves;
    Ok((plans.iter().zip(&logs))
        .map(|(plan, log)| outcome(session, wave, plan, protocol, log, objects))
        .collect())
}

/// From a sink's order to the next sink's: until the floods of `route` have reached everyone.
fn wake_up(route: &Route, timing: &BoardTiming) -> Duration {
    let config = floodnet::Config::default();
    let bytes = HEADER_BYTES + 1 + MAX_SEGMENT_BYTES;
    let before = route.segments().saturating_sub(1) as u64;
    flood_spacing(bytes, config.n_tx, timing) * before
        + flood_time(bytes, config.reach, config.n_tx, timing)
        + APART
}

/// Shares the time of a wave among its parts.
fn account(campaign: &mut Campaign, ordered: SimTime, end: SimTime, logs: &[Log]) {
    let began = logs.iter().filter_map(|log| log.began);
    let (Some(first), Some(start)) = (
        began.clone().map(|(first, _)| first).min(),
        began.map(|(_, start)| start).min(),
    ) else {
        return campaign.add(Part::Waiting, end.since(ordered));
    };
    let last = |log: &Log| {
        log.complete
            .map(|(_, last)| last)
            .or(log.ended)
            .unwrap_or(end)
    };
    let slowest = logs.iter().map(last).max().unwrap_or(end).max(start);
    campaign.add(Part::Waiting, first.since(ordered));
    campaign.add(Part::WakingUp, start.since(first));
    campaign.add(Part::Transferring, slowest.since(start));
    campaign.add(Part::Ending, end.since(slowest));
    let busy = logs.iter().filter(|log| log.complete.is_some());
    campaign.busy_s += busy
        .map(|log| last(log).since(start).as_secs_f64())
        .sum::<f64>();
}

fn outcome(
    session: &mut Session,
    wave: usize,
    plan: &Plan,
    protocol: Protocol,
    log: &Log,
    objects: &BTreeMap<usize, Arc<[u8]>>,
) -> TransferRow {
    let source = session.network().engine(plan.source);
    let (from, packets) = (source.id().get(), source.pipeline().stats().packets);
    let to = session.network().engine(plan.sink).id().get();
    let object = log.complete.map(|(complete, _)| {
        let store = session.network().engine_mut(plan.sink).store_mut();
        (store.take(complete.len as usize), complete)
    });
    let verified = object.as_ref().is_some_and(|(bytes, complete)| {
        bytes.len() == complete.object_len as usize && digest(bytes) == complete.digest
    });
    let wrong = verified
        && object.is_some_and(|(bytes, _)| objects.get(&plan.source).is_none_or(|o| **o != *bytes));
    let duration = match (log.began, log.complete, log.ended) {
        (Some((began, _)), Some((_, last)), _) => last.since(began),
        (Some((began, _)), None, Some(ended)) => ended.since(began),
        _ => Duration::ZERO,
    };
    let bytes = objects.get(&plan.source).map_or(0, |o| o.len() as u64);
    let first = log.complete.map(|(c, _)| c.first_round).or(log.first_round);
    let prediction = match protocol {
        Protocol::P3 => &plan.prediction,
        _ => &plan.pip.prediction,
    };
    let digest_failed = || "what arrived has another digest than the object".to_owned();
    TransferRow {
        wave,
        source: from,
        sink: to,
        verified,
        wrong,
        bytes: if verified { bytes } else { 0 },
        goodput_kbps: match verified {
            true => BitRate::of_bytes(bytes, duration).kbps(),
            false => 0.0,
        },
        predicted_kbps: prediction.goodput_kbps,
        duration_s: duration.as_secs_f64(),
        rounds: log
            .complete
            .map_or(log.rounds, |(c, _)| u32::from(c.rounds)),
        first_round_reliability: first.map(|f| f64::from(f) / f64::from(packets.max(1))),
        hops: plan.hops,
        paths: match protocol {
            Protocol::P3 => plan.path_count(),
            _ => 1,
        },
        active_nodes: active_nodes(plan, protocol).len(),
        channels: plan.channels.iter().map(|c| c.number()).collect(),
        failure: (!verified).then(|| log.failure.clone().unwrap_or_else(digest_failed)),
    }
}

/// So many of `nodes`, evenly.
fn spread(nodes: &[usize], wanted: Option<usize>) -> Vec<usize> {
    let wanted = wanted.unwrap_or(nodes.len()).min(nodes.len());
    (0..wanted)
        .map(|i| nodes[i * nodes.len() / wanted])
        .collect()
}

/// What all nodes have spent so far.
fn joules(session: &mut Session) -> f64 {
    let net = session.network();
    (0..net.len()).map(|n| net.energy(n).joules()).sum()
}

fn told(flow: ControlFlow<()>) -> Result<(), CampaignError> {
    match flow {
        Continue(()) => Ok(()),
        Break(()) => Err(CampaignError::Stopped),
    }
}
