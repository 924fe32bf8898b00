//! The columns that metrics and figures use, and whether rows have them: a name that no row can have is an
//! error before anything runs, not an empty table. Tests: below, `../experiment/bad_file_tests.rs`.

use super::column::Column;
use super::figure::{FigureSpec, Mark};
use super::metric::{MetricSpec, Statistic, SEED};

/// The key that uses a column, and the column.
pub(crate) type ColumnUse<'a> = (&'static str, &'a str);

impl MetricSpec {
    /// The columns that it uses.
    pub(crate) fn columns(&self) -> Vec<ColumnUse<'_>> {
        let mut columns: Vec<ColumnUse<'_>> = vec![("of", &self.of)];
        columns.extend(self.over.iter().map(|c| ("over", c.as_str())));
        if let Statistic::BestOf(column) = &self.stat {
            columns.push(("stat", column));
        }
        columns.extend(self.by.iter().map(|c| ("by", c.as_str())));
        columns.extend(self.most.iter().map(|most| ("most", most.of.as_str())));
        columns.extend(self.only.keys().map(|c| ("where", c.as_str())));
        let against = self.against.iter().flatten();
        columns.extend(against.map(|(c, _)| ("against", c.as_str())));
        let minus = self.minus.iter().flatten();
        columns.extend(minus.map(|(c, _)| ("minus", c.as_str())));
        columns
    }
}

impl FigureSpec {
    /// The columns that it uses.
    pub(crate) fn columns(&self) -> Vec<ColumnUse<'_>> {
        let mut columns: Vec<ColumnUse<'_>> = Vec::new();
        if self.mark != Mark::Map {
            columns.push(("x", &self.x.column));
        }
        if self.mark != Mark::Distribution {
            columns.push(("y", &self.y.column));
        }
        columns.extend(self.series.iter().map(|c| ("series", c.as_str())));
        columns.extend(self.only.keys().map(|c| ("where", c.as_str())));
        columns
    }
}

/// The error where `column` is not one of `known`, on one line, the names most like it first.
pub(crate) fn unknown(column: &str, known: &[Column]) -> Option<String> {
    let mut names: Vec<&str> = known.iter().map(|c| c.name).collect();
    if names.contains(&column) {
        return None;
    }
    names.retain(|name| *name != SEED);
    like_first(column, &mut names);
    Some(format!(
        "no row has a column {column:?}; there are {}",
        names.join(", ")
    ))
}

/// Sorts `names`, those most like `name` first.
pub(crate) fn like_first(name: &str, names: &mut [&str]) {
    // As clap does for arguments: a common beginning counts more than the length.
    let likeness = |other: &str| strsim::jaro_winkler(name, other);
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::columns;

    #[test]
    fn what_is_like_an_unknown_name_comes_first() {
        let known: &[Column] = columns! {
            seed: Whole, "";
            energy_j: Number "J", "";
            goodput_kbps: Number "kbit/s", "";
            hops: Whole, "";
        };
        for like in ["goodputkbps", "godput"] {
            let why = unknown(like, known).unwrap();
            assert!(why.contains("there are goodput_kbps, "), "{why}");
        }
        assert_eq!(unknown("seed", known), None);
    }
}
