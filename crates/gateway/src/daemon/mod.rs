//! The daemon beside a base station: jobs that outlive a restart, an API, a page.
//!
//! [`network::Network`] opens the field; `engine` runs one job after the other in a thread of its own;
//! `desk` is what that thread and those that answer requests share; `http` and `page` answer; `mqtt` tells a broker.
//! Time base: wall clock, and the field's for what the network does. Not done: several base stations at once. Tests:
//! `crates/lab/tests/daemon/`.

pub mod config;
mod desk;
mod engine;
mod http;
mod kind;
mod mqtt;
pub mod network;
mod outbox;
mod page;
mod running;
mod serve;
mod view;
mod watched;

pub use serve::{Daemon, StartError};
