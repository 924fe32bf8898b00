//! Messages for the broker, a row each, until they are acknowledged.
//!
//! Invariants: rows come out in the order in which they were written, and go only by [`Store::remove_messages`]. Of
//! [`Retention::All`] none is ever lost; of [`Retention::Newest`] a topic has one row at most, and there are
//! [`MOST_NEWEST`] of them at most. A number is never used twice. There is no bound on [`Retention::All`], which is one
//! row for each object in the store. Tests: `outbox_tests.rs`.

use rusqlite::{params, Transaction};

use super::{db_error, Result, Store};

/// Topics of which the newest message is kept, at most; beyond it the oldest go.
pub const MOST_NEWEST: u32 = 10_000;
/// The longest payload, in bytes; the daemon's messages are far shorter.
pub const LONGEST_PAYLOAD: usize = 256 * 1_024;

/// Which messages of a topic are kept until they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// Each of them.
    All,
    /// The newest, which the broker retains for later subscribers.
    Newest,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its topic.
    pub topic: String,
    /// JSON.
    pub payload: String,
    /// Which messages of its topic are kept.
    pub keep: Retention,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its number, higher than those of all that were written before it.
    pub id: i64,
    /// The message.
    pub message: Message,
}

impl Store {
    /// Queues `messages`, all or none.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn queue_messages(&mut self, messages: &[Message]) -> Result<()> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        write(&tx, messages).map_err(&fail)?;
        tx.commit().map_err(&fail)
    }

    /// The `most` oldest messages that wait, the oldest first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn waiting(&self, most: u32) -> Result<Vec<Waiting>> {
        let sql = "SELECT id, topic, payload, newest FROM outbox ORDER BY id LIMIT ?1";
        self.rows(sql, [most], |row| {
            Ok(Waiting {
                id: row.get("id")?,
                message: Message {
                    topic: row.get("topic")?,
                    payload: row.get("payload")?,
                    keep: match row.get("newest")? {
                        true => Retention::Newest,
                        false => Retention::All,
                    },
                },
            })
        })
    }

    /// Removes the messages of numbers `ids`, which were acknowledged.
    ///
    /// # Errors
    /// [`super::StoreError::Database`]; then all of them still wait.
    pub fn remove_messages(&mut self, ids: &[i64]) -> Result<()> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        for id in ids {
            tx.execute("DELETE FROM outbox WHERE id = ?1", [id])
                .map_err(&fail)?;
        }
        tx.commit().map_err(&fail)
    }

    /// How many messages wait.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn count_waiting(&self) -> Result<u64> {
        self.counted("outbox")
    }
}

/// Writes `messages` with what else `tx` does.
pub(super) fn write(tx: &Transaction<'_>, messages: &[Message]) -> rusqlite::Result<()> {
    for message in messages {
        if message.payload.len() > LONGEST_PAYLOAD {
            // What the message reports must not fail with it.
            tracing::error!("too long to be told: {}", message.topic);
            continue;
        }
        // A newer one of the topic takes a number of its own, behind what was written between them.
        let newest = message.keep == Retention::Newest;
        if newest {
            let sql = "DELETE FROM outbox WHERE topic = ?1 AND newest = 1";
            tx.execute(sql, [&message.topic])?;
        }
        let sql = "INSERT INTO outbox (topic, payload, newest) VALUES (?1, ?2, ?3)";
        tx.execute(sql, params![message.topic, message.payload, newest])?;
    }
    if messages.iter().any(|m| m.keep == Retention::Newest) {
        // By the index of these rows, however many others wait.
        let sql = "DELETE FROM outbox WHERE id IN
            (SELECT id FROM outbox WHERE newest = 1 ORDER BY id DESC LIMIT -1 OFFSET ?1)";
        tx.execute(sql, [MOST_NEWEST])?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
