//! Tests of `frame.rs`.

use super::*;
use proptest::prelude::*;

fn about() -> impl Strategy<Value = About> {
    let limits = (any::<u16>(), any::<u16>(), any::<u32>());
    let node = 0..=NodeId::MAX.get();
    let told = (
        any::<u32>(),
        node,
        limits,
        any::<bool>(),
        ("[ -~]{0,24}", "[ -~]{0,116}"),
    );
    told.prop_map(|(boot, node, limits, sessions, (name, words))| About {
        boot,
        node: NodeId::new(node).unwrap(),
        carries: match sessions {
            true => Carries::PipelinesAndSessions,
            false => Carries::Pipelines,
        },
        board: Name::new(&name).unwrap(),
        limits: Limits {
            nodes: limits.0,
            order_bytes: limits.1,
            object_bytes: limits.2,
        },
        last_words: Name::new(&words).unwrap(),
    })
}

fn round_trip(frame: Frame<'_>, from: End) {
    let mut bytes = [0; MAX_FRAME];
    let len = frame.emit(from, &mut bytes).unwrap();
    assert_eq!(Frame::parse(&bytes[..len]), Ok((from, frame)));
    for at in 0..len {
        let mut bad = bytes;
        bad[at] ^= 0x10;
        assert_eq!(Frame::parse(&bad[..len]), Err(WireError::Malformed));
    }
    assert_eq!(
        frame.emit(from, &mut bytes[..len - 1]),
        Err(WireError::NoRoom)
    );
}

proptest! {
    #[test]
    fn frames_round_trip_and_flipped_bits_are_seen(
        epoch: u32,
        echo: Option<u32>,
        about in prop::option::of(about()),
        (number, wanted) in any::<(u8, u8)>(),
        message in prop::collection::vec(any::<u8>(), 0..=MAX_MESSAGE),
    ) {
        let hello = Hello { version: VERSION, epoch, echo, about };
        let (session, message) = (epoch, &message[..]);
        for from in [End::Host, End::Station] {
            round_trip(Frame::Hello(hello), from);
            round_trip(Frame::Data { session, number, wanted, message }, from);
            round_trip(Frame::Beat { session, wanted }, from);
            round_trip(Frame::Again { session, wanted }, from);
            round_trip(Frame::Note { session, message }, from);
        }
    }

    #[test]
    fn any_bytes_are_parsed_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut framed = bytes.clone();
        framed.extend(crc32(&bytes).to_le_bytes());
        if let Ok((from, frame)) = Frame::parse(&framed) {
            let mut again = [0; MAX_FRAME];
            let len = frame.emit(from, &mut again).unwrap();
            prop_assert_eq!(Frame::parse(&again[..len]), Ok((from, frame)));
        }
    }
}

#[test]
fn a_greeting_of_another_version_is_read_as_far_as_it_is_known() {
    let mut bytes = [0; 64];
    let other = [HELLO, b'T', b'W', 9, 1, 0, 0, 0, 0xff, 0xff, 0xff];
    bytes[..other.len()].copy_from_slice(&other);
    bytes[other.len()..other.len() + 4].copy_from_slice(&crc32(&other).to_le_bytes());
    let hello = Hello {
        version: Version(9),
        epoch: 1,
        echo: None,
        about: None,
    };
    let read = Frame::parse(&bytes[..other.len() + 4]);
    assert_eq!(read, Ok((End::Host, Frame::Hello(hello))));
}

#[test]
fn impossible_frames_are_refused() {
    let long = [7; MAX_MESSAGE + 1];
    let frame = Frame::Note {
        session: 0,
        message: &long,
    };
    assert_eq!(
        frame.emit(End::Host, &mut [0; 400]),
        Err(WireError::Malformed)
    );
    assert_eq!(Frame::parse(&[1, 2, 3]), Err(WireError::Truncated));
    assert_eq!(<Name>::new("a name that is longer than that"), None);
    let cut: Name<6> = Name::lossy(format_args!("a\né {}", "line"));
    assert_eq!(cut.as_str(), "a   li");
    assert_eq!(<Name>::new("tab\t"), None);
}

#[test]
fn frames_with_an_impossible_field_are_refused() {
    let parse = |frame: &[u8]| {
        let crc = crc32(frame).to_le_bytes();
        Frame::parse(&[frame, &crc].concat()).map(drop)
    };
    let hello =
        |has: u8, rest: &[u8]| parse(&[&[HELLO, b'T', b'W', 4, 1, 0, 0, 0, has], rest].concat());
    // Boot, node, limits, what it carries, board, last words.
    let about = [
        1, 0, 0, 0, 9, 0, 5, 0, 6, 0, 7, 0, 0, 0, 1, 2, b'n', b'R', 0,
    ];
    assert_eq!((hello(0, &[]), hello(HAS_ABOUT, &about)), (Ok(()), Ok(())));
    assert_eq!(hello(HAS_ECHO, &[1, 2, 3, 4]), Ok(()));
    assert_eq!(hello(4, &[]), Err(WireError::Malformed), "an unknown flag");
    assert_eq!(
        hello(0, &[0]),
        Err(WireError::Malformed),
        "more than a greeting"
    );
    assert_eq!(hello(HAS_ECHO, &[1, 2, 3]), Err(WireError::Truncated));
    for (at, byte) in [(5, 0xff), (14, 2), (16, 7)] {
        let mut bad = about;
        (bad[4], bad[at]) = (0xff, byte);
        assert_eq!(hello(HAS_ABOUT, &bad), Err(WireError::Malformed), "{at}");
    }
    let mut long = about.to_vec();
    long[15] = 25;
    long.splice(16..18, [b'x'; 25]);
    assert_eq!(
        hello(HAS_ABOUT, &long),
        Err(WireError::Malformed),
        "no name is so long"
    );
    assert_eq!(
        parse(&[HELLO, b'T', b'X', 4, 1, 0, 0, 0, 0]),
        Err(WireError::Malformed)
    );
    for kind in [BEAT, AGAIN] {
        assert_eq!(parse(&[kind, 1, 0, 0, 0, 5]), Ok(()));
        assert_eq!(parse(&[kind, 1, 0, 0, 0, 5, 0]), Err(WireError::Malformed));
        assert_eq!(parse(&[kind, 1, 0, 0, 0]), Err(WireError::Truncated));
    }
    for kind in [0, 6, 0x7f, STATION_BIT] {
        assert_eq!(
            parse(&[kind, 1, 0, 0, 0, 5]),
            Err(WireError::Malformed),
            "{kind}"
        );
    }
    // What a frame holds, and a byte more: a note's message may be no longer than that of data.
    let note = |len: usize| [&[NOTE, 1, 0, 0, 0][..], &[7; 300][..len]].concat();
    assert_eq!(parse(&note(MAX_MESSAGE)), Ok(()));
    assert_eq!(parse(&note(MAX_MESSAGE + 1)), Err(WireError::Malformed));
    assert_eq!(parse(&note(MAX_FRAME)), Err(WireError::Malformed));
}
