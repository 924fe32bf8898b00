//! Tests of `probe.rs`.

use super::*;
use std::sync::Arc;
use thalweg_medium::{chip::CC2420, Environment};
use thalweg_sim::boards;
use thalweg_units::{Dbm, SimTime};

#[test]
fn relays_repeat_and_receivers_tell_both() {
    let env = Arc::new(Environment::full_mesh(3, &CC2420, Dbm(-60.0), 1));
    let board = boards::telosb();
    let ids = [1, 2, 3].map(|n| NodeId::new(n).unwrap());
    let probes = ids.map(|id| Probe::new(id, board.timing)).into();
    let mut net = Probes(Network::new(env, &[board], probes, 5).unwrap());
    let channel = Channel::LAST;
    net.command(1, Order::Relay(channel));
    net.command(2, Order::Receive(channel));
    let train = Train {
        channel,
        count: 3,
        interval: Duration::from_millis(20),
    };
    let mut heard = Vec::new();
    net.send(0, train, &mut |n, number, relay| {
        heard.push((n, number, relay));
    })
    .unwrap();
    let expected: Vec<_> = (0..3).flat_map(|k| [(2, k, 0), (2, k, 1)]).collect();
    assert!(
        net.0.now() < SimTime::from_nanos(100_000_000),
        "told that all are sent"
    );
    assert_eq!(heard, expected);
}
