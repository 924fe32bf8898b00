//! What the thread that runs a station's jobs and those that answer requests share: the store and news, which all
//! stations have together, and what is under way at this one.
//!
//! Invariants: the one store is behind one lock, held for a query or a write; what is under way is in memory
//! only, what it begins and ends with is a row. Nobody holds both locks. Time base: wall clock.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use thalweg_planner::Plan;
use thalweg_units::{BatteryLevel, NodeId};
use tokio::sync::broadcast;

use super::config::{Limits, Transfers};
use super::gate::{Entry, Gate};
use super::limits::{Condition, Health, Holds, Wait};
use super::mqtt::Telling;
use super::running::Running;
use super::view;
use thalweg_host::connector::Facts;
use thalweg_host::job::Progress;
use thalweg_host::link_state::LinkState;
use thalweg_host::store::{
    day_of, JobId, JobState, Keep, Level, Message, NewJob, Store, StoreError, StoredJob, Work,
};
use thalweg_host::transfer::session::SourceStatus;

/// So many news may wait for one who watches; whoever is slower is told to look anew.
const NEWS: usize = 256;
/// Progress is told no more often.
const OFTEN: Duration = Duration::from_millis(200);

/// What is told to whoever watches.
#[derive(Debug, Clone)]
pub(super) struct News {
    pub(super) event: &'static str,
    /// JSON.
    pub(super) data: Arc<str>,
}

/// How the way to the base station is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    /// Not opened yet.
    Closed,
    /// It works.
    Up,
    /// It does not, for this reason.
    Down(String),
}

/// The links as they are known.
#[derive(Debug)]
pub(super) struct Surveyed {
    pub(super) known: LinkState,
    /// When they were measured, in seconds since 1970.
    pub(super) at: i64,
    pub(super) took_s: f64,
    pub(super) missing: Vec<NodeId>,
    /// The batteries of those that told.
    pub(super) batteries: Vec<(NodeId, BatteryLevel)>,
}

/// What is under way.
#[derive(Debug)]
struct Live {
    running: Option<Running>,
    surveyed: Option<Arc<Surveyed>>,
    line: Line,
    stopping: bool,
    /// The batteries of nodes as they told last, and when.
    batteries: BTreeMap<NodeId, (BatteryLevel, i64)>,
    /// Jobs that found no route without these nodes.
    cut_off: BTreeMap<JobId, BTreeSet<NodeId>>,
}

/// What a job thread is to do next.
pub(super) enum Turn {
    /// This job, which runs by now.
    Job(Box<StoredJob>),
    /// Nothing yet.
    Idle,
    /// Nothing yet: what waits, waits for a battery that has more.
    Starved,
    /// Nothing yet: other stations are at work.
    Later,
    /// End.
    Stop,
}

/// What became of a wish to cancel a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cancel {
    /// It was queued, and is cancelled.
    Done,
    /// It runs, and will end soon.
    Asked,
    /// It had ended before.
    TooLate,
    /// There is none of that number.
    Unknown,
}

/// What all stations have together.
pub(super) struct Common {
    /// The broker, where there is one.
    pub(super) mqtt: Option<Arc<Telling>>,
    store: Mutex<Store>,
    news: broadcast::Sender<News>,
    gate: Gate,
    pub(super) begun: Instant,
}

impl Common {
    pub(super) fn new(store: Store, mqtt: Option<Arc<Telling>>) -> Self {
        Self {
            mqtt,
            store: Mutex::new(store),
            news: broadcast::Sender::new(NEWS),
            gate: Gate::default(),
            begun: Instant::now(),
        }
    }
    /// The store; nobody else has it meanwhile.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        // A thread that panicked left no transaction open: a guard rolled it back.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(super) fn watch(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }
    /// How many watch.
    pub(super) fn watchers(&self) -> usize {
        self.news.receiver_count()
    }
    pub(super) fn tell(&self, event: &'static str, data: &impl Serialize) {
        if let Ok(data) = serde_json::to_string(data) {
            // Nobody may be watching.
            let _ = self.news.send(News {
                event,
                data: data.into(),
            });
        }
    }
    /// Writes a line into the log, and tells it.
    pub(super) fn log(&self, level: Level, text: &str) {
        match level {
            Level::Info => tracing::info!("{text}"),
            Level::Warning => tracing::warn!("{text}"),
        }
        let line = {
            let mut store = self.store();
            // A log that cannot be written was told above all the same.
            let _ = store.log(level, text);
            store.lines(None, 1).ok().and_then(|mut lines| lines.pop())
        };
        if let Some(line) = line {
            self.tell("log", &line);
        }
    }
}

/// Whether a station is the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// It is: nobody need name it.
    Alone,
    /// There are others.
    Others,
}

/// What all threads know of one station.
pub(super) struct Desk {
    pub(super) facts: Facts,
    pub(super) transfers: Transfers,
    pub(super) company: Company,
    building: Option<String>,
    common: Arc<Common>,
    live: Mutex<Live>,
    wake: Condvar,
}

impl Desk {
    pub(super) fn new(
        facts: Facts,
        transfers: Transfers,
        (company, building): (Company, Option<String>),
        common: Arc<Common>,
    ) -> Self {
        Self {
            facts,
            transfers,
            company,
            building,
            common,
            live: Mutex::new(Live {
                running: None,
                surveyed: None,
                line: Line::Closed,
                stopping: false,
                batteries: BTreeMap::new(),
                cut_off: BTreeMap::new(),
            }),
            wake: Condvar::new(),
        }
    }

    /// The station's name, which is its network's.
    pub(super) fn network(&self) -> &str {
        &self.facts.network.place.name
    }
    /// The store; nobody else has it meanwhile.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        self.common.store()
    }
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// What runs, if anything does.
    pub(super) fn running(&self) -> Option<Running> {
        self.live().running.clone()
    }
    /// The links as they are known.
    pub(super) fn surveyed(&self) -> Option<Arc<Surveyed>> {
        self.live().surveyed.clone()
    }
    /// How the way to the base station is.
    pub(super) fn line(&self) -> Line {
        self.live().line.clone()
    }

    fn tell(&self, event: &'static str, data: &impl Serialize) {
        self.common.tell(event, data);
    }
    /// The same of what is this station's.
    fn tell_of(&self, event: &'static str, mut data: serde_json::Value) {
        data["station"] = self.network().into();
        self.tell(event, &data);
    }
    /// Tells that a job is in another state than before.
    fn tell_job(&self, id: JobId) {
        let job = self.store().job(id).ok().flatten();
        if let Some(job) = job {
            self.tell_jobs(std::slice::from_ref(&job));
        }
    }
    fn tell_jobs(&self, jobs: &[StoredJob]) {
        let running = self.running();
        let waits = |job: &StoredJob| job.state == JobState::Queued;
        // A store that does not answer says so elsewhere.
        let holds = (jobs.iter().any(waits))
            .then(|| self.holds().ok())
            .flatten();
        for job in jobs {
            let waits = holds.as_ref().and_then(|holds| holds.why(job));
            let waits = waits.map(|why| why.to_string());
            self.tell("job", &view::job(job, running.as_slice(), waits));
        }
    }
    /// The broker, where there is one.
    pub(super) fn mqtt(&self) -> Option<&Arc<Telling>> {
        self.common.mqtt.as_ref()
    }
    /// Tells the broker, where there is one, `payload` under `topic`: an object of JSON, of which the newest counts.
    pub(super) fn outbox(&self, topic: &str, payload: &impl Serialize) {
        let Some((mqtt, payload)) = self.mqtt().zip(serde_json::to_string(payload).ok()) else {
            return;
        };
        let message = Message {
            topic: mqtt.topics(self.network()).under(topic),
            payload,
            keep: Keep::Newest,
        };
        match self.store().tell(&[message]) {
            Ok(()) => mqtt.wake(),
            Err(why) => tracing::error!("{why}"),
        }
    }
    /// Writes a line into the log, and tells it. Where there are several stations, it names this one.
    pub(super) fn log(&self, level: Level, text: &str) {
        match self.company {
            Company::Alone => self.common.log(level, text),
            Company::Others => self
                .common
                .log(level, &format!("{}: {text}", self.network())),
        }
    }

    /// Queues jobs.
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
        let queued = {
            let mut store = self.store();
            let ids = store.submit(&jobs, self.transfers.queue)?;
            let queued = ids.into_iter().map(|id| store.job(id));
            queued.collect::<Result<Vec<_>, _>>()?
        };
        let queued: Vec<StoredJob> = queued.into_iter().flatten().collect();
        self.tell_jobs(&queued);
        self.wake.notify_all();
        Ok(queued)
    }

    /// Asks that a job that was queued or runs here end.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn cancel(&self, id: JobId) -> Result<Cancel, StoreError> {
        let was_queued = self.store().cancel_queued(id)?;
        if was_queued {
            self.live().cut_off.remove(&id);
            self.tell_job(id);
            return Ok(Cancel::Done);
        }
        let mut live = self.live();
        match live.running.as_mut().filter(|running| running.id == id) {
            Some(running) => {
                running.cancelled = true;
                running.phase = "is being cancelled".to_owned();
                Ok(Cancel::Asked)
            }
            None => Ok(Cancel::TooLate),
        }
    }

    /// Asks its thread to end.
    pub(super) fn stop(&self) {
        self.live().stopping = true;
        self.wake.notify_all();
    }
    /// Whether it is to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.live().stopping
    }
    /// Whether the job that runs is to end, be it for a while.
    pub(super) fn is_unwanted(&self) -> bool {
        let live = self.live();
        live.stopping || live.running.as_ref().is_some_and(|job| job.cancelled)
    }

    /// Waits for `patience` or until somebody asks for something.
    pub(super) fn rest(&self, patience: Duration) {
        let live = self.live();
        if !live.stopping {
            // How it ended does not matter: whoever waits looks.
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
    /// What is known of nodes that limits look at.
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
    /// Who is left alone now, and what waits for that.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn holds(&self) -> Result<Holds, StoreError> {
        let limits = self.limits();
        let condition = match limits {
            Some(limits) if limits.spares_nodes() => self.condition()?,
            _ => Condition::default(),
        };
        let mut holds = Holds::of(limits, &condition, self.facts.network.sink);
        holds.cut_off.clone_from(&self.live().cut_off);
        let most = limits.and_then(|limits| limits.at_most);
        let others = self.common.gate.others(&self.building, self.network());
        if let Some(most) = most.filter(|most| others >= *most as usize) {
            holds.shut = Some(Wait::Others(most));
        }
        Ok(holds)
    }
    /// How each of its nodes is, by index.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn health(&self) -> Result<Vec<Health>, StoreError> {
        let (condition, holds) = (self.condition()?, self.holds()?);
        let ids = self.facts.network.place.ids.iter();
        Ok(ids.map(|id| condition.of(*id, &holds)).collect())
    }
    /// Job `id` found no route without `nodes`.
    pub(super) fn is_cut_off(&self, id: JobId, nodes: &[NodeId]) {
        let nodes = nodes.iter().copied().collect();
        self.live().cut_off.insert(id, nodes);
    }
    /// These batteries were told at `at`, in seconds since 1970.
    pub(super) fn note_batteries(&self, told: &[(NodeId, BatteryLevel)], at: i64) {
        let told = told.iter().map(|(node, level)| (*node, (*level, at)));
        self.live().batteries.extend(told);
    }

    /// What comes next.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn turn(&self) -> Result<Turn, StoreError> {
        if self.is_stopping() {
            return Ok(Turn::Stop);
        }
        let Some(limits) = self.limits() else {
            return Ok(Turn::Idle);
        };
        let (holds, starved) = (self.holds()?, Cell::new(false));
        let may = |job: &StoredJob| {
            let wait = holds.of_job(job);
            let is_low = wait.as_ref().is_some_and(|w| holds.is_for_a_battery(w));
            starved.set(starved.get() || is_low);
            wait.is_none()
        };
        let next = self.store().next_job(self.network(), may)?;
        let Some(next) = next else {
            return Ok(match starved.get() {
                true => Turn::Starved,
                false => Turn::Idle,
            });
        };
        let (common, place) = (&self.common, (&self.building, self.network()));
        if common.gate.enter(place, limits.at_most, Instant::now()) == Entry::Full {
            return Ok(Turn::Later);
        }
        let begun = self.store().begin_job(next.id);
        let Some(job) = begun.inspect_err(|_| self.leave())? else {
            // Somebody cancelled it meanwhile.
            self.leave();
            return Ok(Turn::Idle);
        };
        {
            let mut live = self.live();
            live.running = Some(Running::new(job.id));
            live.cut_off.remove(&job.id);
        }
        self.tell_job(job.id);
        Ok(Turn::Job(Box::new(job)))
    }
    /// It is at work no more.
    fn leave(&self) {
        self.common.gate.leave(&self.building, self.network());
    }

    /// What begins now is so much of the job that runs, as its first and last share.
    pub(super) fn begins(&self, (from, to): (f64, f64)) {
        if let Some(running) = &mut self.live().running {
            running.span = (from, to - from);
            running.progress = running.progress.max(from);
        }
    }
    /// The job that runs goes over `plan`.
    pub(super) fn planned(&self, plan: &Arc<Plan>, packets: u32) {
        if let Some(running) = &mut self.live().running {
            running.plan = Some(plan.clone());
            running.packets = packets;
        }
        self.tell_of("plan", serde_json::json!({ "hops": plan.hops }));
    }
    /// Has `note` change what runs, unless somebody cancelled it: its number, where it is time to tell of it.
    fn moved(&self, note: impl FnOnce(&mut Running)) -> Option<JobId> {
        let mut live = self.live();
        let running = (live.running.as_mut()).filter(|running| !running.cancelled)?;
        note(running);
        running.is_due(OFTEN).then_some(running.id)
    }
    /// The job that runs made progress.
    pub(super) fn progress(&self, progress: Progress) {
        if let Some(id) = self.moved(|running| running.note(progress)) {
            self.tell_job(id);
        }
    }
    /// The sources of the session that runs fare so, `at_s` seconds after it began.
    pub(super) fn flows(&self, at_s: f64, whole_s: Option<f64>, sources: &[SourceStatus]) {
        let note = |running: &mut Running| running.note_flows(at_s, whole_s, sources);
        if let Some(id) = self.moved(note) {
            self.tell_job(id);
            self.tell("rates", &view::rates(id, at_s, sources));
        }
    }
    /// Nothing runs any more: `id` has ended, or is queued again.
    pub(super) fn ended(&self, id: JobId) {
        self.live().running = None;
        self.leave();
        self.tell_job(id);
    }
    /// How the job that runs ends: its state, where somebody did not want it.
    pub(super) fn unwanted_as(&self) -> JobState {
        match self
            .live()
            .running
            .as_ref()
            .is_some_and(|job| job.cancelled)
        {
            true => JobState::Cancelled,
            false => JobState::Queued,
        }
    }
    /// The links are known.
    pub(super) fn knows(&self, surveyed: Surveyed) {
        self.note_batteries(&surveyed.batteries, surveyed.at);
        {
            let mut live = self.live();
            live.surveyed = Some(Arc::new(surveyed));
            // There may be other routes now.
            live.cut_off.clear();
        }
        self.tell_of("network", serde_json::json!({ "surveyed": true }));
    }
    /// The way to the base station is as `line` says.
    pub(super) fn line_is(&self, line: Line) {
        let changed = {
            let mut live = self.live();
            let changed = live.line != line;
            live.line = line.clone();
            changed
        };
        if changed {
            self.tell_of("line", serde_json::json!({ "line": line }));
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

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}
