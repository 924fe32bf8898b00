//! The same in a building of 139 nodes: one survey, transfers with faults, a following one.

use super::bench::{fetch, object, relays, terms, wait};
use std::ops::ControlFlow::Continue;
use thalweg_host::survey::Survey;
use thalweg_planner::{plan, RouteRequest};
use thalweg_sim::Fault;
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, Duration};
use thalweg_wire::route::{Hopping, Scheme};

#[test]
fn a_building_survives_what_a_ladder_does() {
    let site = Site::new(Testbed::load("indriya").unwrap(), 3);
    let mut session = Motes::open(&site, 3).unwrap();
    let survey = Survey::of([Channel::LAST].into_iter().collect());
    let links = session
        .survey(0, survey, &mut |_| Continue(()))
        .unwrap()
        .links;
    let mut rng = thalweg_medium::random::stream(3, "building", &[]);
    let plans = [40, 75, 110, 130].map(|source| {
        plan(
            &links,
            &RouteRequest {
                max_hops: 6,
                ..RouteRequest::new(source, 0)
            },
            &mut rng,
        )
    });
    let mut whole = 0;
    for (n, plan) in plans.into_iter().flatten().enumerate() {
        for protocol in [Scheme::P3, Scheme::Pip(Hopping::Fixed)] {
            let dies = relays(&plan, 1)[0];
            let at = session.network().now() + Duration::from_millis(900);
            session.network().fault_at(at, dies, Fault::Dead);
            let deaf = Fault::Deaf {
                until: at + Duration::from_millis(1_300),
            };
            session
                .network()
                .fault_at(at + Duration::from_millis(300), plan.sink, deaf);
            let outcome = fetch(
                &mut session,
                &plan,
                protocol,
                &terms(),
                &object(n as u64, 20_000),
            );
            whole += u32::from(outcome.verified && protocol == Scheme::P3);
            session.network().fault(dies, Fault::Healthy);
            wait(&mut session, Duration::from_secs(4));
        }
    }
    assert!(whole >= 3, "{whole} of 4");
}
