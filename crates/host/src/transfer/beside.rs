//! The network for tests of sessions: one mote right beside a base station.

use super::session::FLOW;
use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use thalweg_protocols::rcrt::source::{self, Order, Source, Supply};
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_protocols::stack::{Packet, Room, Upper};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::Rate;
use thalweg_wire::tree::Direction;

const STEP: Duration = Duration::from_millis(20);

pub(super) fn id(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn instant(at: NetworkTime) -> Instant {
    Instant::from_nanos(at.as_nanos())
}

/// Node 7 beside base station 1.
pub(super) struct Beside<S, M> {
    mote: Source<S, 1>,
    /// Makes what it sends.
    make: M,
    demand: f64,
    pub now: NetworkTime,
    sent: u64,
    /// One packet of so many is lost.
    pub lose: u64,
    /// When the mote forgets everything.
    pub forgets: Option<NetworkTime>,
    /// Called when it has heard a message.
    pub heard: Box<dyn Fn()>,
}

impl<S: Supply, M: Fn() -> S> Beside<S, M> {
    pub(super) fn new(make: M, demand: f64) -> Self {
        Self {
            mote: mote(make(), demand, 1),
            make,
            demand,
            now: NetworkTime::ZERO,
            sent: 0,
            lose: u64::MAX,
            forgets: None,
            heard: Box::new(|| ()),
        }
    }
}

fn mote<S: Supply>(supply: S, demand: f64, connection: u8) -> Source<S, 1> {
    let mut mote = Source::new(source::Config::PAPER, supply);
    let order = Order::Open {
        flow: FLOW,
        connection,
        demand: Rate::from_per_s(demand),
    };
    mote.handle_command(Instant::ZERO, order);
    mote
}

impl<S: Supply, M> Clock for Beside<S, M> {
    fn when(&self, _station: NodeId, local: Instant) -> NetworkTime {
        NetworkTime::from_nanos(local.as_nanos())
    }
}

impl<S: Supply, M: Fn() -> S> Network for Beside<S, M> {
    type Order = Send;
    type Event = Handed;

    fn now(&self) -> NetworkTime {
        self.now
    }
    fn order(&mut self, station: NodeId, Send { to, message }: Send) -> Result<(), NetworkFault> {
        assert_eq!((station, to), (id(1), id(7)));
        let down = Packet {
            direction: Direction::Down { to },
            origin: station,
            number: 1,
            hops: 1,
            payload: message,
        };
        self.mote.arrived(instant(self.now), &down);
        (self.heard)();
        Ok(())
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Handed>, NetworkFault> {
        while self.now < until {
            if let Some((_, message)) = self.mote.next(instant(self.now), |_| Room::Free) {
                self.sent += 1;
                if !self.sent.is_multiple_of(self.lose) {
                    let packet = Handed::Packet {
                        origin: id(7),
                        number: self.sent as u16,
                        hops: 1,
                        message,
                    };
                    return Ok(Notice::Event(self.now, id(1), packet));
                }
                continue;
            }
            self.now += STEP;
            self.mote.handle_timeout(instant(self.now));
            if self.forgets.is_some_and(|at| at <= self.now) {
                self.forgets = None;
                self.mote = mote((self.make)(), self.demand, 2);
            }
        }
        Ok(Notice::Nothing)
    }
    fn take(&mut self, _station: NodeId, _len: usize) -> Result<Vec<u8>, NetworkFault> {
        Ok(Vec::new())
    }
    fn joules(&mut self, _node: NodeId) -> Option<f64> {
        None
    }
}
