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
        asked.extend(self.only.keys().map(|c| ("where", c.as_str())));
        let against = self.against.iter().flatten();
        asked.extend(against.map(|(c, _)| ("against", c.as_str())));
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
    names.sort_by_key(|name| distance(column, name));
    Some(format!(
        "no row has a column {column:?}; there are {}",
        names.join(", ")
    ))
}

/// How many letters are to be put in, taken out or changed to make `b` of `a` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = corner + usize::from(from != *to);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        for (a, b, letters) in [("", "ab", 2), ("hops", "hop", 1), ("kitten", "sitting", 3)] {
            assert_eq!((distance(a, b), distance(b, a)), (letters, letters));
        }
    }

    #[test]
    fn what_is_like_an_unknown_name_comes_first() {
        let known = ["seed", "energy_j", "goodput_kbps", "hops"];
        let why = unknown("goodputkbps", &known).unwrap();
        assert!(
            why.ends_with("there are goodput_kbps, hops, energy_j"),
            "{why}"
        );
        assert_eq!(unknown("seed", &known), None);
    }
}
