//! Tests of `rcrt.rs`.

use super::*;
use crate::FrameBuf;
use proptest::prelude::*;

const FLOW: Flow = Flow { sink: 2, number: 5 };

#[test]
fn messages_round_trip() {
    let echo = Some(Echo {
        number: 7,
        waited_ms: 300,
    });
    let data = |echo, ask| UpBody::Data {
        sequence: 65_535,
        rate: Rate::from_per_s(0.8),
        ask,
        met: Met::of(4),
        echo,
        payload: &[1, 2, 3],
    };
    let open = UpBody::Open {
        demand: Rate::from_per_s(4.0),
        first: 9,
    };
    let proof = Some(Proof {
        len: 59_000,
        digest: [1, 2, 3, 4, 5, 6, 7, 8],
    });
    let ends = [(None, None), (echo, None), (None, proof), (echo, proof)];
    let ends = ends.map(|(echo, proof)| UpBody::Finish {
        end: 10,
        echo,
        proof,
    });
    let all = [
        data(None, FeedbackRequest::No),
        data(echo, FeedbackRequest::Yes),
        open,
    ];
    for what in all.into_iter().chain(ends) {
        let up = Up {
            flow: FLOW,
            connection: 200,
            what,
        };
        let bytes = FrameBuf::build(|w| up.emit(w)).unwrap();
        assert_eq!(Up::parse(&bytes), Ok(up));
        assert!(Down::parse(&bytes).is_err());
    }
    let bytes = FrameBuf::build(|w| {
        let what = data(echo, FeedbackRequest::No);
        let (flow, connection) = (FLOW, 0);
        let up = Up {
            flow,
            connection,
            what,
        };
        up.emit(w)
    });
    let mut bytes = bytes.unwrap();
    assert_eq!(bytes.len(), DATA_HEADER_BYTES + 3);
    // A note never goes back, and of nothing but packets is any taken.
    for (packets, level) in [(1, 2), (9, Met::MOST), (2, Met::MOST)] {
        let mut message: [u8; DATA_HEADER_BYTES + 3] = bytes[..].try_into().unwrap();
        Met::note(&mut message, packets);
        bytes = FrameBuf::from_slice(&message).unwrap();
        let UpBody::Data { met, .. } = Up::parse(&bytes).unwrap().what else {
            panic!()
        };
        assert_eq!(met.level(), level);
    }
    let mut finish = [FINISH];
    Met::note(&mut finish, 9);
    assert_eq!(finish, [FINISH]);

    let mut room = [0; 2 * MAX_NACKS];
    let nacks = Nacks::pack(5..100, &mut room);
    assert!(nacks.iter().eq(5..15));
    let feedback = Feedback {
        number: 3,
        rate: Rate::MAX,
        next: 5,
        rtt_ms: 800,
        nacks,
    };
    for what in [
        DownBody::Accept(feedback),
        DownBody::Feedback(feedback),
        DownBody::Finished,
        DownBody::Refuse,
        DownBody::Unknown,
    ] {
        let down = Down {
            flow: FLOW,
            connection: 1,
            what,
        };
        let bytes = FrameBuf::build(|w| down.emit(w)).unwrap();
        assert_eq!(Down::parse(&bytes), Ok(down));
        assert!(Up::parse(&bytes).is_err());
    }
}

#[test]
fn rates_are_kept_within_their_range() {
    assert_eq!(Rate::from_per_s(-1.0), Rate::ZERO);
    assert_eq!(Rate::from_per_s(f64::NAN), Rate::ZERO);
    assert_eq!(Rate::from_per_s(1e9), Rate::MAX);
    assert!((Rate::from_per_s(0.8).per_s() - 0.8).abs() < 0.001);
    assert_eq!(Rate::from_per_s(2.0).interval_ns(), Some(500_000_000));
    assert_eq!(Rate::ZERO.interval_ns(), None);
}

proptest! {
    #[test]
    fn what_parses_is_what_is_written(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(up) = Up::parse(&bytes) {
            let again = FrameBuf::build(|w| up.emit(w)).unwrap();
            prop_assert_eq!(&*again, &bytes[..]);
        }
        if let Ok(down) = Down::parse(&bytes) {
            let again = FrameBuf::build(|w| down.emit(w)).unwrap();
            prop_assert_eq!(&*again, &bytes[..]);
        }
    }
}

#[test]
fn messages_that_are_none_are_refused() {
    // Kind, flow, connection, then the fields.
    let open = [OPEN, 0x25, 1, 0, 2, 9, 0];
    let data = [DATA, 0x25, 1, 9, 0, 0, 2];
    let echoed = [DATA | ECHOES, 0x25, 1, 9, 0, 0, 2, 7, 44, 1];
    let finish = [
        FINISH | PROVES,
        0x25,
        1,
        9,
        0,
        1,
        2,
        3,
        4,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
    ];
    for good in [&open[..], &data, &echoed, &finish] {
        assert!(Up::parse(good).is_ok(), "{good:?}");
        for short in 0..good.len() {
            assert_eq!(
                Up::parse(&good[..short]),
                Err(WireError::Truncated),
                "{good:?} {short}"
            );
        }
    }
    for (kind, fields) in [
        (OPEN | ASKS, &open[1..]),
        (OPEN | ECHOES, &open[1..]),
        (OPEN | PROVES, &open[1..]),
        (FINISH | ASKS, &finish[1..]),
        (FINISH | 0x80, &finish[1..]),
        (ACCEPT, &[0x25, 1, 0, 0, 2, 9, 0, 1, 0]),
        (8, &[0x25, 1]),
    ] {
        let bad = [&[kind], fields].concat();
        assert_eq!(Up::parse(&bad), Err(WireError::Malformed), "{kind:#x}");
    }
    for good in [&open[..], &finish] {
        let longer = [good, &[0]].concat();
        assert_eq!(Up::parse(&longer), Err(WireError::Malformed), "{good:?}");
    }
    let feedback = |nacks: usize| {
        [
            &[FEEDBACK, 0x25, 1, 7, 0, 2, 9, 0, 44, 1][..],
            &[3; 40][..nacks],
        ]
        .concat()
    };
    for (nacks, good) in [
        (0, true),
        (1, false),
        (2, true),
        (20, true),
        (21, false),
        (22, false),
    ] {
        let parsed = Down::parse(&feedback(nacks)).map(drop);
        let expected = if good {
            Ok(())
        } else {
            Err(WireError::Malformed)
        };
        assert_eq!(parsed, expected, "{nacks}");
    }
    for short in 0..10 {
        let feedback = feedback(0);
        let parsed = Down::parse(&feedback[..short]);
        assert_eq!(parsed, Err(WireError::Truncated), "{short}");
    }
    for kind in [FINISHED, REFUSE, UNKNOWN] {
        assert!(Down::parse(&[kind, 0x25, 1]).is_ok());
        assert_eq!(Down::parse(&[kind, 0x25, 1, 0]), Err(WireError::Malformed));
        assert_eq!(Down::parse(&[kind, 0x25]), Err(WireError::Truncated));
        assert_eq!(
            Down::parse(&[kind | ASKS, 0x25, 1]),
            Err(WireError::Malformed)
        );
    }
}
