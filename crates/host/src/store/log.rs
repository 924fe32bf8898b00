//! What happened, a line each, for people. Invariants: the last [`KEPT_LINES`] are kept, of at most [`LONGEST`]
//! bytes each; what was logged among the last [`FOLDED`] lines is one line with a count. Time base: wall clock. Tests: at the end.

use rusqlite::{params, OptionalExtension};
use serde::Serialize;

use super::{db_error, unreadable, Result, Store};

/// How many lines are kept.
pub const KEPT_LINES: u32 = 2_000;
/// A line that is among so many of the last is counted there: what alternates fills no log.
const FOLDED: u32 = 20;
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
    /// When it was written last, as `2026-11-23T05:13:15Z`.
    pub at: String,
    /// How often it was written since `since`.
    pub times: u32,
    /// When it was first written, where that was more than once.
    pub since: Option<String>,
    /// How much it matters.
    pub level: Level,
    /// What happened.
    pub text: String,
}

impl Store {
    /// Writes a line. One that is among the last 20 moves to the end, with a new number, and counts one more.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn log(&mut self, level: Level, text: &str) -> Result<()> {
        let end = (0..=LONGEST.min(text.len())).rev();
        let end = end.into_iter().find(|at| text.is_char_boundary(*at));
        let text = &text[..end.unwrap_or(0)];
        let write = || {
            let tx = self.db.unchecked_transaction()?;
            let sql = "DELETE FROM log WHERE level = ?1 AND text = ?2
                AND id IN (SELECT id FROM log ORDER BY id DESC LIMIT ?3) RETURNING times, ifnull(since, at)";
            let before = tx.query_row(sql, params![level.name(), text, FOLDED], |row| {
                Ok((row.get::<_, u32>(0)?, row.get::<_, i64>(1)?))
            });
            let (times, since) = match before.optional()? {
                Some((times, since)) => (times.saturating_add(1), Some(since)),
                None => (1, None),
            };
            let sql = "INSERT INTO log (level, text, times, since) VALUES (?1, ?2, ?3, ?4)";
            tx.execute(sql, params![level.name(), text, times, since])?;
            let sql = "DELETE FROM log WHERE id <=
                (SELECT id FROM log ORDER BY id DESC LIMIT 1 OFFSET ?1)";
            tx.execute(sql, [KEPT_LINES])?;
            tx.commit()
        };
        write().map_err(db_error(&self.database))
    }

    /// The `most` youngest lines that are older than number `before`, the youngest first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn lines(&self, before: Option<i64>, most: u32) -> Result<Vec<Line>> {
        let sql = "SELECT id, strftime('%Y-%m-%dT%H:%M:%SZ', at, 'unixepoch') AS at, level, text, times,
            strftime('%Y-%m-%dT%H:%M:%SZ', since, 'unixepoch') AS since FROM log WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
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
                times: row.get("times")?,
                since: row.get("since")?,
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

    #[test]
    fn what_is_told_again_is_one_line_also_where_lines_alternate() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        for _ in 0..300 {
            store.log(Level::Warning, "it is away").unwrap();
            store.log(Level::Info, "it is back").unwrap();
        }
        let lines = store.lines(None, 9).unwrap();
        let told: Vec<_> = lines.iter().map(|l| (&*l.text, l.times)).collect();
        assert_eq!(told, [("it is back", 300), ("it is away", 300)]);
        assert!(lines[0].since.is_some() && lines[0].id > lines[1].id);
        for n in 0..FOLDED {
            store.log(Level::Info, &format!("{n}")).unwrap();
        }
        store.log(Level::Warning, "it is away").unwrap();
        let last = &store.lines(None, 1).unwrap()[0];
        assert_eq!((last.times, &last.since), (1, &None), "long ago");
    }
}
