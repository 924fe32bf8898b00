use super::*;
use thalweg_units::Channel;

/// Nodes in a row, each linked to the next with this ratio.
fn row(nodes: usize, prr: f64) -> LinkQualities {
    let mut links = LinkQualities::new(nodes);
    for node in 1..nodes {
        for (from, to) in [(node - 1, node), (node, node - 1)] {
            links
                .record_prr(from, to, Channel::LAST, prr, None)
                .unwrap();
        }
    }
    links
}

fn transmissions(links: &LinkQualities) -> Transmissions {
    Transmissions::over(links, &RouteRequest::new(0, 1))
}

#[test]
fn transmissions_count_both_ways_and_add_up() {
    let etx = transmissions(&row(4, 0.8));
    let one = etx.between(0, 1).unwrap();
    assert!((1.3..2.0).contains(&one), "{one}");
    assert!((etx.between(0, 3).unwrap() - 3.0 * one).abs() < 1e-9);
    assert_eq!(etx.between(2, 2), Some(0.0));
}

#[test]
fn stations_stand_in_the_middle_of_their_parts() {
    let etx = transmissions(&row(10, 1.0));
    assert_eq!(etx.stations(2), [2, 7]);
    assert!(matches!(etx.stations(1)[..], [4 | 5]));
    assert_eq!(etx.nearest(3, &[7, 2]), [2, 7]);
    assert_eq!(etx.stations(12).len(), 10);
    assert_eq!(etx.stations(0), [0_usize; 0]);
}

#[test]
fn reach_comes_before_transmissions() {
    // Two rows that do not hear each other: the second station takes the small one.
    let mut links = row(12, 1.0);
    links.record_prr(8, 9, Channel::LAST, 0.0, None).unwrap();
    let etx = transmissions(&links);
    assert_eq!(etx.between(8, 9), None);
    assert_eq!(etx.stations(2), [4, 10]);
    assert!(etx.nearest(0, &[10]).is_empty());
}

#[test]
fn exchange_finds_what_trying_all_finds() {
    for nodes in [7, 12, 20] {
        let etx = transmissions(&row(nodes, 0.9));
        for count in 1..=3 {
            let (all, some) = (etx.best_of_all(count), etx.by_exchange(count));
            let (all, some) = (etx.cost(&all), etx.cost(&some));
            assert!(some.1 <= all.1 * 1.05, "{nodes} {count}: {all:?} {some:?}");
        }
    }
}
