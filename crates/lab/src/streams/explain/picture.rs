//! A link map as a picture: a row per link, its frames as a bar stacked by what became of them, and beside
//! it its sender's queue over time; self-contained SVG without scripts. Tests: `tests.rs` of the streams.

use super::{StreamMap, Why};
use crate::plot::svg::{Anchor, Svg, FAINT, GRID, INK};

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
const GOOD: &str = "#9bbf9b";
const LINE: &str = "#2e86ab";

const fn colour(why: Why) -> &'static str {
    match why {
        Why::Weak => "#8a929a",
        Why::Collision => "#cc6677",
        Why::AdjacentChannel => "#aa4499",
        Why::External => "#ddaa33",
        Why::Busy => "#117733",
        Why::Away => "#44aa99",
        Why::AckLost => "#d55e00",
        Why::AckLate => "#f0b27a",
        Why::Withheld => "#332288",
    }
}

impl StreamMap {
    /// The map as an SVG document.
    pub fn to_svg(&self) -> String {
        let height = TOP + ROW * self.links.len() as f64 + 44.0;
        let ends = (self.links.first(), self.links.last());
        let title = match ends {
            (Some(first), Some(last)) => format!(
                "{}, node {} to node {}: frames link by link, and queues",
                self.protocol, first.from, last.to
            ),
            _ => self.protocol.clone(),
        };
        let mut svg = Svg::new(QUEUE + QUEUE_WIDTH + 40.0, height, &title);
        let bold = "font-weight=\"600\"";
        svg.styled_text((LEFT, 30.0), Anchor::Start, 16.0, bold, &title);
        self.legend(&mut svg);
        let column = |svg: &mut Svg, x: f64, text: &str| {
            svg.text((x, TOP - 12.0), Anchor::Start, 11.0, FAINT, text);
        };
        column(&mut svg, BAR, "frames");
        let most = (self.links.iter().flat_map(|l| &l.queue).max()).copied();
        if let Some(most) = most {
            let text = format!("sender's queue, packets (0 to {})", most.max(1));
            column(&mut svg, QUEUE, &text);
        }
        for at in 0..self.links.len() {
            self.bar(&mut svg, at);
            self.queue(&mut svg, at, most.unwrap_or(0).max(1));
        }
        self.time_axis(&mut svg);
        svg.finish()
    }

    fn legend(&self, svg: &mut Svg) {
        let seen = |why: &Why| self.links.iter().any(|l| l.failed.contains_key(why));
        let entries = std::iter::once((GOOD, "brought its packet on")).chain(
            Why::ALL
                .into_iter()
                .filter(seen)
                .map(|why| (colour(why), why.name())),
        );
        let mut x = LEFT;
        for (colour, name) in entries {
            svg.rect(x, 50.0, 10.0, 10.0, &format!("fill=\"{colour}\""), None);
            svg.text((x + 14.0, 59.0), Anchor::Start, 11.0, INK, name);
            x += 30.0 + 6.6 * name.len() as f64;
        }
    }

    fn bar(&self, svg: &mut Svg, at: usize) {
        let link = &self.links[at];
        let most = self.links.iter().map(|l| l.tries).max().unwrap_or(0).max(1);
        let y = TOP + ROW * at as f64;
        let name = format!("{} to {}", link.from, link.to);
        svg.text((LEFT, y + 16.0), Anchor::Start, 12.0, INK, &name);
        svg.text((LEFT, y + 31.0), Anchor::Start, 10.0, FAINT, &link.on);
        let good = link.tries.saturating_sub(link.all_failed());
        let parts = std::iter::once((GOOD, "brought their packets on", good))
            .chain((link.failed.iter()).map(|(why, frames)| (colour(*why), why.name(), *frames)));
        let mut x = BAR;
        for (colour, name, frames) in parts {
            let width = BAR_WIDTH * f64::from(frames) / f64::from(most);
            let hint = format!("{frames} frames: {name}");
            let fill = format!("fill=\"{colour}\"");
            svg.rect(x, y + 6.0, width, HEIGHT - 16.0, &fill, Some(&hint));
            x += width;
        }
        let told = format!("{} for {} packets", link.tries, link.packets);
        svg.text((BAR, y + HEIGHT + 4.0), Anchor::Start, 10.0, FAINT, &told);
    }

    fn queue(&self, svg: &mut Svg, at: usize, most: u8) {
        let queue = &self.links[at].queue;
        let longest = self.longest();
        let base = TOP + ROW * at as f64 + HEIGHT;
        if longest < 2 {
            return;
        }
        let style = format!("stroke=\"{GRID}\"");
        svg.line((QUEUE, base), (QUEUE + QUEUE_WIDTH, base), &style);
        let point = |(n, length): (usize, &u8)| {
            let x = QUEUE + QUEUE_WIDTH * n as f64 / (longest - 1) as f64;
            (x, base - HEIGHT * f64::from(*length) / f64::from(most))
        };
        let points: Vec<(f64, f64)> = queue.iter().enumerate().map(point).collect();
        svg.polyline(&points, &format!("stroke=\"{LINE}\" stroke-width=\"1\""));
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
        let seconds = f64::from(self.step_ms) * (longest - 1) as f64 / 1e3;
        for quarter in 0..=4 {
            let share = f64::from(quarter) / 4.0;
            let label = format!("{:.2} s", seconds * share);
            let at = (QUEUE + QUEUE_WIDTH * share, y);
            svg.text(at, Anchor::Middle, 10.0, FAINT, &label);
        }
    }
}
