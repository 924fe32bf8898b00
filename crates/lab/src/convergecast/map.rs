//! A map of traffic: nodes at their places, an edge for each link, as thick as the packets that it
//! carried (Fusion, figures 5-4 and 5-5).

use std::fmt::Write;

/// A node on the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// Its number.
    pub id: String,
    /// Place in metres.
    pub at: (f64, f64),
    /// Whether packets end here.
    pub role: SpotRole,
}

/// How a node is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpotRole {
    /// A node.
    Node,
    /// A sink.
    Sink,
}

/// A link on the map, between nodes by index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Sender.
    pub from: usize,
    /// Receiver.
    pub to: usize,
    /// Packets that the receiver got.
    pub packets: f64,
}

/// Widest edge, in pixels.
const WIDEST: f64 = 14.0;

/// The map as SVG.
pub fn traffic_map(title: &str, spots: &[Spot], edges: &[Edge]) -> String {
    let span = |of: fn(&Spot) -> f64| {
        spots
            .iter()
            .map(of)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
                (a.min(v), b.max(v))
            })
    };
    let (left, right) = span(|s| s.at.0);
    let (low, high) = span(|s| s.at.1);
    let scale = 860.0 / (right - left).max(1e-3);
    let height = (high - low).max(1e-3) * scale;
    let place = |s: &Spot| {
        (
            20.0 + (s.at.0 - left) * scale,
            50.0 + (high - s.at.1) * scale,
        )
    };
    let most = edges.iter().map(|e| e.packets).fold(1.0, f64::max);
    let mut svg = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"{:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\"><rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/><text x=\"20\" y=\"24\" font-size=\"15\">{}</text>",
        height + 80.0,
        title.replace('&', "&amp;").replace('<', "&lt;")
    );
    for edge in edges {
        let (Some(from), Some(to)) = (spots.get(edge.from), spots.get(edge.to)) else {
            continue;
        };
        let ((x1, y1), (x2, y2)) = (place(from), place(to));
        let width = (WIDEST * edge.packets / most).max(0.4);
        let _ = write!(
            svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
             stroke=\"#33658a\" stroke-opacity=\"0.7\" stroke-width=\"{width:.1}\"/>"
        );
    }
    for spot in spots {
        let (x, y) = place(spot);
        let fill = match spot.role {
            SpotRole::Node => "white",
            SpotRole::Sink => "#f6ae2d",
        };
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"{fill}\" stroke=\"black\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"9\">{}</text>",
            y + 3.0,
            spot.id
        );
    }
    let _ = write!(
        svg,
        "<text x=\"20\" y=\"{:.0}\">widest edge: {most:.0} packets</text></svg>",
        height + 74.0
    );
    svg
}
