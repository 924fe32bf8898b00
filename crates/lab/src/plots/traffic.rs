//! Traffic of a convergecast: packets over each link.

use thalweg_draw::map::{Key, Link, Map, Node, Place, Places, Shape, Stroke, WIDTH};
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

/// How many packets one node got of another: sender and receiver by index.
pub type Flow = (usize, usize, f64);

/// Traffic on one floor: links as thick as the packets that they carried (Fusion, figures 5-4 and 5-5).
pub fn traffic(title: &str, spots: &[Spot], flows: &[Flow]) -> Map {
    /// The widest link, pixels.
    const WIDEST: f64 = 14.0;
    let most = flows
        .iter()
        .map(|(_, _, packets)| *packets)
        .fold(1.0, f64::max);
    let place = |spot: &Spot| Place {
        x_m: spot.at.0,
        y_m: spot.at.1,
        floor: 0,
    };
    let node = |spot: &Spot| Node {
        edge: INK,
        ..Node::new(spot.id.clone(), if spot.is_sink { SINK } else { PAPER })
    };
    let link = |&(from, to, packets): &Flow| Link {
        width: (WIDEST * packets / most).max(0.4),
        opacity: 0.7,
        ..Link::new(from, to, LINK)
    };
    Map {
        title: title.to_owned(),
        subtitle: format!("widest link: {most:.0} packets"),
        width: WIDTH,
        places: Places::Known(spots.iter().map(place).collect()),
        nodes: spots.iter().map(node).collect(),
        links: flows.iter().map(link).collect(),
        legend: vec![
            Key::marks(Shape::Circle, &[SINK], "sink"),
            Key::line(LINK, 2.0, Stroke::Solid, "packets that arrived"),
        ],
        charts: Vec::new(),
    }
}
