//! The physics of Thalweg's simulator: propagation, interference, modems.
//!
//! An [`Environment`] is a site (ears, links, interference), shared by all runs on it; a
//! [`Medium`] is the air of one run: what is being sent, which receiver is locked on what, and how
//! each fares, symbol by symbol. This crate knows neither protocols nor the costs of radio
//! operations. Time base: [`thalweg_units::SimTime`]. Same seed, same outcomes, on every
//! machine: draws depend on (seed, transmission, ear), never on the order of calls of others.
//! Tests: beside the modules; `src/tests/` holds a naive medium to compare, `tests/all/` a chip-level receiver.

mod air;
mod building;
mod cause;
pub mod chip;
mod draws;
mod drift;
mod environment;
pub mod ether;
mod fading;
mod geometry;
mod interference;
mod links;
mod logarithm;
mod measured;
mod medium;
pub mod modem;
mod phasors;
pub mod random;
mod receiver;
mod reception;
mod signal;
#[cfg(test)]
mod tests;
mod variation;

pub use air::{
    Able, Air, Deaf, EarStatus, Explain, FrameId, Lead, Locked, Outcome, Receiving, Reception,
    Sending,
};
pub use building::{BuildingModel, CleanBurstsModel, WifiModel};
pub use cause::Cause;
pub use chip::Chip;
pub use drift::World;
pub use environment::{Ear, Environment};
pub use fading::Fading;
pub use geometry::{corridor_layout, Placement, Position};
pub use interference::{band_of, Interference, Source, BANDS};
pub use links::{Link, Links, LinksBuilder, INAUDIBLE_FACTOR};
pub use logarithm::Logarithm;
pub use measured::{Levels, MeasuredFrame, MeasuredLink};
pub use medium::Medium;
pub use variation::{Change, Variation};

/// A radio of an environment: both its receiver and its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EarId(pub u32);
