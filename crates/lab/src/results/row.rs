//! Rows: what an experiment observed, one flat record per transfer, link or pair. Columns are
//! named by strings so that metrics and figures can be declared in data; order is alphabetical,
//! so the same run gives the same bytes.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One observed value. Missing values are missing columns, never special numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or a name")]
pub enum Value {
    /// A whole number: a count, an index, a seed.
    Whole(i64),
    /// A measured number.
    Number(f64),
    /// A name.
    Text(String),
}

impl Value {
    /// The value as a number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(n) => Some(*n as f64),
            Self::Number(x) => Some(*x),
            Self::Text(_) => None,
        }
    }
}
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(n) => write!(f, "{n}"),
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(s) => f.write_str(s),
        }
    }
}
impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}
impl From<u64> for Value {
    fn from(n: u64) -> Self {
        i64::try_from(n).map_or(Self::Number(n as f64), Self::Whole)
    }
}
impl From<usize> for Value {
    fn from(n: usize) -> Self {
        Self::from(n as u64)
    }
}
impl From<u32> for Value {
    fn from(n: u32) -> Self {
        Self::Whole(i64::from(n))
    }
}
impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::Text(s.to_owned())
    }
}
impl From<String> for Value {
    fn from(s: String) -> Self {
        Self::Text(s)
    }
}

/// The name of `choice` in files, which is that in rows too.
pub fn name_of(choice: &impl Serialize) -> String {
    let value = serde_json::to_value(choice).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// One observation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Row(pub BTreeMap<String, Value>);

impl Row {
    /// A row without columns.
    pub fn new() -> Self {
        Self::default()
    }
    /// This row with the columns of `more` as well.
    #[must_use]
    pub(crate) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }
    /// This row with `column` set.
    #[must_use]
    pub fn with(mut self, column: &str, value: impl Into<Value>) -> Self {
        self.set(column, value);
        self
    }
    /// Sets `column`; what is no number leaves it out, since no file could hold it.
    pub fn set(&mut self, column: &str, value: impl Into<Value>) {
        let value = value.into();
        if value.number().is_none_or(f64::is_finite) {
            self.0.insert(column.to_owned(), value);
        }
    }
    /// Sets `column` where there is a value.
    pub fn set_some(&mut self, column: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(column, value);
        }
    }
    /// Whether its columns have the values of `only`.
    pub(crate) fn has(&self, only: &BTreeMap<String, Value>) -> bool {
        only.iter().all(|(c, v)| self.0.get(c) == Some(v))
    }
    /// The number in `column`, where there is one.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.0.get(column).and_then(Value::number)
    }
}

/// `rows` as CSV text: a heading with every column that any row has, in alphabetical order; a cell
/// is empty where its row lacks the column.
pub fn csv(rows: &[Row]) -> String {
    let columns: BTreeSet<&str> = (rows.iter())
        .flat_map(|row| row.0.keys().map(String::as_str))
        .collect();
    csv_of(&columns, rows)
}

/// The same with these columns, whether rows have them or not.
pub fn csv_of(columns: &BTreeSet<&str>, rows: &[Row]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut record: Vec<String> = columns.iter().map(|c| (*c).to_owned()).collect();
    // Writing to memory does not fail.
    let _ = writer.write_record(&record);
    for row in rows {
        record.clear();
        let cell = |c: &&str| row.0.get(*c).map(Value::to_string).unwrap_or_default();
        record.extend(columns.iter().map(cell));
        let _ = writer.write_record(&record);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_has_every_column_and_empty_cells() {
        let rows = [
            Row::new().with("b", 1u64).with("a", 0.5),
            Row::new().with("c", "x, y"),
        ];
        assert_eq!(csv(&rows), "a,b,c\n0.5,1,\n,,\"x, y\"\n");
        assert_eq!(
            serde_json::to_string(&rows[0]).unwrap(),
            r#"{"a":0.5,"b":1}"#
        );
    }
    #[test]
    fn what_no_file_can_hold_is_left_out() {
        let row = Row::new().with("a", f64::INFINITY).with("b", f64::NAN);
        assert_eq!(row.with("c", 2u64), Row::new().with("c", 2u64));
    }
}
