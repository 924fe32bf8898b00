//! The energy that each node of a network has spent, day by day.
//!
//! Invariant: the last [`KEPT_DAYS`] days are kept. Time base: wall clock; days are counted from 1970, UTC. Tests: at
//! the end.

use rusqlite::params;
use thalweg_units::NodeId;

use super::{db_error, node, Result, Store};

/// How many days are kept, today included.
pub const KEPT_DAYS: i64 = 31;
/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// The day of second `at`, counted from 1970, UTC.
pub const fn day_of(at: i64) -> i64 {
    at.div_euclid(DAY_S)
}

impl Store {
    /// Adds what nodes of `network` have spent on `day`, in joules, and forgets old days.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn add_spent(&mut self, network: &str, day: i64, spent: &[(NodeId, f64)]) -> Result<()> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        for (node, joules) in spent {
            let sql = "INSERT INTO spent (network, node, day, joules) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT DO UPDATE SET joules = joules + excluded.joules";
            tx.execute(sql, params![network, node.get(), day, joules])
                .map_err(&fail)?;
        }
        let sql = "DELETE FROM spent WHERE network = ?1 AND day <= ?2";
        tx.execute(sql, params![network, day - KEPT_DAYS])
            .map_err(&fail)?;
        tx.commit().map_err(&fail)
    }

    /// What each node of `network` has spent on `day`, in joules; nodes without meters are left out.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn spent_on(&self, network: &str, day: i64) -> Result<Vec<(NodeId, f64)>> {
        let sql = "SELECT node, joules FROM spent WHERE network = ?1 AND day = ?2 ORDER BY node";
        self.rows(sql, params![network, day], |row| {
            Ok((node(row, "node")?, row.get("joules")?))
        })
    }

    /// What `of` of `network` has spent day by day, the last first, in joules.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn spent_by(&self, network: &str, of: NodeId) -> Result<Vec<(i64, f64)>> {
        let sql = "SELECT day, joules FROM spent WHERE network = ?1 AND node = ?2
            ORDER BY day DESC";
        self.rows(sql, params![network, of.get()], |row| {
            Ok((row.get("day")?, row.get("joules")?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_adds_up_by_day_and_old_days_go() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        let [a, b] = [3, 7].map(|id| NodeId::new(id).unwrap());
        assert_eq!((day_of(86_399), day_of(86_400), day_of(-1)), (0, 1, -1));
        for day in 100..=101 {
            store.add_spent("x", day, &[(a, 1.5), (b, 2.0)]).unwrap();
            store.add_spent("x", day, &[(a, 0.25)]).unwrap();
        }
        assert_eq!(store.spent_on("x", 101).unwrap(), [(a, 1.75), (b, 2.0)]);
        assert_eq!(store.spent_by("x", a).unwrap(), [(101, 1.75), (100, 1.75)]);
        assert_eq!(store.spent_on("y", 101).unwrap(), []);
        store.add_spent("x", 100 + KEPT_DAYS, &[]).unwrap();
        assert_eq!(store.spent_by("x", a).unwrap(), [(101, 1.75)]);
    }
}
