//! Testbeds, experiments, metrics and reports of Thalweg.
pub mod store;
