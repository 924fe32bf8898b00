//! Generated buildings: where their nodes stand, as a seed draws it. Tests: `building_tests.rs`.

use serde::Deserialize;
use thalweg_medium::random::{derive, stream, uniform};
use thalweg_medium::{corridor_layout, Placement};

/// Size of a generated building, and how its nodes stand in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Building {
    /// Number of floors.
    pub floors: u16,
    /// Length, metres.
    pub length_m: f64,
    /// Width, metres.
    pub width_m: f64,
    /// From floor to floor, metres.
    pub floor_height_m: f64,
    /// Nodes that stand closer together; none where all cover the floors evenly.
    pub crowd: Option<Crowd>,
    /// Who has which number.
    pub numbering: Numbering,
}

/// Nodes of a building that stand in a corner of its lowest floor, beside those that cover the floors evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crowd {
    /// How many of the building's nodes.
    pub nodes: u16,
    /// Length of the corner, metres.
    pub length_m: f64,
    /// Width of the corner, metres.
    pub width_m: f64,
}

impl Crowd {
    /// Whether the place is in its corner.
    fn holds(&self, place: &Placement) -> bool {
        let at = place.position;
        place.floor == 0 && at.x_m <= self.length_m && at.y_m <= self.width_m
    }
}

/// How the nodes of a generated building are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// By floor, then along the building, the crowd last.
    #[default]
    Along,
    /// As the seed draws it, those in the crowd's corner last: a low number, such as the sink's, may be anywhere
    /// else.
    Drawn,
}

impl Building {
    /// Where its `nodes` are, by number.
    pub(crate) fn places(&self, nodes: usize, seed: u64) -> Vec<Placement> {
        let crowded = self.crowd.map_or(0, |crowd| usize::from(crowd.nodes));
        let even = nodes.saturating_sub(crowded);
        let (height, floors) = (self.floor_height_m, self.floors);
        let mut places = corridor_layout(floors, even, self.length_m, self.width_m, height, seed);
        if let Some(crowd) = self.crowd {
            let seed = derive(seed, "crowd", &[]);
            let (length_m, width_m) = (crowd.length_m, crowd.width_m);
            let corner = corridor_layout(1, nodes - even, length_m, width_m, height, seed);
            places.extend(corner);
        }
        if self.numbering == Numbering::Drawn {
            let mut rng = stream(seed, "numbering", &[]);
            for k in (1..places.len()).rev() {
                places.swap(k, (uniform(&mut rng) * (k + 1) as f64) as usize);
            }
            places.sort_by_key(|place| self.crowd.is_some_and(|crowd| crowd.holds(place)));
        }
        places
    }
}

#[cfg(test)]
#[path = "building_tests.rs"]
mod tests;
