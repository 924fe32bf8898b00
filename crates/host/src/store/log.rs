//! What happened, a line each, for people. Invariant: the last [`KEPT_LINES`] are kept, of at most [`LONGEST`]
//! bytes each. Time base: wall clock. Tests: at the end.

use rusqlite::params;
use serde::Serialize;

use super::{db_error, unreadable, Result, Store};

/// So many lines are kept.
pub const KEPT_LINES: u32 = 2_000;
/// Longer lines are cut, in bytes.
const LONGEST: usize = 500;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Info,
    /// Somebody should look.
    Warning,
}

impl Level {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
        }
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its number.
    pub id: i64,
    /// When it was written, as `2026-11-23T05:13:15Z`.
    pub at: String,
    /// How much it matters.
    pub level: Level,
    /// What happened.
    pub text: String,
}

impl Store {
    /// Writes a line.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn log(&mut self, level: Level, text: &str) -> Result<()> {
        let end = (0..=LONGEST.min(text.len())).rev();
        let end = end.into_iter().find(|at| text.is_char_boundary(*at));
        let text = &text[..end.unwrap_or(0)];
        let write = || {
            let sql = "INSERT INTO log (level, text) VALUES (?1, ?2)";
            self.db.execute(sql, params![level.name(), text])?;
            let sql = "DELETE FROM log WHERE id <= ?1";
            let oldest = self.db.last_insert_rowid() - i64::from(KEPT_LINES);
            self.db.execute(sql, [oldest])
        };
        write().map(drop).map_err(db_error(&self.database))
    }

    /// The `most` youngest lines that are older than number `before`, the youngest first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn lines(&self, before: Option<i64>, most: u32) -> Result<Vec<Line>> {
        let sql = "SELECT id, strftime('%Y-%m-%dT%H:%M:%SZ', at, 'unixepoch') AS at, level, text
            FROM log WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
        self.rows(sql, params![before.unwrap_or(i64::MAX), most], |row| {
            let level: String = row.get("level")?;
            Ok(Line {
                id: row.get("id")?,
                at: row.get("at")?,
                level: match level.as_str() {
                    "info" => Level::Info,
                    "warning" => Level::Warning,
                    _ => return Err(unreadable(row, "level", std::fmt::Error)),
                },
                text: row.get("text")?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_long_ones_cut() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        let tx = store.db.unchecked_transaction().unwrap();
        for _ in 0..KEPT_LINES {
            let sql = "INSERT INTO log (level, text) VALUES ('info', 'one')";
            tx.execute(sql, []).unwrap();
        }
        tx.commit().unwrap();
        store.log(Level::Warning, &"\u{e9}".repeat(400)).unwrap();
        let lines = store.lines(None, 9_999).unwrap();
        assert_eq!(lines.len(), KEPT_LINES as usize);
        assert_eq!(
            (lines[0].level, lines[0].text.len()),
            (Level::Warning, LONGEST)
        );
        let older = store.lines(Some(lines[0].id), 1).unwrap();
        assert_eq!(older[0].text, "one");
    }
}
