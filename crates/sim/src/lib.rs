//! Thalweg's simulator: answers the contract of [`thalweg_engine`] on the physics of
//! [`thalweg_medium`].
//!
//! A [`Network`] holds one engine per node, each on a [`Board`] with its own clock, and lets time
//! pass. Never names a protocol. Time base: [`thalweg_units::SimTime`]; no wall clock. Same seed,
//! same bytes. Does not model: crystal error within a frame.

mod air;
mod answer;
mod background;
mod board;
mod capture;
mod clock;
mod conditional;
pub mod contention;
mod energy;
mod fault;
mod network;
mod operations;
mod queue;
mod radio;
mod software;
#[cfg(test)]
mod tests;
mod timeline;
mod trace;
mod watch;
mod world;

pub use background::{Background, BackgroundRuns};
pub use board::{
    boards, AckStyle, Board, BoardError, Bus, Costs, Currents, PreCopy, SecondRadio, Software,
};
pub use capture::{Capture, CaptureError, Captured, Pcapng, Scope, Side};
pub use clock::ClockModel;
pub use energy::{Energy, RadioState};
pub use fault::Fault;
pub use network::{Network, NetworkError, SimError, Stop};
pub use timeline::{Activity, Span, SpanHook};
pub use trace::{AirHook, AirTrace, Ending, Moment, ReceptionTrace, Stats, TraceHook};
