//! Session jobs (RCRT): bytes are in the store before their source is acknowledged, and become objects.
//!
//! Invariants: a stream becomes an object when it has [`ROLL`] bytes, when its source starts again, or when the session
//! ends for any reason; what a killed daemon leaves becomes objects when it starts again. An interrupted session
//! continues for the time that it has left. Time base: the network's. Tests: `crates/daemon/tests/all/`.

use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;

use serde::Serialize;
use thalweg_protocols::rcrt::sink::Config;
use thalweg_units::{BitRate, Duration, NodeId};
use thalweg_wire::seal::frame::Sealing;

use super::stop::Stop;
use super::watched::{reserve, Watched};
use crate::station_state::StationState;
use crate::view;
use thalweg_host::connector::Tree;
use thalweg_host::job::Failure;
use thalweg_host::network::Network;
use thalweg_host::outcome::Summary;
use thalweg_host::store::{
    next_sample, JobId, JobState, Level, NewTransfer, StoreError, StoredJob,
};
use thalweg_host::text::count;
use thalweg_host::transfer::session::{
    Session, SessionRequest, SourceStatus, StreamEvent, StreamStore,
};

/// A stream with this many bytes becomes an object, and the next begins.
const ROLL: u64 = 1 << 20;

/// Stores the streams of a session.
struct SessionStore<'a> {
    station: &'a StationState,
    job: JobId,
    /// How long it is to last, if it ends by itself.
    whole_s: Option<f64>,
    /// Before an interruption: how long it had lasted, and the status of each source.
    before_s: f64,
    before: BTreeMap<NodeId, SourceStatus>,
    /// Bytes of each source that are no object yet.
    open: BTreeMap<NodeId, u64>,
    /// When the next sample is due, in seconds since the session began.
    due_s: u32,
    /// How long it has lasted.
    at_s: f64,
    sources: Vec<SourceStatus>,
}

/// The outcome of a session, as JSON.
#[derive(Serialize)]
struct Outcome {
    duration_s: f64,
    packets: u64,
    bytes: u64,
    repaired: u64,
    sources: Vec<Source>,
}

#[derive(Serialize)]
struct Source {
    node: u16,
    packets: u64,
    bytes: u64,
    repaired: u64,
}

impl<'a> SessionStore<'a> {
    /// For session `job`, which may have been interrupted.
    fn new(
        station: &'a StationState,
        job: JobId,
        whole_s: Option<f64>,
    ) -> Result<Self, StoreError> {
        let last = station.store().samples(job)?.pop();
        let before_s = last.as_ref().map_or(0.0, |last| f64::from(last.at_s));
        let before = last.into_iter().flat_map(|last| last.sources);
        let before: BTreeMap<_, _> = before.map(|s| (s.source, s)).collect();
        Ok(Self {
            station,
            job,
            whole_s,
            before_s,
            sources: before.values().copied().collect(),
            before,
            open: BTreeMap::new(),
            due_s: 0,
            at_s: before_s,
        })
    }
    /// How much of it is left; none where it has no end.
    fn left(&self) -> Option<Duration> {
        self.whole_s
            .map(|s| Duration::from_secs_f64((s - self.before_s).max(0.0)))
    }
    /// Its outcome, as JSON.
    fn outcome(&self) -> String {
        let sum = |of: fn(&SourceStatus) -> u64| self.sources.iter().map(of).sum();
        let source = |s: &SourceStatus| Source {
            node: s.source.get(),
            packets: s.packets,
            bytes: s.bytes,
            repaired: s.repaired,
        };
        let outcome = Outcome {
            duration_s: (self.at_s * 10.0).round() / 10.0,
            packets: sum(|s| s.packets),
            bytes: sum(|s| s.bytes),
            repaired: sum(|s| s.repaired),
            sources: self.sources.iter().map(source).collect(),
        };
        serde_json::to_string(&outcome).unwrap_or_default()
    }
    /// Makes objects of all bytes so far.
    fn close(&mut self) -> Result<(), StoreError> {
        self.open.clear();
        self.sample(self.at_s as u32)?;
        close_all(self.station, self.station.facts.network.sealing())
    }
    /// Makes an object of what came of `source` in this session.
    fn close_one(&self, source: NodeId) -> Result<(), StoreError> {
        let sealing = self.station.facts.network.sealing();
        close(self.station, (self.job, source), sealing)
    }

    fn sample(&mut self, at_s: u32) -> Result<(), StoreError> {
        self.due_s = next_sample(at_s);
        (self.station.store()).sample(self.job, at_s, &self.sources)?;
        self.station
            .outbox("rates", &view::rates(self.job, self.at_s, &self.sources));
        Ok(())
    }

    fn add(&self, pieces: &[(NodeId, Vec<u8>)]) -> Result<(), StoreError> {
        (self.station.store()).add_to_streams(self.job, self.at_s, pieces)
    }

    fn append_events(&mut self, events: Vec<StreamEvent>) -> Result<(), StoreError> {
        let mut pieces = Vec::new();
        for one in events {
            match one {
                StreamEvent::Bytes(source, _, bytes) => {
                    *self.open.entry(source).or_default() += bytes.len() as u64;
                    pieces.push((source, bytes));
                }
                StreamEvent::Ended(..) => {}
                StreamEvent::Begun(source, _) => {
                    if self.open.remove(&source).is_some() {
                        let pieces = std::mem::take(&mut pieces);
                        self.add(&pieces)?;
                        self.close_one(source)?;
                    }
                }
            }
        }
        self.add(&pieces)?;
        let full = self.open.iter().filter(|(_, bytes)| **bytes >= ROLL);
        let full: Vec<NodeId> = full.map(|(source, _)| *source).collect();
        for source in full {
            self.close_one(source)?;
            self.open.remove(&source);
        }
        Ok(())
    }
}

impl StreamStore for SessionStore<'_> {
    fn append(&mut self, events: Vec<StreamEvent>) -> Result<(), Failure> {
        self.append_events(events).map_err(store_failure)
    }
    fn sample(&mut self, at_s: f64, sources: &[SourceStatus]) -> Result<(), Failure> {
        self.at_s = self.before_s + at_s;
        let whole = |now: &SourceStatus| match self.before.get(&now.source) {
            Some(before) => SourceStatus {
                packets: now.packets + before.packets,
                bytes: now.bytes + before.bytes,
                repaired: now.repaired + before.repaired,
                ..*now
            },
            None => *now,
        };
        self.sources = sources.iter().map(whole).collect();
        self.station
            .session_progress(self.job, self.at_s, self.whole_s, &self.sources);
        let at_s = self.at_s as u32;
        match at_s >= self.due_s {
            true => self.sample(at_s).map_err(store_failure),
            false => Ok(()),
        }
    }
}

/// The store failed.
fn store_failure(why: StoreError) -> Failure {
    Failure::Unfit(why.to_string())
}

/// Makes objects of all streams of the network, which came as `sealing` says.
fn close_all(station: &StationState, sealing: Sealing) -> Result<(), StoreError> {
    let open = station.store().open_streams(station.network())?;
    open.into_iter()
        .try_for_each(|of| close(station, of, sealing))
}

/// Makes an object of a source's bytes.
fn close(
    station: &StationState,
    (job, source): (JobId, NodeId),
    sealing: Sealing,
) -> Result<(), StoreError> {
    let (object, took_s) = station.store().stream(job, source)?;
    if object.is_empty() {
        return Ok(());
    }
    let goodput = BitRate::of_bytes(object.len() as u64, Duration::from_secs_f64(took_s));
    let record = Summary {
        protocol: "rcrt".to_owned(),
        testbed: station.network().to_owned(),
        source,
        sink: station.facts.network.sink,
        bytes: object.len() as u64,
        // In order and without a gap, but its source sends no digest.
        verified: false,
        sealed: sealing == Sealing::Sealed,
        goodput_kbps: if took_s > 0.0 { goodput.kbps() } else { 0.0 },
        utilisation: None,
        rounds: 1,
        first_round_reliability: None,
        active_nodes: 0,
        hops: 0,
        paths: 1,
        energy_j: None,
        network_energy_j: None,
        cold: None,
        waited_s: 0.0,
        duration_s: took_s,
        attempts: 1,
        failure: None,
        seed: station.facts.network.draw.1,
    };
    let report = serde_json::to_string(&record).unwrap_or_default();
    let new = NewTransfer {
        record: &record,
        baseline: None,
        report: &report,
        campaign: None,
        job: None,
        file: None,
    };
    station.close_stream((job, source), &new, &object).map(drop)
}

/// Makes objects of what a killed daemon left; logs a failure. Nothing says whether that was sealed.
pub(super) fn close_leftovers(station: &StationState) {
    if let Err(why) = close_all(station, Sealing::Open) {
        station.log(
            Level::Warning,
            &format!("what came in a session is no object yet: {why}"),
        );
    }
}

/// The number of the next session in a secured network: an interrupted one goes on under another.
pub(super) fn number(station: &StationState) -> Result<Option<u32>, Stop> {
    let numbered = station
        .facts
        .network
        .keys
        .as_ref()
        .map(|_| reserve(station));
    numbered.transpose().map_err(Stop::Lost)
}

/// Runs session `job` over `tree` to its end; it has a number where it is sealed.
pub(super) fn run(
    station: &StationState,
    (job, name): (&StoredJob, &str),
    request: &SessionRequest,
    (mut tree, number): (Tree<'_>, Option<u32>),
) -> Result<(), Stop> {
    // Those of an interrupted session.
    close_all(station, Sealing::Open)?;
    let store = SessionStore::new(station, job.id, request.duration_s)?;
    let left = store.left();
    if left.is_some_and(|left| left == Duration::ZERO) {
        return end(station, (job, name), &store, Ok(()));
    }
    let began = tree.now();
    let session = Session::new(
        (station.facts.network.sink, began),
        request,
        left,
        Config::STEADY,
        store,
    );
    let mut session = session.map_err(|why| Stop::Failed(why.to_string()))?;
    if let Some((keys, number)) = station.facts.network.keys.as_ref().zip(number) {
        let of = (station.facts.network.sink, number);
        session = session.sealed(|node| keys.session(node, of));
    }
    let mut watched = Watched {
        network: &mut tree,
        stop: &|| station.is_interrupted(),
        before: &|_| Ok(None),
        tick: &|_| {},
        recall: &|| None,
    };
    let ended = thalweg_host::job::run(&mut watched, &mut session, &mut |_| Continue(()));
    let (mut store, stored) = session.finish(watched.now());
    // Its nodes' meters began with it. Any of them may relay, and listens.
    let on = (
        &station.facts.network.place.ids[..],
        tree.now().since(began),
    );
    let metered = super::read_meters(&mut tree, station);
    super::write_spent(station, metered, on);
    // The bytes become objects, however the session ended.
    let closed = stored.map_err(Stop::from);
    let closed = closed.and_then(|()| store.close().map_err(Stop::from));
    let ended = ended.map_err(Stop::from).and(closed);
    end(station, (job, name), &store, ended)
}

/// Stores the outcome.
fn end(
    station: &StationState,
    (job, name): (&StoredJob, &str),
    store: &SessionStore<'_>,
    ended: Result<(), Stop>,
) -> Result<(), Stop> {
    let outcome = store.outcome();
    match &ended {
        Ok(()) => (station.store()).end_job(job.id, JobState::Done, Some(&outcome), None)?,
        Err(_) => station.store().set_outcome(job.id, &outcome)?,
    }
    let sum = |of: fn(&SourceStatus) -> u64| store.sources.iter().map(of).sum::<u64>();
    let line = format!(
        "{name}: {} of {} in {:.0} s, {} of them repaired",
        count(sum(|s| s.packets), "packet"),
        count(
            store.sources.iter().filter(|s| s.packets > 0).count(),
            "node"
        ),
        store.at_s,
        sum(|s| s.repaired)
    );
    station.log(Level::Info, &line);
    ended
}
