//! The place of an error in an experiment's file: its line and key. Tests: `bad_file_tests.rs`.

use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// A step from a table to a value in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The value of a key.
    Key(String),
    /// One of a list's, from 0.
    Place(usize),
}

/// The steps that `path`, keys with dots between them, says.
pub(super) fn steps(path: &str) -> Vec<Step> {
    let keys = path.split('.').map(str::to_owned);
    keys.map(Step::Key).collect()
}

/// A file's text, and its values with their places where it is TOML.
pub(super) struct Document<'a> {
    text: &'a str,
    top: Option<Spanned<DeTable<'a>>>,
}

impl<'a> Document<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let top = DeTable::parse(text).ok();
        Self { text, top }
    }

    /// The line of byte `at`, from 1.
    fn line(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    /// The line of what `steps` lead to, or of the last thing on the way that is there.
    pub(super) fn line_of(&self, steps: &[Step]) -> usize {
        let mut line = 1;
        let mut here = None;
        for step in steps {
            let table = match here {
                None => self.top.as_ref().map(Spanned::get_ref),
                Some(value) => as_table(value),
            };
            let (place, value) = match (step, here) {
                (Step::Key(key), _) => {
                    let mut entries = table.into_iter().flatten();
                    match entries.find(|(name, _)| name.get_ref() == key) {
                        Some((name, value)) => (name.span().start, value.get_ref()),
                        None => return line,
                    }
                }
                (Step::Place(n), Some(DeValue::Array(list))) => match list.get(*n) {
                    Some(value) => (value.span().start, value.get_ref()),
                    None => return line,
                },
                (Step::Place(_), _) => return line,
            };
            line = self.line(place);
            here = Some(value);
        }
        line
    }

    /// The line of `span` and the keys that lead to what begins there, as `metric.stat`.
    pub(super) fn place(&self, span: &Range<usize>) -> (usize, Option<String>) {
        let mut keys = Vec::new();
        if let Some(top) = &self.top {
            lead(top.get_ref(), span, &mut keys);
        }
        let key = (!keys.is_empty()).then(|| keys.join("."));
        (self.line(span.start), key)
    }
}

fn as_table<'a, 'b>(value: &'b DeValue<'a>) -> Option<&'b DeTable<'a>> {
    match value {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

/// Adds to `keys` those on the way to what `span` covers.
fn lead(table: &DeTable<'_>, span: &Range<usize>, keys: &mut Vec<String>) {
    let inside = |of: Range<usize>| of.start <= span.start && span.end <= of.end;
    for (name, value) in table {
        let tables = match value.get_ref() {
            // A table that a heading opens spans its heading alone.
            DeValue::Table(table) => vec![(value.span(), table)],
            DeValue::Array(list) => {
                let tables = list.iter();
                let tables = tables.filter_map(|v| Some((v.span(), as_table(v.get_ref())?)));
                tables.collect()
            }
            _ => Vec::new(),
        };
        let here = inside(name.span()) || inside(value.span());
        let mut below = Vec::new();
        for (_, table) in &tables {
            lead(table, span, &mut below);
        }
        if here || !below.is_empty() || tables.iter().any(|(of, _)| inside(of.clone())) {
            keys.push(name.get_ref().to_string());
            keys.append(&mut below);
            return;
        }
    }
}
