//! Tests of `ring.rs`.

use super::*;
extern crate std;
use std::collections::VecDeque;

#[test]
fn room_is_never_more_than_there_is() {
    assert_eq!(Fifo::<u8, 4>::new(9).room(), 4);
    assert_eq!(Fifo::<u8, 4>::EMPTY.room(), 4);
    assert_eq!(Fifo::<u8, 0>::new(9).push(1), Err(1));
}

proptest::proptest! {
    #[test]
    fn it_keeps_order_and_its_limit(
        room in 0usize..6,
        pushes in proptest::collection::vec(proptest::prelude::any::<bool>(), 0..60),
    ) {
        let (mut fifo, mut plain) = (Fifo::<u8, 4>::new(room), VecDeque::new());
        let room = room.min(4);
        for (n, push) in (0u8..).zip(pushes) {
            if push {
                let fits = plain.len() < room;
                proptest::prop_assert_eq!(fifo.push(n), if fits { Ok(()) } else { Err(n) });
                plain.extend(fits.then_some(n));
            } else {
                proptest::prop_assert_eq!(fifo.pop(), plain.pop_front());
            }
            proptest::prop_assert!(fifo.iter().eq(&plain) && fifo.front() == plain.front());
            proptest::prop_assert_eq!(fifo.is_full(), plain.len() >= room);
        }
        let oldest = usize::from(fifo.is_full());
        plain.drain(..oldest.min(plain.len()));
        plain.extend((room > 0).then_some(99));
        fifo.remember(99);
        proptest::prop_assert!(fifo.iter().eq(&plain));
        fifo.clear();
        proptest::prop_assert!(fifo.is_empty() && fifo.iter().next().is_none());
    }
}
