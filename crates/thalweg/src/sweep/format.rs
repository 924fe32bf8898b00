//! What a part's file is: a table of rows with the same columns in each part.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use thalweg_lab::results::{csv_of, Row};

/// The format of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Comma-separated values, with a heading.
    #[default]
    Csv,
}

impl Format {
    /// What files of it end in.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
        }
    }

    /// `rows` with `columns`, as a file.
    pub(super) fn encoded(self, columns: &BTreeSet<&str>, rows: &[Row]) -> Result<Vec<u8>, Error> {
        match self {
            Self::Csv => Ok(csv_of(columns, rows).into_bytes()),
        }
    }
}
