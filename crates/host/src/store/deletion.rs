//! Deleting objects: by name, by age, and down to a size. Records of transfers stay.
//!
//! Invariant: a record never names a file that this deleted. Killed in between, a file without a record remains, and the
//! next transfer of the same object adopts it. Tests: `deletion_tests.rs`.

use std::fs;

use rusqlite::params;

use super::{db_error, object, Result, Store, TransferId};

/// What was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Deleted {
    /// Objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Store {
    /// Deletes the object that transfer `id` brought, also from other transfers that brought the same; says what was
    /// deleted, nothing where it had none.
    ///
    /// # Errors
    /// [`super::StoreError`].
    pub fn delete_object(&mut self, id: TransferId) -> Result<Deleted> {
        let sql = "SELECT object, bytes FROM transfers WHERE id = ?1 AND object IS NOT NULL";
        let found = self.rows(sql, [id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.delete_files(found)
    }

    /// Deletes objects that are older than the last `days` days on which the daemon ran ([`Store::note_day`]).
    ///
    /// # Errors
    /// [`super::StoreError`].
    pub fn delete_older(&mut self, days: u32) -> Result<Deleted> {
        let Some((before, _)) = self.first_of_days(days)? else {
            return Ok(Deleted::default());
        };
        let sql = "SELECT object, max(bytes) FROM transfers WHERE object IS NOT NULL
            GROUP BY object HAVING max(id) < ?1";
        let found = self.rows(sql, [before], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.delete_files(found)
    }

    /// Deletes the oldest objects until all have at most `most` bytes. The youngest stays.
    ///
    /// # Errors
    /// [`super::StoreError`].
    pub fn delete_beyond(&mut self, most: u64) -> Result<Deleted> {
        // Several transfers of one object count each here, so that this is seldom wrong and never too late.
        if self.total()?.1 <= most {
            return Ok(Deleted::default());
        }
        let sql = "SELECT object, max(bytes) FROM transfers WHERE object IS NOT NULL
            GROUP BY object ORDER BY max(id) DESC";
        let all: Vec<(String, u64)> = self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut sum = 0_u64;
        let beyond = all.into_iter().enumerate().filter_map(|(nth, object)| {
            sum = sum.saturating_add(object.1);
            (nth > 0 && sum > most).then_some(object)
        });
        let beyond = beyond.collect();
        self.delete_files(beyond)
    }

    fn delete_files(&mut self, files: Vec<(String, u64)>) -> Result<Deleted> {
        if files.is_empty() {
            return Ok(Deleted::default());
        }
        let mut named = Vec::with_capacity(files.len());
        let tx = self.begin()?;
        for (name, _) in &files {
            let sql = "UPDATE transfers SET object = NULL WHERE object = ?1 RETURNING id";
            named.push(self.rows(sql, params![name], |row| row.get::<_, i64>(0))?);
        }
        tx.commit().map_err(db_error(&self.database))?;
        let mut deleted = Deleted::default();
        let mut refused = None;
        for ((name, bytes), ids) in files.iter().zip(&named) {
            // A database of somebody else's may name anything.
            if !object::is_plain(name) {
                continue;
            }
            let path = self.objects.join(name);
            if let Err(why) = fs::remove_file(&path).or_else(object::gone_is_fine) {
                self.name_again(name, ids)?;
                refused = Some(object::io_error("delete", &path)(why));
                continue;
            }
            deleted.objects += 1;
            deleted.bytes += bytes;
        }
        refused.map_or(Ok(deleted), Err)
    }

    /// Transfers `ids` have the object `name` after all.
    fn name_again(&mut self, name: &str, ids: &[i64]) -> Result<()> {
        let tx = self.begin()?;
        for id in ids {
            let sql = "UPDATE transfers SET object = ?1 WHERE id = ?2";
            (tx.execute(sql, params![name, id])).map_err(db_error(&self.database))?;
        }
        tx.commit().map_err(db_error(&self.database))
    }
}

#[cfg(test)]
#[path = "deletion_tests.rs"]
mod tests;
