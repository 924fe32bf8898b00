//! How objects travel: one file for each family, with its nodes, its terms and its jobs.

pub mod log;
pub mod pipeline;
