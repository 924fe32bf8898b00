//! Where to draw nodes whose places are unknown: a force-directed layout (good links pull, nodes
//! push), from a circle in the order of hops, so the same links give the same picture everywhere.
//! Not a reconstruction of real places. Tests: `layout_tests.rs`.

use crate::span;
use libm::{cos, sin};

/// Above this many nodes they stay on the circle.
const MAX_FORCED: usize = 1_500;
/// Rounds of moving.
const ROUNDS: usize = 250;

/// Places in the unit square. `order` is the nodes' order on the initial circle.
pub(crate) fn places(neighbours: &[Vec<usize>], order: &[usize]) -> Vec<(f64, f64)> {
    let nodes = neighbours.len();
    let mut places = vec![(0.0, 0.0); nodes];
    for (rank, node) in order.iter().enumerate() {
        let turn = core::f64::consts::TAU * rank as f64 / nodes.max(1) as f64;
        if let Some(place) = places.get_mut(*node) {
            *place = (cos(turn), sin(turn));
        }
    }
    if nodes > 2 && nodes <= MAX_FORCED {
        force(neighbours, &mut places);
    }
    fit(&mut places);
    places
}

/// Fruchterman and Reingold's layout with linear cooling.
fn force(neighbours: &[Vec<usize>], places: &mut [(f64, f64)]) {
    let nodes = places.len();
    // Ideal distance of neighbours where the nodes fill a square of side 2.
    let ideal = 2.0 / (nodes as f64).sqrt();
    for round in 0..ROUNDS {
        let step = 0.2 * (1.0 - round as f64 / ROUNDS as f64) + 1e-3;
        let mut moves = vec![(0.0, 0.0); nodes];
        for (i, (a, shift)) in places.iter().zip(&mut moves).enumerate() {
            for (j, b) in places.iter().enumerate() {
                if i == j {
                    continue;
                }
                let (dx, dy) = (a.0 - b.0, a.1 - b.1);
                let square = (dx * dx + dy * dy).max(1e-6);
                let push = ideal * ideal / square;
                shift.0 += dx * push;
                shift.1 += dy * push;
            }
            let near = neighbours.get(i).map(Vec::as_slice).unwrap_or_default();
            // Well-connected nodes would collapse into a clump if every link pulled alike.
            let weight = 1.0 / (near.len().max(1) as f64).sqrt();
            for b in near.iter().filter_map(|j| places.get(*j)) {
                let (dx, dy) = (a.0 - b.0, a.1 - b.1);
                let pull = weight * (dx * dx + dy * dy).sqrt() / ideal;
                shift.0 -= dx * pull;
                shift.1 -= dy * pull;
            }
            // A weak pull to the middle keeps parts without links in the picture.
            shift.0 -= 0.05 * a.0;
            shift.1 -= 0.05 * a.1;
        }
        for (place, (dx, dy)) in places.iter_mut().zip(moves) {
            let length = (dx * dx + dy * dy).sqrt();
            if length > 0.0 {
                let stride = length.min(step) / length;
                place.0 += dx * stride;
                place.1 += dy * stride;
            }
        }
    }
}

/// Stretches the places to the unit square.
fn fit(places: &mut [(f64, f64)]) {
    let (left, right) = span(places.iter().map(|p| p.0));
    let (low, high) = span(places.iter().map(|p| p.1));
    for place in places {
        place.0 = (place.0 - left) / (right - left).max(1e-9);
        place.1 = (place.1 - low) / (high - low).max(1e-9);
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
