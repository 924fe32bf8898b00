//! Tests of `flood.rs`.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_flood_round_trips(
        sequence: u8,
        id in 0..=NodeId::MAX.get(),
        n in 0..=MAX_N_TX,
        relay in 0..=MAX_RELAY,
        content in prop::collection::vec(any::<u8>(), 0..=MAX_CONTENT),
    ) {
        let repr = Repr {
            sequence,
            initiator: NodeId::new(id).unwrap(),
            course: Ntx::new(n).map_or(Course::Inwards, Course::Outwards),
            relay,
            content: &content,
        };
        let mut frame = FrameBuf::build(|w| repr.emit(w)).unwrap();
        prop_assert_eq!(Repr::parse(&frame), Ok(repr));
        patch_relay(&mut frame, 30 - relay.min(30));
        prop_assert_eq!(Repr::parse(&frame), Ok(Repr { relay: 30 - relay.min(30), ..repr }));
    }

    #[test]
    fn any_bytes_are_parsed_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..=130),
    ) {
        if let Ok(repr) = Repr::parse(&bytes) {
            let frame = FrameBuf::build(|w| repr.emit(w));
            prop_assert_eq!(&*frame.unwrap(), &bytes[..]);
        }
        if let Ok((kind, campaign)) = Kind::parse_tag(&mut Reader::new(&bytes)) {
            let frame = FrameBuf::build(|w| kind.emit(campaign, w)).unwrap();
            prop_assert_eq!(frame[0], bytes[0] & !0x08);
            prop_assert_eq!(is_sealed(&bytes), frame[0] != bytes[0]);
        }
    }
}

#[test]
fn impossible_fields_are_refused() {
    assert_eq!(Ntx::new(0), None);
    assert_eq!(Ntx::new(8), None);
    let repr = Repr {
        sequence: 0,
        initiator: NodeId::MAX,
        course: Course::Inwards,
        relay: 32,
        content: &[],
    };
    assert_eq!(FrameBuf::build(|w| repr.emit(w)), Err(WireError::Malformed));
    assert_eq!(Campaign::new(15).next(), Campaign::new(0));
}

#[test]
fn floods_that_are_none_are_refused() {
    let good = [0x01, 0x20, 7, dispatch::FLOOD, 9, 0, 0x62, 1, 2];
    assert!(Repr::parse(&good).is_ok());
    for (at, byte) in [(0, 0x41), (3, dispatch::BEACON), (5, 0xff)] {
        let mut bad = good;
        (bad[4], bad[at]) = (0xff, byte);
        assert_eq!(Repr::parse(&bad), Err(WireError::Malformed), "{at}");
    }
    for short in 0..HEADER_BYTES {
        let parsed = Repr::parse(&good[..short]);
        assert_eq!(parsed, Err(WireError::Truncated), "{short}");
    }
    let mut long = [0; phy::MAX_MPDU + 1];
    long[..good.len()].copy_from_slice(&good);
    assert!(Repr::parse(&long[..phy::MAX_MPDU]).is_ok());
    assert_eq!(Repr::parse(&long), Err(WireError::Malformed));
    let tag = |byte| Kind::parse_tag(&mut Reader::new(&[byte])).map(|(kind, _)| kind);
    let kinds = [
        Kind::Application,
        Kind::Announce,
        Kind::Schedule,
        Kind::Report,
        Kind::Sweep,
        Kind::Levels,
        Kind::Repeat,
    ];
    for (byte, kind) in (0x30..).zip(kinds) {
        assert_eq!(tag(byte), Ok(kind));
        let campaign = |of: Kind| of.parse(&mut Reader::new(&[byte]));
        for other in kinds {
            assert_eq!(
                campaign(other).ok(),
                (other == kind).then_some(Campaign::new(3))
            );
        }
    }
    assert_eq!(tag(0x37), Err(WireError::Malformed));
    let mut frame = FrameBuf::from_slice(&good).unwrap();
    patch_relay(&mut frame, 40);
    assert_eq!(frame[6], 0x60 | MAX_RELAY, "N_tx stays");
}
