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
