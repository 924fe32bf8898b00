//! The links of a path: a row for each, its frames as a bar stacked by their fate,
//! and beside it its sender's queue over time.

use crate::style::{CURVE, FAINT, GRID, INK};
use crate::svg::{fill, Anchor, Svg};
use crate::BarPart;

const LEFT: f64 = 24.0;
/// Where bars begin, and how long the longest is.
const BAR: f64 = 150.0;
const BAR_WIDTH: f64 = 330.0;
/// Where queues are drawn.
const QUEUE: f64 = 540.0;
const QUEUE_WIDTH: f64 = 400.0;
const TOP: f64 = 112.0;
const ROW: f64 = 58.0;
const HEIGHT: f64 = 40.0;

/// The links of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Links {
    /// What it shows.
    pub title: String,
    /// What the colours of parts mean.
    pub legend: Vec<(&'static str, &'static str)>,
    /// The links, from the source on.
    pub links: Vec<Row>,
    /// Seconds between two values of a queue.
    pub step_s: f64,
}

/// A link.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Between whom.
    pub name: String,
    /// On which band and channel.
    pub on: String,
    /// Its frames, by what became of them.
    pub parts: Vec<BarPart>,
    /// A line below the bar.
    pub note: String,
    /// Packets in the sender's queue over time; empty where it was not recorded.
    pub queue: Vec<u8>,
}

impl Links {
    /// The picture as one `<svg>` element.
    pub fn to_svg(&self) -> String {
        let height = TOP + ROW * self.links.len() as f64 + 44.0;
        let mut svg = Svg::new(QUEUE + QUEUE_WIDTH + 40.0, height, &self.title);
        let bold = "font-weight=\"600\"";
        svg.styled_text((LEFT, 30.0), Anchor::Start, 16.0, bold, &self.title);
        let mut x = LEFT;
        for (colour, name) in &self.legend {
            svg.rect([x, 50.0, 10.0, 10.0], &fill(colour), None);
            svg.text((x + 14.0, 59.0), Anchor::Start, 11.0, INK, name);
            x += 30.0 + 6.6 * name.len() as f64;
        }
        let mut column = |x: f64, text: &str| {
            svg.text((x, TOP - 12.0), Anchor::Start, 11.0, FAINT, text);
        };
        column(BAR, "frames");
        let most = (self.links.iter().flat_map(|l| &l.queue).max()).copied();
        if let Some(most) = most {
            let text = format!("sender's queue, packets (0 to {})", most.max(1));
            column(QUEUE, &text);
        }
        let tries = self.links.iter().map(Row::frames).max();
        for (at, link) in self.links.iter().enumerate() {
            let y = TOP + ROW * at as f64;
            link.bar(&mut svg, y, tries.unwrap_or(0).max(1));
            self.queue(&mut svg, link, y, most.unwrap_or(0).max(1));
        }
        self.time_axis(&mut svg);
        svg.finish()
    }

    fn queue(&self, svg: &mut Svg, link: &Row, y: f64, most: u8) {
        let longest = self.longest();
        let base = y + HEIGHT;
        if longest < 2 {
            return;
        }
        let style = format!("stroke=\"{GRID}\"");
        svg.line((QUEUE, base), (QUEUE + QUEUE_WIDTH, base), &style);
        let point = |(n, length): (usize, &u8)| {
            let x = QUEUE + QUEUE_WIDTH * n as f64 / (longest - 1) as f64;
            (x, base - HEIGHT * f64::from(*length) / f64::from(most))
        };
        let points: Vec<(f64, f64)> = link.queue.iter().enumerate().map(point).collect();
        let style = format!("stroke=\"{CURVE}\" stroke-width=\"1\"");
        svg.polyline(&points, &style);
    }

    fn longest(&self) -> usize {
        self.links.iter().map(|l| l.queue.len()).max().unwrap_or(0)
    }

    fn time_axis(&self, svg: &mut Svg) {
        let longest = self.longest();
        if longest < 2 {
            return;
        }
        let y = TOP + ROW * self.links.len() as f64 + 14.0;
        let seconds = self.step_s * (longest - 1) as f64;
        for quarter in 0..=4 {
            let share = f64::from(quarter) / 4.0;
            let label = format!("{:.2} s", seconds * share);
            let at = (QUEUE + QUEUE_WIDTH * share, y);
            svg.text(at, Anchor::Middle, 10.0, FAINT, &label);
        }
    }
}

impl Row {
    fn frames(&self) -> u32 {
        self.parts.iter().map(|part| part.count).sum()
    }

    fn bar(&self, svg: &mut Svg, y: f64, most: u32) {
        svg.text((LEFT, y + 16.0), Anchor::Start, 12.0, INK, &self.name);
        svg.text((LEFT, y + 31.0), Anchor::Start, 10.0, FAINT, &self.on);
        let mut x = BAR;
        for part in &self.parts {
            let width = BAR_WIDTH * f64::from(part.count) / f64::from(most);
            let hint = format!("{} frames: {}", part.count, part.name);
            let bar = [x, y + 6.0, width, HEIGHT - 16.0];
            svg.rect(bar, &fill(part.colour), Some(&hint));
            x += width;
        }
        let at = (BAR, y + HEIGHT + 4.0);
        svg.text(at, Anchor::Start, 10.0, FAINT, &self.note);
    }
}
