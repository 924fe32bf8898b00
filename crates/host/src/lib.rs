//! Thalweg's host side: what runs beside a base station, whether its network is real or simulated.
//!
//! A [`field::Network`] is the network as its base stations show it; a [`job::Job`] is a survey or a transfer
//! without I/O, and [`job::run`] the one loop that runs it. [`registry`] lists the protocols, [`carry`]
//! has a file for each family, [`known`] plans, [`parts`] makes one object of many transfers, [`store`] keeps. Reaches neither `sim` nor `medium` nor
//! `testbeds`. Time base: the field's. Tests: beside the modules, `tests/`.

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
pub mod segments;
pub mod store;
pub mod survey;
pub mod transfer;
pub mod waves;

/// The version of a gateway's HTTP API, which `/healthz` tells; another where programs that know this one would go
/// wrong.
pub const API_VERSION: u32 = 1;
