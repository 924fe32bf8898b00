//! The network of a script behind the host's seam, with what befalls it and what must hold at each step.
//!
//! Time base: simulated time. Invariants: strikes come at their times, whatever the host does; after each notice, and each
//! strike, a breach ends the run. Tests: `run_tests.rs`.

mod setup;

use crate::air::Weather;
use crate::breach::Breach;
use crate::outsider::Outsider;
use crate::party::{Party, Victim};
use crate::script::{Act, Fault, Script, Strike};
use crate::shelf::{May, Node, Shelf};
pub(crate) use setup::security;
use setup::{config, environment, gaps, Outsiders};
use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice, SourceCounts};
use thalweg_host::security::Security;
use thalweg_host::transfer::pipeline::Order;
use thalweg_medium::Medium;
use thalweg_protocols::mote::{Command, Event};
use thalweg_protocols::seals::Seals;
use thalweg_sim::{Aired, Board, Fault as Broken, Network as Simulation, Observer, SimError};
use thalweg_units::{Channel, Dbm, Duration, Instant, NodeId, SimTime};
use thalweg_wire::hop::{HopRoute, Subject};
use thalweg_wire::route::ObjectRange;
use thalweg_wire::{mac, FrameBuf};

/// The channels of a scenario's network: few, so that surveys are short.
pub(crate) const CHANNELS: [u8; 4] = [15, 20, 25, 26];
/// Power at which nodes and an outsider hear each other.
const OUTSIDE: Dbm = Dbm(-60.0);
/// Power of foreign traffic, and the mean length of its bursts.
const FOREIGN: (Dbm, Duration) = (Dbm(-58.0), Duration::from_millis(2));
/// More events than this in a second of the network, for each node, are an engine that is busy for its own sake: with all
/// on the air all the time there are some 20,000.
const EVENTS: u64 = 200_000;

/// Node `n` of a script: 1, 2, ...
pub(crate) fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap_or(NodeId::MAX)
}

/// The network.
pub(crate) struct Field {
    pub(crate) net: Simulation<Party, Weather>,
    ids: Vec<NodeId>,
    /// Strikes to come, the last first.
    agenda: Vec<Strike>,
    /// The latest frame of each kind, where an outsider takes part.
    latest: Option<BTreeMap<u8, (FrameBuf, Channel)>>,
    outsiders: Outsiders,
    /// The keys of the nodes, and the numbers of the base station's floods; none where nodes have none.
    security: Option<Security>,
    /// Until when each node may be read by an order.
    ordered: Vec<SimTime>,
    /// What broke first.
    breach: Option<Breach>,
    /// The second of the network that events are counted in, and how many there were before.
    counted: (u64, u64),
}

impl Field {
    /// The network of `script`, switched on.
    pub(crate) fn open(script: &Script, board: &Board) -> Result<Self, Breach> {
        let nodes = usize::from(script.nodes);
        let outsiders = Outsiders::of(script);
        let ears = nodes + outsiders.radio.iter().chain(&outsiders.rogue).count();
        let environment = Arc::new(environment(script, board, ears));
        let air = Weather::new(Medium::new(environment, script.seed), gaps(script));
        let config = config(script, board);
        let timing = board.timing;
        let security = security(script);
        let keys = security.as_ref().map(|security| security.keys.clone());
        // An outsider has none.
        let seals = move |n: usize| keys.as_ref().filter(|_| n < nodes).map(|keys| keys.seals());
        let made = seals.clone();
        let made = move |n: usize, shelf: Shelf| {
            Node::guarded((id(n as u16 + 1), made(n)), config, timing, shelf)
        };
        let shelf = |n: usize| match security.as_ref().filter(|_| n < nodes) {
            Some(security) => Shelf::proving(security.keys.proof(id(n as u16 + 1))),
            None => Shelf::default(),
        };
        let engines = (0..ears).map(|n| match outsiders.radio == Some(n) {
            true => Party::Outsider(Outsider::default()),
            false => Party::Mote(Box::new(Victim::new(made(n, shelf(n))))),
        });
        let boards = std::slice::from_ref(board);
        let mut net = Simulation::on(air, boards, engines.collect(), script.seed)
            .map_err(|why| Breach::Stuck(why.to_string()))?;
        net.restart_with(Box::new(move |n, before| match before {
            Party::Outsider(_) => Party::Outsider(Outsider::default()),
            Party::Mote(victim) => {
                let kept = victim.node.guard().as_ref().map(Seals::kept);
                let shelf = victim.node.store_mut().kept();
                let guard = (id(n as u16 + 1), seals(n));
                let mut node = Node::guarded(guard, config, timing, shelf).restarted();
                if let Some(kept) = kept {
                    node.restore(kept);
                }
                Party::Mote(Box::new(Victim::new(node)))
            }
        }));
        let mut agenda = script.strikes.clone();
        agenda.sort_by_key(|strike| std::cmp::Reverse(strike.at_ms));
        let mut field = Self {
            net,
            ids: (1..=script.nodes).map(id).collect(),
            agenda,
            latest: outsiders.radio.map(|_| BTreeMap::new()),
            outsiders,
            security,
            ordered: vec![SimTime::ZERO; ears],
            breach: None,
            counted: (0, 0),
        };
        field.allow(0, May::Write);
        if let Some(rogue) = outsiders.rogue {
            field.allow(rogue, May::Ask);
        }
        Ok(field)
    }

    /// The nodes, by index; the first is the base station.
    pub(crate) fn ids(&self) -> &[NodeId] {
        &self.ids
    }
    /// Node `n` offers `object` from now on.
    pub(crate) fn offer(&mut self, n: usize, object: Arc<[u8]>) {
        if let Some(shelf) = self.shelf(n) {
            shelf.offer(object);
        }
    }
    /// All that befell nodes is over.
    pub(crate) fn heal(&mut self) {
        for n in 0..self.ids.len() {
            self.net.fault(n, Broken::Healthy);
        }
    }
    /// The first breach so far, if there was one.
    pub(crate) fn take_breach(&mut self) -> Option<Breach> {
        self.breach.take()
    }
    /// Lets time pass until `until`; notices are dropped.
    pub(crate) fn wait(&mut self, until: SimTime) -> Result<(), Breach> {
        while self.net.now() < until {
            if let Err(why) = self.next(until) {
                let stuck = Breach::Stuck(why.to_string());
                return Err(self.take_breach().unwrap_or(stuck));
            }
        }
        Ok(())
    }

    fn victim(&mut self, n: usize) -> Option<&mut Victim> {
        match self.net.engine_mut(n) {
            Party::Mote(victim) => Some(victim),
            Party::Outsider(_) => None,
        }
    }
    fn shelf(&mut self, n: usize) -> Option<&mut Shelf> {
        self.victim(n).map(|victim| victim.node.store_mut())
    }
    fn allow(&mut self, n: usize, may: May) {
        if let Some(shelf) = self.shelf(n) {
            shelf.allow(may);
        }
    }
    fn index(&self, node: NodeId) -> Option<usize> {
        self.ids.iter().position(|id| *id == node)
    }

    /// Strikes that are due strike.
    fn strike(&mut self) {
        let now = self.net.now();
        while let Some(strike) = self.agenda.pop_if(|strike| at(strike.at_ms) <= now) {
            let n = usize::from(strike.node) - 1;
            let until = now + Duration::from_millis(strike.what.for_ms());
            match strike.what {
                Fault::Dead { .. } => self.befall(n, Broken::Dead, Some(until)),
                Fault::Deaf { .. } => self.befall(n, Broken::Deaf { until }, None),
                Fault::Jammed { channel, .. } => {
                    if let Ok(channel) = Channel::new(channel) {
                        self.befall(n, Broken::Jammed { channel }, Some(until));
                    }
                }
                Fault::Reboot { .. } => self.befall(n, Broken::Reboot { until }, None),
                Fault::Frames { count, each } => {
                    if let Some(victim) = self.victim(n) {
                        victim.strike(each, count);
                    }
                }
                Fault::Outsider(act) => self.act(act),
            }
        }
    }
    /// `fault` befalls node `n`, and is mended then, where it does not mend by itself.
    fn befall(&mut self, n: usize, fault: Broken, mended: Option<SimTime>) {
        self.net.fault(n, fault);
        if let Some(at) = mended {
            self.net.fault_at(at, n, Broken::Healthy);
        }
    }
    /// An outsider does something.
    fn act(&mut self, act: Act) {
        let frame = match act {
            Act::Fetch { from } => return self.fetch_to_rogue(from),
            Act::Replay { kind } => self.recorded(kind),
            Act::Forge { kind, at, to } => self.recorded(kind).map(|(mut frame, channel)| {
                let body = frame.get_mut(mac::HEADER_BYTES + 1..).unwrap_or_default();
                let place = usize::from(at) % body.len().max(1);
                if let Some(byte) = body.get_mut(place) {
                    *byte = to;
                }
                (frame, channel)
            }),
        };
        let (Some((frame, channel)), Some(n)) = (frame, self.outsiders.radio) else {
            return;
        };
        if let Party::Outsider(outsider) = self.net.engine_mut(n) {
            outsider.send(frame, channel);
        }
        // It is polled after an order, whatever that says.
        self.net.command(n, Command::Stop);
    }
    fn recorded(&self, kind: u8) -> Option<(FrameBuf, Channel)> {
        self.latest.as_ref()?.get(&kind).copied()
    }
    /// The rogue node fetches the object of node `from` for itself.
    fn fetch_to_rogue(&mut self, from: u16) {
        let Some(rogue) = self.outsiders.rogue else {
            return;
        };
        let hops = [
            (id(from), Channel::LAST),
            (id(rogue as u16 + 1), Channel::LAST),
        ];
        if let Ok(route) = HopRoute::new(u16::MAX, &hops, ObjectRange::ALL, 100) {
            self.net.command(rogue, Command::FetchHops(route));
        }
    }

    /// What must hold at every step.
    fn check(&mut self) {
        let nodes = 0..self.ids.len();
        for n in nodes.chain(self.outsiders.rogue) {
            let node = id(n as u16 + 1);
            let did = self.shelf(n).and_then(|shelf| shelf.unordered());
            if let Some(did) = did {
                self.breach.get_or_insert(Breach::Unordered { node, did });
            }
            let is_node = (1..self.ids.len()).contains(&n);
            if is_node && self.ordered[n] < self.net.now() {
                self.allow(n, May::Nothing);
            }
        }
        let second = self.net.now().as_nanos() / 1_000_000_000;
        let events = self.net.stats().events;
        if second > self.counted.0 {
            self.counted = (second, events);
        }
        let events = events - self.counted.1;
        if events > EVENTS * self.ids.len() as u64 {
            self.breach.get_or_insert(Breach::Busy { events });
        }
    }
    fn broken(&self) -> Result<(), NetworkFault> {
        match &self.breach {
            Some(breach) => Err(NetworkFault::Broken(Box::new(breach.clone()))),
            None => Ok(()),
        }
    }
    fn fail(&mut self, why: &SimError) -> NetworkFault {
        let breach = Breach::Stuck(why.to_string());
        NetworkFault::Broken(Box::new(self.breach.get_or_insert(breach).clone()))
    }
}

/// `ms` milliseconds after the nodes were switched on.
pub(crate) const fn at(ms: u64) -> SimTime {
    SimTime::from_nanos(ms.saturating_mul(1_000_000))
}

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

impl Clock for Field {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        let index = self.index(station);
        index.map_or(self.net.now(), |n| self.net.when(n, local))
    }
}

impl Network for Field {
    type Order = Order;
    type Event = Event;

    fn now(&self) -> NetworkTime {
        self.net.now()
    }
    fn order(&mut self, station: NodeId, order: Order) -> Result<(), NetworkFault> {
        let n = self.index(station).filter(|n| *n == 0);
        let n = n.ok_or(NetworkFault::NoStation(station))?;
        let wanted = match &order {
            Command::Fetch(route) | Command::FetchTogether { route, .. } => {
                Some((route.source, u64::from(route.deadline_s)))
            }
            Command::FetchHops(route) if route.subject == Subject::Object => {
                Some((route.source(), HOPS_S))
            }
            _ => None,
        };
        if let Some((source, n)) = wanted.and_then(|(source, s)| Some((s, self.index(source)?))) {
            let until = self.net.now() + Duration::from_secs(source + LINGER_S);
            self.ordered[n] = self.ordered[n].max(until);
            self.allow(n, May::Read);
        }
        if let Some(security) = &self.security {
            if let Some(numbers) = security.before(&order)? {
                self.net.command(n, numbers);
            }
        }
        self.net.command(n, order);
        self.check();
        self.broken()
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Event>, NetworkFault> {
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
        let stats = victim.node.pipeline().stats();
        Some(SourceCounts {
            rounds: stats.rounds,
            sent: stats.data_sent,
            retransmitted: stats.retransmitted(),
            object_bytes: thalweg_protocols::object::ObjectStore::info(
                victim.node.pipeline().store(),
            )
            .len,
        })
    }
}

/// How long a path hop by hop may go on at most, in seconds, where its order names no deadline.
const HOPS_S: u64 = 600;
/// How long a source may linger after a deadline, in seconds.
const LINGER_S: u64 = 10;
