//! The object store: collected objects as files, their records in SQLite beside them.
//!
//! `DIR/objects/<testbed>-<source>-<digest>.bin` and `DIR/thalweg.db`. Invariants: an object is
//! there whole or not at all, none is ever overwritten, a record that names an object is written
//! only after the object is on the disk, and all of it holds after `kill -9` at any instant.
//! An object without a record can remain (killed between the two); the next run adopts it.
//! Time base: wall clock, in `stored_at` only. Tests: `store/tests.rs`.

mod campaign;
mod check;
mod deletion;
mod error;
mod groups;
mod history;
mod hops;
mod jobs;
mod log;
mod numbers;
mod object;
mod outbox;
mod parts;
mod record;
mod schema;
mod sessions;
mod spent;
mod surveys;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::outcome::Summary;
use rusqlite::{params, Connection, Row, Transaction, TransactionBehavior};
use thalweg_units::NodeId;

pub use campaign::Lock;
pub use deletion::Deleted;
use error::Result;
pub use error::{plain, StoreError};
pub use groups::JobGroup;
pub use history::{DayNoted, MOST_JOBS};
pub use hops::{StoredHop, KEPT_HOPS};
pub use jobs::{JobState, NewJob, StoredJob, Work};
pub use log::{Level, Line, KEPT_LINES};
pub use object::{digest_of, file_name};
pub use outbox::{Message, Retention, Waiting, LONGEST_PAYLOAD, MOST_NEWEST};
pub use record::{
    Campaign, CampaignId, Condition, Fate, JobId, NewTransfer, StoredObject, StoredTransfer,
    TransferId, Turn, TurnState,
};
pub use sessions::{next_sample, Sample, KEPT_SESSIONS};
pub use spent::{day_of, KEPT_DAYS};
pub use surveys::{NewSurvey, StoredSurvey, KEPT_SURVEYS};

/// The database's file in the store's folder.
pub const DATABASE: &str = "thalweg.db";
/// The objects' folder in it.
pub const OBJECTS: &str = "objects";

/// How long to wait for another process's write to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder of collected objects with its database.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    objects: PathBuf,
    database: PathBuf,
    db: Connection,
}

impl Store {
    /// Opens the store in `root`, making it where there is none, and removes what a killed process
    /// left half-written.
    ///
    /// # Errors
    /// [`StoreError`] when `root` is no folder, cannot be written, or its database is not ours.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        if root.exists() && !root.is_dir() {
            return Err(StoreError::NotAFolder(root.to_owned()));
        }
        let objects = root.join(OBJECTS);
        fs::create_dir_all(&objects).map_err(object::io_error("make", &objects))?;
        let database = root.join(DATABASE);
        let db = Connection::open(&database).map_err(db_error(&database))?;
        let mut store = Self {
            folder: root.to_owned(),
            objects,
            database,
            db,
        };
        store.prepare().map_err(db_error(&store.database))?;
        match schema::migrate(&mut store.db).map_err(db_error(&store.database))? {
            schema::Format::Current => {}
            schema::Format::Later(found) => {
                let (path, known) = (store.database, schema::KNOWN);
                return Err(StoreError::TooNew { path, found, known });
            }
            schema::Format::Foreign => return Err(StoreError::Foreign(store.database)),
        }
        let tx = store.begin()?;
        object::tidy(&store.objects)?;
        tx.commit().map_err(db_error(&store.database))?;
        Ok(store)
    }

    fn prepare(&mut self) -> rusqlite::Result<()> {
        self.db.busy_timeout(PATIENCE)?;
        // A file system without shared memory answers with another mode, which serves as well.
        self.db
            .pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        self.db.pragma_update(None, "synchronous", "FULL")?;
        self.db.pragma_update(None, "foreign_keys", "ON")
    }

    /// Stores `object` and the record of the transfer that brought it: both or neither.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is then stored that was not there before.
    pub fn keep(&mut self, new: &NewTransfer<'_>, object: &[u8]) -> Result<StoredObject> {
        self.keep_and(new, object, |_, _| Ok(()), |_| Vec::new())
    }

    /// The same, with messages for the broker, made from the record: all of it or nothing.
    ///
    /// # Errors
    /// Those of [`Store::keep`].
    pub fn keep_and_queue(
        &mut self,
        new: &NewTransfer<'_>,
        object: &[u8],
        messages: impl FnOnce(&StoredTransfer) -> Vec<Message>,
    ) -> Result<StoredObject> {
        self.keep_and(new, object, |_, _| Ok(()), messages)
    }

    /// The same, after the writes of `also` to the database.
    fn keep_and(
        &mut self,
        new: &NewTransfer<'_>,
        object: &[u8],
        also: impl FnOnce(&Transaction<'_>, TransferId) -> rusqlite::Result<()>,
        messages: impl FnOnce(&StoredTransfer) -> Vec<Message>,
    ) -> Result<StoredObject> {
        let (actual, recorded) = (object.len() as u64, new.record.bytes);
        if actual != recorded {
            return Err(StoreError::LengthMismatch { actual, recorded });
        }
        let digest = digest_of(object);
        let name = object::file_name(&new.record.testbed, new.record.source, &digest);
        // Holds the write lock from before the hidden file is made until the record is on the disk.
        let tx = self.begin()?;
        let transfer =
            insert(&tx, new, Some((&digest, &name))).map_err(db_error(&self.database))?;
        also(&tx, transfer).map_err(db_error(&self.database))?;
        if let Some(stored) = self.transfer(transfer)? {
            outbox::write(&tx, &messages(&stored)).map_err(db_error(&self.database))?;
        }
        let (path, fate) = object::write(&self.objects, &name, object)?;
        if let Err(error) = tx.commit() {
            if fate == Fate::Written {
                // The object must not outlive its record. Another failure has nowhere to go.
                let _ = fs::remove_file(&path);
            }
            return Err(db_error(&self.database)(error));
        }
        Ok(StoredObject {
            transfer,
            path,
            digest,
            fate,
        })
    }

    /// Stores the record of a transfer without an object, such as one that failed.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn note(&mut self, new: &NewTransfer<'_>) -> Result<TransferId> {
        let tx = self.begin()?;
        let id = insert(&tx, new, None).map_err(db_error(&self.database))?;
        tx.commit().map_err(db_error(&self.database))?;
        Ok(id)
    }

    /// The transfer of number `id`.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn transfer(&self, id: TransferId) -> Result<Option<StoredTransfer>> {
        Ok(self.query("WHERE id = ?1", [id.0])?.pop())
    }

    /// The transfers that match `of`, the rest of a query.
    fn query<P: rusqlite::Params>(&self, of: &str, p: P) -> Result<Vec<StoredTransfer>> {
        let columns = "*, strftime('%Y-%m-%dT%H:%M:%SZ', stored_at, 'unixepoch') AS at";
        let sql = format!("SELECT {columns} FROM transfers {of}");
        self.rows(&sql, p, |row| stored(row, &self.objects))
    }

    /// What `read` makes of each row that the query `sql` gives with `values`. A row that holds something else than it
    /// should is reported and left out: one that is damaged must not hide all others.
    fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let query = || {
            let mut statement = self.db.prepare(sql)?;
            let rows = statement.query_map(values, read)?;
            rows.filter_map(|row| self.unless_damaged(row))
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        query().map_err(db_error(&self.database))
    }

    /// `row`, unless it holds something else than it should.
    fn unless_damaged<T>(&self, row: rusqlite::Result<T>) -> Option<rusqlite::Result<T>> {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
        };
        match row {
            Err(
                why @ (FromSqlConversionFailure(..)
                | IntegralValueOutOfRange(..)
                | InvalidColumnType(..)
                | Utf8Error(..)),
            ) => {
                tracing::warn!("{}: a damaged row: {why}", self.database.display());
                None
            }
            row => Some(row),
        }
    }

    /// Bytes that are free on the store's disk; none where the system does not say.
    pub fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(&self.folder).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Writes something that changes nothing, to the database and beside the objects.
    ///
    /// # Errors
    /// [`StoreError::Database`] or [`StoreError::Io`] where nothing can be written.
    pub fn try_write(&mut self) -> Result<()> {
        let fail = db_error(&self.database);
        let format: i64 = (self.db)
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(&fail)?;
        (self.db)
            .pragma_update(None, "user_version", format)
            .map_err(fail)?;
        object::try_write(&self.objects)
    }

    fn begin(&self) -> Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)
            .map_err(db_error(&self.database))
    }
}

fn db_error(database: &Path) -> impl Fn(rusqlite::Error) -> StoreError {
    let path = database.to_owned();
    move |source| StoreError::Database {
        path: path.clone(),
        source,
    }
}

/// Inserts a transfer, its baseline, and ends its turn in its campaign, and the job that it brings an object to.
fn insert(
    tx: &Transaction<'_>,
    new: &NewTransfer<'_>,
    object: Option<(&str, &str)>,
) -> rusqlite::Result<TransferId> {
    let id = insert_one(tx, new.record, (new.report, new.file), object, None)?;
    if let Some(baseline) = new.baseline {
        insert_one(tx, baseline, ("{}", None), None, Some(id))?;
    }
    if let Some(campaign) = new.campaign {
        tx.execute(
            "UPDATE turns SET transfer = ?1, failure = NULL WHERE campaign = ?2 AND node = ?3",
            params![id.0, campaign.0, new.record.source.get()],
        )?;
    }
    if let (Some(job), Some(_)) = (new.job, object) {
        tx.execute(
            "UPDATE jobs SET state = 'done', transfer = ?2, ended_at = unixepoch()
             WHERE id = ?1 AND state = 'running'",
            params![job.0, id.0],
        )?;
    }
    Ok(id)
}

fn insert_one(
    tx: &Transaction<'_>,
    r: &Summary,
    (report, file): (&str, Option<&str>),
    object: Option<(&str, &str)>,
    baseline_of: Option<TransferId>,
) -> rusqlite::Result<TransferId> {
    tx.execute(
        "INSERT INTO transfers (protocol, testbed, source, sink, bytes, verified, goodput_kbps,
            utilisation, rounds, first_round_reliability, active_nodes, hops, paths, energy_j,
            duration_s, seed, digest, object, baseline_of, report, file, sealed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
            ?19, ?20, ?21, ?22)",
        params![
            r.protocol,
            r.testbed,
            r.source.get(),
            r.sink.get(),
            r.bytes,
            r.verified,
            r.goodput_kbps,
            r.utilisation,
            r.rounds,
            r.first_round_reliability,
            r.active_nodes,
            r.hops,
            r.paths,
            r.energy_j,
            r.duration_s,
            r.seed.to_string(),
            object.map(|(digest, _)| digest),
            object.map(|(_, name)| name),
            baseline_of.map(|id| id.0),
            report,
            file,
            r.sealed,
        ],
    )?;
    Ok(TransferId(tx.last_insert_rowid()))
}

fn stored(row: &Row<'_>, objects: &Path) -> rusqlite::Result<StoredTransfer> {
    let (seed, object): (String, Option<String>) = (row.get("seed")?, row.get("object")?);
    Ok(StoredTransfer {
        id: TransferId(row.get("id")?),
        record: Summary {
            protocol: row.get("protocol")?,
            testbed: row.get("testbed")?,
            source: node(row, "source")?,
            sink: node(row, "sink")?,
            bytes: row.get("bytes")?,
            verified: row.get("verified")?,
            sealed: row.get("sealed")?,
            goodput_kbps: row.get::<_, Option<f64>>("goodput_kbps")?.unwrap_or(0.0),
            utilisation: row.get("utilisation")?,
            rounds: row.get("rounds")?,
            first_round_reliability: row.get("first_round_reliability")?,
            active_nodes: row.get("active_nodes")?,
            hops: row.get("hops")?,
            paths: row.get("paths")?,
            energy_j: row.get("energy_j")?,
            duration_s: row.get::<_, Option<f64>>("duration_s")?.unwrap_or(f64::NAN),
            // In the report.
            network_energy_j: None,
            cold: None,
            waited_s: 0.0,
            attempts: 1,
            failure: None,
            seed: seed.parse().map_err(|e| unreadable(row, "seed", e))?,
        },
        digest: row.get("digest")?,
        // A database of somebody else's may name anything.
        object: object
            .filter(|name| object::is_plain(name))
            .map(|name| objects.join(name)),
        baseline_of: row.get::<_, Option<i64>>("baseline_of")?.map(TransferId),
        stored_at: row.get("at")?,
        file: row.get("file")?,
        report: row.get("report")?,
    })
}

/// The node whose address stands in `column`.
fn node(row: &Row<'_>, column: &str) -> rusqlite::Result<NodeId> {
    NodeId::new(row.get(column)?).map_err(|e| unreadable(row, column, e))
}

fn unreadable<E>(row: &Row<'_>, column: &str, error: E) -> rusqlite::Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    let index = row.as_ref().column_index(column).unwrap_or(0);
    let kind = rusqlite::types::Type::Text;
    rusqlite::Error::FromSqlConversionFailure(index, kind, Box::new(error))
}
