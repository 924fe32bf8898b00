//! Tests of `cobs.rs`.

use super::*;
use proptest::prelude::*;

fn stuffed(bytes: &[u8]) -> ([u8; 1024], usize) {
    let mut into = [0xaa; 1024];
    let n = stuff(bytes, &mut into).unwrap();
    (into, n)
}

#[test]
fn the_published_examples() {
    for (bytes, wanted) in [
        (&[][..], &[1][..]),
        (&[0], &[1, 1]),
        (&[0, 0], &[1, 1, 1]),
        (&[0x11, 0x22, 0, 0x33], &[3, 0x11, 0x22, 2, 0x33]),
        (&[0x11, 0, 0, 0], &[2, 0x11, 1, 1, 1]),
    ] {
        let (into, n) = stuffed(bytes);
        assert_eq!(&into[..n], wanted);
    }
    let long = [1; 254];
    let (into, n) = stuffed(&long);
    assert_eq!((n, into[0]), (255, 0xff));
}

proptest! {
    #[test]
    fn what_was_stuffed_is_unstuffed(
        bytes in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..600),
    ) {
        let (mut into, n) = stuffed(&bytes);
        prop_assert!(n <= stuffed_len(bytes.len()));
        prop_assert!(!into[..n].contains(&DELIMITER));
        let m = unstuff(&mut into[..n]).unwrap();
        prop_assert_eq!(&into[..m], &bytes[..]);
        prop_assert_eq!(stuff(&bytes, &mut [0; 1024][..n - 1]), None);
    }

    #[test]
    fn any_bytes_are_unstuffed_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        if let Some(n) = unstuff(&mut bytes) {
            prop_assert!(n < bytes.len().max(1));
        }
    }
}
