//! Tests of `tree.rs`.

use super::*;
use crate::FrameBuf;
use proptest::prelude::*;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

#[test]
fn all_kinds_round_trip() {
    let link = Header {
        sequence: 9,
        to: Some(id(2)),
        from: id(3),
    };
    for (direction, header) in [
        (Direction::Up, DATA_HEADER_BYTES),
        (Direction::Down { to: id(41) }, DATA_HEADER_BYTES + 2),
    ] {
        let data = Data {
            link,
            stamp: stamp(Congestion::Congested),
            direction,
            origin: id(40),
            number: 513,
            hops: 2,
            payload: &[1, 2, 3],
        };
        let frame = FrameBuf::build(|w| data.emit(w)).unwrap();
        assert_eq!(frame.len(), header + 3);
        assert_eq!(congestion([frame[STAMP_AT]]), Ok(Congestion::Congested));
        assert_eq!(Repr::parse(&frame), Ok(Repr::Data(data)));
        let cut = Repr::parse(&frame[..header - 1]);
        assert_eq!(cut, Err(WireError::Truncated));
    }
    assert_eq!(congestion([2]), Err(WireError::Malformed));

    let routes = [Route {
        sink: id(6),
        sequence: 12,
        cost: 40,
        parent: id(7),
    }];
    let links = [1, 2].map(|n| LinkQuality {
        neighbour: id(n),
        received: 200,
    });
    let link = Header { to: None, ..link };
    let frame = FrameBuf::build(|w| Beacon::emit(w, link, [0], &routes, links.into_iter()));
    let frame = frame.unwrap();
    let bytes = BEACON_HEADER_BYTES + ROUTE_BYTES + 2 * LINK_BYTES;
    assert_eq!(frame.len(), bytes);
    let Ok(Repr::Beacon(beacon)) = Repr::parse(&frame) else {
        panic!("no beacon");
    };
    assert!(beacon.routes().eq(routes) && beacon.links().eq(links));

    let route = LqiRoute {
        cost: 1_160,
        hops: 3,
        parent: id(7),
    };
    for route in [Some(route), None] {
        let stamp = [1];
        let beacon = LqiBeacon { link, stamp, route };
        let frame = FrameBuf::build(|w| beacon.emit(w)).unwrap();
        assert_eq!(Repr::parse(&frame), Ok(Repr::LqiBeacon(beacon)));
    }

    let stamp = [0];
    let notice = Notice { link, stamp };
    let frame = FrameBuf::build(|w| notice.emit(w)).unwrap();
    assert_eq!(Repr::parse(&frame), Ok(Repr::Notice(notice)));
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..125)) {
        if let Ok(Repr::Beacon(beacon)) = Repr::parse(&bytes) {
            prop_assert!(beacon.routes().count() + beacon.links().count() <= 40);
        }
    }
}
