//! A base station in a thread, a line that can be made bad, and a host that collects.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use thalweg_host::collector::{Patience, Report};
use thalweg_host::job::Progress;
use thalweg_host::line::{Address, LineError, LineNetwork, Open, Stream};
use thalweg_host::link_state::PlanRequest;
use thalweg_host::registry::Pipelined;
use thalweg_host::security::{Security, WithNumbers};
use thalweg_simnet::basestation::{BaseStation, Pty, Setup};
use thalweg_simnet::collect::{CollectError, Object, Remote};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::NodeId;
use thalweg_wire::route::PayloadSize;

pub(crate) const SEED: u64 = 1;
const BAUD: u32 = 1_000_000;

pub(crate) fn site(testbed: &str) -> Site {
    Site::new(Testbed::load(testbed).unwrap(), SEED)
}

pub(crate) fn setup(bytes: u32) -> Setup {
    Setup {
        node: None,
        object: Object::Random { bytes },
        speed: 20.0,
        baud: None,
        room_bytes: 16 << 10,
        boot: 1,
        keys: None,
    }
}

/// A base station that serves until it is dropped.
pub(crate) struct Station {
    pub(crate) path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Station {
    pub(crate) fn start(site: &Site, setup: Setup) -> Self {
        let mut pty = Pty::open().unwrap();
        let (path, site) = (pty.path().to_owned(), site.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = move || {
            let mut station = BaseStation::open(&site, &setup).unwrap();
            let stop = || stopped.load(Ordering::Relaxed);
            station.run(&mut pty, &stop).unwrap();
        };
        Self {
            path,
            stop,
            thread: Some(std::thread::spawn(serve)),
        }
    }
    /// As if its plug were pulled: its terminal goes with it.
    pub(crate) fn kill(mut self) {
        self.end();
    }
    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where the base station is at present.
#[derive(Clone)]
pub(crate) struct Place(Arc<Mutex<PathBuf>>);

impl Place {
    pub(crate) fn of(station: &Station) -> Self {
        Self(Arc::new(Mutex::new(station.path.clone())))
    }
    pub(crate) fn moved(&self, station: &Station) {
        self.0.lock().unwrap().clone_from(&station.path);
    }
}

impl Open for Place {
    fn address(&self) -> String {
        "the line".to_owned()
    }
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        let path = self.0.lock().unwrap().clone();
        Address::Serial(path, BAUD).open()
    }
}

/// How bad a line is: faults in a thousand pieces of bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    pub(crate) dropped: u32,
    pub(crate) flipped: u32,
    pub(crate) delayed: u32,
}

/// What was done to a line.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) dropped: AtomicU32,
    pub(crate) flipped: AtomicU32,
    pub(crate) delayed: AtomicU32,
}

/// A line that splits what it carries, and drops, flips and delays some.
pub(crate) struct Bad {
    pub(crate) place: Place,
    pub(crate) faults: Faults,
    pub(crate) seed: u64,
    pub(crate) done: Arc<Done>,
}

impl Open for Bad {
    fn address(&self) -> String {
        self.place.address()
    }
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(BadStream {
            below: self.place.open()?,
            faults: self.faults,
            done: Arc::clone(&self.done),
            rng: Pcg64Mcg::seed_from_u64(self.seed),
            coming: VecDeque::new(),
        }))
    }
}

struct BadStream {
    below: Box<dyn Stream>,
    faults: Faults,
    done: Arc<Done>,
    rng: Pcg64Mcg,
    coming: VecDeque<u8>,
}

impl BadStream {
    /// A piece of `bytes` and what becomes of it.
    fn piece(&mut self, bytes: &[u8]) -> (usize, Vec<u8>) {
        let len = self.rng.random_range(1..=bytes.len().min(64));
        let mut piece = bytes[..len].to_vec();
        let (f, drawn) = (self.faults, self.rng.random_range(0..1000));
        let count = |of: &AtomicU32| {
            of.fetch_add(1, Ordering::Relaxed);
        };
        if drawn < f.dropped {
            count(&self.done.dropped);
            piece.clear();
        } else if drawn < f.dropped + f.flipped {
            count(&self.done.flipped);
            let at = self.rng.random_range(0..len);
            piece[at] ^= 1 << self.rng.random_range(0..8);
        } else if drawn < f.dropped + f.flipped + f.delayed {
            count(&self.done.delayed);
            std::thread::sleep(Duration::from_millis(self.rng.random_range(5..40)));
        }
        (len, piece)
    }
}

impl Stream for BadStream {
    fn read(&mut self, into: &mut [u8], within: Duration) -> io::Result<usize> {
        let mut room = [0; 512];
        let len = self.below.read(&mut room, within)?;
        let mut rest = &room[..len];
        while !rest.is_empty() {
            let (len, piece) = self.piece(rest);
            self.coming.extend(piece);
            rest = &rest[len..];
        }
        let len = self.coming.len().min(into.len());
        for (place, byte) in into.iter_mut().zip(self.coming.drain(..len)) {
            *place = byte;
        }
        Ok(len)
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let (len, piece) = self.piece(bytes);
        let mut rest = &piece[..];
        while !rest.is_empty() {
            let len = self.below.write(rest)?;
            rest = &rest[len..];
        }
        Ok(len)
    }
}

pub(crate) fn line(open: impl Open + 'static) -> Result<LineNetwork, LineError> {
    let patience = Duration::from_secs(10);
    LineNetwork::open(Box::new(open), patience, Box::new(|| false))
}

pub(crate) fn ask(from: u16, bytes: u32) -> PlanRequest {
    PlanRequest {
        from: Some(id(from)),
        bytes: u64::from(bytes),
        protocol: Pipelined::named("thalweg").unwrap(),
        payload: PayloadSize::MAX,
        paths: None,
        hops: None,
    }
}

/// The node called `n`.
pub(crate) fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

/// Collects from `sources`, telling `observer` how far it is.
pub(crate) fn collect(
    field: &mut LineNetwork,
    site: &Site,
    asked: (&[u16], u32),
    observer: impl FnMut(Progress),
) -> Result<Vec<Report>, CollectError> {
    collect_with(field, (site, None), asked, observer)
}

/// The same where the nodes have keys, if there is a `security`.
pub(crate) fn collect_with(
    field: &mut LineNetwork,
    (site, security): (&Site, Option<&Security>),
    (sources, bytes): (&[u16], u32),
    mut observer: impl FnMut(Progress),
) -> Result<Vec<Report>, CollectError> {
    let sink = field.station().unwrap().node;
    let mut told = |_: &str, progress| {
        observer(progress);
        ControlFlow::Continue(())
    };
    let first = ask(sources[0], bytes);
    let wanted = (sink, &first, Patience::DEFAULT);
    let keys = security.map(|security| security.keys.clone());
    let field = &mut WithNumbers {
        network: field,
        security,
    };
    let mut network = Remote::survey(field, (site, keys), wanted, None, 1, &mut told)?;
    let fetch = |from: &u16| network.fetch((&ask(*from, bytes), Patience::DEFAULT), &mut told);
    sources.iter().map(fetch).collect()
}

/// `report` is of the whole object of its node.
pub(crate) fn assert_whole(report: &Report, bytes: u32) {
    let summary = &report.outcome.summary;
    assert!(summary.verified, "{:?}", summary.failure);
    let sent = Object::Random { bytes }.of(SEED, summary.source);
    let came = report.object.as_deref().unwrap();
    assert!(came == &sent[..], "node {}: other bytes", summary.source);
}
