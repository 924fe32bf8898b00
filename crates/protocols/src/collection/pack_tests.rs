//! Tests of `pack.rs`.

use super::*;
use std::vec::Vec;
use thalweg_units::{BatteryLevel, Cause, Restarts};

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

fn table(neighbours: u16, channels: usize) -> LinkTable {
    let mut table = LinkTable::EMPTY;
    table.begin(Campaign::new(4));
    for n in 0..neighbours {
        for channel in Channel::all().take(channels) {
            for _ in 0..=n % 7 {
                table.record(id(n), channel, Dbm(-40.0 - f64::from(n)));
            }
        }
    }
    table
}

fn links(table: &LinkTable, floor: u8) -> (u8, Vec<LinkReport>) {
    told(table, floor, Health::UNTOLD)
}

fn told(table: &LinkTable, floor: u8, health: Health) -> (u8, Vec<LinkReport>) {
    let mut links = Vec::new();
    for frame in 0..=MAX_FRAMES {
        match report_frame(table, Campaign::new(4), floor, frame, health).unwrap() {
            Some(content) => {
                assert!(content.len() <= MAX_CONTENT);
                let report = Report::parse(&mut Reader::new(&content)).unwrap();
                assert_eq!(report.frame, frame);
                let first = if frame == 0 { health } else { Health::UNTOLD };
                assert_eq!(report.health, first);
                links.extend(Links::new(id(99), &report, content));
            }
            None => return (frame, links),
        }
    }
    (MAX_FRAMES, links)
}

#[test]
fn all_links_come_out_again_once() {
    for (neighbours, channels, frames) in [(1, 1, 1), (20, 1, 2), (30, 4, 4), (160, 16, 54)] {
        let (got, links) = links(&table(neighbours, channels), 1);
        assert_eq!(got, frames, "{neighbours} nodes, {channels} channels");
        assert_eq!(links.len(), usize::from(neighbours) * channels);
        for link in links {
            assert_eq!(link.received, (link.from.get() % 7) as u8 + 1);
            let whole = -40.0 - f64::from(link.from.get());
            assert_eq!((link.to, link.rssi), (id(99), Dbm(whole.max(-128.0))));
        }
    }
}

#[test]
fn how_a_node_is_is_told_once_beside_all_links() {
    let health = Health {
        battery: Some(BatteryLevel::of_millivolts(2_710)),
        restarts: Restarts::new(Cause::Watchdog, 3),
    };
    for neighbours in [0, 1, 30, 160] {
        let table = table(neighbours, 4);
        let (_, without) = links(&table, 1);
        assert_eq!(told(&table, 1, health).1, without, "{neighbours}");
    }
}

#[test]
fn an_empty_table_and_one_of_another_campaign_are_one_empty_frame() {
    assert_eq!(links(&LinkTable::EMPTY, 1), (1, Vec::new()));
    let mut other = table(3, 1);
    other.begin(Campaign::new(5));
    assert_eq!(links(&other, 1), (1, Vec::new()));
}

#[test]
fn weak_links_stay_below_the_floor() {
    let (_, links) = links(&table(14, 2), 7);
    assert_eq!(links.len(), 2 * 2);
    assert!(links.iter().all(|l| l.received == 7));
}
