//! The simulated side of Thalweg: transfers, experiments, metrics, claims and explanations.
//!
//! Data flows one way: site -> survey -> plan -> transfer -> outcome -> metrics -> report. Sites are
//! [`thalweg_testbeds`]', pictures [`thalweg_draw`]'s, the object store [`thalweg_gateway`]'s.

pub mod basestation;
mod battery;
pub mod campaign;
pub mod collect;
pub mod convergecast;
pub mod experiment;
pub mod explain;
pub mod fetch;
pub mod field;
pub mod forwarding;
pub mod gateway;
pub mod gather;
pub mod maps;
mod offers;
pub mod rcrt;
pub mod results;
pub mod speed;
pub mod streams;
