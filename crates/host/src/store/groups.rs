//! Groups of jobs: those that were asked for at once, under the number of the first.
//!
//! Time base: wall clock. Tests: `groups_tests.rs`.

use rusqlite::params;
use serde::Serialize;

use super::jobs::counts;
use super::{db_error, JobId, Result, Store, StoredJob};

/// A group of jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobGroup {
    /// Its number, which is that of its first job.
    pub group: JobId,
    /// The station that it is for.
    pub station: String,
    /// What its jobs are, as `fetch`.
    pub kind: String,
    /// When it was asked for, as `2026-11-23T05:13:15Z`.
    pub asked_at: String,
    /// Its jobs.
    pub jobs: u64,
    /// How many are in each state, in the order of [`super::JobState::ALL`].
    #[serde(skip)]
    pub counts: [u64; 5],
}

impl Store {
    /// Group `id`; none where there is none of that number.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn group(&self, id: JobId) -> Result<Option<JobGroup>> {
        let sql = "SELECT state, count(*) FROM jobs WHERE batch = ?1 GROUP BY state";
        let states = self.rows(sql, [id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let counts = counts(&states);
        let sql =
            "SELECT network, kind, strftime('%Y-%m-%dT%H:%M:%SZ', asked_at, 'unixepoch') AS at
            FROM jobs WHERE batch = ?1 ORDER BY id LIMIT 1";
        let mut found = self.rows(sql, [id.0], |row| {
            Ok(JobGroup {
                group: id,
                station: row.get("network")?,
                kind: row.get("kind")?,
                asked_at: row.get("at")?,
                jobs: counts.iter().sum(),
                counts,
            })
        })?;
        Ok(found.pop())
    }

    /// The `most` youngest groups that are older than number `before`, the youngest first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn groups(&self, before: Option<JobId>, most: u32) -> Result<Vec<JobGroup>> {
        let sql = "SELECT DISTINCT batch FROM jobs WHERE batch IS NOT NULL AND batch < ?1
            ORDER BY batch DESC LIMIT ?2";
        let before = before.map_or(i64::MAX, |id| id.0);
        let ids = self.rows(sql, params![before, most], |row| Ok(JobId(row.get(0)?)))?;
        let all = ids.into_iter().map(|id| self.group(id));
        Ok(all
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    /// The jobs of group `id`, the first first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn jobs_of(&self, id: JobId) -> Result<Vec<StoredJob>> {
        self.select_jobs("WHERE batch = ?1 ORDER BY id", [id.0])
    }

    /// Cancels those of group `id` that are queued, and gives their numbers.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn cancel_queued_of(&mut self, id: JobId) -> Result<Vec<JobId>> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        let sql = "UPDATE jobs SET state = 'cancelled', ended_at = unixepoch()
            WHERE batch = ?1 AND state = 'queued' RETURNING id";
        let cancelled = self.rows(sql, [id.0], |row| Ok(JobId(row.get(0)?)))?;
        tx.commit().map_err(fail)?;
        Ok(cancelled)
    }
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
