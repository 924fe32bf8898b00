//! A picture of a plan: nodes on their floors (or stage by stage where places are not known), relays
//! coloured by reception channel and shaped by group, paths as lines, a legend.
//!
//! 1200 x 700 pixels, no script, no font but the reader's own. Long floors are stacked, square ones stand
//! side by side; the two axes of a floor are stretched to fill it. Tests: below.

use crate::groups::Group;
use crate::links::{LinkQualities, Place};
use crate::plan::Plan;
use std::fmt::Write as _;
use thalweg_units::Channel;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 700.0;
const TOP: f64 = 78.0;
const LEGEND: f64 = 60.0;
const MARGIN: f64 = 24.0;
/// Room for the floor's name within its panel, and around its nodes.
const INSET: f64 = 26.0;
/// Colours of channels, told apart by the colour-blind too (after Okabe and Ito, extended).
const COLOURS: [&str; 10] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7b5ea7",
    "#8c564b", "#5f6b75",
];
const ODD_LINE: &str = "#3c5a78";
const EVEN_LINE: &str = "#a8683c";

/// Where everything is drawn.
struct Layout {
    /// Centre of every node that is drawn.
    at: Vec<Option<(f64, f64)>>,
    /// Name and box of every panel: x, y, width, height.
    panels: Vec<(String, [f64; 4])>,
}

impl Plan {
    /// The plan as an SVG document of 1200 x 700 pixels, over the map if `links` has places.
    pub fn to_svg(&self, links: &LinkQualities) -> String {
        let layout = match links.places() {
            Some(places) if !places.is_empty() => on_floors(places),
            _ => self.by_stage(links.nodes()),
        };
        let mut svg = String::new();
        let out = &mut svg;
        put(out, format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">"
        ));
        put(
            out,
            format_args!("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"),
        );
        self.title(links, out);
        for (name, [x, y, width, height]) in &layout.panels {
            put(out, format_args!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\" \
                 fill=\"#f6f7f8\" stroke=\"#d5d9dd\"/>"
            ));
            text(out, (x + 8.0, y + 16.0), 12, "start", "#6b747c", name);
        }
        // Idle nodes below, then paths, then the nodes of the plan, then their numbers.
        for (node, at) in layout.at.iter().enumerate() {
            if let (Some((x, y)), "") = (at, self.role(node)) {
                put(
                    out,
                    format_args!(
                        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"#c3c9ce\"/>"
                    ),
                );
            }
        }
        self.lines(&layout, out);
        let active = self.active_nodes();
        // Source and sink last: they are the ones to find.
        let relays = active.iter().filter(|&&(node, _)| !self.is_end(node));
        let ends = active.iter().filter(|&&(node, _)| self.is_end(node));
        for &(node, stage) in relays.chain(ends) {
            if let Some(at) = layout.at.get(node).copied().flatten() {
                let colour = self
                    .channels
                    .get(stage)
                    .map_or("#5f6b75", |&c| self.colour(c));
                self.marker(out, node, at, colour);
            }
        }
        for &(node, _) in &active {
            if let Some((x, y)) = layout.at.get(node).copied().flatten() {
                let (size, below) = if self.is_end(node) {
                    (13, 28.0)
                } else {
                    (10, 18.0)
                };
                put(out, format_args!(
                    "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"{size}\" text-anchor=\"middle\" \
                     fill=\"#22282d\" stroke=\"#f6f7f8\" stroke-width=\"2.5\" paint-order=\"stroke\">{}</text>",
                    y + below, links.id(node)
                ));
            }
        }
        self.legend(out, links.places().is_some());
        put(out, format_args!("</svg>"));
        svg
    }

    fn title(&self, links: &LinkQualities, out: &mut String) {
        let paths = match self.path_count() {
            1 => "one path".to_string(),
            many => format!("{many} node-distinct paths"),
        };
        let title = format!(
            "Node {} to node {}: {} hop{}, {paths}",
            links.id(self.source),
            links.id(self.sink),
            self.hops,
            if self.hops == 1 { "" } else { "s" },
        );
        text(out, (MARGIN, 34.0), 22, "start", "#1b1f23", &title);
        let p3 = &self.prediction;
        let outcome = |p: &crate::predict::Prediction| match p.time_s {
            Some(time) if p.completion >= 0.01 => {
                format!("{:.0} kbit/s, {time:.1} s", p.goodput_kbps)
            }
            _ => "does not complete".into(),
        };
        let line = format!(
            "Predicted: P3 {} (first round {:.0} %, {} active nodes) · PIP on one of the paths: {}",
            outcome(p3),
            p3.first_round * 100.0,
            p3.active_nodes,
            outcome(&self.pip.prediction),
        );
        text(out, (MARGIN, 58.0), 14, "start", "#57606a", &line);
    }

    fn lines(&self, layout: &Layout, out: &mut String) {
        for (at, path) in self.paths.iter().enumerate() {
            let member = |node: usize| self.stages.iter().flatten().find(|m| m.node == node);
            for hop in path.windows(2) {
                let (Some(&Some(from)), Some(&Some(to))) =
                    (layout.at.get(hop[0]), layout.at.get(hop[1]))
                else {
                    continue;
                };
                // The receiver's group decides, at the sink the sender's.
                let group = member(hop[1]).or_else(|| member(hop[0])).map(|m| m.group);
                let (colour, dash) = match group {
                    Some(Group::Even) => (EVEN_LINE, " stroke-dasharray=\"6 4\""),
                    _ => (ODD_LINE, ""),
                };
                let pip = *path == self.pip.path;
                let width = if pip { 3.0 } else { 1.5 };
                put(
                    out,
                    format_args!(
                    "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
                     stroke-opacity=\"0.75\"{dash}><title>path {}</title></path>",
                    bow(from, to),
                    at + 1
                ),
                );
            }
        }
    }

    fn marker(&self, out: &mut String, node: usize, (x, y): (f64, f64), colour: &str) {
        let outline = "stroke=\"#ffffff\" stroke-width=\"1.2\"";
        let role = self.role(node);
        match role {
            "source" | "sink" => {
                let letter = if role == "source" { "S" } else { "D" };
                put(out, format_args!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"13\" fill=\"#1b1f23\" stroke=\"{colour}\" stroke-width=\"3.5\"/>"
                ));
                text(out, (x, y + 5.0), 14, "middle", "#ffffff", letter);
            }
            "odd" => put(out, format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7.2\" fill=\"{colour}\" {outline}/>"
            )),
            _ => put(out, format_args!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"13\" height=\"13\" fill=\"{colour}\" {outline}/>",
                x - 6.5,
                y - 6.5
            )),
        }
    }

    fn legend(&self, out: &mut String, map: bool) {
        let y = HEIGHT - 34.0;
        text(
            out,
            (MARGIN, y),
            13,
            "start",
            "#57606a",
            "Receives on channel",
        );
        let mut x = MARGIN + 142.0;
        for channel in self.distinct_channels() {
            let stages: Vec<String> = (self.channels.iter().enumerate())
                .filter(|(_, &c)| c == channel)
                .map(|(stage, _)| stage.to_string())
                .collect();
            put(
                out,
                format_args!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"13\" height=\"13\" rx=\"2\" fill=\"{}\"/>",
                y - 11.0,
                self.colour(channel)
            ),
            );
            let plural = if stages.len() == 1 { "" } else { "s" };
            let label = format!("{channel} (stage{plural} {})", stages.join(", "));
            text(out, (x + 19.0, y), 13, "start", "#22282d", &label);
            x += 36.0 + 7.0 * label.len() as f64;
        }
        let y = HEIGHT - 12.0;
        let mut x = MARGIN;
        let marks = [
            ("odd", "odd packets", ODD_LINE, ""),
            (
                "even",
                "even packets",
                EVEN_LINE,
                " stroke-dasharray=\"6 4\"",
            ),
        ];
        for (shape, label, colour, dash) in marks {
            put(out, format_args!(
                "<line x1=\"{x:.1}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" stroke=\"{colour}\" stroke-width=\"1.5\"{dash}/>",
                y - 4.5,
                x + 40.0
            ));
            let middle = x + 20.0;
            match shape {
                "odd" => put(out, format_args!("<circle cx=\"{middle:.1}\" cy=\"{:.1}\" r=\"6.5\" fill=\"#6b747c\"/>", y - 4.5)),
                _ => put(out, format_args!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"#6b747c\"/>", middle - 6.0, y - 10.5)),
            }
            text(out, (x + 48.0, y), 13, "start", "#22282d", label);
            x += 160.0;
        }
        put(out, format_args!(
            "<line x1=\"{x:.1}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" stroke=\"#57606a\" stroke-width=\"3\"/>",
            y - 4.5,
            x + 30.0
        ));
        text(out, (x + 38.0, y), 13, "start", "#22282d", "PIP's path");
        x += 130.0;
        let ends = "S source, D destination; their rings show their channels";
        text(out, (x, y), 13, "start", "#22282d", ends);
        if map {
            let note = "floors stretched to fit";
            text(out, (WIDTH - MARGIN, y), 12, "end", "#8a939b", note);
        }
    }

    fn is_end(&self, node: usize) -> bool {
        node == self.source || node == self.sink
    }
    /// The plan's channels, each once, in order of stages.
    fn distinct_channels(&self) -> Vec<Channel> {
        let mut distinct: Vec<Channel> = Vec::new();
        for &channel in &self.channels {
            if !distinct.contains(&channel) {
                distinct.push(channel);
            }
        }
        distinct
    }
    fn colour(&self, channel: Channel) -> &'static str {
        let at = self
            .distinct_channels()
            .iter()
            .position(|&c| c == channel)
            .unwrap_or(0);
        COLOURS[at % COLOURS.len()]
    }

    /// Source to sink from left to right, a column per stage.
    fn by_stage(&self, nodes: usize) -> Layout {
        let mut at = vec![None; nodes];
        let (left, right) = (MARGIN, WIDTH - MARGIN);
        let (top, bottom) = (TOP, HEIGHT - LEGEND);
        let column = (right - left) / (self.hops + 1) as f64;
        let mut panels = Vec::new();
        for stage in 0..=self.hops {
            let x = left + column * stage as f64;
            let name = match self.channels.get(stage) {
                Some(channel) => format!("stage {stage} · channel {channel}"),
                None => format!("stage {stage}"),
            };
            panels.push((name, [x + 4.0, top, column - 8.0, bottom - top]));
            let members: Vec<usize> = if stage == 0 {
                vec![self.source]
            } else if stage == self.hops {
                vec![self.sink]
            } else {
                self.stages[stage - 1]
                    .iter()
                    .map(|member| member.node)
                    .collect()
            };
            let row = (bottom - top - INSET) / members.len().max(1) as f64;
            for (place, &node) in members.iter().enumerate() {
                let y = top + INSET + row * (place as f64 + 0.5);
                if let Some(slot) = at.get_mut(node) {
                    *slot = Some((x + column / 2.0, y));
                }
            }
        }
        Layout { at, panels }
    }
}

/// One panel per floor, the highest on top (or at the right).
fn on_floors(places: &[Place]) -> Layout {
    let range = |value: fn(&Place) -> f64| {
        let values = places.iter().map(value);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        (
            low,
            (values.fold(f64::NEG_INFINITY, f64::max) - low).max(1e-9),
        )
    };
    let ((left, across), (front, deep)) = (range(|p| p.x_m), range(|p| p.y_m));
    let mut floors: Vec<u16> = places.iter().map(|p| p.floor).collect();
    floors.sort_unstable();
    floors.dedup();
    let count = floors.len() as f64;
    let (room_x, room_y) = (WIDTH - 2.0 * MARGIN, HEIGHT - TOP - LEGEND);
    let gap = 10.0;
    let stacked = across >= 1.5 * deep;
    let panel = |index: usize| {
        if stacked {
            let height = (room_y - gap * (count - 1.0)) / count;
            [
                MARGIN,
                TOP + (count - 1.0 - index as f64) * (height + gap),
                room_x,
                height,
            ]
        } else {
            let width = (room_x - gap * (count - 1.0)) / count;
            [MARGIN + index as f64 * (width + gap), TOP, width, room_y]
        }
    };
    let panels: Vec<(String, [f64; 4])> = (floors.iter().enumerate())
        .map(|(index, floor)| (format!("floor {floor}"), panel(index)))
        .collect();
    let at = places
        .iter()
        .map(|place| {
            let index = floors.binary_search(&place.floor).ok()?;
            let [x, y, width, height] = panels[index].1;
            let in_x = (place.x_m - left) / across * (width - 2.0 * INSET);
            let in_y = (place.y_m - front) / deep * (height - 2.5 * INSET);
            Some((x + INSET + in_x, y + height - INSET * 1.2 - in_y))
        })
        .collect();
    Layout { at, panels }
}

/// A slightly bent line, so that hops along a row of nodes stay apart.
fn bow((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let (middle_x, middle_y) = ((x1 + x2) / 2.0 - dy * 0.08, (y1 + y2) / 2.0 + dx * 0.08);
    format!("M{x1:.1} {y1:.1} Q{middle_x:.1} {middle_y:.1} {x2:.1} {y2:.1}")
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

fn text(out: &mut String, (x, y): (f64, f64), size: u32, anchor: &str, fill: &str, words: &str) {
    put(out, format_args!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{words}</text>"
    ));
}
