//! Campaigns: many nodes in turn, remembered so that an interrupted one goes on.

use rusqlite::{params, Row};
use thalweg_units::NodeId;

use super::{
    db_error, node, number, Campaign, CampaignId, Store, StoreError, TransferId, Turn, TurnState,
};

impl Store {
    /// The campaign of this description (everything that determines its results, in a canonical
    /// form), begun now over `nodes` if it was not begun before.
    ///
    /// # Errors
    /// [`StoreError::CampaignNodes`] when it was begun over other nodes, [`StoreError::Database`].
    pub fn campaign(
        &mut self,
        description: &str,
        nodes: &[NodeId],
    ) -> Result<Campaign, StoreError> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        let known = number(
            &tx,
            "SELECT id FROM campaigns WHERE description = ?1",
            [description],
        )
        .map_err(&fail)?;
        let id = match known {
            Some(id) => id,
            None => {
                tx.execute(
                    "INSERT INTO campaigns (description) VALUES (?1)",
                    [description],
                )
                .map_err(&fail)?;
                let id = tx.last_insert_rowid();
                for (place, node) in nodes.iter().enumerate() {
                    tx.execute(
                        "INSERT INTO turns (campaign, place, node) VALUES (?1, ?2, ?3)",
                        params![id, place, node.get()],
                    )
                    .map_err(&fail)?;
                }
                id
            }
        };
        tx.commit().map_err(&fail)?;
        let turns = self.turns(id).map_err(&fail)?;
        if turns.iter().map(|turn| &turn.node).eq(nodes) {
            Ok(Campaign {
                id: CampaignId(id),
                nodes: turns,
            })
        } else {
            Err(StoreError::CampaignNodes)
        }
    }

    /// Ends the turn of `node` without an object, for `reason`.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn fail_turn(
        &mut self,
        campaign: CampaignId,
        node: NodeId,
        reason: &str,
    ) -> Result<(), StoreError> {
        let fail = db_error(&self.database);
        self.db
            .execute(
                "UPDATE turns SET failure = ?1 WHERE campaign = ?2 AND node = ?3",
                params![reason, campaign.0, node.get()],
            )
            .map_err(fail)?;
        Ok(())
    }

    fn turns(&self, campaign: i64) -> rusqlite::Result<Vec<Turn>> {
        let mut statement = self.db.prepare(
            "SELECT node, transfer, failure FROM turns WHERE campaign = ?1 ORDER BY place",
        )?;
        let rows = statement.query_map([campaign], turn)?;
        rows.collect()
    }
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
