//! Figures: from rows to a [`Chart`], as an experiment's file declares it, with the paper's values
//! beside ours. Tests: `figure_tests.rs`.

use super::interval::{mean_and_interval, Confidence, Range};
use super::metric::{sort_key, SEED};
use super::row::{Row, Value};
use crate::plots::{self, Flow, Spot};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_draw::chart::{Chart, Mark as PlotMark, Point, ReferenceAt, Weight, XAxis};

/// A figure over an experiment's rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Its file's stem.
    pub name: String,
    /// Title.
    pub title: String,
    /// Column of the horizontal axis, and its label.
    pub x: Axis,
    /// Column of the vertical axis, and its label.
    pub y: Axis,
    /// Column that tells series apart.
    pub series: Option<String>,
    /// Names in the series' column (or, without series, the horizontal one) that are drawn lightly,
    /// after the others: what stands beside the result, such as variants of a protocol.
    #[serde(default)]
    pub beside: Vec<String>,
    /// Kind of marks.
    #[serde(default)]
    pub mark: Mark,
    /// Which rows are drawn.
    #[serde(default)]
    pub over: Over,
    /// Only rows in which these columns have these values.
    #[serde(default, rename = "where")]
    pub only: BTreeMap<String, Value>,
    /// Which intervals are drawn, instead of 95 %.
    pub confidence: Option<Confidence>,
    /// The paper's values.
    #[serde(default)]
    pub reference: Vec<ReferenceSpec>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The rows' column.
    pub column: String,
    /// Its label with unit.
    pub label: String,
}

/// Kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Bars beside each other.
    #[default]
    Bars,
    /// Points joined by lines.
    Lines,
    /// The share of rows at or below each value of the horizontal column; the vertical column is
    /// not read.
    Distribution,
    /// A map: rows of links (`from`, `to`, `from_x`, `from_y`, `to_x`, `to_y`, `to_is_sink`), as thick
    /// as the vertical column says; the horizontal column is not read.
    Map,
}

/// Which rows a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The first seed's.
    FirstSeed,
    /// All seeds', averaged where the horizontal value is the same, with 95 % intervals.
    #[default]
    Mean,
}

/// Values of the paper: a level, or points.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceSpec {
    /// What they are.
    pub label: String,
    /// A level on the vertical axis.
    pub value: Option<f64>,
    /// Points: horizontal value as the column has it, and vertical one.
    #[serde(default)]
    pub points: Vec<(Value, f64)>,
}

/// Rows that are drawn alike.
struct Part<'a> {
    name: String,
    weight: Weight,
    rows: Vec<&'a Row>,
}

/// Over how much of a group of bars the dots above it are spread.
const DOTS_SPREAD: f64 = 0.6;

/// Sorts the places of the horizontal axis.
type PlaceKey = (Weight, String);

impl FigureSpec {
    /// The figure of `rows` as SVG.
    pub fn svg(&self, rows: &[Row]) -> String {
        match self.mark {
            Mark::Map => self.map(rows),
            Mark::Bars | Mark::Lines | Mark::Distribution => self.draw(rows).to_svg(),
        }
    }

    /// The rows that are shown: of the first seed alone where `of_first`.
    fn shown<'a>(&self, rows: &'a [Row], of_first: bool) -> Vec<&'a Row> {
        let seed = |r: &Row| r.0.get(SEED).map(sort_key);
        let first = rows.iter().filter_map(seed).min();
        let fits = |r: &&Row| r.has(&self.only);
        let shown = rows.iter().filter(fits);
        shown.filter(|r| !of_first || seed(r) == first).collect()
    }

    /// The map of the first seed's links.
    fn map(&self, rows: &[Row]) -> String {
        let mut spots: Vec<Spot> = Vec::new();
        let mut flows: Vec<Flow> = Vec::new();
        for row in self.shown(rows, true) {
            let mut spot = |end: &str, is_sink: bool| {
                let id = row.0.get(end)?.to_string();
                let along = |axis: &str| row.number(&format!("{end}_{axis}"));
                let at = (along("x")?, along("y")?);
                let spot = spots.iter().position(|s| s.id == id);
                Some(spot.unwrap_or_else(|| {
                    spots.push(Spot { id, at, is_sink });
                    spots.len() - 1
                }))
            };
            let to_sink = row.number("to_is_sink") == Some(1.0);
            let ends = (spot("to", to_sink), spot("from", false));
            if let ((Some(to), Some(from)), Some(packets)) = (ends, row.number(&self.y.column)) {
                flows.push((from, to, packets));
            }
        }
        plots::traffic(&self.title, &spots, &flows).to_svg()
    }

    /// The figure of `rows`.
    pub fn draw(&self, rows: &[Row]) -> Chart {
        let shown = self.shown(rows, self.over == Over::FirstSeed);
        let mut chart = Chart::new(&self.title, &self.x.label, &self.y.label);
        chart.subtitle = self.subtitle(&shown, rows.len());
        match self.mark {
            Mark::Distribution => self.distribution(chart, &shown),
            Mark::Bars | Mark::Lines | Mark::Map => self.averages(chart, &shown),
        }
    }

    /// The seeds of `rows`, and how many of `all` they are.
    fn subtitle(&self, rows: &[&Row], all: usize) -> String {
        let seeds = rows.iter().filter_map(|r| r.0.get(SEED));
        let seeds: BTreeSet<String> = seeds.map(Value::to_string).collect();
        let mut words = match (seeds.len(), seeds.first()) {
            (1, Some(seed)) => vec![format!("seed {seed}")],
            (many, Some(_)) => vec![format!("{many} seeds")],
            (_, None) => Vec::new(),
        };
        if rows.len() < all {
            let (shown, which) = (rows.len(), super::filtered::words(&self.only));
            let which = if which.is_empty() {
                which
            } else {
                format!(" ({which})")
            };
            words.push(format!("{shown} of {all} rows{which}"));
        }
        words.join(", ")
    }

    /// The series' names and rows, by name; those that stand beside the others last.
    fn split<'a>(&self, rows: &[&'a Row]) -> Vec<Part<'a>> {
        let column = self.series.as_ref().unwrap_or(&self.x.column);
        let mut series: BTreeMap<(Weight, String), Part<'_>> = BTreeMap::new();
        for row in rows {
            let Some(value) = row.0.get(column) else {
                continue;
            };
            let weight = self.weight(value);
            let (key, name) = match &self.series {
                Some(_) => (sort_key(value), value.to_string()),
                None => (String::new(), String::new()),
            };
            let part = series.entry((weight, key)).or_insert_with(|| Part {
                name,
                weight,
                rows: Vec::new(),
            });
            part.rows.push(row);
        }
        series.into_values().collect()
    }

    /// How much what `value` names stands out.
    fn weight(&self, value: &Value) -> Weight {
        match self.beside.iter().any(|name| *name == value.to_string()) {
            true => Weight::Light,
            false => Weight::Full,
        }
    }

    /// Sorts the places of the horizontal axis, those of what stands beside last.
    fn place_key(&self, value: &Value) -> PlaceKey {
        let weight = match self.series {
            Some(_) => Weight::Full,
            None => self.weight(value),
        };
        (weight, sort_key(value))
    }

    /// Where `value` is on the horizontal axis, whose places are at `position`.
    fn place(&self, value: &Value, position: &BTreeMap<PlaceKey, f64>) -> Option<f64> {
        match self.mark {
            Mark::Bars => position.get(&self.place_key(value)).copied(),
            Mark::Lines | Mark::Distribution | Mark::Map => value.number(),
        }
    }

    fn distribution(&self, mut chart: Chart, rows: &[&Row]) -> Chart {
        for Part { name, weight, rows } in self.split(rows) {
            let values = rows.iter().filter_map(|r| r.number(&self.x.column));
            let mut values: Vec<f64> = values.collect();
            values.sort_by(f64::total_cmp);
            let n = values.len() as f64;
            let start = values.first().map(|x| Point::new(*x, 0.0));
            let points = values.iter().zip(1..);
            let points = points.map(|(x, i)| Point::new(*x, f64::from(i) / n));
            chart = chart.with(name, PlotMark::Steps, start.into_iter().chain(points));
            if weight == Weight::Light {
                chart = chart.lightly();
            }
        }
        self.references(chart, &BTreeMap::new())
    }

    fn averages(&self, mut chart: Chart, rows: &[&Row]) -> Chart {
        let measured = rows.iter().filter(|r| r.number(&self.y.column).is_some());
        let points = self.reference.iter().flat_map(|r| &r.points);
        let places: BTreeMap<PlaceKey, String> = (measured.filter_map(|r| r.0.get(&self.x.column)))
            .chain(points.map(|(x, _)| x))
            .map(|v| (self.place_key(v), v.to_string()))
            .collect();
        let position = places.keys().cloned().zip((0..).map(f64::from)).collect();
        if self.mark == Mark::Bars {
            chart.x_axis = XAxis::Categories(places.values().cloned().collect());
        }
        let parts = self.split(rows);
        let light = |part: &Part<'_>| part.weight == Weight::Light;
        let beside = parts.iter().filter(|part| light(part)).count();
        let ahead = parts.len() - beside;
        for (index, part) in parts.into_iter().enumerate() {
            let is_light = light(&part);
            let Part { name, rows, .. } = part;
            let mark = match (self.mark, &self.series) {
                (Mark::Bars, Some(_)) if is_light => PlotMark::Scatter,
                (Mark::Bars, _) => PlotMark::Bars,
                _ => PlotMark::Line,
            };
            // Dots over bars stand beside each other, not on top of each other.
            let aside = match mark {
                PlotMark::Scatter => {
                    let middle = (index.saturating_sub(ahead) as f64 + 0.5) / beside.max(1) as f64;
                    DOTS_SPREAD * (middle - 0.5)
                }
                _ => 0.0,
            };
            let points = self
                .by_place(rows, &position)
                .into_values()
                .map(|(x, seeds)| {
                    let means: Vec<f64> = seeds.values().map(|v| mean_and_interval(v).0).collect();
                    let (mean, interval) = mean_and_interval(&means);
                    let range = Range::of_column(&self.y.column);
                    let of = |ci| (self.confidence).map_or(ci, |c| c.of(mean, ci, means.len()));
                    let of = |ci| range.cut(of(ci));
                    Point {
                        interval: interval.map(of).map(|[low, high]| (low, high)),
                        ..Point::new(x + aside, mean)
                    }
                });
            chart = chart.with(name, mark, points.collect::<Vec<_>>());
            if is_light {
                chart = chart.lightly();
            }
        }
        self.references(chart, &position)
    }

    /// Where values stand horizontally, and what they are for each seed.
    fn by_place(
        &self,
        rows: Vec<&Row>,
        position: &BTreeMap<PlaceKey, f64>,
    ) -> BTreeMap<PlaceKey, (f64, BTreeMap<String, Vec<f64>>)> {
        let mut at: BTreeMap<PlaceKey, (f64, BTreeMap<String, Vec<f64>>)> = BTreeMap::new();
        for row in rows {
            let (Some(x), Some(y)) = (row.0.get(&self.x.column), row.number(&self.y.column)) else {
                continue;
            };
            let Some(place) = self.place(x, position) else {
                continue;
            };
            let seed = row.0.get(SEED).map(sort_key).unwrap_or_default();
            let entry = at.entry(self.place_key(x));
            let (_, seeds) = entry.or_insert((place, BTreeMap::new()));
            seeds.entry(seed).or_default().push(y);
        }
        at
    }

    fn references(&self, mut chart: Chart, position: &BTreeMap<PlaceKey, f64>) -> Chart {
        for r in &self.reference {
            if let Some(level) = r.value {
                chart = chart.beside(&r.label, ReferenceAt::Level(level));
            }
            if !r.points.is_empty() {
                let points =
                    (r.points.iter()).filter_map(|(x, y)| Some((self.place(x, position)?, *y)));
                chart = chart.beside(&r.label, ReferenceAt::Points(points.collect()));
            }
        }
        chart
    }
}

#[cfg(test)]
#[path = "figure_tests.rs"]
mod tests;
