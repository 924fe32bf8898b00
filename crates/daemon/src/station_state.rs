//! The state that a station's job thread and the threads that answer requests share: what all stations have in common
//! ([`Shared`]), and what is under way at this station.
//!
//! Invariants: what is under way is in memory only, its beginning and end are rows. No thread holds both locks. Time base: wall clock.

mod cancel;
mod link_waits;
mod waves;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use thalweg_planner::Plan;
use thalweg_units::{BatteryLevel, NodeId};

pub(super) use super::clock::now;
use super::concurrency::Entry;
use super::config::{Limits, Transfers};
use super::good_links::{GoodLinks, SURVEYS};
use super::limits::{Blocked, Condition, Eligibility, Health};
use super::mqtt::MqttState;
use super::running::Running;
use super::shared::{Counts, Shared};
use super::snapshot::LinkSnapshot;
use super::view;
pub(super) use link_waits::Attempt;
use link_waits::LinkWait;
use thalweg_host::connector::Facts;
use thalweg_host::job::Progress;
use thalweg_host::store::{
    day_of, JobId, JobState, Level, Message, NewJob, Retention, Store, StoreError, StoredJob, Work,
};
use thalweg_host::transfer::session::SourceStatus;

/// The shortest time between two reports of progress.
const PROGRESS_PERIOD: Duration = Duration::from_millis(200);

/// The state of the line to the base station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    /// Not opened yet.
    Closed,
    /// Open.
    Up,
    /// Broken, for this reason.
    Down(String),
}

/// What is under way.
#[derive(Debug)]
struct Live {
    /// Several where fetches go in a wave.
    running: Vec<Running>,
    snapshot: Option<Arc<LinkSnapshot>>,
    line: Line,
    stopping: bool,
    /// The last report of each node's battery, and when it came.
    batteries: BTreeMap<NodeId, (BatteryLevel, i64)>,
    /// Jobs that found no route without these nodes.
    cut_off: BTreeMap<JobId, BTreeSet<NodeId>>,
    /// Jobs that wait for other links.
    waiting: BTreeMap<JobId, LinkWait>,
    /// How often links were measured.
    surveys: u64,
    /// Ends of jobs that the store could not take yet.
    ends: Vec<JobEnd>,
    /// Of the last surveys, the youngest first.
    good_links: VecDeque<Arc<GoodLinks>>,
}

/// The end of a job that brought no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobEnd {
    pub(super) id: JobId,
    /// [`JobState::Queued`] where it is to begin again.
    pub(super) state: JobState,
    /// Why it failed.
    pub(super) why: Option<String>,
}

/// What a job thread is to do next.
pub(super) enum NextJob {
    /// This job; it is marked as running.
    Job(Box<StoredJob>),
    /// Nothing yet.
    Idle,
    /// Nothing yet: queued jobs wait for a battery to recover.
    Starved,
    /// Nothing yet: too many other stations are at work.
    Later,
    /// End.
    Stop,
}

/// The answer to a request to cancel a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cancel {
    /// It was queued, and is cancelled.
    Done,
    /// It runs, and will end soon.
    Requested,
    /// It had ended before.
    TooLate,
    /// There is none of that number.
    Unknown,
}

/// What all threads share of one station.
pub(super) struct StationState {
    pub(super) facts: Facts,
    pub(super) transfers: Transfers,
    /// Whether it is the daemon's only one; then texts do not name it.
    pub(super) is_only: bool,
    building: Option<String>,
    shared: Arc<Shared>,
    live: Mutex<Live>,
    wake: Condvar,
    /// Held while a job is queued and announced, and while one begins, so that its number is announced before its beginning.
    telling: Mutex<()>,
}

impl StationState {
    pub(super) fn new(
        facts: Facts,
        transfers: Transfers,
        (is_only, building): (bool, Option<String>),
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            facts,
            transfers,
            is_only,
            building,
            shared,
            live: Mutex::new(Live {
                running: Vec::new(),
                snapshot: None,
                line: Line::Closed,
                stopping: false,
                batteries: BTreeMap::new(),
                cut_off: BTreeMap::new(),
                waiting: BTreeMap::new(),
                surveys: 0,
                ends: Vec::new(),
                good_links: VecDeque::new(),
            }),
            wake: Condvar::new(),
            telling: Mutex::new(()),
        }
    }

    /// The station's name, which is its network's.
    pub(super) fn network(&self) -> &str {
        &self.facts.network.place.name
    }
    /// The store, locked.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        self.shared.store()
    }
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn telling(&self) -> MutexGuard<'_, ()> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The jobs that run: one, or the fetches of a wave.
    pub(super) fn running(&self) -> Vec<Running> {
        self.live().running.clone()
    }
    /// Job `id`, where it runs.
    pub(super) fn running_job(&self, id: JobId) -> Option<Running> {
        let live = self.live();
        live.running.iter().find(|job| job.id == id).cloned()
    }
    /// The links; none before the first survey.
    pub(super) fn snapshot(&self) -> Option<Arc<LinkSnapshot>> {
        self.live().snapshot.clone()
    }
    /// The state of the line to the base station.
    pub(super) fn line(&self) -> Line {
        self.live().line.clone()
    }

    fn emit(&self, event: &'static str, data: &impl Serialize) {
        self.shared.emit(event, data);
    }
    /// Emits an event with the station's name.
    fn emit_for_station(&self, event: &'static str, mut data: serde_json::Value) {
        data["station"] = self.network().into();
        self.emit(event, &data);
    }
    /// Emits the new state of a job.
    fn emit_job(&self, id: JobId) {
        let job = self.store().job(id).ok().flatten();
        if let Some(mut job) = job {
            self.overlay(std::slice::from_mut(&mut job));
            self.emit_jobs(std::slice::from_ref(&job));
        }
    }
    fn emit_jobs(&self, jobs: &[StoredJob]) {
        let running = self.running();
        let waits = |job: &StoredJob| job.state == JobState::Queued;
        // A store that fails is reported elsewhere.
        let eligibility = (jobs.iter().any(waits))
            .then(|| self.eligibility().ok())
            .flatten();
        for job in jobs {
            let waits = eligibility
                .as_ref()
                .and_then(|eligibility| eligibility.why(job));
            let waits = waits.map(|why| why.to_string());
            self.emit("job", &view::job(job, &running, waits).named(&self.facts));
        }
    }
    /// The broker, where there is one.
    pub(super) fn mqtt(&self) -> Option<&Arc<MqttState>> {
        self.shared.mqtt.as_ref()
    }
    /// Queues `payload`, a JSON object, for the broker under `topic`, where there is a broker. It replaces an older
    /// one.
    pub(super) fn outbox(&self, topic: &str, payload: &impl Serialize) {
        let Some((mqtt, payload)) = self.mqtt().zip(serde_json::to_string(payload).ok()) else {
            return;
        };
        let message = Message {
            topic: mqtt.topics(self.network()).under(topic),
            payload,
            keep: Retention::Newest,
        };
        match self.store().queue_messages(&[message]) {
            Ok(()) => mqtt.wake(),
            Err(why) => tracing::error!("{why}"),
        }
    }
    /// Writes a line into the log and emits it, with the station's name where there are several.
    pub(super) fn log(&self, level: Level, text: &str) {
        match self.is_only {
            true => self.shared.log(level, text),
            false => self
                .shared
                .log(level, &format!("{}: {text}", self.network())),
        }
    }

    /// Puts `jobs` as they are where the store could not take that yet.
    pub(super) fn overlay(&self, jobs: &mut [StoredJob]) {
        let live = self.live();
        for end in &live.ends {
            for job in jobs.iter_mut().filter(|job| job.id == end.id) {
                job.state = end.state;
                job.error.clone_from(&end.why);
            }
        }
    }
    /// What all jobs came to.
    pub(super) fn counts(&self) -> &Counts {
        &self.shared.counts
    }
    /// As [`Shared::delete_old`].
    pub(super) fn delete_old(&self) {
        self.shared.delete_old();
    }
    /// As [`Shared::delete_beyond`].
    pub(super) fn delete_beyond(&self) {
        self.shared.delete_beyond();
    }
    /// The store refused something.
    pub(super) fn note_store_fault(&self, why: &StoreError) {
        self.shared.disk.blame(why);
    }
    /// Ends a job, in memory until the store takes it.
    pub(super) fn end_job(&self, end: JobEnd) {
        self.live().ends.push(end);
        self.write_ends();
    }
    /// Writes the ends that the store could not take so far.
    pub(super) fn write_ends(&self) {
        let ends = self.live().ends.clone();
        for end in ends {
            let written = {
                let mut store = self.store();
                let written = match end.state {
                    JobState::Queued => store.requeue_job(end.id),
                    state => store.end_job(end.id, state, None, end.why.as_deref()),
                };
                self.shared.disk.note(written)
            };
            if written.is_none() {
                return;
            }
            self.live().ends.retain(|of| *of != end);
        }
        if self.shared.disk.is_at_fault() {
            let tried = self.store().try_write();
            self.shared.disk.note_try(tried);
        }
    }

    /// So many jobs may wait: as many as are configured, beside an object of each node.
    fn most_queued(&self) -> u32 {
        let nodes = u32::try_from(self.facts.network.place.ids.len()).unwrap_or(u32::MAX);
        self.transfers.queue.saturating_add(nodes)
    }

    /// Queues jobs; several are a group.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn submit(&self, work: &[Work], priority: i8) -> Result<Vec<StoredJob>, StoreError> {
        let jobs = work.iter().map(|work| NewJob {
            network: self.network(),
            work: work.clone(),
            priority,
        });
        let jobs: Vec<NewJob<'_>> = jobs.collect();
        if let Some(low) = self.shared.disk_state().low() {
            return Err(StoreError::DiskLow(low.to_string()));
        }
        let _told = self.telling();
        let queued = {
            let mut store = self.store();
            let ids = store.submit(&jobs, self.most_queued())?;
            let queued = ids.into_iter().map(|id| store.job(id));
            queued.collect::<Result<Vec<_>, _>>()?
        };
        let queued: Vec<StoredJob> = queued.into_iter().flatten().collect();
        self.emit_jobs(&queued);
        self.wake.notify_all();
        Ok(queued)
    }

    /// Asks the station's thread to end.
    pub(super) fn stop(&self) {
        self.live().stopping = true;
        self.wake.notify_all();
    }
    /// Whether the station's thread is to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.live().stopping
    }
    /// Whether what runs is to end, for good or to be queued again: all of it where it is a wave.
    pub(super) fn is_interrupted(&self) -> bool {
        let live = self.live();
        let is_cancelled = !live.running.is_empty() && live.running.iter().all(|job| job.cancelled);
        live.stopping || is_cancelled
    }
    /// The jobs that run and are to end for good.
    pub(super) fn cancelled(&self) -> Vec<JobId> {
        let live = self.live();
        let cancelled = live.running.iter().filter(|job| job.cancelled);
        cancelled.map(|job| job.id).collect()
    }

    /// Waits for `patience`, or until a job is queued.
    pub(super) fn wait(&self, patience: Duration) {
        let live = self.live();
        if !live.stopping {
            // Why it ended does not matter: the caller looks at the queue.
            drop(self.wake.wait_timeout(live, patience));
        }
    }

    /// The limits that hold now; none where no window is open.
    fn limits(&self) -> Option<Limits> {
        self.transfers.limits_at(u64::try_from(now()).unwrap_or(0))
    }
    /// Whether jobs may begin now.
    pub(super) fn is_open(&self) -> bool {
        self.limits().is_some()
    }
    /// Batteries and energy of the nodes, which limits look at.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn condition(&self) -> Result<Condition, StoreError> {
        let spent = self.store().spent_on(self.network(), day_of(now()))?;
        Ok(Condition {
            batteries: self.live().batteries.clone(),
            spent: spent.into_iter().collect(),
        })
    }
    /// Which nodes and jobs the limits hold back now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn eligibility(&self) -> Result<Eligibility, StoreError> {
        let limits = self.limits();
        let condition = match limits {
            Some(limits) if limits.spares_nodes() => self.condition()?,
            _ => Condition::default(),
        };
        let mut eligibility = Eligibility::of(limits, &condition, self.facts.network.sink);
        let is_spared = |node: &NodeId, _: &mut _| !self.facts.network.is_station(*node);
        eligibility.left_alone.retain(is_spared);
        eligibility.cut_off.clone_from(&self.live().cut_off);
        eligibility.waiting.extend(self.waiting());
        let named = |node: NodeId| (node, self.facts.network.place.named(node));
        eligibility.names = eligibility.nodes().into_iter().map(named).collect();
        let most = limits.and_then(|limits| limits.at_most);
        let others = self
            .shared
            .concurrency
            .others(&self.building, self.network());
        if let Some(most) = most.filter(|most| others >= *most as usize) {
            eligibility.blocked = Some(Blocked::Others(most));
        }
        if let Some(low) = self.shared.disk_state().low() {
            eligibility.blocked = Some(Blocked::Disk(low));
        }
        Ok(eligibility)
    }
    /// The health of each node, by index.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn health(&self) -> Result<Vec<Health>, StoreError> {
        let (condition, eligibility) = (self.condition()?, self.eligibility()?);
        let ids = self.facts.network.place.ids.iter();
        Ok(ids.map(|id| condition.of(*id, &eligibility)).collect())
    }
    /// Job `id` found no route without `nodes`.
    pub(super) fn note_cut_off(&self, id: JobId, nodes: &[NodeId]) {
        let nodes = nodes.iter().copied().collect();
        self.live().cut_off.insert(id, nodes);
    }
    /// Notes batteries reported at `at`, in seconds since 1970.
    pub(super) fn note_batteries(&self, levels: &[(NodeId, BatteryLevel)], at: i64) {
        let levels = levels.iter().map(|(node, level)| (*node, (*level, at)));
        self.live().batteries.extend(levels);
    }

    /// Takes the next job from the queue.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn next_job(&self) -> Result<NextJob, StoreError> {
        if self.is_stopping() {
            return Ok(NextJob::Stop);
        }
        let Some(limits) = self.limits() else {
            return Ok(NextJob::Idle);
        };
        if self.shared.disk_state().low().is_some() {
            return Ok(NextJob::Later);
        }
        let (eligibility, starved) = (self.eligibility()?, Cell::new(false));
        let may = |job: &StoredJob| {
            let wait = eligibility.blocked_by(job);
            let is_low = wait.as_ref().is_some_and(|w| eligibility.is_for_battery(w));
            starved.set(starved.get() || is_low);
            wait.is_none()
        };
        let next = self.store().next_job(self.network(), may)?;
        let Some(next) = next else {
            return Ok(match starved.get() {
                true => NextJob::Starved,
                false => NextJob::Idle,
            });
        };
        let (shared, place) = (&self.shared, (&self.building, self.network()));
        if shared
            .concurrency
            .enter(place, limits.at_most, Instant::now())
            == Entry::Full
        {
            return Ok(NextJob::Later);
        }
        let begun = self.begin_job(next.id);
        let Some(job) = begun.inspect_err(|_| self.leave())? else {
            // It was cancelled meanwhile.
            self.leave();
            return Ok(NextJob::Idle);
        };
        Ok(NextJob::Job(Box::new(job)))
    }
    /// Gives up its place among the stations at work.
    fn leave(&self) {
        self.shared
            .concurrency
            .leave(&self.building, self.network());
    }

    /// Begins a phase of job `id`, which runs: it covers this part of its progress.
    pub(super) fn begin_phase(&self, id: JobId, (from, to): (f64, f64)) {
        let running = &mut self.live().running;
        if let Some(running) = running.iter_mut().find(|job| job.id == id) {
            running.span = (from, to - from);
            running.progress = running.progress.max(from);
        }
    }
    /// Job `id`, which runs, goes over `plan`.
    pub(super) fn set_plan(&self, id: JobId, plan: &Arc<Plan>, packets: u32) {
        {
            let mut live = self.live();
            if let Some(running) = live.running.iter_mut().find(|job| job.id == id) {
                running.plan = Some(plan.clone());
                running.packets = packets;
            }
        }
        self.emit_for_station("plan", serde_json::json!({ "hops": plan.hops }));
    }
    /// Changes job `id`, which runs, by `note`, unless it is cancelled. Whether a report is due.
    fn update_running(&self, id: JobId, note: impl FnOnce(&mut Running)) -> bool {
        let mut live = self.live();
        let mut running = live.running.iter_mut().filter(|job| !job.cancelled);
        let Some(running) = running.find(|job| job.id == id) else {
            return false;
        };
        note(running);
        running.is_due(PROGRESS_PERIOD)
    }
    /// Job `id`, which runs, made progress.
    pub(super) fn progress(&self, id: JobId, progress: Progress) {
        if self.update_running(id, |running| running.note(progress)) {
            self.emit_job(id);
        }
    }
    /// The status of the running session's sources, `at_s` seconds after it began.
    pub(super) fn session_progress(
        &self,
        id: JobId,
        at_s: f64,
        whole_s: Option<f64>,
        sources: &[SourceStatus],
    ) {
        let note = |running: &mut Running| running.note_sources(at_s, whole_s, sources);
        if self.update_running(id, note) {
            self.emit_job(id);
            self.emit("rates", &view::rates(id, at_s, sources));
        }
    }
    /// Job `id` no longer runs: it has ended, or is queued again.
    pub(super) fn finish_job(&self, id: JobId) {
        let is_last = {
            let mut live = self.live();
            live.running.retain(|job| job.id != id);
            live.running.is_empty()
        };
        if is_last {
            self.leave();
        }
        self.emit_job(id);
    }
    /// The state of job `id`, which runs, after an interruption.
    pub(super) fn interrupted_state(&self, id: JobId) -> JobState {
        match self.cancelled().contains(&id) {
            true => JobState::Cancelled,
            false => JobState::Queued,
        }
    }
    /// Good links of the last surveys, the youngest first.
    pub(super) fn good_links(&self) -> Vec<Arc<GoodLinks>> {
        self.live().good_links.iter().cloned().collect()
    }
    /// Notes the good links of a survey, which is younger than those before.
    pub(super) fn note_good_links(&self, good: GoodLinks) {
        let mut live = self.live();
        live.good_links.push_front(Arc::new(good));
        live.good_links.truncate(SURVEYS as usize);
    }
    /// There are new links.
    pub(super) fn set_links(&self, snapshot: LinkSnapshot) {
        self.note_batteries(&snapshot.batteries, snapshot.at);
        {
            let mut live = self.live();
            live.snapshot = Some(Arc::new(snapshot));
            // There may be other routes now.
            live.cut_off.clear();
            live.surveys += 1;
        }
        self.emit_for_station("network", serde_json::json!({ "surveyed": true }));
    }
    /// Sets the state of the line, and reports a change.
    pub(super) fn set_line(&self, line: Line) {
        let changed = {
            let mut live = self.live();
            let changed = live.line != line;
            live.line = line.clone();
            changed
        };
        if changed {
            self.emit_for_station("line", serde_json::json!({ "line": line }));
            self.outbox("line", &serde_json::json!({ "line": line }));
            if let Line::Down(why) = &line {
                self.log(
                    Level::Warning,
                    &format!("the base station is out of reach: {why}"),
                );
            }
        }
    }
}
