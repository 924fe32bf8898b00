//! Segments of objects that are not whole yet: a killed daemon continues with the next segment.
//!
//! Invariants: a job's segments go when it ends, by a trigger of the database; they have at most
//! [`LARGEST`](crate::segments::LARGEST) bytes. Time base: none. Tests: `parts_tests.rs`,
//! `crates/cli/tests/all/gateway/`.

use rusqlite::params;
use thalweg_protocols::object::ObjectInfo;

use super::{db_error, JobId, Result, Store};
use crate::segments::Segment;

impl Store {
    /// Stores the segment of `job` at `offset`, unless the object is whole with it or too large. The first segment
    /// removes older ones: the fetch has started over.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn keep_part(&mut self, job: JobId, offset: u32, part: &Segment) -> Result<()> {
        if !part.has_next(offset) {
            return Ok(());
        }
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        if offset == 0 {
            tx.execute("DELETE FROM parts WHERE job = ?1", [job.0])
                .map_err(&fail)?;
        }
        let sql = "INSERT OR REPLACE INTO parts (job, offset, len, digest, bytes)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        let ObjectInfo { len, digest } = part.object;
        tx.execute(sql, params![job.0, offset, len, digest, part.bytes])
            .map_err(&fail)?;
        tx.commit().map_err(&fail)
    }

    /// The segments of `job`, each with its offset, in order.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn parts(&self, job: JobId) -> Result<Vec<(u32, Segment)>> {
        let sql = "SELECT * FROM parts WHERE job = ?1 ORDER BY offset";
        self.rows(sql, [job.0], |row| {
            let object = ObjectInfo {
                len: row.get("len")?,
                digest: row.get("digest")?,
            };
            let bytes = row.get("bytes")?;
            Ok((row.get("offset")?, Segment { bytes, object }))
        })
    }
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
