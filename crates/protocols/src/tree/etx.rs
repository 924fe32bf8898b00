//! The tree of Fusion (section 2.3.2): paths of least ETX, without loops.
//!
//! Links are estimated by gaps in overheard numbers, both directions are exchanged in beacons, paths
//! cost the sum of ETX = 1 / (df dr), and sinks' sequence numbers keep loops from forming (DSDV;
//! [`Distance`]). Time base: the node's clock. Does not model: triggered updates. Tests: `tests.rs`.

use super::distance::{is_newer, Distance, COST_UNIT};
use super::links::Links;
use super::Role;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::addressed::Header;
use thalweg_wire::tree::{
    Beacon, LinkQuality, Route, Stamp, BEACON_HEADER_BYTES, LINK_BYTES, MAX_LINKS, ROUTE_BYTES,
};
use thalweg_wire::FrameBuf;

/// A route is left for one that is cheaper by so much (half a transmission).
const HYSTERESIS: u16 = COST_UNIT / 2;
/// Advertisements so many sequence numbers behind the newest are not followed any more. In a congested
/// network most beacons are lost, at every hop again: a route that is some minutes old is better than none.
const STALE_SEQUENCES: u16 = 12;
/// And those so many beacon intervals old. A sink that gave no new number for so long is gone, however
/// often others repeat its last one.
const STALE_INTERVALS: u64 = 18;
/// The most sinks in the table; the one longest silent makes room.
const MAX_SINKS: usize = 4;

/// A sink that is advertised.
#[derive(Debug, Clone, Copy)]
pub(super) struct SinkRecord {
    sink: NodeId,
    /// Its newest number, and when that was first heard.
    pub(super) newest: u16,
    heard: Instant,
    /// The shortest distance to it that this node has advertised.
    advertised: Option<Distance>,
}

/// What a node knows of such a tree.
#[derive(Debug)]
pub(super) struct Etx {
    id: NodeId,
    role: Role,
    interval: Duration,
    frame_bytes: u8,
    pub(super) links: Links,
    /// As it would be advertised.
    pub(super) chosen: Option<Route>,
    sinks: [Option<SinkRecord>; MAX_SINKS],
    sequence: u16,
    /// Which neighbour the next beacon lists first.
    next_listed: usize,
}

impl Etx {
    pub(super) fn new(id: NodeId, role: Role, interval: Duration, frame_bytes: u8) -> Self {
        Self {
            id,
            role,
            interval,
            frame_bytes,
            links: Links::new(),
            chosen: None,
            sinks: [None; MAX_SINKS],
            sequence: 0,
            next_listed: 0,
        }
    }

    /// A beacon was heard, after its frame was counted.
    pub(super) fn beacon(&mut self, now: Instant, beacon: &Beacon<'_>) {
        let id = self.id;
        // A sink's own numbers grow, unless it was switched off and on: it will hear from us where it was.
        let restarts = |route: &Route| {
            let record = self.sink_record(route.sink);
            route.sink == beacon.link.from
                && record.is_some_and(|record| is_newer(record.newest, route.sequence))
        };
        if beacon.routes().any(|route| restarts(&route)) {
            return;
        }
        let Some(neighbour) = self.links.get_mut(beacon.link.from) else {
            return;
        };
        for link in beacon.links().filter(|link| link.neighbour == id) {
            neighbour.reverse = Some(link.received);
        }
        neighbour.advertise(now, beacon.routes());
        for route in beacon.routes() {
            self.note_sink(now, &route);
        }
        self.choose(now);
    }

    /// Goes by who fell silent.
    pub(super) fn expect(&mut self, now: Instant) {
        self.links.expect(now, self.interval);
        self.choose(now);
    }

    /// The beacon that is due, with `sequence` as its frame's number and an empty stamp.
    pub(super) fn build_beacon(&mut self, sequence: u8) -> Option<FrameBuf> {
        let route = match (self.role, self.chosen) {
            (Role::Sink, _) => {
                self.sequence = self.sequence.wrapping_add(1);
                Some(Route {
                    sink: self.id,
                    sequence: self.sequence,
                    cost: 0,
                    parent: self.id,
                })
            }
            (Role::Router, Some(chosen)) => {
                if let Some(record) = self.sink_record_mut(chosen.sink) {
                    let distance = Distance::of(&chosen);
                    record.advertised = Some(
                        record
                            .advertised
                            .map_or(distance, |before| before.or_nearer(distance)),
                    );
                }
                Some(chosen)
            }
            (Role::Router, None) | (Role::Leaf, _) => None,
        };
        let listed_routes = usize::from(route.is_some());
        let before = BEACON_HEADER_BYTES + listed_routes * ROUTE_BYTES;
        let room = usize::from(self.frame_bytes).saturating_sub(before) / LINK_BYTES;
        let neighbours = self.links.all();
        let count = room.min(neighbours.len()).min(MAX_LINKS);
        let listed = neighbours.iter().cycle().skip(self.next_listed).take(count);
        let listed = listed.map(|neighbour| LinkQuality {
            neighbour: neighbour.id,
            received: neighbour.received(),
        });
        let link = Header {
            sequence,
            to: None,
            from: self.id,
        };
        let routes = route.as_slice();
        let beacon = FrameBuf::build(|w| Beacon::emit(w, link, Stamp::default(), routes, listed));
        self.next_listed = (self.next_listed + count) % neighbours.len().max(1);
        beacon.ok()
    }

    fn note_sink(&mut self, now: Instant, route: &Route) {
        if route.sink == self.id {
            // A sink that was switched off and on goes on where its neighbours remember it.
            if self.role == Role::Sink && is_newer(route.sequence, self.sequence) {
                self.sequence = route.sequence;
            }
            return;
        }
        if let Some(record) = self.sink_record_mut(route.sink) {
            if is_newer(route.sequence, record.newest) {
                (record.newest, record.heard) = (route.sequence, now);
            }
        } else if let Some(slot) = (self.sinks.iter_mut()).min_by_key(|s| s.map(|s| s.heard)) {
            *slot = Some(SinkRecord {
                sink: route.sink,
                newest: route.sequence,
                heard: now,
                advertised: None,
            });
        }
    }
    pub(super) fn sink_record(&self, sink: NodeId) -> Option<&SinkRecord> {
        self.sinks.iter().flatten().find(|s| s.sink == sink)
    }
    fn sink_record_mut(&mut self, sink: NodeId) -> Option<&mut SinkRecord> {
        self.sinks.iter_mut().flatten().find(|s| s.sink == sink)
    }

    /// Chooses the cheapest of the routes that neighbours advertise.
    fn choose(&mut self, now: Instant) {
        if self.role == Role::Sink {
            return;
        }
        let fresh_for = self.interval * STALE_INTERVALS;
        let id = self.id;
        let mut best: Option<Route> = None;
        let mut current: Option<Route> = None;
        for neighbour in self.links.all() {
            let (Some(etx), Some((route, at))) = (neighbour.etx(), neighbour.route) else {
                continue;
            };
            if route.parent == id || now.since(at) > fresh_for {
                continue;
            }
            let Some(record) = self.sink_record(route.sink) else {
                continue;
            };
            let behind = record.newest.wrapping_sub(route.sequence);
            if behind > STALE_SEQUENCES || now.since(record.heard) > fresh_for {
                continue;
            }
            let nearer = |before| neighbour.nearest.is_some_and(|n| n.is_nearer(before));
            if !record.advertised.is_none_or(nearer) {
                continue;
            }
            let candidate = Route {
                cost: route.cost.saturating_add(etx),
                parent: neighbour.id,
                ..route
            };
            if self.chosen.is_some_and(|c| c.parent == neighbour.id) {
                current = Some(candidate);
            }
            if best.is_none_or(|b| candidate.cost < b.cost) {
                best = Some(candidate);
            }
        }
        self.chosen = match (best, current) {
            (Some(b), Some(c)) if c.cost <= b.cost.saturating_add(HYSTERESIS) => Some(c),
            (best, _) => best,
        };
    }
}
