//! Sessions of the daemon: the status of their sources over time, and each source's bytes until they are an object.
//!
//! Invariants: of a session at most [`MOST`] samples are kept, evenly over its time, and samples of the last
//! [`KEPT_SESSIONS`] sessions; bytes that came leave `streams` as an object does into its file, both or neither.
//! Time base: seconds since the session began. Tests: `sessions_tests.rs`.

use rusqlite::{params, Row, Transaction};
use thalweg_units::NodeId;

use super::{
    db_error, node, unreadable, JobId, Message, NewTransfer, Result, Store, StoredObject,
    StoredTransfer, TransferId,
};
use crate::transfer::session::{SessionRequest, SourceStatus};

/// Samples of so many sessions are kept.
pub const KEPT_SESSIONS: u32 = 50;
/// Samples of a session.
const MOST: u32 = 360;
/// The least time between two samples, in seconds.
const LEAST_S: u32 = 2;

/// How the sources of a session fared at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Seconds since the session began.
    pub at_s: u32,
    /// The sources.
    pub sources: Vec<SourceStatus>,
}

/// How often a session is sampled that has lasted `at_s` seconds, in seconds: 2, 4, 8...
fn sampled_every(at_s: u32) -> u32 {
    let mut every = LEAST_S;
    while at_s / every >= MOST && every < 1 << 30 {
        every *= 2;
    }
    every
}

/// When the sample after that of second `at_s` is due.
pub fn next_sample(at_s: u32) -> u32 {
    let every = sampled_every(at_s);
    (at_s / every + 1) * every
}

/// A request as the database has it.
pub(super) fn written(request: &SessionRequest) -> rusqlite::Result<String> {
    json(request)
}
fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    let failed = |why| rusqlite::Error::ToSqlConversionFailure(Box::new(why));
    serde_json::to_string(value).map_err(failed)
}
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<SessionRequest> {
    let terms: String = row.get("terms")?;
    serde_json::from_str(&terms).map_err(|why| unreadable(row, "terms", why))
}

/// Removes samples of sessions that are long over.
pub(super) fn forget_old(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let sql = "DELETE FROM samples WHERE job NOT IN
        (SELECT id FROM jobs WHERE kind = 'session' ORDER BY id DESC LIMIT ?1)";
    tx.execute(sql, [KEPT_SESSIONS]).map(drop)
}

type Written = (u16, Option<f64>, u64, u64, u64);

impl Store {
    /// Notes how the sources of session `job` fare; samples of before that are closer than [`next_sample`] has them
    /// make room.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn sample(&mut self, job: JobId, at_s: u32, sources: &[SourceStatus]) -> Result<()> {
        let one = |s: &SourceStatus| {
            let rate = s.rate.map(|rate| (rate * 1e3).round() / 1e3);
            (s.source.get(), rate, s.packets, s.bytes, s.repaired)
        };
        let sources: Vec<Written> = sources.iter().map(one).collect();
        let every = sampled_every(at_s);
        let at_s = at_s / every * every;
        let write = || {
            let tx = self.db.unchecked_transaction()?;
            let sql = "INSERT OR REPLACE INTO samples (job, at_s, sources) VALUES (?1, ?2, ?3)";
            tx.execute(sql, params![job.0, at_s, json(&sources)?])?;
            let sql = "DELETE FROM samples WHERE job = ?1 AND at_s % ?2 <> 0";
            tx.execute(sql, params![job.0, every])?;
            tx.commit()
        };
        write().map_err(db_error(&self.database))
    }

    /// How the sources of session `job` fared, the oldest sample first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn samples(&self, job: JobId) -> Result<Vec<Sample>> {
        let sql = "SELECT at_s, sources FROM samples WHERE job = ?1 ORDER BY at_s";
        self.rows(sql, [job.0], |row| {
            let text: String = row.get("sources")?;
            let sources: Vec<Written> =
                serde_json::from_str(&text).map_err(|why| unreadable(row, "sources", why))?;
            let one = |(source, rate, packets, bytes, repaired)| {
                let source = NodeId::new(source).ok()?;
                Some(SourceStatus {
                    source,
                    rate,
                    packets,
                    bytes,
                    repaired,
                })
            };
            Ok(Sample {
                at_s: row.get("at_s")?,
                sources: sources.into_iter().filter_map(one).collect(),
            })
        })
    }

    /// Adds what came of sources, `at_s` seconds after the session began, to what came of them before: all or none.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn add_to_streams(
        &mut self,
        job: JobId,
        at_s: f64,
        came: &[(NodeId, Vec<u8>)],
    ) -> Result<()> {
        let write = || {
            let tx = self.db.unchecked_transaction()?;
            {
                let sql = "INSERT INTO streams (job, source, at_s, bytes) VALUES (?1, ?2, ?3, ?4)";
                let mut statement = tx.prepare(sql)?;
                for (source, bytes) in came {
                    statement.execute(params![job.0, source.get(), at_s, bytes])?;
                }
            }
            tx.commit()
        };
        write().map_err(db_error(&self.database))
    }

    /// Which sources of which sessions of `network` have bytes that are no object yet.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn open_streams(&self, network: &str) -> Result<Vec<(JobId, NodeId)>> {
        let sql = "SELECT DISTINCT job, source FROM streams
            WHERE job IN (SELECT id FROM jobs WHERE network = ?1) ORDER BY job, source";
        self.rows(sql, [network], |row| {
            Ok((JobId(row.get("job")?), node(row, "source")?))
        })
    }

    /// What came of `source` in session `job` and is no object yet, and how many seconds that took.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn stream(&self, job: JobId, source: NodeId) -> Result<(Vec<u8>, f64)> {
        let query = || {
            let sql = "SELECT at_s, bytes FROM streams WHERE job = ?1 AND source = ?2 ORDER BY id";
            let mut statement = self.db.prepare(sql)?;
            let mut rows = statement.query(params![job.0, source.get()])?;
            let (mut whole, mut first, mut last) = (Vec::new(), None, 0.0);
            while let Some(row) = rows.next()? {
                last = row.get("at_s")?;
                first.get_or_insert(last);
                whole.extend_from_slice(row.get_ref("bytes")?.as_blob()?);
            }
            Ok((
                whole,
                first.map_or(0.0, |first: f64| (last - first).max(0.0)),
            ))
        };
        query().map_err(db_error(&self.database))
    }

    /// The `most` youngest objects of session `job`, the youngest first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn objects_of_session(&self, job: JobId, most: u32) -> Result<Vec<StoredTransfer>> {
        self.query(
            "WHERE session = ?1 ORDER BY id DESC LIMIT ?2",
            params![job.0, most],
        )
    }

    /// Makes an object, as [`Self::keep`] does, of what [`Self::stream`] gives.
    ///
    /// # Errors
    /// [`super::StoreError`]; all is then as it was before.
    pub fn close_stream(
        &mut self,
        (job, source): (JobId, NodeId),
        new: &NewTransfer<'_>,
        object: &[u8],
        messages: impl FnOnce(&StoredTransfer) -> Vec<Message>,
    ) -> Result<StoredObject> {
        let also = |tx: &Transaction<'_>, transfer: TransferId| {
            let sql = "UPDATE transfers SET session = ?2 WHERE id = ?1";
            tx.execute(sql, params![transfer.0, job.0])?;
            let sql = "DELETE FROM streams WHERE job = ?1 AND source = ?2";
            tx.execute(sql, params![job.0, source.get()]).map(drop)
        };
        self.keep_and(new, object, also, messages)
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
