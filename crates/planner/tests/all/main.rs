//! Plans of whole networks.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod backups;
mod chains;
mod common;
mod paths;
mod plans;
mod waves;
