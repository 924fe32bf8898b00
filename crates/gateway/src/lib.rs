//! Thalweg's host side: what runs beside a base station, whether its network is real or simulated.
//!
//! Owns the object store. Reaches neither `sim` nor `medium` nor `testbeds`. Time base: wall clock.
//! Tests: beside the modules.

pub mod store;
