//! Campaigns: many nodes in turn, remembered so that an interrupted one goes on.

use std::fs::{File, TryLockError};

use rusqlite::{params, OptionalExtension, Row, Transaction};
use thalweg_units::NodeId;

use super::object::io_error;
use super::{db_error, node, Campaign, CampaignId, Condition, Result, Store, StoreError};
use super::{TransferId, Turn, TurnState};

impl Store {
    /// The campaign of this description (everything that determines its results, in a canonical
    /// form), begun now over `nodes` if it was not begun before.
    ///
    /// # Errors
    /// [`StoreError::CampaignNodes`] when it was begun over other nodes, [`StoreError::Database`].
    pub fn campaign(&mut self, description: &str, nodes: &[NodeId]) -> Result<Campaign> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        let id = begun(&tx, description, nodes).map_err(&fail)?;
        tx.commit().map_err(&fail)?;
        let turns = self.turns(id).map_err(&fail)?;
        if !turns.iter().map(|turn| &turn.node).eq(nodes) {
            return Err(StoreError::CampaignNodes);
        }
        Ok(Campaign {
            id: CampaignId(id),
            nodes: turns,
        })
    }

    /// Ends the turn of `node` without an object, for `reason`.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn fail_turn(&mut self, campaign: CampaignId, node: NodeId, reason: &str) -> Result<()> {
        let sql = "UPDATE turns SET failure = ?1 WHERE campaign = ?2 AND node = ?3";
        let done = self
            .db
            .execute(sql, params![reason, campaign.0, node.get()]);
        done.map(drop).map_err(db_error(&self.database))
    }

    /// Gives the turns back whose objects' files are gone, to be fetched again: how many.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Io`].
    pub fn renew(&mut self, campaign: &mut Campaign) -> Result<usize> {
        let mut renewed = 0;
        for turn in &mut campaign.nodes {
            let TurnState::Done(id) = turn.state else {
                continue;
            };
            let Some(stored) = self.transfer(id)? else {
                continue;
            };
            if stored.object.is_some() && stored.condition()? == Condition::Missing {
                let sql = "UPDATE turns SET transfer = NULL WHERE campaign = ?1 AND node = ?2";
                let done = (self.db).execute(sql, params![campaign.id.0, turn.node.get()]);
                done.map_err(db_error(&self.database))?;
                turn.state = TurnState::Left;
                renewed += 1;
            }
        }
        Ok(renewed)
    }

    /// Keeps other processes from the campaign, until the lock is dropped or this process ends.
    ///
    /// # Errors
    /// [`StoreError::Locked`] where another has it, [`StoreError::Io`].
    pub fn lock(&self, campaign: CampaignId) -> Result<Lock> {
        self.lock_file(&format!(".campaign-{}.lock", campaign.0))
    }

    /// Keeps other daemons from the folder, until the lock is dropped or this process ends.
    ///
    /// # Errors
    /// [`StoreError::Locked`] where another has it, [`StoreError::Io`].
    pub fn lock_daemon(&self) -> Result<Lock> {
        self.lock_file(".gateway.lock")
    }

    fn lock_file(&self, name: &str) -> Result<Lock> {
        let path = self.folder.join(name);
        let file = File::create(&path).map_err(io_error("write", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked(self.folder.clone())),
            // A file system without locks: campaigns are then on their own, as ever.
            Err(TryLockError::Error(_)) => Ok(Lock(file)),
        }
    }

    fn turns(&self, campaign: i64) -> rusqlite::Result<Vec<Turn>> {
        let mut statement = self.db.prepare(
            "SELECT node, transfer, failure FROM turns WHERE campaign = ?1 ORDER BY place",
        )?;
        let rows = statement.query_map([campaign], turn)?;
        rows.collect()
    }
}

/// A campaign is this process's as long as it is there.
#[derive(Debug)]
pub struct Lock(pub(super) File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that another thread begins has it, too, until it runs its
        // program. A file system without locks has nothing to give back.
        let _ = self.0.unlock();
    }
}

/// The number of the campaign of that description, which is begun where there is none.
fn begun(tx: &Transaction<'_>, description: &str, nodes: &[NodeId]) -> rusqlite::Result<i64> {
    let known = "SELECT id FROM campaigns WHERE description = ?1";
    if let Some(id) = tx
        .query_row(known, [description], |row| row.get(0))
        .optional()?
    {
        return Ok(id);
    }
    let campaign = "INSERT INTO campaigns (description) VALUES (?1)";
    tx.execute(campaign, [description])?;
    let id = tx.last_insert_rowid();
    let turn = "INSERT INTO turns (campaign, place, node) VALUES (?1, ?2, ?3)";
    for (place, node) in nodes.iter().enumerate() {
        tx.execute(turn, params![id, place, node.get()])?;
    }
    Ok(id)
}

fn turn(row: &Row<'_>) -> rusqlite::Result<Turn> {
    let transfer: Option<i64> = row.get("transfer")?;
    let failure: Option<String> = row.get("failure")?;
    let state = match (transfer, failure) {
        (Some(id), _) => TurnState::Done(TransferId(id)),
        (None, Some(reason)) => TurnState::Failed(reason),
        (None, None) => TurnState::Left,
    };
    Ok(Turn {
        node: node(row, "node")?,
        state,
    })
}
