//! What a daemon answers, without its port, and with a network on which no job ever begins: for fuzzing.
//!
//! Invariant: it takes bytes as a connection would bring them, through the same parser, guard and routes. Time base:
//! wall clock. Tests: `crates/fuzz/tests/seeds.rs`.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{self, Runtime};

use super::config::Config;
use super::http;
use super::http::guard::Guard;
use super::stations::Stations;
use super::{StartError, Station};
use thalweg_host::store::Store;

/// All answers to one connection's bytes come within this, or never.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that are on their way at once.
const PIPE: usize = 64 * 1024;

/// A request as it was understood, and what became of it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its method.
    pub method: Method,
    /// Its path.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// How it was answered.
    pub status: StatusCode,
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// What a daemon answers.
pub struct Answering {
    runtime: Runtime,
    router: Router,
    seen: Log,
}

impl Answering {
    /// What a daemon of `station` would answer, configured so.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn new(config: &Config, station: Station) -> Result<Self, StartError> {
        let store = Store::open(&config.data)?;
        let stations = Stations::new(&[station], config, store)?;
        // Streams of events end by themselves.
        stations.stop();
        let seen = Log::default();
        let router = http::router(Arc::new(stations), Guard::new(config));
        let router = router.layer(middleware::from_fn_with_state(seen.clone(), note));
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.map_err(StartError::Threads)?,
            router,
            seen,
        })
    }

    /// Takes what a connection brings, `bytes` and then its end: the requests in it.
    ///
    /// # Errors
    /// Where answers have no end.
    pub fn answer(&self, bytes: &[u8]) -> io::Result<Vec<Seen>> {
        let (near, far) = tokio::io::duplex(PIPE);
        let (mut from, mut to) = tokio::io::split(near);
        let service = TowerToHyperService::new(self.router.clone());
        let mut server = http1::Builder::new();
        let serving = server
            .half_close(true)
            .serve_connection(TokioIo::new(far), service);
        let asking = async {
            // The rest of a nonsensical request is not read.
            let _ = to.write_all(bytes).await;
            let _ = to.shutdown().await;
        };
        let hearing = async {
            let mut piece = vec![0; PIPE];
            while from.read(&mut piece).await.is_ok_and(|len| len > 0) {}
        };
        let all = async { tokio::join!(serving, asking, hearing) };
        let ended = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, all).await });
        let ended = ended.map(drop);
        ended.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *seen))
    }
}

/// Logs a request and its answer.
async fn note(State(seen): State<Log>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let headers = request.headers().clone();
    let response = next.run(request).await;
    let status = response.status();
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.push(Seen {
        method,
        path,
        headers,
        status,
    });
    response
}
