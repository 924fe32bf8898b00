//! Fusion: hop-by-hop flow control, pauses, source rate limiting and a prioritised MAC (thesis,
//! chapter 4), as the [`Discipline`] of a node's queue.
//!
//! What is switched on is a [`Strategy`]. Back-pressure and rate limiting concern the way up; pauses and
//! priority all that the node sends. Time base: the node's clock. Invariant: tokens never go below zero.
//! Tests: `tests.rs`.

mod detector;
mod limiter;
mod strategy;
#[cfg(test)]
mod tests;

pub use strategy::{Counts, Detection, Feedback, Limit, Sampling, Strategy};

use crate::csma::{Outcome, Priority};
use crate::stack::{ChannelState, Discipline, Fill, Gate, Hop, Overheard, Sighting};
use detector::Detector;
use limiter::Limiter;
use thalweg_engine::{Ability, Hear, Wants};
use thalweg_units::{Instant, NodeId};
use thalweg_wire::addressed::Congestion;
use thalweg_wire::tree::{congestion, stamp, Direction, Repr, Stamp};

/// A node's discipline.
#[derive(Debug)]
pub struct Fusion {
    id: NodeId,
    strategy: Strategy,
    detector: Detector,
    limiter: Limiter,
    parent_state: Congestion,
    /// Packets that a congested node may send although its parent is congested.
    allowance: u8,
    /// Packets that the queue can hold.
    limit: u8,
    quiet_until: Instant,
}

impl Fusion {
    /// The discipline of the node `id`, which knows of no congestion.
    pub const fn new(id: NodeId, strategy: Strategy) -> Self {
        Self {
            id,
            detector: Detector::new(strategy.detection),
            limiter: Limiter::new(strategy.rate_limit),
            strategy,
            parent_state: Congestion::Clear,
            allowance: 0,
            limit: 0,
            quiet_until: Instant::ZERO,
        }
    }
    /// Whether the node is congested itself.
    pub const fn congestion(&self) -> Congestion {
        self.detector.congestion()
    }

    /// Whether back-pressure stops this node's packets on their way up.
    fn is_blocked(&self) -> bool {
        self.strategy.has_flow_control()
            && self.parent_state == Congestion::Congested
            && self.allowance == 0
    }
    fn parent_says(&mut self, state: Congestion) {
        let rises = state == Congestion::Congested && self.parent_state == Congestion::Clear;
        self.parent_state = state;
        if rises {
            // One more packet, so that its own children learn of it.
            self.allowance = u8::from(self.congestion() == Congestion::Congested);
        }
    }
}

impl Discipline for Fusion {
    fn wants(&self) -> Wants {
        match self.strategy.detection {
            Detection::Sampling(_) => Wants::of(&[Ability::Sense]),
            Detection::Off | Detection::Occupancy { .. } => Wants::of(&[]),
        }
    }
    fn hears(&self) -> Hear {
        match self.strategy.overhears() {
            true => Hear::Everything,
            false => Hear::Addressed,
        }
    }

    fn heard(&mut self, now: Instant, heard: &Overheard<'_>) -> Option<Instant> {
        let by_parent = heard.by_parent;
        if let (true, Ok(state)) = (by_parent, congestion(heard.frame.stamp())) {
            self.parent_says(state);
        }
        let Repr::Data(packet) = heard.frame else {
            return None;
        };
        let is_up = packet.direction == Direction::Up;
        if let Hop::Here(sighting) = heard.hop {
            let is_pressed = self.congestion() == Congestion::Congested
                && self.parent_state == Congestion::Congested;
            if is_up && is_pressed && sighting != Sighting::Again {
                // This child has not heard of it.
                self.allowance = (self.allowance + 1).min(self.limit);
            }
            return None;
        }
        // A sink forwards by wire what it receives: its children go by what it is sent.
        if is_up && (by_parent || heard.hop == Hop::Sink) {
            (self.limiter).on_forward(now, packet.origin, packet.number, self.id);
        }
        let delay = self.strategy.delay.filter(|_| by_parent)?;
        self.quiet_until = heard.end + delay;
        Some(self.quiet_until)
    }

    fn queued(&mut self, now: Instant, fill: Fill) {
        self.limit = fill.limit;
        self.detector.queued(now, fill);
    }
    fn admits(&mut self, now: Instant, direction: Direction) -> bool {
        match direction {
            Direction::Up => self.limiter.admits(now),
            Direction::Down { .. } => true,
        }
    }
    fn admitted(&mut self, direction: Direction) {
        if direction == Direction::Up {
            self.limiter.spend();
        }
    }
    fn sent(&mut self, direction: Direction, outcome: Outcome) {
        if direction != Direction::Up {
            return;
        }
        if self.parent_state == Congestion::Congested {
            self.allowance = self.allowance.saturating_sub(1);
        }
        if let (Outcome::Acknowledged(state), Feedback::Both) = (outcome, self.strategy.feedback) {
            self.parent_says(state);
        }
    }

    fn gate(&self, now: Instant, direction: Direction) -> Gate {
        if direction == Direction::Up && self.is_blocked() {
            Gate::Held
        } else if now < self.quiet_until {
            Gate::Until(self.quiet_until)
        } else {
            Gate::Open
        }
    }
    fn priority(&self) -> Priority {
        match self.congestion() {
            Congestion::Congested => self.strategy.congested,
            Congestion::Clear => Priority::Normal,
        }
    }
    #[inline]
    fn stamp(&self) -> Stamp {
        stamp(self.congestion())
    }
    fn answer(&self) -> Congestion {
        match self.strategy.feedback {
            Feedback::Off | Feedback::Overhearing => Congestion::Clear,
            Feedback::Both => self.congestion(),
        }
    }
    fn forget(&mut self) {
        self.parent_state = Congestion::Clear;
        self.allowance = 0;
        self.quiet_until = Instant::ZERO;
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.detector.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.detector.handle_timeout(now);
    }
    #[inline]
    fn poll_sample(&mut self) -> bool {
        self.detector.poll_sample()
    }
    fn sampled(&mut self, now: Instant, channel: ChannelState) {
        self.detector.sampled(now, channel);
    }
}
