//! How long what happened is kept: days on which the daemon ran, and records that are older than so many.
//!
//! A day is noted once, with the numbers that rows have from then on. So ages count days on which there was a daemon, and a clock that
//! jumps a year ahead makes nothing older than by a day. Invariant: a record that something else names stays. Time base: wall clock, for
//! the number of the day alone. Tests: `history_tests.rs`.

use rusqlite::params;

use super::{db_error, Result, Store};

/// How many jobs that ended are kept at most, however young.
pub const MOST_JOBS: u32 = 200_000;
/// How many days are noted: more than 27 years.
const MOST_DAYS: u32 = 10_000;

/// A day that is new, or was noted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayNoted {
    /// It is new.
    New,
    /// It was noted before.
    Before,
}

impl Store {
    /// Notes that the daemon runs on `day`, counted from 1970.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn note_day(&mut self, day: i64) -> Result<DayNoted> {
        let note = || {
            let sql = "INSERT INTO days (day, transfer, job)
                SELECT ?1, (SELECT ifnull(max(id), 0) + 1 FROM transfers), (SELECT ifnull(max(id), 0) + 1 FROM jobs)
                WHERE NOT EXISTS (SELECT 1 FROM days WHERE day = ?1)";
            if self.db.execute(sql, [day])? == 0 {
                return Ok(DayNoted::Before);
            }
            let sql = "DELETE FROM days WHERE nth <= (SELECT max(nth) FROM days) - ?1";
            self.db.execute(sql, [MOST_DAYS])?;
            Ok(DayNoted::New)
        };
        note().map_err(db_error(&self.database))
    }

    /// The first transfer and the first job of the last `days` days before the last; none where fewer were noted.
    pub(super) fn first_of_days(&self, days: u32) -> Result<Option<(i64, i64)>> {
        let sql = "SELECT transfer, job FROM days ORDER BY nth DESC LIMIT 1 OFFSET ?1";
        let mut found = self.rows(sql, [days], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.pop())
    }

    /// Forgets jobs that ended and transfers without an object that are older than the last `days` days on which the
    /// daemon ran, and jobs beyond [`MOST_JOBS`]. Says how many rows went.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn forget_older(&mut self, days: u32) -> Result<usize> {
        let (transfer, job) = self.first_of_days(days)?.unwrap_or((0, 0));
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        let forget = || {
            let sql = "DELETE FROM jobs WHERE state NOT IN ('queued', 'running') AND id NOT IN (SELECT job FROM streams)
                AND (id < ?1 OR id <= (SELECT id FROM jobs ORDER BY id DESC LIMIT 1 OFFSET ?2))";
            let jobs = tx.execute(sql, params![job, MOST_JOBS])?;
            let sql = "DELETE FROM transfers AS old WHERE object IS NULL AND id < ?1
                AND NOT EXISTS (SELECT 1 FROM jobs WHERE transfer = old.id)
                AND NOT EXISTS (SELECT 1 FROM turns WHERE transfer = old.id)
                AND NOT EXISTS (SELECT 1 FROM transfers WHERE baseline_of = old.id)
                AND NOT EXISTS (SELECT 1 FROM transfers AS of WHERE of.id = old.baseline_of AND of.object IS NOT NULL)";
            Ok(jobs + tx.execute(sql, [transfer])?)
        };
        let rows = forget().map_err(&fail)?;
        tx.commit().map_err(fail)?;
        Ok(rows)
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
