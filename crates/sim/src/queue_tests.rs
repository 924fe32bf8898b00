//! The event queue and the slab.

use super::*;

#[test]
fn time_then_rank_then_cause() {
    let mut queue = Queue::new();
    let at = SimTime::from_nanos;
    queue.push(at(5), Rank::Timeout, "timeout");
    queue.push(at(5), Rank::Notify, "first notice");
    queue.push(at(5), Rank::Notify, "second notice");
    queue.push(at(5), Rank::AirStart, "start");
    queue.push(at(5), Rank::AirEnd, "end");
    queue.push(at(4), Rank::Timeout, "earlier");
    queue.push(at(5), Rank::Turn, "tune");
    let order: Vec<_> = std::iter::from_fn(|| queue.pop())
        .map(|(_, what)| what)
        .collect();
    assert_eq!(
        order,
        [
            "earlier",
            "end",
            "tune",
            "start",
            "first notice",
            "second notice",
            "timeout"
        ]
    );
}

#[test]
fn what_comes_out_is_what_went_in_sorted() {
    let (mut queue, mut sorted) = (Queue::new(), std::collections::BTreeSet::new());
    let mut state = 1u64;
    for k in 0..20_000u64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // Filled, held, emptied; many events of one instant.
        let pops = match k {
            0..5_000 => state >> 40 & 1,
            5_000..10_000 => 1,
            _ => 2,
        };
        let at = state >> 33 & 0xff;
        queue.push(SimTime::from_nanos(at), Rank::Notify, k);
        sorted.insert((at, k));
        for _ in 0..pops {
            let popped = queue.pop().map(|(at, what)| (at.as_nanos(), what));
            assert_eq!(
                queue.peek().map(|(_, k)| *k),
                sorted.iter().nth(1).map(|s| s.1)
            );
            assert_eq!(popped, sorted.pop_first());
        }
    }
}

#[test]
fn a_slab_gives_names_again_only_after_their_end() {
    let mut slab = Slab::new();
    let (a, b) = (slab.insert('a'), slab.insert('b'));
    slab.free(a);
    assert_eq!(slab.get(a), None);
    slab.free(a);
    let c = slab.insert('c');
    assert_eq!((c, slab.get(b), slab.get(c)), (a, Some(&'b'), Some(&'c')));
    assert_eq!(slab.len(), 2);
}
