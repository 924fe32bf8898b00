//! What is in the store, and whether it is still what was stored.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::object::{self, io_error};
use super::{db_error, node, Condition, Result, Store, StoreError, StoredTransfer};
use super::{TransferId, DATABASE};
use thalweg_units::NodeId;

impl Store {
    /// Opens the store that is in `root`.
    ///
    /// # Errors
    /// [`StoreError::NoStore`] where there is none; those of [`Store::open`].
    pub fn existing(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        match root.join(DATABASE).is_file() {
            true => Self::open(root),
            false => Err(StoreError::NoStore(root.to_owned())),
        }
    }

    /// Transfers that brought an object, the oldest first.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn with_objects(&self) -> Result<Vec<StoredTransfer>> {
        self.query("WHERE object IS NOT NULL ORDER BY id", [])
    }

    /// The `most` youngest of them that are older than number `before`, the youngest first.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn latest(&self, before: Option<TransferId>, most: u32) -> Result<Vec<StoredTransfer>> {
        let before = before.map_or(i64::MAX, |id| id.0);
        let of = "WHERE object IS NOT NULL AND id < ?1 ORDER BY id DESC LIMIT ?2";
        self.query(of, (before, most))
    }

    /// The same of one network's node.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn latest_of(
        &self,
        testbed: &str,
        source: NodeId,
        most: u32,
    ) -> Result<Vec<StoredTransfer>> {
        let of =
            "WHERE object IS NOT NULL AND testbed = ?1 AND source = ?2 ORDER BY id DESC LIMIT ?3";
        self.query(of, (testbed, source.get(), most))
    }

    /// When each node of a network last delivered an object: node, time, number of the transfer.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn last_deliveries(&self, testbed: &str) -> Result<Vec<(NodeId, String, TransferId)>> {
        // From one node to the next by the index, however many objects each has.
        let sql = "WITH RECURSIVE sources (source) AS (
                SELECT min(source) FROM transfers WHERE object IS NOT NULL AND testbed = ?1
                UNION ALL
                SELECT (SELECT min(source) FROM transfers
                    WHERE object IS NOT NULL AND testbed = ?1 AND source > sources.source)
                FROM sources WHERE source IS NOT NULL)
            SELECT source, id, strftime('%Y-%m-%dT%H:%M:%SZ', stored_at, 'unixepoch') AS at
            FROM transfers WHERE id IN (SELECT (SELECT max(id) FROM transfers
                WHERE object IS NOT NULL AND testbed = ?1 AND source = sources.source) FROM sources)
            ORDER BY source";
        self.rows(sql, [testbed], |row| {
            Ok((
                node(row, "source")?,
                row.get("at")?,
                TransferId(row.get("id")?),
            ))
        })
    }

    /// How many objects there are, and their bytes.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn total(&self) -> Result<(u64, u64)> {
        Ok((self.counted("objects")?, self.counted("bytes")?))
    }

    /// What the database's triggers have counted.
    pub(super) fn counted(&self, name: &str) -> Result<u64> {
        let sql = "SELECT max(value, 0) FROM totals WHERE name = ?1";
        let value = self.db.query_row(sql, [name], |row| row.get(0));
        value.map_err(db_error(&self.database))
    }
}

impl StoredTransfer {
    /// The object's bytes, whatever they are by now; none where the file is gone.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn bytes(&self) -> Result<Option<Vec<u8>>> {
        let Some((mut file, path)) = self.open()?.zip(self.object.as_ref()) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(io_error("read", path))?;
        Ok(Some(bytes))
    }
    /// The object's file, whatever it holds by now; none where it is gone. A link to another file is none.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(&self) -> Result<Option<File>> {
        self.object.as_deref().map_or(Ok(None), object::open)
    }
    /// How the object is by its file.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn condition(&self) -> Result<Condition> {
        Ok(match self.open()? {
            None => Condition::Missing,
            Some(mut file) => self.condition_of(&mut file)?,
        })
    }
    /// How it is by the bytes of `file`, which is read to its end.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn condition_of(&self, file: &mut impl Read) -> Result<Condition> {
        let path = self.object.as_deref().unwrap_or(Path::new(""));
        let digest = object::digest_of_all(file).map_err(io_error("read", path))?;
        Ok(match self.digest.as_ref() == Some(&digest) {
            true => Condition::Whole,
            false => Condition::Changed,
        })
    }
}
