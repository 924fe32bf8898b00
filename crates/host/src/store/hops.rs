//! Observations of hops: how many frames of transfers they carried. With the surveys they make the link state.
//!
//! Nodes are stored by name, so the observations stay valid when a network's nodes change. Invariant: the last
//! [`KEPT_HOPS`] of a network are kept. Time base: wall clock. Tests: at the end.

use rusqlite::params;
use thalweg_units::{Channel, NodeId};

use super::{db_error, node, unreadable, Result, Store};
use crate::link_state::MAX_OBSERVATIONS;

/// The most observations of a network: as many as its link state uses.
pub const KEPT_HOPS: usize = MAX_OBSERVATIONS;

/// An observation of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredHop {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The channel.
    pub channel: Channel,
    /// Frames that were sent.
    pub sent: u32,
    /// Frames that were received.
    pub received: u32,
    /// When, in seconds since 1970.
    pub at: i64,
}

impl Store {
    /// Adds observations of `network`, and drops the oldest above the limit.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn add_hops(&mut self, network: &str, hops: &[StoredHop]) -> Result<()> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        for hop in hops {
            let sql = "INSERT INTO seen (network, at, sender, receiver, channel, sent, received)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let (from, to, channel) = (hop.from.get(), hop.to.get(), hop.channel.number());
            let values = params![network, hop.at, from, to, channel, hop.sent, hop.received];
            tx.execute(sql, values).map_err(&fail)?;
        }
        let sql = "DELETE FROM seen WHERE network = ?1 AND id NOT IN
            (SELECT id FROM seen WHERE network = ?1 ORDER BY id DESC LIMIT ?2)";
        tx.execute(sql, params![network, KEPT_HOPS as u32])
            .map_err(&fail)?;
        tx.commit().map_err(&fail)
    }

    /// The observations of `network`, the oldest first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn hops(&self, network: &str) -> Result<Vec<StoredHop>> {
        let sql = "SELECT * FROM seen WHERE network = ?1 ORDER BY id";
        self.rows(sql, [network], |row| {
            let channel = Channel::new(row.get("channel")?);
            Ok(StoredHop {
                from: node(row, "sender")?,
                to: node(row, "receiver")?,
                channel: channel.map_err(|why| unreadable(row, "channel", why))?,
                sent: row.get("sent")?,
                received: row.get("received")?,
                at: row.get("at")?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_come_back_in_their_order_and_the_oldest_of_a_network_go() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        let hop = |at: i64| StoredHop {
            from: NodeId::new(7).unwrap(),
            to: NodeId::new(3).unwrap(),
            channel: Channel::LAST,
            sent: 250,
            received: 20,
            at,
        };
        store.add_hops("b", &[hop(1)]).unwrap();
        let many: Vec<StoredHop> = (0..KEPT_HOPS as i64).map(hop).collect();
        store.add_hops("a", &many).unwrap();
        store.add_hops("a", &[hop(9_998), hop(9_999)]).unwrap();
        drop(store);
        let store = Store::open(dir.path()).unwrap();
        let stored = store.hops("a").unwrap();
        assert_eq!(stored.len(), KEPT_HOPS);
        assert_eq!((stored[0], stored[KEPT_HOPS - 1]), (hop(2), hop(9_999)));
        assert_eq!(store.hops("b").unwrap(), [hop(1)]);
    }
}
