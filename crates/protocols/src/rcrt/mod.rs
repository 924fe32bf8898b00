//! RCRT: reliable transport whose rates the sink decides (Paek and Govindan, SenSys 2007).

mod base;
mod notes;
#[cfg(test)]
mod sealed_tests;
#[cfg(any(test, feature = "std"))]
pub mod sink;
pub mod source;
#[cfg(test)]
mod tests;

pub use base::{Base, Handed, Send};
pub use notes::Notes;
