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

#[test]
fn frames_that_are_none_are_refused() {
    let link = Header {
        sequence: 9,
        to: None,
        from: id(3),
    };
    let none = core::iter::empty();
    let beacon = FrameBuf::build(|w| Beacon::emit(w, link, [0], &[], none)).unwrap();
    let parse = |bytes: &[u8]| Repr::parse(bytes).map(drop);
    assert_eq!(parse(&beacon), Ok(()));
    for (at, byte, why) in [
        (0, 0x02, WireError::Malformed),
        (9, dispatch::BEACON, WireError::Malformed),
        (11, 5 << 5, WireError::Malformed),
        (11, 1 << 5, WireError::Truncated),
        (11, 1, WireError::Truncated),
    ] {
        let mut bad = beacon;
        bad[at] = byte;
        assert_eq!(parse(&bad), Err(why), "{at} {byte}");
    }
    let (stamp, route) = ([0], None);
    let lqi = FrameBuf::build(|w| LqiBeacon { link, stamp, route }.emit(w)).unwrap();
    let notice = FrameBuf::build(|w| Notice { link, stamp }.emit(w)).unwrap();
    for frame in [beacon, lqi, notice] {
        for short in 0..frame.len() {
            assert_eq!(parse(&frame[..short]), Err(WireError::Truncated), "{short}");
        }
    }
    let route = Route {
        sink: id(6),
        sequence: 12,
        cost: 40,
        parent: id(7),
    };
    let quality = LinkQuality {
        neighbour: id(1),
        received: 200,
    };
    let emit = |routes, links| {
        let links = core::iter::repeat_n(quality, links);
        let mut room = [0; 300];
        Beacon::emit(
            &mut Writer::new(&mut room),
            link,
            [0],
            &[route; 5][..routes],
            links,
        )
    };
    assert_eq!(emit(MAX_ROUTES, MAX_LINKS), Ok(()));
    assert_eq!(emit(MAX_ROUTES + 1, 0), Err(WireError::NoRoom));
    assert_eq!(emit(0, MAX_LINKS + 1), Err(WireError::NoRoom));
}
