//! A base station behind a line: a serial port, a pseudo-terminal, a TCP stream. A [`Network`] like the simulated one.
//!
//! Owns: the thread that keeps the session alive while a job computes, the received bytes, the station's clock. Time
//! base: real time since the line was opened. Invariants: queues are bounded; an order is taken in a session or
//! refused; bytes of an earlier session are dropped. The protocol: docs/line.md. Tests:
//! `crates/simnet/tests/all/line/`.

mod clock;
mod conversation;
mod error;
mod heard;
mod session;
mod stepped;
mod stream;
mod worker;

pub use session::LineSession;
pub use stepped::{SteppedNetwork, Steps};
pub use stream::{Address, AddressError, Open, Stream};

use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use clock::Readings;
pub use error::LineError;
use heard::Heard;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Wall};
use thalweg_protocols::line::station::{max_order_bytes, Event};
use thalweg_protocols::mote::{self, Command};
use thalweg_units::{Instant, NodeId};
use thalweg_wire::host::{About, Unread, Version};
use thalweg_wire::{WireError, Writer};
use worker::Worker;

/// The most nodes that an order can name.
const NODES: usize = crate::transfer::pipeline::MAX_NODES;
/// The most notices that wait to be read; beyond, the station waits.
const NEWS: usize = 1_024;
/// Orders that wait for room on the line: as many as a base station's node has room for messages of a session.
const ORDERS: usize = 64;
/// How often to check for a request to stop.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// The orders to its base station.
type Order = Command<NODES>;

/// A notice from the worker.
#[derive(Debug, Clone, Copy)]
enum LineNotice {
    Event(Instant, Event),
    Unread(Unread),
    Restarted(NodeId),
    Silent(NodeId),
}

/// The bytes of an object that came over the line.
#[derive(Debug, Default)]
struct Received {
    bytes: Vec<u8>,
    /// How many came: each once, in any order.
    count: usize,
}

impl Received {
    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// How long to wait for an object's last bytes on the line.
const BYTES_PATIENCE: Duration = Duration::from_secs(5);
/// How often to look for them.
const BYTES_CHECK: Duration = Duration::from_millis(2);

/// What worker and network share.
#[derive(Debug, Default)]
struct Shared {
    /// The base station in session.
    station: Option<About>,
    /// The one of the last session, for its name while it is away.
    last: Option<About>,
    foreign: Option<Version>,
    /// What came outside of sessions.
    heard: Heard,
    /// Why the line could not be opened the last time.
    closed: Option<Closed>,
    /// The object that is being received.
    received: Received,
    readings: Readings,
}

/// Why a line could not be opened.
#[derive(Debug, Clone)]
struct Closed {
    kind: std::io::ErrorKind,
    why: String,
}

impl Closed {
    fn of(error: &std::io::Error) -> Self {
        let (kind, why) = (error.kind(), crate::store::plain(error));
        Self { kind, why }
    }
    /// Whether it is not worth waiting for: another program has it.
    fn is_taken(&self) -> bool {
        self.kind == std::io::ErrorKind::ResourceBusy
    }
}

/// Locks; a thread that panicked left nothing half done.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether to stop.
pub type Stopping = Box<dyn Fn() -> bool + Send>;

/// A base station behind a line.
pub struct LineNetwork {
    address: String,
    opened: Wall,
    shared: Arc<Mutex<Shared>>,
    orders: Option<SyncSender<Vec<u8>>>,
    news: Receiver<LineNotice>,
    worker: Option<JoinHandle<()>>,
    stopping: Stopping,
}

impl LineNetwork {
    /// The line that `open` opens, and a base station at it within `patience`. `stopping` is checked now and then.
    ///
    /// # Errors
    /// [`LineError`].
    pub fn open(
        open: Box<dyn Open>,
        patience: Duration,
        stopping: Stopping,
    ) -> Result<Self, LineError> {
        let network = Self::new(open, stopping)?;
        network.wait(patience)?;
        Ok(network)
    }

    /// The line that `open` opens, again and again while it is away; [`LineNetwork::wait`] says whether a station
    /// answers. `stopping` is checked now and then.
    ///
    /// # Errors
    /// [`LineError::Open`] where the system has no thread for it.
    pub fn new(open: Box<dyn Open>, stopping: Stopping) -> Result<Self, LineError> {
        let (orders, ordered) = sync_channel(ORDERS);
        let (notices, news) = sync_channel(NEWS);
        let (shared, opened) = (Arc::new(Mutex::new(Shared::default())), Wall::now());
        let address = open.address();
        let worker = Worker::new(open, ordered, notices, Arc::clone(&shared), opened);
        let worker = std::thread::Builder::new()
            .name("line".to_owned())
            .spawn(move || worker.run())
            .map_err(|why| LineError::Open {
                address: address.clone(),
                why: why.to_string(),
            })?;
        Ok(Self {
            address,
            opened,
            shared,
            orders: Some(orders),
            news,
            worker: Some(worker),
            stopping,
        })
    }

    /// Waits up to `patience` for a session, but not for a port that another program has.
    ///
    /// # Errors
    /// [`LineError`].
    pub fn wait(&self, patience: Duration) -> Result<About, LineError> {
        let until = Wall::now() + patience;
        let address = || self.address.clone();
        loop {
            let late = Wall::now() >= until || (self.stopping)();
            let shared = lock(&self.shared);
            match (shared.station, shared.foreign, &shared.closed) {
                (Some(about), ..) => return Ok(about),
                (None, Some(theirs), _) => {
                    let address = address();
                    return Err(LineError::Version { address, theirs });
                }
                (None, None, Some(closed)) if late || closed.is_taken() => {
                    let (address, why) = (address(), closed.why.clone());
                    return Err(LineError::Open { address, why });
                }
                _ if late => {
                    let (address, heard) = (address(), shared.heard.line());
                    return Err(LineError::NoAnswer { address, heard });
                }
                _ => {}
            }
            drop(shared);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The present base station, or the last.
    pub fn station(&self) -> Option<About> {
        let shared = lock(&self.shared);
        shared.station.or(shared.last)
    }

    fn check_station(&self, station: NodeId) -> Result<About, LineError> {
        let about = self.station().filter(|about| about.node == station);
        about.ok_or(LineError::NoStation(station))
    }

    /// Gives `station` the order that `write` writes.
    fn give(
        &self,
        station: NodeId,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
    ) -> Result<(), LineError> {
        let about = self.check_station(station)?;
        self.check_session()?;
        let order = written(&about, write)?;
        let sent = self.orders.as_ref().map(|orders| orders.try_send(order));
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(TrySendError::Full(_))) => Err(LineError::Full {
                address: self.address.clone(),
            }),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(LineError::Ended),
        }
    }

    /// The next notice, with the time of an event by the station's clock, or [`Notice::Nothing`] at `until`.
    fn next_event(&mut self, until: NetworkTime) -> Result<Notice<(Instant, Event)>, LineError> {
        loop {
            if (self.stopping)() {
                return Ok(Notice::Cancelled);
            }
            let now = self.now();
            let left = Duration::from_nanos(until.since(now).as_nanos()).min(STOP_CHECK);
            return match self.news.recv_timeout(left) {
                Ok(LineNotice::Event(local, event)) => {
                    let by = self.station().map_or(NodeId::MAX, |about| about.node);
                    let at = self.when(by, local).min(self.now());
                    Ok(Notice::Event(at, by, (local, event)))
                }
                Ok(LineNotice::Restarted(node)) => Ok(Notice::Restarted(node)),
                Ok(LineNotice::Silent(node)) => Ok(Notice::Silent(node)),
                Ok(LineNotice::Unread(why)) => Err(LineError::Unread(why)),
                Err(RecvTimeoutError::Timeout) if self.now() < until => continue,
                Err(RecvTimeoutError::Timeout) => Ok(Notice::Nothing),
                Err(RecvTimeoutError::Disconnected) => Err(LineError::Ended),
            };
        }
    }

    fn check_session(&self) -> Result<(), LineError> {
        check_session(&lock(&self.shared), &self.address)
    }
}

/// Whether there is a session at `address`, and if not, why.
fn check_session(shared: &Shared, address: &str) -> Result<(), LineError> {
    let address = || address.to_owned();
    match (shared.station, shared.foreign) {
        (Some(_), _) => Ok(()),
        (None, Some(theirs)) => Err(LineError::Version {
            address: address(),
            theirs,
        }),
        (None, None) => Err(LineError::Down { address: address() }),
    }
}

/// The order that `write` writes, where the station takes so long a one.
fn written(
    about: &About,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
) -> Result<Vec<u8>, LineError> {
    let mut order = vec![0; max_order_bytes(NODES)];
    let mut w = Writer::new(&mut order);
    write(&mut w)?;
    let (bytes, room) = (w.len(), about.limits.order_bytes);
    if bytes > usize::from(room) {
        return Err(LineError::TooLong { bytes, room });
    }
    order.truncate(bytes);
    Ok(order)
}

impl Drop for LineNetwork {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(worker) = self.worker.take() {
            // It checks for orders every few milliseconds. Its panic, if any, was reported there.
            let _ = worker.join();
        }
    }
}

impl Clock for LineNetwork {
    fn when(&self, _station: NodeId, local: Instant) -> NetworkTime {
        let when = lock(&self.shared).readings.when(local);
        when.unwrap_or_else(|| self.now())
    }
}

impl Network for LineNetwork {
    type Order = Order;
    type Event = mote::Event;

    fn now(&self) -> NetworkTime {
        since(self.opened)
    }

    fn order(&mut self, station: NodeId, order: Order) -> Result<(), NetworkFault> {
        Ok(self.give(station, |w| order.emit(w))?)
    }

    fn next(&mut self, until: NetworkTime) -> Result<Notice<mote::Event>, NetworkFault> {
        loop {
            return Ok(match self.next_event(until)? {
                Notice::Event(at, by, (_, Event::Mote(event))) => Notice::Event(at, by, event),
                // Of a session that is over.
                Notice::Event(..) => continue,
                Notice::Restarted(node) => Notice::Restarted(node),
                Notice::Silent(node) => Notice::Silent(node),
                Notice::Cancelled => Notice::Cancelled,
                Notice::Nothing => Notice::Nothing,
            });
        }
    }

    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        self.check_station(station)?;
        // The end of a transfer is reported as soon as its last packet is there; bytes may still be on the line.
        let until = Wall::now() + BYTES_PATIENCE;
        while lock(&self.shared).received.count < len && Wall::now() < until {
            std::thread::sleep(BYTES_CHECK);
        }
        let mut received = std::mem::take(&mut lock(&self.shared).received);
        received.bytes.truncate(len);
        Ok(received.bytes)
    }

    fn joules(&mut self, _node: NodeId) -> Option<f64> {
        None
    }
}

/// Network time.
fn since(opened: Wall) -> NetworkTime {
    let since = opened.elapsed().as_nanos();
    NetworkTime::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
}
