//! Testbeds, transfers, experiments, metrics, plots and the object store of Thalweg.
//!
//! Data flows one way: testbed -> survey -> plan -> transfer -> outcome -> metrics -> report.

pub mod campaign;
pub mod collect;
pub mod convergecast;
pub mod experiment;
pub mod explain;
pub mod forwarding;
pub mod plot;
pub mod speed;
pub mod streams;
pub mod testbed;
pub mod transfer;
pub mod variant;
