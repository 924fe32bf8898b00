//! What tests of engines stand on.

pub mod harness;
