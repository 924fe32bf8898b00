//! Tests of `links.rs`.
#![allow(clippy::unwrap_used)]

use crate::{LinkRow, Testbed};

fn row(src: u16, dst: u16, channel: Option<u8>, prr: f64) -> LinkRow {
    LinkRow {
        src,
        dst,
        channel,
        prr,
        rssi_dbm: Some(-80.0),
    }
}

#[test]
fn links_are_the_same_as_values_and_in_a_file() {
    let rows = [
        row(7, 2, Some(26), 0.5),
        row(2, 7, Some(26), 1.0),
        row(2, 7, None, 0.25),
        row(7, 7, None, 1.0),
    ];
    let mine = Testbed::of_links("mine", &rows).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.csv");
    let text =
        "src,dst,channel,prr,rssi_dbm\n7,2,26,.5,-80\n2,7,26,1,-80\n2,7,,.25,-80\n7,7,,1,-80\n";
    std::fs::write(&path, text).unwrap();
    let read = Testbed::load(&path).unwrap();
    assert_eq!(format!("{mine:?}"), format!("{read:?}"));
    assert_eq!(mine.digest(), read.digest());
    let other = Testbed::of_links("mine", &rows[..2]).unwrap();
    assert_ne!(mine.digest(), other.digest());
}

#[test]
fn what_is_wrong_is_told_with_its_row() {
    let told = |rows: &[LinkRow]| Testbed::of_links("mine", rows).unwrap_err().to_string();
    let good = row(1, 2, Some(26), 0.9);
    assert_eq!(
        told(&[good, row(1, 3, None, 1.5), row(1, 0xffff, None, 0.5)]),
        "mine, row 1: prr is `1.5`; expected a ratio from 0 to 1\n\
         mine, row 2: dst is `65535`; expected a node's number, 0..65533"
    );
    assert!(told(&[row(1, 2, Some(27), 0.5)]).contains("row 0: channel is `27`"));
    assert!(told(&[good, good]).contains("row 1: the link 1 -> 2 on channel 26 is given twice"));
    assert!(told(&[row(1, 2, None, f64::NAN)]).contains("row 0: prr"));
    let loud = LinkRow {
        rssi_dbm: Some(30.0),
        ..good
    };
    assert!(told(&[loud]).contains("row 0: rssi_dbm"));
    assert!(told(&[]).contains("no links"));
}
