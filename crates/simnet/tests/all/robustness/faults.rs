//! Nodes that die, and a sink that goes deaf.

use super::bench::{fetch, object, relays, terms, wait, Ladder, Reverse};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_host::job::Failure;
use thalweg_host::job::Progress;
use thalweg_sim::Fault;
use thalweg_simnet::motes::RunError;
use thalweg_units::{Duration, SimTime};
use thalweg_wire::route::{Hopping, Scheme};

fn ladder(seed: u64) -> Ladder {
    Ladder {
        hops: 4,
        paths: 4,
        least_prr: 0.95,
        seed,
        reverse: Reverse::Alive,
    }
}

/// `fault` strikes `node` at the first report of so many packets: what came of it.
fn struck(seed: u64, protocol: Scheme, node: usize, packets: u32, fault: Fault) -> (bool, f64) {
    let ladder = ladder(seed);
    let (plan, mut session) = (ladder.plan(), ladder.session());
    let object = object(seed, 30_000);
    // The observer cannot reach the network: when the fault strikes is learned in a first run.
    let mut at = None;
    let mut probe = ladder.session();
    probe.offer(plan.source, object.clone());
    let mut watch = |step: Progress| match step {
        Progress::Packets { received, .. } if received >= packets => Break(()),
        _ => Continue(()),
    };
    if let Err(RunError::Failed(Failure::Cancelled)) =
        probe.fetch(&plan, protocol, &terms(), &mut watch)
    {
        at = Some(probe.network().now());
    }
    let Some(at) = at else { return (false, 0.0) };
    session.network().fault_at(at, node, fault);
    let outcome = fetch(&mut session, &plan, protocol, &terms(), &object);
    (outcome.verified, outcome.duration_s)
}

#[test]
fn a_relay_may_die_at_any_time() {
    for seed in 0..6 {
        let plan = ladder(seed).plan();
        let stage = 1 + (seed as usize) % 3;
        let victim = relays(&plan, stage)[seed as usize % 4];
        let (whole, _) = struck(seed, Scheme::P3, victim, 16 + 32 * seed as u32, Fault::Dead);
        assert!(whole, "seed {seed}: three paths of four are left");
    }
}

#[test]
fn pip_ends_soon_where_its_relay_dies() {
    for seed in 0..3 {
        let plan = ladder(seed).plan();
        let victim = plan.pip.path[1 + seed as usize];
        let (whole, took) = struck(seed, Scheme::Pip(Hopping::Fixed), victim, 100, Fault::Dead);
        assert!(!whole && took < 12.0, "seed {seed}: {took} s");
    }
}

#[test]
fn the_source_may_die() {
    // P3 is begun three times in all before its sink believes it.
    for (seed, protocol, limit_s) in [(1, Scheme::P3, 24.0), (2, Scheme::Pip(Hopping::Fixed), 6.0)]
    {
        let (whole, took) = struck(seed, protocol, 0, 64, Fault::Dead);
        assert!(!whole && took < limit_s, "{took} s");
    }
}

#[test]
fn the_sink_may_be_deaf_for_a_second() {
    for seed in 0..4 {
        let ladder = ladder(seed);
        let (plan, sink) = (ladder.plan(), ladder.sink());
        for after_ms in [0, 20, 60, 150, 400, 900, 1_400] {
            let mut session = ladder.session();
            let until = SimTime::ZERO + Duration::from_millis(after_ms + 1_000);
            let deaf = Fault::Deaf { until };
            let at = SimTime::ZERO + Duration::from_millis(after_ms);
            session.network().fault_at(at, sink, deaf);
            let outcome = fetch(
                &mut session,
                &plan,
                Scheme::P3,
                &terms(),
                &object(seed, 30_000),
            );
            assert!(
                outcome.verified,
                "seed {seed}, after {after_ms} ms: {outcome:?}"
            );
        }
    }
}

#[test]
fn a_transfer_that_breaks_off_is_begun_again() {
    let ladder = ladder(5);
    let (plan, mut session) = (ladder.plan(), ladder.session());
    // Longer than the source waits for a request to be answered.
    let until = SimTime::ZERO + Duration::from_secs(5);
    session.network().fault_at(
        SimTime::ZERO + Duration::from_millis(300),
        ladder.sink(),
        Fault::Deaf { until },
    );
    let outcome = fetch(
        &mut session,
        &plan,
        Scheme::P3,
        &terms(),
        &object(5, 30_000),
    );
    assert!(outcome.verified, "{outcome:?}");
    assert_eq!(outcome.attempts, 2);
    assert!(
        outcome.duration_s > 5.0,
        "the lost time counts: {outcome:?}"
    );
}

#[test]
fn a_dead_sink_is_a_failed_transfer_and_no_hang() {
    let ladder = ladder(3);
    let (plan, mut session) = (ladder.plan(), ladder.session());
    session.network().fault(ladder.sink(), Fault::Dead);
    let outcome = fetch(&mut session, &plan, Scheme::P3, &terms(), &object(1, 500));
    assert!(
        !outcome.verified && outcome.failure.is_some(),
        "{outcome:?}"
    );
    session.network().fault(ladder.sink(), Fault::Healthy);
    wait(&mut session, Duration::from_secs(5));
    assert!(fetch(&mut session, &plan, Scheme::P3, &terms(), &object(1, 500)).verified);
}

#[test]
fn nodes_that_die_and_come_back_take_part_again() {
    let ladder = ladder(8);
    let (plan, mut session) = (ladder.plan(), ladder.session());
    assert!(fetch(&mut session, &plan, Scheme::P3, &terms(), &object(1, 3_000)).verified);
    for node in 0..ladder.nodes() {
        session.network().fault(node, Fault::Dead);
        wait(&mut session, Duration::from_millis(731));
        session.network().fault(node, Fault::Healthy);
    }
    wait(&mut session, Duration::from_secs(4));
    assert!(fetch(&mut session, &plan, Scheme::P3, &terms(), &object(2, 3_000)).verified);
}
