//! The thread of a base station: one job after the other, from the queue to the store.
//!
//! Invariants: an object is stored before its job is done; a job that the daemon's end interrupts is queued
//! again; a lost line is opened again, with a pause that grows. Time base: the network's.

mod fetch;
mod observations;
mod plan;
mod session;
mod stop;
mod survey;
mod watched;
mod waves;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::good_links::{GoodLinks, SURVEYS};
use super::shared::Counts;
use super::snapshot::LinkSnapshot;
use super::station_state::{now, JobEnd, Line, NextJob, StationState};
use stop::{lost, Stop};
use thalweg_host::collector::{Collector, LineLoss};
use thalweg_host::connector::{Connector, Sessions, Spending};
use thalweg_host::job::Failure;
use thalweg_host::link_state::MAX_SURVEYS;
use thalweg_host::network::{Network, NetworkFault, NetworkTime, Notice};
use thalweg_host::recovery;
use thalweg_host::store::{
    day_of, JobId, JobState, Level, StoreError, StoredJob, Work, KEPT_SURVEYS,
};
use thalweg_host::text::count;
use thalweg_host::transfer::session::SessionRequest;
use thalweg_units::{Duration as Span, NodeId};

/// How often to look at the queue when nothing wakes the thread.
const QUEUE_PERIOD: Duration = Duration::from_secs(1);
/// The pauses before a lost line is opened again, in seconds.
const PAUSES: [u64; 6] = [1, 2, 4, 8, 15, 30];
/// The most notices from before a job that are dropped.
const STALE: usize = 10_000;
/// A job that loses the line this often fails.
const LOSSES: u32 = 4;
/// A session that kept the line this long has its losses reset: it may last for months.
const LASTED: Duration = Duration::from_secs(60);

/// Runs the jobs of the station behind `connector` until it is to stop. `broken` as [`resume`] returns it.
pub(super) fn serve<N: Connector>(
    connector: N,
    station: Arc<StationState>,
    broken: Option<NetworkTime>,
) {
    let first = recovery::first_transfer();
    let mut collector = Collector::new(station.facts.network.clone(), first, LineLoss::Ends);
    if let Some(at) = broken {
        collector.note_broken_transfer(at);
    }
    let mut runner = Runner {
        connector,
        network: None,
        collector,
        pauses: PAUSES.into_iter(),
        losses: (JobId(0), 0),
        refreshed: None,
        waves: None,
        station,
    };
    while !runner.station.is_stopping() {
        // Jobs stay in the queue while the line is down.
        match runner.network().map(drop) {
            Err(Stop::Lost(why)) => {
                runner.disconnect(&why);
                runner.pause();
                continue;
            }
            Err(Stop::Failed(why)) => tracing::error!("{why}"),
            Ok(()) | Err(Stop::Interrupted | Stop::Blocked(_) | Stop::Full(_)) => {}
        }
        runner.station.write_ends();
        runner.station.delete_old();
        let next = match runner.wave() {
            Ok(true) => continue,
            Ok(false) => runner.station.next_job(),
            Err(why) => Err(why),
        };
        match next {
            Ok(NextJob::Stop) => return,
            Ok(NextJob::Idle) => {
                if runner.station.transfers.survey_when_idle {
                    runner.refresh("nothing is asked");
                }
                runner.station.wait(QUEUE_PERIOD);
            }
            Ok(NextJob::Starved) => {
                // Only a survey shows whether those batteries have recovered.
                runner.refresh("jobs wait for batteries");
                runner.station.wait(QUEUE_PERIOD);
            }
            Ok(NextJob::Later) => runner.station.wait(QUEUE_PERIOD),
            Ok(NextJob::Job(job)) => runner.work(&job),
            Err(why) => {
                runner.station.note_store_fault(&why);
                runner.station.wait(QUEUE_PERIOD);
            }
        }
    }
}

/// Restores links, batteries and jobs from the store when the daemon starts. Where a job was under way, returns time
/// zero: its relays may still wait for packets when the network is opened.
///
/// # Errors
/// [`StoreError`].
pub(super) fn resume(station: &StationState) -> Result<Option<NetworkTime>, StoreError> {
    session::close_leftovers(station);
    let facts = &station.facts;
    let network = (station.network(), facts.network.sink);
    let reports = station.store().batteries(network, KEPT_SURVEYS)?;
    for (at, batteries) in reports.iter().rev() {
        station.note_batteries(batteries, *at);
    }
    let nodes = facts.network.place.ids.len();
    // One by one: of a large site each takes megabytes.
    let ids = station.store().survey_ids(network, SURVEYS)?;
    for id in ids.into_iter().rev() {
        let survey = station.store().survey(id, nodes)?;
        if let Some(survey) = survey {
            station.note_good_links(GoodLinks::of(&survey.links, survey.measured_at));
        }
    }
    let most = MAX_SURVEYS as u32;
    let found = (station.store()).surveys(network, nodes, most)?;
    let mut earlier = found.into_iter();
    if let Some(found) = earlier.next() {
        let earlier = earlier.collect();
        let mut links = found.links;
        if let Some(spots) = &facts.network.positions {
            // One for each node.
            let _ = links.set_places(spots.clone());
        }
        let mut link_state = survey::link_state(facts, (links, found.measured_at), earlier);
        link_state.observe(&observations::stored(station)?);
        station.set_links(LinkSnapshot {
            link_state,
            at: found.measured_at,
            took_s: found.took_s,
            missing: found.missing,
            batteries: found.batteries,
            restarts: Vec::new(),
        });
    }
    let resumed = station.store().resume_jobs(station.network())?;
    let broken = (!resumed.is_empty()).then_some(NetworkTime::ZERO);
    for id in resumed {
        let line = format!(
            "job {}: begins again, since the daemon ended before it",
            id.0
        );
        station.log(Level::Info, &line);
    }
    Ok(broken)
}

/// What each node of `network` has spent since it was opened, in joules; nodes without meters are left out.
fn read_meters<F: Network>(network: &mut F, station: &StationState) -> Vec<(NodeId, f64)> {
    let ids = station.facts.network.place.ids.iter();
    ids.filter_map(|id| Some((*id, network.joules(*id)?)))
        .collect()
}

/// Stores under today what nodes have spent: in joules as `metered` says or, without meters, the most that those who
/// took part can have spent.
fn write_spent(
    station: &StationState,
    metered: Vec<(NodeId, f64)>,
    (on, lasted): (&[NodeId], Span),
) {
    let spent = match station.facts.spending {
        Spending::Metered => metered,
        Spending::AtMost { watts } => {
            let most = watts * lasted.as_secs_f64();
            on.iter().map(|node| (*node, most)).collect()
        }
    };
    if spent.is_empty() {
        return;
    }
    let written = (station.store()).add_spent(station.network(), day_of(now()), &spent);
    if let Err(why) = written {
        tracing::error!("{why}");
    }
}

/// Stores what nodes have spent between two readings of their meters or, without meters, the most that those of `on`
/// can have spent. Where the line was lost meanwhile there is no second reading.
fn account(station: &StationState, [before, after]: [&[(NodeId, f64)]; 2], on: (&[NodeId], Span)) {
    let spent = after.iter().filter_map(|(node, after)| {
        let (_, before) = before.iter().find(|(of, _)| of == node)?;
        Some((*node, after - before)).filter(|(_, joules)| *joules > 0.0)
    });
    write_spent(station, spent.collect(), on);
}

/// What the log calls `job`: its number, and what is done.
fn name(station: &StationState, job: &StoredJob) -> String {
    let named = |node: &NodeId| station.facts.network.place.named(*node);
    let task = match &job.work {
        Work::Survey => "survey".to_owned(),
        Work::Fetch { from } => format!("object of node {}", named(from)),
        Work::Plan { from } => format!("plan for node {}", named(from)),
        Work::Session(request) => {
            format!("session of {}", count(request.sources.len(), "node"))
        }
    };
    format!("job {}: {task}", job.id.0)
}

struct Runner<N: Connector> {
    connector: N,
    network: Option<N::Network>,
    collector: Collector,
    pauses: std::array::IntoIter<u64, 6>,
    /// A job, and how often it lost the line or found the disk full.
    losses: (JobId, u32),
    /// When links were last measured because the station was idle.
    refreshed: Option<Instant>,
    /// How fetches go at once, over the present links.
    waves: Option<waves::Waves>,
    station: Arc<StationState>,
}

impl<N: Connector> Runner<N> {
    /// Runs `job`, and stores how it ended.
    fn work(&mut self, job: &StoredJob) {
        let name = name(&self.station, job);
        let begun = Instant::now();
        let ended = match &job.work {
            Work::Survey => self.survey(job, &name, 1.0),
            Work::Fetch { from } => self.fetch(job, &name, *from),
            Work::Plan { from } => self.plan(job, &name, *from),
            Work::Session(request) => self.session(job, &name, request),
        };
        let station = self.station.clone();
        let (state, why) = match ended {
            Ok(()) => (JobState::Done, None),
            Err(Stop::Failed(why)) => (JobState::Failed, Some(why)),
            Err(Stop::Full(why)) => self.without_room(job, &why),
            Err(Stop::Interrupted) => (station.interrupted_state(job.id), None),
            Err(Stop::Blocked(wait)) => {
                if wait.is_news() {
                    station.log(Level::Info, &format!("{name}: {wait}"));
                }
                (station.interrupted_state(job.id), None)
            }
            Err(Stop::Lost(why)) => {
                self.disconnect(&why);
                if matches!(job.work, Work::Session(_)) && begun.elapsed() >= LASTED {
                    self.losses = (job.id, 0);
                }
                match (station.interrupted_state(job.id), self.is_hopeless(job.id)) {
                    (JobState::Cancelled, _) => (JobState::Cancelled, None),
                    (_, true) => (JobState::Failed, Some(why.to_string())),
                    (_, false) => (JobState::Queued, None),
                }
            }
        };
        match (state, &why) {
            (JobState::Cancelled, _) => station.log(Level::Info, &format!("{name}: cancelled")),
            (_, Some(why)) => {
                Counts::add(&station.counts().failures, 1);
                station.log(Level::Warning, &format!("{name}: {why}"));
            }
            (_, None) => {}
        }
        // What is done is stored with its result.
        if state != JobState::Done {
            let id = job.id;
            station.end_job(JobEnd { id, state, why });
        }
        if state.is_end() {
            station.leave_links(job.id);
        }
        station.finish_job(job.id);
        station.delete_beyond();
        if matches!(station.line(), Line::Down(_)) {
            self.pause();
        }
    }

    /// What each node has spent so far by its meter, in joules.
    fn spent(&mut self) -> Vec<(NodeId, f64)> {
        let Some(network) = &mut self.network else {
            return Vec::new();
        };
        read_meters(network, &self.station)
    }

    /// Plans a fetch of the object of node `from`.
    fn plan(&mut self, job: &StoredJob, name: &str, from: NodeId) -> Result<(), Stop> {
        let (snapshot, _) = self.links_for(job, name)?;
        plan::run(&self.station, (job, name), from, &snapshot)
    }

    /// Runs a session: a stream from each of many nodes.
    fn session(
        &mut self,
        job: &StoredJob,
        name: &str,
        request: &SessionRequest,
    ) -> Result<(), Stop> {
        if let Sessions::Lacking(why) = self.station.facts.sessions {
            return Err(Stop::Failed(why.to_owned()));
        }
        let station = self.station.clone();
        self.network()?;
        let Some(network) = &mut self.network else {
            let why = "there is no way to the base station";
            return Err(Stop::Failed(why.to_owned()));
        };
        let number = session::number(&station)?;
        let tree = (self.connector).session(network, request, number)?;
        session::run(&station, (job, name), request, (tree, number))
    }

    /// Waits before a lost line is opened again, each time longer. A new job ends the wait, and does not lengthen the
    /// next.
    fn pause(&mut self) {
        let mut later = self.pauses.clone();
        let pause = later.next().unwrap_or(PAUSES[PAUSES.len() - 1]);
        let pause = Duration::from_secs(pause);
        let begun = Instant::now();
        self.station.wait(pause);
        if begun.elapsed() >= pause {
            self.pauses = later;
        }
    }

    /// How `job` ends that found no room for what it brought.
    fn without_room(&mut self, job: &StoredJob, why: &StoreError) -> (JobState, Option<String>) {
        self.station.note_store_fault(why);
        // What a session brought is not sent again. A disk that has room for the queue alone is no reason to fetch for ever.
        match matches!(job.work, Work::Session(_)) || self.is_hopeless(job.id) {
            true => (JobState::Failed, Some(why.to_string())),
            false => (self.station.interrupted_state(job.id), None),
        }
    }

    /// Counts a loss of the line or a full disk under `job`, and says whether it was one too many.
    fn is_hopeless(&mut self, job: JobId) -> bool {
        let before = match self.losses {
            (of, losses) if of == job => losses,
            _ => 0,
        };
        self.losses = (job, before + 1);
        before + 1 >= LOSSES
    }

    /// The line to the base station is lost.
    fn disconnect(&mut self, why: &NetworkFault) {
        self.network = None;
        Counts::add(&self.station.counts().lines_lost, 1);
        // The next network's time begins at zero.
        self.collector.note_broken_transfer(NetworkTime::ZERO);
        self.station.set_line(Line::Down(why.to_string()));
    }

    /// The open network, as [`Self::network`], and the collector.
    fn connection(&mut self) -> Result<(&mut N::Network, &mut Collector), Stop> {
        self.network()?;
        match &mut self.network {
            Some(network) => Ok((network, &mut self.collector)),
            None => Err(Stop::Failed(
                "there is no way to the base station".to_owned(),
            )),
        }
    }

    /// The network, opened where it is not. Notices that wait are of earlier orders, and are dropped.
    fn network(&mut self) -> Result<&mut N::Network, Stop> {
        let mut network = match self.network.take() {
            Some(network) => network,
            None => self.connector.open().map_err(Stop::Lost)?,
        };
        for _ in 0..STALE {
            let now = network.now();
            match network.next(now).map_err(Stop::Lost)? {
                Notice::Nothing => break,
                Notice::Silent(by) => return Err(lost(&Failure::Silent(by))),
                Notice::Restarted(by) => {
                    let line = format!("the base station, node {by}, restarted");
                    self.station.log(Level::Warning, &line);
                }
                Notice::Event(..) | Notice::Cancelled => {}
            }
        }
        self.pauses = PAUSES.into_iter();
        self.station.set_line(Line::Up);
        Ok(self.network.insert(network))
    }
}
