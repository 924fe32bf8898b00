//! The stations of a daemon: each is a network with a thread and a state of its own; all share one store.
//!
//! A node is identified by its station's name and its number: the store keeps a station's jobs, surveys and objects
//! under its name; a single network has its testbed's name. Invariant: no two stations have one name. Time base: wall
//! clock. Tests: `crates/daemon/tests/all/`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_units::Channel;

use super::config::{Config, NetworkConfig, Transfers};
use super::engine;
use super::limits::Eligibility;
use super::mqtt::MqttState;
use super::running::Running;
use super::shared::Shared;
use super::station_state::{Cancel, StationState};
use super::view;
use thalweg_host::connector::{Connector, Facts};
use thalweg_host::link_state::PlanRequestError;
use thalweg_host::network::NetworkTime;
use thalweg_host::store::{JobGroup, JobId, Store, StoreError, StoredJob, StoredTransfer};

/// A network with its configuration.
pub struct Station {
    name: Option<String>,
    channels: Option<Vec<Channel>>,
    building: Option<String>,
    network: Box<dyn Serve>,
}

impl Station {
    /// `network` under the name and on the channels of `config`.
    pub fn new<N: Connector>(config: &NetworkConfig, network: N) -> Self {
        Self {
            name: config.name.clone(),
            channels: config.channels.clone(),
            building: config.building.clone(),
            network: Box::new(network),
        }
    }
    fn facts(&self) -> Facts {
        let mut facts = self.network.facts();
        if let Some(name) = &self.name {
            facts.network.place.name.clone_from(name);
        }
        if self.channels.is_some() {
            facts.network.channels.clone_from(&self.channels);
        }
        facts
    }
}

/// A network of any kind.
trait Serve: Send {
    fn facts(&self) -> Facts;
    fn serve(self: Box<Self>, station: Arc<StationState>, broken: Option<NetworkTime>);
}

impl<N: Connector> Serve for N {
    fn facts(&self) -> Facts {
        Connector::facts(self)
    }
    fn serve(self: Box<Self>, station: Arc<StationState>, broken: Option<NetworkTime>) {
        engine::serve(*self, station, broken);
    }
}

/// Runs the jobs of a station until it is to stop.
pub(super) struct Worker {
    network: Box<dyn Serve>,
    station: Arc<StationState>,
    broken: Option<NetworkTime>,
}

impl Worker {
    pub(super) fn work(self) {
        self.network.serve(self.station, self.broken);
    }
}

/// Why stations cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StationError {
    /// There is none.
    #[error("no station is named")]
    None,
    /// Two have one name.
    #[error("two stations are called \"{0}\"")]
    Twice(String),
    /// A network does not offer the channels that are named.
    #[error(transparent)]
    Channels(#[from] PlanRequestError),
}

/// Whether `stations` can be served together.
///
/// # Errors
/// Why not.
pub(super) fn check(stations: &[Station]) -> Result<(), StationError> {
    let mut names = BTreeSet::new();
    for served in stations {
        let place = served.facts().network.place;
        place.check_channels(served.channels.as_deref())?;
        if !names.insert(place.name.clone()) {
            return Err(StationError::Twice(place.name));
        }
    }
    match names.is_empty() {
        true => Err(StationError::None),
        false => Ok(()),
    }
}

/// What the limits hold back, by station.
pub(super) struct Waiting(BTreeMap<String, Eligibility>);

impl Waiting {
    /// Why `job` is still queued, where limits are to blame.
    pub(super) fn why(&self, job: &StoredJob) -> Option<String> {
        self.0
            .get(&job.station)?
            .why(job)
            .map(|why| why.to_string())
    }
}

/// All stations of a daemon.
pub(super) struct Stations {
    shared: Arc<Shared>,
    /// Whether browsers log in.
    pub(super) asks_token: bool,
    is_only: bool,
    stations: Vec<Arc<StationState>>,
}

impl Stations {
    /// The state of each of `stations`.
    pub(super) fn new(
        stations: &[Station],
        config: &Config,
        store: Store,
    ) -> Result<Self, StationError> {
        let shared = Arc::new(Shared::new(
            store,
            config.store,
            MqttState::new(&config.mqtt).map(Arc::new),
        ));
        check(stations)?;
        let is_only = stations.len() == 1;
        let mut states: Vec<Arc<StationState>> = Vec::new();
        for served in stations {
            let facts = served.facts();
            let transfers: Transfers = config.transfers.clone();
            let of = (is_only, served.building.clone());
            let state = StationState::new(facts, transfers, of, shared.clone());
            states.push(Arc::new(state));
        }
        Ok(Self {
            shared,
            asks_token: config.token.is_some(),
            is_only,
            stations: states,
        })
    }

    /// The workers that run their jobs, with the state that the store has.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn workers(&self, stations: Vec<Station>) -> Result<Vec<Worker>, StoreError> {
        let worker = |(served, station): (Station, &Arc<StationState>)| {
            Ok(Worker {
                broken: engine::resume(station)?,
                network: served.network,
                station: station.clone(),
            })
        };
        stations
            .into_iter()
            .zip(&self.stations)
            .map(worker)
            .collect()
    }

    /// What they have in common.
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
    /// Each of them.
    pub(super) fn all(&self) -> &[Arc<StationState>] {
        &self.stations
    }
    /// The station called `name`, or the only one without a name.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn named(&self, name: Option<&str>) -> Result<&StationState, String> {
        let found = match (name, &self.stations[..]) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), stations) => stations.iter().find(|station| station.network() == name),
        };
        let expected = || {
            let names = self.stations.iter().map(|station| station.network());
            let names: Vec<&str> = names.collect();
            format!("station: expected one of {}", names.join(", "))
        };
        found.map(|station| &**station).ok_or_else(expected)
    }
    /// `job` as the API shows it, with the name of its node.
    pub(super) fn job_view<'a>(
        &'a self,
        job: &'a StoredJob,
        running: &[Running],
        waits: Option<String>,
    ) -> view::Job<'a> {
        let shown = view::job(job, running, waits);
        match self.named(Some(&job.station)) {
            Ok(station) => shown.named(&station.facts),
            Err(_) => shown,
        }
    }
    /// `transfer`'s object, likewise.
    pub(super) fn object_view<'a>(&'a self, transfer: &'a StoredTransfer) -> view::Object<'a> {
        let shown = view::object(transfer);
        match self.named(Some(&transfer.record.testbed)) {
            Ok(station) => shown.named(&station.facts),
            Err(_) => shown,
        }
    }
    /// The station called `name` for a page, or the first without a name.
    pub(super) fn shown(&self, name: Option<&str>) -> Option<&StationState> {
        match name {
            None => self.stations.first().map(|station| &**station),
            Some(_) => self.named(name).ok(),
        }
    }
    /// What the limits hold back at present.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn waiting(&self) -> Result<Waiting, StoreError> {
        let of = |station: &Arc<StationState>| {
            Ok((station.network().to_owned(), station.eligibility()?))
        };
        let all = self.stations.iter().map(of);
        Ok(Waiting(all.collect::<Result<_, StoreError>>()?))
    }
    /// Whether there are several.
    pub(super) fn is_only(&self) -> bool {
        self.is_only
    }
    /// The running jobs of all stations.
    pub(super) fn running(&self) -> Vec<Running> {
        let running = self.stations.iter().flat_map(|station| station.running());
        running.collect()
    }
    /// Whether they are to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stations.iter().any(|station| station.is_stopping())
    }
    /// Asks their threads to stop.
    pub(super) fn stop(&self) {
        for station in &self.stations {
            station.stop();
        }
    }

    /// References to all of them.
    pub(super) fn list(&self) -> Vec<&StationState> {
        self.stations.iter().map(|station| &**station).collect()
    }

    /// Jobs that have not ended: of each station what runs, then its queue in its order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn open_jobs(&self, of: &[&StationState]) -> Result<Vec<StoredJob>, StoreError> {
        let mut all = Vec::new();
        for station in of {
            let mut open = self.shared.store().open_jobs(station.network())?;
            station.overlay(&mut open);
            all.extend(open);
        }
        Ok(all)
    }
    /// The `most` youngest jobs that ended and are older than `before`, the youngest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn ended_jobs(
        &self,
        of: &[&StationState],
        before: Option<JobId>,
        most: u32,
    ) -> Result<Vec<StoredJob>, StoreError> {
        let store = self.shared.store();
        let mut all = Vec::new();
        for station in of {
            all.extend(store.ended_jobs(station.network(), before, most)?);
        }
        all.sort_by_key(|job| std::cmp::Reverse(job.id));
        all.truncate(most as usize);
        Ok(all)
    }
    /// Job `id` of any station.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        let job = self.shared.store().job(id)?;
        Ok(job.map(|mut job| {
            if let Ok(station) = self.named(Some(&job.station)) {
                station.overlay(std::slice::from_mut(&mut job));
            }
            job
        }))
    }
    /// Cancels a job of any station.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn cancel(&self, id: JobId) -> Result<Cancel, StoreError> {
        let job = self.shared.store().job(id)?;
        let Some(job) = job else {
            return Ok(Cancel::Unknown);
        };
        match self.named(Some(&job.station)) {
            Ok(station) => station.cancel(id),
            Err(_) => Ok(Cancel::TooLate),
        }
    }
    /// Cancels what is left of a group, and says how many jobs that were.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn cancel_group(&self, group: &JobGroup) -> Result<usize, StoreError> {
        match self.named(Some(&group.station)) {
            Ok(station) => station.cancel_group(group.group),
            Err(_) => Ok(0),
        }
    }
    /// The jobs of group `id`, as they are.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn jobs_of(&self, id: JobId) -> Result<Vec<StoredJob>, StoreError> {
        let mut jobs = self.shared.store().jobs_of(id)?;
        for station in &self.stations {
            station.overlay(&mut jobs);
        }
        Ok(jobs)
    }
}
