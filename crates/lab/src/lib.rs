//! Experiments in simulation: transfers, metrics, claims of papers, explanations.
//!
//! Data flows one way: site -> survey -> plan -> transfer -> outcome -> metrics -> report. Sites are
//! [`thalweg_testbeds`]', pictures [`thalweg_draw`]'s, the object store [`thalweg_host`]'s.

pub mod experiment;
pub mod plots;
pub mod results;
pub mod speed;
