//! Tests of `likely.rs`: what few beacons leave open.

use crate::link_model::LinkModel;
use crate::links::LinkQualities;
use crate::plan::Plan;
use crate::request::{Backups, RouteRequest};
use crate::route::plan;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use thalweg_units::{Channel, Dbm};

const FLOOR: Dbm = Dbm(-97.0);

/// A row of eleven whose links have this level, of whose frames so many arrive, from one end to the other.
fn row(level: f64, received: u32, sent: u32) -> Plan {
    let mut links = LinkQualities::new(11);
    for (a, b) in (0..10).flat_map(|a| [(a, a + 1), (a + 1, a)]) {
        for channel in [15, 20, 25, 26].map(|c| Channel::new(c).unwrap()) {
            let level = Some(Dbm(level));
            links.record(a, b, channel, received, sent, level).unwrap();
        }
    }
    let model = LinkModel::learned(&links, FLOOR);
    let request = RouteRequest {
        backups: Backups::Relays,
        ..RouteRequest::planned(10, 0).trusting(model)
    };
    plan(&links, &request, &mut Pcg64Mcg::seed_from_u64(1)).unwrap()
}

fn times(plan: &Plan) -> [f64; 2] {
    plan.prediction.likely.unwrap().time_s
}

/// Of 160 beacons none is lost with a chance of one in ten if one in seventy is.
#[test]
fn few_beacons_leave_a_range_and_many_leave_none() {
    let [shortest, longest] = times(&row(-80.0, 2, 2));
    assert!(
        (1.3..3.0).contains(&(longest / shortest)),
        "{shortest} {longest}"
    );
    let [shortest, longest] = times(&row(-80.0, 1_000, 1_000));
    assert!(longest < 1.05 * shortest, "{shortest} {longest}");
}

/// Its levels say as little, and a path hop by hop ends the wait.
#[test]
fn what_is_expected_lies_in_the_range() {
    for (level, received) in [(-80.0, 2), (-92.0, 2), (-94.0, 1), (-96.0, 1)] {
        let plan = row(level, received, 2);
        let ([shortest, longest], time_s) = (times(&plan), plan.prediction.time_s.unwrap());
        assert!(
            shortest <= time_s && time_s <= longest,
            "{level}: {shortest} {time_s} {longest}"
        );
        assert!(longest < 1_000.0, "{level}: {longest}");
    }
}
