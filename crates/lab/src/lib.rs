//! Testbeds, experiments, metrics and reports of Thalweg.
pub mod plot;
pub mod store;
pub mod testbed;
