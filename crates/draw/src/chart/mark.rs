//! Marks and dashes that distinguish ten series without colour. Tests: `tests.rs`.

use crate::svg::{num, Svg};
use std::f64::consts::TAU;

/// Shapes and dashes that differ.
pub(super) const KINDS: usize = 10;

/// Dashes of lines without marks; the first is whole.
const DASHES: [&str; KINDS] = [
    "",
    "8 3",
    "2 2",
    "8 3 2 3",
    "5 2",
    "12 3 2 3 2 3",
    "1 3",
    "14 4",
    "4 2 1 2",
    "9 2 3 2 3 2",
];

/// The attribute of the line of series `index`, with a space before it; empty for a whole one.
pub(super) fn dashes(index: usize) -> String {
    match DASHES[index % KINDS] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

/// The mark of series `index` about a place, as large as a dot of `radius`.
pub(super) fn draw(
    svg: &mut Svg,
    index: usize,
    (x, y): (f64, f64),
    radius: f64,
    attributes: &str,
    hint: Option<&str>,
) {
    if index % KINDS == 0 {
        return svg.circle((x, y), radius, attributes, hint);
    }
    // Corners from the middle, in radii.
    let corners: Vec<(f64, f64)> = match index % KINDS {
        1 => polygon(4, 0.125, 1.25),
        2 => polygon(3, 0.25, 1.45),
        3 => polygon(4, 0.0, 1.35),
        4 => polygon(3, 0.75, 1.45),
        5 => star(4, 0.125, [1.5, 0.55]),
        6 => star(4, 0.0, [1.6, 0.55]),
        7 => star(5, 0.25, [1.6, 0.75]),
        8 => vec![(-1.1, -1.1), (1.1, -1.1), (-1.1, 1.1), (1.1, 1.1)],
        _ => vec![(-1.5, -0.5), (1.5, -0.5), (1.5, 0.5), (-1.5, 0.5)],
    };
    let point = |(dx, dy): &(f64, f64)| {
        let (x, y) = (num(x + dx * radius), num(y + dy * radius));
        format!("{x},{y}")
    };
    let way: Vec<String> = corners.iter().map(point).collect();
    svg.path(&format!("M{}Z", way.join("L")), attributes, hint);
}

/// Corners of a regular polygon, the first `turn` of a circle from the right.
fn polygon(corners: u32, turn: f64, size: f64) -> Vec<(f64, f64)> {
    star(
        corners,
        turn,
        [size, size * libm::cos(TAU / f64::from(2 * corners))],
    )
}

/// Corners of a star, far ones and near ones by turns.
fn star(points: u32, turn: f64, sizes: [f64; 2]) -> Vec<(f64, f64)> {
    let corner = |n: u32| {
        let angle = TAU * (turn + f64::from(n) / f64::from(2 * points));
        let size = sizes[n as usize % 2];
        (libm::cos(angle) * size, -libm::sin(angle) * size)
    };
    (0..2 * points).map(corner).collect()
}
