//! The thread of a base station: one job after the other, from the queue to the store.
//!
//! Invariants: an object is stored before its job is done; a job that the daemon's end interrupts is queued
//! again; a way that is lost is opened anew, with a pause that grows. Time base: the field's.

use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use thalweg_planner::{LinkQualities, Plan};
use thalweg_units::{BitRate, ChannelSet, NodeId};
use thalweg_wire::route::PayloadSize;

use super::desk::{now, Desk, Line, Surveyed, Turn};
use super::network::{Facts, Network};
use super::watched::Watched;
use crate::carry::pipeline::{settling, Fetch, Fetched, Terms, Way, SETTLING};
use crate::field::{Field, FieldError, FieldTime, News};
use crate::job::{run, Again, Failure, Retry};
use crate::known::{Ask, AskError, Known};
use crate::outcome::{over_plans, Core, Outcome};
use crate::recovery;
use crate::registry::Pipelined;
use crate::store::{JobId, JobState, Level, NewTransfer, StoreError, StoredJob, Work};
use crate::survey::SurveyJob;

/// A transfer that breaks off is begun again over another plan.
const RETRY: Retry = Retry {
    attempts: 3,
    again: Again::NewPlan,
};
/// From one look at the queue to the next, where nobody says that there is something.
const LOOK: Duration = Duration::from_secs(1);
/// The pauses before a lost way is opened again.
const PAUSES: [u64; 6] = [1, 2, 4, 8, 15, 30];
/// So much that was told before a job is left aside.
const STALE: usize = 10_000;
/// A job under which the way is lost so often fails.
const LOSSES: u32 = 4;
/// Of a fetch that has to measure links first, so much of the progress is the survey's.
const SURVEYING: f64 = 0.5;

/// Why a job ended without what was asked for.
enum Stop {
    /// Somebody did not want it, or the daemon ends.
    Unwanted,
    /// The way to the base station is lost.
    Lost(FieldError),
    /// It failed for good.
    Failed(String),
}

impl From<Failure> for Stop {
    fn from(why: Failure) -> Self {
        match why {
            Failure::Cancelled => Self::Unwanted,
            Failure::Field(why) => Self::Lost(why),
            Failure::Silent(_) | Failure::Restarted(_) => lost(&why),
            why => Self::Failed(why.to_string()),
        }
    }
}
/// The base station is out of reach, for the reason `why`.
fn lost(why: &Failure) -> Stop {
    Stop::Lost(FieldError::Broken(why.to_string().into()))
}

impl From<AskError> for Stop {
    fn from(why: AskError) -> Self {
        Self::Failed(why.to_string())
    }
}
impl From<StoreError> for Stop {
    fn from(why: StoreError) -> Self {
        Self::Failed(why.to_string())
    }
}

/// What is expected of a transfer.
#[derive(Serialize)]
struct Expected {
    time_s: Option<f64>,
    goodput_kbps: f64,
    rounds: Option<f64>,
    hops: usize,
    paths: usize,
}

/// What came of a survey.
#[derive(Serialize)]
struct Measured {
    duration_s: f64,
    links: usize,
    missing: Vec<u16>,
}

/// A transfer that has ended, and the object where it is whole.
type Brought = (Outcome<()>, Option<Vec<u8>>);

/// Runs the jobs of `network` until the desk says stop. `broken` as [`remember`] gives it.
pub(super) fn serve<N: Network>(network: N, desk: Arc<Desk>, broken: Option<FieldTime>) {
    let mut station = Station {
        network,
        field: None,
        transfers: recovery::first_transfer(),
        broken,
        pauses: PAUSES.into_iter(),
        losses: (JobId(0), 0),
        desk,
    };
    while !station.desk.is_stopping() {
        // Jobs stay in the queue as long as there is no way.
        match station.field().map(drop) {
            Err(Stop::Lost(why)) => {
                station.lose(&why);
                station.pause();
                continue;
            }
            Err(Stop::Failed(why)) => tracing::error!("{why}"),
            Ok(()) | Err(Stop::Unwanted) => {}
        }
        let turn = station.desk.turn();
        match turn {
            Ok(Turn::Stop) => return,
            Ok(Turn::Idle) => station.desk.rest(LOOK),
            Ok(Turn::Job(job)) => station.work(&job),
            Err(why) => {
                tracing::error!("{why}");
                station.desk.rest(LOOK);
            }
        }
    }
}

/// Takes up what was known and asked for before the daemon began. Where a job was under way, its relays may still wait
/// for packets when the field begins.
///
/// # Errors
/// [`StoreError`].
pub(super) fn remember(desk: &Desk) -> Result<Option<FieldTime>, StoreError> {
    let facts = &desk.facts;
    let network = (desk.network(), facts.sink);
    let found = (desk.store())
        .surveys(network, facts.place.ids.len(), 1)?
        .pop();
    if let Some(found) = found {
        let mut links = found.links;
        if let Some(spots) = &facts.spots {
            // One for each node.
            let _ = links.set_places(spots.clone());
        }
        desk.knows(Surveyed {
            known: known(facts, links),
            at: found.measured_at,
            took_s: found.took_s,
            missing: found.missing,
        });
    }
    let resumed = desk.store().resume_jobs(desk.network())?;
    let broken = (!resumed.is_empty()).then_some(FieldTime::ZERO);
    for id in resumed {
        let line = format!(
            "job {}: begins again, since the daemon ended before it",
            id.0
        );
        desk.log(Level::Info, &line);
    }
    Ok(broken)
}

fn known(facts: &Facts, links: LinkQualities) -> Known {
    let (place, channels) = (facts.place.clone(), facts.channels.clone());
    Known::new(place, links, facts.sink_index(), channels, facts.draw)
}

struct Station<N: Network> {
    network: N,
    field: Option<N::Field>,
    /// The number of the last transfer that was ordered.
    transfers: u16,
    /// When a transfer broke off that relays may not have given up yet.
    broken: Option<FieldTime>,
    pauses: std::array::IntoIter<u64, 6>,
    /// A job, and how often the way was lost under it.
    losses: (JobId, u32),
    desk: Arc<Desk>,
}

impl<N: Network> Station<N> {
    /// Runs `job`, and writes down how it ended.
    fn work(&mut self, job: &StoredJob) {
        let name = match job.work {
            Work::Survey => format!("job {}: survey", job.id.0),
            Work::Fetch { from } => format!("job {}: object of node {from}", job.id.0),
        };
        let ended = match job.work {
            Work::Survey => self.survey(job, &name, 1.0),
            Work::Fetch { from } => self.fetch(job, &name, from),
        };
        let desk = self.desk.clone();
        let (state, why) = match ended {
            Ok(()) => (JobState::Done, None),
            Err(Stop::Failed(why)) => (JobState::Failed, Some(why)),
            Err(Stop::Unwanted) => (desk.unwanted_as(), None),
            Err(Stop::Lost(why)) => {
                self.lose(&why);
                match (desk.unwanted_as(), self.is_hopeless(job.id)) {
                    (JobState::Cancelled, _) => (JobState::Cancelled, None),
                    (_, true) => (JobState::Failed, Some(why.to_string())),
                    (_, false) => (JobState::Queued, None),
                }
            }
        };
        let written = match (state, &why) {
            (JobState::Queued, _) => desk.store().requeue_job(job.id),
            (JobState::Cancelled, _) => {
                desk.log(Level::Info, &format!("{name}: cancelled"));
                let mut store = desk.store();
                store.end_job(job.id, state, None, None)
            }
            (_, Some(why)) => {
                desk.log(Level::Warning, &format!("{name}: {why}"));
                let mut store = desk.store();
                store.end_job(job.id, state, None, Some(why))
            }
            // Written with what it brought.
            (_, None) => Ok(()),
        };
        if let Err(why) = written {
            tracing::error!("{name}: {why}");
        }
        desk.ended(job.id);
        if matches!(desk.line(), Line::Down(_)) {
            self.pause();
        }
    }

    /// Waits before a lost way is opened again, each time longer.
    fn pause(&mut self) {
        let pause = self.pauses.next().unwrap_or(PAUSES[PAUSES.len() - 1]);
        self.desk.rest(Duration::from_secs(pause));
    }

    /// Whether the way was lost under a job as often as may be.
    fn is_hopeless(&mut self, job: JobId) -> bool {
        let before = match self.losses {
            (of, losses) if of == job => losses,
            _ => 0,
        };
        self.losses = (job, before + 1);
        before + 1 >= LOSSES
    }

    /// The way to the base station is lost.
    fn lose(&mut self, why: &FieldError) {
        self.field = None;
        // The next field's time begins anew.
        self.broken = Some(FieldTime::ZERO);
        self.desk.line_is(Line::Down(why.to_string()));
    }

    /// The way to the base station, opened where it is not. What it told before is of orders that were given before.
    fn field(&mut self) -> Result<&mut N::Field, Stop> {
        let mut field = match self.field.take() {
            Some(field) => field,
            None => self.network.open().map_err(Stop::Lost)?,
        };
        for _ in 0..STALE {
            let now = field.now();
            match field.next(now).map_err(Stop::Lost)? {
                News::Nothing => break,
                News::Silent(by) => return Err(lost(&Failure::Silent(by))),
                News::Restarted(by) => {
                    let line = format!("the base station, node {by}, started anew");
                    self.desk.log(Level::Warning, &line);
                }
                News::Told(..) | News::Cancelled => {}
            }
        }
        self.pauses = PAUSES.into_iter();
        self.desk.line_is(Line::Up);
        Ok(self.field.insert(field))
    }

    /// Measures all links, which is `share` of the job.
    fn survey(&mut self, job: &StoredJob, name: &str, share: f64) -> Result<(), Stop> {
        let desk = self.desk.clone();
        let facts = &desk.facts;
        let channels: ChannelSet = match &facts.channels {
            Some(list) => list.iter().copied().collect(),
            None => facts.place.channels,
        };
        let survey = desk.transfers.protocol.survey(channels);
        let (ids, spots) = (&facts.place.ids, facts.spots.clone());
        let make = || SurveyJob::new(survey, ids, spots.clone(), &facts.timing, facts.sink);
        let before = desk.surveyed();
        let missed = before.as_ref().map_or(&[][..], |before| &before.missing);
        desk.begins((0.0, share));
        let broken = self.broken;
        let field = self.field()?;
        let mut watched = Watched {
            field,
            stop: &|| desk.is_unwanted(),
        };
        let mut watch = |progress| {
            desk.progress(progress);
            Continue(())
        };
        let surveyed = recovery::survey(&mut watched, broken, missed, make, &mut watch)?;
        self.broken = None;
        let took_s = surveyed.time().as_secs_f64();
        let missing = surveyed.missing;
        let known = known(facts, surveyed.links);
        let links = known.links().summary(known.routing_channel()).heard_pairs;
        let line = format!(
            "{name}: {links} links measured in {took_s:.1} s, {} tables missing",
            missing.len()
        );
        desk.keep_survey(took_s, &missing, known.links())?;
        {
            let mut store = desk.store();
            if job.work == Work::Survey {
                let measured = Measured {
                    duration_s: took_s,
                    links,
                    missing: missing.iter().map(|node| node.get()).collect(),
                };
                let outcome = serde_json::to_string(&measured).unwrap_or_default();
                store.end_job(job.id, JobState::Done, Some(&outcome), None)?;
            }
        }
        desk.log(Level::Info, &line);
        desk.knows(Surveyed {
            known,
            at: now(),
            took_s,
            missing,
        });
        Ok(())
    }

    /// Whether links are known that are not too old.
    fn is_known(&self) -> bool {
        let most = self.desk.transfers.resurvey_after_h * 3_600.0;
        let surveyed = self.desk.surveyed();
        surveyed.is_some_and(|surveyed| ((now() - surveyed.at) as f64) <= most)
    }

    /// Brings the object of node `from`.
    fn fetch(&mut self, job: &StoredJob, name: &str, from: NodeId) -> Result<(), Stop> {
        let desk = self.desk.clone();
        let mut base = 0.0;
        if !self.is_known() {
            desk.log(
                Level::Info,
                &format!("{name}: the links are measured first"),
            );
            self.survey(job, name, SURVEYING)?;
            base = SURVEYING;
        }
        let Some(surveyed) = desk.surveyed() else {
            return Err(Stop::Failed("the links are not known".to_owned()));
        };
        desk.begins((base, 1.0));
        let (known, protocol) = (&surveyed.known, desk.transfers.protocol);
        let before = desk.store().latest_of(desk.network(), from, 1)?;
        let ask = Ask {
            from: Some(from),
            bytes: before
                .first()
                .map_or(desk.facts.usual_bytes, |t| t.record.bytes.max(1)),
            protocol,
            payload: PayloadSize::MAX,
            paths: None,
            hops: None,
        };
        let again = Ask {
            protocol: Pipelined::P3,
            ..ask
        };
        let first = Arc::new(known.plan(&ask)?);
        self.expect(job, &first, &ask)?;
        let attempt = |plan: &Arc<Plan>, tried: u32| {
            let ask = if tried > 0 { &again } else { &ask };
            if tried > 0 {
                let line = format!("{name}: broke off; another plan is tried");
                desk.log(Level::Warning, &line);
            }
            self.carry(plan, ask)
        };
        let next = |_: &Arc<Plan>, tried: u32| {
            let plan = known.plan_attempt(&again, u64::from(tried)).ok();
            plan.filter(|_| protocol.has_paths()).map(Arc::new)
        };
        let (mut outcome, object, _) = over_plans(RETRY, SETTLING, first, attempt, next)?;
        outcome.core.protocol = protocol.name.to_owned();
        let core = &outcome.core;
        let report = serde_json::to_string(&outcome).unwrap_or_default();
        let new = NewTransfer {
            record: core,
            baseline: None,
            report: &report,
            campaign: None,
            job: Some(job.id),
            file: None,
        };
        let Some(object) = object else {
            desk.store().note(&new)?;
            let why = core.failure.clone();
            let why = why.unwrap_or_else(|| "the object is not whole".to_owned());
            return Err(Stop::Failed(why));
        };
        // With its job's end, or neither.
        desk.keep(&new, &object)?;
        let line = format!(
            "{name}: {} bytes at {:.0} kbit/s over {} hops in {:.1} s",
            core.bytes, core.goodput_kbps, core.hops, core.duration_s
        );
        desk.log(Level::Info, &line);
        Ok(())
    }

    /// Writes down what is expected of `plan`.
    fn expect(&self, job: &StoredJob, plan: &Plan, ask: &Ask) -> Result<(), Stop> {
        let (prediction, paths) = match ask.protocol.has_paths() {
            true => (&plan.prediction, plan.path_count()),
            false => (&plan.pip.prediction, 1),
        };
        let expected = Expected {
            time_s: prediction.time_s,
            goodput_kbps: prediction.goodput_kbps,
            rounds: prediction.rounds,
            hops: plan.hops,
            paths,
        };
        let expected = serde_json::to_string(&expected).unwrap_or_default();
        self.desk.store().expect_of_job(job.id, &expected)?;
        Ok(())
    }

    /// One transfer over `plan`.
    fn carry(&mut self, plan: &Arc<Plan>, ask: &Ask) -> Result<Brought, Stop> {
        let desk = self.desk.clone();
        let (ids, scheme) = (&desk.facts.place.ids, ask.protocol.scheme);
        let faithful = Terms {
            payload: ask.payload,
            ..Terms::default()
        };
        let terms = ask.protocol.terms(faithful);
        let way = Way::of(plan, scheme, &terms, ids)?;
        let others = plan.others.iter();
        let others = others.filter_map(|plan| Way::of(plan, scheme, &terms, ids).ok());
        let others = others.collect();
        let payload = u64::from(terms.payload.bytes());
        desk.planned(plan, ask.bytes.div_ceil(payload) as u32);
        let first = self.transfers.wrapping_add(1);
        let mut fetch = Fetch::new(way, others, first, ids, &terms);
        let broken = self.broken;
        let field = self.field()?;
        let mut watched = Watched {
            field,
            stop: &|| desk.is_unwanted(),
        };
        if let Some(since) = broken {
            recovery::settle(&mut watched, since)?;
        }
        let fetched = run(&mut watched, &mut fetch, &mut |progress| {
            desk.progress(progress);
            Continue(())
        });
        let ended = watched.now();
        self.transfers = self.transfers.wrapping_add(fetch.attempts() as u16);
        let is_whole = matches!(&fetched, Ok(fetched) if fetched.object.is_some());
        let settled = is_whole && settling(scheme).is_zero();
        self.broken = (!settled).then_some(ended);
        match fetched {
            Ok(mut fetched) => {
                let object = fetched.object.take();
                let core = self.core(&fetched, object.as_deref(), plan, (ask.protocol, &terms));
                Ok((Outcome { core, extra: () }, object))
            }
            // As good as broken off.
            Err(why @ (Failure::Refused(_) | Failure::NoEnd(_))) => {
                let mut core = self.nothing(plan, ask.protocol);
                core.failure = Some(why.to_string());
                Ok((Outcome { core, extra: () }, None))
            }
            Err(why) => Err(why.into()),
        }
    }

    fn core(
        &self,
        fetched: &Fetched,
        object: Option<&[u8]>,
        plan: &Plan,
        (protocol, terms): (Pipelined, &Terms),
    ) -> Core {
        let bytes = object.map_or(0, |object| object.len() as u64);
        let goodput = BitRate::of_bytes(bytes, fetched.duration);
        let rate = terms.cycle(&self.desk.facts.timing).effective_rate();
        let complete = fetched.complete;
        let packets = complete.map(|complete| f64::from(complete.packets.max(1)));
        let first = fetched.first_round.map(f64::from);
        Core {
            bytes,
            verified: object.is_some(),
            goodput_kbps: goodput.kbps(),
            utilisation: Some(goodput.bps() / rate.bps()),
            rounds: complete.map_or(fetched.round, |complete| u32::from(complete.rounds)),
            first_round_reliability: first.zip(packets).map(|(first, of)| first / of),
            active_nodes: fetched.active,
            energy_j: fetched.joules,
            network_energy_j: fetched.network_joules,
            waited_s: fetched.waited.as_secs_f64(),
            duration_s: fetched.duration.as_secs_f64(),
            attempts: fetched.attempts,
            failure: fetched.failure.clone(),
            ..self.nothing(plan, protocol)
        }
    }

    /// A transfer of which nothing came.
    fn nothing(&self, plan: &Plan, protocol: Pipelined) -> Core {
        let facts = &self.desk.facts;
        let id = |index: usize| facts.place.ids.get(index).copied();
        Core {
            protocol: protocol.name.to_owned(),
            testbed: facts.place.name.clone(),
            source: id(plan.source).unwrap_or(facts.sink),
            sink: facts.sink,
            bytes: 0,
            verified: false,
            goodput_kbps: 0.0,
            utilisation: None,
            rounds: 0,
            first_round_reliability: None,
            active_nodes: 0,
            hops: plan.hops as u32,
            paths: match protocol.has_paths() {
                true => plan.path_count() as u32,
                false => 1,
            },
            energy_j: None,
            network_energy_j: None,
            cold: None,
            waited_s: 0.0,
            duration_s: 0.0,
            attempts: 1,
            failure: None,
            seed: facts.draw.1,
        }
    }
}
