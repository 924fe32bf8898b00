//! Tests of `session.rs`.

use super::*;
use crate::rcrt::{Down, DownBody, Echo, Feedback, FeedbackRequest, Flow, Met, Nacks};
use crate::rcrt::{Rate, Up, UpBody, MAX_NACKS};
use crate::seal::SoftwareAes;
use proptest::prelude::*;

fn keys(of: u8) -> SessionKeys {
    SessionKeys {
        tag: Key::new([of; 16]),
        stream: Key::new([of + 100; 16]),
    }
}
const FLOW: Flow = Flow { sink: 0, number: 0 };

fn packet(sequence: u16, echo: Option<Echo>, payload: &[u8]) -> FrameBuf {
    let up = Up {
        flow: FLOW,
        connection: 1,
        what: UpBody::Data {
            sequence,
            rate: Rate::from_per_s(2.0),
            ask: FeedbackRequest::Yes,
            met: Met::default(),
            echo,
            payload,
        },
    };
    FrameBuf::build(|w| up.emit(w)).unwrap()
}
fn feedback(next: u16, missing: &[u16]) -> FrameBuf {
    let mut room = [0; 2 * MAX_NACKS];
    let down = Down {
        flow: FLOW,
        connection: 1,
        what: DownBody::Feedback(Feedback {
            number: 3,
            rate: Rate::from_per_s(2.0),
            next,
            rtt_ms: 400,
            nacks: Nacks::pack(missing.iter().copied(), &mut room),
        }),
    };
    FrameBuf::build(|w| down.emit(w)).unwrap()
}
fn sealed(message: FrameBuf, number: u32) -> FrameBuf {
    let mut sealed = message;
    let aes = &mut SoftwareAes::default();
    keys(1).seal(aes, &mut sealed, number).unwrap();
    sealed
}

#[test]
fn no_bit_may_change_but_relays_notes() {
    let aes = &mut SoftwareAes::default();
    let echo = Some(Echo {
        number: 9,
        waited_ms: 70,
    });
    let payload = [0x5a; 64];
    for message in [
        packet(7, None, &payload),
        packet(7, echo, &payload),
        feedback(7, &[7, 8, 11]),
    ] {
        let good = sealed(message, 7);
        assert_eq!(good.len(), message.len() + MIC);
        assert_eq!(keys(1).open(aes, &good, 7), Some(message));
        assert!(keys(2).open(aes, &good, 7).is_none(), "another's");
        let is_packet = rcrt::payload_at(&message) < message.len();
        for bit in 0..good.len() * 8 {
            let mut flipped = good;
            flipped[bit / 8] ^= 1 << (bit % 8);
            let is_note = is_packet && (6..8).contains(&bit);
            let opened = keys(1).open(aes, &flipped, 7);
            assert_eq!(opened.is_some(), is_note, "bit {bit}");
        }
        for len in 0..good.len() {
            assert!(keys(1).open(aes, &good[..len], 7).is_none());
        }
    }
}

#[test]
fn what_was_recorded_is_wrong_half_a_round_later() {
    let aes = &mut SoftwareAes::default();
    for message in [packet(7, None, b"reading"), feedback(7, &[])] {
        let good = sealed(message, 7);
        for near in [0, 6, 0x7000] {
            assert!(keys(1).open(aes, &good, nearest(near, 7)).is_some());
        }
        for near in [0x8008, 0x1_0007, 0xffff_ff00] {
            let number = nearest(near, 7);
            assert_eq!(number as u16, 7);
            assert!(keys(1).open(aes, &good, number).is_none() || number == 7);
        }
        assert!(keys(1).open(aes, &good, 0x1_0007).is_none());
    }
    assert_eq!((nearest(0x1_0002, 0xfffe), nearest(0, 5)), (0xfffe, 5));
}

/// One place with another content, as after a restart that lost a buffer, has another key stream.
#[test]
fn a_payload_says_nothing_to_others() {
    let (a, b) = ([0x11; 40], [0x2e; 40]);
    let seals = |payload: &[u8], number: u32| sealed(packet(number as u16, None, payload), number);
    let body = |sealed: FrameBuf| -> [u8; 40] { core::array::from_fn(|at| sealed[7 + at]) };
    let xor = |a: [u8; 40], b: [u8; 40]| -> [u8; 40] { core::array::from_fn(|k| a[k] ^ b[k]) };
    let (first, other) = (body(seals(&a, 5)), body(seals(&b, 5)));
    assert_ne!(xor(first, other), xor(a, b));
    assert_ne!(first, body(seals(&a, 6)));
    assert_ne!(first, body(seals(&a, 5 + 0x1_0000)));
    let plain = first.iter().zip(a).filter(|(c, p)| **c == *p);
    assert!(plain.count() < 5, "encrypted");
    let header = &seals(&a, 5)[..7];
    assert_eq!(header, &packet(5, None, &a)[..7], "headers are open");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..130),
        number in any::<u32>(),
    ) {
        let aes = &mut SoftwareAes::default();
        prop_assert!(keys(1).open(aes, &bytes, number).is_none());
        let mut any = FrameBuf::from_slice(&bytes[..bytes.len().min(121)]).unwrap();
        let plain = any;
        keys(1).seal(aes, &mut any, number).unwrap();
        prop_assert_eq!(keys(1).open(aes, &any, number), Some(plain));
    }
}
