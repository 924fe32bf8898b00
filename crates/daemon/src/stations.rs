//! The stations of a daemon: each is a network with a thread, a field and a desk of its own; all have one store.
//!
//! A node is who it is by its station's name and its number: the store keeps a station's jobs, surveys and objects
//! under its name, where a single network has its testbed's. Invariant: no two stations have one name. Time base: wall
//! clock. Tests: `crates/daemon/tests/all/`.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_units::Channel;

use super::config::{Config, NetworkConfig, Transfers};
use super::desk::{Cancel, Common, Company, Desk};
use super::engine;
use super::limits::Holds;
use super::mqtt::Telling;
use super::running::Running;
use thalweg_host::connector::{Connector, Facts};
use thalweg_host::link_state::PlanRequestError;
use thalweg_host::network::NetworkTime;
use thalweg_host::store::{JobId, Store, StoreError, StoredJob};

/// A network that is to be served, with what its configuration says.
pub struct Station {
    name: Option<String>,
    channels: Option<Vec<Channel>>,
    building: Option<String>,
    network: Box<dyn Serve>,
}

impl Station {
    /// `network` as `config` calls it, on the channels that it names.
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

/// A network of whatever kind.
trait Serve: Send {
    fn facts(&self) -> Facts;
    fn serve(self: Box<Self>, desk: Arc<Desk>, broken: Option<NetworkTime>);
}

impl<N: Connector> Serve for N {
    fn facts(&self) -> Facts {
        Connector::facts(self)
    }
    fn serve(self: Box<Self>, desk: Arc<Desk>, broken: Option<NetworkTime>) {
        engine::serve(*self, desk, broken);
    }
}

/// Runs the jobs of a station until its desk says stop.
pub(super) struct Worker {
    network: Box<dyn Serve>,
    desk: Arc<Desk>,
    broken: Option<NetworkTime>,
}

impl Worker {
    pub(super) fn work(self) {
        self.network.serve(self.desk, self.broken);
    }
}

/// Why stations cannot be served.
#[derive(Debug, thiserror::Error)]
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

/// What limits mean for jobs that are queued, by their stations.
pub(super) struct Waiting(BTreeMap<String, Holds>);

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
    common: Arc<Common>,
    company: Company,
    desks: Vec<Arc<Desk>>,
}

impl Stations {
    /// A desk for each of `stations`.
    pub(super) fn new(
        stations: &[Station],
        config: &Config,
        store: Store,
    ) -> Result<Self, StationError> {
        let common = Arc::new(Common::new(store, Telling::new(&config.mqtt).map(Arc::new)));
        let company = match stations {
            [] => return Err(StationError::None),
            [_] => Company::Alone,
            _ => Company::Others,
        };
        let mut desks: Vec<Arc<Desk>> = Vec::new();
        for station in stations {
            let facts = station.facts();
            facts
                .network
                .place
                .check_channels(station.channels.as_deref())?;
            let name = &facts.network.place.name;
            if desks.iter().any(|desk| desk.network() == name) {
                return Err(StationError::Twice(name.clone()));
            }
            let transfers: Transfers = config.transfers.clone();
            let of = (company, station.building.clone());
            let desk = Desk::new(facts, transfers, of, common.clone());
            desks.push(Arc::new(desk));
        }
        Ok(Self {
            common,
            company,
            desks,
        })
    }

    /// Who runs their jobs, with what was known and asked for before.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn workers(&self, stations: Vec<Station>) -> Result<Vec<Worker>, StoreError> {
        let worker = |(station, desk): (Station, &Arc<Desk>)| {
            Ok(Worker {
                broken: engine::remember(desk)?,
                network: station.network,
                desk: desk.clone(),
            })
        };
        stations.into_iter().zip(&self.desks).map(worker).collect()
    }

    /// What they have together.
    pub(super) fn common(&self) -> &Common {
        &self.common
    }
    /// Each of them.
    pub(super) fn all(&self) -> &[Arc<Desk>] {
        &self.desks
    }
    /// The one called `name`; where nobody names one, the only one.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn named(&self, name: Option<&str>) -> Result<&Desk, String> {
        let found = match (name, &self.desks[..]) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), desks) => desks.iter().find(|desk| desk.network() == name),
        };
        let expected = || {
            let names = self.desks.iter().map(|desk| desk.network());
            let names: Vec<&str> = names.collect();
            format!("station: expected one of {}", names.join(", "))
        };
        found.map(|desk| &**desk).ok_or_else(expected)
    }
    /// The one called `name`, to be shown; the first where nobody names one.
    pub(super) fn shown(&self, name: Option<&str>) -> Option<&Desk> {
        match name {
            None => self.desks.first().map(|desk| &**desk),
            Some(_) => self.named(name).ok(),
        }
    }
    /// What limits mean for jobs that are queued, at present.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn waiting(&self) -> Result<Waiting, StoreError> {
        let of = |desk: &Arc<Desk>| Ok((desk.network().to_owned(), desk.holds()?));
        let all = self.desks.iter().map(of);
        Ok(Waiting(all.collect::<Result<_, StoreError>>()?))
    }
    /// Whether there are several.
    pub(super) fn company(&self) -> Company {
        self.company
    }
    /// What runs, of all stations.
    pub(super) fn running(&self) -> Vec<Running> {
        let running = self.desks.iter().filter_map(|desk| desk.running());
        running.collect()
    }
    /// Whether they are to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.desks.iter().any(|desk| desk.is_stopping())
    }
    /// Asks their threads to end.
    pub(super) fn stop(&self) {
        for desk in &self.desks {
            desk.stop();
        }
    }

    /// Each of them, as those that list take it.
    pub(super) fn desks(&self) -> Vec<&Desk> {
        self.desks.iter().map(|desk| &**desk).collect()
    }

    /// Jobs that have not ended: of each station what runs, then its queue in its order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn open_jobs(&self, of: &[&Desk]) -> Result<Vec<StoredJob>, StoreError> {
        let store = self.common.store();
        let mut all = Vec::new();
        for desk in of {
            all.extend(store.open_jobs(desk.network())?);
        }
        Ok(all)
    }
    /// The `most` youngest jobs that ended and are older than `before`, the youngest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn ended_jobs(
        &self,
        of: &[&Desk],
        before: Option<JobId>,
        most: u32,
    ) -> Result<Vec<StoredJob>, StoreError> {
        let store = self.common.store();
        let mut all = Vec::new();
        for desk in of {
            all.extend(store.ended_jobs(desk.network(), before, most)?);
        }
        all.sort_by_key(|job| std::cmp::Reverse(job.id));
        all.truncate(most as usize);
        Ok(all)
    }
    /// Asks that a job end, whosever it is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn cancel(&self, id: JobId) -> Result<Cancel, StoreError> {
        let job = self.common.store().job(id)?;
        let Some(job) = job else {
            return Ok(Cancel::Unknown);
        };
        match self.named(Some(&job.station)) {
            Ok(desk) => desk.cancel(id),
            Err(_) => Ok(Cancel::TooLate),
        }
    }
}
