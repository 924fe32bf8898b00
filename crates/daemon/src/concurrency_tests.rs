//! Tests of `concurrency.rs`.

use super::*;

#[test]
fn those_that_wait_come_in_turn_and_another_building_is_another() {
    let (concurrency, here) = (Concurrency::default(), Some("mill".to_owned()));
    let begun = Instant::now();
    let at = |s: u64| begun + Duration::from_secs(s);
    let enter = |name, s| concurrency.enter((&here, name), Some(2), at(s));
    assert_eq!(enter("a", 0), Entry::Entered);
    assert_eq!(enter("b", 0), Entry::Entered);
    assert_eq!(enter("c", 1), Entry::Full);
    assert_eq!(
        (
            concurrency.others(&here, "a"),
            concurrency.others(&here, "c")
        ),
        (1, 2)
    );
    assert_eq!(
        concurrency.enter((&None, "z"), Some(1), at(1)),
        Entry::Entered
    );
    concurrency.leave(&here, "a");
    // It has had its turn: the place is for who waited.
    assert_eq!(enter("a", 2), Entry::Full);
    assert_eq!(enter("c", 2), Entry::Entered);
    concurrency.leave(&here, "b");
    assert_eq!(enter("b", 3), Entry::Full, "the other one waited longer");
    // Who does not come back does not hold the others up.
    assert_eq!(enter("b", 5), Entry::Full);
    assert_eq!(enter("b", 9), Entry::Entered);
    assert_eq!(concurrency.enter((&here, "d"), None, at(9)), Entry::Entered);
}
