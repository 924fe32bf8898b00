//! The library as strangers use it, and the motes of a site on emulated chips beside the same motes simulated.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod emulated;
mod front_door;
mod lab;
mod secured;
mod whole_network;
