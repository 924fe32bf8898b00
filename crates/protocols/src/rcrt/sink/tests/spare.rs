//! Flows that meet no queue get more than their share, and give it back.

use super::super::spare::Spare;
use thalweg_wire::rcrt::Met;

fn noted(spare: &mut Spare, packets: u8) {
    (0..60).for_each(|_| spare.noted(Met::of(packets)));
}

#[test]
fn a_free_way_brings_more_and_a_queue_or_congestion_takes_it_back() {
    let mut spare = Spare::NONE;
    (0..10).for_each(|_| spare.decided());
    assert!((spare.factor() - 1.5).abs() < 1e-9);
    // Two or three packets on the way: neither free nor busy.
    noted(&mut spare, 2);
    spare.decided();
    assert!((spare.factor() - 1.5).abs() < 1e-9);
    noted(&mut spare, 6);
    spare.decided();
    assert!((spare.factor() - 1.25).abs() < 1e-9);
    assert!(spare.congested());
    assert_eq!(spare.factor(), 1.0);
    assert!(!spare.congested(), "nothing is left to lose");
    noted(&mut spare, 1);
    (0..100).for_each(|_| spare.decided());
    assert_eq!(spare.factor(), 3.0);
}
