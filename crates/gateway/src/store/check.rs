//! What is in the store, and whether it is still what was stored.

use std::fs;
use std::io;
use std::path::Path;

use super::object::{digest_of, io_error};
use super::{db_error, Condition, Result, Store, StoreError, StoredTransfer, DATABASE};

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
        let rows = self.query("WHERE object IS NOT NULL ORDER BY id", []);
        rows.map_err(db_error(&self.database))
    }
}

impl StoredTransfer {
    /// The object's bytes, whatever they are by now; none where the file is gone.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn bytes(&self) -> Result<Option<Vec<u8>>> {
        let Some(path) = &self.object else {
            return Ok(None);
        };
        match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", path)(error)),
        }
    }
    /// How the object is by its file.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn condition(&self) -> Result<Condition> {
        Ok(match self.bytes()? {
            None => Condition::Missing,
            Some(bytes) if Some(digest_of(&bytes)) == self.digest => Condition::Whole,
            Some(_) => Condition::Changed,
        })
    }
}
