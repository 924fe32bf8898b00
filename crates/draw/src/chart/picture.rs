//! Drawing a [`Chart`].

use super::axis::{label, rounded_ends, Grain, Scale};
use super::{Chart, Mark, Point, ReferenceAt, Series, Weight, XAxis};
use crate::style::{self, FAINT, GRID, INK, REFERENCE};
use crate::svg::{text_width, Anchor, Svg};

/// A line through more values than this has neither dots nor intervals, which would hide it.
const CROWDED: usize = 60;
/// How much of its colour a pale bar keeps.
const PALE: f64 = 0.35;
/// Ticks aimed at on the vertical axis.
const Y_TICKS: usize = 5;
const SMALL: f64 = 11.0;

/// The area of the data, and both axes.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
    x_grain: Grain,
    y_grain: Grain,
}

pub(crate) fn draw(chart: &Chart) -> String {
    let (width, height) = (
        f64::from(chart.width.max(240)),
        f64::from(chart.height.max(160)),
    );
    let mut svg = Svg::new(width, height, &chart.title);
    let mut top = 12.0;
    if !chart.title.is_empty() {
        top += 14.0;
        svg.styled_text(
            (16.0, top),
            Anchor::Start,
            15.0,
            &format!("fill=\"{INK}\" font-weight=\"600\""),
            &chart.title,
        );
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
                draw_bars(&mut svg, chart, &frame, series, index, (before, bars));
            }
            Mark::Line | Mark::Steps | Mark::Scatter => {
                draw_marks(&mut svg, chart, &frame, series, index);
            }
        }
    }
    references(&mut svg, chart, &frame);
    if points(chart).next().is_none() {
        let middle = (
            (frame.left + frame.right) / 2.0,
            (frame.top + frame.bottom) / 2.0,
        );
        svg.text(middle, Anchor::Middle, 13.0, FAINT, "no data");
    }
    svg.finish()
}

/// All points that can be drawn.
fn points(chart: &Chart) -> impl Iterator<Item = &Point> + Clone {
    chart
        .series
        .iter()
        .flat_map(|s| &s.points)
        .filter(|p| p.x.is_finite() && p.y.is_finite())
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        })
}

fn frame(chart: &Chart, width: f64, height: f64, top: f64) -> Frame {
    let reference_ys = chart.references.iter().flat_map(|r| match &r.at {
        ReferenceAt::Level(y) => vec![*y],
        ReferenceAt::Points(points) => points.iter().map(|p| p.1).collect(),
    });
    let ends = points(chart)
        .filter_map(|p| p.interval)
        .flat_map(|(low, high)| [low, high]);
    let ys = points(chart).map(|p| p.y).chain(reference_ys).chain(ends);
    let y_grain = Grain::of(ys.clone());
    let x_grain = Grain::of(points(chart).map(|p| p.x));
    let (low, high) = span(ys);
    let (low, high) = rounded_ends(low.min(0.0), high.max(0.0), Y_TICKS, y_grain);
    let names = |scale: &Scale| {
        scale
            .ticks(Y_TICKS, y_grain)
            .into_iter()
            .map(|t| t.1)
            .collect::<Vec<_>>()
    };
    let y = Scale::new(low, high, 0.0, 1.0);
    let widest = names(&y)
        .iter()
        .map(|t| text_width(t, SMALL))
        .fold(0.0, f64::max);
    let left = 16.0 + if chart.y_label.is_empty() { 0.0 } else { 18.0 } + widest + 8.0;
    let right = width - 20.0;
    let below = 26.0
        + if chart.x_label.is_empty() { 0.0 } else { 20.0 }
        + category_room(chart, right - left);
    let bottom = (height - below).max(top + 40.0);
    let x = x_scale(chart, left, right);
    Frame {
        left,
        right,
        top,
        bottom,
        x_grain,
        y_grain,
        x,
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
            let half = if chart.series.iter().any(|s| s.mark == Mark::Bars) {
                bar_step(chart) / 2.0
            } else {
                0.0
            };
            let inset = if half > 0.0 { 0.0 } else { 8.0 };
            let (from, to) = (left + inset, right - inset);
            Scale::new(low - half, high + half, from, to)
        }
    }
}

/// Least distance between two bars' values.
fn bar_step(chart: &Chart) -> f64 {
    if matches!(chart.x_axis, XAxis::Categories(_)) {
        return 1.0;
    }
    let mut xs: Vec<f64> = points(chart).map(|p| p.x).collect();
    xs.sort_unstable_by(f64::total_cmp);
    let gaps = xs.windows(2).filter_map(|w| match w {
        [a, b] if b > a => Some(b - a),
        _ => None,
    });
    let least = gaps.fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        least
    } else {
        1.0
    }
}

/// Extra height for category names that stand slanted because they do not fit side by side.
fn category_room(chart: &Chart, width: f64) -> f64 {
    let XAxis::Categories(names) = &chart.x_axis else {
        return 0.0;
    };
    let widest = names
        .iter()
        .map(|n| text_width(n, SMALL))
        .fold(0.0, f64::max);
    let cell = width / names.len().max(1) as f64;
    if widest + 8.0 <= cell {
        0.0
    } else {
        (widest * 0.6).min(110.0)
    }
}

fn y_axis(svg: &mut Svg, chart: &Chart, frame: &Frame) {
    for (value, name) in frame.y.ticks(Y_TICKS, frame.y_grain) {
        let Some(y) = frame.y.at(value) else { continue };
        let stroke = format!("stroke=\"{GRID}\"");
        svg.line((frame.left, y), (frame.right, y), &stroke);
        svg.text(
            (frame.left - 7.0, y + 4.0),
            Anchor::End,
            SMALL,
            FAINT,
            &name,
        );
    }
    if !chart.y_label.is_empty() {
        let at = (24.0, (frame.top + frame.bottom) / 2.0);
        svg.turned_text(at, Anchor::Middle, 12.0, -90.0, INK, &chart.y_label);
    }
}

fn x_axis(svg: &mut Svg, chart: &Chart, frame: &Frame, height: f64) {
    let base = format!("stroke=\"{INK}\"");
    svg.line(
        (frame.left, frame.bottom),
        (frame.right, frame.bottom),
        &base,
    );
    match &chart.x_axis {
        XAxis::Categories(names) => {
            let slanted = category_room(chart, frame.right - frame.left) > 0.0;
            for (index, name) in names.iter().enumerate() {
                let Some(x) = frame.x.at(index as f64) else {
                    continue;
                };
                if slanted {
                    let at = (x + 4.0, frame.bottom + 15.0);
                    svg.turned_text(at, Anchor::End, SMALL, -38.0, INK, name);
                } else {
                    svg.text((x, frame.bottom + 17.0), Anchor::Middle, SMALL, INK, name);
                }
            }
        }
        XAxis::Linear => {
            let count = (((frame.right - frame.left) / 80.0) as usize).max(2);
            for (value, name) in frame.x.ticks(count, frame.x_grain) {
                let Some(x) = frame.x.at(value) else { continue };
                svg.line((x, frame.bottom), (x, frame.bottom + 4.0), &base);
                svg.text(
                    (x, frame.bottom + 17.0),
                    Anchor::Middle,
                    SMALL,
                    FAINT,
                    &name,
                );
            }
        }
    }
    if !chart.x_label.is_empty() {
        let at = ((frame.left + frame.right) / 2.0, height - 10.0);
        svg.text(at, Anchor::Middle, 12.0, INK, &chart.x_label);
    }
}

/// Draws the legend and returns where it ends.
fn legend(svg: &mut Svg, chart: &Chart, top: f64, width: f64) -> f64 {
    let series = chart
        .series
        .iter()
        .enumerate()
        .map(|(i, s)| (Key::Series(i, s.mark, s.weight), &s.name));
    let references = chart
        .references
        .iter()
        .enumerate()
        .map(|(i, r)| (Key::Reference(i, &r.at), &r.name));
    let (mut x, mut y, mut any) = (16.0, top + 6.0, false);
    for (key, name) in series
        .chain(references)
        .filter(|(_, name)| !name.is_empty())
    {
        let entry = 26.0 + text_width(name, SMALL) + 16.0;
        if x > 16.0 && x + entry > width - 8.0 {
            (x, y) = (16.0, y + 17.0);
        }
        key.draw(svg, (x, y));
        svg.text((x + 26.0, y + 4.0), Anchor::Start, SMALL, INK, name);
        x += entry;
        any = true;
    }
    if any {
        y + 6.0
    } else {
        top - 8.0
    }
}

enum Key<'a> {
    Series(usize, Mark, Weight),
    Reference(usize, &'a ReferenceAt),
}
impl Key<'_> {
    fn draw(&self, svg: &mut Svg, (x, y): (f64, f64)) {
        match self {
            Self::Series(index, mark, weight) => {
                let colour = style::series(*index);
                let is_full = *weight == Weight::Full;
                let (width, radius) = if is_full { (2.0, 3.0) } else { (1.0, 2.2) };
                match mark {
                    Mark::Bars => {
                        svg.rect(
                            x + 4.0,
                            y - 5.0,
                            14.0,
                            10.0,
                            &format!("fill=\"{colour}\""),
                            None,
                        );
                    }
                    Mark::Line | Mark::Steps => {
                        let stroke = format!("stroke=\"{colour}\" stroke-width=\"{width}\"");
                        svg.line((x, y), (x + 20.0, y), &stroke);
                        if *mark == Mark::Line {
                            let fill = format!("fill=\"{colour}\"");
                            svg.circle((x + 10.0, y), radius, &fill, None);
                        }
                    }
                    Mark::Scatter => {
                        let fill = format!("fill=\"{colour}\"");
                        svg.circle((x + 10.0, y), radius + 0.5, &fill, None);
                    }
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

/// Dashes that tell several levels apart.
const DASHES: [&str; 4] = ["7 4", "2 3", "10 3 2 3", "14 5"];

/// The dashed line of reference `index`.
fn dashed(index: usize) -> String {
    let dashes = DASHES.get(index % DASHES.len()).copied().unwrap_or("7 4");
    format!("stroke=\"{REFERENCE}\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"")
}
fn hollow() -> String {
    format!("fill=\"#fff\" fill-opacity=\"0.6\" stroke=\"{REFERENCE}\" stroke-width=\"1.6\"")
}

fn references(svg: &mut Svg, chart: &Chart, frame: &Frame) {
    for (index, reference) in chart.references.iter().enumerate() {
        match &reference.at {
            ReferenceAt::Level(y) if frame.y.reaches(*y) => {
                if let Some(pixel) = frame.y.at(*y) {
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
            ReferenceAt::Level(_) => {}
        }
    }
}

/// What a mark says when pointed at.
fn hint(chart: &Chart, name: &str, x: f64, y: f64, interval: Option<(f64, f64)>) -> String {
    let short = |v: f64| {
        let text = label(v, 0.01);
        let text = text.trim_end_matches('0').trim_end_matches('.').to_owned();
        if v.abs() < 0.005 {
            "0".to_owned()
        } else {
            text
        }
    };
    let place = match &chart.x_axis {
        XAxis::Categories(names) => {
            let place = (x + 0.5).floor();
            let index = if place >= 0.0 {
                place as usize
            } else {
                usize::MAX
            };
            names.get(index).cloned().unwrap_or_default()
        }
        XAxis::Linear => short(x),
    };
    let range = interval.map(|(low, high)| format!(" [{}, {}]", short(low), short(high)));
    format!(
        "{name} at {place}: {}{}",
        short(y),
        range.unwrap_or_default()
    )
}

fn draw_bars(
    svg: &mut Svg,
    chart: &Chart,
    frame: &Frame,
    series: &Series,
    index: usize,
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
    let fill = match series.weight {
        Weight::Full => format!("fill=\"{}\"", style::series(index)),
        Weight::Light => format!("fill=\"{}\" fill-opacity=\"{PALE}\"", style::series(index)),
    };
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
        svg.rect(
            left,
            upper,
            width - gap,
            height.max(1.5),
            &fill,
            Some(&hint),
        );
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

fn draw_marks(svg: &mut Svg, chart: &Chart, frame: &Frame, series: &Series, index: usize) {
    let ink = style::series(index);
    let is_full = series.weight == Weight::Full;
    let (width, radius) = if is_full { (2.0, 3.0) } else { (1.0, 2.2) };
    let stroke = format!("stroke=\"{ink}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"");
    // A gap in the values is a gap in the line.
    let mut run: Vec<(f64, f64)> = Vec::new();
    let mut dots = Vec::new();
    for point in &series.points {
        let place = (point.x.is_finite() && point.y.is_finite())
            .then(|| Some((frame.x.at(point.x)?, frame.y.at(point.y)?)))
            .flatten();
        let Some((x, y)) = place else {
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
    if series.mark == Mark::Line && dots.len() > CROWDED {
        return;
    }
    for (x, y, point) in dots {
        if is_full {
            whisker(svg, frame, x, point, ink);
        }
        let hint = hint(chart, &series.name, point.x, point.y, point.interval);
        match series.mark {
            Mark::Line => svg.circle(
                (x, y),
                radius + 0.5,
                &format!("fill=\"{ink}\""),
                Some(&hint),
            ),
            Mark::Scatter => {
                let fill = match is_full {
                    true => format!("fill=\"{ink}\" fill-opacity=\"0.75\""),
                    // A rim keeps it visible on a bar.
                    false => format!("fill=\"{ink}\" stroke=\"#fff\" stroke-width=\"0.8\""),
                };
                svg.circle((x, y), radius + 0.5, &fill, Some(&hint));
            }
            Mark::Steps | Mark::Bars => {}
        }
    }
}
