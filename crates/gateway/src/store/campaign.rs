//! Campaigns: many nodes in turn, remembered so that an interrupted one goes on.

use rusqlite::{params, OptionalExtension, Row, Transaction};
use thalweg_units::NodeId;

use super::{
    db_error, node, Campaign, CampaignId, Result, Store, StoreError, TransferId, Turn, TurnState,
};

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

    fn turns(&self, campaign: i64) -> rusqlite::Result<Vec<Turn>> {
        let mut statement = self.db.prepare(
            "SELECT node, transfer, failure FROM turns WHERE campaign = ?1 ORDER BY place",
        )?;
        let rows = statement.query_map([campaign], turn)?;
        rows.collect()
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
