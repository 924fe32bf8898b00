//! A loss map as a picture: stages from left to right, the groups in two rows, nodes as circles
//! coloured by what they received, hops by what survived them, causes as stacked bars. The first
//! round is drawn; self-contained SVG without scripts. Tests: `tests.rs`.

use super::cause::Cause;
use super::layout::SubGroup;
use super::map::{HopLoss, LossMap, Receiver};
use super::text::causes;
use crate::plot::svg::{text_width, Anchor, Svg, FAINT, INK};

const COLUMN: f64 = 168.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 92.0;
const ROW: f64 = 176.0;
const FOOT: f64 = 150.0;
const RADIUS: f64 = 13.0;
/// The longest bar of causes.
const BAR: f64 = 92.0;
/// The least loss that fills a bar, so that a good transfer does not look like a bad one.
const LEAST_FULL: f64 = 0.05;

/// Where things are.
struct Frame {
    rows: usize,
    columns: usize,
    full: f64,
}

impl Frame {
    fn x(&self, stage: usize) -> f64 {
        LEFT + COLUMN * stage as f64
    }
    fn middle(&self) -> f64 {
        TOP + ROW * self.rows as f64 / 2.0
    }
    fn y(&self, group: SubGroup) -> f64 {
        match group {
            SubGroup::Odd => TOP + ROW * 0.5,
            SubGroup::Even => TOP + ROW * 1.5,
            SubGroup::All => self.middle(),
        }
    }
    /// Where a stage's nodes of a group are: source and sink belong to both.
    fn stage_y(&self, stage: usize, group: SubGroup) -> f64 {
        if stage == 0 || stage + 1 == self.columns {
            self.middle()
        } else {
            self.y(group)
        }
    }
}

impl LossMap {
    /// The first round as an SVG document.
    pub fn to_svg(&self) -> String {
        let none = Vec::new();
        let hops = self.first_round().map_or(&none, |r| &r.hops);
        let lost = |h: &HopLoss| h.survival().map_or(0.0, |s| 1.0 - s);
        let frame = Frame {
            rows: if hops.iter().any(|h| h.group == SubGroup::Even) {
                2
            } else {
                1
            },
            columns: self.hops + 1,
            full: hops.iter().map(lost).fold(LEAST_FULL, f64::max),
        };
        let width = f64::max(2.0 * LEFT + COLUMN * self.hops as f64, 760.0);
        let height = TOP + ROW * frame.rows as f64 + FOOT;
        let title = format!(
            "{}, node {} to node {}: where packets were lost in the first round",
            self.protocol.to_uppercase(),
            self.source,
            self.sink
        );
        let mut svg = Svg::new(width, height, &title);
        svg.styled_text(
            (24.0, 30.0),
            Anchor::Start,
            16.0,
            "font-weight=\"600\"",
            &title,
        );
        svg.text(
            (24.0, 50.0),
            Anchor::Start,
            12.0,
            FAINT,
            &self.subtitle(hops),
        );
        for hop in hops {
            band(&mut svg, &frame, hop);
        }
        for stage in 0..=self.hops {
            let channel = self.channels.get(stage).map_or(0, |c| *c);
            let name = match stage {
                0 => "source".to_owned(),
                s if s == self.hops => format!("sink, ch {channel}"),
                s => format!("stage {s}, ch {channel}"),
            };
            svg.text(
                (frame.x(stage), TOP - 14.0),
                Anchor::Middle,
                12.0,
                FAINT,
                &name,
            );
        }
        for hop in hops {
            bar(&mut svg, &frame, hop);
        }
        self.draw_nodes(&mut svg, &frame, hops);
        self.foot(&mut svg, hops, frame.full, height);
        svg.finish()
    }

    fn subtitle(&self, hops: &[HopLoss]) -> String {
        let sum = |stage: usize, of: fn(&HopLoss) -> u32| -> u32 {
            hops.iter().filter(|h| h.stage == stage).map(of).sum()
        };
        let (sent, arrived) = (sum(1, |h| h.entered), sum(self.hops, |h| h.arrived));
        format!(
            "{arrived} of {sent} packets arrived ({:.1} %); {} rounds in all",
            f64::from(arrived) * 100.0 / f64::from(sent.max(1)),
            self.rounds.len()
        )
    }

    fn draw_nodes(&self, svg: &mut Svg, frame: &Frame, hops: &[HopLoss]) {
        for stage in 0..=self.hops {
            for group in [SubGroup::Odd, SubGroup::Even, SubGroup::All] {
                let nodes: Vec<u16> = (self.nodes.iter())
                    .filter(|n| n.stage == stage && n.group == group)
                    .map(|n| n.node)
                    .collect();
                let step = f64::min(2.0 * RADIUS + 4.0, (ROW - 34.0) / nodes.len().max(1) as f64);
                let top = frame.stage_y(stage, group) - step * (nodes.len() as f64 - 1.0) / 2.0;
                for (at, node) in nodes.iter().enumerate() {
                    let place = (frame.x(stage), top + step * at as f64);
                    self.draw_node(svg, hops, stage, *node, place);
                }
            }
        }
    }

    fn draw_node(&self, svg: &mut Svg, hops: &[HopLoss], stage: usize, node: u16, at: (f64, f64)) {
        let into = hops.iter().filter(|h| h.stage == stage);
        let (mut got, mut of, mut lost) = (0, 0, super::Causes::default());
        for hop in into {
            for Receiver {
                got: g, lost: l, ..
            } in hop.receivers.iter().filter(|r| r.node == node)
            {
                (got, of) = (got + g, of + hop.entered);
                lost.add(l);
            }
        }
        let (mut had, mut sent) = (0, 0);
        for hop in hops.iter().filter(|h| h.stage == stage + 1) {
            for s in hop.senders.iter().filter(|s| s.node == node) {
                (had, sent) = (had + s.had, sent + s.sent);
            }
        }
        let share = f64::from(got) / f64::from(of.max(1));
        let fill = if stage == 0 {
            "#39424c".to_owned()
        } else {
            colour(share)
        };
        let mut hint = format!("node {node}");
        if stage > 0 {
            hint.push_str(&format!(": got {got} of {of}"));
            if lost.total() > 0 {
                hint.push_str(&format!(", lost by {}", causes(&lost, Cause::ALL.len())));
            }
        }
        if stage < self.hops {
            hint.push_str(&format!("; sent {sent} of {had}"));
        }
        // A node that mostly kept back what it had.
        let silent = stage < self.hops && had > 0 && 2 * sent < had;
        let line = if silent {
            "stroke=\"#332288\" stroke-width=\"3\" stroke-dasharray=\"4 3\""
        } else {
            "stroke=\"#1f2933\" stroke-width=\"0.8\""
        };
        svg.circle(at, RADIUS, &format!("fill=\"{fill}\" {line}"), Some(&hint));
        let dark = stage == 0 || !(0.6..=0.96).contains(&share);
        let ink = if dark { "#ffffff" } else { INK };
        svg.text(
            (at.0, at.1 + 3.5),
            Anchor::Middle,
            10.0,
            ink,
            &node.to_string(),
        );
    }

    fn foot(&self, svg: &mut Svg, hops: &[HopLoss], full: f64, height: f64) {
        let mut lost = super::Causes::default();
        hops.iter().for_each(|h| lost.add(&h.lost));
        let (mut x, y) = (24.0, height - 116.0);
        for (cause, n) in lost.ranked() {
            let name = format!("{} {n}", cause.name());
            svg.rect(
                x,
                y - 9.0,
                10.0,
                10.0,
                &format!("fill=\"{}\"", cause.colour()),
                None,
            );
            svg.text((x + 15.0, y), Anchor::Start, 12.0, INK, &name);
            x += 34.0 + text_width(&name, 12.0);
        }
        let scale = format!("a full bar: {:.1} % of what entered the hop", full * 100.0);
        svg.text((24.0, height - 92.0), Anchor::Start, 12.0, FAINT, &scale);
        let mut x = 24.0;
        let y = height - 66.0;
        svg.text((x, y + 4.0), Anchor::Start, 12.0, FAINT, "received:");
        x += 66.0;
        for share in [0.5, 0.8, 0.9, 0.95, 1.0] {
            let fill = format!(
                "fill=\"{}\" stroke=\"#1f2933\" stroke-width=\"0.8\"",
                colour(share)
            );
            svg.circle((x, y), 7.0, &fill, None);
            let name = match share {
                0.5 => "half or less".to_owned(),
                _ => format!("{:.0} %", share * 100.0),
            };
            svg.text((x + 11.0, y + 4.0), Anchor::Start, 12.0, INK, &name);
            x += 30.0 + text_width(&name, 12.0);
        }
        let dashed = "fill=\"none\" stroke=\"#332288\" stroke-width=\"3\" stroke-dasharray=\"4 3\"";
        svg.circle((x + 4.0, y), 7.0, dashed, None);
        svg.text(
            (x + 17.0, y + 4.0),
            Anchor::Start,
            12.0,
            INK,
            "kept most packets back",
        );
        for (at, (name, hops, end)) in [
            ("requests", &self.requests, self.hops),
            ("NACKs", &self.nacks, 0),
        ]
        .into_iter()
        .filter(|(_, hops, _)| !hops.is_empty())
        .enumerate()
        {
            let first = hops.first().map(|h| h.stage);
            let sum = |list: Vec<u32>| list.into_iter().sum::<u32>();
            let enter = hops.iter().filter(|h| Some(h.stage) == first);
            let sent = sum(enter.map(|h| h.entered).collect());
            let arrive = hops.iter().filter(|h| h.stage == end);
            let arrived = sum(arrive.map(|h| h.arrived).collect());
            let mut lost = super::Causes::default();
            hops.iter().for_each(|h| lost.add(&h.lost));
            let mut text = format!("{name}: {arrived} of {sent} arrived");
            if lost.total() > 0 {
                text.push_str(&format!(", lost by {}", causes(&lost, Cause::ALL.len())));
            }
            let y = height - 36.0 + 18.0 * at as f64;
            svg.text((24.0, y), Anchor::Start, 12.0, FAINT, &text);
        }
    }
}

/// The line of a hop, coloured by what survived it.
fn band(svg: &mut Svg, frame: &Frame, hop: &HopLoss) {
    let (from, to) = (hop.stage.saturating_sub(1), hop.stage);
    let start = (frame.x(from), frame.stage_y(from, hop.group));
    let end = (frame.x(to), frame.stage_y(to, hop.group));
    let ink = hop.survival().map_or_else(|| "#d8dde2".to_owned(), colour);
    let style = format!("stroke=\"{ink}\" stroke-width=\"7\" stroke-opacity=\"0.75\"");
    svg.line(start, end, &style);
}

/// Survival in figures, and a bar of causes below it.
fn bar(svg: &mut Svg, frame: &Frame, hop: &HopLoss) {
    let (from, to) = (hop.stage.saturating_sub(1), hop.stage);
    let x = (frame.x(from) + frame.x(to)) / 2.0;
    let y = (frame.stage_y(from, hop.group) + frame.stage_y(to, hop.group)) / 2.0;
    let Some(survival) = hop.survival() else {
        svg.text((x, y - 8.0), Anchor::Middle, 12.0, FAINT, "nothing sent");
        return;
    };
    let name = format!("{:.1} %", survival * 100.0);
    let wide = text_width(&name, 12.0) + 8.0;
    let ground = "fill=\"#ffffff\" fill-opacity=\"0.85\" rx=\"3\"";
    svg.rect(x - wide / 2.0, y - 24.0, wide, 17.0, ground, None);
    svg.text((x, y - 11.0), Anchor::Middle, 12.0, INK, &name);
    if hop.lost.total() == 0 {
        return;
    }
    let share = |n: u32| f64::from(n) / f64::from(hop.entered.max(1)) / frame.full;
    let (mut left, top) = (x - BAR / 2.0, y + 8.0);
    svg.rect(
        left,
        top,
        BAR,
        9.0,
        "fill=\"#ffffff\" stroke=\"#c3c9ce\" stroke-width=\"0.8\"",
        None,
    );
    for (cause, n) in hop.lost.ranked() {
        let width = BAR * share(n);
        let hint = format!("{} {n} of {}", cause.name(), hop.entered);
        svg.rect(
            left,
            top,
            width,
            9.0,
            &format!("fill=\"{}\"", cause.colour()),
            Some(&hint),
        );
        left += width;
    }
}

/// From vermilion (half or less) over straw (nine of ten) to blue (all).
fn colour(share: f64) -> String {
    const STOPS: [(f64, [f64; 3]); 3] = [
        (0.5, [213.0, 94.0, 0.0]),
        (0.9, [243.0, 227.0, 179.0]),
        (1.0, [0.0, 114.0, 178.0]),
    ];
    let share = share.clamp(0.5, 1.0);
    let (a, b) = if share < STOPS[1].0 {
        (STOPS[0], STOPS[1])
    } else {
        (STOPS[1], STOPS[2])
    };
    let t = (share - a.0) / (b.0 - a.0);
    let mix = |i: usize| (a.1[i] + (b.1[i] - a.1[i]) * t + 0.5) as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}
