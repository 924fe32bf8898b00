//! A session of RCRT behind a base station's line: its node hands up packets, and sends down the sink's messages.
//!
//! The sink runs at the host, beside the store: it answers within seconds, to which a line's latency adds little.
//! Time base: the station's clock as the host estimates it, so that rates are the network's. Invariants: time never
//! goes back; an order that finds no room is a lost message, which the protocol repairs; the session ends when this
//! is dropped, or with the line. Tests: `crates/simnet/tests/all/line/`.

use super::{lock, LineError, LineNetwork};
use crate::job::Failure;
use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use std::cell::Cell;
use thalweg_protocols::line::station::{Event, NotBegun, Order, Sources};
use thalweg_protocols::mote::Command;
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::host::Carries;
use thalweg_wire::rcrt::Rate;

/// How long to wait for the base station's answer to the order.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait for a notice: the rate of the station's clock is only estimated.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// How often to try the order that ends it, each time after [`STOP_PAUSE`].
const STOPS: u32 = 100;
const STOP_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Its orders, which have no list of nodes.
type SessionOrder<'a> = Order<'a, 0>;

/// A base station in a session.
pub struct LineSession<'a> {
    line: &'a mut LineNetwork,
    station: NodeId,
    /// The latest time by the station's clock.
    latest: Cell<NetworkTime>,
}

impl LineNetwork {
    /// Has `sources` send, at the rates that they want, in packets per second, until the result is dropped.
    ///
    /// # Errors
    /// [`Failure::Refused`] where the base station does not; how the line failed.
    pub fn session(
        &mut self,
        station: NodeId,
        sources: &[(NodeId, f64)],
    ) -> Result<LineSession<'_>, Failure> {
        let about = self.check_station(station).map_err(NetworkFault::from)?;
        if about.carries != Carries::PipelinesAndSessions {
            let why = "its firmware carries no sessions";
            return Err(Failure::Refused(why.to_owned()));
        }
        let rate = |(node, demand): &(NodeId, f64)| (*node, Rate::from_per_s(*demand));
        let mut sources: Vec<_> = sources.iter().map(rate).collect();
        sources.sort_unstable_by_key(|(node, _)| *node);
        let given = self.give(station, |w| Sources::order(&sources, w));
        given.map_err(NetworkFault::from)?;
        let until = self.now() + PATIENCE;
        loop {
            match self.next_event(until) {
                Ok(Notice::Event(_, _, (_, Event::Begun))) => break,
                Ok(Notice::Event(_, _, (_, Event::NotBegun(why)))) => {
                    return Err(Failure::Refused(refusal(why).to_owned()));
                }
                // Of an earlier order.
                Ok(Notice::Event(..)) => {}
                Ok(Notice::Restarted(by)) => return Err(Failure::Restarted(by)),
                Ok(Notice::Silent(by)) => return Err(Failure::Silent(by)),
                Ok(Notice::Cancelled) => return Err(Failure::Cancelled),
                Ok(Notice::Nothing) => return Err(Failure::NoEnd(PATIENCE)),
                Err(why @ LineError::Unread(_)) => return Err(Failure::Refused(why.to_string())),
                Err(why) => return Err(NetworkFault::from(why).into()),
            }
        }
        Ok(LineSession {
            line: self,
            station,
            latest: Cell::new(NetworkTime::ZERO),
        })
    }
}

const fn refusal(why: NotBegun) -> &'static str {
    match why {
        NotBegun::NoSuchNode => "a source is no node of its network",
        NotBegun::NotCarried => "its nodes carry no sessions",
        NotBegun::TooMany => "it cannot call so many sources at once: 26 by firmware",
        NotBegun::NotCalled => {
            "its call to the nodes did not go out: another base station may be at work"
        }
    }
}

/// Network time is what the station's clock reads.
const fn station_time(local: Instant) -> NetworkTime {
    NetworkTime::from_nanos(local.as_nanos())
}

impl Drop for LineSession<'_> {
    fn drop(&mut self) {
        let stop = SessionOrder::Mote(Command::Stop);
        for _ in 0..STOPS {
            match self.line.give(self.station, |w| stop.emit(w)) {
                Err(LineError::Full { .. }) => std::thread::sleep(STOP_PAUSE),
                // A station that is out of reach ends it by itself.
                Ok(()) | Err(_) => return,
            }
        }
    }
}

impl Clock for LineSession<'_> {
    fn when(&self, _station: NodeId, local: Instant) -> NetworkTime {
        station_time(local)
    }
}

impl Network for LineSession<'_> {
    type Order = Send;
    type Event = Handed;

    fn now(&self) -> NetworkTime {
        let reads = lock(&self.line.shared).readings.reads(self.line.now());
        let now = reads.map_or(self.latest.get(), station_time);
        self.latest.set(now.max(self.latest.get()));
        self.latest.get()
    }
    fn order(&mut self, station: NodeId, order: Send) -> Result<(), NetworkFault> {
        let given = SessionOrder::Send(order);
        match self.line.give(station, |w| given.emit(w)) {
            Ok(()) | Err(LineError::Full { .. }) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Handed>, NetworkFault> {
        loop {
            let wait = self.line.now() + until.since(self.now()).min(LONGEST_WAIT);
            return Ok(match self.line.next_event(wait)? {
                Notice::Event(_, by, (local, Event::Handed(handed))) => {
                    let at = station_time(local).max(self.latest.get());
                    self.latest.set(at);
                    Notice::Event(at, by, handed)
                }
                Notice::Restarted(node) => Notice::Restarted(node),
                Notice::Silent(node) => Notice::Silent(node),
                Notice::Cancelled => Notice::Cancelled,
                Notice::Nothing if self.now() >= until => Notice::Nothing,
                Notice::Nothing | Notice::Event(..) => continue,
            });
        }
    }
    fn take(&mut self, _station: NodeId, _len: usize) -> Result<Vec<u8>, NetworkFault> {
        // Packets are handed up at once.
        Ok(Vec::new())
    }
    fn joules(&mut self, _node: NodeId) -> Option<f64> {
        None
    }
}
