//! Networks in which everything goes wrong: links, workload and faults from one seed, packet by packet, and what must
//! hold all the same.
//!
//! A seed makes a [`Script`], [`run`] runs it and says what broke ([`Breach`]), [`shrink`] leaves out what does not matter
//! for that, [`campaign`] runs many. Time base: simulated time. Invariant: the same script, the same end. Not modelled:
//! the wall clock's faults. Tests: `run_tests.rs`, `campaign_tests.rs`; what it tries: `docs/robustness.md`.

mod air;
mod breach;
pub mod campaign;
mod captured;
mod draw;
mod network;
mod outsider;
mod party;
pub mod power;
mod run;
mod script;
mod session;
mod shelf;
mod shrink;

pub use breach::{Breach, BreachKind};
pub use draw::{draw, Whom};
pub use run::{run, Ran};
pub use script::{
    Act, Fade, Fault, FrameFault, Idle, Link, Script, ScriptError, Security, Step, Strike,
};
pub use shrink::shrink;
