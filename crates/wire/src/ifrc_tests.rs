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
