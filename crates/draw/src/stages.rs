//! The packets left after each stage of a pipeline: stages from left to right, sub-groups in
//! two lanes, nodes coloured by what they received, hops by what survived them, causes of loss as
//! stacked bars.

use crate::style::{self, FAINT, IDLE, INK, SOURCE};
use crate::svg::{fill, text_width, Anchor, Svg};
use crate::BarPart;

const COLUMN: f64 = 168.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 92.0;
const LANE: f64 = 176.0;
const FOOT: f64 = 150.0;
const RADIUS: f64 = 13.0;
/// The longest bar of causes.
const BAR: f64 = 92.0;
/// The least loss that fills a bar, so that a good transfer does not look like a bad one.
const LEAST_FULL: f64 = 0.05;
/// A node that stood by.
const STOOD_BY: &str = "#e4e7ea";
/// The edge of a node.
const EDGE: &str = "stroke-width=\"0.8\"";

/// Stages of a pipeline, and what became of packets between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Stages {
    /// What it shows.
    pub title: String,
    /// A second, smaller line.
    pub subtitle: String,
    /// The stages' names, the source's first and the sink's last.
    pub stages: Vec<String>,
    /// Who is where; those of one stage and lane stand below each other in this order.
    pub nodes: Vec<Member>,
    /// What became of packets between stages.
    pub hops: Vec<Hop>,
    /// Losses of all hops, by cause.
    pub lost: Vec<BarPart>,
    /// Lines below.
    pub notes: Vec<String>,
}

/// The lane of a sub-group. Source and sink stand between the lanes, whatever theirs is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// The upper one.
    Upper,
    /// The lower one.
    Lower,
    /// There is but one.
    Only,
}

/// A node of a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its stage.
    pub stage: usize,
    /// Its lane.
    pub lane: Lane,
    /// Share of the packets that it received, 0 to 1; 0 at the source.
    pub received: f64,
    /// What it did with those that it had.
    pub voice: Voice,
    /// What it says when pointed at.
    pub hint: String,
}

/// What a node did with the packets that it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Sent most of them.
    Spoke,
    /// Kept most of them back.
    KeptBack,
    /// Stood by for others, and had little to do.
    StoodBy,
}

/// What one sub-group made of a hop.
#[derive(Debug, Clone, PartialEq)]
pub struct Hop {
    /// The stage that receives.
    pub stage: usize,
    /// The sub-group's lane.
    pub lane: Lane,
    /// Packets that entered it.
    pub entered: u32,
    /// Packets that did not.
    pub lost: Vec<BarPart>,
}

impl Hop {
    fn lost(&self) -> u32 {
        self.lost.iter().map(|part| part.count).sum()
    }
    /// The share that arrived; none where nothing entered.
    fn survival(&self) -> Option<f64> {
        let arrived = self.entered.saturating_sub(self.lost());
        (self.entered > 0).then(|| f64::from(arrived) / f64::from(self.entered))
    }
}

impl Stages {
    /// The picture as one `<svg>` element.
    pub fn to_svg(&self) -> String {
        let columns = self.stages.len();
        let hops = columns.saturating_sub(1) as f64;
        let width = f64::max(2.0 * LEFT + COLUMN * hops, 760.0);
        let height = TOP + LANE * self.lanes() + FOOT;
        let mut svg = Svg::new(width, height, &self.title);
        let bold = "font-weight=\"600\"";
        svg.styled_text((24.0, 30.0), Anchor::Start, 16.0, bold, &self.title);
        svg.text((24.0, 50.0), Anchor::Start, 12.0, FAINT, &self.subtitle);
        for hop in &self.hops {
            self.band(&mut svg, hop);
        }
        for (stage, name) in self.stages.iter().enumerate() {
            let at = (x(stage), TOP - 14.0);
            svg.text(at, Anchor::Middle, 12.0, FAINT, name);
        }
        let lost = |h: &Hop| h.survival().map_or(0.0, |s| 1.0 - s);
        let full = self.hops.iter().map(lost).fold(LEAST_FULL, f64::max);
        for hop in &self.hops {
            self.bar(&mut svg, hop, full);
        }
        for (at, member) in self.nodes.iter().enumerate() {
            self.node(&mut svg, at, member);
        }
        self.foot(&mut svg, full, height);
        svg.finish()
    }

    fn lanes(&self) -> f64 {
        let both = self.hops.iter().any(|h| h.lane == Lane::Lower);
        if both {
            2.0
        } else {
            1.0
        }
    }
    /// Where a stage's nodes of a lane are.
    fn y(&self, stage: usize, lane: Lane) -> f64 {
        match lane {
            Lane::Upper if stage > 0 && stage + 1 < self.stages.len() => TOP + LANE * 0.5,
            Lane::Lower if stage > 0 && stage + 1 < self.stages.len() => TOP + LANE * 1.5,
            _ => TOP + LANE * self.lanes() / 2.0,
        }
    }
    /// Both ends of a hop.
    fn ends(&self, hop: &Hop) -> [(f64, f64); 2] {
        [hop.stage.saturating_sub(1), hop.stage].map(|stage| (x(stage), self.y(stage, hop.lane)))
    }

    /// The line of a hop, coloured by what survived it.
    fn band(&self, svg: &mut Svg, hop: &Hop) {
        let [start, end] = self.ends(hop);
        let ink = hop.survival().map_or_else(|| "#d8dde2".to_owned(), colour);
        let style = format!("stroke=\"{ink}\" stroke-width=\"7\" stroke-opacity=\"0.75\"");
        svg.line(start, end, &style);
    }

    /// Survival in figures, and a bar of causes below it, as long as it can be for a loss of `full`.
    fn bar(&self, svg: &mut Svg, hop: &Hop, full: f64) {
        let [start, end] = self.ends(hop);
        let (x, y) = ((start.0 + end.0) / 2.0, (start.1 + end.1) / 2.0);
        let Some(survival) = hop.survival() else {
            svg.text((x, y - 8.0), Anchor::Middle, 12.0, FAINT, "nothing sent");
            return;
        };
        let name = format!("{:.1} %", survival * 100.0);
        let wide = text_width(&name, 12.0) + 8.0;
        let ground = "fill=\"#ffffff\" fill-opacity=\"0.85\" rx=\"3\"";
        svg.rect([x - wide / 2.0, y - 24.0, wide, 17.0], ground, None);
        svg.text((x, y - 11.0), Anchor::Middle, 12.0, INK, &name);
        if hop.lost() == 0 {
            return;
        }
        let (mut left, top) = (x - BAR / 2.0, y + 8.0);
        let frame = format!("fill=\"#ffffff\" stroke=\"{IDLE}\" {EDGE}");
        svg.rect([left, top, BAR, 9.0], &frame, None);
        for part in &hop.lost {
            let width = BAR * (f64::from(part.count) / f64::from(hop.entered.max(1)) / full);
            let hint = format!("{} {} of {}", part.name, part.count, hop.entered);
            svg.rect([left, top, width, 9.0], &fill(part.colour), Some(&hint));
            left += width;
        }
    }

    fn node(&self, svg: &mut Svg, index: usize, member: &Member) {
        let beside = |m: &&Member| (m.stage, m.lane) == (member.stage, member.lane);
        let count = self.nodes.iter().filter(beside).count() as f64;
        let before = self.nodes[..index].iter().filter(beside).count() as f64;
        let step = f64::min(2.0 * RADIUS + 4.0, (LANE - 34.0) / count);
        let middle = self.y(member.stage, member.lane);
        let y = middle - step * (count - 1.0) / 2.0 + step * before;
        let at = (x(member.stage), y);
        let ground = match (member.stage, member.voice) {
            (0, _) => SOURCE.to_owned(),
            (_, Voice::StoodBy) => STOOD_BY.to_owned(),
            _ => colour(member.received),
        };
        let line = match member.voice {
            Voice::KeptBack => kept_back(),
            Voice::Spoke | Voice::StoodBy => format!("stroke=\"{INK}\" {EDGE}"),
        };
        let style = fill(&ground) + " " + &line;
        svg.circle(at, RADIUS, &style, Some(&member.hint));
        let light = member.voice == Voice::StoodBy || (0.6..=0.96).contains(&member.received);
        let dark = member.stage == 0 || !light;
        let ink = if dark { "#ffffff" } else { INK };
        let at = (at.0, at.1 + 3.5);
        svg.text(at, Anchor::Middle, 10.0, ink, &member.name);
    }

    fn foot(&self, svg: &mut Svg, full: f64, height: f64) {
        let (mut x, y) = (24.0, height - 116.0);
        for part in &self.lost {
            let name = format!("{} {}", part.name, part.count);
            svg.rect([x, y - 9.0, 10.0, 10.0], &fill(part.colour), None);
            svg.text((x + 15.0, y), Anchor::Start, 12.0, INK, &name);
            x += 34.0 + text_width(&name, 12.0);
        }
        let scale = format!("a full bar: {:.1} % of what entered the hop", full * 100.0);
        svg.text((24.0, height - 92.0), Anchor::Start, 12.0, FAINT, &scale);
        let (mut x, y) = (24.0, height - 66.0);
        svg.text((x, y + 4.0), Anchor::Start, 12.0, FAINT, "received:");
        x += 66.0;
        for share in [0.5, 0.8, 0.9, 0.95, 1.0] {
            let style = fill(&colour(share)) + &format!(" stroke=\"{INK}\" {EDGE}");
            svg.circle((x, y), 7.0, &style, None);
            let name = match share {
                0.5 => "half or less".to_owned(),
                _ => format!("{:.0} %", share * 100.0),
            };
            svg.text((x + 11.0, y + 4.0), Anchor::Start, 12.0, INK, &name);
            x += 30.0 + text_width(&name, 12.0);
        }
        let dashed = format!("fill=\"none\" {}", kept_back());
        svg.circle((x + 4.0, y), 7.0, &dashed, None);
        let at = (x + 17.0, y + 4.0);
        let name = "kept most packets back";
        svg.text(at, Anchor::Start, 12.0, INK, name);
        if self.nodes.iter().any(|n| n.voice == Voice::StoodBy) {
            let x = at.0 + text_width(name, 12.0) + 22.0;
            let style = fill(STOOD_BY) + &format!(" stroke=\"{INK}\" {EDGE}");
            svg.circle((x, y), 7.0, &style, None);
            svg.text((x + 13.0, at.1), Anchor::Start, 12.0, INK, "stood by");
        }
        for (at, note) in self.notes.iter().enumerate() {
            let y = height - 36.0 + 18.0 * at as f64;
            svg.text((24.0, y), Anchor::Start, 12.0, FAINT, note);
        }
    }
}

fn x(stage: usize) -> f64 {
    LEFT + COLUMN * stage as f64
}

/// The edge of a node that mostly kept back what it had.
fn kept_back() -> String {
    let ink = style::cause::WITHHELD;
    format!("stroke=\"{ink}\" stroke-width=\"3\" stroke-dasharray=\"4 3\"")
}

/// From vermilion (half or less) over straw (nine of ten) to blue (all).
fn colour(share: f64) -> String {
    const STOPS: [(f64, [f64; 3]); 3] = [
        (0.5, [213.0, 94.0, 0.0]),
        (0.9, [243.0, 227.0, 179.0]),
        (1.0, [0.0, 114.0, 178.0]),
    ];
    let share = share.clamp(0.5, 1.0);
    let upper = usize::from(share >= STOPS[1].0);
    let (a, b) = (STOPS[upper], STOPS[upper + 1]);
    let t = (share - a.0) / (b.0 - a.0);
    let mix = |i: usize| (a.1[i] + (b.1[i] - a.1[i]) * t + 0.5) as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}
