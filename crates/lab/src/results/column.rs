//! What a column of rows is: its name, what its values are, in which unit, and what they say.
//!
//! Each kind of experiment declares its columns once, with `columns!`. Pages, manifests and whoever makes a table of rows
//! go by that: a table has all of them, also those that no row has. Tests: `../experiment/column_tests.rs`.

use super::row::{Row, Value};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A column of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in rows.
    pub name: &'static str,
    /// What its values are.
    pub kind: ColumnKind,
    /// Their unit; none of names, counts, shares and ratios.
    pub unit: Option<&'static str>,
    /// What they say, in a line.
    pub about: &'static str,
}

/// What the values of a column are. Any may be missing in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Whole numbers.
    Whole,
    /// Numbers; those that are whole may be written so.
    Number,
    /// Names.
    Text,
    /// 1 for yes, 0 for no.
    YesNo,
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "whole",
            Self::Number => "number",
            Self::Text => "text",
            Self::YesNo => "0 or 1",
        })
    }
}

impl Column {
    /// Whether `value` may stand in it.
    pub const fn takes(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (ColumnKind::Whole, Value::Whole(_))
            | (ColumnKind::Number, Value::Whole(_) | Value::Number(_))
            | (ColumnKind::Text, Value::Text(_))
            | (ColumnKind::YesNo, Value::Whole(0 | 1)) => true,
            (_, _) => false,
        }
    }
}

/// The column of `row` that `known` lacks, or whose value is not what is declared there.
pub(crate) fn unfit<'a>(row: &'a Row, known: &[Column]) -> Option<(&'a String, &'a Value)> {
    let fits = |name: &str, value| known.iter().any(|c| c.name == name && c.takes(value));
    row.0.iter().find(|(name, value)| !fits(name, value))
}

/// Columns, each as `name: Kind "unit", "what it says";`, the unit only where there is one.
macro_rules! columns {
    ($($name:ident: $kind:ident $($unit:literal)?, $about:literal;)+) => {
        &[$(
            $crate::results::Column {
                name: stringify!($name),
                kind: $crate::results::ColumnKind::$kind,
                unit: $crate::results::columns!(@unit $($unit)?),
                about: $about,
            },
        )+]
    };
    (@unit) => { None };
    (@unit $unit:literal) => { Some($unit) };
}
pub(crate) use columns;
