//! Tests of `table.rs`.

use super::*;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn heard(received: u8, rssi: i8) -> Option<Received> {
    Some(Received { received, rssi })
}

#[test]
fn counts_and_mean_strength_are_kept_by_neighbour_and_channel() {
    let mut table = LinkTable::<2>::EMPTY;
    table.begin(Campaign::new(1));
    for rssi in [-80.0, -81.0, -83.0] {
        table.record(id(5), Channel::LAST, Dbm(rssi));
    }
    table.record(id(6), Channel::FIRST, Dbm(-60.4));
    table.record(id(7), Channel::FIRST, Dbm(-60.0));
    assert_eq!((table.len(), table.dropped()), (2, 1));
    let rows: std::vec::Vec<Row> = table.rows(1).collect();
    assert_eq!(rows[0].neighbour, id(5));
    assert_eq!(rows[0].heard[15], heard(3, -81));
    assert_eq!(rows[1].heard[0], heard(1, -60));
    assert_eq!(rows[1].heard.iter().flatten().count(), 1);
    assert_eq!(table.rows(2).count(), 1);
}

#[test]
fn a_stronger_neighbour_takes_the_place_of_the_weakest() {
    let mut table = LinkTable::<2>::EMPTY;
    for (from, rssi) in [(5, -90.0), (6, -80.0), (7, -95.0), (8, -70.0), (6, -80.0)] {
        table.record_strong(id(from), Channel::LAST, Dbm(rssi));
    }
    let rows: std::vec::Vec<Row> = table.rows(1).collect();
    assert_eq!(
        (rows[0].neighbour, rows[0].heard[15]),
        (id(8), heard(1, -70))
    );
    assert_eq!(
        (rows[1].neighbour, rows[1].heard[15]),
        (id(6), heard(2, -80))
    );
    assert_eq!((rows.len(), table.dropped()), (2, 2));
}

#[test]
fn a_new_campaign_forgets_the_old_one() {
    let mut table = LinkTable::<4>::EMPTY;
    table.begin(Campaign::new(1));
    table.record(id(5), Channel::LAST, Dbm(-80.0));
    table.begin(Campaign::new(1));
    assert_eq!(table.len(), 1);
    table.begin(Campaign::new(2));
    assert!(table.is_empty());
    table.record(id(5), Channel::FIRST, Dbm(-70.0));
    let row = table.rows(1).next().unwrap();
    assert_eq!(row.heard[15], None, "nothing of the old campaign is left");
}

#[test]
fn the_largest_sum_does_not_overflow() {
    let mut table = LinkTable::<1>::EMPTY;
    (0..300).for_each(|_| table.record(id(1), Channel::LAST, Dbm(-500.0)));
    let row = table.rows(1).next().unwrap();
    assert_eq!(row.heard[15], heard(255, -128));
}
