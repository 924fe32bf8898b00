//! The network of a script behind the host's seam, with what befalls it and what must hold at each step.
//!
//! Time base: simulated time. Invariants: strikes come at their times, whatever the host does; after each notice, and each
//! strike, a breach ends the run. Tests: `run_tests.rs`.

mod seam;
mod setup;

use crate::air::Weather;
use crate::breach::Breach;
use crate::captured::sealed_again;
use crate::party::Party;
use crate::script::{Act, Fault, Script, Security as Keyed, Strike};
use crate::shelf::{May, Shelf};
pub(crate) use setup::security;
use setup::{environment, gaps, Maker, Outsiders};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_host::network::NetworkFault;
use thalweg_host::security::Security;
use thalweg_medium::Medium;
use thalweg_protocols::member::Command;
use thalweg_protocols::mote;
use thalweg_sim::{Board, Fault as Broken, Network as Simulation, SimError};
use thalweg_units::{Channel, Dbm, Duration, NodeId, SimTime};
use thalweg_wire::hop::HopRoute;
use thalweg_wire::route::ObjectRange;
use thalweg_wire::seal::frame::Sealing;
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

/// A forged byte from this on takes a number far ahead of those in use, where a captured mote's keys seal the frame.
const FAR_ABOVE: u8 = 248;
const FAR_AHEAD: u32 = 1 << 31;

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
    /// Whether an outsider has the keys of one of the nodes.
    is_captured: bool,
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
        let security = security(script);
        let keys = security.as_ref().map(|security| security.keys.clone());
        let maker = Maker::new(script, board, keys, outsiders);
        let engines = (0..ears).map(|n| maker.first(n)).collect();
        let boards = std::slice::from_ref(board);
        let mut net = Simulation::on(air, boards, engines, script.seed)
            .map_err(|why| Breach::Stuck(why.to_string()))?;
        net.restart_with(Box::new(move |n, before| maker.again(n, before)));
        let mut agenda = script.strikes.clone();
        agenda.sort_by_key(|strike| std::cmp::Reverse(strike.at_ms));
        let mut field = Self {
            net,
            ids: (1..=script.nodes).map(id).collect(),
            agenda,
            latest: outsiders.radio.map(|_| BTreeMap::new()),
            outsiders,
            is_captured: script.security == Keyed::Captured,
            security,
            ordered: vec![SimTime::ZERO; ears],
            breach: None,
            counted: (0, 0),
        };
        field.allow(0, May::Write);
        if let Some(rogue) = outsiders.rogue {
            // With a captured mote's keys he gets objects, and cannot read them.
            let may = match field.is_captured {
                true => May::Write,
                false => May::Ask,
            };
            field.allow(rogue, may);
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
    /// What an outsider's node has taken in of objects.
    pub(crate) fn stolen(&mut self) -> Vec<u8> {
        let rogue = self.outsiders.rogue;
        let shelf = rogue.and_then(|rogue| self.shelf(rogue));
        shelf
            .map(|shelf| shelf.take(usize::MAX))
            .unwrap_or_default()
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
            if let Err(why) = self.step(until) {
                let stuck = Breach::Stuck(why.to_string());
                return Err(self.take_breach().unwrap_or(stuck));
            }
        }
        Ok(())
    }

    fn shelf(&mut self, n: usize) -> Option<&mut Shelf> {
        self.net.engine_mut(n).shelf()
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
                Fault::Dead { .. } => {
                    self.befall(n, Broken::Dead, Some(until));
                    self.put_off(until);
                }
                Fault::Deaf { .. } => self.befall(n, Broken::Deaf { until }, None),
                Fault::Jammed { channel, .. } => {
                    if let Ok(channel) = Channel::new(channel) {
                        self.befall(n, Broken::Jammed { channel }, Some(until));
                    }
                }
                Fault::Reboot { .. } => self.befall(n, Broken::Reboot { until }, None),
                Fault::Frames { count, each } => self.net.engine_mut(n).strike(each, count),
                Fault::Outsider(act) => self.act(n, act),
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
    /// Somebody stands still until then: what was ordered may begin and end so much later.
    fn put_off(&mut self, until: SimTime) {
        let now = self.net.now();
        let under_way = self.ordered.iter_mut().filter(|ordered| **ordered >= now);
        under_way.for_each(|ordered| *ordered += until.since(now));
    }
    /// An outsider does something. With a captured mote he has the keys of node `n`.
    fn act(&mut self, n: usize, act: Act) {
        let (kind, count) = match act {
            Act::Fetch { from } => return self.fetch_to_rogue(from),
            Act::Replay { kind } | Act::Forge { kind, .. } => (kind, 1),
            Act::Flood { kind, count } => (kind, count),
        };
        let (Some((mut frame, channel)), Some(radio)) = (self.recorded(kind), self.outsiders.radio)
        else {
            return;
        };
        for _ in 0..count {
            let made = match act {
                Act::Forge { at, to, .. } => {
                    let ahead = if to < FAR_ABOVE { 1 } else { FAR_AHEAD };
                    self.forged(n, &frame, ahead, |body| {
                        let place = usize::from(at) % body.len().max(1);
                        if let Some(byte) = body.get_mut(place) {
                            *byte = to;
                        }
                    })
                }
                Act::Flood { .. } => self.forged(n, &frame, 1, |_| ()),
                Act::Replay { .. } | Act::Fetch { .. } => Some(frame),
            };
            let Some(made) = made else {
                return;
            };
            frame = made;
            if let Party::Outsider(outsider) = self.net.engine_mut(radio) {
                outsider.send(frame, channel);
            }
        }
        // It is polled after an order, whatever that says.
        self.net.command(radio, Command::Mote(mote::Command::Stop));
    }
    /// `frame` with its body changed, sealed where the keys of node `n` are his.
    fn forged(
        &self,
        n: usize,
        frame: &FrameBuf,
        ahead: u32,
        change: impl FnOnce(&mut [u8]),
    ) -> Option<FrameBuf> {
        match (self.is_captured, self.net.engine(n)) {
            (true, Party::Mote(victim)) => {
                let seals = victim.node.guard().clone();
                sealed_again(seals?, frame, ahead, change)
            }
            _ => {
                let mut made = *frame;
                change(made.get_mut(mac::HEADER_BYTES + 1..).unwrap_or_default());
                Some(made)
            }
        }
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
        let sealing = match self.is_captured {
            true => Sealing::Sealed,
            false => Sealing::Open,
        };
        let route = HopRoute::new(u16::MAX, &hops, ObjectRange::ALL, 100);
        if let Ok(route) = route.and_then(|route| route.secured(sealing)) {
            let order = mote::Command::FetchHops(route);
            let numbers = self.security.as_ref().filter(|_| self.is_captured);
            if let Some(Ok(Some(numbers))) = numbers.map(|security| security.before(&order)) {
                self.net.command(rogue, Command::Mote(numbers));
            }
            self.net.command(rogue, Command::Mote(order));
        }
    }

    /// What must hold at every step.
    fn check(&mut self) {
        let nodes = 0..self.ids.len();
        for n in nodes.chain(self.outsiders.rogue) {
            let node = id(n as u16 + 1);
            let did = self.shelf(n).and_then(|shelf| shelf.unordered());
            // With a captured mote's keys an outsider can give orders, too.
            if let Some(did) = did.filter(|_| !self.is_captured) {
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
