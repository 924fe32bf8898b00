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
