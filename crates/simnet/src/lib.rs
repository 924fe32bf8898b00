//! Simulated networks behind the host's trait `Network`: motes, trees, streams, a base station on a line, and collecting
//! from each.
//!
//! Generic code is compiled once for each kind of network, here; experiments stand above. Time base: simulated time.

pub mod basestation;
mod battery;
pub mod campaign;
pub mod collect;
pub mod convergecast;
pub mod emulated;
pub mod explain;
pub mod fetch;
pub mod forwarding;
pub mod gather;
pub mod motes;
pub mod networks;
mod offers;
pub mod rcrt;
pub mod security;
pub mod streams;
