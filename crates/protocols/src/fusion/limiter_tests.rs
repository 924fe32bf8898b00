//! Tests of `limiter.rs`.

use super::*;
use crate::fusion::Strategy;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

#[test]
fn a_token_for_every_round_of_the_parents_sources() {
    let mut limiter = Limiter::new(Some(Strategy::LIMIT));
    // Four sources, 40 packets within the window, in turn: about one token for every four.
    let mut at = Instant::ZERO;
    for k in 0..40 {
        at += thalweg_units::Duration::from_millis(50);
        limiter.on_forward(at, id(k % 4), k, id(9));
    }
    assert_eq!(limiter.tokens, 10);
    (0..9).for_each(|_| limiter.spend());
    assert!(limiter.admits(at));
    limiter.spend();
    assert!(!limiter.admits(at));
    for k in 100..108 {
        limiter.on_forward(at, id(k % 4), k, id(9));
    }
    assert_eq!(limiter.tokens, 2);
}

#[test]
fn an_unheard_parent_limits_no_node() {
    let mut limiter = Limiter::new(Some(Strategy::LIMIT));
    assert!(limiter.admits(Instant::ZERO));
    limiter.on_forward(Instant::ZERO, id(1), 1, id(9));
    limiter.on_forward(Instant::ZERO, id(2), 1, id(9));
    limiter.spend();
    assert_eq!(limiter.tokens, 0);
    let window = Strategy::LIMIT.window;
    assert!(!limiter.admits(Instant::ZERO + window));
    assert!(limiter.admits(Instant::ZERO + window * 2));
}

#[test]
fn a_retransmission_is_no_new_packet() {
    let mut limiter = Limiter::new(Some(Strategy::LIMIT));
    for k in 0..8 {
        limiter.on_forward(Instant::ZERO, id(1), 1 + k / 4, id(9));
    }
    assert_eq!(limiter.tokens, 2);
}
