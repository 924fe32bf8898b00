//! Tests of `survey.rs`.

use super::*;
use crate::seal::SoftwareAes;
use proptest::prelude::*;

fn node(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}
fn key(of: u8) -> Key {
    Key::new([of; 16])
}
fn keys<'a>(tag: &'a Key, stream: &'a Key) -> ReportKeys<'a> {
    ReportKeys { tag, stream }
}

#[test]
fn no_bit_of_a_beacon_may_change() {
    let aes = &mut SoftwareAes::default();
    let mut beacon = FrameBuf::from_slice(&[0x5d; 32]).unwrap();
    assert!(!is_beacon_right(aes, &key(1), &beacon));
    seal_beacon(aes, &key(1), &mut beacon);
    assert_eq!((&beacon[..28], beacon.len()), (&[0x5d; 28][..], 32));
    assert!(is_beacon_right(aes, &key(1), &beacon));
    assert!(!is_beacon_right(aes, &key(2), &beacon), "of another survey");
    for bit in 0..beacon.len() * 8 {
        let mut flipped = beacon;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(!is_beacon_right(aes, &key(1), &flipped), "bit {bit}");
    }
    for len in 0..beacon.len() {
        assert!(!is_beacon_right(aes, &key(1), &beacon[..len]));
    }
}

#[test]
fn a_report_says_nothing_to_others_and_no_bit_of_it_may_change() {
    let (aes, tag, stream) = (&mut SoftwareAes::default(), key(1), key(2));
    let keys = keys(&tag, &stream);
    let content: [u8; 60] = core::array::from_fn(|at| if at == 0 { 0x35 } else { at as u8 });
    let sealed = keys.seal(aes, node(7), &content).unwrap();
    assert_eq!((sealed.len(), sealed[0]), (content.len() + MIC, 0x35 | 8));
    let same = content.iter().zip(&*sealed).filter(|(a, b)| a == b);
    assert!(same.count() < 5, "encrypted");
    let plain = keys.open(aes, node(7), &sealed).unwrap();
    assert_eq!(plain[1..], content[1..]);
    assert!(keys.open(aes, node(8), &sealed).is_none(), "another's");
    for bit in 0..sealed.len() * 8 {
        let mut flipped = sealed;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(keys.open(aes, node(7), &flipped).is_none(), "bit {bit}");
    }
    for len in 0..sealed.len() {
        assert!(keys.open(aes, node(7), &sealed[..len]).is_none());
    }
    // One neighbour is four bytes.
    let short = keys.seal(aes, node(7), &content[..4]).unwrap();
    assert_eq!(keys.open(aes, node(7), &short).unwrap()[1..], content[1..4]);
    assert!(keys.seal(aes, node(7), &[]).is_err());
    // Another content has another key stream.
    let other = [0x35; 60];
    let again = keys.seal(aes, node(7), &other).unwrap();
    let xor = |a: &[u8], b: &[u8]| -> [u8; 59] { core::array::from_fn(|at| a[1 + at] ^ b[1 + at]) };
    assert_ne!(xor(&sealed, &again), xor(&content, &other));
}

#[test]
fn a_repeat_is_whose_it_says_and_no_other_flood() {
    let (aes, announcement) = (&mut SoftwareAes::default(), [0x94; 40]);
    let of = (node(3), 77);
    let good = seal_repeat(aes, &key(1), (node(9), of), &announcement).unwrap();
    assert_eq!(good.len(), announcement.len() + REPEAT_BYTES);
    let (plain, told) = open_repeat(aes, &key(1), node(9), &good).unwrap();
    assert_eq!((&plain[..], told), (&announcement[..], of));
    assert!(open_repeat(aes, &key(1), node(8), &good).is_none());
    for bit in 0..good.len() * 8 {
        let mut flipped = good;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(open_repeat(aes, &key(1), node(9), &flipped).is_none());
    }
    // A base station's own announcement is no repeat, and cannot be made one.
    let own = crate::seal::frame::seal_flood(aes, &key(1), (node(9), 5), &announcement).unwrap();
    assert!(open_repeat(aes, &key(1), node(9), &own).is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..130)) {
        let (aes, tag, stream) = (&mut SoftwareAes::default(), key(1), key(2));
        prop_assert!(!is_beacon_right(aes, &tag, &bytes));
        prop_assert!(keys(&tag, &stream).open(aes, node(1), &bytes).is_none());
        prop_assert!(open_repeat(aes, &tag, node(1), &bytes).is_none());
    }
}
