//! The frame of a chart and its axes.

use super::super::axis::{label, rounded_ends, Grain, Scale};
use super::super::{Base, Chart, Mark, ReferenceAt, XAxis};
use super::{points, widest, SMALL, Y_TICKS};
use crate::span;
use crate::style::{FAINT, GRID, INK};
use crate::svg::{Anchor, Svg};

/// The area of the data, and both axes.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) x_grain: Grain,
    pub(super) y_grain: Grain,
}

impl Frame {
    /// Half-way up.
    pub(super) fn middle(&self) -> f64 {
        (self.top + self.bottom) / 2.0
    }
}

pub(super) fn frame(chart: &Chart, width: f64, height: f64, top: f64) -> Frame {
    let reference_ys = chart.references.iter().flat_map(|r| match &r.at {
        ReferenceAt::Level(y) => vec![*y],
        ReferenceAt::Points(points) => points.iter().map(|p| p.1).collect(),
    });
    let ends = points(chart).filter_map(|p| p.interval);
    let ends = ends.flat_map(|(low, high)| [low, high]);
    let ys = points(chart).map(|p| p.y).chain(reference_ys).chain(ends);
    let y_grain = Grain::of(ys.clone());
    let x_grain = Grain::of(points(chart).map(|p| p.x));
    let (low, high) = span(ys);
    let (low, high) = match chart.base {
        // One value alone has an axis around it.
        Base::ToldLeast if high > low => (low, high),
        _ => (low.min(0.0), high.max(0.0)),
    };
    let (low, high) = rounded_ends(low, high, Y_TICKS, y_grain);
    let ticks = Scale::new(low, high, 0.0, 1.0).ticks(Y_TICKS, y_grain);
    let room = |label: &str, room: f64| if label.is_empty() { 0.0 } else { room };
    let ticks_width = widest(ticks.iter().map(|t| &t.1));
    let left = 16.0 + room(&chart.y_label, 18.0) + ticks_width + 8.0;
    let right = width - 20.0;
    let below = 26.0 + room(&chart.x_label, 20.0) + category_room(chart, right - left);
    let bottom = (height - below).max(top + 40.0);
    Frame {
        left,
        right,
        top,
        bottom,
        x_grain,
        y_grain,
        x: x_scale(chart, left, right),
        y: Scale::new(low, high, bottom, top),
    }
}

fn x_scale(chart: &Chart, left: f64, right: f64) -> Scale {
    let reference_xs = chart.references.iter().flat_map(|r| match &r.at {
        ReferenceAt::Points(points) => points.iter().map(|p| p.0).collect(),
        ReferenceAt::Level(_) => Vec::new(),
    });
    let xs = points(chart).map(|p| p.x).chain(reference_xs);
    match &chart.x_axis {
        XAxis::Categories(names) => {
            let count = names.len().max(1) as f64;
            Scale::new(-0.5, count - 0.5, left, right)
        }
        XAxis::Linear => {
            let (low, high) = span(xs);
            // Bars stand half a step beyond the outermost values.
            let (half, inset) = match chart.series.iter().any(|s| s.mark == Mark::Bars) {
                true => (bar_step(chart) / 2.0, 0.0),
                false => (0.0, 8.0),
            };
            let (from, to) = (left + inset, right - inset);
            Scale::new(low - half, high + half, from, to)
        }
    }
}

/// Least distance between two bars' values.
pub(super) fn bar_step(chart: &Chart) -> f64 {
    if matches!(chart.x_axis, XAxis::Categories(_)) {
        return 1.0;
    }
    let mut xs: Vec<f64> = points(chart).map(|p| p.x).collect();
    xs.sort_unstable_by(f64::total_cmp);
    let gaps = xs.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.filter(|gap| *gap > 0.0 && gap.is_finite())
        .reduce(f64::min)
        .unwrap_or(1.0)
}

/// Extra height for category names that stand slanted because they do not fit side by side.
fn category_room(chart: &Chart, width: f64) -> f64 {
    let XAxis::Categories(names) = &chart.x_axis else {
        return 0.0;
    };
    let (widest, cell) = (widest(names.iter()), width / names.len().max(1) as f64);
    match widest + 8.0 <= cell {
        true => 0.0,
        false => (widest * 0.6).min(110.0),
    }
}

pub(super) fn y_axis(svg: &mut Svg, chart: &Chart, frame: &Frame) {
    for (value, name) in frame.y.ticks(Y_TICKS, frame.y_grain) {
        let Some(y) = frame.y.at(value) else { continue };
        let stroke = format!("stroke=\"{GRID}\"");
        svg.line((frame.left, y), (frame.right, y), &stroke);
        let at = (frame.left - 7.0, y + 4.0);
        svg.text(at, Anchor::End, SMALL, FAINT, &name);
    }
    if !chart.y_label.is_empty() {
        let at = (24.0, frame.middle());
        let (first, last) = frame.y.ends();
        let from = match chart.base {
            Base::Zero => String::new(),
            Base::ToldZero | Base::ToldLeast if first == 0.0 => ", from 0".to_owned(),
            Base::ToldZero | Base::ToldLeast => format!(", from {}", label(first, last - first)),
        };
        let name = format!("{}{from}", chart.y_label);
        svg.turned_text(at, Anchor::Middle, 12.0, -90.0, &name);
    }
}

pub(super) fn x_axis(svg: &mut Svg, chart: &Chart, frame: &Frame, height: f64) {
    let (base, bottom) = (format!("stroke=\"{INK}\""), frame.bottom);
    svg.line((frame.left, bottom), (frame.right, bottom), &base);
    match &chart.x_axis {
        XAxis::Categories(names) => {
            let slanted = category_room(chart, frame.right - frame.left) > 0.0;
            for (index, name) in names.iter().enumerate() {
                let Some(x) = frame.x.at(index as f64) else {
                    continue;
                };
                if slanted {
                    let at = (x + 4.0, bottom + 15.0);
                    svg.turned_text(at, Anchor::End, SMALL, -38.0, name);
                } else {
                    svg.text((x, bottom + 17.0), Anchor::Middle, SMALL, INK, name);
                }
            }
        }
        XAxis::Linear => {
            let count = (((frame.right - frame.left) / 80.0) as usize).max(2);
            for (value, name) in frame.x.ticks(count, frame.x_grain) {
                let Some(x) = frame.x.at(value) else { continue };
                svg.line((x, bottom), (x, bottom + 4.0), &base);
                svg.text((x, bottom + 17.0), Anchor::Middle, SMALL, FAINT, &name);
            }
        }
    }
    if !chart.x_label.is_empty() {
        let at = ((frame.left + frame.right) / 2.0, height - 10.0);
        svg.text(at, Anchor::Middle, 12.0, INK, &chart.x_label);
    }
}
