//! The daemon beside a base station: jobs that outlive a restart, an API, a page.
//!
//! A [`Station`] is a network with its base station. A [`thalweg_host::connector::Connector`] opens the network;
//! `engine` runs one job after the other in a thread of its own; `station_state` is what that thread shares with
//! those that answer requests; `http` and `page` serve all stations; `mqtt` sends to a broker. Time base: wall clock,
//! and the network's for what the network does. Tests: `crates/daemon/tests/all/`.

pub mod answering;
mod clock;
mod concurrency;
pub mod config;
mod disk;
mod engine;
mod good_links;
mod http;
mod kind;
mod limits;
mod mqtt;
mod outbox;
mod page;
mod reader;
mod running;
mod seats;
mod secret;
mod serve;
mod shared;
mod snapshot;
mod station_state;
mod stations;
mod view;

pub use serve::{Daemon, StartError};
pub use stations::{Station, StationError};
