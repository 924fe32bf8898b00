//! Tests of `layout.rs`.

use super::*;

#[test]
fn neighbours_end_up_closer_than_strangers() {
    // Two rings of six, joined by one link.
    let mut neighbours: Vec<Vec<usize>> = (0..12)
        .map(|i| vec![i / 6 * 6 + (i + 1) % 6, i / 6 * 6 + (i + 5) % 6])
        .collect();
    neighbours[0].push(6);
    neighbours[6].push(0);
    let order: Vec<usize> = (0..12).collect();
    let places = places(&neighbours, &order);
    assert_eq!(places, super::places(&neighbours, &order));
    assert!(places
        .iter()
        .all(|p| (0.0..=1.0).contains(&p.0) && (0.0..=1.0).contains(&p.1)));
    let distance = |a: usize, b: usize| {
        let ((ax, ay), (bx, by)) = (places[a], places[b]);
        ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt()
    };
    assert!(distance(2, 3) < distance(3, 9));
    assert!(distance(0, 6) < distance(3, 9));
}

#[test]
fn few_nodes_and_no_links_are_no_trouble() {
    for nodes in 0..5 {
        let order: Vec<usize> = (0..nodes).collect();
        for (x, y) in places(&vec![Vec::new(); nodes], &order) {
            assert!(x.is_finite() && y.is_finite());
        }
    }
}
