//! Power that fails between any two writes of the store: what was confirmed stays, and the store goes on.
//!
//! [`Recording`] is what a process asked the system for (by `strace`), [`Disk`] what a disk holds after part of
//! it, [`try_points`] opens the store there. Time base: none. Model: a synced file keeps what it held; of later writes any
//! survive, by sectors; names in a folder survive in their order, up to any one, and all before its folder was synced. Not
//! modelled: a disk that lies about a sync, the store's own folder without its name. Tests: `power_tests.rs`.

mod check;
mod disk;
mod promise;
mod trace;
mod workload;

pub use check::{points_of, try_points, Lost, Points};
pub use disk::{Disk, Survives};
pub use trace::{record, Call, Recording, TraceError};
pub use workload::{workload, WorkloadError};

#[cfg(test)]
mod power_tests;
