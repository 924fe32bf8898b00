//! Traffic of a convergecast: who got how much of whom.

use thalweg_draw::map::{Key, Link, Map, Node, Place, Places, Shape, Stroke};
use thalweg_draw::style::{INK, LINK, PAPER, SINK};

/// A node that traffic comes from or goes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// Its number.
    pub id: String,
    /// Its place, metres.
    pub at: (f64, f64),
    /// Whether packets end there.
    pub is_sink: bool,
}

/// What one node got of another, both by index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Sender.
    pub from: usize,
    /// Receiver.
    pub to: usize,
    /// Packets.
    pub packets: f64,
}

/// Traffic on one floor: links as thick as the packets that they carried (Fusion, figures 5-4 and 5-5).
pub fn traffic(title: &str, spots: &[Spot], traffic: &[Traffic]) -> Map {
    /// The widest link, pixels.
    const WIDEST: f64 = 14.0;
    let most = traffic.iter().map(|t| t.packets).fold(1.0, f64::max);
    let place = |spot: &Spot| Place {
        x_m: spot.at.0,
        y_m: spot.at.1,
        floor: 0,
    };
    let node = |spot: &Spot| Node {
        edge: INK,
        ..Node::new(spot.id.clone(), if spot.is_sink { SINK } else { PAPER })
    };
    let link = |t: &Traffic| Link {
        width: (WIDEST * t.packets / most).max(0.4),
        opacity: 0.7,
        ..Link::new(t.from, t.to, LINK)
    };
    Map {
        title: title.to_owned(),
        subtitle: format!("widest link: {most:.0} packets"),
        places: Places::Known(spots.iter().map(place).collect()),
        nodes: spots.iter().map(node).collect(),
        links: traffic.iter().map(link).collect(),
        legend: vec![
            Key::marks(Shape::Circle, &[SINK], "sink"),
            Key::line(LINK, 2.0, Stroke::Solid, "packets that arrived"),
        ],
        charts: Vec::new(),
    }
}
