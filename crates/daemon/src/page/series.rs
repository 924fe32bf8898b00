//! Courses over time as pictures: lines that dashes, marks and names tell apart, not colours alone. Tests:
//! `series_tests.rs`.

use maud::{html, Markup, PreEscaped};
use thalweg_draw::chart::{Base, Chart, Mark, Point, ReferenceAt};

use crate::running::CoursePoint;
use thalweg_host::store::Sample;
use thalweg_host::transfer::session::SourceStatus;

/// So many sources are drawn by themselves; of more the most, the middle and the least rate.
const ALONE: usize = 6;

/// A unit of time that suits `span` seconds: its name, and its length in seconds.
fn unit(span: f64) -> (&'static str, f64) {
    match span {
        s if s < 300.0 => ("s", 1.0),
        s if s < 3.0 * 3_600.0 => ("min", 60.0),
        s if s < 4.0 * 86_400.0 => ("h", 3_600.0),
        _ => ("days", 86_400.0),
    }
}

/// A chart, with its text for those who do not see it. It says where its axis begins.
pub(super) fn framed(chart: &Chart, about: &str) -> Markup {
    let mut chart = chart.clone();
    if chart.base == Base::Zero {
        chart.base = Base::ToldZero;
    }
    html! { figure.chart { (PreEscaped(chart.to_svg())) figcaption { (about) } } }
}

/// The goodput of a transfer over its time, beside what was expected; none before there is a line.
pub(super) fn goodput(course: &[CoursePoint], expected: Option<f64>) -> Option<Chart> {
    let span = course.last()?.0;
    let (unit, length) = unit(span);
    let points = course.iter().filter(|(.., kbps)| *kbps > 0.0);
    let points: Vec<Point> = points
        .map(|(s, _, kbps)| Point::new(s / length, *kbps))
        .collect();
    if points.len() < 2 {
        return None;
    }
    let mut chart = Chart::new(
        "Goodput so far",
        format!("{unit} of the network's time"),
        "kbit/s",
    );
    (chart.width, chart.height) = (560, 260);
    let chart = chart.with("", Mark::Line, points);
    Some(match expected {
        Some(kbps) => chart.beside(format!("expected: {kbps:.0}"), ReferenceAt::Level(kbps)),
        None => chart,
    })
}

/// Packets of a transfer over its time; none before there is a line.
pub(super) fn arrived(course: &[CoursePoint], packets: Option<u32>) -> Option<Chart> {
    let span = course.last().filter(|_| course.len() > 1)?.0;
    let (unit, length) = unit(span);
    let title = packets.map_or("Packets".to_owned(), |all| format!("Packets of {all}"));
    let mut chart = Chart::new(title, format!("{unit} of the network's time"), "packets");
    (chart.width, chart.height) = (560, 260);
    let points = course.iter();
    let points = points.map(|(s, received, _)| Point::new(s / length, f64::from(*received)));
    Some(chart.with("", Mark::Line, points))
}

/// Values over the time before now: names, and for each when, in seconds before now, and what.
pub(super) fn before_now(
    (title, y_label): (&str, &str),
    lines: Vec<(String, Vec<(f64, f64)>)>,
) -> Chart {
    let ages = lines.iter().flat_map(|(_, points)| points);
    let (unit, length) = unit(ages.map(|(age, _)| *age).fold(0.0, f64::max));
    let mut chart = Chart::new(title, format!("{unit} before now"), y_label);
    (chart.width, chart.height) = (560, 260);
    let points = |points: Vec<(f64, f64)>| {
        let point = |(age, value): (f64, f64)| Point::new(-age / length, value);
        points.into_iter().map(point).collect::<Vec<_>>()
    };
    lines.into_iter().fold(chart, |chart, (name, line)| {
        chart.with(name, Mark::Line, points(line))
    })
}

/// One source's value over time.
type Of = fn(&SourceStatus) -> f64;

/// The course of one source's value; a gap where it has none.
fn course(samples: &[Sample], length: f64, node: u16, of: Of) -> Vec<Point> {
    let point = |sample: &Sample| {
        let found = sample.sources.iter().find(|s| s.source.get() == node);
        let value = found.map_or(f64::NAN, of);
        Point::new(f64::from(sample.at_s) / length, value)
    };
    samples.iter().map(point).collect()
}

/// Rates of a session's sources; `chosen` is drawn by itself in any case.
pub(super) fn rates(samples: &[Sample], chosen: Option<u16>) -> Chart {
    let last = samples.last();
    let (unit, length) = unit(last.map_or(0.0, |last| f64::from(last.at_s)));
    let mut chart = Chart::new(
        "Rates",
        format!("{unit} since it began"),
        "packets per second",
    );
    (chart.width, chart.height) = (560, 280);
    let nodes: Vec<u16> = last.map_or(Vec::new(), |last| {
        last.sources.iter().map(|s| s.source.get()).collect()
    });
    let rate: Of = |s| s.rate.unwrap_or(f64::NAN);
    let alone = |chart: Chart, node: u16| {
        let points = course(samples, length, node, rate);
        chart.with(format!("node {node}"), Mark::Line, points)
    };
    if nodes.len() <= ALONE {
        return nodes.into_iter().fold(chart, alone);
    }
    let ranked = |share: f64| {
        samples.iter().map(move |sample| {
            let mut rates: Vec<f64> = sample.sources.iter().filter_map(|s| s.rate).collect();
            rates.sort_by(f64::total_cmp);
            let place = (share * rates.len().saturating_sub(1) as f64).round() as usize;
            let value = rates.get(place).copied().unwrap_or(f64::NAN);
            Point::new(f64::from(sample.at_s) / length, value)
        })
    };
    chart.subtitle = format!("of {} nodes", nodes.len());
    let chart = [("most", 1.0), ("middle", 0.5), ("least", 0.0)]
        .into_iter()
        .fold(chart, |chart, (name, share)| {
            chart.with(name, Mark::Line, ranked(share))
        });
    match chosen.filter(|node| nodes.contains(node)) {
        Some(node) => alone(chart, node),
        None => chart,
    }
}

/// Packets of a session that arrived, and those of them that were repaired.
pub(super) fn packets(samples: &[Sample]) -> Chart {
    let (unit, length) = unit(samples.last().map_or(0.0, |last| f64::from(last.at_s)));
    let mut chart = Chart::new("Packets", format!("{unit} since it began"), "packets");
    (chart.width, chart.height) = (560, 280);
    let sum = |of: fn(&SourceStatus) -> u64| {
        samples.iter().map(move |sample| {
            let all: u64 = sample.sources.iter().map(of).sum();
            Point::new(f64::from(sample.at_s) / length, all as f64)
        })
    };
    chart
        .with("delivered", Mark::Line, sum(|s| s.packets))
        .with("of these lost first", Mark::Line, sum(|s| s.repaired))
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
