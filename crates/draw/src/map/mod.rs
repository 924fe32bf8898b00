//! Maps: nodes at their places, floor by floor, links between them, a legend, charts below.
//!
//! Places are metres; how far an axis is stretched stands beside
//! the scale bar. Without places, nodes are drawn by their links or in columns.
//! Tests: `tests.rs`; how a map looks is judged by eye.

mod drawing;
mod ground;
mod layout;
#[cfg(test)]
mod tests;

use crate::chart::Chart;
use crate::style::PAPER;
pub use drawing::Key;

/// Default width of a map, pixels.
pub const WIDTH: f64 = 1000.0;
/// Below this width floors lie below each other, and there is hardly a margin.
const SLIM: f64 = 600.0;
/// Space above the ground for the title.
const HEAD: f64 = 76.0;
/// From one line of the legend to the next.
const LINE: f64 = 18.0;
/// Where the legend begins beside a scale bar, from the margin.
const BESIDE_BAR: f64 = 250.0;
/// Height of the charts.
const CHART_HEIGHT: f64 = 230.0;

/// A map.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// What it shows.
    pub title: String,
    /// A second, smaller line.
    pub subtitle: String,
    /// Its width, in pixels.
    pub width: f64,
    /// Where its nodes are.
    pub places: Places,
    /// Its nodes, by index; smaller ones lie below larger ones.
    pub nodes: Vec<Node>,
    /// What joins them, the lowest first.
    pub links: Vec<Link>,
    /// What its signs mean.
    pub legend: Vec<Key>,
    /// Beside each other below it.
    pub charts: Vec<Chart>,
}

/// Where nodes are, by index.
#[derive(Debug, Clone, PartialEq)]
pub enum Places {
    /// At these places.
    Known(Vec<Place>),
    /// Unknown: neighbours are drawn near each other, not as they really lie.
    ByLinks {
        /// Each node's neighbours.
        neighbours: Vec<Vec<usize>>,
        /// The nodes on the circle from which the layout begins.
        order: Vec<usize>,
    },
    /// In named columns from left to right; nodes of no column are not drawn.
    Columns(Vec<(String, Vec<usize>)>),
}

/// A node's place in a building.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Along the building, metres.
    pub x_m: f64,
    /// Across it, metres.
    pub y_m: f64,
    /// On which floor, 0 the lowest.
    pub floor: u16,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Where that stands.
    pub caption: Caption,
    /// Its shape.
    pub shape: Shape,
    /// Its radius, or half its side, in pixels.
    pub radius: f64,
    /// Its colour.
    pub fill: &'static str,
    /// The colour of its edge.
    pub edge: &'static str,
    /// How its edge is drawn.
    pub stroke: Stroke,
    /// The colour of a ring around it.
    pub ring: Option<&'static str>,
    /// What it says when pointed at.
    pub hint: String,
    /// Where it leads when followed.
    pub leads_to: Option<String>,
}

impl Node {
    /// A circle of colour `fill` with its name inside.
    pub fn new(name: String, fill: &'static str) -> Self {
        Self {
            hint: format!("node {name}"),
            name,
            caption: Caption::Inside,
            shape: Shape::Circle,
            radius: 10.0,
            fill,
            edge: PAPER,
            stroke: Stroke::Solid,
            ring: None,
            leads_to: None,
        }
    }
}

/// Where a node's name stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caption {
    /// Only in its hint.
    Nowhere,
    /// Inside.
    Inside,
    /// Beside it.
    Beside,
    /// Beside it, small: where many nodes have one.
    Small,
}

/// A node's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A circle.
    Circle,
    /// A square.
    Square,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Whole.
    Solid,
    /// In dashes.
    Dashed,
}

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Index of one node.
    pub from: usize,
    /// Index of the other.
    pub to: usize,
    /// Its colour.
    pub colour: &'static str,
    /// Its width in pixels.
    pub width: f64,
    /// How much it hides of what is below, 0 to 1.
    pub opacity: f64,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Its way.
    pub course: Course,
    /// What it says when pointed at.
    pub hint: Option<String>,
}

impl Link {
    /// A straight line of colour `colour`, one pixel wide.
    pub const fn new(from: usize, to: usize, colour: &'static str) -> Self {
        Self {
            from,
            to,
            colour,
            width: 1.0,
            opacity: 1.0,
            stroke: Stroke::Solid,
            course: Course::Straight,
            hint: None,
        }
    }
}

/// The way of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// Straight.
    Straight,
    /// Slightly bent, so that links along a row of nodes stay apart.
    Bent,
}

/// Around a map of this width.
fn margin(width: f64) -> f64 {
    if width < SLIM {
        8.0
    } else {
        36.0
    }
}
