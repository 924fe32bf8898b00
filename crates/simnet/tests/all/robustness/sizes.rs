//! Objects from one byte to a megabyte, on the testbeds that come with the program.

use super::bench::{fetch, object, plan_over, terms};
use std::ops::ControlFlow::Continue;
use thalweg_host::job::Retry;
use thalweg_host::survey::Survey;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_planner::LinkQualities;
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::Channel;
use thalweg_wire::pipeline::MAX_PACKETS;
use thalweg_wire::route::Scheme;
use thalweg_wire::route::{Hopping, PayloadSize};

/// A surveyed network of nodes in a row.
fn surveyed(name: &str, seed: u64) -> (Motes, LinkQualities) {
    let site = Site::new(Testbed::load(name).unwrap(), seed);
    let mut session = Motes::open(&site, seed).unwrap();
    let channels = super::bench::CHANNELS.map(|c| Channel::new(c).unwrap());
    let survey = Survey::of(channels.into_iter().collect());
    let surveyed = session.survey(0, survey, &mut |_| Continue(())).unwrap();
    assert_eq!(surveyed.missing, []);
    (session, surveyed.links)
}

#[test]
fn a_megabyte_over_four_hops() {
    let (mut session, links) = surveyed("line5", 1);
    let plan = plan_over(&links, 4, 0, 4, 1);
    let terms = TransferTerms {
        deadline_s: 600,
        ..terms()
    };
    let outcome = fetch(
        &mut session,
        &plan,
        Scheme::P3,
        &terms,
        &object(1, 1_000_000),
    );
    assert!(outcome.verified, "{outcome:?}");
}

#[test]
fn small_objects_of_every_kind_of_size() {
    let (mut session, links) = surveyed("pair", 1);
    let plan = plan_over(&links, 1, 0, 1, 1);
    for payload in [1, 2, 31, 32, 117, 118] {
        let terms = TransferTerms {
            payload: PayloadSize::new(payload).unwrap(),
            ..terms()
        };
        let p = usize::from(payload);
        for bytes in [1, 2, p - 1, p, p + 1, 7 * p, 8 * p + 1, 100 * p]
            .into_iter()
            .filter(|b| *b > 0)
        {
            for protocol in [Scheme::P3, Scheme::Pip(Hopping::Fixed)] {
                let outcome = fetch(&mut session, &plan, protocol, &terms, &object(3, bytes));
                assert!(outcome.verified, "{bytes} B in {payload} B: {outcome:?}");
            }
        }
    }
}

#[test]
fn more_than_a_transfer_takes_is_refused_and_the_next_works() {
    let (mut session, links) = surveyed("pair", 2);
    let plan = plan_over(&links, 1, 0, 1, 1);
    let terms = TransferTerms {
        payload: PayloadSize::new(1).unwrap(),
        retry: Retry::NEVER,
        ..terms()
    };
    let too_large = object(1, usize::from(MAX_PACKETS) + 1);
    let outcome = fetch(&mut session, &plan, Scheme::P3, &terms, &too_large);
    assert!(!outcome.verified && outcome.duration_s < 5.0, "{outcome:?}");
    let small = PayloadSize::new(20).unwrap();
    let terms = TransferTerms {
        payload: small,
        ..terms
    };
    let outcome = fetch(
        &mut session,
        &plan,
        Scheme::Pip(Hopping::EveryCyclePair),
        &terms,
        &object(1, 100),
    );
    assert!(!outcome.verified, "hopping needs 32 bytes: {outcome:?}");
    let outcome = fetch(&mut session, &plan, Scheme::P3, &terms, &object(1, 100));
    assert!(outcome.verified, "{outcome:?}");
}
