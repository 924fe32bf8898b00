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

#[test]
fn headers_and_acknowledgements_have_the_standards_bytes_and_others_are_refused() {
    let ack = |congestion| {
        Ack {
            sequence: 3,
            congestion,
        }
        .bytes()
    };
    assert_eq!(ack(Congestion::Clear), [0x02, 0, 3]);
    assert_eq!(ack(Congestion::Congested), [0x12, 0, 3], "frame pending");
    for bad in [[0x01, 0, 3], [0x22, 0, 3], [0x32, 0, 3], [0x02, 0x20, 3]] {
        assert_eq!(Ack::parse(&bad), Err(WireError::Malformed), "{bad:?}");
    }
    assert_eq!(Ack::parse(&[0x02, 0, 3, 0]), Err(WireError::Malformed));
    let parse = |bytes: &[u8]| Header::parse(&mut Reader::new(bytes)).map(|header| header.to);
    // Data with an acknowledgement wanted, sequence, PAN, to 9, from 7.
    let good = [0x61, 0x88, 200, 0x57, 0x54, 9, 0, 7, 0];
    assert_eq!(parse(&good), Ok(NodeId::new(9).ok()));
    let all = [0x41, 0x88, 200, 0x57, 0x54, 0xff, 0xff, 7, 0];
    assert_eq!(parse(&all), Ok(None));
    for (at, byte, why) in [
        (0, 0x41, "one neighbour's wants an acknowledgement"),
        (0, 0x71, "frame pending"),
        (1, 0x98, "another version"),
        (3, 0x58, "another PAN"),
        (4, 0x55, "another PAN"),
    ] {
        let mut bad = good;
        bad[at] = byte;
        assert_eq!(parse(&bad), Err(WireError::Malformed), "{why}");
    }
    let wants = [&[0x61][..], &all[1..]].concat();
    assert_eq!(parse(&wants), Err(WireError::Malformed), "all acknowledge");
    let nobody = [&all[..7], &[0xff, 0xff]].concat();
    assert_eq!(parse(&nobody), Err(WireError::Malformed), "from all");
    for short in 0..HEADER_BYTES {
        assert_eq!(parse(&good[..short]), Err(WireError::Truncated), "{short}");
    }
}
