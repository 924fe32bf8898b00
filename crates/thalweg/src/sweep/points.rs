//! Points of a sweep: which values the keys of an experiment take. All combinations, a table, or drawn by a seed.
//!
//! Invariant: the same input gives the same points in the same order; a random point does not depend on how many are
//! drawn, so more of them leave the first as they are. Tests: `points_tests.rs`.

use crate::Error;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use thalweg_medium::random::{stream, uniform};
use toml::Value;

/// More points are a slip of the keyboard.
pub const MAX_POINTS: usize = 100_000;

/// The table in a file to which keys belong.
const TABLE: &str = "run.";

/// The values of a point, by key, such as `run.payload`.
pub type Values = BTreeMap<String, Value>;

/// A key and what it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    key: String,
    span: Span,
}

/// What a key takes.
#[derive(Debug, Clone, PartialEq)]
enum Span {
    /// One of these.
    Each(Vec<Value>),
    /// A whole number between these, both included.
    Whole(i64, i64),
    /// A number between these.
    Number(f64, f64),
}

/// How points are chosen of what keys take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// Each value with each, those of the last key change fastest.
    Grid,
    /// This many, each drawn by itself.
    Random(usize),
    /// This many: each key's span is cut into as many slices, and each slice has one.
    LatinHypercube(usize),
}

impl Axis {
    /// The key and the values that `text` says: `run.payload=40,80`, or a span to draw from, `run.payload=40..118`.
    ///
    /// # Errors
    /// [`Error::Input`], which names key and fault.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wanted = "expected KEY=VALUE,VALUE such as run.payload=40,80, or KEY=LOW..HIGH";
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| Error::Input(format!("{text:?}: {wanted}")))?;
        let key = checked(key.trim())?;
        let span = span(values.trim()).map_err(|why| Error::Input(format!("{key}: {why}")))?;
        Ok(Self { key, span })
    }

    /// `key` with each of `values`.
    ///
    /// # Errors
    /// [`Error::Input`] where `key` is none of `[run]`, or without values.
    pub fn of(key: &str, values: Vec<Value>) -> Result<Self, Error> {
        let key = checked(key)?;
        if values.is_empty() {
            return Err(Error::Input(format!("{key}: it has no values")));
        }
        let span = Span::Each(values);
        Ok(Self { key, span })
    }

    /// The value at `share` of what it takes, 0 to 1.
    fn at(&self, share: f64) -> Value {
        let place = |of: f64| (share * of).floor().min(of - 1.0);
        match &self.span {
            Span::Each(values) => {
                let place = place(values.len() as f64) as usize;
                values.get(place).cloned().unwrap_or_else(|| 0.into())
            }
            Span::Whole(low, high) => {
                let of = (*high as f64 - *low as f64) + 1.0;
                Value::Integer(low.saturating_add(place(of) as i64).min(*high))
            }
            Span::Number(low, high) => Value::Float(low + share * (high - low)),
        }
    }
}

/// The path of `key` below `[run]`.
pub(super) fn below_run(key: &str) -> &str {
    key.strip_prefix(TABLE).unwrap_or(key)
}

/// `key` where it may be swept: rows depend on the keys of `[run]` alone.
fn checked(key: &str) -> Result<String, Error> {
    match key.strip_prefix(TABLE) {
        Some("kind") => Err(Error::Input(format!(
            "{key}: another kind is another experiment"
        ))),
        Some(rest) if rest.split('.').all(|name| !name.is_empty()) => Ok(key.to_owned()),
        _ => Err(Error::Input(format!(
            "{key:?}: expected a key of [run], such as run.payload"
        ))),
    }
}

/// What `text` says behind a key.
fn span(text: &str) -> Result<Span, String> {
    if let Some((low, high)) = text.split_once("..") {
        let (low, high) = (low.trim(), high.trim());
        let is_empty = || format!("the range {text} is empty");
        if let (Ok(low), Ok(high)) = (low.parse::<i64>(), high.parse::<i64>()) {
            let span = Span::Whole(low, high);
            return (low < high).then_some(span).ok_or_else(is_empty);
        }
        if let (Ok(low), Ok(high)) = (low.parse::<f64>(), high.parse::<f64>()) {
            let is_span = low < high && (high - low).is_finite();
            let span = Span::Number(low, high);
            return is_span.then_some(span).ok_or_else(is_empty);
        }
    }
    let values = listed(text);
    match values.iter().any(|text| text.is_empty()) {
        true => Err("a value is missing".to_owned()),
        false => Ok(Span::Each(values.into_iter().map(value).collect())),
    }
}

/// What stands between the commas of `text`, without those within brackets and quotes.
fn listed(text: &str) -> Vec<&str> {
    let (mut depth, mut quote) = (0, None);
    let is_end = |c: char| {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0 && quote.is_none()
    };
    text.split(is_end).map(str::trim).collect()
}

/// The value that `text` says as a file does; other texts say themselves.
fn value(text: &str) -> Value {
    one(text).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn one(text: &str) -> Option<Value> {
    let mut table = format!("value = {text}").parse::<toml::Table>().ok()?;
    let value = table.remove("value");
    // What has more was no value.
    value.filter(|_| table.is_empty())
}

/// The points of `axes` by `design`; what is drawn is drawn by `seed`.
///
/// # Errors
/// [`Error::Input`].
pub fn points(axes: &[Axis], design: Design, seed: u64) -> Result<Vec<Values>, Error> {
    for (n, axis) in axes.iter().enumerate() {
        if axes.iter().skip(n + 1).any(|other| other.key == axis.key) {
            return Err(Error::Input(format!("{}: it is given twice", axis.key)));
        }
    }
    match design {
        Design::Grid => grid(axes),
        Design::Random(count) => {
            let count = few(count as u128)?;
            Ok((0..count)
                .map(|n| {
                    let mut random = stream(seed, "sweep", &[n as u64]);
                    let drawn = axes
                        .iter()
                        .map(|a| (a.key.clone(), a.at(uniform(&mut random))));
                    drawn.collect()
                })
                .collect())
        }
        Design::LatinHypercube(count) => {
            let count = few(count as u128)?;
            let mut points = vec![Values::new(); count];
            for (n, axis) in axes.iter().enumerate() {
                let mut random = stream(seed, "latin hypercube", &[n as u64]);
                let mut slices: Vec<usize> = (0..count).collect();
                slices.shuffle(&mut random);
                for (point, slice) in points.iter_mut().zip(slices) {
                    let share = (slice as f64 + uniform(&mut random)) / count as f64;
                    point.insert(axis.key.clone(), axis.at(share));
                }
            }
            Ok(points)
        }
    }
}

/// `count`, where so many points can be.
fn few(count: u128) -> Result<usize, Error> {
    let count = usize::try_from(count).ok().filter(|n| *n <= MAX_POINTS);
    count.ok_or_else(|| Error::Input(format!("more than {MAX_POINTS} points")))
}

fn grid(axes: &[Axis]) -> Result<Vec<Values>, Error> {
    let mut points = vec![Values::new()];
    let mut count = 1;
    for axis in axes {
        let Span::Each(values) = &axis.span else {
            let why = "a range is drawn from: say how many points, or name its values";
            return Err(Error::Input(format!("{}: {why}", axis.key)));
        };
        count *= values.len() as u128;
        few(count)?;
        let each = |point: &Values| {
            let point = point.clone();
            let with = move |value: &Value| {
                let mut point = point.clone();
                point.insert(axis.key.clone(), value.clone());
                point
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        points = points.iter().flat_map(each).collect();
    }
    Ok(points)
}

/// The points of a table in CSV: keys in its heading, a point in each row; an empty cell leaves the experiment's value.
///
/// # Errors
/// [`Error::Input`], which names `file` and line.
pub fn table(file: &str, text: &str) -> Result<Vec<Values>, Error> {
    let wrong = |line: u64, why: &str| Error::Input(format!("{file}: line {line}: {why}"));
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let malformed = |why: csv::Error| {
        let line = why.position().map_or(1, csv::Position::line);
        wrong(
            line,
            "it has not as many cells as the heading, or is no text",
        )
    };
    let keys = reader.headers().map_err(malformed)?.clone();
    for (n, key) in keys.iter().enumerate() {
        checked(key).map_err(|why| wrong(1, &why.to_string()))?;
        if keys.iter().skip(n + 1).any(|other| other == key) {
            return Err(wrong(1, &format!("{key}: it is given twice")));
        }
    }
    let mut points = Vec::new();
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let cells = keys
            .iter()
            .zip(&record)
            .filter(|(_, cell)| !cell.is_empty());
        points.push(
            cells
                .map(|(key, cell)| (key.to_owned(), value(cell)))
                .collect(),
        );
        few(points.len() as u128)?;
    }
    match points.is_empty() {
        true => Err(wrong(
            1,
            "expected a heading of keys, and a row for each point",
        )),
        false => Ok(points),
    }
}

#[cfg(test)]
#[path = "points_tests.rs"]
mod tests;
