//! What all stations of a daemon have in common: the store, the news, counts, the disk.
//!
//! Invariants: one lock guards the store, held for a query or a write. Time base: wall clock.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::broadcast;

use super::clock::now;
use super::concurrency::Concurrency;
use super::config::StoreConfig;
use super::disk::{Disk, DiskState};
use super::mqtt::MqttState;
use thalweg_host::store::{day_of, Deleted, Level, Store, StoreError};
use thalweg_host::text::count;

/// How many news a watcher may lag behind; a slower one is asked to reload.
const NEWS: usize = 256;

/// An event for those who watch.
#[derive(Debug, Clone)]
pub(super) struct News {
    pub(super) event: &'static str,
    /// JSON.
    pub(super) data: Arc<str>,
}

/// Counts since the daemon began.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Objects that came.
    pub(super) objects: AtomicU64,
    /// Their bytes.
    pub(super) bytes: AtomicU64,
    /// Jobs that failed.
    pub(super) failures: AtomicU64,
    /// Transfers that broke off and were tried again.
    pub(super) retries: AtomicU64,
    /// Lines that were lost.
    pub(super) lines_lost: AtomicU64,
}

impl Counts {
    /// Adds to one of them.
    pub(super) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

/// What all stations have in common.
pub(super) struct Shared {
    /// The broker, where there is one.
    pub(super) mqtt: Option<Arc<MqttState>>,
    store: Mutex<Store>,
    news: broadcast::Sender<News>,
    pub(super) concurrency: Concurrency,
    pub(super) disk: Disk,
    /// What jobs came to since the daemon began.
    pub(super) counts: Counts,
    /// The day on which old things were last deleted, counted from 1970.
    day: AtomicI64,
    pub(super) begun: Instant,
}

impl Shared {
    pub(super) fn new(store: Store, config: StoreConfig, mqtt: Option<Arc<MqttState>>) -> Self {
        Self {
            disk: Disk::new(config),
            counts: Counts::default(),
            day: AtomicI64::new(i64::MIN),
            mqtt,
            store: Mutex::new(store),
            news: broadcast::Sender::new(NEWS),
            concurrency: Concurrency::default(),
            begun: Instant::now(),
        }
    }
    /// The store, locked.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        // A thread that panicked leaves no transaction open: its guard rolls it back.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// How the disk is.
    pub(super) fn disk_state(&self) -> DiskState {
        self.disk.read(&self.store())
    }
    /// Once a day, forgets and deletes what the configuration keeps no longer by its age.
    pub(super) fn delete_old(&self) {
        let today = day_of(now());
        if self.day.swap(today, Ordering::Relaxed) == today {
            return;
        }
        let StoreConfig {
            keep_days,
            history_days,
            ..
        } = *self.disk.config();
        let done = {
            let mut store = self.store();
            let noted = store.note_day(today);
            let forgotten = noted.and_then(|_| store.forget_older(history_days.get()));
            forgotten.and_then(|_| {
                keep_days.map_or(Ok(None), |days| store.delete_older(days.get()).map(Some))
            })
        };
        if done.is_err() {
            // Another try, when the store can be written.
            self.day.store(i64::MIN, Ordering::Relaxed);
        }
        self.note_deleted(done);
    }
    /// Deletes the oldest objects beyond the bytes that the configuration keeps.
    pub(super) fn delete_beyond(&self) {
        if let Some(most) = self.disk.config().keep_bytes {
            let deleted = self.store().delete_beyond(most.get());
            self.note_deleted(deleted.map(Some));
        }
    }
    fn note_deleted(&self, deleted: Result<Option<Deleted>, StoreError>) {
        let deleted = self.disk.note(deleted).flatten();
        if let Some(deleted) = deleted.filter(|deleted| deleted.objects > 0) {
            let (objects, bytes) = (deleted.objects, deleted.bytes);
            let objects = count(objects, "old object");
            let line = format!("{objects} deleted, {}", count(bytes, "byte"));
            self.log(Level::Info, &line);
        }
    }
    pub(super) fn watch(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }
    /// The number of watchers.
    pub(super) fn watchers(&self) -> usize {
        self.news.receiver_count()
    }
    pub(super) fn emit(&self, event: &'static str, data: &impl Serialize) {
        if let Ok(data) = serde_json::to_string(data) {
            // Fails where there is no watcher.
            let _ = self.news.send(News {
                event,
                data: data.into(),
            });
        }
    }
    /// Writes a line into the log, and emits it.
    pub(super) fn log(&self, level: Level, text: &str) {
        match level {
            Level::Info => tracing::info!("{text}"),
            Level::Warning => tracing::warn!("{text}"),
        }
        let line = {
            let mut store = self.store();
            // Where the store fails, the trace above has the line all the same.
            let written = self.disk.note(store.log(level, text));
            let lines = written.and_then(|_| store.lines(None, 1).ok());
            lines.and_then(|mut lines| lines.pop())
        };
        if let Some(line) = line {
            self.emit("log", &line);
        }
    }
}
