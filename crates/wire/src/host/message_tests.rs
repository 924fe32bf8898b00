//! Tests of `message.rs`.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn messages_round_trip(
        number: u16,
        offset: u32,
        times: (u64, u64, u64),
        bytes in prop::collection::vec(any::<u8>(), 0..=MAX_OBJECT_BYTES - 4),
    ) {
        let [asked, heard, told] = [times.0, times.1, times.2];
        let [heard, told] = [heard, told].map(Instant::from_nanos);
        let bytes = &bytes[..];
        for message in [
            Message::Order { number, part: OrderPart::More, bytes },
            Message::Order { number, part: OrderPart::Last, bytes },
            Message::Unread { number, why: Unread::TooLong },
            Message::Unread { number, why: Unread::Malformed },
            Message::Event { at: heard, bytes },
            Message::Begin,
            Message::Object { offset, bytes },
            Message::Credit { until: offset },
            Message::TimeAsked { asked },
            Message::TimeTold { asked, heard, told },
        ] {
            let mut room = [0; MAX_MESSAGE];
            let mut w = Writer::new(&mut room);
            message.emit(&mut w).unwrap();
            let len = w.len();
            prop_assert_eq!(Message::parse(&room[..len]), Ok(message));
        }
    }

    #[test]
    fn any_bytes_are_parsed_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..=MAX_MESSAGE),
    ) {
        if let Ok(message) = Message::parse(&bytes) {
            let mut room = [0; MAX_MESSAGE];
            let mut w = Writer::new(&mut room);
            message.emit(&mut w).unwrap();
            let len = w.len();
            prop_assert_eq!(&room[..len], &bytes[..]);
        }
    }
}

#[test]
fn messages_that_are_none_are_refused() {
    for (good, bad) in [
        (&[ORDER, 1, 0, LAST, 9][..], &[ORDER, 1, 0, 2, 9][..]),
        (&[UNREAD, 1, 0, 1], &[UNREAD, 1, 0, 2]),
        (&[BEGIN], &[BEGIN, 0]),
        (&[CREDIT, 1, 0, 0, 0], &[CREDIT, 1, 0, 0, 0, 0]),
        (
            &[TIME_ASKED, 1, 0, 0, 0, 0, 0, 0, 0],
            &[TIME_ASKED, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        ),
        (&[OBJECT, 1, 0, 0, 0], &[0, 1, 0, 0, 0]),
        (
            &[EVENT, 1, 0, 0, 0, 0, 0, 0, 0],
            &[9, 1, 0, 0, 0, 0, 0, 0, 0],
        ),
    ] {
        assert!(Message::parse(good).is_ok(), "{good:?}");
        assert_eq!(Message::parse(bad), Err(WireError::Malformed), "{bad:?}");
        let fixed = if good[0] == ORDER { 4 } else { good.len() };
        for short in 0..fixed {
            assert_eq!(
                Message::parse(&good[..short]),
                Err(WireError::Truncated),
                "{good:?}"
            );
        }
    }
}
