//! Every frame is read as it was written, and nothing else is.

extern crate std;

use super::*;
use proptest::prelude::*;

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
