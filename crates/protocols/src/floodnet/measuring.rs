//! A node's part in measuring links: its turn of beacons, or a sweep. Time base: the node's clock. Tests: `tests.rs`.

use crate::linkprobe::{BeaconTurn, Step};
use crate::sweep::{self, Sweeping};
use thalweg_units::Instant;

/// What this node has a part in measuring.
#[derive(Debug)]
pub(super) enum Measuring {
    Nothing,
    BeaconTurn(BeaconTurn),
    /// It stays when it is over: its parameters are wanted as long as its reports are.
    Sweep(Sweeping),
}

impl Measuring {
    /// Whether there is more to be done.
    pub(super) const fn is_on(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::BeaconTurn(_) => true,
            Self::Sweep(sweep) => !sweep.is_done(),
        }
    }
    pub(super) const fn sweep(&self) -> Option<&Sweeping> {
        match self {
            Self::Sweep(sweep) => Some(sweep),
            _ => None,
        }
    }
    pub(super) fn step_of_turn(&mut self, now: Instant) -> Option<Step> {
        match self {
            Self::BeaconTurn(turn) => turn.step(now),
            _ => None,
        }
    }
    pub(super) fn step_of_sweep(&mut self, now: Instant) -> Option<sweep::Step> {
        match self {
            Self::Sweep(sweep) => sweep.step(now),
            _ => None,
        }
    }
    pub(super) fn due(&self) -> Option<Instant> {
        match self {
            Self::Nothing => None,
            Self::BeaconTurn(turn) => turn.peek().map(|(due, _)| due),
            Self::Sweep(sweep) => sweep.peek().map(|(due, _)| due),
        }
    }
}
