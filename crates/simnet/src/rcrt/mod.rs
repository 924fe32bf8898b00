//! Networks of many sources that send to sinks with RCRT, or with the protocols it is compared to (RCRT, section 4).
//!
//! Data flows [`Setup`] -> [`run`] -> [`Outcome`]. Nodes use carrier sense and a tree; sinks are programs beside the base
//! stations. [`gather`](crate::gather) fetches files. Invariant: a packet counts as delivered once, in order, with the bytes
//! that its source sent. Tests: `crates/lab/src/experiment/rcrt/tests.rs`, `gather/tests.rs`.

mod floor;
mod incident;
mod mote;
mod network;
mod outcome;
mod pacing;
mod program;
mod run;
mod setup;
mod upper;

pub use floor::{Shape, Wanted};
pub use incident::{Happens, Incident};
pub use network::TreeNetwork;
pub use outcome::{FlowOutcome, Outcome};
pub use pacing::Pacing;
pub use run::run;
pub use setup::{Flow, Settle, Setup, Sink, Transport, Tree};
