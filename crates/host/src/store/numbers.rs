//! Numbers of a secured network's floods: reserved here before a base station hears of them.
//!
//! Invariants: no number is reserved twice; a store that was restored from a backup goes on by the clock, beyond all that was
//! used at one a second. Time base: wall clock, seconds since 1970. Tests: at the end.

use rusqlite::params;

use super::{db_error, Result, Store, StoreError};

impl Store {
    /// Reserves `count` numbers at second `now`, and returns the first. They are on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Database`]; [`StoreError::NoNumbers`] at the end of all.
    pub fn reserve_numbers(&mut self, count: u16, now: i64) -> Result<u32> {
        let fail = db_error(&self.database);
        let tx = self.begin()?;
        let last: i64 = tx
            .query_row("SELECT coalesce(max(last), 0) FROM numbers", [], |row| {
                row.get(0)
            })
            .map_err(&fail)?;
        let first = (last + 1).max(now);
        let end = first + i64::from(count) - 1;
        let number = u32::try_from(end).ok().and(u32::try_from(first).ok());
        let number = number.ok_or(StoreError::NoNumbers)?;
        tx.execute("DELETE FROM numbers", []).map_err(&fail)?;
        tx.execute("INSERT INTO numbers (last) VALUES (?1)", params![end])
            .map_err(&fail)?;
        tx.commit().map_err(&fail)?;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_reserved_twice_whatever_the_clock_says() {
        let folder = tempfile::tempdir().unwrap();
        let mut used: Vec<u32> = Vec::new();
        for now in [0, 1_800_000_000, 1_800_000_001, 5, -7, 1_800_000_002] {
            // As after a restart.
            let mut store = Store::open(folder.path()).unwrap();
            let first = store.reserve_numbers(100, now).unwrap();
            assert!(
                used.iter().all(|before| before + 99 < first),
                "{now}: {first}"
            );
            assert!(i64::from(first) >= now);
            used.push(first);
        }
        assert_eq!(used[..2], [1, 1_800_000_000]);
        let mut store = Store::open(folder.path()).unwrap();
        let late = i64::from(u32::MAX) - 50;
        assert!(matches!(
            store.reserve_numbers(100, late),
            Err(StoreError::NoNumbers)
        ));
        assert_eq!(store.reserve_numbers(51, late).unwrap(), u32::MAX - 50);
        assert!(store.reserve_numbers(1, 0).is_err());
    }
}
