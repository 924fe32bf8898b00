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
        for packet in parsed.missing_packets() {
            let i = usize::from(packet - first);
            prop_assert!(vector[i / 8] & (1 << (i % 8)) != 0);
        }
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
