//! Deliveries by margin, count and interference.

use super::*;

fn table(received: u32, rssi: f64) -> LinkQualities {
    let mut links = LinkQualities::new(4);
    for from in [0, 2, 3] {
        let rssi = Some(Dbm(rssi));
        (links.record(from, 1, Channel::LAST, received, 10, rssi)).unwrap();
    }
    links
}

fn expected(received: u32, rssi: f64) -> Expected {
    Expected::new(&table(received, rssi), ChannelSet::ALL, &LinkModel::UNKNOWN)
}

#[test]
fn margin_tells_what_ten_beacons_cannot() {
    let at = |received, rssi| expected(received, rssi).together(&[0], 1, Channel::LAST, 0.0);
    assert!(at(10, -94.0) < 0.9, "{}", at(10, -94.0));
    assert!(at(10, -87.0) > 0.999, "{}", at(10, -87.0));
    assert!(at(8, -87.0) < at(10, -87.0));
    assert!(at(10, -91.0) > at(10, -92.0));
}

#[test]
fn interference_counts_by_its_power() {
    let table = expected(10, -85.0);
    let at = |level: f64| table.together(&[0], 1, Channel::LAST, Dbm(level).milliwatts().0);
    assert!(at(-110.0) > 0.99);
    assert!(at(-85.0) < 0.3, "{}", at(-85.0));
    assert!(at(-92.0) < at(-96.0));
}

#[test]
fn equal_senders_beat_and_unequal_ones_may_not() {
    let table = expected(10, -80.0);
    let one = table.together(&[0], 1, Channel::LAST, 0.0);
    let two = table.together(&[0, 2], 1, Channel::LAST, 0.0);
    assert!(two < 0.9 && one > 0.999, "{two} {one}");
}

#[test]
fn ratios_without_counts_or_power_are_taken_as_they_are() {
    let mut links = LinkQualities::new(2);
    links.record_prr(0, 1, Channel::LAST, 0.93, None).unwrap();
    let table = Expected::new(&links, ChannelSet::ALL, &LinkModel::UNKNOWN);
    assert_eq!(table.together(&[0], 1, Channel::LAST, 1.0), 0.93);
    assert_eq!(table.together(&[1], 0, Channel::LAST, 0.0), 0.0);
    assert_eq!(table.interference(0, 1, Channel::LAST, Channel::LAST), 0.0);
}
