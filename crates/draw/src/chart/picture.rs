//! Drawing a [`Chart`].

mod axes;

use super::axis::label;
use super::mark;
use super::{Chart, Mark, Point, ReferenceAt, Series, Weight, XAxis};
use crate::style::{self, FAINT, INK, REFERENCE};
use crate::svg::{fill, text_width, Anchor, Svg};
use axes::{bar_step, frame, x_axis, y_axis, Frame};

/// A line through more values than this has neither marks nor intervals, which would hide it.
const CROWDED: usize = 60;
/// How much of its colour a pale bar keeps.
const PALE: f64 = 0.35;
/// Ticks aimed at on the vertical axis.
const Y_TICKS: usize = 5;
const SMALL: f64 = 11.0;

pub(crate) fn draw(chart: &Chart) -> String {
    let width = f64::from(chart.width.max(240));
    let height = f64::from(chart.height.max(160));
    let mut svg = Svg::new(width, height, &chart.title);
    let mut top = 12.0;
    if !chart.title.is_empty() {
        top += 14.0;
        let bold = fill(INK) + " font-weight=\"600\"";
        svg.styled_text((16.0, top), Anchor::Start, 15.0, &bold, &chart.title);
        top += 4.0;
    }
    if !chart.subtitle.is_empty() {
        top += 14.0;
        svg.text((16.0, top), Anchor::Start, SMALL, FAINT, &chart.subtitle);
        top += 4.0;
    }
    top = legend(&mut svg, chart, top + 8.0, width) + 12.0;
    let frame = frame(chart, width, height, top);
    y_axis(&mut svg, chart, &frame);
    x_axis(&mut svg, chart, &frame, height);
    for (index, series) in chart.in_depth() {
        match series.mark {
            Mark::Bars => {
                // Bars of one weight share their place; the others' stand elsewhere.
                let alike = |s: &&Series| s.mark == Mark::Bars && s.weight == series.weight;
                let before = chart.series.iter().take(index).filter(alike).count();
                let bars = chart.series.iter().filter(alike).count();
                let place = (before, bars);
                draw_bars(&mut svg, chart, &frame, (index, series), place);
            }
            Mark::Line | Mark::Steps | Mark::Scatter => {
                draw_marks(&mut svg, chart, &frame, (index, series));
            }
        }
    }
    references(&mut svg, chart, &frame);
    if points(chart).next().is_none() {
        let middle = ((frame.left + frame.right) / 2.0, frame.middle());
        svg.text(middle, Anchor::Middle, 13.0, FAINT, "no data");
    }
    svg.finish()
}

/// All points that can be drawn.
fn points(chart: &Chart) -> impl Iterator<Item = &Point> + Clone {
    let points = chart.series.iter().flat_map(|s| &s.points);
    points.filter(|p| p.x.is_finite() && p.y.is_finite())
}

/// The widest of `names`, in pixels.
fn widest<'a>(names: impl Iterator<Item = &'a String>) -> f64 {
    names.map(|n| text_width(n, SMALL)).fold(0.0, f64::max)
}

/// Draws the legend and returns where it ends.
fn legend(svg: &mut Svg, chart: &Chart, top: f64, width: f64) -> f64 {
    let series = chart.series.iter().enumerate();
    let series = series.map(|(i, s)| (Key::Series(i, s), &s.name));
    let references = chart.references.iter().enumerate();
    let references = references.map(|(i, r)| (Key::Reference(i, &r.at), &r.name));
    let keys = series.chain(references);
    let (mut x, mut y, mut any) = (16.0, top + 6.0, false);
    for (key, name) in keys.filter(|(_, name)| !name.is_empty()) {
        let entry = 26.0 + text_width(name, SMALL) + 16.0;
        if x > 16.0 && x + entry > width - 8.0 {
            (x, y) = (16.0, y + 17.0);
        }
        key.draw(svg, (x, y));
        svg.text((x + 26.0, y + 4.0), Anchor::Start, SMALL, INK, name);
        x += entry;
        any = true;
    }
    match any {
        true => y + 6.0,
        false => top - 8.0,
    }
}

enum Key<'a> {
    Series(usize, &'a Series),
    Reference(usize, &'a ReferenceAt),
}
impl Key<'_> {
    fn draw(&self, svg: &mut Svg, (x, y): (f64, f64)) {
        match self {
            Self::Series(index, series) => {
                let Series { mark, weight, .. } = series;
                let colour = style::series(*index);
                let (width, radius) = pen(*weight);
                let (middle, ink) = ((x + 10.0, y), fill(colour));
                match mark {
                    Mark::Bars => svg.rect([x + 4.0, y - 5.0, 14.0, 10.0], &ink, None),
                    Mark::Line | Mark::Steps => {
                        let mut stroke = format!("stroke=\"{colour}\" stroke-width=\"{width}\"");
                        if !has_marks(series) {
                            stroke += &mark::dashes(*index);
                        }
                        svg.line((x, y), (x + 20.0, y), &stroke);
                        if has_marks(series) {
                            mark::draw(svg, *index, middle, radius, &ink, None);
                        }
                    }
                    Mark::Scatter => mark::draw(svg, *index, middle, radius + 0.5, &ink, None),
                }
            }
            Self::Reference(index, ReferenceAt::Level(_)) => {
                svg.line((x, y), (x + 20.0, y), &dashed(*index));
            }
            Self::Reference(_, ReferenceAt::Points(_)) => {
                svg.diamond((x + 10.0, y), 4.5, &hollow(), None);
            }
        }
    }
}

/// Whether marks stand at the values; lines without them have dashes.
fn has_marks(series: &Series) -> bool {
    match series.mark {
        Mark::Line => series.points.len() <= CROWDED,
        Mark::Scatter => true,
        Mark::Steps | Mark::Bars => false,
    }
}

/// Width of lines and radius of dots.
const fn pen(weight: Weight) -> (f64, f64) {
    match weight {
        Weight::Full => (2.0, 3.0),
        Weight::Light => (1.0, 2.6),
    }
}

/// Dashes that distinguish several levels.
const DASHES: [&str; 4] = ["7 4", "2 3", "10 3 2 3", "14 5"];

/// The dashed line of reference `index`.
fn dashed(index: usize) -> String {
    let dashes = DASHES[index % DASHES.len()];
    format!("stroke=\"{REFERENCE}\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"")
}
fn hollow() -> String {
    format!("fill=\"#fff\" fill-opacity=\"0.6\" stroke=\"{REFERENCE}\" stroke-width=\"1.6\"")
}

fn references(svg: &mut Svg, chart: &Chart, frame: &Frame) {
    for (index, reference) in chart.references.iter().enumerate() {
        match &reference.at {
            ReferenceAt::Level(y) => {
                if let Some(pixel) = frame.y.at(*y).filter(|_| frame.y.reaches(*y)) {
                    svg.line((frame.left, pixel), (frame.right, pixel), &dashed(index));
                }
            }
            ReferenceAt::Points(points) => {
                for (x, y) in points {
                    if let (Some(px), Some(py)) = (frame.x.at(*x), frame.y.at(*y)) {
                        let hint = hint(chart, &reference.name, *x, *y, None);
                        svg.diamond((px, py), 4.5, &hollow(), Some(&hint));
                    }
                }
            }
        }
    }
}

/// What a mark says when pointed at.
fn hint(chart: &Chart, name: &str, x: f64, y: f64, interval: Option<(f64, f64)>) -> String {
    let short = |v: f64| match label(v, 0.01) {
        _ if v.abs() < 0.005 => "0".to_owned(),
        text => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    let place = match &chart.x_axis {
        XAxis::Categories(names) => {
            let place = (x + 0.5).floor();
            let name = names.get(place as usize).filter(|_| place >= 0.0);
            name.cloned().unwrap_or_default()
        }
        XAxis::Linear => short(x),
    };
    let range = interval.map(|(low, high)| format!(" [{}, {}]", short(low), short(high)));
    let (y, range) = (short(y), range.unwrap_or_default());
    format!("{name} at {place}: {y}{range}")
}

fn draw_bars(
    svg: &mut Svg,
    chart: &Chart,
    frame: &Frame,
    (index, series): (usize, &Series),
    (bar, bars): (usize, usize),
) {
    let (low, high) = frame.x.ends();
    let step = (frame.right - frame.left) * bar_step(chart) / (high - low);
    // A histogram's bars touch; groups of bars keep a gap to the next group.
    let group = step * if bars == 1 { 0.72 } else { 0.8 };
    let width = (group / bars as f64).max(1.0);
    let (bottom, top) = frame.y.ends();
    let Some(zero) = frame.y.at(0.0_f64.clamp(bottom, top)) else {
        return;
    };
    let mut ink = fill(style::series(index));
    if series.weight == Weight::Light {
        ink += &format!(" fill-opacity=\"{PALE}\"");
    }
    for point in &series.points {
        let (Some(x), Some(y)) = (frame.x.at(point.x), frame.y.at(point.y)) else {
            continue;
        };
        let left = x - group / 2.0 + bar as f64 * width;
        let hint = hint(chart, &series.name, point.x, point.y, point.interval);
        let gap = if width > 6.0 { 1.0 } else { 0.0 };
        // A bar of zero height still shows that there was a value.
        let height = (zero - y).abs();
        let upper = if height < 1.5 {
            zero - 1.5
        } else {
            y.min(zero)
        };
        let bar = [left, upper, width - gap, height.max(1.5)];
        svg.rect(bar, &ink, Some(&hint));
        if series.weight == Weight::Full {
            whisker(svg, frame, left + (width - gap) / 2.0, point, INK);
        }
    }
}

fn whisker(svg: &mut Svg, frame: &Frame, x: f64, point: &Point, ink: &str) {
    let Some((low, high)) = point.interval else {
        return;
    };
    let (Some(a), Some(b)) = (frame.y.at(low), frame.y.at(high)) else {
        return;
    };
    let stroke = format!("stroke=\"{ink}\" stroke-width=\"1.2\"");
    svg.line((x, a), (x, b), &stroke);
    for y in [a, b] {
        svg.line((x - 3.0, y), (x + 3.0, y), &stroke);
    }
}

fn draw_marks(svg: &mut Svg, chart: &Chart, frame: &Frame, (index, series): (usize, &Series)) {
    let ink = style::series(index);
    let is_full = series.weight == Weight::Full;
    let (width, radius) = pen(series.weight);
    let mut stroke = format!("stroke=\"{ink}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"");
    if !has_marks(series) {
        stroke += &mark::dashes(index);
    }
    // A gap in the values is a gap in the line.
    let mut run: Vec<(f64, f64)> = Vec::new();
    let mut dots = Vec::new();
    for point in &series.points {
        let is_finite = point.x.is_finite() && point.y.is_finite();
        let place = frame.x.at(point.x).zip(frame.y.at(point.y));
        let Some((x, y)) = place.filter(|_| is_finite) else {
            if series.mark != Mark::Scatter {
                svg.polyline(&run, &stroke);
            }
            run.clear();
            continue;
        };
        if series.mark == Mark::Steps {
            if let Some((_, before)) = run.last().copied() {
                run.push((x, before));
            }
        }
        run.push((x, y));
        dots.push((x, y, point));
    }
    if series.mark != Mark::Scatter {
        svg.polyline(&run, &stroke);
    }
    if !has_marks(series) {
        return;
    }
    for (x, y, point) in dots {
        if is_full {
            whisker(svg, frame, x, point, ink);
        }
        let more = match (series.mark, is_full) {
            (Mark::Line | Mark::Steps | Mark::Bars, _) => "",
            (Mark::Scatter, true) => " fill-opacity=\"0.75\"",
            // A rim keeps it visible on a bar.
            (Mark::Scatter, false) => " stroke=\"#fff\" stroke-width=\"0.8\"",
        };
        let hint = hint(chart, &series.name, point.x, point.y, point.interval);
        let ink = fill(ink) + more;
        mark::draw(svg, index, (x, y), radius + 0.5, &ink, Some(&hint));
    }
}
