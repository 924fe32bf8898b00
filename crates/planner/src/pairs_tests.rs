//! Pairs and channels of a grid.

use super::*;
use crate::links::Place;
use rand::SeedableRng;
use thalweg_units::Channel;

/// A grid of 12 x 7 nodes, linked to their eight neighbours, on two channels; the second
/// channel lacks the links of the last column.
fn grid() -> LinkQualities {
    let at = |node: usize| ((node / 7) as f64, (node % 7) as f64);
    let mut links = LinkQualities::new(84);
    for a in 0..84 {
        for b in 0..84 {
            let ((ax, ay), (bx, by)) = (at(a), at(b));
            if a == b || (ax - bx).abs() > 1.0 || (ay - by).abs() > 1.0 {
                continue;
            }
            links.record(a, b, Channel::LAST, 10, 10, None).unwrap();
            if ax.max(bx) < 11.0 {
                links.record(a, b, Channel::FIRST, 10, 10, None).unwrap();
            }
        }
    }
    let place = |node| Place {
        x_m: at(node).0,
        y_m: at(node).1,
        z_m: 0.0,
        floor: 0,
    };
    links.set_places((0..84).map(place).collect()).unwrap();
    links
}

#[test]
fn far_pairs_first_and_each_node_once() {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
    let mut request = PairRequest::new(5);
    request.route.min_paths = 3;
    let pairs = suggest_pairs(&grid(), &request, &mut rng);
    assert_eq!(pairs.len(), 5);
    assert!(pairs
        .windows(2)
        .all(|two| two[0].shortest >= two[1].shortest));
    assert!(pairs.iter().all(|pair| pair.paths >= 3 && pair.hops <= 6));
    let mut nodes: Vec<usize> = pairs.iter().flat_map(|p| [p.source, p.sink]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 10);
    // Nobody has nine neighbours.
    request.route.min_paths = 9;
    assert!(suggest_pairs(&grid(), &request, &mut rng).is_empty());
}

#[test]
fn channels_by_what_they_connect() {
    let support = channel_support(&grid(), &LinkRule::default());
    assert_eq!(support[0].channel, Channel::LAST);
    assert_eq!((support[0].largest_part, support[1].largest_part), (84, 77));
    let best = best_channels(&grid(), &LinkRule::default(), 4);
    assert_eq!(best, [Channel::LAST, Channel::FIRST]);
}
