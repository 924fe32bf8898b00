//! Flows that meet no queue get more than their share, and give it back.

use super::super::spare::Spare;
use super::*;

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

/// A flow whose way is free, after two decisions: each gave it a twentieth more.
fn free() -> Bench {
    let excess = Excess::WhereFree;
    let mut bench = Bench::new(Config { excess, ..PLAIN }, "fair");
    bench.connected(7, 1.0);
    for sequence in [0, 1] {
        bench.pass(2.1);
        bench.data(7, 1, sequence);
        assert_eq!(bench.changes(), [Why::Increase]);
    }
    assert_eq!((bench.sink.total(), bench.rate_of(7)), (2.0, rate(2.2)));
    bench
}

/// Four round trips of 2.2 packets wait.
#[test]
fn congestion_takes_what_is_beyond_the_share_and_nothing_of_the_total() {
    let mut bench = free();
    (3..12).for_each(|sequence| bench.data(7, 1, sequence));
    assert_eq!(bench.rate_of(7), rate(2.0));
    assert_eq!((bench.changes(), bench.sink.total()), (Vec::new(), 2.0));
}

#[test]
fn what_packets_note_of_a_queue_takes_half_of_what_is_beyond_the_share() {
    let mut bench = free();
    for sequence in 2_u16..40 {
        if sequence == 39 {
            bench.pass(2.1);
        }
        let says = UpBody::Data {
            met: Met::of(6),
            sequence,
            rate: bench.rate_of(7),
            ask: FeedbackRequest::No,
            echo: None,
            payload: &sequence.to_le_bytes(),
        };
        bench.up(7, 1, says);
    }
    assert_eq!(bench.changes(), [Why::Increase]);
    assert_eq!((bench.sink.total(), bench.rate_of(7)), (2.5, rate(2.625)));
}
