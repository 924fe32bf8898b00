//! Tests of `station.rs`.

use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn written(write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>) -> Vec<u8> {
    let mut room = [0; 1024];
    let mut w = Writer::new(&mut room);
    write(&mut w).unwrap();
    let len = w.len();
    room[..len].to_vec()
}
fn id(node: u16) -> NodeId {
    NodeId::new(node).unwrap()
}

proptest! {
    #[test]
    fn orders_and_events_of_sessions_round_trip(
        sources in proptest::collection::btree_map(0..=NodeId::MAX.get(), any::<u16>(), 1..=64),
        (node, number, hops) in (0..=NodeId::MAX.get(), any::<u16>(), any::<u8>()),
        message in proptest::collection::vec(any::<u8>(), 0..=MAX_MPDU),
    ) {
        let each = sources.iter().map(|(node, rate)| (id(*node), Rate::from_wire(*rate)));
        let each: Vec<_> = each.collect();
        let bytes = written(|w| Sources::order(&each, w));
        prop_assert!(bytes.len() <= max_order_bytes(64));
        let order = Order::<64>::parse(&bytes).unwrap();
        prop_assert_eq!(&written(|w| order.emit(w)), &bytes);
        let Order::Session(told) = order else { panic!("{order:?}") };
        prop_assert_eq!(told.iter().collect::<Vec<_>>(), each);
        prop_assert!(Order::<64>::parse(&bytes[..bytes.len() - 1]).is_err());

        let message = FrameBuf::from_slice(&message).unwrap();
        let order = Order::<64>::Send(Send { to: id(node), message });
        let bytes = written(|w| order.emit(w));
        prop_assert_eq!(Order::parse(&bytes), Ok(order));
        let origin = id(node);
        for event in [
            Event::Handed(Handed::Packet { origin, number, hops, message }),
            Event::Handed(Handed::NoRoom { to: origin }),
            Event::Begun,
            Event::NotBegun(NotBegun::NoSuchNode),
            Event::NotBegun(NotBegun::NotCarried),
            Event::Mote(mote::Event::Joined),
        ] {
            let bytes = written(|w| event.emit(w));
            prop_assert!(bytes.len() <= MAX_EVENT_BYTES);
            prop_assert_eq!(Event::parse(&bytes), Ok(event));
        }
    }

    #[test]
    fn any_bytes_are_an_order_or_an_event_or_refused(
        bytes in proptest::collection::vec(prop_oneof![0u8..9, 0x40u8..0x45, any::<u8>()], 0..200),
    ) {
        if let Ok(event) = Event::parse(&bytes) {
            prop_assert_eq!(&written(|w| event.emit(w)), &bytes);
        }
        if let Ok(order @ (Order::Session(_) | Order::Send(_))) = Order::<64>::parse(&bytes) {
            prop_assert_eq!(&written(|w| order.emit(w)), &bytes);
        }
    }
}

#[test]
fn sessions_of_nobody_or_of_a_node_twice_are_refused() {
    let mut room = [0; 64];
    let mut refused = |sources: &[(NodeId, Rate)]| {
        Sources::order(sources, &mut Writer::new(&mut room)).unwrap_err()
    };
    assert_eq!(refused(&[]), WireError::Malformed);
    let twice = [(id(3), Rate::MAX), (id(3), Rate::MAX)];
    assert_eq!(refused(&twice), WireError::Malformed);
    for bytes in [&[7, 0, 0][..], &[7, 2, 0, 3, 0, 1, 0, 3, 0, 1, 0]] {
        let read = Order::<64>::parse(bytes);
        assert_eq!(read, Err(WireError::Malformed));
    }
}
