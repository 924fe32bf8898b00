use super::*;
use crate::Site;
use thalweg_medium::EarId;
use thalweg_units::Channel;

#[test]
fn stations_leave_the_building_as_it_is() {
    let testbed = Testbed::load("floor21").unwrap();
    let along = |along, radios| Station::PutUp { along, radios };
    let equipped = equip(&testbed, &[along(0.0, 2), along(1.0, 1)], 5).unwrap();
    let own = testbed.len();
    assert_eq!(equipped.sinks, [own, own + 1, own + 2]);
    assert_eq!(equipped.sources.len(), own);
    let place = |n: usize| equipped.testbed.nodes[n].placement.unwrap().position;
    assert!((place(own).distance_m(&place(own + 1)) - 1.0).abs() < 1e-9);
    assert!(place(own + 2).x_m > place(own + 1).x_m);
    let mut ids: Vec<NodeId> = equipped.testbed.nodes.iter().map(|n| n.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), own + 3);
    let (bare, site) = (Site::new(testbed, 5), Site::new(equipped.testbed, 5));
    for from in 0..own {
        for to in (0..own).filter(|&to| to != from) {
            let ends = (EarId(from as u32), EarId(to as u32));
            let rssi = |s: &Site| s.environment.mean_rssi(ends.0, ends.1, Channel::LAST);
            assert_eq!(rssi(&bare).map(|r| r.0), rssi(&site).map(|r| r.0));
        }
    }
}

#[test]
fn what_cannot_be_is_said() {
    let testbed = Testbed::load("floor21").unwrap();
    let missing = NodeId::new(9_999).unwrap();
    let error = equip(&testbed, &[Station::Node(missing)], 1).unwrap_err();
    assert_eq!(error.to_string(), "floor21: has no node 9999");
    let nowhere = equip(&testbed, &[], 1).unwrap_err();
    assert_eq!(nowhere, StationError::NoStation);
}
