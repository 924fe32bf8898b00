//! Thalweg's simulator: answers the contract of [`thalweg_engine`] on the physics of
//! [`thalweg_medium`].
//!
//! A [`Network`] holds one engine per node, each on a [`Board`] with its own clock, in any
//! [`thalweg_medium::Air`], and lets time pass. Never names a protocol. Time base:
//! [`thalweg_units::SimTime`]; no wall clock. Same seed, same bytes. Does not model: crystal error
//! within a frame.

mod board;
mod capture;
mod clock;
mod energy;
mod fault;
mod hooks;
mod mcu;
mod network;
mod queue;
mod radio;
mod rules;
mod strength;
#[cfg(test)]
mod tests;
mod world;

pub use board::{
    built_in as boards, AckBy, Acks, Background, Board, BoardError, Bus, Costs, Currents, Detector,
    McuRuns, PreCopy, SecondRadio, Software, Wakes, Waking,
};
pub use capture::{Capture, CaptureError, Captured, Pcapng, Scope, Side};
pub use clock::ClockModel;
pub use energy::{Energy, RadioState};
pub use fault::Fault;
pub use hooks::{
    Activity, AirHook, AirTrace, Aired, Ending, Kind, Moment, Observer, ReceptionTrace, Span,
    SpanHook, Stats, TraceHook,
};
pub use mcu::BackgroundRuns;
pub use network::{Network, NetworkError, Remake, SimError, Stop};
pub use radio::misfit;
