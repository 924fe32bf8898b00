//! What nodes do over time: a row of bars for each part of each node, stretches of time below each
//! other to one scale.

use crate::style::{FAINT, GRID, INK, PAPER, TIMES};
use crate::svg::{fill, Anchor, Svg};

const LEFT: f64 = 96.0;
const WIDTH: f64 = 860.0;
const ROW: f64 = 16.0;
/// Between two nodes.
const GAP: f64 = 8.0;
/// A bar as wide as this has room for its number.
const ROOM: f64 = 26.0;

/// A stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// What is shown.
    pub title: String,
    /// How long it is, in microseconds.
    pub length_us: f64,
    /// The nodes, from the top.
    pub nodes: Vec<Node>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its parts, each with its name and what it does.
    pub rows: Vec<(&'static str, Vec<Bar>)>,
}

/// Something that takes time.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Beginning, in microseconds from the stretch's.
    pub from_us: f64,
    /// End.
    pub until_us: f64,
    /// Its place in the legend.
    pub kind: usize,
    /// A number to write on it.
    pub number: Option<u16>,
    /// What it says when pointed at.
    pub hint: String,
}

impl Timeline {
    fn height(&self) -> f64 {
        let rows = |node: &Node| node.rows.len() as f64 * ROW + GAP;
        52.0 + self.nodes.iter().map(rows).sum::<f64>()
    }
}

/// `timelines` below each other; `legend` names what bars stand for.
pub fn timelines(timelines: &[Timeline], legend: &[&str]) -> String {
    let longest = timelines.iter().map(|t| t.length_us).fold(1.0, f64::max);
    let height = 40.0 + timelines.iter().map(Timeline::height).sum::<f64>() + 30.0;
    let title = "Radio, bus and microcontroller over time";
    let mut svg = Svg::new(LEFT + WIDTH + 24.0, height, title);
    let x = |us: f64| LEFT + us / longest * WIDTH;
    let step = if legend.len() > 10 { 78.0 } else { 84.0 };
    for (at, name) in legend.iter().enumerate() {
        let left = LEFT + step * at as f64;
        svg.rect([left, 14.0, 10.0, 10.0], &kind_fill(at), None);
        svg.text((left + 14.0, 23.0), Anchor::Start, 11.0, INK, name);
    }
    let mut top = 40.0;
    for timeline in timelines {
        let height = timeline.height();
        let at = (LEFT, top + 16.0);
        svg.text(at, Anchor::Start, 13.0, INK, &timeline.title);
        let mut y = top + 26.0;
        let bottom = top + height - 22.0;
        let mut tick = 0.0;
        while tick <= timeline.length_us {
            let grid = format!("stroke=\"{GRID}\"");
            svg.line((x(tick), y), (x(tick), bottom), &grid);
            let label = format!("{:.0} ms", tick / 1e3);
            let at = (x(tick), bottom + 13.0);
            svg.text(at, Anchor::Middle, 10.0, FAINT, &label);
            tick += if longest > 40_000.0 { 5_000.0 } else { 1_000.0 };
        }
        for node in &timeline.nodes {
            svg.text((6.0, y + 12.0), Anchor::Start, 11.0, INK, &node.name);
            for (name, bars) in &node.rows {
                svg.text((LEFT - 6.0, y + 12.0), Anchor::End, 10.0, FAINT, name);
                for bar in bars {
                    bar.draw(&mut svg, x(bar.from_us), x(bar.until_us), y);
                }
                y += ROW;
            }
            y += GAP;
        }
        top += height;
    }
    svg.finish()
}

impl Bar {
    fn draw(&self, svg: &mut Svg, from: f64, until: f64, y: f64) {
        let width = (until - from).max(0.4);
        let bar = [from, y + 1.0, width, ROW - 3.0];
        svg.rect(bar, &kind_fill(self.kind), Some(&self.hint));
        if let (Some(number), true) = (self.number, until - from > ROOM) {
            let middle = ((from + until) / 2.0, y + 11.5);
            svg.text(middle, Anchor::Middle, 9.0, PAPER, &number.to_string());
        }
    }
}

fn kind_fill(kind: usize) -> String {
    fill(TIMES[kind % TIMES.len()])
}
