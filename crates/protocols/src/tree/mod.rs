//! A collection tree: which node forwards to which.
//!
//! A part of engines: [`Router`] takes what is heard and says who the parent is and what the next
//! beacon holds. How parents are found is [`Routing`]'s: by ETX, as in Fusion (`etx.rs`), or by LQI, as
//! under RCRT (`lqi.rs`). Several sinks: a node follows the cheapest. [`Routes`] adds the way down. Time
//! base: the node's clock. Tests: `tests.rs`.

mod distance;
mod etx;
mod links;
mod lqi;
mod routes;
#[cfg(test)]
mod tests;

pub use distance::COST_UNIT;
pub use routes::{Routes, FORGOTTEN_AFTER_S};

use etx::Etx;
use lqi::Lqi;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::addressed::Header;
use thalweg_wire::tree::{Beacon, LqiBeacon};
use thalweg_wire::FrameBuf;

use crate::rng::Rng;

/// What a node does in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Packets end here.
    Sink,
    /// It forwards.
    #[default]
    Router,
    /// It sends its own packets only, and advertises no route.
    Leaf,
}

/// How a tree is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Routing {
    /// By beacons that say how well neighbours are heard: least expected transmissions, no loops
    /// (Fusion, section 2.3.2).
    Etx {
        /// Mean time between two beacons of a node, which is off by up to a tenth.
        interval: Duration,
        /// Bytes of a beacon's frame; as many links as fit are listed.
        frame_bytes: u8,
    },
    /// By the LQI of beacons (MultiHopLQI). Loops may form.
    Lqi {
        /// Time between two beacons of a node, [`Routing::MULTI_HOP_LQI`] in TinyOS 1.x.
        interval: Duration,
    },
    /// Given: the parent, none at a sink.
    Fixed(Option<NodeId>),
}

impl Routing {
    /// MultiHopLQI as TinyOS 1.x has it: a beacon every 32 s.
    pub const MULTI_HOP_LQI: Self = Self::Lqi {
        interval: Duration::from_secs(32),
    };

    const fn interval(&self) -> Option<Duration> {
        match *self {
            Self::Etx { interval, .. } | Self::Lqi { interval } => Some(interval),
            Self::Fixed(_) => None,
        }
    }
    /// Of how many packets a node knows that it received them lately. MultiHopLQI: 4.
    pub(crate) const fn remembered(&self) -> usize {
        match self {
            Self::Etx { .. } | Self::Fixed(_) => 32,
            Self::Lqi { .. } => 4,
        }
    }
}

/// How parents are found, and what is known for it.
#[derive(Debug)]
// One of them for a node's whole life, and no heap to put the larger one on.
#[allow(clippy::large_enum_variant)]
enum Finding {
    Etx(Etx),
    Lqi(Lqi),
    Fixed(Option<NodeId>),
}

/// A node's part of the tree.
#[derive(Debug)]
pub struct Router {
    role: Role,
    finding: Finding,
    interval: Option<Duration>,
    pinned: bool,
    next_beacon: Option<Instant>,
    /// The parent that was reported last.
    told: Option<NodeId>,
    rng: Rng,
}

impl Router {
    /// A node that knows no neighbour yet. Its first beacon comes within one interval of `now`.
    pub fn new(id: NodeId, role: Role, routing: Routing, now: Instant, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x7472_6565);
        let interval = routing.interval();
        let next_beacon = interval.map(|interval| {
            let micros = (interval.as_micros().min(u64::from(u32::MAX))) as u32;
            now + Duration::from_micros(u64::from(rng.below(micros)))
        });
        let finding = match routing {
            Routing::Etx {
                interval,
                frame_bytes,
            } => Finding::Etx(Etx::new(id, role, interval, frame_bytes)),
            Routing::Lqi { interval } => Finding::Lqi(Lqi::new(id, role, interval)),
            Routing::Fixed(parent) => Finding::Fixed(parent),
        };
        let mut router = Self {
            role,
            finding,
            interval,
            pinned: false,
            next_beacon,
            told: None,
            rng,
        };
        // One that was given is no change.
        router.told = router.parent();
        router
    }

    /// The node that packets go to next.
    #[inline]
    pub fn parent(&self) -> Option<NodeId> {
        match &self.finding {
            Finding::Etx(etx) => etx.chosen.map(|chosen| chosen.parent),
            Finding::Lqi(lqi) => lqi.parent(),
            Finding::Fixed(parent) => *parent,
        }
    }
    /// The parent, if it is not the one that this gave last: none where the node has lost it.
    #[inline]
    pub fn poll_change(&mut self) -> Option<Option<NodeId>> {
        let parent = self.parent();
        let before = core::mem::replace(&mut self.told, parent);
        (before != parent).then_some(parent)
    }
    /// What it does in the tree.
    pub const fn role(&self) -> Role {
        self.role
    }
    /// Whether packets end at the neighbour `id`.
    pub fn is_sink(&self, id: NodeId) -> bool {
        match &self.finding {
            Finding::Etx(etx) => etx.chosen.is_some_and(|chosen| chosen.sink == id),
            Finding::Lqi(lqi) => lqi.is_sink(id),
            Finding::Fixed(_) => false,
        }
    }
    /// Whether it goes by frames that are meant for others.
    pub const fn overhears(&self) -> bool {
        matches!(self.finding, Finding::Etx(_))
    }
    /// Whether parents may follow each other in a circle.
    pub(crate) const fn may_loop(&self) -> bool {
        matches!(self.finding, Finding::Lqi(_))
    }
    /// From now on, the parent stays, and links are not estimated any more.
    pub fn pin(&mut self) {
        self.pinned = true;
    }

    /// A frame of a neighbour was heard.
    #[inline]
    pub fn heard(&mut self, now: Instant, link: &Header) {
        if let (Finding::Etx(etx), false) = (&mut self.finding, self.pinned) {
            etx.links.heard(now, link.from, link.sequence);
        }
    }
    /// A beacon was heard, after [`Router::heard`] of the same frame.
    pub fn beacon(&mut self, now: Instant, beacon: &Beacon<'_>) {
        if let (Finding::Etx(etx), false) = (&mut self.finding, self.pinned) {
            etx.beacon(now, beacon);
        }
    }
    /// A beacon of the other kind was heard with `lqi`.
    pub fn lqi_beacon(&mut self, now: Instant, beacon: &LqiBeacon, lqi: u8) {
        if let (Finding::Lqi(tree), false) = (&mut self.finding, self.pinned) {
            tree.beacon(now, beacon, lqi);
        }
    }
    /// A packet on its way up has been here before: there is a loop, which a node breaks where nothing
    /// else keeps loops from forming.
    pub fn went_round(&mut self) {
        if let (Finding::Lqi(tree), false) = (&mut self.finding, self.pinned) {
            tree.leave();
        }
    }

    /// When [`Router::build_beacon`] is due.
    #[inline]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.next_beacon
    }

    /// The beacon that is due at `now`, with `sequence` as its frame's number and an empty stamp; the
    /// next one comes an interval later.
    pub fn build_beacon(&mut self, now: Instant, sequence: u8) -> Option<FrameBuf> {
        let interval = self.interval?;
        match &mut self.finding {
            Finding::Etx(etx) => {
                let tenth = (interval / 5).as_micros().min(u64::from(u32::MAX)) as u32;
                let jitter = Duration::from_micros(u64::from(self.rng.below(tenth)));
                self.next_beacon = Some(now + interval.saturating_sub(interval / 10) + jitter);
                if !self.pinned {
                    etx.expect(now);
                }
                etx.build_beacon(sequence)
            }
            Finding::Lqi(lqi) => {
                self.next_beacon = Some(now + interval);
                if !self.pinned {
                    lqi.expect(now);
                }
                lqi.build_beacon(sequence)
            }
            Finding::Fixed(_) => None,
        }
    }
}
