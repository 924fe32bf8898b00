//! Simulated networks as a whole: what goes wrong in them, lines to base stations, streams over two radios.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod line;
mod member;
mod robustness;
mod streams;
