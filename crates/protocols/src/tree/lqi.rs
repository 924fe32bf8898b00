//! MultiHopLQI of TinyOS 1.x: a tree over what the radio says of single beacons (RCRT, section 4.1).
//!
//! The last beacon alone is a link's estimate, and beacons that are lost say nothing, so that bad links look
//! good. Nothing keeps loops from forming: a packet that comes back drops the parent. Time base: the node's
//! clock. Tests: `tests.rs`.

use super::{Role, Tree};
use crate::rng::Rng;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::addressed::Header;
use thalweg_wire::tree::{Cost, Repr};
use thalweg_wire::FrameBuf;

/// A parent goes after so many intervals in silence.
const SILENT_INTERVALS: u64 = 8;
/// A beacon's register that costs nothing.
const BEST: u8 = 130;
/// The worst register that the CC2420 gives.
const WORST: u8 = 50;

/// How the tree is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LqiConfig {
    /// From beacon to beacon.
    pub interval: Duration,
}

impl LqiConfig {
    /// TinyOS 1.x: 32 s.
    pub const TINYOS: Self = Self {
        interval: Duration::from_secs(32),
    };
}

#[derive(Debug, Clone, Copy)]
struct Parent {
    id: NodeId,
    /// From there to the sink.
    cost: u16,
    /// To there.
    link: u16,
    hops: u8,
    heard: Instant,
}

impl Parent {
    const fn total(&self) -> u16 {
        self.cost.saturating_add(self.link)
    }
}

/// A node's part of the tree.
#[derive(Debug)]
pub struct MultiHopLqi {
    id: NodeId,
    role: Role,
    interval: Duration,
    parent: Option<Parent>,
    pinned: bool,
    next_beacon: Option<Instant>,
}

/// What a link costs whose last beacon came with `lqi`: x^3 / 64 with x = 130 - LQI, in whole steps as TinyOS
/// takes it. 125 at 110, 1000 at 90, 8000 at 50.
const fn link_cost(lqi: u8) -> u16 {
    let lqi = if lqi < WORST { WORST } else { lqi };
    let x = BEST.saturating_sub(lqi) as u32;
    ((((x * x) >> 3) * x) >> 3) as u16
}

impl Tree for MultiHopLqi {
    type Config = LqiConfig;

    /// The first beacon comes at a random time within an interval, the others every interval.
    fn new(id: NodeId, role: Role, config: LqiConfig, now: Instant, seed: u64) -> Self {
        let micros = config.interval.as_micros().min(u64::from(u32::MAX)) as u32;
        let phase = Rng::new(seed ^ 0x6c71_6921).below(micros);
        Self {
            id,
            role,
            interval: config.interval,
            parent: None,
            pinned: false,
            next_beacon: Some(now + Duration::from_micros(u64::from(phase))),
        }
    }
    #[inline]
    fn parent(&self) -> Option<NodeId> {
        self.parent.map(|parent| parent.id)
    }
    fn role(&self) -> Role {
        self.role
    }
    fn is_sink(&self, id: NodeId) -> bool {
        (self.parent).is_some_and(|parent| parent.id == id && parent.hops == 0)
    }
    fn overhears(&self) -> bool {
        false
    }
    fn pin(&mut self) {
        self.pinned = true;
    }
    fn heard(&mut self, _now: Instant, _link: &Header) {}
    fn beacon(&mut self, now: Instant, frame: &Repr<'_>, lqi: u8) {
        let Repr::Cost(beacon) = frame else { return };
        if self.pinned || self.role == Role::Sink {
            return;
        }
        let from = beacon.link.from;
        let mine = self.parent.filter(|parent| parent.id == from);
        if beacon.parent == self.id {
            if mine.is_some() {
                self.parent = None;
            }
            return;
        }
        let offer = Parent {
            id: from,
            cost: beacon.cost,
            link: link_cost(lqi),
            hops: beacon.hops,
            heard: now,
        };
        let is_better = |parent: Parent| {
            let current = parent.total();
            offer.total() < current - current / 4
        };
        if mine.is_some() || self.parent.is_none_or(is_better) {
            self.parent = Some(offer);
        }
    }
    fn circle(&mut self) {
        if !self.pinned {
            self.parent = None;
        }
    }
    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.next_beacon
    }
    fn build_beacon(&mut self, now: Instant, sequence: u8) -> Option<FrameBuf> {
        self.next_beacon = Some(now + self.interval);
        let silent = |p: &Parent| now.since(p.heard) > self.interval * SILENT_INTERVALS;
        if !self.pinned && self.parent.as_ref().is_some_and(silent) {
            self.parent = None;
        }
        let (parent, cost, hops) = match (self.role, self.parent) {
            (Role::Sink, _) => (self.id, 0, 0),
            (Role::Router, Some(p)) => (p.id, p.total(), p.hops.saturating_add(1)),
            (Role::Router, None) | (Role::Leaf, _) => return None,
        };
        let beacon = Cost {
            link: Header {
                sequence,
                to: None,
                from: self.id,
            },
            stamp: Default::default(),
            parent,
            cost,
            hops,
        };
        FrameBuf::build(|w| beacon.emit(w)).ok()
    }
}
