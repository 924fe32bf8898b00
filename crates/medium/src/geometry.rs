//! Where ears are.

use crate::random::{stream, uniform};

/// A place in space, in metres.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Position {
    /// Along the building.
    pub x_m: f64,
    /// Across it.
    pub y_m: f64,
    /// Up.
    pub z_m: f64,
}

impl Position {
    /// Distance in metres.
    pub fn distance_m(&self, other: &Self) -> f64 {
        let (dx, dy, dz) = (
            self.x_m - other.x_m,
            self.y_m - other.y_m,
            self.z_m - other.z_m,
        );
        (dx * dx + dy * dy + dz * dz).sqrt()
    }
}

/// A place in a building.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Placement {
    /// Where.
    pub position: Position,
    /// On which floor, 0 the lowest.
    pub floor: u16,
}

/// Nodes along the corridors of a building: shared out evenly over `floors`, on each floor one
/// node per cell of a grid over `length_m` x `width_m`, at a random place of its cell; numbered by
/// floor, then along the corridor. The cells are as square as their number allows.
pub fn corridor_layout(
    floors: u16,
    nodes: usize,
    length_m: f64,
    width_m: f64,
    floor_height_m: f64,
    seed: u64,
) -> Vec<Placement> {
    let floors = floors.max(1);
    let mut placements = Vec::with_capacity(nodes);
    for floor in 0..floors {
        let lower = nodes * usize::from(floor) / usize::from(floors);
        let upper = nodes * (usize::from(floor) + 1) / usize::from(floors);
        let here = upper - lower;
        if here == 0 {
            continue;
        }
        let mut rng = stream(seed, "layout", &[u64::from(floor)]);
        let cell = (length_m * width_m / here as f64).sqrt();
        let rows = ((width_m / cell + 0.5) as usize).clamp(1, here);
        let columns = here.div_ceil(rows);
        let first = placements.len();
        for i in 0..here {
            // Along the corridor with a fraction, so that the last column is not half empty.
            let along = (i as f64 + uniform(&mut rng)) / here as f64;
            let row = i % rows;
            let x_m = along * length_m;
            let y_m = (row as f64 + uniform(&mut rng)) * width_m / rows as f64;
            let jitter = (uniform(&mut rng) - 0.5) * length_m / columns as f64;
            placements.push(Placement {
                position: Position {
                    x_m: (x_m + jitter).clamp(0.0, length_m),
                    y_m,
                    z_m: f64::from(floor) * floor_height_m,
                },
                floor,
            });
        }
        if let Some(floor) = placements.get_mut(first..) {
            floor.sort_by(|a, b| a.position.x_m.total_cmp(&b.position.x_m));
        }
    }
    placements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_share_the_nodes_and_ids_run_along_the_corridor() {
        let placements = corridor_layout(3, 139, 153.0, 8.0, 3.5, 1);
        assert_eq!(placements.len(), 139);
        for floor in 0..3 {
            let here: Vec<_> = placements.iter().filter(|p| p.floor == floor).collect();
            assert!((46..=47).contains(&here.len()));
            assert!(here
                .windows(2)
                .all(|w| w[0].position.x_m <= w[1].position.x_m));
            // No gap longer than a fifth of the corridor.
            assert!(here
                .windows(2)
                .all(|w| w[1].position.x_m - w[0].position.x_m < 30.0));
            assert!(here.iter().all(|p| (0.0..=8.0).contains(&p.position.y_m)));
        }
        assert_eq!(corridor_layout(1, 0, 10.0, 10.0, 3.0, 1), vec![]);
        assert_ne!(placements, corridor_layout(3, 139, 153.0, 8.0, 3.5, 2));
    }
}
