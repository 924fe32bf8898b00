//! Thalweg's host side: what runs beside a base station, whether its network is real or simulated.
//!
//! A [`network::Network`] is a network as its base stations show it; a [`job::Job`] is a survey or a transfer without
//! I/O, and [`job::run`] the one loop that runs it. [`registry`] lists the protocols, [`transfer`] has a file for
//! each family, [`link_state`] plans, [`segments`] makes one object of many transfers, [`collector`] puts these
//! together, [`store`] keeps the results. Depends neither on `sim` nor `medium` nor `testbeds`. Time base: the
//! network's. Tests: beside the modules, `tests/`.

pub mod collector;
pub mod connector;
pub mod job;
pub mod line;
pub mod link_state;
pub mod network;
pub mod object;
pub mod outcome;
pub mod recovery;
pub mod registry;
pub mod security;
pub mod segments;
pub mod store;
pub mod survey;
pub mod text;
pub mod transfer;
pub mod waves;

/// The version of the daemon's HTTP API, which `/healthz` reports. It changes where clients of this version would fail.
pub const API_VERSION: u32 = 1;
