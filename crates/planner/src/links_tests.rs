//! Records, and what cannot be one.

use super::*;

#[test]
fn records_add_up() {
    let mut links = LinkQualities::new(3);
    for (received, rssi) in [(10, -80.0), (5, -86.0)] {
        let rssi = Some(Dbm(rssi));
        (links.record(0, 1, Channel::LAST, received, 10, rssi)).unwrap();
    }
    assert_eq!(links.prr(0, 1, Channel::LAST), 0.75);
    assert_eq!(links.rssi(0, 1, Channel::LAST), Some(Dbm(-82.0)));
    assert_eq!(links.prr(1, 0, Channel::LAST), 0.0);
    assert_eq!(links.channels().len(), 1);
    let summary = links.summary(Channel::LAST);
    assert_eq!((summary.heard_pairs, summary.mean_prr), (1, 0.75));
}

#[test]
fn nonsense_is_refused_by_name() {
    let mut links = LinkQualities::new(3);
    let c = Channel::LAST;
    let (node, nodes) = (3, 3);
    let unknown = LinkError::UnknownNode { node, nodes };
    assert_eq!(links.record(0, 3, c, 1, 1, None), Err(unknown));
    let own = LinkError::OwnLink { node: 1 };
    assert_eq!(links.record(1, 1, c, 1, 1, None), Err(own));
    for (received, sent) in [(2, 1), (0, 0)] {
        let refused = links.record(0, 1, c, received, sent, None);
        assert!(matches!(refused, Err(LinkError::Count { .. })));
    }
    for prr in [1.1, f64::NAN] {
        let refused = links.record_prr(0, 1, c, prr, None);
        assert!(matches!(refused, Err(LinkError::Ratio { .. })));
    }
    assert!(links.set_places(vec![]).is_err());
    let said = unknown.to_string();
    assert_eq!(said, "node 3 is not one of the 3 nodes (0 to 2)");
    assert!(links.channels().is_empty());
}
