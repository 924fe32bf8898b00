//! A session of RCRT behind a base station's line: its node hands up packets, and sends down what the sink says.
//!
//! The sink runs at the host: it answers within seconds, which a line's latency hardly adds to, and keeps what came
//! where the store is. Time base: the station's clock as far as the host knows it, so that rates are the network's.
//! Invariants: time never goes back; an order that finds no room is a message that was lost, which the protocol
//! mends; the session ends as this is dropped, or with the line. Tests: `crates/simnet/tests/all/line/`.

use super::{look, LineError, LineField};
use crate::field::{Clock, Field, FieldError, FieldTime, News};
use crate::job::Failure;
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
    line: &'a mut LineField,
    station: NodeId,
    /// The latest that was told of the station's clock.
    latest: Cell<FieldTime>,
}

impl LineField {
    /// Has `sources` send, at the rates that they want, in packets per second, until what this gives is dropped.
    ///
    /// # Errors
    /// [`Failure::Refused`] where the base station does not; how the line failed.
    pub fn session(
        &mut self,
        station: NodeId,
        sources: &[(NodeId, f64)],
    ) -> Result<LineSession<'_>, Failure> {
        let about = self.known(station).map_err(FieldError::from)?;
        if about.carries != Carries::PipelinesAndSessions {
            let why = "its firmware carries no sessions";
            return Err(Failure::Refused(why.to_owned()));
        }
        let rate = |(node, demand): &(NodeId, f64)| (*node, Rate::from_per_s(*demand));
        let mut sources: Vec<_> = sources.iter().map(rate).collect();
        sources.sort_unstable_by_key(|(node, _)| *node);
        let given = self.give(station, |w| Sources::order(&sources, w));
        given.map_err(FieldError::from)?;
        let until = self.now() + PATIENCE;
        loop {
            match self.hear(until) {
                Ok(News::Told(_, _, (_, Event::Begun))) => break,
                Ok(News::Told(_, _, (_, Event::NotBegun(why)))) => {
                    return Err(Failure::Refused(refusal(why).to_owned()));
                }
                // Of an order before.
                Ok(News::Told(..)) => {}
                Ok(News::Restarted(by)) => return Err(Failure::Restarted(by)),
                Ok(News::Silent(by)) => return Err(Failure::Silent(by)),
                Ok(News::Cancelled) => return Err(Failure::Cancelled),
                Ok(News::Nothing) => return Err(Failure::NoEnd(PATIENCE)),
                Err(why @ LineError::Unread(_)) => return Err(Failure::Refused(why.to_string())),
                Err(why) => return Err(FieldError::from(why).into()),
            }
        }
        Ok(LineSession {
            line: self,
            station,
            latest: Cell::new(FieldTime::ZERO),
        })
    }
}

const fn refusal(why: NotBegun) -> &'static str {
    match why {
        NotBegun::NoSuchNode => "a source is no node of its network",
        NotBegun::NotCarried => "its nodes carry no sessions",
    }
}

/// Field time is what the station's clock reads.
const fn field_time(local: Instant) -> FieldTime {
    FieldTime::from_nanos(local.as_nanos())
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
    fn when(&self, _station: NodeId, local: Instant) -> FieldTime {
        field_time(local)
    }
}

impl Field for LineSession<'_> {
    type Order = Send;
    type Event = Handed;

    fn now(&self) -> FieldTime {
        let reads = look(&self.line.shared).readings.reads(self.line.now());
        let now = reads.map_or(self.latest.get(), field_time);
        self.latest.set(now.max(self.latest.get()));
        self.latest.get()
    }
    fn order(&mut self, station: NodeId, order: Send) -> Result<(), FieldError> {
        let given = Given::Send(order);
        match self.line.give(station, |w| given.emit(w)) {
            Ok(()) | Err(LineError::Full { .. }) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
    fn next(&mut self, until: FieldTime) -> Result<News<Handed>, FieldError> {
        loop {
            let wait = self.line.now() + until.since(self.now()).min(LOOK);
            return Ok(match self.line.hear(wait)? {
                News::Told(_, by, (local, Event::Handed(handed))) => {
                    let at = field_time(local).max(self.latest.get());
                    self.latest.set(at);
                    News::Told(at, by, handed)
                }
                News::Restarted(node) => News::Restarted(node),
                News::Silent(node) => News::Silent(node),
                News::Cancelled => News::Cancelled,
                News::Nothing if self.now() >= until => News::Nothing,
                News::Nothing | News::Told(..) => continue,
            });
        }
    }
    fn take(&mut self, _station: NodeId, _len: usize) -> Result<Vec<u8>, FieldError> {
        // Packets are handed up at once.
        Ok(Vec::new())
    }
    fn joules(&mut self, _node: NodeId) -> Option<f64> {
        None
    }
}
