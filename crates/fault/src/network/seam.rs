//! The host's seam: orders go to the base station, its notices come back, and at each step what must hold is checked.

use super::{at, Field};
use crate::shelf::May;
use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Break, Continue};
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice, SourceCounts};
use thalweg_host::transfer::pipeline::Order;
use thalweg_protocols::line::station::Event;
use thalweg_protocols::member::{self, PATIENCE};
use thalweg_protocols::mote::{self, Command};
use thalweg_protocols::object::ObjectStore;
use thalweg_sim::{Aired, Observer};
use thalweg_units::{Channel, Duration, Instant, NodeId, SimTime};
use thalweg_wire::hop::Subject;
use thalweg_wire::{mac, FrameBuf};

use crate::party::Party;

/// How long a path hop by hop may go on at most, where its order names no deadline.
const HOPS: Duration = Duration::from_secs(600);
/// How long a source may linger after a deadline.
const LINGER: Duration = Duration::from_secs(10);

/// Waits for the base station's next notice, and records frames.
struct Next<'a> {
    ids: &'a [NodeId],
    latest: Option<&'a mut BTreeMap<u8, (FrameBuf, Channel)>>,
    outsider: Option<usize>,
    notice: Notice<Event>,
}

impl Observer<Event> for Next<'_> {
    fn event(&mut self, at: SimTime, node: usize, event: Event) -> ControlFlow<()> {
        if node != 0 {
            return Continue(());
        }
        self.notice = Notice::Event(at, self.ids[0], event);
        Break(())
    }
    fn started(&mut self, _at: SimTime, node: usize) -> ControlFlow<()> {
        if node != 0 {
            return Continue(());
        }
        self.notice = Notice::Restarted(self.ids[0]);
        Break(())
    }
    fn aired(&mut self, frame: &Aired<'_>) {
        let Some(latest) = &mut self.latest else {
            return;
        };
        if self.outsider == Some(frame.from) {
            return;
        }
        if let (Ok(kind), Ok(mpdu)) = (mac::dispatch(frame.mpdu), FrameBuf::from_slice(frame.mpdu))
        {
            latest.insert(kind, (mpdu, frame.channel));
        }
    }
}

impl Field {
    /// The base station's next notice, or [`Notice::Nothing`] at `until`.
    pub(crate) fn step(&mut self, until: NetworkTime) -> Result<Notice<Event>, NetworkFault> {
        loop {
            self.strike();
            self.broken()?;
            let due = self.agenda.last().map_or(until, |s| at(s.at_ms).min(until));
            let mut next = Next {
                ids: &self.ids,
                latest: self.latest.as_mut(),
                outsider: self.outsiders.radio,
                notice: Notice::Nothing,
            };
            let ran = self.net.run_with(due, &mut next);
            let notice = next.notice;
            if let Err(why) = ran {
                return Err(self.fail(&why));
            }
            self.check();
            self.broken()?;
            if notice != Notice::Nothing || self.net.now() >= until {
                return Ok(notice);
            }
        }
    }
    /// Gives the base station an order.
    pub(crate) fn give(
        &mut self,
        station: NodeId,
        order: crate::party::Order,
    ) -> Result<(), NetworkFault> {
        let n = self.index(station).filter(|n| *n == 0);
        let n = n.ok_or(NetworkFault::NoStation(station))?;
        self.net.command(n, order);
        self.check();
        self.broken()
    }
    /// All nodes may send what they have in a session that lasts until `end`: one that misses its end goes on for a while.
    pub(crate) fn allow_session(&mut self, end: NetworkTime) {
        for n in 1..self.ids.len() {
            self.allow_until(n, end + PATIENCE + LINGER);
        }
    }
    /// Node `n` may be read until then.
    fn allow_until(&mut self, n: usize, until: NetworkTime) {
        self.ordered[n] = self.ordered[n].max(until);
        self.allow(n, May::Read);
    }
}

impl Clock for Field {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        let index = self.index(station);
        index.map_or(self.net.now(), |n| self.net.when(n, local))
    }
}

impl Network for Field {
    type Order = Order;
    type Event = mote::Event;

    fn now(&self) -> NetworkTime {
        self.net.now()
    }
    fn order(&mut self, station: NodeId, order: Order) -> Result<(), NetworkFault> {
        let wanted = match &order {
            Command::Fetch(route) | Command::FetchTogether { route, .. } => {
                let deadline = Duration::from_secs(u64::from(route.deadline_s));
                Some((route.source, deadline))
            }
            Command::FetchHops(route) if route.subject == Subject::Object => {
                Some((route.source(), HOPS))
            }
            _ => None,
        };
        if let Some((source, time)) = wanted {
            if let Some(n) = self.index(source) {
                self.allow_until(n, self.net.now() + time + LINGER);
            }
        }
        if let Some(security) = &self.security {
            if let Some(numbers) = security.before(&order)? {
                self.net.command(0, member::Command::Mote(numbers));
            }
        }
        self.give(station, member::Command::Mote(order))
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<mote::Event>, NetworkFault> {
        loop {
            return Ok(match self.step(until)? {
                Notice::Event(at, by, Event::Mote(event)) => Notice::Event(at, by, event),
                // Of a session that is over.
                Notice::Event(..) => continue,
                Notice::Restarted(by) => Notice::Restarted(by),
                Notice::Silent(by) => Notice::Silent(by),
                Notice::Cancelled => Notice::Cancelled,
                Notice::Nothing => Notice::Nothing,
            });
        }
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        let n = self
            .index(station)
            .ok_or(NetworkFault::NoStation(station))?;
        Ok(self
            .shelf(n)
            .map(|shelf| shelf.take(len))
            .unwrap_or_default())
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        self.index(node).map(|n| self.net.joules(n))
    }
    fn source_counts(&self, source: NodeId) -> Option<SourceCounts> {
        let Party::Mote(victim) = self.net.engine(self.index(source)?) else {
            return None;
        };
        let pipeline = victim.node.pipeline();
        let stats = pipeline.stats();
        Some(SourceCounts {
            rounds: stats.rounds,
            sent: stats.data_sent,
            retransmitted: stats.retransmitted(),
            object_bytes: ObjectStore::info(pipeline.store()).len,
        })
    }
}
