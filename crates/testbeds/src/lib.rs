//! Testbeds of Thalweg: sites to simulate, and what changes on them.
//!
//! A [`Testbed`] describes a network and where its physics come from: a generated building, placed nodes,
//! or measured links (a K7 trace, a link matrix). [`Testbed::load`] finds one by name or file. A [`Site`]
//! is a testbed with a seed's random draws and injected losses; every run takes place on one.
//! Knows neither protocols nor plans. Formats: `docs/testbeds.md`. Tests: beside each file, `tests/`.

mod assumed;
mod battery;
mod bounds;
mod building;
mod central;
mod columns;
mod control;
mod draft;
mod error;
mod file;
mod import;
mod k7;
mod links;
#[cfg(test)]
mod links_tests;
mod load;
mod loss;
mod lqi;
mod matrix;
mod names;
mod propagation;
mod quotes;
mod ratios;
mod reach;
mod reception;
mod rows;
mod site;
mod source;
mod station;
mod summary;
mod testbed;
mod text;
mod trace;
mod written;

#[cfg(test)]
mod hostile_tests;

pub use assumed::Assumed;
pub use battery::{Batteries, Battery};
pub use bounds::{MAX_NODES, MAX_ROWS};
pub use building::{Building, Crowd, Numbering};
pub use error::{Location, NameError, Problem, TestbedError, MAX_PROBLEMS};
pub use k7::read_k7;
pub use links::LinkRow;
pub use loss::{Loss, Losses};
pub use matrix::read_matrix;
pub use reach::hops;
pub use site::{Site, SiteError, AGE};
pub use source::Links;
pub use station::{equip, Equipped, Station, StationError};
pub use summary::{summary, ChannelSummary, Ratios, Spread, SummaryOptions};
pub use testbed::{Measured, Node, Physics, Places, SinkBy, Testbed};
pub use trace::{Trace, TraceLink, Visits};
pub use written::matrix_text;
