//! Every frame is read as it was written, and nothing else is.

extern crate std;

use super::*;
use crate::route::ObjectRange;
use crate::seal::frame::Sealing;
use proptest::prelude::*;
use thalweg_units::{Channel, NodeId};

fn node(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}

fn route(hops: usize) -> HopRoute {
    let channels = [11, 15, 26].map(|number| Channel::new(number).unwrap());
    let nodes: std::vec::Vec<_> = (0..=hops)
        .map(|at| (node(100 + at as u16), channels[at % 3]))
        .collect();
    let range = ObjectRange {
        offset: 70_000,
        len: 59_000,
    };
    HopRoute::new(7, &nodes, range, MAX_PAYLOAD).unwrap()
}

#[test]
fn every_kind_round_trips() {
    let block = Block {
        base: 513,
        count: BLOCK,
        place: Place::Last,
    };
    let (transfer, by) = (900, 30);
    let longest = route(usize::from(MAX_HOPS));
    let frames = [
        Frame::Call {
            to: 30,
            route: longest,
        },
        Frame::Call {
            to: 30,
            route: route(31),
        },
        Frame::Call {
            to: 0,
            route: route(1),
        },
        Frame::Call {
            to: 1,
            route: HopRoute {
                subject: Subject::Report,
                calls: Calls::Everywhere,
                ..route(2)
            },
        },
        Frame::Called { transfer, by },
        Frame::Data {
            transfer,
            by,
            number: 4_660,
            payload: &[3; MAX_PAYLOAD as usize],
        },
        Frame::Poll {
            transfer,
            by,
            block,
        },
        Frame::Ack {
            transfer,
            by,
            base: 16,
            here: 0x8001,
        },
    ];
    for frame in frames {
        let bytes = frame.frame().unwrap();
        assert_eq!(Frame::parse(&bytes), Ok(frame));
        let fixed = match frame {
            Frame::Data { .. } => HEADER_BYTES,
            _ => bytes.len(),
        };
        for short in 0..fixed {
            assert!(Frame::parse(&bytes[..short]).is_err(), "{frame:?} {short}");
        }
        assert_eq!(Frame::is_call(&bytes), matches!(frame, Frame::Call { .. }));
    }
    assert_eq!(block.all(), u16::MAX);
}

/// A call has room for some bits of each address: the farther apart they are, the fewer nodes.
#[test]
fn routes_of_distant_addresses_are_shorter() {
    for (apart, nodes) in [(8, 61), (170, 49), (1_560, 42)] {
        let of = |count: u16| {
            let nodes: std::vec::Vec<_> = (0..count)
                .map(|at| (node(9 + at * apart), Channel::LAST))
                .collect();
            HopRoute::new(1, &nodes, ObjectRange::ALL, 1)
        };
        assert!(of(nodes + 1).is_err(), "{nodes}");
        let call = Frame::Call {
            to: 0,
            route: of(nodes).unwrap(),
        };
        assert_eq!(Frame::parse(&call.frame().unwrap()), Ok(call));
    }
    // Those of up to 32 nodes are as they were: no shorter call is longer for it.
    let call = |hops| Frame::Call {
        to: 0,
        route: route(hops),
    };
    assert_eq!(call(31).frame().unwrap().len(), CALL_BYTES + 32 * 2 + 16);
    assert_eq!(call(2).frame().unwrap().len(), CALL_BYTES + 3 * 2 + 2);
}

/// A sealed call has room for its trailer, and is none to nodes without keys: its payload is beyond the longest.
#[test]
fn a_sealed_route_is_a_little_shorter() {
    for (apart, nodes) in [(8, 57), (170, 43), (1_560, 37)] {
        let of = |count: u16| {
            let nodes: std::vec::Vec<_> = (0..count)
                .map(|at| (node(9 + at * apart), Channel::LAST))
                .collect();
            HopRoute::new(1, &nodes, ObjectRange::ALL, 1)?.secured(Sealing::Sealed)
        };
        assert!(of(nodes + 1).is_err(), "{nodes}");
        let route = of(nodes).unwrap();
        let call = Frame::Call { to: 0, route };
        let frame = call.frame().unwrap();
        assert_eq!(Frame::parse(&frame), Ok(call));
        assert!(Frame::parse(&frame[..frame.len() - 1]).is_err());
        assert!(Frame::parse(&frame[..frame.len() - TRAILER_BYTES]).is_err());
    }
    let long = |payload| {
        let ends = [(node(1), Channel::LAST), (node(2), Channel::LAST)];
        let route = HopRoute::new(1, &ends, ObjectRange::ALL, payload).unwrap();
        route.secured(Sealing::Sealed).is_ok()
    };
    assert!(long(MAX_SEALED_PAYLOAD) && !long(MAX_SEALED_PAYLOAD + 1));
    let call = Frame::Call {
        to: 0,
        route: route(2).secured(Sealing::Open).unwrap(),
    };
    assert_eq!(call.frame().unwrap().len(), CALL_BYTES + 3 * 2 + 2);
}

/// Positions are added to: one past the end of any route would overflow.
#[test]
fn frames_of_no_position_are_refused() {
    let called = |by| Frame::Called { transfer: 7, by }.frame().unwrap();
    assert!(Frame::parse(&called(MAX_HOPS)).is_ok());
    for by in [MAX_HOPS + 1, u8::MAX] {
        assert!(Frame::parse(&called(by)).is_err(), "{by}");
    }
}

#[test]
fn routes_that_are_none_are_refused() {
    let of = |ids: &[u16], payload| {
        let nodes: std::vec::Vec<_> = ids.iter().map(|id| (node(*id), Channel::LAST)).collect();
        HopRoute::new(1, &nodes, ObjectRange::ALL, payload).is_ok()
    };
    assert!(of(&[1, 2], 1));
    assert!(!of(&[1], 1) && !of(&[], 1) && !of(&[1, 2, 1], 1));
    assert!(!of(&[1, 2], 0) && !of(&[1, 2], MAX_PAYLOAD + 1));
    let many: std::vec::Vec<u16> = (1..=62).collect();
    assert!(of(&many[..61], 9) && !of(&many, 9));
    // A call is for a node before the sink.
    let call = Frame::Call {
        to: 3,
        route: route(3),
    };
    assert!(Frame::parse(&call.frame().unwrap()).is_err());
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..125)) {
        let _ = Frame::parse(&bytes);
        let _ = HopRoute::parse(&mut Reader::new(&bytes));
    }
}

#[test]
fn frames_with_an_impossible_field_are_refused() {
    let parse = |bytes: &[u8]| Frame::parse(bytes).map(drop);
    let block = Block {
        base: 16,
        count: 3,
        place: Place::Within,
    };
    let poll = Frame::Poll {
        transfer: 900,
        by: 3,
        block,
    }
    .frame()
    .unwrap();
    assert_eq!((parse(&poll), block.all()), (Ok(()), 0b111));
    let short = Frame::Call {
        to: 0,
        route: route(2),
    }
    .frame()
    .unwrap();
    let long = Frame::Call {
        to: 0,
        route: route(33),
    }
    .frame()
    .unwrap();
    // MAC header, dispatch; of a call the position that is called, transfer, count, payload, range, nodes.
    let (count, nodes) = (7, 17);
    for (good, at, byte, why) in [
        (&poll, 3, dispatch::BEACON, "another frame"),
        (&poll, 9, 0, "no packet"),
        (&poll, 9, BLOCK + 1, "more than a block"),
        (&poll, 10, 2, "no place"),
        (&short, 4, 2, "the sink is not called"),
        (&short, count, 1, "no route"),
        (&short, count, 62, "too long a route"),
        (&short, count + 1, 0, "no payload"),
        (&short, nodes + 1, 0xff, "no node"),
        (&short, nodes + 7, 0x1f, "a channel of no node"),
        (&long, nodes + 1, 0xff, "no lowest address"),
        (&long, nodes + 2, 17, "addresses of 17 bits"),
        (&long, long.len() - 1, 0xff, "bits behind the last"),
    ] {
        let mut bad = *good;
        bad[at] = byte;
        if why == "no lowest address" || why == "no node" {
            bad[at - 1] = 0xff;
        }
        assert_eq!(parse(&bad), Err(WireError::Malformed), "{why}");
    }
    for good in [&poll, &short, &long] {
        let longer = [&good[..], &[0]].concat();
        assert_eq!(parse(&longer), Err(WireError::Malformed));
    }
    let data = Frame::Data {
        transfer: 1,
        by: 0,
        number: 1,
        payload: &[3; MAX_PAYLOAD as usize],
    };
    let longer = [&data.frame().unwrap()[..], &[3]].concat();
    assert_eq!(parse(&longer), Err(WireError::Malformed));
    assert_eq!(route(2).channel(1), Channel::new(15).unwrap());
    assert_eq!(route(2).channel(9), Channel::new(26).unwrap(), "the sink's");
}
