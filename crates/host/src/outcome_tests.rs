use super::*;
use crate::job::RetryMode;

/// A transfer that brought its object, and one that did not.
pub(crate) fn whole_and_failed() -> (Summary, Summary) {
    let whole = Summary {
        protocol: "p3".to_owned(),
        testbed: "line5".to_owned(),
        source: NodeId::new(5).unwrap(),
        sink: NodeId::new(1).unwrap(),
        bytes: 59_000,
        verified: true,
        sealed: false,
        goodput_kbps: 160.0,
        utilisation: Some(0.8),
        rounds: 2,
        first_round_reliability: Some(0.9),
        active_nodes: 5,
        hops: 4,
        paths: 1,
        energy_j: Some(1.0),
        network_energy_j: Some(10.0),
        cold: None,
        duration_s: 3.0,
        waited_s: 0.0,
        attempts: 1,
        failure: None,
        seed: 1,
    };
    let failed = Summary {
        bytes: 0,
        verified: false,
        sealed: false,
        goodput_kbps: 0.0,
        duration_s: 5.0,
        energy_j: Some(2.0),
        network_energy_j: Some(20.0),
        ..whole.clone()
    };
    (whole, failed)
}

#[test]
fn a_failed_transfer_costs_time_energy_and_goodput() {
    let (whole, failed) = whole_and_failed();
    let mut both = whole.clone();
    both.add_failed(&failed, 4.0);
    let told = (both.duration_s, both.energy_j, both.attempts);
    assert_eq!(told, (12.0, Some(3.0), 2));
    assert_eq!((both.goodput_kbps, both.utilisation), (40.0, Some(0.2)));
    assert_eq!((both.bytes, both.rounds), (whole.bytes, whole.rounds));
}

#[test]
fn a_survey_costs_time_and_energy_of_the_network_alone() {
    let (mut cold, failed) = whole_and_failed();
    cold.add_failed(&failed, 4.0);
    cold.after(48.0, Some(70.0));
    assert_eq!((cold.duration_s, cold.energy_j), (12.0, Some(3.0)));
    assert_eq!(cold.network_energy_j, Some(100.0));
    let told = cold.cold.unwrap();
    assert_eq!((told.survey_s, told.cold_s), (48.0, 60.0));
    assert!((told.cold_goodput_kbps - 59_000.0 * 8e-3 / 60.0).abs() < 1e-9);
    let mut lost = failed;
    lost.after(0.0, None);
    assert_eq!(lost.cold.unwrap().cold_goodput_kbps, 0.0);
    assert_eq!(
        lost.network_energy_j, None,
        "a part of the sum is not known"
    );
}

#[test]
fn parts_are_one_transfer() {
    let (whole, failed) = whole_and_failed();
    let mut both = whole.clone();
    both.append(&whole, 1.0);
    assert_eq!(both.bytes, 2 * whole.bytes);
    let bits = |summary: &Summary| summary.goodput_kbps * summary.duration_s;
    assert!((bits(&both) - 2.0 * bits(&whole)).abs() < 1e-9);
    assert_eq!(both.duration_s, 2.0 * whole.duration_s + 1.0);
    assert_eq!((both.verified, both.attempts), (true, 2));
    both.append(&failed, 0.0);
    assert_eq!((both.verified, both.bytes), (false, 0));
    assert_eq!(both.goodput_kbps, 0.0);
}

#[test]
fn what_breaks_off_is_tried_over_other_plans_as_often_as_may_be() {
    let (whole, failed) = whole_and_failed();
    let tried = |good: u32, attempts| {
        let retry = Retry {
            attempts,
            mode: RetryMode::NewPlan,
        };
        let run = |plan: &u32, tried: u32| {
            assert_eq!(*plan, 10 + tried);
            let summary = if *plan == good { &whole } else { &failed };
            let summary = summary.clone();
            Ok::<_, ()>((
                Outcome {
                    summary,
                    details: (),
                },
                *plan,
            ))
        };
        let pause = Duration::from_secs(4);
        let next = |plan: &u32, tried: u32| (tried < 3).then_some((plan + 1, pause));
        let (outcome, plan, tried) = over_plans(retry, 10, run, next).unwrap();
        (
            outcome.summary.verified,
            plan,
            tried,
            outcome.summary.duration_s,
        )
    };
    assert_eq!(tried(10, 3), (true, 10, 1, 3.0));
    assert_eq!(tried(12, 3), (true, 12, 3, 5.0 + 4.0 + 5.0 + 4.0 + 3.0));
    assert_eq!(tried(12, 2), (false, 11, 2, 14.0));
    // There is no fourth plan.
    assert_eq!(tried(99, 9), (false, 12, 3, 23.0));
}
