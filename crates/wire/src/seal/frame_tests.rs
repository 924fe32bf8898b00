//! Tests of `frame.rs`.

use super::*;
use crate::hop::{self, HopRoute};
use crate::pipeline::Kind as Frame;
use crate::pipeline::{
    set_count, set_hop, Format, Group, Head, Header, Nack, Purpose, Request, Tag,
};
use crate::route::ObjectRange;
use crate::seal::SoftwareAes;
use proptest::prelude::*;
use thalweg_units::Channel;

const HOPS: u8 = 4;

fn key() -> Key {
    Key::new([3; 16])
}
fn node(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}

fn head(kind: Frame) -> Head {
    Head {
        kind,
        tag: Tag::of(5),
        hop: 1,
        group: Group::Even,
    }
}
fn with_mic(plain: &FrameBuf) -> FrameBuf {
    let mic = mic(&mut SoftwareAes::default(), &key(), plain).unwrap();
    FrameBuf::build(|w| w.bytes(plain)?.bytes(&mic).map(|_| ())).unwrap()
}
fn request(format: Format) -> FrameBuf {
    let request = Request {
        packets: 500,
        object_len: 59_000,
        digest: *b"a tag ..",
        following: 1,
        purpose: Purpose::Count,
    };
    let plain = FrameBuf::build(|w| {
        Header {
            head: head(Frame::Request),
            number: 2,
        }
        .emit_as(format, w)?;
        request.emit(w)?;
        w.bytes(&[0; HOPS as usize]).map(|_| ())
    });
    with_mic(&plain.unwrap())
}
fn nack(format: Format) -> FrameBuf {
    let nack = Nack {
        first: 8,
        missing: 2,
        following: 0,
        vector: &[7, 0, 0b101],
    };
    let plain = FrameBuf::build(|w| {
        Header {
            head: head(Frame::Nack),
            number: 2,
        }
        .emit_as(format, w)?;
        nack.emit(w)
    });
    with_mic(&plain.unwrap())
}
fn opens(mpdu: &[u8]) -> bool {
    open_control(&mut SoftwareAes::default(), &key(), mpdu).is_some()
}

#[test]
fn what_relays_write_changes_no_mic() {
    for format in [Format::Full, Format::Slim] {
        let mut mpdu = request(format);
        for stage in 1..HOPS {
            set_hop(&mut mpdu, stage).unwrap();
            set_count(&mut mpdu, stage, 200 + stage).unwrap();
            assert!(opens(&mpdu), "{format:?}, stage {stage}");
        }
        let mut mpdu = nack(format);
        set_hop(&mut mpdu, 3).unwrap();
        assert!(opens(&mpdu));
    }
}

#[test]
fn any_other_bit_does() {
    for format in [Format::Full, Format::Slim] {
        let counts = format.header_bytes() + crate::pipeline::REQUEST_BODY_BYTES;
        let open_bytes = counts..counts + usize::from(HOPS);
        for (mpdu, open) in [(request(format), open_bytes), (nack(format), 0..0)] {
            assert!(opens(&mpdu));
            let mut moved = mpdu;
            set_hop(&mut moved, 2).unwrap();
            for bit in 0..mpdu.len() * 8 {
                let (at, mask) = (bit / 8, 1 << (bit % 8));
                let is_hop = (mpdu[at] ^ moved[at]) != 0 && mask & 0x0f != 0;
                let mut flipped = mpdu;
                flipped[at] ^= mask;
                let is_open = open.contains(&at) || is_hop;
                assert_eq!(opens(&flipped), is_open, "{format:?}: bit {bit}");
            }
            for len in 0..mpdu.len() {
                assert!(!opens(&mpdu[..len]), "{len} bytes");
            }
        }
    }
}

fn call() -> FrameBuf {
    let nodes = [7, 8, 9].map(|id| (node(id), Channel::LAST));
    let route = HopRoute::new(5, &nodes, ObjectRange::ALL, 100).unwrap();
    let route = route.secured(Sealing::Sealed).unwrap();
    let mut call = hop::Frame::Call { to: 1, route }.frame().unwrap();
    seal_call(&mut SoftwareAes::default(), &key(), 77, &mut call).unwrap();
    call
}

#[test]
fn a_call_is_the_same_to_all_that_it_names() {
    let (aes, good) = (&mut SoftwareAes::default(), call());
    assert_eq!(call_number(&good), Some(77));
    assert!(is_call_right(aes, &key(), &good));
    assert!(!is_call_right(aes, &Key::new([4; 16]), &good));
    // MAC header, dispatch, and the position that is called.
    for bit in 0..good.len() * 8 {
        let mut flipped = good;
        flipped[bit / 8] ^= 1 << (bit % 8);
        let is_right = is_call_right(aes, &key(), &flipped);
        assert_eq!(is_right, bit / 8 < CALL_HEADER_BYTES, "bit {bit}");
    }
    for len in 0..good.len() {
        assert!(!is_call_right(aes, &key(), &good[..len]), "{len} bytes");
    }
    let mut short = FrameBuf::from_slice(&good[..12]).unwrap();
    assert!(seal_call(aes, &key(), 77, &mut short).is_err());
}

#[test]
fn a_frame_hop_by_hop_has_no_bit_that_may_change() {
    let (aes, transfer, by) = (&mut SoftwareAes::default(), 5, 1);
    for frame in [
        hop::Frame::Called { transfer, by },
        hop::Frame::Ack {
            transfer,
            by,
            base: 16,
            here: 3,
        },
        hop::Frame::Data {
            transfer,
            by,
            number: 3,
            payload: &[0xab; hop::MAX_SEALED_PAYLOAD as usize],
        },
    ] {
        let plain = frame.frame().unwrap();
        let mut good = plain;
        good.append(&hop_mic(aes, &key(), &plain)).unwrap();
        assert_eq!(open_hop(aes, &key(), &good), Some(&*plain));
        for bit in 0..good.len() * 8 {
            let mut flipped = good;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open_hop(aes, &key(), &flipped), None, "bit {bit}");
        }
        assert_eq!(open_hop(aes, &Key::new([4; 16]), &good), None);
    }
    // No call passes for another frame of its transfer.
    let call = call();
    let at = call.len() - 8;
    assert_eq!(open_hop(aes, &key(), &call[..at + 4]), None);
}

/// A MIC of one kind, round or key is none of another's.
#[test]
fn a_mic_is_of_one_frame() {
    let (request, nack) = (request(Format::Slim), nack(Format::Slim));
    let mut mixed = request;
    let at = request.len() - 4;
    mixed[at..].copy_from_slice(&nack[nack.len() - 4..]);
    assert!(!opens(&mixed));
    let other = Key::new([4; 16]);
    assert_eq!(
        open_control(&mut SoftwareAes::default(), &other, &request),
        None
    );
    let mut data = Header {
        head: head(Frame::Data),
        number: 2,
    };
    data.head.hop = 0;
    let data = FrameBuf::build(|w| data.emit(w)).unwrap();
    assert!(mic(&mut SoftwareAes::default(), &key(), &data).is_err());
}

proptest! {
    #[test]
    fn floods_open_as_they_were_sealed_and_no_other_way(
        initiator in 0..=NodeId::MAX.get(),
        number: u32,
        campaign in 0..16u8,
        payload in prop::collection::vec(any::<u8>(), 0..100),
        flip in any::<prop::sample::Index>(),
    ) {
        let aes = &mut SoftwareAes::default();
        let content = FrameBuf::build(|w| w.u8(campaign << 4)?.bytes(&payload).map(|_| ())).unwrap();
        let sealed = seal_flood(aes, &key(), (node(initiator), number), &content).unwrap();
        prop_assert_eq!(sealed.len(), content.len() + TRAILER_BYTES);
        prop_assert_eq!(open_flood(aes, &key(), node(initiator), &sealed), Some(number));
        prop_assert_eq!(flood::opened_content(&sealed).len(), content.len());
        prop_assert_eq!(open_flood(aes, &key(), node(initiator), &content), None);
        let another = node(initiator ^ 1);
        prop_assert_eq!(open_flood(aes, &key(), another, &sealed), None);
        prop_assert_eq!(open_flood(aes, &Key::new([9; 16]), node(initiator), &sealed), None);
        let mut flipped = sealed;
        let bit = flip.index(sealed.len() * 8);
        flipped[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(open_flood(aes, &key(), node(initiator), &flipped), None);
    }

    #[test]
    fn any_bytes_open_or_not(bytes in prop::collection::vec(any::<u8>(), 0..130)) {
        let aes = &mut SoftwareAes::default();
        prop_assert_eq!(open_flood(aes, &key(), node(1), &bytes), None);
        prop_assert_eq!(open_control(aes, &key(), &bytes), None);
        let _ = flood::opened_content(&bytes);
    }
}

#[test]
fn a_flood_that_is_too_long_or_empty_is_not_sealed() {
    let aes = &mut SoftwareAes::default();
    let mut seal = |content: &[u8]| seal_flood(aes, &key(), (node(1), 1), content);
    assert_eq!(seal(&[0; 114]), Err(WireError::NoRoom));
    assert!(seal(&[0; 113]).is_ok());
    assert!(seal(&[]).is_err());
}
