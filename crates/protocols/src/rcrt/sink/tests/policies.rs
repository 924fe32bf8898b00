//! Who gets how much (section 3.6).

use super::super::policy::{named, Claim, NAMES};
use super::*;
use proptest::prelude::*;
use std::vec;

fn shares(policy: &str, total: f64, demands: &[f64]) -> Vec<f64> {
    let claims: Vec<Claim> = (demands.iter().zip(1..))
        .map(|(demand, id)| Claim {
            origin: node(id),
            demand: *demand,
        })
        .collect();
    let policy = named(policy).unwrap();
    let total = policy.limit(&claims).map_or(total, |most| total.min(most));
    let mut rates = vec![0.0; claims.len()];
    policy.allocate(total, &claims, &mut rates);
    let sum: f64 = rates.iter().sum();
    assert!(
        (sum - total).abs() <= 1e-9 * total.max(1.0),
        "{sum} of {total}"
    );
    rates
}

fn near(rates: &[f64], wanted: &[f64]) {
    let all = rates.iter().zip(wanted);
    assert_eq!(rates.len(), wanted.len());
    assert!(all.clone().all(|(a, b)| (a - b).abs() < 1e-9), "{rates:?}");
}

#[test]
fn policies_share_as_they_say() {
    let demands = [1.0, 2.0, 5.0];
    near(&shares("fair", 6.0, &demands), &[2.0, 2.0, 2.0]);
    near(&shares("fair", 60.0, &demands), &[20.0, 20.0, 20.0]);
    near(
        &shares("demand-proportional", 4.0, &demands),
        &[0.5, 1.0, 2.5],
    );
    near(&shares("demand-proportional", 60.0, &demands), &demands);
    near(&shares("demand-limited", 6.0, &demands), &[1.0, 2.0, 3.0]);
    near(&shares("demand-limited", 1.5, &demands), &[0.5, 0.5, 0.5]);
    near(&shares("demand-limited", 60.0, &demands), &demands);
    near(&shares("weighted:2=3", 10.0, &demands), &[2.0, 6.0, 2.0]);
    // A hundredth of an equal share is kept for each flow; the class gets its demand, the others what is left.
    near(&shares("priority:3=1", 6.0, &demands), &[0.5, 0.5, 5.0]);
    near(&shares("priority:3=1", 3.0, &demands), &[0.01, 0.01, 2.98]);
}

#[test]
fn names_that_are_none_are_none() {
    for name in [
        "",
        "fairly",
        "fair:7=1",
        "weighted:7=0",
        "weighted:7=NaN",
        "priority:7",
        "priority:0=x",
    ] {
        assert!(named(name).is_none(), "{name}");
    }
    assert!(NAMES.iter().all(|name| named(name).is_some()));
}

proptest! {
    #[test]
    fn rates_sum_to_the_total(
        demands in proptest::collection::vec(0.002..128.0_f64, 1..60),
        total in 0.1..500.0_f64,
        weight in 0.1..10.0_f64,
        class in 0..3_u8,
    ) {
        let set = [
            std::format!("weighted:1={weight}"),
            std::format!("priority:1={class},2=1"),
        ];
        for policy in NAMES.iter().copied().chain(set.iter().map(|s| s.as_str())) {
            let rates = shares(policy, total, &demands);
            prop_assert!(rates.iter().all(|r| *r >= 0.0 && r.is_finite()));
            if policy.starts_with("demand") || policy.starts_with("priority") {
                prop_assert!(rates.iter().zip(&demands).all(|(r, d)| *r <= d * (1.0 + 1e-9)));
            }
        }
    }
}
