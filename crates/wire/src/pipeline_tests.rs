use super::*;
use crate::FrameBuf;
use proptest::prelude::*;

fn heads() -> impl Strategy<Value = Head> {
    let kind = prop_oneof![Just(Kind::Data), Just(Kind::Request), Just(Kind::Nack)];
    let group = prop_oneof![Just(Group::Odd), Just(Group::Even)];
    (kind, any::<u16>(), 0..=MAX_HOPS, group).prop_map(|(kind, id, hop, group)| Head {
        kind,
        tag: Tag::of(id),
        hop,
        group,
    })
}

#[test]
fn a_full_packet_is_the_longest_frame() {
    assert_eq!(MAX_PAYLOAD, 118);
    let head = Head {
        kind: Kind::Data,
        tag: Tag::of(5),
        hop: 0,
        group: Group::Even,
    };
    let frame = FrameBuf::build(|w| {
        Header {
            head,
            number: 0x0201,
        }
        .emit(w)?;
        w.bytes(&[0xaa; MAX_PAYLOAD])?;
        Ok(())
    })
    .unwrap();
    assert_eq!(frame.len(), 125);
    assert_eq!(
        &frame[..HEADER_BYTES],
        &[0x01, 0x20, 0x01, 0x18, 0xb0, 0x01, 0x02]
    );
}

#[test]
fn slim_frames_are_multipurpose_frames_with_three_bytes_more() {
    assert_eq!(MAX_SLIM_PAYLOAD, 121);
    let head = Head {
        kind: Kind::Nack,
        tag: Tag::of(5),
        hop: 2,
        group: Group::Even,
    };
    let header = Header {
        head,
        number: 0x0201,
    };
    let frame = FrameBuf::build(|w| header.emit_as(Format::Slim, w)).unwrap();
    assert_eq!(&frame[..], &[0x05, 0x01, 0xb2, 0x82]);
    let beyond = Header {
        number: MAX_PACKETS,
        ..header
    };
    let refused = FrameBuf::build(|w| beyond.emit_as(Format::Slim, w));
    assert_eq!(refused.err(), Some(WireError::Malformed));
}

proptest! {
    #[test]
    fn headers_round_trip(head in heads(), number in 0..MAX_PACKETS, hop in 0..=MAX_HOPS) {
        let header = Header { head, number };
        let mut frame = FrameBuf::build(|w| header.emit(w)).unwrap();
        prop_assert_eq!(frame.len(), HEADER_BYTES);
        prop_assert_eq!(Header::parse(&mut Reader::new(&frame)), Ok(header));
        prop_assert_eq!(Head::parse(&frame[..usize::from(HEAD_BYTES)]), Ok(head));
        set_hop(&mut frame, hop).unwrap();
        prop_assert_eq!(Head::parse(&frame), Ok(Head { hop, ..head }));
    }

    #[test]
    fn slim_headers_say_the_same(head in heads(), number in 0..MAX_PACKETS, hop in 0..=MAX_HOPS) {
        let header = Header { head, number };
        let mut frame = FrameBuf::build(|w| header.emit_as(Format::Slim, w)).unwrap();
        prop_assert_eq!(frame.len(), SLIM_HEADER_BYTES);
        prop_assert_eq!(Header::parse(&mut Reader::new(&frame)), Ok(header));
        prop_assert_eq!(Head::parse(&frame[..usize::from(Format::Slim.head_bytes())]), Ok(head));
        set_hop(&mut frame, hop).unwrap();
        prop_assert_eq!(Head::parse(&frame), Ok(Head { hop, ..head }));
    }

    #[test]
    fn requests_round_trip(
        packets in 0..=MAX_PACKETS, object_len: u32, digest: [u8; 8], following in 0..=63u8,
        purpose in prop_oneof![Just(Purpose::Report), Just(Purpose::Count), Just(Purpose::Across), Just(Purpose::Release)],
        padding in 0..20usize,
    ) {
        let request = Request { packets, object_len, digest, following, purpose };
        let frame = FrameBuf::build(|w| {
            request.emit(w)?;
            w.bytes(&[0; 20][..padding])?;
            Ok(())
        }).unwrap();
        prop_assert_eq!(frame.len(), REQUEST_BODY_BYTES + padding);
        prop_assert_eq!(Request::parse(&mut Reader::new(&frame)), Ok(request));
    }

    #[test]
    fn every_stage_writes_its_count_into_a_request(
        head in heads(), digest: [u8; 8], counts in proptest::collection::vec(any::<u8>(), 2..=usize::from(MAX_HOPS) + 1),
        format in prop_oneof![Just(Format::Full), Just(Format::Slim)],
    ) {
        let request = Request { packets: 7, object_len: 700, digest, following: 1, purpose: Purpose::Count };
        let (here, before) = counts.split_last().unwrap();
        let mut frame = FrameBuf::build(|w| {
            Header { head, number: 3 }.emit_as(format, w)?;
            request.emit(w)?;
            w.bytes(&counts[1..]).map(|_| ())
        }).unwrap();
        for (stage, count) in (0..).zip(before) {
            set_count(&mut frame, stage, *count).unwrap();
        }
        let hops = before.len() as u8;
        prop_assert_eq!(set_count(&mut frame, hops, 1), Err(WireError::Truncated));
        let mut r = Reader::new(&frame);
        Header::parse(&mut r).unwrap();
        prop_assert_eq!(Request::parse(&mut r), Ok(request));
        prop_assert_eq!(Counts::parse(&mut r.clone(), hops, *here), Counts::new(&counts));
        let all = Counts::new(&counts).unwrap();
        prop_assert_eq!(all.stages(), &counts[..]);
        prop_assert_eq!(Counts::parse(&mut r, hops + 1, *here), Err(WireError::Truncated));
    }

    #[test]
    fn nacks_round_trip(
        first in 0..MAX_PACKETS, missing in 0..=MAX_PACKETS, following: u8,
        vector in proptest::collection::vec(any::<u8>(), 0..=113),
    ) {
        let nack = Nack { first, missing, following, vector: &vector };
        let frame = FrameBuf::build(|w| nack.emit(w)).unwrap();
        prop_assert_eq!(frame.len(), NACK_BODY_BYTES + vector.len());
        let parsed = Nack::parse(Reader::new(&frame)).unwrap();
        prop_assert_eq!(parsed, nack);
        // All whose bit is set and no other, but for numbers that no packet has.
        let set = (0..8 * vector.len() as u16).filter(|i| vector[usize::from(i / 8)] >> (i % 8) & 1 == 1);
        let told = set.map(|i| first + i).filter(|packet| *packet < MAX_PACKETS);
        prop_assert!(parsed.missing_packets().eq(told));
    }

    #[test]
    fn any_bytes_parse_or_fail(mut bytes in proptest::collection::vec(any::<u8>(), 0..=125), hop: u8) {
        let _ = Head::parse(&bytes);
        let _ = Header::parse(&mut Reader::new(&bytes));
        let _ = Request::parse(&mut Reader::new(&bytes));
        if let Ok(nack) = Nack::parse(Reader::new(&bytes)) {
            prop_assert!(nack.missing_packets().count() <= bytes.len() * 8);
        }
        let _ = Counts::parse(&mut Reader::new(&bytes), hop, 7);
        let _ = Counts::new(&bytes);
        let _ = set_count(&mut bytes, hop, 7);
        let _ = set_hop(&mut bytes, hop);
    }
}

const HEAD: Head = Head {
    kind: Kind::Data,
    tag: Tag(5),
    hop: 2,
    group: Group::Even,
};

fn header(kind: Kind, number: u16, format: Format) -> FrameBuf {
    let head = Head { kind, ..HEAD };
    FrameBuf::build(|w| Header { head, number }.emit_as(format, w)).unwrap()
}

#[test]
fn headers_with_an_impossible_field_are_refused() {
    let parse = |bytes: &[u8]| Header::parse(&mut Reader::new(bytes)).map(|header| header.number);
    let full = header(Kind::Data, 0x0201, Format::Full);
    let slim = header(Kind::Data, 0x0201, Format::Slim);
    for (good, at, byte) in [
        (&full, 0, 0x41), // another frame control
        (&full, 1, 0x88),
        (&full, 2, 0x02), // another sequence number than the number's low byte
        (&full, 3, dispatch::BEACON),
        (&full, 4, 0xbc), // hop 12
        (&full, 6, 0x40), // packet 16,385
        (&slim, 0, 0x06),
        (&slim, 2, 0xbc),
    ] {
        let mut bad = *good;
        assert_eq!(parse(&bad), Ok(0x0201));
        bad[at] = byte;
        assert_eq!(parse(&bad), Err(WireError::Malformed), "{at} {byte}");
        for short in 0..good.len() {
            assert_eq!(parse(&good[..short]), Err(WireError::Truncated), "{short}");
        }
    }
    // A round may be any number, a packet's may not.
    let round = header(Kind::Nack, MAX_PACKETS, Format::Full);
    assert_eq!(parse(&round), Ok(MAX_PACKETS));
    let beyond = header(Kind::Data, MAX_PACKETS, Format::Full);
    assert_eq!(parse(&beyond), Err(WireError::Malformed));
    let far = Head { hop: 12, ..HEAD };
    assert_eq!(far.origin(Format::Full), Err(WireError::Malformed));
    assert_eq!(HEAD.origin(Format::Full), Ok((4, [0xb2])));
    assert_eq!(HEAD.origin(Format::Slim), Ok((2, [0xb2])));
    let mut hop = full;
    assert_eq!(set_hop(&mut hop, 12), Err(WireError::Malformed));
    assert_eq!(set_hop(&mut hop[..4], 1), Err(WireError::Truncated));
    assert_eq!(hop, full);
}

#[test]
fn bodies_with_an_impossible_field_are_refused() {
    let request = |packets: u16, following| Request {
        packets,
        object_len: 1,
        digest: [0; 8],
        following,
        purpose: Purpose::Report,
    };
    let emitted = |request: Request| FrameBuf::build(|w| request.emit(w)).map(drop);
    assert_eq!(emitted(request(MAX_PACKETS, 63)), Ok(()));
    for bad in [request(MAX_PACKETS + 1, 0), request(1, 64)] {
        assert_eq!(emitted(bad), Err(WireError::Malformed));
    }
    let mut bytes = [0; REQUEST_BODY_BYTES];
    bytes[..2].copy_from_slice(&(MAX_PACKETS + 1).to_le_bytes());
    let parsed = Request::parse(&mut Reader::new(&bytes));
    assert_eq!(parsed, Err(WireError::Malformed));
    for (first, missing, good) in [
        (MAX_PACKETS - 1, MAX_PACKETS, true),
        (MAX_PACKETS, 1, false),
        (0, MAX_PACKETS + 1, false),
    ] {
        let [a, b] = first.to_le_bytes();
        let [c, d] = missing.to_le_bytes();
        let bytes = [a, b, c, d, 0, 0xff];
        let parsed = Nack::parse(Reader::new(&bytes));
        assert_eq!(parsed.is_ok(), good, "{first} {missing}");
        let vector = &[0xff];
        let nack = Nack {
            first,
            missing,
            following: 0,
            vector,
        };
        assert_eq!(FrameBuf::build(|w| nack.emit(w)).is_ok(), good);
        // Of the eight, only the last packet that there can be.
        let told = parsed.map_or(1, |nack| nack.missing_packets().count());
        assert_eq!(told, 1);
    }
    for counts in [&[][..], &[1], &[1; 13]] {
        assert_eq!(Counts::new(counts), Err(WireError::Malformed));
    }
    assert!(Counts::new(&[1; 2]).is_ok() && Counts::new(&[1; 12]).is_ok());
}

#[test]
fn slim_data_alone_calls_alternate_relays() {
    for (kind, format) in [
        (Kind::Data, Format::Slim),
        (Kind::Request, Format::Slim),
        (Kind::Nack, Format::Slim),
        (Kind::Data, Format::Full),
    ] {
        let before = header(kind, 0x0201, format);
        let mut frame = before;
        call(&mut frame);
        let is_slim_data = (kind, format) == (Kind::Data, Format::Slim);
        assert_eq!(
            (frame != before, calls(&frame)),
            (is_slim_data, is_slim_data)
        );
        assert!(!calls(&before));
        let head = Head { kind, ..HEAD };
        let number = 0x0201;
        let parsed = Header::parse(&mut Reader::new(&frame));
        assert_eq!(parsed, Ok(Header { head, number }), "it reads as before");
    }
}
