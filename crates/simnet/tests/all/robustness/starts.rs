//! Nodes that restart: a relay, the source or the sink, at any time of a transfer and after it.

use super::bench::{fetch, object, plan_over, terms, wait, Ladder, Reverse};
use thalweg_host::outcome::Summary;
use thalweg_host::registry::Pipelined;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_planner::{plan, Plan, RouteRequest};
use thalweg_sim::Fault;
use thalweg_units::{Duration, SimTime};
use thalweg_wire::route::{Hopping, Scheme};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn ladder(seed: u64) -> Ladder {
    Ladder {
        hops: 3,
        paths: 6,
        least_prr: 0.95,
        seed,
        reverse: Reverse::Alive,
    }
}

/// Thalweg's plan over `ladder`.
fn own_plan(ladder: &Ladder) -> Plan {
    let request = RouteRequest {
        min_paths: 1,
        ..RouteRequest::new(0, ladder.sink())
    };
    let own = Pipelined::named("thalweg").unwrap();
    let mut rng = thalweg_medium::random::stream(1, "starts", &[ladder.seed]);
    plan(&ladder.surveyed(), &own.request(&request), &mut rng).unwrap()
}

/// A transfer of 15,000 bytes in which `node` restarts after `after_ms`, and is off for `off_ms`.
fn struck(
    ladder: &Ladder,
    (plan, scheme): (&Plan, Scheme),
    node: usize,
    (after_ms, off_ms): (u64, u64),
) -> Summary {
    let mut session = ladder.session();
    let at = SimTime::ZERO + MS(after_ms);
    let until = at + MS(off_ms);
    let reboot = Fault::Reboot { until };
    session.network().fault_at(at, node, reboot);
    let object = object(ladder.seed, 15_000);
    fetch(&mut session, plan, scheme, &on(scheme), &object)
}

/// Terms of a transfer with `scheme`.
fn on(scheme: Scheme) -> TransferTerms {
    match scheme {
        Scheme::Thalweg => terms().slim(),
        _ => terms(),
    }
}

#[test]
fn the_object_arrives_across_a_restart_of_any_node() {
    for seed in 0..2 {
        let ladder = ladder(seed);
        let (lean, all) = (own_plan(&ladder), ladder.plan());
        let off = 20 + seed * 900;
        for after in [10, 120, 500] {
            for of in [(&lean, Scheme::Thalweg), (&all, Scheme::P3)] {
                let relay = of.0.stages[1][0].node;
                for node in [0, relay, ladder.sink()] {
                    let outcome = struck(&ladder, of, node, (after, off));
                    let case = format!("seed {seed}, node {node} after {after} ms: {outcome:?}");
                    assert!(outcome.verified, "{case}");
                    assert!(outcome.duration_s < 16.0, "{case}");
                }
            }
        }
    }
}

#[test]
fn pip_has_one_attempt_and_says_why_it_failed() {
    let ladder = ladder(7);
    let pip = Scheme::Pip(Hopping::Fixed);
    let of = (&ladder.plan(), pip);
    let outcome = struck(&ladder, of, ladder.sink(), (300, 500));
    let why = format!("node {} restarted", ladder.sink());
    assert_eq!(outcome.failure, Some(why));
    let outcome = struck(&ladder, of, 0, (300, 500));
    assert!(!outcome.verified && outcome.duration_s < 6.0);
}

#[test]
fn repeated_sink_restarts_end_typed() {
    let ladder = ladder(4);
    let (plan, mut session) = (own_plan(&ladder), ladder.session());
    for k in 1..80 {
        let at = SimTime::ZERO + MS(400 * k);
        let until = at + MS(100);
        let reboot = Fault::Reboot { until };
        session.network().fault_at(at, ladder.sink(), reboot);
    }
    let object = object(4, 30_000);
    let terms = on(Scheme::Thalweg);
    let outcome = fetch(&mut session, &plan, Scheme::Thalweg, &terms, &object);
    assert!(outcome.failure.is_some_and(|why| why.contains("restarted")));
    assert_eq!(outcome.attempts, 48);
}

#[test]
fn a_restarted_sink_reaches_sleeping_nodes() {
    for case in 0..8 {
        let ladder = ladder(case);
        let mut session = ladder.session();
        // Three chains of two relays sleep through this one.
        let single = plan_over(&ladder.surveyed(), 0, ladder.sink(), 3, 1);
        let first = object(1, 2_000);
        assert!(fetch(&mut session, &single, Scheme::P3, &terms(), &first).verified);
        let until = session.network().now() + MS(200);
        let reboot = Fault::Reboot { until };
        session.network().fault(ladder.sink(), reboot);
        wait(&mut session, MS(4_000 + case * 37));
        let (plan, object) = (own_plan(&ladder), object(2, 2_000));
        let terms = on(Scheme::Thalweg);
        let outcome = fetch(&mut session, &plan, Scheme::Thalweg, &terms, &object);
        assert!(outcome.verified && outcome.attempts == 1, "{outcome:?}");
    }
}
