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
