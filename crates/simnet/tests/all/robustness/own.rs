//! Thalweg and P3 with whatever may go wrong at once, over lossy links: nodes that die and come back, restart, are deaf for a
//! while, or have a channel drowned. What has to hold whatever happens, `bench::fetch` checks.

use super::bench::{fetch, fetch_watched, object, terms, wait, Ladder, Reverse, CHANNELS};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::ops::ControlFlow::Continue;
use thalweg_host::job::Failure;
use thalweg_host::registry::Pipelined;
use thalweg_planner::{plan, Plan, RouteRequest};
use thalweg_sim::Fault;
use thalweg_simnet::motes::RunError;
use thalweg_units::{Channel, Duration};

/// What strikes a node, so many milliseconds after the order, for so many.
#[derive(Debug, Clone, Copy)]
struct Strike {
    node: usize,
    after_ms: u64,
    for_ms: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Dead,
    Deaf,
    Jammed(u8),
    Reboot,
}

fn ladder(seed: u64, least_prr: f64) -> Ladder {
    Ladder {
        hops: 3,
        paths: 6,
        least_prr,
        seed,
        reverse: Reverse::Alive,
    }
}

fn own_plan(ladder: &Ladder) -> Plan {
    let thalweg = Pipelined::named("thalweg").unwrap();
    let request = RouteRequest {
        min_paths: 1,
        ..RouteRequest::new(0, ladder.sink())
    };
    let mut rng = thalweg_medium::random::stream(1, "own", &[ladder.seed]);
    plan(&ladder.surveyed(), &thalweg.request(&request), &mut rng).unwrap()
}

fn strikes() -> impl Strategy<Value = Vec<Strike>> {
    let nodes = ladder(0, 1.0).nodes();
    let kind = prop_oneof![
        Just(Kind::Dead),
        Just(Kind::Deaf),
        (0..CHANNELS.len()).prop_map(|at| Kind::Jammed(CHANNELS[at])),
        Just(Kind::Reboot),
        Just(Kind::Reboot),
    ];
    let strike = (0..nodes, 0..2_500u64, 50..4_000u64, kind);
    let strike = strike.prop_map(|(node, after_ms, for_ms, kind)| Strike {
        node,
        after_ms,
        for_ms,
        kind,
    });
    proptest::collection::vec(strike, 0..7)
}

/// A transfer with `protocol` over links that lose up to a half, with what `strikes`; and the next one when all are well.
fn ends(
    (protocol, plan): (&str, fn(&Ladder) -> Plan),
    (seed, least_prr, bytes): (u64, f64, usize),
    strikes: Vec<Strike>,
) {
    let ladder = ladder(seed, least_prr);
    let (plan, mut session) = (plan(&ladder), ladder.session());
    let protocol = Pipelined::named(protocol).unwrap();
    let terms = protocol.terms(terms());
    let began = session.network().now();
    for Strike {
        node,
        after_ms,
        for_ms,
        kind,
    } in strikes
    {
        let at = began + Duration::from_millis(after_ms);
        let until = at + Duration::from_millis(for_ms);
        let (fault, mends) = match kind {
            Kind::Dead => (Fault::Dead, true),
            Kind::Deaf => (Fault::Deaf { until }, true),
            Kind::Reboot => (Fault::Reboot { until }, false),
            Kind::Jammed(channel) => {
                let channel = Channel::new(channel).unwrap();
                (Fault::Jammed { channel }, true)
            }
        };
        session.network().fault_at(at, node, fault);
        if mends {
            session.network().fault_at(until, node, Fault::Healthy);
        }
    }
    let object = object(seed, bytes);
    let mut silent = |_| Continue(());
    match fetch_watched(
        &mut session,
        &plan,
        protocol.scheme,
        &terms,
        &object,
        &mut silent,
    ) {
        Ok(_) => {}
        // The sink's node was dead when it was given the order.
        Err(RunError::Failed(Failure::Refused(_))) => {}
        Err(other) => panic!("{other}"),
    }
    // Whatever came of it: once all are well the next transfer brings its object.
    wait(&mut session, Duration::from_secs(8));
    for node in 0..ladder.nodes() {
        session.network().fault(node, Fault::Healthy);
    }
    let next = self::object(seed + 1, 20_000);
    let outcome = fetch(&mut session, &plan, protocol.scheme, &terms, &next);
    assert!(outcome.verified, "{outcome:?}");
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(802_154),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn objects() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1usize), Just(118), 1_000usize..40_000]
}

proptest! {
    #![proptest_config(cases(64))]
    #[test]
    fn ends_in_time_with_the_object_or_with_a_reason(
        seed in 0..1_000u64, least_prr in 0.5..1.0f64, bytes in objects(), strikes in strikes(),
    ) {
        ends(("thalweg", own_plan), (seed, least_prr, bytes), strikes);
    }
}

proptest! {
    #![proptest_config(cases(32))]
    #[test]
    fn so_does_p3(
        seed in 0..1_000u64, least_prr in 0.8..1.0f64, bytes in objects(), strikes in strikes(),
    ) {
        ends(("p3", Ladder::plan), (seed, least_prr, bytes), strikes);
    }
}

#[test]
fn a_spare_relay_that_hears_of_its_part_when_it_is_over_has_none() {
    let ladder = ladder(0, 0.5);
    let (plan, mut session) = (own_plan(&ladder), ladder.session());
    let alternate = plan.alternates[0][0].node;
    let at = session.network().now() + Duration::from_millis(13);
    session.network().fault_at(at, alternate, Fault::Dead);
    let back = at + Duration::from_millis(160);
    session.network().fault_at(back, alternate, Fault::Healthy);
    let own = Pipelined::named("thalweg").unwrap();
    let outcome = fetch(
        &mut session,
        &plan,
        own.scheme,
        &own.terms(terms()),
        &object(0, 1),
    );
    assert!(outcome.verified, "{outcome:?}");
    wait(&mut session, Duration::from_secs(8));
}
