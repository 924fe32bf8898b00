//! Writing SVG: elements with numbers of one decimal (so that the text is short and the same on
//! every machine) and escaped text. Text widths are estimated: no font is at hand.

use crate::style::FONT;
use std::fmt::{Display, Write};

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
        let mut svg = Self { out: String::new() };
        svg.raw(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" role=\"img\" font-family=\"{FONT}\">",
            w = num(width),
            h = num(height)
        ));
        svg.raw(format_args!("<title>{}</title>", escape(title)));
        svg.rect(0.0, 0.0, width, height, "fill=\"#fff\"", None);
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
    /// Ends the group.
    pub(crate) fn close(&mut self) {
        self.raw("</g>");
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), attributes: &str) {
        self.raw(format_args!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {attributes}/>",
            num(from.0),
            num(from.1),
            num(to.0),
            num(to.1)
        ));
    }
    pub(crate) fn rect(
        &mut self,
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        attributes: &str,
        hint: Option<&str>,
    ) {
        self.hinted(
            format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {attributes}",
                num(x),
                num(y),
                num(width.max(0.0)),
                num(height.max(0.0))
            ),
            "rect",
            hint,
        );
    }
    pub(crate) fn circle(
        &mut self,
        at: (f64, f64),
        radius: f64,
        attributes: &str,
        hint: Option<&str>,
    ) {
        self.hinted(
            format_args!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {attributes}",
                num(at.0),
                num(at.1),
                num(radius)
            ),
            "circle",
            hint,
        );
    }
    pub(crate) fn diamond(
        &mut self,
        at: (f64, f64),
        radius: f64,
        attributes: &str,
        hint: Option<&str>,
    ) {
        let (x, y, r) = (at.0, at.1, radius);
        self.hinted(
            format_args!(
                "<path d=\"M{} {}L{} {}L{} {}L{} {}Z\" {attributes}",
                num(x - r),
                num(y),
                num(x),
                num(y - r),
                num(x + r),
                num(y),
                num(x),
                num(y + r)
            ),
            "path",
            hint,
        );
    }
    /// An element that says `hint` when pointed at.
    fn hinted(&mut self, start: impl Display, name: &str, hint: Option<&str>) {
        match hint {
            None => self.raw(format_args!("{start}/>")),
            Some(hint) => {
                self.raw(format_args!(
                    "{start}><title>{}</title></{name}>",
                    escape(hint)
                ));
            }
        }
    }
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], attributes: &str) {
        if points.len() < 2 {
            return;
        }
        let mut list = String::new();
        for (x, y) in points {
            let _ = write!(list, "{},{} ", num(*x), num(*y));
        }
        self.raw(format_args!(
            "<polyline points=\"{}\" fill=\"none\" {attributes}/>",
            list.trim_end()
        ));
    }
    /// A slightly bent line.
    pub(crate) fn bow(&mut self, from: (f64, f64), to: (f64, f64), attributes: &str) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        self.raw(format_args!(
            "<path d=\"M{} {}Q{} {} {} {}\" {attributes}/>",
            num(from.0),
            num(from.1),
            num((from.0 + to.0) / 2.0 - dy * 0.08),
            num((from.1 + to.1) / 2.0 + dx * 0.08),
            num(to.0),
            num(to.1)
        ));
    }
    pub(crate) fn text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: f64,
        fill: &str,
        text: &str,
    ) {
        self.styled_text(at, anchor, size, &format!("fill=\"{fill}\""), text);
    }
    pub(crate) fn styled_text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: f64,
        attributes: &str,
        text: &str,
    ) {
        self.raw(format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"{}\" {attributes}>{}</text>",
            num(at.0),
            num(at.1),
            anchor.name(),
            num(size),
            escape(text)
        ));
    }
    /// A text turned by `degrees` about its anchor.
    pub(crate) fn turned_text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: f64,
        degrees: f64,
        fill: &str,
        text: &str,
    ) {
        let turn = format!(
            "fill=\"{fill}\" transform=\"rotate({} {} {})\"",
            num(degrees),
            num(at.0),
            num(at.1)
        );
        self.styled_text(at, anchor, size, &turn, text);
    }

    /// The finished picture.
    pub(crate) fn finish(mut self) -> String {
        self.raw("</svg>");
        self.out
    }
}

/// A coordinate with one decimal at most.
pub(crate) fn num(value: f64) -> String {
    let text = format!("{:.1}", if value.is_finite() { value } else { 0.0 });
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Text that cannot be taken for markup; characters that XML does not know become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
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
