//! A session of RCRT behind a base station's line: its node hands up packets, and sends down what the sink says.
//!
//! The sink runs at the host: it answers within seconds, which a line's latency hardly adds to, and keeps what came
//! where the store is. Time base: the station's clock as far as the host knows it, so that rates are the network's.
//! Invariants: time never goes back; an order that finds no room is a message that was lost, which the protocol
//! mends; the session ends as this is dropped, or with the line. Tests: `crates/simnet/tests/all/line/`.

use super::{look, LineError, LineNetwork};
use crate::job::Failure;
use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use std::cell::Cell;
use thalweg_protocols::line::station::{Event, NotBegun, Order, Sources};
use thalweg_protocols::mote::Command;
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::host::Carries;
use thalweg_wire::rcrt::Rate;

/// How long a base station's answer to the order is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait for news: how fast the station's clock runs is only estimated.
const LOOK: Duration = Duration::from_millis(20);

/// So often room for the order that ends it is looked for, each time after a [`TURN`].
const STOPS: u32 = 100;
const TURN: std::time::Duration = std::time::Duration::from_millis(10);

/// What is ordered: no list of nodes.
type Given<'a> = Order<'a, 0>;

/// A base station in a session.
pub struct LineSession<'a> {
    line: &'a mut LineNetwork,
    station: NodeId,
    /// The latest that was told of the station's clock.
    latest: Cell<NetworkTime>,
}

impl LineNetwork {
    /// Has `sources` send, at the rates that they want, in packets per second, until what this gives is dropped.
    ///
    /// # Errors
    /// [`Failure::Refused`] where the base station does not; how the line failed.
    pub fn session(
        &mut self,
        station: NodeId,
        sources: &[(NodeId, f64)],
    ) -> Result<LineSession<'_>, Failure> {
        let about = self.known(station).map_err(NetworkFault::from)?;
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
            match self.hear(until) {
                Ok(Notice::Event(_, _, (_, Event::Begun))) => break,
                Ok(Notice::Event(_, _, (_, Event::NotBegun(why)))) => {
                    return Err(Failure::Refused(refusal(why).to_owned()));
                }
                // Of an order before.
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
    }
}

/// Network time is what the station's clock reads.
const fn field_time(local: Instant) -> NetworkTime {
    NetworkTime::from_nanos(local.as_nanos())
}

impl Drop for LineSession<'_> {
    fn drop(&mut self) {
        let stop = Given::Mote(Command::Stop);
        for _ in 0..STOPS {
            match self.line.give(self.station, |w| stop.emit(w)) {
                Err(LineError::Full { .. }) => std::thread::sleep(TURN),
                // A station that is out of reach ends it by itself.
                Ok(()) | Err(_) => return,
            }
        }
    }
}

impl Clock for LineSession<'_> {
    fn when(&self, _station: NodeId, local: Instant) -> NetworkTime {
        field_time(local)
    }
}

impl Network for LineSession<'_> {
    type Order = Send;
    type Event = Handed;

    fn now(&self) -> NetworkTime {
        let reads = look(&self.line.shared).readings.reads(self.line.now());
        let now = reads.map_or(self.latest.get(), field_time);
        self.latest.set(now.max(self.latest.get()));
        self.latest.get()
    }
    fn order(&mut self, station: NodeId, order: Send) -> Result<(), NetworkFault> {
        let given = Given::Send(order);
        match self.line.give(station, |w| given.emit(w)) {
            Ok(()) | Err(LineError::Full { .. }) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Handed>, NetworkFault> {
        loop {
            let wait = self.line.now() + until.since(self.now()).min(LOOK);
            return Ok(match self.line.hear(wait)? {
                Notice::Event(_, by, (local, Event::Handed(handed))) => {
                    let at = field_time(local).max(self.latest.get());
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
