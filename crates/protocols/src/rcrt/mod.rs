//! RCRT: reliable transport whose rates the sink decides (Paek and Govindan, SenSys 2007).

mod base;
#[cfg(feature = "std")]
pub mod sink;
pub mod source;

pub use base::{Base, Handed, Send};
