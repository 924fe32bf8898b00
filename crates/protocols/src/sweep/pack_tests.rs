//! Tests of `pack.rs`.

use super::*;
use crate::linkprobe::NodeList;
use crate::sweep::{Sweep, FLOOR_DBM, SLOT};
use std::vec::Vec;
use thalweg_units::{BatteryLevel, Cause, ChannelSet, Duration, Restarts};

fn parameters(report_bytes: u8) -> Parameters {
    let nodes = NodeList::<256>::range(0, 139).unwrap();
    let channels = ChannelSet::EMPTY.with(Channel::FIRST).with(Channel::LAST);
    let times = (SLOT, Duration::ZERO);
    let sweep = Sweep::new(nodes, channels, 2, times, FLOOR_DBM).unwrap();
    sweep.parameters(Campaign::new(1), SLOT, report_bytes)
}

/// Neighbour n at -50 - n dBm on one channel, 20 dB less on the other.
fn table(neighbours: u16) -> LinkTable<64> {
    let mut table = LinkTable::EMPTY;
    table.begin(Campaign::new(1));
    for n in 0..neighbours {
        let (id, rssi) = (NodeId::new(n).unwrap(), -50.0 - f64::from(n));
        table.record(id, Channel::FIRST, Dbm(rssi));
        table.record(id, Channel::FIRST, Dbm(rssi));
        table.record(id, Channel::LAST, Dbm(rssi - 20.0));
    }
    table
}

fn told(table: &LinkTable<64>, parameters: &Parameters) -> Vec<LinkReport> {
    let content = levels_frame(NodeId::MAX, table, parameters, Health::UNTOLD).unwrap();
    assert!(content.len() <= usize::from(parameters.report_bytes).max(Levels::BYTES));
    Rows::new(NodeId::MAX, *parameters, content).collect()
}

#[test]
fn all_from_the_floor_on_are_told_strongest_first() {
    let links = told(&table(50), &parameters(117));
    let strong: Vec<_> = links
        .iter()
        .filter(|l| l.channel == Channel::FIRST)
        .collect();
    assert_eq!(strong.len(), 37, "-50 to -86 dBm");
    for (n, link) in (0u16..).zip(strong) {
        assert_eq!((link.from.get(), link.received), (n, 2));
        // No level is above the middle of the highest level.
        let rssi = (-50.0 - f64::from(n)).min(-54.0);
        assert!((link.rssi.0 - rssi).abs() <= 1.0, "{link:?}");
    }
    let weak: Vec<_> = links
        .iter()
        .filter(|l| l.channel == Channel::LAST)
        .collect();
    assert_eq!(weak.len(), 29, "-70 to -98 dBm");
    assert!(weak.iter().all(|l| l.received == 1));
}

#[test]
fn how_a_node_is_takes_bytes_of_the_rows_room() {
    let health = Health {
        battery: Some(BatteryLevel::of_millivolts(2_710)),
        restarts: Restarts::new(Cause::Watchdog, 3),
    };
    for bytes in [24, 60, 117] {
        let parameters = parameters(bytes);
        let content = levels_frame(NodeId::MAX, &table(50), &parameters, health).unwrap();
        assert!(content.len() <= usize::from(bytes));
        let mut r = Reader::new(&content);
        let head = Levels::parse(&mut r).unwrap();
        assert_eq!(head.battery, health.battery);
        assert_eq!(head.restarts(&parameters, r.rest()), Ok(health.restarts));
        let links: Vec<LinkReport> = Rows::new(NodeId::MAX, parameters, content).collect();
        let told = told(&table(50), &parameters);
        assert!(
            links.len() + 4 >= told.len() && links[0] == told[0],
            "{bytes}"
        );
    }
}

#[test]
fn where_all_are_weak_the_strongest_are_told() {
    let mut sparse = LinkTable::<64>::EMPTY;
    sparse.begin(Campaign::new(1));
    for n in 0..20u16 {
        let rssi = Dbm(-84.0 - f64::from(n));
        sparse.record(NodeId::new(n).unwrap(), Channel::LAST, rssi);
    }
    let links = told(&sparse, &parameters(117));
    let from: Vec<u16> = links.iter().map(|l| l.from.get()).collect();
    assert_eq!(from, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn where_there_is_no_room_strong_and_weak_ones_are_left() {
    let links = told(&table(50), &parameters(24));
    let from = |l: &LinkReport| (l.channel == Channel::FIRST).then_some(l.from.get());
    let told: Vec<u16> = links.iter().filter_map(from).collect();
    assert_eq!(told.len(), 9);
    assert_eq!((told[0], told[8]), (0, 36));
    assert!(
        told.windows(2).all(|w| (4..=5).contains(&(w[1] - w[0]))),
        "{told:?}"
    );
}

/// All of forty nodes hear each other, and a report has room for nine.
#[test]
fn where_many_have_no_room_both_ends_tell_of_the_same() {
    let nodes = 40;
    let told = |reports: Reports| {
        let parameters = Parameters {
            reports,
            ..parameters(24)
        };
        let of = |own: u16| {
            let mut table = LinkTable::<64>::EMPTY;
            table.begin(Campaign::new(1));
            for n in (0..nodes).filter(|n| *n != own) {
                let rssi = Dbm(-50.0 - f64::from((own * n + own + n) % 31));
                table.record(NodeId::new(n).unwrap(), Channel::FIRST, rssi);
            }
            let own = NodeId::new(own).unwrap();
            let content = levels_frame(own, &table, &parameters, Health::UNTOLD).unwrap();
            let links = Rows::new(own, parameters, content);
            links.map(|l| (l.from.get(), l.to.get())).collect()
        };
        let all: Vec<(u16, u16)> = (0..nodes).flat_map(|own| -> Vec<_> { of(own) }).collect();
        assert_eq!(all.len(), usize::from(nodes) * 9);
        let both = all.iter().filter(|(a, b)| all.contains(&(*b, *a))).count();
        both as f64 / all.len() as f64
    };
    assert!(told(Reports::Inwards) > 0.7, "{}", told(Reports::Inwards));
    assert!(told(Reports::Flooded) < 0.5, "{}", told(Reports::Flooded));
}

#[test]
fn nothing_and_another_campaign_are_reports_without_rows() {
    assert!(told(&LinkTable::EMPTY, &parameters(60)).is_empty());
    let other = Parameters {
        campaign: Campaign::new(7),
        ..parameters(60)
    };
    assert!(told(&table(9), &other).is_empty());
    assert!(told(&table(9), &parameters(0)).is_empty());
}
