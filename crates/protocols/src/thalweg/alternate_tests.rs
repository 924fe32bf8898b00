//! Tests of `alternate.rs`.

use super::super::report::PROBE;
use super::*;
use crate::thalweg::testing::{beat, route, CYCLE};
use thalweg_wire::pipeline::Group;

/// One of the even group, awake after the first probe.
fn awake() -> (AlternateRelay, Instant) {
    let chain = ChainRole::new(&route(&[26, 20, 25]), (1, Group::Even), &beat(), None);
    let mut alternate = AlternateRelay::new(chain, Progress::Fresh, &beat());
    assert_eq!(alternate.listening(), None);
    let wakes = alternate.next().unwrap();
    assert_eq!(wakes, beat().start + CYCLE * (u64::from(PROBE) + 1));
    assert_eq!(alternate.advance(wakes), Retune::Now);
    assert_eq!(alternate.listening(), Some(Channel::new(20).unwrap()));
    (alternate, wakes)
}

#[test]
fn it_leaves_two_exchanges_after_the_probe_where_it_hears_nothing() {
    let (alternate, wakes) = awake();
    let leaves = wakes + CYCLE * 20;
    assert_eq!(alternate.leaves(), Some((leaves, End::NotCalled)));
    assert!(leaves <= beat().start + AlternateRelay::patience(&beat()));
}

#[test]
fn a_packet_makes_it_a_relay_and_control_does_not() {
    let (mut alternate, at) = awake();
    alternate.on_reception(Reception::Control, at);
    assert!(!alternate.passes_on(Reception::Control));
    alternate.on_reception(Reception::Call, at);
    assert!(alternate.passes_on(Reception::Call) && alternate.passes_on(Reception::Control));
    assert_eq!((alternate.leaves(), alternate.next()), (None, None));
    assert!(
        !alternate.passes_on(Reception::Count),
        "its count is another"
    );
}

#[test]
fn it_does_what_the_verdicts_say() {
    use Verdict::{Abort, Good, Inconclusive, UseAlternate};
    let due = |at: Instant| at + CYCLE;
    let after = |odd: Verdict, even: Verdict| {
        let (mut alternate, at) = awake();
        let _ = alternate.on_nack(&[0x10 | odd as u8 | (even as u8) << 2], due(at));
        (alternate, at)
    };
    for (odd, even, end) in [
        (Good, Good, End::NotNeeded),
        (Abort, Good, End::NotCalled),
        (Good, Abort, End::NotCalled),
    ] {
        let (alternate, at) = after(odd, even);
        assert_eq!(alternate.leaves(), Some((due(at), end)));
        assert_eq!(alternate.listening().is_none(), end == End::NotNeeded);
    }
    for (odd, even, packets) in [
        (Good, Inconclusive, LONG_PROBE),
        (UseAlternate, Good, PROBE),
    ] {
        let (mut alternate, at) = after(odd, even);
        assert_eq!(alternate.listening(), None, "it sleeps through the probe");
        let wakes = due(at) + CYCLE * u64::from(packets);
        assert_eq!((alternate.next(), alternate.leaves()), (Some(wakes), None));
        assert_eq!(alternate.advance(wakes), Retune::Now);
        assert_eq!(
            alternate.leaves(),
            Some((wakes + CYCLE * 20, End::NotCalled))
        );
    }
    let (alternate, at) = after(Good, UseAlternate);
    let leaves = Some((due(at) + CYCLE * 10, End::NotCalled));
    assert_eq!(alternate.leaves(), leaves, "a call comes");
    let (mut alternate, at) = awake();
    let before = alternate;
    assert_eq!(alternate.on_nack(&[0], due(at)), Retune::Stay);
    assert_eq!(alternate, before, "no verdict");
}
