//! Thalweg in a few lines: open a network, plan, collect.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use std::ops::ControlFlow::Continue;
//! # let node = thalweg_units::NodeId::new(5)?;
//! let network = thalweg::Network::open("line5")?.seed(7).random_object(1_000).from(Some(node));
//! let links = network.links(&mut |_, _| Continue(()))?;
//! let (_, expected) = network.plan(&links)?;
//! let got = network.collect(5)?;
//! println!("{} hops planned, {:.0} kbit/s", expected.hops, got.summary().goodput_kbps);
//! # assert_eq!(expected.hops, usize::try_from(got.summary().hops)?);
//! # assert!(got.object().is_some_and(|bytes| bytes.len() == 1_000));
//! # Ok(())
//! # }
//! ```
//!
//! A [`Network`] is a testbed and a request to it. `collect` surveys the simulated network, plans a route and fetches an
//! object; [`Network::remote`] does the same over a base station's line. The command line is a client of this
//! crate: it parses options, shows progress and prints. Time base: the network's own. The same seed gives the same bytes.

/// What the crate's page shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod all_nodes;
mod base_stations;
mod error;
mod gather;
mod known;
mod lab;
mod lifetime;
mod network;
mod rounds;
pub mod sweep;

pub use all_nodes::{AllNodes, Visit};
pub use base_stations::{Assigned, BaseStations, Choice, ChoiceBy, Station};
pub use error::{Error, ErrorKind};
pub use gather::Gathering;
pub use known::{experiments, protocols, KnownExperiment, KnownProtocol};
pub use lab::{results_of, ExperimentRun, Lab, Step, StepObserver};
pub use lifetime::{Idle, Joules, Lifetime, Milestone, NodeLife, Usage};
pub use network::{read_object, Network, MAX_FILE, MAX_PAYLOAD, OBJECT_BYTES};
pub use thalweg_host::collector::Report as PipelineReport;
pub use thalweg_host::job::Progress;
pub use thalweg_host::link_state::PlanSummary as Plan;
pub use thalweg_host::outcome::Summary;
pub use thalweg_host::registry::{self, Protocol, PROTOCOLS};
pub use thalweg_lab::experiment::{Experiment, Explained, Report as ExperimentReport, RunOption};
pub use thalweg_lab::results::{Column, ColumnKind, Extent, Row, Value};
pub use thalweg_simnet::collect::Object;
pub use thalweg_simnet::fetch::{Explain, Maps, Report, Surveyed};
pub use thalweg_simnet::gather::{Progress as GatherProgress, Report as GatherReport, Scenario};
pub use thalweg_testbeds::{LinkRow, Testbed};
