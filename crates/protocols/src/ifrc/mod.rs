//! IFRC: interference-aware fair rate control (Rangwala, Gummadi, Govindan, Psounis, SIGCOMM 2006), as the
//! [`Discipline`] of a node's queue, for RCRT's section 4.2.5.
//!
//! Holds back the node's own packets on their way up, never transit. Rates are packets per second. Time
//! base: the node's clock; neighbours age by packets. Invariant: the rate does not exceed the parent's as
//! heard last. Not modelled: weights, several sinks. Tests: `tests.rs`, in a network `simnet/src/rcrt`.

mod base;
mod detector;
mod neighbours;
mod rate;
#[cfg(test)]
mod tests;

use crate::stack::{Discipline, Fill, Hop, Overheard};
use base::{time_of, Base, Growth};
use detector::{Crossing, Detector};
use neighbours::{Kin, Neighbours};
use rate::{Allowance, Slope, Taken};
use thalweg_engine::Hear;
use thalweg_units::{Instant, NodeId};
use thalweg_wire::ifrc::{Control, Rate, State, CONTROL_BYTES};
use thalweg_wire::tree::{Direction, Repr};
use thalweg_wire::Writer;

/// Packets that a queue under IFRC holds.
pub const QUEUE: u8 = 64;
/// r_init, packets per second: the rate of a node that has sent nothing.
pub const INITIAL_RATE: f32 = rate::INITIAL;

/// Whether the rate is what another had when the node sent its last packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lowered {
    /// By another, and no packet was sent since.
    Just,
    No,
}

/// What a node is.
#[derive(Debug)]
enum Role {
    Node,
    Base(Base),
}

/// A node's discipline.
#[derive(Debug)]
pub struct Ifrc {
    id: NodeId,
    role: Role,
    allowed: Allowance,
    detector: Detector,
    neighbours: Neighbours,
    parent: Option<NodeId>,
    /// Its lowest-rate congested child, as frames say.
    child: Option<(NodeId, State)>,
    lowered: Lowered,
    /// Packets in the queue.
    packets: u8,
    /// When it was asked last whether a packet may enter.
    asked: Instant,
    /// When its last packet entered, while the next may not.
    waits_since: Option<Instant>,
}

impl Ifrc {
    /// The discipline of the node `id`, which knows no neighbours.
    pub const fn new(id: NodeId) -> Self {
        Self::at(id, Role::Node)
    }
    /// That of a base station.
    pub const fn base(id: NodeId) -> Self {
        Self::at(id, Role::Base(Base::NEW))
    }
    const fn at(id: NodeId, role: Role) -> Self {
        Self {
            id,
            role,
            allowed: Allowance::NEW,
            detector: Detector::NEW,
            neighbours: Neighbours::EMPTY,
            parent: None,
            child: None,
            lowered: Lowered::No,
            packets: 0,
            asked: Instant::ZERO,
            waits_since: None,
        }
    }
    /// r_i, packets per second.
    pub const fn rate(&self) -> f32 {
        self.allowed.rate()
    }
    /// What its frames say of it.
    fn control(&self) -> Control {
        Control {
            own: State {
                rate: Rate::from_per_s(self.allowed.rate()),
                phase: self.allowed.phase(),
                crossed: self.detector.crossed(),
            },
            child: self.child,
        }
    }
    fn parent_rate(&self) -> Option<Rate> {
        self.parent.and_then(|parent| self.neighbours.rate(parent))
    }
    /// A congested node has crossed a threshold.
    fn follow(&mut self, state: State) {
        if self.allowed.take(state.rate, state.phase) == Taken::Lowered {
            self.lowered = Lowered::Just;
            if let Role::Base(base) = &mut self.role {
                base.changed();
            }
        }
    }
    /// When its next packet may enter.
    fn token_at(&self) -> Option<Instant> {
        (self.waits_since).map(|since| since + time_of(1.0, self.allowed.rate()))
    }
}

impl Discipline for Ifrc {
    const TAIL_BYTES: usize = CONTROL_BYTES;

    fn hears(&self) -> Hear {
        Hear::Everything
    }
    fn heard(&mut self, now: Instant, heard: &Overheard<'_>) -> Option<Instant> {
        let control = Control::parse(heard.tail).ok()?;
        let kin = match (heard.frame, heard.hop) {
            (Repr::Data(packet), Hop::Here(_)) if packet.direction == Direction::Up => Kin::Child,
            _ => Kin::Other,
        };
        let from = heard.frame.link().from;
        let crossed = self.neighbours.heard(from, kin, control);
        let me = control.child.is_some_and(|(child, _)| child == self.id);
        match (&mut self.role, kin) {
            (Role::Base(base), Kin::Child) => {
                base.heard_child(now, self.allowed.rate());
                crossed.own.into_iter().for_each(|state| self.follow(state));
            }
            (Role::Base(_), Kin::Other) => {}
            (Role::Node, _) => {
                let child = crossed.child.filter(|_| !me);
                for state in crossed.own.into_iter().chain(child) {
                    self.follow(state);
                }
                if heard.by_parent {
                    self.parent = Some(from);
                }
                if let Some(rate) = self.parent_rate() {
                    self.allowed.cap(rate);
                }
            }
        }
        self.child = self.neighbours.most_congested_child();
        None
    }

    fn queued(&mut self, _now: Instant, fill: Fill) {
        let before = core::mem::replace(&mut self.packets, fill.packets);
        if fill.packets <= before {
            return;
        }
        match (self.detector.inserted(fill.packets), self.lowered) {
            (Crossing::None, _) | (Crossing::Threshold, Lowered::Just) => {}
            (Crossing::Threshold, Lowered::No) => self.allowed.halve(),
            (Crossing::Last, _) => self.allowed.restart(),
        }
    }
    fn admits(&mut self, now: Instant, direction: Direction) -> bool {
        self.asked = now;
        direction != Direction::Up || self.token_at().is_none_or(|due| due <= now)
    }
    fn admitted(&mut self, direction: Direction) {
        if direction != Direction::Up {
            return;
        }
        self.waits_since = Some(self.asked);
        self.lowered = Lowered::No;
        self.neighbours.sent();
        self.child = self.neighbours.most_congested_child();
        let parent = self.parent_rate();
        if parent.is_none_or(|parent| self.allowed.rate() < parent.per_s()) {
            self.allowed.grow(Slope::Node);
        }
        if let Some(parent) = parent {
            self.allowed.cap(parent);
        }
    }

    fn write_tail(&self, tail: &mut [u8]) {
        // The stack gives as many bytes as are written.
        let _ = self.control().emit(&mut Writer::new(tail));
    }
    fn poll_notice(&mut self) -> bool {
        match &mut self.role {
            Role::Node => false,
            Role::Base(base) => base.poll_notice(),
        }
    }
    fn forget(&mut self) {
        self.neighbours.forget();
        (self.parent, self.child) = (None, None);
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        match &self.role {
            Role::Node => self.token_at(),
            Role::Base(base) => base.poll_timeout(),
        }
    }
    fn handle_timeout(&mut self, now: Instant) {
        let rate = self.allowed.rate();
        let largest = self.neighbours.largest_child_rate();
        let may_enter = self.token_at().is_some_and(|due| due <= now);
        match &mut self.role {
            Role::Node if may_enter => self.waits_since = None,
            Role::Node => {}
            Role::Base(base) => {
                let largest = largest.map_or(rate, Rate::per_s).max(rate::INITIAL);
                if base.handle_timeout(now, rate, largest) == Growth::Grow {
                    self.neighbours.sent();
                    self.child = self.neighbours.most_congested_child();
                    self.allowed.grow(Slope::Base);
                }
            }
        }
    }
}
