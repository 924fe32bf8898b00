//! Tests of `batch.rs`.

use super::*;

#[test]
fn rows_are_over_up_to_the_first_that_is_missing() {
    let mut batch = Batch::new(vec![None, Some(10), Some(12), Some(13)]);
    for packet in [1, 2, 3] {
        batch.sent(packet);
    }
    batch.acknowledge(1);
    batch.acknowledge(3);
    batch.acknowledge(9);
    assert_eq!(batch.acknowledged_rows(), [] as [i64; 0], "10 is missing");
    batch.acknowledge(2);
    assert_eq!(batch.acknowledged_rows(), [10, 12]);
    assert!(!batch.is_done(), "13 was not even sent");
    // What waited for room goes out under a number that was free again.
    batch.sent(1);
    assert!(!batch.is_done());
    batch.acknowledge(1);
    assert!(batch.is_done());
    assert_eq!(batch.acknowledged_rows(), [10, 12, 13]);
}

#[test]
fn nothing_is_over_at_once() {
    assert!(Batch::new(Vec::new()).is_done());
    assert!(!Batch::new(vec![None]).is_done());
}
