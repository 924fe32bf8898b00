//! Writing SVG: elements with numbers of one decimal (so that the text is short and the same on
//! every machine) and escaped text. Text widths are estimated: no font is at hand.

use crate::style::{FONT, INK, PAPER};
use std::fmt::{Display, Write as _};

/// Where a text is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}
impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A picture in the making.
#[derive(Debug)]
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    /// An empty white picture; `title` is for screen readers and pointers.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        Self::of_role("img", (width, height), title)
    }
    /// The same whose parts can be followed, and that screen readers keep apart.
    pub(crate) fn group(width: f64, height: f64, title: &str) -> Self {
        Self::of_role("group", (width, height), title)
    }
    fn of_role(role: &str, (width, height): (f64, f64), title: &str) -> Self {
        let mut svg = Self { out: String::new() };
        svg.raw(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" data-generator=\"thalweg\" role=\"{role}\" font-family=\"{FONT}\">",
            w = num(width),
            h = num(height)
        ));
        svg.raw(format_args!("<title>{}</title>", escape(title)));
        svg.rect([0.0, 0.0, width, height], &fill(PAPER), None);
        svg
    }

    /// Appends an element as it stands.
    pub(crate) fn raw(&mut self, element: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{element}");
    }

    /// Starts a group with these attributes.
    pub(crate) fn open(&mut self, attributes: &str) {
        self.raw(format_args!("<g {attributes}>"));
    }
    /// Starts a group that says `hint` when pointed at.
    pub(crate) fn open_hinted(&mut self, hint: &str) {
        self.raw(format_args!("<g><title>{}</title>", escape(hint)));
    }
    /// Starts what leads to `target` when followed.
    pub(crate) fn open_link(&mut self, target: &str, name: &str) {
        let (target, name) = (escape(target), escape(name));
        self.raw(format_args!("<a href=\"{target}\" aria-label=\"{name}\">"));
    }
    /// Ends it.
    pub(crate) fn close_link(&mut self) {
        self.raw("</a>");
    }
    /// Ends the group.
    pub(crate) fn close(&mut self) {
        self.raw("</g>");
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), attributes: &str) {
        let ends = [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)];
        self.element("line", &ends, attributes, None);
    }
    /// A rectangle from its left upper corner on, so wide and high.
    pub(crate) fn rect(
        &mut self,
        [x, y, width, height]: [f64; 4],
        attributes: &str,
        hint: Option<&str>,
    ) {
        let (width, height) = (width.max(0.0), height.max(0.0));
        let sides = [("x", x), ("y", y), ("width", width), ("height", height)];
        self.element("rect", &sides, attributes, hint);
    }
    pub(crate) fn circle(
        &mut self,
        (x, y): (f64, f64),
        radius: f64,
        attributes: &str,
        hint: Option<&str>,
    ) {
        let numbers = [("cx", x), ("cy", y), ("r", radius)];
        self.element("circle", &numbers, attributes, hint);
    }
    pub(crate) fn diamond(
        &mut self,
        (x, y): (f64, f64),
        r: f64,
        attributes: &str,
        hint: Option<&str>,
    ) {
        let corners = [(x - r, y), (x, y - r), (x + r, y), (x, y + r)];
        let way = corners.map(pair).join("L");
        self.path(&format!("M{way}Z"), attributes, hint);
    }
    pub(crate) fn path(&mut self, way: &str, attributes: &str, hint: Option<&str>) {
        self.element("path", &[], &format!("d=\"{way}\" {attributes}"), hint);
    }
    /// An element that says `hint` when pointed at.
    fn element(
        &mut self,
        name: &str,
        numbers: &[(&str, f64)],
        attributes: &str,
        hint: Option<&str>,
    ) {
        let number = |(key, value): &(&str, f64)| format!(" {key}=\"{}\"", num(*value));
        let numbers: String = numbers.iter().map(number).collect();
        let end = match hint {
            None => "/>".to_owned(),
            Some(hint) => format!("><title>{}</title></{name}>", escape(hint)),
        };
        self.raw(format_args!("<{name}{numbers} {attributes}{end}"));
    }
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], attributes: &str) {
        if points.len() < 2 {
            return;
        }
        let points = points
            .iter()
            .map(|(x, y)| format!("{},{}", num(*x), num(*y)));
        let list = points.collect::<Vec<_>>().join(" ");
        self.raw(format_args!(
            "<polyline points=\"{list}\" fill=\"none\" {attributes}/>"
        ));
    }
    /// A slightly bent line.
    pub(crate) fn bow(&mut self, from: (f64, f64), to: (f64, f64), attributes: &str) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        let bend = pair((middle.0 - dy * 0.08, middle.1 + dx * 0.08));
        let (from, to) = (pair(from), pair(to));
        self.raw(format_args!(
            "<path d=\"M{from}Q{bend} {to}\" {attributes}/>"
        ));
    }
    pub(crate) fn text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: f64,
        colour: &str,
        text: &str,
    ) {
        self.styled_text(at, anchor, size, &fill(colour), text);
    }
    pub(crate) fn styled_text(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        size: f64,
        attributes: &str,
        text: &str,
    ) {
        let (x, y, size) = (num(x), num(y), num(size));
        let (anchor, text) = (anchor.name(), escape(text));
        self.raw(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\" \
             {attributes}>{text}</text>"
        ));
    }
    /// A text turned by `degrees` about its anchor.
    pub(crate) fn turned_text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: f64,
        degrees: f64,
        text: &str,
    ) {
        let turn = format!("transform=\"rotate({} {})\"", num(degrees), pair(at));
        self.styled_text(at, anchor, size, &(fill(INK) + " " + &turn), text);
    }

    /// The finished picture.
    pub(crate) fn finish(mut self) -> String {
        self.raw("</svg>");
        self.out
    }
}

/// The attribute that fills with `colour`.
pub(crate) fn fill(colour: &str) -> String {
    format!("fill=\"{colour}\"")
}

/// A place as paths have it.
fn pair((x, y): (f64, f64)) -> String {
    format!("{} {}", num(x), num(y))
}

/// A coordinate with one decimal at most.
pub(crate) fn num(value: f64) -> String {
    let text = format!("{:.1}", if value.is_finite() { value } else { 0.0 });
    match text.strip_suffix(".0").unwrap_or(&text) {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// Text that cannot be taken for markup; characters that XML does not know become spaces.
pub(crate) fn escape(text: &str) -> String {
    let unknown = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(unknown, " ")
}

/// About how wide `text` is at font size `size`.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
            'm' | 'w' | 'M' | 'W' | '@' => 0.92,
            'A'..='Z' | '%' => 0.7,
            _ => 0.59,
        })
        .sum();
    ems * size
}
