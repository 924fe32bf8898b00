//! Newtypes of the quantities that Thalweg computes with.
//!
//! Owns: time ([`Instant`], [`SimTime`], [`Duration`]), power ([`Dbm`], [`Db`], [`MilliWatts`]),
//! [`Channel`]s, addresses and rates. Invariant: a value that has no meaning cannot be made
//! (a [`Channel`] is 11..=26, powers add only in milliwatts). `no_std`, no allocation.
//! Tests: beside each module.
#![no_std]

mod address;
mod band;
mod battery;
mod channel;
mod power;
mod rate;
mod restarts;
mod time;

pub use address::{Named, NodeId, NodeIdError};
pub use band::{Channel900, Tuning};
pub use battery::BatteryLevel;
pub use channel::{Channel, ChannelError, ChannelSet};
pub use power::{Db, Dbm, MilliWatts};
pub use rate::BitRate;
pub use restarts::{Cause, Restarts};
pub use time::{Duration, Instant, SimTime};
