//! Limits how many stations of a building are at work at once: they share its air.
//!
//! Stations that find all places taken wait in the order in which they came; one that does not come back for a while
//! loses its place. Invariant: a station is at work at most once. Time base: wall clock. Tests: `concurrency_tests.rs`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A station that has not come back for this long no longer waits. Stations look at their queues each second.
const GONE: Duration = Duration::from_secs(5);

/// Stations of a building.
#[derive(Debug, Default)]
struct Building {
    at_work: BTreeSet<String>,
    /// Stations without a place, the first first, and when each last came.
    waiting: VecDeque<(String, Instant)>,
}

/// Whether a station may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// It is at work.
    Entered,
    /// Too many others are, or come before it.
    Full,
}

/// The stations of all buildings. Stations without a building count as one building.
#[derive(Debug, Default)]
pub(super) struct Concurrency(Mutex<BTreeMap<Option<String>, Building>>);

impl Concurrency {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Option<String>, Building>> {
        // Each change is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `station` of `building` begin work at `now`, where at most `most` may be at work.
    pub(super) fn enter(
        &self,
        (building, station): (&Option<String>, &str),
        most: Option<u32>,
        now: Instant,
    ) -> Entry {
        let mut all = self.all();
        let of = all.entry(building.clone()).or_default();
        let comes = |(_, at): &(String, Instant)| now.saturating_duration_since(*at) < GONE;
        of.waiting.retain(comes);
        let most = most.map_or(usize::MAX, |most| most as usize);
        let free = most.saturating_sub(of.at_work.len());
        let place = of.waiting.iter().position(|(name, _)| name == station);
        if place.unwrap_or(of.waiting.len()) < free {
            of.waiting.retain(|(name, _)| name != station);
            of.at_work.insert(station.to_owned());
            return Entry::Entered;
        }
        match place.and_then(|place| of.waiting.get_mut(place)) {
            Some((_, at)) => *at = now,
            None => of.waiting.push_back((station.to_owned(), now)),
        }
        Entry::Full
    }

    /// `station` of `building` is no longer at work.
    pub(super) fn leave(&self, building: &Option<String>, station: &str) {
        if let Some(of) = self.all().get_mut(building) {
            of.at_work.remove(station);
        }
    }

    /// How many stations of `building` other than `station` are at work.
    pub(super) fn others(&self, building: &Option<String>, station: &str) -> usize {
        let all = self.all();
        let of = all.get(building);
        of.map_or(0, |of| {
            of.at_work.iter().filter(|name| *name != station).count()
        })
    }
}

#[cfg(test)]
#[path = "concurrency_tests.rs"]
mod tests;
