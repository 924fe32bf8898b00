//! Tests of `addressed.rs`.

use super::*;
use crate::FrameBuf;

#[test]
fn headers_and_acknowledgements_round_trip() {
    let from = NodeId::new(7).unwrap();
    for to in [None, Some(NodeId::new(9).unwrap())] {
        let header = Header {
            sequence: 200,
            to,
            from,
        };
        let frame = FrameBuf::build(|w| header.emit(w)).unwrap();
        assert_eq!(frame.len(), HEADER_BYTES);
        assert_eq!(Header::parse(&mut Reader::new(&frame)), Ok(header));
        assert_eq!(destination(&frame), to);
        assert!(Ack::parse(&frame).is_err());
    }
    for congestion in [Congestion::Clear, Congestion::Congested] {
        let ack = Ack {
            sequence: 3,
            congestion,
        };
        assert_eq!(Ack::parse(&ack.bytes()), Ok(ack));
        assert_eq!(destination(&ack.bytes()), None);
    }
    assert_eq!(Ack::parse(&[2, 0]), Err(WireError::Truncated));
}
