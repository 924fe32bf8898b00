//! Tests of `bits.rs`.

use super::*;

const ALL: u16 = 16_384;
type Set = Bits<{ ALL as usize / 8 }>;

#[test]
fn members_are_found_in_order() {
    let mut set = Set::EMPTY;
    for k in [0, 7, 8, 300, ALL - 1] {
        assert!(set.insert(k));
        assert!(!set.insert(k));
    }
    assert!(!set.insert(ALL));
    let mut found = [0; 5];
    let mut from = 0;
    for slot in &mut found {
        *slot = set.first_from(from).unwrap();
        from = *slot + 1;
    }
    assert_eq!(found, [0, 7, 8, 300, ALL - 1]);
    assert_eq!(set.first_from(ALL), None);
    set.remove(300);
    assert_eq!(set.first_from(9), Some(ALL - 1));
}

#[test]
fn what_is_missing_ends_at_n() {
    let mut set = Set::EMPTY;
    set.fill_to(10);
    set.remove(9);
    assert_eq!(set.missing_byte(0, 10), 0);
    assert_eq!(set.missing_byte(1, 10), 0b10);
    assert_eq!(set.missing_byte(1, 12), 0b1110);
    assert_eq!(set.missing_byte(2, 10), 0);
    assert_eq!(set.missing_byte(9_999, u16::MAX), 0);
    assert!(set.missing(0, 12).eq([9, 10, 11]));
    assert!(set.missing(10, 18).eq(10..18));
    assert_eq!(set.missing(0, 9).next(), None);
    set.fill_to(ALL);
    assert_eq!(set.missing(0, ALL).next(), None);
}
