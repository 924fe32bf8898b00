//! What a part's file is: a table of rows with the same columns in each part.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use thalweg_lab::results::{csv_of, ColumnKind, Row, Value};

#[cfg(feature = "parquet")]
mod parquet;

/// Columns, by name, and what their values are.
pub(super) type Columns = BTreeMap<String, ColumnKind>;

/// Whether all points of a part have rows; the ending of its file says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Points {
    All,
    SomeFailed,
}

impl Points {
    pub(super) const BOTH: [Self; 2] = [Self::All, Self::SomeFailed];
}

/// The format of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Comma-separated values, with a heading.
    #[default]
    Csv,
    /// Apache Parquet: columns with types. Only with the cargo feature `parquet`.
    Parquet,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Csv, Self::Parquet]
            .into_iter()
            .find(|format| format.extension() == text);
        found.ok_or_else(|| "expected csv or parquet".to_owned())
    }
}

impl Format {
    /// Itself, where this program can write it.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn checked(self) -> Result<Self, Error> {
        match self == Self::Csv || cfg!(feature = "parquet") {
            true => Ok(self),
            false => Err(Error::Input(format!(
                "format {self}: this program was built without the feature {self}"
            ))),
        }
    }

    /// What files of it end in.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// What the file of a part ends in.
    pub(super) fn ending(self, points: Points) -> String {
        let extension = self.extension();
        match points {
            Points::All => extension.to_owned(),
            Points::SomeFailed => format!("failed.{extension}"),
        }
    }

    /// `rows` with `columns`, as a file.
    pub(super) fn encoded(self, columns: &Columns, rows: &[Row]) -> Result<Vec<u8>, Error> {
        match self.checked()? {
            Self::Csv => {
                let names: BTreeSet<&str> = columns.keys().map(String::as_str).collect();
                Ok(csv_of(&names, rows).into_bytes())
            }
            #[cfg(feature = "parquet")]
            Self::Parquet => {
                let bytes = parquet::encoded(columns, rows);
                bytes.map_err(|why| Error::Job(format!("Parquet: {why}")))
            }
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => Ok(Vec::new()),
        }
    }

    /// The rows of `file` with `columns`.
    ///
    /// # Errors
    /// What is wrong with it, on one line.
    pub(super) fn decoded(self, columns: &Columns, file: &Path) -> Result<Vec<Row>, String> {
        match self.checked().map_err(|why| why.to_string())? {
            Self::Csv => read_csv(columns, file),
            #[cfg(feature = "parquet")]
            Self::Parquet => parquet::decoded(file).map_err(|why| why.to_string()),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => Ok(Vec::new()),
        }
    }
}

fn read_csv(columns: &Columns, file: &Path) -> Result<Vec<Row>, String> {
    let malformed = |why: csv::Error| why.to_string();
    let mut reader = csv::Reader::from_path(file).map_err(malformed)?;
    let names = reader.headers().map_err(malformed)?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let mut row = Row::new();
        for (name, cell) in names
            .iter()
            .zip(&record)
            .filter(|(_, cell)| !cell.is_empty())
        {
            let kind = columns
                .get(name)
                .ok_or_else(|| format!("it has a column {name:?}"))?;
            let value = read_cell(*kind, cell);
            row.set(
                name,
                value.ok_or_else(|| format!("{name}: {cell:?} is no {kind}"))?,
            );
        }
        rows.push(row);
    }
    Ok(rows)
}

fn read_cell(kind: ColumnKind, cell: &str) -> Option<Value> {
    match kind {
        ColumnKind::Text => Some(cell.into()),
        ColumnKind::Whole | ColumnKind::YesNo => cell.parse().ok().map(Value::Whole),
        ColumnKind::Number => match cell.parse() {
            Ok(whole) => Some(Value::Whole(whole)),
            Err(_) => cell.parse().ok().map(Value::Number),
        },
    }
}
