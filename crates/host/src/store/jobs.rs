//! Jobs of the daemon: a row each, from the moment somebody asks for one.
//!
//! Invariants: at most [`Store::submit`]'s bound are queued in a network; a job that was running when its
//! process ended is queued again by [`Store::resume_jobs`]; `history` says how long jobs that ended are kept. Time
//! base: wall clock. Tests: `jobs_tests.rs`.

use rusqlite::{params, Row};
use serde::{Deserialize, Serialize, Serializer};
use thalweg_units::NodeId;

use super::{db_error, node, sessions, unreadable, Result, Store, StoreError};
use super::{JobId, TransferId};
use crate::transfer::session::SessionRequest;

/// What a job is to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Work {
    /// Measure the network's links.
    Survey,
    /// Bring a node's object.
    Fetch {
        /// The node.
        #[serde(serialize_with = "number")]
        from: NodeId,
    },
    /// Plan how a node's object would come, and leave it there.
    Plan {
        /// The node.
        #[serde(serialize_with = "number")]
        from: NodeId,
    },
    /// A session: streams from many nodes.
    Session(SessionRequest),
}

impl Work {
    /// The name of its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Fetch { .. } => "fetch",
            Self::Plan { .. } => "plan",
            Self::Session(_) => "session",
        }
    }
}

fn number<S: Serializer>(node: &NodeId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(node.get())
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// Its turn has yet to come.
    Queued,
    /// It is under way.
    Running,
    /// It brought what was asked for.
    Done,
    /// It failed, for a reason that is stored.
    Failed,
    /// Somebody did not want it any more.
    Cancelled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
    /// The state of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
    /// Whether nothing comes after it.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// A job that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob<'a> {
    /// The network.
    pub network: &'a str,
    /// What it is to do.
    pub work: Work,
    /// Before those of a lower one.
    pub priority: i8,
}

/// A job as the store has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredJob {
    /// Its number.
    pub id: JobId,
    /// The station that it is for, by the name of its network.
    pub station: String,
    /// What it is to do.
    #[serde(flatten)]
    pub work: Work,
    /// How far it is.
    pub state: JobState,
    /// Before those of a lower one.
    pub priority: i8,
    /// The first of those that were asked for with it, where there are several.
    pub group: Option<JobId>,
    /// When it was asked for, as `2026-11-23T05:13:15Z`.
    pub asked_at: String,
    /// When it began, if it has.
    pub begun_at: Option<String>,
    /// When it ended, if it has.
    pub ended_at: Option<String>,
    /// Its prediction, as JSON.
    #[serde(skip)]
    pub expected: Option<String>,
    /// Its outcome, as JSON.
    #[serde(skip)]
    pub outcome: Option<String>,
    /// The object that it brought.
    #[serde(skip)]
    pub transfer: Option<TransferId>,
    /// Why it failed.
    pub error: Option<String>,
}

impl Store {
    /// Queues `jobs` of one network, all or none: it may not have more than `most` in its queue. Several are a group.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::Database`].
    pub fn submit(&mut self, jobs: &[NewJob<'_>], most: u32) -> Result<Vec<JobId>> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        let waiting = "SELECT count(*) FROM jobs WHERE network = ?1 AND state = 'queued'";
        let network = jobs.first().map_or("", |job| job.network);
        let waiting: u64 = (tx.query_row(waiting, [network], |row| row.get(0))).map_err(&fail)?;
        let asked = jobs.len();
        if waiting + asked as u64 > u64::from(most) {
            return Err(StoreError::QueueFull {
                asked,
                waiting,
                most,
            });
        }
        let mut ids = Vec::with_capacity(asked);
        for job in jobs {
            let (source, terms) = match &job.work {
                Work::Survey => (None, None),
                Work::Fetch { from } | Work::Plan { from } => (Some(from.get()), None),
                Work::Session(request) => (None, Some(sessions::written(request).map_err(&fail)?)),
            };
            let sql = "INSERT INTO jobs (network, kind, source, terms, priority, state)
                VALUES (?1, ?2, ?3, ?4, ?5, 'queued')";
            let values = params![job.network, job.work.kind(), source, terms, job.priority];
            tx.execute(sql, values).map_err(&fail)?;
            ids.push(JobId(tx.last_insert_rowid()));
        }
        if let [first, _, ..] = ids[..] {
            let sql = "UPDATE jobs SET batch = ?1 WHERE id >= ?1";
            tx.execute(sql, [first.0]).map_err(&fail)?;
        }
        sessions::forget_old(&tx).map_err(&fail)?;
        tx.commit().map_err(&fail)?;
        Ok(ids)
    }

    /// Queues again the jobs of `network` that were running when their process ended, and returns their numbers.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn resume_jobs(&mut self, network: &str) -> Result<Vec<JobId>> {
        let sql = "UPDATE jobs SET state = 'queued', begun_at = NULL
            WHERE network = ?1 AND state = 'running' RETURNING id";
        self.rows(sql, [network], |row| Ok(JobId(row.get(0)?)))
    }

    /// The first of `network`'s queue that `may` begin, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn next_job(
        &self,
        network: &str,
        may: impl Fn(&StoredJob) -> bool,
    ) -> Result<Option<StoredJob>> {
        let query = || {
            let sql = format!(
                "SELECT *, {} FROM jobs WHERE network = ?1 AND state = 'queued'
                 ORDER BY priority DESC, id",
                derived()
            );
            let mut statement = self.db.prepare(&sql)?;
            let queue = statement.query_map([network], stored)?;
            let mut queue = queue.filter_map(|job| self.unless_damaged(job));
            let first = queue.find(|job| job.as_ref().map_or(true, &may));
            first.transpose()
        };
        query().map_err(db_error(&self.database))
    }

    /// Begins job `id` and returns it; none where it is no longer queued.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn begin_job(&mut self, id: JobId) -> Result<Option<StoredJob>> {
        let sql = "UPDATE jobs SET state = 'running', begun_at = unixepoch()
            WHERE id = ?1 AND state = 'queued'";
        let begun = self.db.execute(sql, [id.0]);
        match begun.map_err(db_error(&self.database))? {
            0 => Ok(None),
            _ => self.job(id),
        }
    }

    /// Puts a job that runs back into the queue.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn requeue_job(&mut self, id: JobId) -> Result<()> {
        let sql = "UPDATE jobs SET state = 'queued', begun_at = NULL
            WHERE id = ?1 AND state = 'running'";
        let done = self.db.execute(sql, [id.0]);
        done.map(drop).map_err(db_error(&self.database))
    }

    /// Stores the prediction of a job, as JSON.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn set_expected(&mut self, id: JobId, expected: &str) -> Result<()> {
        let sql = "UPDATE jobs SET expected = ?2 WHERE id = ?1";
        let done = self.db.execute(sql, params![id.0, expected]);
        done.map(drop).map_err(db_error(&self.database))
    }

    /// Stores the outcome of a job so far, as JSON.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn set_outcome(&mut self, id: JobId, outcome: &str) -> Result<()> {
        let sql = "UPDATE jobs SET outcome = ?2 WHERE id = ?1";
        let done = self.db.execute(sql, params![id.0, outcome]);
        done.map(drop).map_err(db_error(&self.database))
    }

    /// Ends a job that brought no object, with what came of it as JSON, or why nothing did. One that brought an object
    /// ends as that is kept ([`super::NewTransfer::job`]).
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn end_job(
        &mut self,
        id: JobId,
        state: JobState,
        outcome: Option<&str>,
        error: Option<&str>,
    ) -> Result<()> {
        let sql = "UPDATE jobs SET state = ?2, outcome = coalesce(?3, outcome), error = ?4,
            ended_at = unixepoch() WHERE id = ?1 AND state IN ('running', 'queued')";
        let done = (self.db).execute(sql, params![id.0, state.name(), outcome, error]);
        done.map(drop).map_err(db_error(&self.database))
    }

    /// Cancels a queued job, and says whether it was queued.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn cancel_queued(&mut self, id: JobId) -> Result<bool> {
        let sql = "UPDATE jobs SET state = 'cancelled', ended_at = unixepoch()
            WHERE id = ?1 AND state = 'queued'";
        let done = self.db.execute(sql, [id.0]);
        done.map(|rows| rows > 0).map_err(db_error(&self.database))
    }

    /// The job of number `id`.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn job(&self, id: JobId) -> Result<Option<StoredJob>> {
        let found = self.select_jobs("WHERE id = ?1", [id.0])?;
        Ok(found.into_iter().next())
    }

    /// The jobs of `network` that have not ended: the running one, then the queue in its order.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn open_jobs(&self, network: &str) -> Result<Vec<StoredJob>> {
        let of = "WHERE network = ?1 AND state IN ('queued', 'running')
            ORDER BY state = 'running' DESC, priority DESC, id";
        self.select_jobs(of, [network])
    }

    /// The `most` youngest jobs of `network` that ended and are older than number `before`, the youngest first.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn ended_jobs(
        &self,
        network: &str,
        before: Option<JobId>,
        most: u32,
    ) -> Result<Vec<StoredJob>> {
        let of = "WHERE network = ?1 AND state NOT IN ('queued', 'running') AND id < ?2
            ORDER BY id DESC LIMIT ?3";
        let before = before.map_or(i64::MAX, |id| id.0);
        self.select_jobs(of, params![network, before, most])
    }

    /// How many jobs of `network` there are in each state, in the order of [`JobState::ALL`].
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn count_jobs(&self, network: &str) -> Result<[u64; 5]> {
        let sql = "SELECT state, value FROM job_totals WHERE network = ?1";
        let rows = self.rows(sql, [network], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(counts(&rows))
    }

    /// The same of those that ended at `since` or later, in seconds since 1970; none of them is open.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn count_ended(&self, network: &str, since: i64) -> Result<[u64; 5]> {
        let sql = "SELECT state, count(*) FROM jobs
            WHERE network = ?1 AND ended_at >= ?2 GROUP BY state";
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(counts(&self.rows(sql, params![network, since], row)?))
    }

    /// Nodes of `network` whose last fetch that ended at `since` or later, in seconds since 1970, failed; with that job.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn last_failed(&self, network: &str, since: i64) -> Result<Vec<(NodeId, JobId)>> {
        // Of the columns beside `max` those of its row are given.
        let sql = "SELECT source, state, max(id) AS id FROM jobs
            WHERE network = ?1 AND ended_at >= ?2 AND kind = 'fetch' AND state IN ('done', 'failed')
            GROUP BY source HAVING state = 'failed' ORDER BY source";
        self.rows(sql, params![network, since], |row| {
            Ok((node(row, "source")?, JobId(row.get("id")?)))
        })
    }

    pub(super) fn select_jobs<P: rusqlite::Params>(
        &self,
        of: &str,
        p: P,
    ) -> Result<Vec<StoredJob>> {
        let sql = format!("SELECT *, {} FROM jobs {of}", derived());
        self.rows(&sql, p, stored)
    }
}

/// `rows` of states and numbers, in the order of [`JobState::ALL`].
pub(super) fn counts(rows: &[(String, u64)]) -> [u64; 5] {
    JobState::ALL.map(|state| {
        let of = rows.iter().filter(|(name, _)| name == state.name());
        of.map(|(_, n)| n).sum()
    })
}

/// What is made of a row: its times as text, and its outcome, which for a fetch is its transfer's report.
fn derived() -> String {
    let at = |c: &str| format!("strftime('%Y-%m-%dT%H:%M:%SZ', {c}, 'unixepoch') AS {c}_");
    let report = "coalesce(outcome, (SELECT report FROM transfers WHERE transfers.id = jobs.transfer)) AS outcome_";
    format!(
        "{}, {report}",
        ["asked_at", "begun_at", "ended_at"].map(at).join(", ")
    )
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
    let (kind, state): (String, String) = (row.get("kind")?, row.get("state")?);
    let work = match kind.as_str() {
        "survey" => Work::Survey,
        "plan" => Work::Plan {
            from: node(row, "source")?,
        },
        "session" => Work::Session(sessions::read(row)?),
        _ => Work::Fetch {
            from: node(row, "source")?,
        },
    };
    let known = JobState::named(&state);
    let state = known.ok_or_else(|| unreadable(row, "state", std::fmt::Error))?;
    Ok(StoredJob {
        id: JobId(row.get("id")?),
        station: row.get("network")?,
        work,
        state,
        priority: row.get("priority")?,
        group: row.get::<_, Option<i64>>("batch")?.map(JobId),
        asked_at: row.get("asked_at_")?,
        begun_at: row.get("begun_at_")?,
        ended_at: row.get("ended_at_")?,
        expected: row.get("expected")?,
        outcome: row.get("outcome_")?,
        transfer: row.get::<_, Option<i64>>("transfer")?.map(TransferId),
        error: row.get("error")?,
    })
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
pub(super) mod tests;
