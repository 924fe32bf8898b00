//! What all stations of a daemon have in common: the store, the news, counts, the disk.
//!
//! Invariants: one lock guards the store, held for a query or a write. Time base: wall clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::broadcast;

use super::concurrency::Concurrency;
use super::config::StoreConfig;
use super::disk::{Disk, DiskState};
use super::mqtt::MqttState;
use thalweg_host::store::{Level, Store};

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
    pub(super) begun: Instant,
}

impl Shared {
    pub(super) fn new(store: Store, config: StoreConfig, mqtt: Option<Arc<MqttState>>) -> Self {
        Self {
            disk: Disk::new(config),
            counts: Counts::default(),
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
    /// Deletes what the configuration keeps no longer.
    pub(super) fn delete_old(&self) {
        let StoreConfig {
            keep_days,
            keep_bytes,
            ..
        } = *self.disk.config();
        let deleted = {
            let mut store = self.store();
            let by_age = keep_days.map(|days| store.delete_older(days.get()));
            let by_size = keep_bytes.map(|most| store.delete_beyond(most.get()));
            [by_age, by_size]
        };
        for deleted in deleted.into_iter().flatten() {
            let Some(deleted) = self.disk.note(deleted).filter(|d| d.objects > 0) else {
                continue;
            };
            let line = format!(
                "{} old objects deleted, {} bytes",
                deleted.objects, deleted.bytes
            );
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
