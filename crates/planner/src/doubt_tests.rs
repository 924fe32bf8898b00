use super::*;
use crate::ageing::Ageing;
use thalweg_units::{Channel, Duration};

/// A model of a network with many more weak links than strong ones.
fn model() -> LinkModel {
    let margins = (0..400).map(|at| if at < 360 { 12.0 } else { 24.0 });
    LinkModel {
        ageing: Ageing::since(Duration::from_secs(4), Duration::ZERO, margins),
        ..LinkModel::UNKNOWN
    }
}

/// What is expected of a link before and after, where the other direction was heard with this level, or not.
fn doubted(received: u32, sent: u32, over_floor: f64, back: Option<f64>) -> (f64, f64) {
    let mut links = LinkQualities::new(3);
    let level = Some(LinkModel::UNKNOWN.floor + Db(over_floor));
    let on = Channel::LAST;
    links.record(0, 1, on, received, sent, level).unwrap();
    // Node 0 has reported.
    links.record(2, 0, on, sent, sent, level).unwrap();
    if let Some(back) = back {
        let level = Some(LinkModel::UNKNOWN.floor + Db(back));
        links.record(1, 0, on, sent, sent, level).unwrap();
    }
    let before = links.quality(0, 1, on).unwrap();
    let after = links.doubted(&model()).quality(0, 1, on).unwrap();
    (model().delivery(&before), model().delivery(&after))
}

#[test]
fn a_weak_link_is_doubted_and_a_strong_one_is_not() {
    let (before, after) = doubted(2, 2, 6.0, Some(6.0));
    assert!(before > 0.97 && after < before - 0.02, "{before} {after}");
    let (before, after) = doubted(2, 2, 20.0, Some(20.0));
    assert!(before - after < 1e-3, "{before} {after}");
}

#[test]
fn a_lost_beacon_says_more_than_the_level_of_the_other() {
    let (before, after) = doubted(1, 2, 6.0, Some(6.0));
    assert!(before > 0.9 && after < 0.8, "{before} {after}");
}

#[test]
fn many_beacons_are_believed() {
    let (before, after) = doubted(10, 10, 6.0, None);
    assert_eq!(before.to_bits(), after.to_bits());
}

#[test]
fn a_direction_in_which_nothing_was_heard_counts_against_the_other() {
    let (before, after) = doubted(2, 2, 9.0, None);
    assert!(before > 0.99 && after < 0.9, "{before} {after}");
    let (_, weaker) = doubted(2, 2, 9.0, Some(3.0));
    let (_, alike) = doubted(2, 2, 9.0, Some(9.0));
    assert!(weaker < alike, "{weaker} {alike}");
}
