//! Drawing a [`Map`].

use super::ground::Ground;
use super::margin;
use super::{
    Caption, Course, Link, Map, Node, Shape, Stroke, BESIDE_BAR, CHART_HEIGHT, HEAD, LINE, SLIM,
};
use crate::style::{ink_on, AREA, EDGE, FAINT, INK, PAPER};
use crate::svg::{fill, text_width, Anchor, Svg};

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    sign: Sign,
    name: String,
}

/// A sign in the legend.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sign {
    Nothing,
    Line(&'static str, f64, Stroke),
    Marks(Shape, Vec<&'static str>),
    Ring(&'static str),
}

impl Key {
    /// A remark.
    pub fn remark(name: impl Into<String>) -> Self {
        Self::new(Sign::Nothing, name)
    }
    /// What a line of this colour and width (pixels) means.
    pub fn line(colour: &'static str, width: f64, stroke: Stroke, name: impl Into<String>) -> Self {
        Self::new(Sign::Line(colour, width, stroke), name)
    }
    /// What marks of these colours mean.
    pub fn marks(shape: Shape, colours: &[&'static str], name: impl Into<String>) -> Self {
        Self::new(Sign::Marks(shape, colours.to_vec()), name)
    }
    /// What a ring around a node means.
    pub fn ring(colour: &'static str, name: impl Into<String>) -> Self {
        Self::new(Sign::Ring(colour), name)
    }
    pub(super) fn new(sign: Sign, name: impl Into<String>) -> Self {
        let name = name.into();
        Self { sign, name }
    }
}

impl Sign {
    pub(super) fn width(&self) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::Line(..) => 28.0,
            Self::Marks(_, colours) => 16.0 * colours.len() as f64 + 4.0,
            Self::Ring(_) => 20.0,
        }
    }
    fn draw(&self, svg: &mut Svg, x: f64, y: f64) {
        match self {
            Self::Nothing => {}
            Self::Line(colour, width, stroke) => {
                let dash = dash(*stroke);
                let style = format!("stroke=\"{colour}\" stroke-width=\"{width}\"{dash}");
                svg.line((x, y), (x + 22.0, y), &style);
            }
            Self::Marks(shape, colours) => {
                for (at, colour) in colours.iter().enumerate() {
                    let middle = (x + 6.0 + 16.0 * at as f64, y);
                    let style = format!("fill=\"{colour}\" stroke=\"{PAPER}\"");
                    mark(svg, *shape, middle, 5.0, &style, None);
                }
            }
            Self::Ring(colour) => {
                let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"");
                svg.circle((x + 6.0, y), 6.0, &style, None);
            }
        }
    }
}

impl Map {
    /// The map as one `<svg>` element.
    pub fn to_svg(&self) -> String {
        let ground = Ground::of(&self.places, self.width);
        let (margin, top) = (margin(self.width), HEAD + ground.height + 18.0);
        // Beside the scale bar, or below it where there is no room.
        let (left, first) = match ground.scale {
            Some(_) if self.width < SLIM => (margin, top + LINE),
            Some(_) => (margin + BESIDE_BAR, top),
            None => (margin, top),
        };
        let keys = self.key_places(left, first);
        let bottom = keys.last().map_or(top, |(_, y)| *y);
        let below = self.charts.first().map_or(0.0, |_| CHART_HEIGHT);
        let mut svg = match self.nodes.iter().any(|node| node.leads_to.is_some()) {
            true => Svg::group(self.width, bottom + 26.0 + below, &self.title),
            false => Svg::new(self.width, bottom + 26.0 + below, &self.title),
        };
        let bold = fill(INK) + " font-weight=\"600\"";
        svg.styled_text((margin, 30.0), Anchor::Start, 18.0, &bold, &self.title);
        svg.text((margin, 50.0), Anchor::Start, 12.0, FAINT, &self.subtitle);
        for (name, panel) in &ground.panels {
            let style = format!("fill=\"{AREA}\" stroke=\"{EDGE}\" rx=\"6\"");
            svg.rect(*panel, &style, None);
            if !name.is_empty() {
                let at = (panel[0] + 4.0, panel[1] - 5.0);
                svg.text(at, Anchor::Start, 11.0, FAINT, name);
            }
        }
        self.draw_links(&mut svg, &ground);
        self.draw_nodes(&mut svg, &ground);
        if let Some(scale) = ground.scale {
            scale_bar(&mut svg, scale, (margin, top));
        }
        for (key, (x, y)) in self.legend.iter().zip(keys) {
            key.sign.draw(&mut svg, x, y - 4.0);
            let at = (x + key.sign.width(), y);
            svg.text(at, Anchor::Start, 11.0, FAINT, &key.name);
        }
        self.draw_charts(&mut svg, bottom + 16.0);
        svg.finish()
    }

    /// Where the entries of the legend begin, from `left` on, in as many lines as it takes.
    fn key_places(&self, left: f64, top: f64) -> Vec<(f64, f64)> {
        let (mut x, mut y) = (left, top);
        let place = |key: &Key| {
            let width = key.sign.width() + text_width(&key.name, 11.0);
            if x > left && x + width > self.width - margin(self.width) {
                (x, y) = (left, y + LINE);
            }
            x += width + 16.0;
            (x - width - 16.0, y)
        };
        self.legend.iter().map(place).collect()
    }

    fn draw_links(&self, svg: &mut Svg, ground: &Ground) {
        let alike = |a: &Link, b: &Link| (a.colour, a.stroke) == (b.colour, b.stroke);
        for links in self.links.chunk_by(alike) {
            let Some(first) = links.first() else { continue };
            let (colour, dash) = (first.colour, dash(first.stroke));
            svg.open(&format!("stroke=\"{colour}\" fill=\"none\"{dash}"));
            for link in links {
                let (Some(from), Some(to)) = (ground.at(link.from), ground.at(link.to)) else {
                    continue;
                };
                let style = format!(
                    "stroke-opacity=\"{:.2}\" stroke-width=\"{:.1}\"",
                    link.opacity, link.width
                );
                if let Some(hint) = &link.hint {
                    svg.open_hinted(hint);
                }
                match link.course {
                    Course::Straight => svg.line(from, to, &style),
                    Course::Bent => svg.bow(from, to, &style),
                }
                if link.hint.is_some() {
                    svg.close();
                }
            }
            svg.close();
        }
    }

    fn draw_nodes(&self, svg: &mut Svg, ground: &Ground) {
        let mut nodes: Vec<(usize, &Node)> = self.nodes.iter().enumerate().collect();
        nodes.sort_by(|a, b| a.1.radius.total_cmp(&b.1.radius));
        for (index, node) in nodes {
            let Some(at) = ground.at(index) else { continue };
            if let Some(target) = &node.leads_to {
                svg.open_link(target, &node.hint);
            }
            if let Some(colour) = node.ring {
                let ring = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"");
                svg.circle(at, node.radius + 4.0, &ring, None);
            }
            let (ground, edge, dash) = (node.fill, node.edge, dash(node.stroke));
            let style = format!("fill=\"{ground}\" stroke=\"{edge}\"{dash}");
            mark(svg, node.shape, at, node.radius, &style, Some(&node.hint));
            match node.caption {
                Caption::Nowhere => {}
                Caption::Inside => {
                    let long = if node.radius < 9.0 { 2 } else { 3 };
                    let size = if node.name.len() > long { 7.0 } else { 9.0 };
                    let at = (at.0, at.1 + 3.2);
                    svg.text(at, Anchor::Middle, size, ink_on(ground), &node.name);
                }
                Caption::Small => {
                    // Beyond nine tenths it would be cut off.
                    let aside = node.radius + 2.0;
                    let (x, anchor) = match at.0 > 0.9 * self.width {
                        true => (at.0 - aside, Anchor::End),
                        false => (at.0 + aside, Anchor::Start),
                    };
                    let style = format!(
                        "fill=\"{INK}\" stroke=\"{PAPER}\" stroke-width=\"3\" paint-order=\"stroke\""
                    );
                    svg.styled_text((x, at.1 + 3.0), anchor, 9.0, &style, &node.name);
                }
                Caption::Beside => {
                    let ink = node.ring.unwrap_or(INK);
                    let style = format!(
                        "fill=\"{ink}\" font-weight=\"600\" stroke=\"{PAPER}\" stroke-width=\"3\" \
                         paint-order=\"stroke\""
                    );
                    let at = (at.0 + node.radius + 8.0, at.1 - 8.0);
                    svg.styled_text(at, Anchor::Start, 12.0, &style, &node.name);
                }
            }
            if node.leads_to.is_some() {
                svg.close_link();
            }
        }
    }

    fn draw_charts(&self, svg: &mut Svg, top: f64) {
        let width = (self.width - 2.0 * 16.0) / self.charts.len().max(1) as f64;
        for (at, chart) in self.charts.iter().enumerate() {
            let mut chart = chart.clone();
            (chart.width, chart.height) = (width as u32, CHART_HEIGHT as u32);
            let left = 16.0 + width * at as f64;
            svg.open(&format!("transform=\"translate({left} {top})\""));
            svg.raw(chart.to_svg().trim_end());
            svg.close();
        }
    }
}

/// What a stroke adds to an element's attributes.
fn dash(stroke: Stroke) -> &'static str {
    match stroke {
        Stroke::Solid => "",
        Stroke::Dashed => " stroke-dasharray=\"6 4\"",
    }
}

fn mark(svg: &mut Svg, shape: Shape, at: (f64, f64), radius: f64, style: &str, hint: Option<&str>) {
    match shape {
        Shape::Circle => svg.circle(at, radius, style, hint),
        Shape::Square => {
            let side = 2.0 * radius;
            svg.rect([at.0 - radius, at.1 - radius, side, side], style, hint);
        }
    }
}

/// The longest round length of at most 180 pixels; `along` and `across` are pixels a metre.
fn scale_bar(svg: &mut Svg, (along, across): (f64, f64), (left, y): (f64, f64)) {
    const METRES: [f64; 12] = [
        1000.0, 500.0, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.1,
    ];
    let fits = METRES.into_iter().find(|m| m * along <= 180.0);
    let bar = fits.unwrap_or(0.1);
    let end = left + bar * along;
    let stroke = format!("stroke=\"{INK}\" stroke-width=\"1.5\"");
    svg.line((left, y - 4.0), (end, y - 4.0), &stroke);
    for x in [left, end] {
        svg.line((x, y - 8.0), (x, y), &stroke);
    }
    let stretched = across / along;
    let note = match (stretched - 1.0).abs() < 0.05 {
        true => format!("{bar} m"),
        false => format!("{bar} m (across x{stretched:.1})"),
    };
    svg.text((end + 8.0, y), Anchor::Start, 11.0, INK, &note);
}
