//! A base station in this process, whose time passes only as its host has it: emulated chips, without a wall clock.
//!
//! The same session as over a line ([`super::conversation`]). Time base: the station's network's. Invariant: same
//! station, same orders, same bytes, however slow the computer. Tests: `crates/thalweg/tests/all/emulated/mod.rs`.

use super::conversation::Conversation;
use super::{check_session, lock, written, LineError, LineNotice, Shared, BYTES_PATIENCE};
use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use std::sync::{Arc, Mutex};
use thalweg_protocols::line::station::Event;
use thalweg_protocols::mote;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::host::About;

/// Any number: nothing else was in a session with the station.
const SEED: u32 = 1;

/// A base station and its network.
pub trait Steps {
    /// The present.
    fn now(&self) -> NetworkTime;
    /// Lets time pass until `until`.
    ///
    /// # Errors
    /// [`NetworkFault::Broken`].
    fn run(&mut self, until: NetworkTime) -> Result<(), NetworkFault>;
    /// Puts bytes on the station's line.
    fn write(&mut self, bytes: &[u8]);
    /// Takes what the station has put on its line.
    fn read(&mut self) -> Vec<u8>;
    /// What `node` has spent so far, in joules; none without a meter.
    fn joules(&mut self, node: NodeId) -> Option<f64>;
}

/// The network of a station whose time the host makes pass.
pub struct SteppedNetwork<S> {
    /// The station.
    pub station: S,
    /// How often the host looks at the line.
    turn: Duration,
    talk: Conversation,
    shared: Arc<Mutex<Shared>>,
    out: Vec<u8>,
}

impl<S: Steps> SteppedNetwork<S> {
    /// In session with `station` within `patience` of its time. The host looks at the line once in a `turn`.
    ///
    /// # Errors
    /// [`LineError::NoAnswer`], and how the network failed.
    pub fn open(station: S, turn: Duration, patience: Duration) -> Result<Self, NetworkFault> {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let mut network = Self {
            station,
            turn,
            talk: Conversation::new(SEED, Arc::clone(&shared)),
            shared,
            out: Vec::new(),
        };
        let until = network.now() + patience;
        while lock(&network.shared).station.is_none() {
            if network.now() >= until {
                let address = NAME.to_owned();
                let heard = lock(&network.shared).heard.line();
                return Err(LineError::NoAnswer { address, heard }.into());
            }
            network.pass(until)?;
        }
        Ok(network)
    }

    /// One look at the line, and a turn of time, but not beyond `until`.
    fn pass(&mut self, until: NetworkTime) -> Result<(), NetworkFault> {
        let now = self.local();
        let heard = self.station.read();
        self.talk.receive(now, &heard);
        self.talk.step(now);
        self.talk.transmit(now, &mut self.out);
        self.station.write(&std::mem::take(&mut self.out));
        self.station.run(until.min(self.now() + self.turn))
    }
    /// The host's clock.
    fn local(&self) -> Instant {
        Instant::from_nanos(self.now().as_nanos())
    }
    fn check_station(&self, station: NodeId) -> Result<About, LineError> {
        let shared = lock(&self.shared);
        let about = shared.station.or(shared.last);
        let about = about.filter(|about| about.node == station);
        about.ok_or(LineError::NoStation(station))
    }
    fn notice(&mut self) -> Result<Option<Notice<mote::Event>>, LineError> {
        while let Some(notice) = self.talk.notices.pop_front() {
            return Ok(Some(match notice {
                LineNotice::Event(local, Event::Mote(event)) => {
                    let by = lock(&self.shared)
                        .last
                        .map_or(NodeId::MAX, |about| about.node);
                    Notice::Event(self.when(by, local).min(self.now()), by, event)
                }
                // Nobody asked for a session of RCRT.
                LineNotice::Event(..) => continue,
                LineNotice::Restarted(node) => Notice::Restarted(node),
                LineNotice::Silent(node) => Notice::Silent(node),
                LineNotice::Unread(why) => return Err(LineError::Unread(why)),
            }));
        }
        Ok(None)
    }
}

/// What its errors call it.
const NAME: &str = "this process";

impl<S: Steps> Clock for SteppedNetwork<S> {
    fn when(&self, _station: NodeId, local: Instant) -> NetworkTime {
        let when = lock(&self.shared).readings.when(local);
        when.unwrap_or_else(|| self.now())
    }
}

impl<S: Steps> Network for SteppedNetwork<S> {
    type Order = super::Order;
    type Event = mote::Event;

    fn now(&self) -> NetworkTime {
        self.station.now()
    }
    fn order(&mut self, station: NodeId, order: Self::Order) -> Result<(), NetworkFault> {
        let about = self.check_station(station)?;
        let order = written(&about, |w| order.emit(w))?;
        loop {
            check_session(&lock(&self.shared), NAME)?;
            if !self.talk.has_order() {
                break;
            }
            self.pass(NetworkTime::MAX)?;
        }
        self.talk.order(order);
        Ok(())
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Self::Event>, NetworkFault> {
        loop {
            if let Some(notice) = self.notice()? {
                return Ok(notice);
            }
            if self.now() >= until {
                return Ok(Notice::Nothing);
            }
            self.pass(until)?;
        }
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        self.check_station(station)?;
        let until = self.now() + Duration::from_nanos(BYTES_PATIENCE.as_nanos() as u64);
        while lock(&self.shared).received.count < len && self.now() < until {
            self.pass(until)?;
        }
        let mut received = std::mem::take(&mut lock(&self.shared).received);
        received.bytes.truncate(len);
        Ok(received.bytes)
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        self.station.joules(node)
    }
}
