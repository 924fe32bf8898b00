//! Tests of `survey.rs`.

use super::*;

#[test]
fn a_sweep_moves_with_its_time_and_ends_with_its_last_node() {
    let second = Span::from_secs(1);
    let turn = |time: Span| match swept(20, time, second) {
        Progress::Measuring { turn, of } => (turn, of),
        other => panic!("{other:?}"),
    };
    assert_eq!(turn(Span::ZERO), (0, 20));
    assert_eq!(turn(Span::from_millis(500)), (10, 20));
    // One that takes longer than it should is not over.
    assert_eq!(turn(second * 9), (19, 20));
    assert!(matches!(
        swept(0, second, Span::ZERO),
        Progress::Measuring { turn: 0, of: 0 }
    ));
}
