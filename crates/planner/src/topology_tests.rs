//! Rules and graphs.

use super::*;

fn table(ab: (u32, f64), ba: (u32, f64)) -> LinkQualities {
    let mut links = LinkQualities::new(2);
    for (from, to, (received, rssi)) in [(0, 1, ab), (1, 0, ba)] {
        let rssi = Some(Dbm(rssi));
        (links.record(from, to, Channel::LAST, received, 10, rssi)).unwrap();
    }
    links
}

#[test]
fn a_link_needs_beacons_and_margin_both_ways() {
    let rule = LinkRule::default().with_margin(Some(Db(4.0)));
    let admits = |ab, ba, rule: LinkRule| rule.admits(&table(ab, ba), 0, 1, Channel::LAST);
    assert!(admits((10, -91.5), (9, -91.5), rule));
    assert!(!admits((10, -91.5), (8, -91.5), rule));
    assert!(!admits((10, -91.6), (10, -80.0), rule));
    assert!(!admits((10, -80.0), (10, -91.6), rule));
    assert!(admits((10, -91.6), (10, -80.0), rule.weaker()[0]));
    assert!(admits((7, -95.0), (10, -95.0), rule.weaker()[2]));
    let min_prr = 0.0;
    let any = LinkRule { min_prr, ..rule };
    assert!(!admits((0, -95.0), (10, -95.0), any));
}

#[test]
fn rssi_is_asked_for_only_where_known() {
    let mut links = LinkQualities::new(2);
    links.record_prr(0, 1, Channel::LAST, 0.95, None).unwrap();
    links.record_prr(1, 0, Channel::LAST, 0.95, None).unwrap();
    assert!(LinkRule::default().admits(&links, 0, 1, Channel::LAST));
    assert!(!LinkRule::default().admits(&links, 0, 1, Channel::FIRST));
}

#[test]
fn hops_and_components() {
    let graph = Topology::from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 4)]);
    assert_eq!(
        graph.hops_from(0),
        [Some(0), Some(1), Some(2), Some(1), None, None]
    );
    assert_eq!(graph.components(), [vec![0, 1, 2, 3], vec![4, 5]]);
    assert_eq!(graph.mean_degree(), 10.0 / 6.0);
    assert!(graph.linked(4, 5) && !graph.linked(0, 2));
}
