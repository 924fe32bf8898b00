//! Which columns metrics and figures ask for, and whether rows have them: a name that no row can have is an
//! error before anything runs, not an empty table. Tests: below, `../experiment/bad_file_tests.rs`.

use super::figure::{FigureSpec, Mark};
use super::metric::{MetricSpec, Statistic, SEED};

/// A column, and the key that asks for it.
pub(crate) type Asked<'a> = (&'static str, &'a str);

impl MetricSpec {
    /// The columns that it asks for.
    pub(crate) fn columns(&self) -> Vec<Asked<'_>> {
        let mut asked: Vec<Asked<'_>> = vec![("of", &self.of)];
        asked.extend(self.over.iter().map(|c| ("over", c.as_str())));
        if let Statistic::BestOf(column) = &self.stat {
            asked.push(("stat", column));
        }
        asked.extend(self.by.iter().map(|c| ("by", c.as_str())));
        asked.extend(self.most.iter().map(|most| ("most", most.of.as_str())));
        asked.extend(self.only.keys().map(|c| ("where", c.as_str())));
        let against = self.against.iter().flatten();
        asked.extend(against.map(|(c, _)| ("against", c.as_str())));
        let minus = self.minus.iter().flatten();
        asked.extend(minus.map(|(c, _)| ("minus", c.as_str())));
        asked
    }
}

impl FigureSpec {
    /// The columns that it asks for.
    pub(crate) fn columns(&self) -> Vec<Asked<'_>> {
        let mut asked: Vec<Asked<'_>> = Vec::new();
        if self.mark != Mark::Map {
            asked.push(("x", &self.x.column));
        }
        if self.mark != Mark::Distribution {
            asked.push(("y", &self.y.column));
        }
        asked.extend(self.series.iter().map(|c| ("series", c.as_str())));
        asked.extend(self.only.keys().map(|c| ("where", c.as_str())));
        asked
    }
}

/// What is wrong with asking for `column` of rows that may have those in `known`, on one line; the names most
/// like it first. None where nothing is.
pub(crate) fn unknown(column: &str, known: &[&str]) -> Option<String> {
    if known.contains(&column) {
        return None;
    }
    let mut names: Vec<&str> = known.iter().copied().filter(|c| *c != SEED).collect();
    // As clap does for arguments: a common beginning counts more than the length.
    let likeness = |name: &str| strsim::jaro_winkler(column, name);
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    Some(format!(
        "no row has a column {column:?}; there are {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_like_an_unknown_name_comes_first() {
        let known = ["seed", "energy_j", "goodput_kbps", "hops"];
        for like in ["goodputkbps", "godput"] {
            let why = unknown(like, &known).unwrap();
            assert!(why.contains("there are goodput_kbps, "), "{why}");
        }
        assert_eq!(unknown("seed", &known), None);
    }
}
