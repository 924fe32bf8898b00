//! Tests of `stream.rs`.

use super::*;
use thalweg_units::Channel900;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn path(hops: u16) -> Path {
    let nodes: [NodeId; MAX_PATH] = core::array::from_fn(|n| id(n as u16 + 1));
    let links: [Tuning; MAX_PATH] = core::array::from_fn(|n| match n % 2 {
        0 => Tuning::Ghz2_4(Channel::LAST),
        _ => Tuning::Mhz900(Channel900::new(3).unwrap()),
    });
    let hops = usize::from(hops);
    Path::new(&nodes[..=hops], &links[..hops]).unwrap()
}

#[test]
fn a_packet_of_100_bytes_is_122_on_the_air() {
    let packet = Packet {
        link: Header {
            sequence: 9,
            to: Some(id(2)),
            from: id(1),
        },
        stream: 3,
        round: 1,
        number: 777,
        content: Content::Data(&[5; 100]),
    };
    let frame = packet.frame().unwrap();
    assert_eq!(Packet::parse(&frame), Ok(packet));
    assert_eq!(phy::air_time(frame.len()), phy::BYTE * 122);
    let end = Packet {
        content: Content::End,
        ..packet
    };
    assert_eq!(Packet::parse(&end.frame().unwrap()), Ok(end));
    for short in 0..HEADER_BYTES {
        assert!(Packet::parse(&frame[..short]).is_err());
    }
}

#[test]
fn calls_round_trip_and_nonsense_is_refused() {
    for (hops, ranges) in [(1, 0), (11, 8), (23, 2)] {
        let call = Call {
            stream: 1,
            round: 2,
            version: Version::Full,
            payload_bytes: 100,
            path: path(hops),
            ranges: core::array::from_fn(|n| {
                let first = n as u16 * 10;
                (n < ranges).then_some(Range { first, count: 2 })
            }),
        };
        let frame = call.frame(4, id(3), id(2)).unwrap();
        let (header, read) = Call::parse(&frame).unwrap();
        assert_eq!((header.sequence, read), (4, call));
        for short in 0..frame.len() {
            let _ = Call::parse(&frame[..short]);
        }
    }
    let twice = [id(1), id(2), id(1)];
    let link = Tuning::Ghz2_4(Channel::LAST);
    assert_eq!(Path::new(&twice, &[link, link]), None);
    assert_eq!(Path::new(&twice[..1], &[]), None);
}

#[test]
fn calls_and_packets_with_an_impossible_field_are_refused() {
    let link = Header {
        sequence: 9,
        to: Some(id(2)),
        from: id(1),
    };
    let call = Call {
        stream: 1,
        round: 2,
        version: Version::Full,
        payload_bytes: MAX_PAYLOAD as u8,
        path: path(2),
        ranges: [None; MAX_RANGES],
    };
    let good = call.frame(4, id(1), id(2)).unwrap();
    let parse = |bytes: &[u8]| Call::parse(bytes).map(drop);
    assert_eq!(parse(&good), Ok(()));
    // After the header of nine bytes: dispatch, stream, round, version, payload, hops, nodes, links.
    for (at, byte, why) in [
        (9, dispatch::STREAM_DATA, "another frame"),
        (12, 3, "no version"),
        (13, MAX_PAYLOAD as u8 + 1, "a payload that no frame holds"),
        (14, 0, "a path of one node"),
        (14, 24, "a path of 25 nodes"),
        (17, 1, "a node twice"),
        (21, 0, "no channel"),
    ] {
        let mut bad = good;
        bad[at] = byte;
        assert_eq!(parse(&bad), Err(WireError::Malformed), "{why}");
    }
    for short in 0..good.len() {
        assert_eq!(parse(&good[..short]), Err(WireError::Truncated), "{short}");
    }
    for more in 1..=4 * (MAX_RANGES + 1) {
        let longer = [&good[..], &[1; 99][..more]].concat();
        let expected = match (more % 4, more <= 4 * MAX_RANGES) {
            (0, true) => Ok(()),
            (_, true) => Err(WireError::Truncated),
            (_, false) => Err(WireError::Malformed),
        };
        assert_eq!(parse(&longer), expected, "{more}");
    }
    let content = Content::End;
    let end = Packet {
        link,
        stream: 3,
        round: 1,
        number: 7,
        content,
    };
    let frame = end.frame().unwrap();
    let with_payload = [&frame[..], &[0]].concat();
    assert_eq!(Packet::parse(&with_payload), Err(WireError::Malformed));
    let mut long = [0; phy::MAX_MPDU + 1];
    long[..frame.len()].copy_from_slice(&frame);
    long[9] = dispatch::STREAM_DATA;
    assert!(Packet::parse(&long[..phy::MAX_MPDU]).is_ok());
    assert_eq!(Packet::parse(&long), Err(WireError::Malformed));
    long[9] = dispatch::STREAM_CALL;
    assert_eq!(Packet::parse(&long[..20]), Err(WireError::Malformed));
    assert_eq!(
        [Version::NoAck, Version::NoBackPressure, Version::Full].map(Version::acknowledges),
        [false, true, true]
    );
}
