//! Tests of `forward.rs`.

use super::*;

#[test]
fn what_is_written_is_read() {
    let repr = Repr {
        previous: NodeId::new(0x1234).unwrap(),
        number: 0x0507,
        payload: &[1, 2, 3],
    };
    let frame = repr.frame().unwrap();
    assert_eq!(frame.len(), HEADER_BYTES + 3);
    assert_eq!(Repr::parse(&frame), Ok(repr));
    let told = usize::from(ORIGIN_AT)..usize::from(ORIGIN_END);
    assert_eq!(frame[told], origin(repr.previous));
    let head = Repr::parse(&frame[..HEADER_BYTES]).unwrap();
    assert_eq!((head.number, head.payload.len()), (0x0507, 0));
    for short in 0..HEADER_BYTES {
        assert!(Repr::parse(&frame[..short]).is_err());
    }
}

#[test]
fn other_frames_are_refused() {
    let frame = Repr {
        previous: NodeId::new(1).unwrap(),
        number: 7,
        payload: &[0; MAX_PAYLOAD],
    }
    .frame()
    .unwrap();
    for (at, byte) in [(3, dispatch::BEACON), (2, 8), (5, 0xff), (0, 0)] {
        let mut bytes: [u8; phy::MAX_MPDU] = frame[..].try_into().unwrap();
        bytes[at] = byte;
        assert_eq!(Repr::parse(&bytes).is_ok(), at == 5, "{at}");
    }
    let long = Repr {
        payload: &[0; MAX_PAYLOAD + 1],
        ..Repr::parse(&frame).unwrap()
    };
    assert_eq!(long.frame().err(), Some(WireError::NoRoom));
}
