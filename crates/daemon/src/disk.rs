//! The disk under the store: what is free, how much is to stay free, and what last went wrong there.
//!
//! Invariants: a fault is reported once and lasts until something is written again; below the reserve no job begins. Time
//! base: wall clock. Tests: `crates/daemon/tests/all/disk.rs`.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thalweg_host::store::{Store, StoreError};

/// How long a reading of the free space serves.
const READING: Duration = Duration::from_secs(2);

/// What is kept, and how much of the disk is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// Objects that are older, in days on which the daemon ran, are deleted; none by default. Zero is refused: who writes
    /// it wants to keep all.
    pub keep_days: Option<NonZeroU32>,
    /// The oldest objects are deleted until all have so many bytes; none by default.
    pub keep_bytes: Option<NonZeroU64>,
    /// So long are jobs that ended kept, and records of transfers whose object is gone; in the same days.
    pub history_days: NonZeroU32,
    /// With fewer bytes free no job begins.
    pub reserve_bytes: u64,
}

/// A quarter of a year.
const HISTORY_DAYS: NonZeroU32 = NonZeroU32::new(90).unwrap();

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            keep_days: None,
            keep_bytes: None,
            history_days: HISTORY_DAYS,
            reserve_bytes: 64 << 20,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    free: Option<(Instant, u64)>,
    /// Of the database.
    fault: Option<String>,
    /// Of the objects' folder: the database may be fine all the same.
    objects: Option<String>,
    faults: u64,
}

/// The disk.
#[derive(Debug)]
pub(super) struct Disk {
    config: StoreConfig,
    state: Mutex<State>,
}

/// How it is, as `/healthz` tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DiskState {
    /// Bytes that are free; none where the system does not say.
    pub(super) free_bytes: Option<u64>,
    pub(super) reserve_bytes: u64,
    /// What went wrong, until something is written again.
    pub(super) fault: Option<String>,
    /// How often something went wrong.
    #[serde(skip)]
    pub(super) faults: u64,
}

/// Too little is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiskLow {
    free: u64,
    reserve: u64,
}

impl fmt::Display for DiskLow {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = |bytes: u64| bytes as f64 / 1e6;
        write!(
            to,
            "the disk has {:.0} MB left, and {:.0} MB stay free",
            mb(self.free),
            mb(self.reserve)
        )
    }
}

impl Disk {
    pub(super) fn new(config: StoreConfig) -> Self {
        let state = Mutex::default();
        Self { config, state }
    }
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept of objects.
    pub(super) const fn config(&self) -> &StoreConfig {
        &self.config
    }
    /// How it is. The caller has `store` locked.
    pub(super) fn read(&self, store: &Store) -> DiskState {
        let mut state = self.state();
        let last = state.free.filter(|(at, _)| at.elapsed() < READING);
        let now = last.or_else(|| Some((Instant::now(), store.free_bytes()?)));
        state.free = now;
        DiskState {
            free_bytes: now.map(|(_, free)| free),
            reserve_bytes: self.config.reserve_bytes,
            fault: state.fault.clone().or_else(|| state.objects.clone()),
            faults: state.faults,
        }
    }
    /// Whether something went wrong, and nothing was written since.
    pub(super) fn is_at_fault(&self) -> bool {
        let state = self.state();
        state.fault.is_some() || state.objects.is_some()
    }
    /// Notes whether a write to the database went well; tells a fault once.
    pub(super) fn note<T>(&self, written: Result<T, StoreError>) -> Option<T> {
        match written {
            Ok(value) => {
                if self.state().fault.take().is_some() {
                    tracing::info!("the store can be written again");
                }
                Some(value)
            }
            Err(why) => {
                self.blame(&why);
                None
            }
        }
    }
    /// Notes whether a try at database and objects went well.
    pub(super) fn note_try(&self, tried: Result<(), StoreError>) {
        if self.note(tried).is_some() && self.state().objects.take().is_some() {
            tracing::info!("objects can be written again");
        }
    }
    /// Notes what went wrong with a write; tells it once.
    pub(super) fn blame(&self, why: &StoreError) {
        let mut state = self.state();
        state.faults += 1;
        // The free space may just have gone: read it again before the next job begins.
        state.free = None;
        let text = Some(why.to_string());
        let fault = match why {
            StoreError::Io { .. } => &mut state.objects,
            _ => &mut state.fault,
        };
        if *fault != text {
            tracing::error!("{why}");
            *fault = text;
        }
    }
}

impl DiskState {
    /// Where too little is free.
    pub(super) fn low(&self) -> Option<DiskLow> {
        let free = self.free_bytes?;
        let reserve = self.reserve_bytes;
        (free < reserve).then_some(DiskLow { free, reserve })
    }
    /// What needs attention.
    pub(super) fn trouble(&self) -> Option<String> {
        match (&self.fault, self.low()) {
            (Some(fault), _) => Some(format!("The store cannot be written: {fault}.")),
            (None, Some(low)) => Some(format!(
                "Jobs wait: {low}. Delete objects, or make room otherwise."
            )),
            (None, None) => None,
        }
    }
}
