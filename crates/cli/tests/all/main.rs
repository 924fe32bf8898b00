//! The program as a person runs it.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod collect;
mod docs;
mod experiments;
mod fault;
mod firmware;
#[cfg(feature = "daemon")]
mod gateway;
mod help;
mod imports;
mod keys;
mod line;
mod networks;
mod objects;
mod report;
mod resume;
mod station;
mod streams;
mod sweep;
mod whole_network;
