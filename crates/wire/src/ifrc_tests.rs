//! Tests of `ifrc.rs`.

use super::*;
use crate::FrameBuf;
use proptest::prelude::*;

#[test]
fn every_state_round_trips() {
    let rate = Rate::from_per_s(0.02);
    assert!((rate.per_s() - 0.02).abs() < 1.3e-4);
    assert_eq!(Rate::from_per_s(100.0), Rate::MAX);
    let slow = |threshold| Phase::SlowStart { threshold };
    let phases = [
        slow(None),
        slow(Some(Rate(9))),
        Phase::Additive { threshold: Rate(7) },
    ];
    for (crossed, phase) in [0, 3, 4].into_iter().zip(phases) {
        let state = State {
            rate,
            phase,
            crossed,
        };
        for child in [None, Some((NodeId::new(7).unwrap(), state))] {
            let control = Control { own: state, child };
            let frame = FrameBuf::build(|w| control.emit(w)).unwrap();
            assert_eq!(frame.len(), CONTROL_BYTES);
            assert_eq!(Control::parse(&frame), Ok(control));
            let cut = &frame[..CONTROL_BYTES - 1];
            assert_eq!(Control::parse(cut), Err(WireError::Truncated));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
        if let Ok(control) = Control::parse(&bytes) {
            prop_assert!(control.own.crossed <= THRESHOLDS);
        }
    }
}

#[test]
fn states_that_are_none_are_refused() {
    let own = |bits| [bits, 9, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0];
    let child = |id: u8, bits| [HAS_CHILD | SLOW_START, 9, 0, 7, 0, id, id, bits, 9, 0, 7, 0];
    for good in [
        own(SLOW_START | 4),
        own(HAS_THRESHOLD),
        child(1, SLOW_START),
    ] {
        assert!(Control::parse(&good).is_ok());
        let longer = [&good[..], &[0]].concat();
        assert_eq!(Control::parse(&longer), Err(WireError::Malformed));
    }
    // No phase, five thresholds crossed, both of a child, and a child that is no node.
    for bad in [
        own(0),
        own(SLOW_START | 5),
        child(1, 0),
        child(1, SLOW_START | 5),
        child(0xff, SLOW_START),
    ] {
        assert_eq!(Control::parse(&bad), Err(WireError::Malformed), "{bad:?}");
    }
}
