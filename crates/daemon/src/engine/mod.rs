//! The thread of a base station: one job after the other, from the queue to the store.
//!
//! Invariants: an object is stored before its job is done; a job that the daemon's end interrupts is queued
//! again; a way that is lost is opened anew, with a pause that grows. Time base: the field's.

mod fetch;
mod plan;
mod seen;
mod session;
mod stop;
mod survey;
mod watched;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::desk::{now, Desk, Line, Surveyed, Turn};
use stop::{lost, Stop};
use thalweg_host::collector::{Collector, LineLoss};
use thalweg_host::connector::{Connector, Sessions, Spending};
use thalweg_host::job::Failure;
use thalweg_host::link_state::MOST_SURVEYS;
use thalweg_host::network::{Network, NetworkFault, NetworkTime, Notice};
use thalweg_host::recovery;
use thalweg_host::store::{
    day_of, JobId, JobState, Level, StoreError, StoredJob, Work, KEPT_SURVEYS,
};
use thalweg_host::transfer::session::SessionRequest;
use thalweg_units::{Duration as Span, NodeId};

/// From one look at the queue to the next, where nobody says that there is something.
const LOOK: Duration = Duration::from_secs(1);
/// The pauses before a lost way is opened again.
const PAUSES: [u64; 6] = [1, 2, 4, 8, 15, 30];
/// So much that was told before a job is left aside.
const STALE: usize = 10_000;
/// A job under which the way is lost so often fails.
const LOSSES: u32 = 4;
/// A session that had the way for so long has its losses counted anew: it may last for months.
const LASTED: Duration = Duration::from_secs(60);
/// Runs the jobs of `network` until the desk says stop. `broken` as [`remember`] gives it.
pub(super) fn serve<N: Connector>(network: N, desk: Arc<Desk>, broken: Option<NetworkTime>) {
    let first = recovery::first_transfer();
    let mut collector = Collector::new(desk.facts.network.clone(), first, LineLoss::Ends);
    if let Some(at) = broken {
        collector.broke_off(at);
    }
    let mut station = Station {
        network,
        field: None,
        collector,
        pauses: PAUSES.into_iter(),
        losses: (JobId(0), 0),
        refreshed: None,
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
            Ok(()) | Err(Stop::Unwanted | Stop::Held(_)) => {}
        }
        let turn = station.desk.turn();
        match turn {
            Ok(Turn::Stop) => return,
            Ok(Turn::Idle) => {
                if station.desk.transfers.survey_when_idle {
                    station.refresh("nothing is asked");
                }
                station.desk.rest(LOOK);
            }
            Ok(Turn::Starved) => {
                // Nobody else would ask what those batteries have by now.
                station.refresh("jobs wait for batteries");
                station.desk.rest(LOOK);
            }
            Ok(Turn::Later) => station.desk.rest(LOOK),
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
pub(super) fn remember(desk: &Desk) -> Result<Option<NetworkTime>, StoreError> {
    session::close_left(desk);
    let facts = &desk.facts;
    let network = (desk.network(), facts.network.sink);
    let told = desk.store().batteries(network, KEPT_SURVEYS)?;
    for (at, batteries) in told.iter().rev() {
        desk.note_batteries(batteries, *at);
    }
    let most = MOST_SURVEYS as u32;
    let found = (desk.store()).surveys(network, facts.network.place.ids.len(), most)?;
    let mut earlier = found.into_iter();
    if let Some(found) = earlier.next() {
        let earlier = earlier.collect();
        let mut links = found.links;
        if let Some(spots) = &facts.network.positions {
            // One for each node.
            let _ = links.set_places(spots.clone());
        }
        let mut known = survey::known(facts, (links, found.measured_at), earlier);
        known.saw(&seen::kept(desk)?);
        desk.knows(Surveyed {
            known,
            at: found.measured_at,
            took_s: found.took_s,
            missing: found.missing,
            batteries: found.batteries,
        });
    }
    let resumed = desk.store().resume_jobs(desk.network())?;
    let broken = (!resumed.is_empty()).then_some(NetworkTime::ZERO);
    for id in resumed {
        let line = format!(
            "job {}: begins again, since the daemon ended before it",
            id.0
        );
        desk.log(Level::Info, &line);
    }
    Ok(broken)
}

/// What each node of `field` has spent since that was opened, in joules; of those that tell.
fn read_meters<F: Network>(field: &mut F, desk: &Desk) -> Vec<(NodeId, f64)> {
    let ids = desk.facts.network.place.ids.iter();
    ids.filter_map(|id| Some((*id, field.joules(*id)?)))
        .collect()
}

/// Writes down what nodes have spent, on the day that it is: in joules as `metered` says or, where nobody reads meters,
/// what those that took part can have spent at most.
fn write_spent(desk: &Desk, metered: Vec<(NodeId, f64)>, (on, lasted): (&[NodeId], Span)) {
    let spent = match desk.facts.spending {
        Spending::Metered => metered,
        Spending::AtMost { watts } => {
            let most = watts * lasted.as_secs_f64();
            on.iter().map(|node| (*node, most)).collect()
        }
    };
    if spent.is_empty() {
        return;
    }
    let written = (desk.store()).add_spent(desk.network(), day_of(now()), &spent);
    if let Err(why) = written {
        tracing::error!("{why}");
    }
}

/// Writes down what nodes have spent between two readings of their meters or, without meters, what those of `on` spend at
/// most. Of a way that was lost meanwhile no meter is read.
fn account(desk: &Desk, [before, after]: [&[(NodeId, f64)]; 2], on: (&[NodeId], Span)) {
    let spent = after.iter().filter_map(|(node, after)| {
        let (_, before) = before.iter().find(|(of, _)| of == node)?;
        Some((*node, after - before)).filter(|(_, joules)| *joules > 0.0)
    });
    write_spent(desk, spent.collect(), on);
}

struct Station<N: Connector> {
    network: N,
    field: Option<N::Network>,
    collector: Collector,
    pauses: std::array::IntoIter<u64, 6>,
    /// A job, and how often the way was lost under it.
    losses: (JobId, u32),
    /// When links were last measured anew because nothing else was asked.
    refreshed: Option<Instant>,
    desk: Arc<Desk>,
}

impl<N: Connector> Station<N> {
    /// Runs `job`, and writes down how it ended.
    fn work(&mut self, job: &StoredJob) {
        let name = match &job.work {
            Work::Survey => format!("job {}: survey", job.id.0),
            Work::Fetch { from } => format!("job {}: object of node {from}", job.id.0),
            Work::Plan { from } => format!("job {}: plan for node {from}", job.id.0),
            Work::Session(wish) => {
                format!("job {}: session of {} nodes", job.id.0, wish.sources.len())
            }
        };
        let begun = Instant::now();
        let ended = match &job.work {
            Work::Survey => self.survey(job, &name, 1.0),
            Work::Fetch { from } => self.fetch(job, &name, *from),
            Work::Plan { from } => self.plan(job, &name, *from),
            Work::Session(wish) => self.session(job, &name, wish),
        };
        let desk = self.desk.clone();
        let (state, why) = match ended {
            Ok(()) => (JobState::Done, None),
            Err(Stop::Failed(why)) => (JobState::Failed, Some(why)),
            Err(Stop::Unwanted) => (desk.unwanted_as(), None),
            Err(Stop::Held(wait)) => {
                desk.log(Level::Info, &format!("{name}: {wait}"));
                (desk.unwanted_as(), None)
            }
            Err(Stop::Lost(why)) => {
                self.lose(&why);
                if matches!(job.work, Work::Session(_)) && begun.elapsed() >= LASTED {
                    self.losses = (job.id, 0);
                }
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

    /// What each node has spent so far by its meter, in joules; of those that tell.
    fn spent(&mut self) -> Vec<(NodeId, f64)> {
        let Some(field) = &mut self.field else {
            return Vec::new();
        };
        read_meters(field, &self.desk)
    }

    /// Plans how the object of node `from` would come.
    fn plan(&mut self, job: &StoredJob, name: &str, from: NodeId) -> Result<(), Stop> {
        let (surveyed, _) = self.surveyed(job, name)?;
        plan::run(&self.desk, (job, name), from, &surveyed)
    }

    /// Takes what many nodes have to tell.
    fn session(&mut self, job: &StoredJob, name: &str, wish: &SessionRequest) -> Result<(), Stop> {
        if let Sessions::Lacking(why) = self.desk.facts.sessions {
            return Err(Stop::Failed(why.to_owned()));
        }
        let desk = self.desk.clone();
        self.field()?;
        let Some(field) = &mut self.field else {
            let why = "there is no way to the base station";
            return Err(Stop::Failed(why.to_owned()));
        };
        let tree = self.network.session(field, wish)?;
        session::run(&desk, (job, name), wish, tree)
    }

    /// Waits before a lost way is opened again, each time longer. Whoever asks for something has it tried at once, which makes no
    /// pause longer.
    fn pause(&mut self) {
        let mut later = self.pauses.clone();
        let pause = later.next().unwrap_or(PAUSES[PAUSES.len() - 1]);
        let pause = Duration::from_secs(pause);
        let begun = Instant::now();
        self.desk.rest(pause);
        if begun.elapsed() >= pause {
            self.pauses = later;
        }
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
    fn lose(&mut self, why: &NetworkFault) {
        self.field = None;
        // The next field's time begins anew.
        self.collector.broke_off(NetworkTime::ZERO);
        self.desk.line_is(Line::Down(why.to_string()));
    }

    /// The way to the base station, as [`Self::field`], and who collects over it.
    fn way(&mut self) -> Result<(&mut N::Network, &mut Collector), Stop> {
        self.field()?;
        match &mut self.field {
            Some(field) => Ok((field, &mut self.collector)),
            None => Err(Stop::Failed(
                "there is no way to the base station".to_owned(),
            )),
        }
    }

    /// The way to the base station, opened where it is not. What it told before is of orders that were given before.
    fn field(&mut self) -> Result<&mut N::Network, Stop> {
        let mut field = match self.field.take() {
            Some(field) => field,
            None => self.network.open().map_err(Stop::Lost)?,
        };
        for _ in 0..STALE {
            let now = field.now();
            match field.next(now).map_err(Stop::Lost)? {
                Notice::Nothing => break,
                Notice::Silent(by) => return Err(lost(&Failure::Silent(by))),
                Notice::Restarted(by) => {
                    let line = format!("the base station, node {by}, started anew");
                    self.desk.log(Level::Warning, &line);
                }
                Notice::Told(..) | Notice::Cancelled => {}
            }
        }
        self.pauses = PAUSES.into_iter();
        self.desk.line_is(Line::Up);
        Ok(self.field.insert(field))
    }
}
