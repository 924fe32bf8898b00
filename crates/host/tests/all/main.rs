//! Jobs over networks in which things go wrong.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod flaky;
mod recovery;
mod slow_rounds;
