//! However a transfer ends, it ends soon, and the sink's next order works.

use super::bench::{draw, fetch, fetch_watched, object, terms, wait, Ladder, Reverse};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_host::job::Failure;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_medium::random::derive;
use thalweg_sim::Fault;
use thalweg_simnet::motes::RunError;
use thalweg_units::Duration;
use thalweg_wire::route::{Hopping, Scheme};

#[test]
fn stopped_by_the_observer_at_any_step() {
    for case in 0..12u64 {
        let ladder = Ladder {
            hops: 3,
            paths: 3,
            least_prr: 0.95,
            seed: derive(1, "stop", &[case]),
            reverse: Reverse::Alive,
        };
        let (plan, mut session) = (ladder.plan(), ladder.session());
        let protocol = if case % 3 == 0 {
            Scheme::Pip(Hopping::Fixed)
        } else {
            Scheme::P3
        };
        let (mut steps, after) = (0, draw("after", &[case], 12));
        let object = object(case, 20_000);
        let result = fetch_watched(
            &mut session,
            &plan,
            protocol,
            &terms(),
            &object,
            &mut |_| {
                steps += 1;
                if steps > after {
                    Break(())
                } else {
                    Continue(())
                }
            },
        );
        match result {
            Err(RunError::Failed(Failure::Cancelled)) => {}
            Ok(outcome) => assert!(
                steps <= after && outcome.verified,
                "case {case}: {outcome:?}"
            ),
            Err(other) => panic!("case {case}: {other}"),
        }
        // At once: the sink may try, whether the others have noticed or not; no error comes of it.
        let outcome = fetch(&mut session, &plan, protocol, &terms(), &object);
        assert!(
            outcome.verified || outcome.duration_s < 15.0,
            "case {case}: {outcome:?}"
        );
        wait(&mut session, Duration::from_secs(6));
        let outcome = fetch(&mut session, &plan, protocol, &terms(), &object);
        assert!(outcome.verified, "case {case}: {outcome:?}");
    }
}

#[test]
fn without_its_reverse_link_pip_gives_up_soon_and_p3_needs_but_one() {
    for seed in 0..6 {
        let ladder = Ladder {
            hops: 3,
            paths: 4,
            least_prr: 1.0,
            seed,
            reverse: Reverse::OneLeft,
        };
        let (mut plan, mut session) = (ladder.plan(), ladder.session());
        if plan.pip.path[1] == ladder.paths {
            plan.pip.path[1] = 1;
        }
        let object = object(seed, 10_000);
        let outcome = fetch(
            &mut session,
            &plan,
            Scheme::Pip(Hopping::Fixed),
            &terms(),
            &object,
        );
        // Everything has arrived, but for what PIP could not hear of.
        assert!(outcome.duration_s < 5.0, "{outcome:?}");
        let outcome = fetch(&mut session, &plan, Scheme::P3, &terms(), &object);
        assert!(outcome.verified, "{outcome:?}");
    }
}

#[test]
fn a_failed_transfer_takes_seconds_not_minutes() {
    for (protocol, most) in [
        (Scheme::Pip(Hopping::Fixed), 6.0),
        (Scheme::Pip(Hopping::EveryCyclePair), 6.0),
        (Scheme::P3, 12.0),
    ] {
        let ladder = Ladder {
            hops: 3,
            paths: 2,
            least_prr: 1.0,
            seed: 4,
            reverse: Reverse::Alive,
        };
        let (plan, mut session) = (ladder.plan(), ladder.session());
        for node in plan
            .active_nodes()
            .into_iter()
            .filter(|(_, stage)| *stage == 2)
        {
            session.network().fault(node.0, Fault::Dead);
        }
        let terms = TransferTerms {
            deadline_s: 600,
            ..terms()
        };
        let outcome = fetch(&mut session, &plan, protocol, &terms, &object(1, 30_000));
        assert!(
            !outcome.verified && outcome.duration_s < most,
            "{outcome:?}"
        );
        for node in 0..ladder.nodes() {
            session.network().fault(node, Fault::Healthy);
        }
        wait(&mut session, Duration::from_secs(6));
        let outcome = fetch(&mut session, &plan, protocol, &terms, &object(2, 30_000));
        assert!(outcome.verified, "{outcome:?}");
    }
}

#[test]
fn twenty_transfers_in_a_row_on_lossy_links() {
    let ladder = Ladder {
        hops: 3,
        paths: 6,
        least_prr: 0.8,
        seed: 77,
        reverse: Reverse::Alive,
    };
    let (plan, mut session) = (ladder.plan(), ladder.session());
    let mut whole = 0;
    for n in 0..20 {
        let protocol = if n % 2 == 0 {
            Scheme::P3
        } else {
            Scheme::Pip(Hopping::Fixed)
        };
        let outcome = fetch(&mut session, &plan, protocol, &terms(), &object(n, 4_000));
        whole += u32::from(outcome.verified && n % 2 == 0);
    }
    assert!(whole >= 9, "{whole} of 10 P3 transfers");
}
