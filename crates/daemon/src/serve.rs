//! The daemon as a whole: it begins, serves, and ends.
//!
//! Invariants: connections are bounded, and so is the time for a request's head and body, and for an answer that nobody
//! reads, or hardly; one daemon has a folder. Time base: wall clock. Tests: `serve_tests.rs`.

use std::fs::DirBuilder;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime;
use tokio::sync::watch;

use super::config::Config;
use super::http;
use super::http::guard::Guard;
use super::mqtt;
use super::reader::Reader;
use super::seats::Seats;
use super::stations::{self, Station, StationError, Stations};
use thalweg_host::connector::Connector;
use thalweg_host::store::{plain, Level, Lock, Store, StoreError};

/// How long a request's head may take, and a connection be idle before it.
const HEAD: Duration = Duration::from_secs(5);
/// How long a connection waits for a peer that reads its answers slowly ([`Reader`]). Long, for tunnels over slow lines.
const UNREAD: Duration = Duration::from_secs(60);
/// How long answers that are under way may take when the daemon ends.
const END: Duration = Duration::from_secs(2);
/// Threads for what blocks.
const BLOCKING: usize = 8;

/// Why a daemon does not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Anyone could connect without a token.
    #[error("{0}: is not a loopback address; that takes a token in the configuration")]
    NoToken(SocketAddr),
    /// The address cannot be had.
    #[error("{address}: cannot listen: {}", plain(.source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stations.
    #[error(transparent)]
    Stations(#[from] StationError),
    /// No threads.
    #[error("cannot begin: {}", plain(.0))]
    Threads(io::Error),
}

/// A daemon that runs.
pub struct Daemon {
    address: SocketAddr,
    end: watch::Sender<bool>,
    stations: Arc<Stations>,
    threads: Vec<JoinHandle<()>>,
    _lock: Lock,
}

impl Daemon {
    /// Begins to serve `network` as `config` says.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start<N: Connector>(config: &Config, network: N) -> Result<Self, StartError> {
        let station = Station::new(&config.network, network);
        Self::start_all(config, vec![station])
    }

    /// Whether `stations` could be served as `config` says; nothing is opened.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn check(config: &Config, stations: &[Station]) -> Result<(), StartError> {
        if config.is_open() && config.token.is_none() {
            return Err(StartError::NoToken(config.listen));
        }
        Ok(stations::check(stations)?)
    }

    /// Begins to serve all of `stations`, each with a thread of its own.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start_all(config: &Config, stations: Vec<Station>) -> Result<Self, StartError> {
        Self::check(config, &stations)?;
        let address = config.listen;
        let refused = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(config.listen).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let store = open_store(&config.data)?;
        let lock = store.lock_daemon()?;
        let all = Arc::new(Stations::new(&stations, config, store)?);
        log_start(config, &all);
        all.shared().delete_old();
        all.shared().delete_beyond();
        let workers = all.workers(stations)?;
        let (end, ends) = watch::channel(false);
        let mqtt_ends = end.subscribe();
        let router = http::router(all.clone(), Guard::new(config));
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING)
            .build()
            .map_err(StartError::Threads)?;
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let answers = named("answers").spawn(move || {
            if let Err(why) = runtime.block_on(accept(listener, router, ends)) {
                tracing::error!("nobody is answered any more: {}", plain(&why));
            }
            // Watchers are cut off.
            runtime.shutdown_timeout(END);
        });
        let mut daemon = Self {
            address,
            end,
            stations: all,
            threads: vec![answers.map_err(StartError::Threads)?],
            _lock: lock,
        };
        if let Some(telling) = daemon.stations.shared().mqtt.clone() {
            let stations = daemon.stations.clone();
            let sender = named("mqtt").spawn(move || {
                if let Err(why) = mqtt::serve(&stations, &telling, mqtt_ends) {
                    tracing::error!("the MQTT broker is told nothing: {}", plain(&why));
                }
            });
            daemon.threads.push(sender.map_err(StartError::Threads)?);
        }
        for worker in workers {
            let jobs = named("jobs").spawn(move || worker.work());
            daemon.threads.push(jobs.map_err(StartError::Threads)?);
        }
        Ok(daemon)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether all of it runs; where a part has broken down, it is better begun again.
    pub fn runs(&self) -> bool {
        self.threads.iter().all(|thread| !thread.is_finished())
    }

    /// Ends it: what runs is queued again.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stations.stop();
        // It fails where that thread has ended.
        let _ = self.end.send(true);
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// The store in `folder`, which is made where it is missing, for its owner alone.
fn open_store(folder: &Path) -> Result<Store, StoreError> {
    if !folder.exists() {
        // Where it cannot be made, opening it says why.
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
    Store::open(folder)
}

/// Logs that the gateway begins, by station, and warns of lines that others may reach.
fn log_start(config: &Config, stations: &Stations) {
    for station in stations.all() {
        let line = format!("the gateway begins: {}", station.facts.about);
        station.log(Level::Info, &line);
    }
    for network in config.networks().iter().filter(|n| n.is_elsewhere()) {
        let port = network.port.as_deref().unwrap_or_default();
        let line = format!("{port}: anyone on that network can read objects and give orders");
        stations.shared().log(Level::Warning, &line);
    }
}

/// Answers until the end.
async fn accept(
    listener: TcpListener,
    router: Router,
    mut ends: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let seats = Seats::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ends.changed() => return Ok(()),
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(why) => {
                // Out of file descriptors, or a peer that left: others are served all the same.
                tracing::warn!("a connection was not accepted: {}", plain(&why));
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some(seat) = seats.take(peer.ip()) else {
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            answer(stream, router, UNREAD).await;
            drop(seat);
        });
    }
}

/// Answers one peer until it leaves, or is waited for longer than `unread` allows.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(stream: S, router: Router, unread: Duration) {
    let stream = TokioIo::new(Reader::new(stream, unread));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let service = TowerToHyperService::new(router);
    // A peer that leaves in the middle is its own affair.
    let _ = server.serve_connection(stream, service).await;
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
