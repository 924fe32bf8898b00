//! Records of transfers, objects and campaigns.

use std::path::PathBuf;

use crate::outcome::Summary;
use serde::Serialize;
use thalweg_units::NodeId;

/// A transfer to store.
#[derive(Debug, Clone, Copy)]
pub struct NewTransfer<'a> {
    /// The result.
    pub record: &'a Summary,
    /// The result of the baseline that ran beside it.
    pub baseline: Option<&'a Summary>,
    /// The whole report as JSON, for what the table has no column for.
    pub report: &'a str,
    /// The campaign that it belongs to; its source's turn is then over.
    pub campaign: Option<CampaignId>,
    /// The daemon's job that asked for it, which is done with it where it brought an object.
    pub job: Option<JobId>,
    /// The name of the file that was sent, where it was one.
    pub file: Option<&'a str>,
}

/// A transfer in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTransfer {
    /// Its number in the store.
    pub id: TransferId,
    /// The result.
    pub record: Summary,
    /// SHA-256 of the object in hexadecimal; none where there is no object.
    pub digest: Option<String>,
    /// Path of the object's file; none where there is no object.
    pub object: Option<PathBuf>,
    /// The transfer that this one was the baseline of.
    pub baseline_of: Option<TransferId>,
    /// When it was stored, as `2026-11-23T05:13:15Z`.
    pub stored_at: String,
    /// The name of the file that was sent, where it was one.
    pub file: Option<String>,
    /// The whole report as JSON.
    pub report: String,
}

/// How an object of the store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Its bytes are those that were stored.
    Whole,
    /// Its file is gone.
    Missing,
    /// Its file has other bytes.
    Changed,
}

/// The number of a transfer in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransferId(pub i64);

/// The number of a job in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct JobId(pub i64);

/// The number of a campaign in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CampaignId(pub i64);

/// Whether an object was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was written.
    Written,
    /// The same bytes were there already.
    Identical,
}

/// An object in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredObject {
    /// The transfer that brought it.
    pub transfer: TransferId,
    /// Its file.
    pub path: PathBuf,
    /// SHA-256 in hexadecimal.
    pub digest: String,
    /// Whether it was written or there already.
    pub fate: Fate,
}

/// A collection from many nodes in turn, which may be interrupted and go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    /// Its number in the store.
    pub id: CampaignId,
    /// The nodes, in the order of their turns.
    pub nodes: Vec<Turn>,
}

impl Campaign {
    /// The nodes whose turn has yet to come, in order.
    pub fn left(&self) -> impl Iterator<Item = NodeId> + '_ {
        let left = |turn: &&Turn| turn.state == TurnState::Left;
        self.nodes.iter().filter(left).map(|turn| turn.node)
    }
}

/// One node's turn in a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The node.
    pub node: NodeId,
    /// How far it is.
    pub state: TurnState,
}

/// How far a node's turn in a campaign is.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnState {
    /// Yet to come.
    Left,
    /// Its transfer is in the store.
    Done(TransferId),
    /// It has no object to show, for the reason given.
    Failed(String),
}
