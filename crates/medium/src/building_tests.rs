//! Generated buildings against what was measured of Indriya.

use super::*;
use crate::chip::CC2420;
use crate::geometry::{corridor_layout, Position};

fn indriya(seed: u64) -> Environment {
    let placements = corridor_layout(3, 139, 153.0, 8.0, 3.5, seed);
    Environment::from_building(&BuildingModel::default(), &placements, &CC2420, seed)
}

#[test]
fn a_node_has_about_twenty_neighbours_on_channel_26() {
    let (mut good, mut other_floor, mut audible, mut nodes) = (0, 0, 0, 0);
    for seed in 0..4 {
        let env = indriya(seed);
        for from in 0..139 {
            nodes += 1;
            for link in env.links.heard_by(EarId(from), Channel::LAST) {
                audible += 1;
                if env.prr(EarId(from), link.to, Channel::LAST, 127, Dbm(0.0)) >= 0.5 {
                    good += 1;
                    let floor = |ear: EarId| env.ears[ear.0 as usize].placement.map(|p| p.floor);
                    other_floor += u32::from(floor(EarId(from)) != floor(link.to));
                }
            }
        }
    }
    let (good, other) = (f64::from(good) / 556.0, f64::from(other_floor) / 556.0);
    assert_eq!(nodes, 556);
    assert!((18.0..25.0).contains(&good), "{good}");
    assert!((6.0..11.0).contains(&other), "{other}");
    assert!(
        (30..100).contains(&(audible / nodes)),
        "{}",
        audible / nodes
    );
}

#[test]
fn a_link_between_floors_is_a_matter_of_the_channel() {
    // Spread over channels of links that are good on 26, within and between floors.
    let env = indriya(11);
    let (mut within, mut between) = (Vec::new(), Vec::new());
    let c15 = Channel::new(15).unwrap();
    for from in (0..139).map(EarId) {
        for link in env.links.heard_by(from, Channel::LAST) {
            let floor = |ear: EarId| env.ears[ear.0 as usize].placement.map(|p| p.floor);
            if env.prr(from, link.to, Channel::LAST, 127, Dbm(0.0)) > 0.99 {
                let prr = env.prr(from, link.to, c15, 127, Dbm(0.0));
                if floor(from) == floor(link.to) {
                    within.push(prr);
                } else {
                    between.push(prr);
                }
            }
        }
    }
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    assert!(mean(&within) > 0.75, "{}", mean(&within));
    assert!((0.25..0.7).contains(&mean(&between)), "{}", mean(&between));
}

#[test]
fn the_same_seed_builds_the_same_building() {
    let (a, b, c) = (indriya(5), indriya(5), indriya(6));
    let row = |env: &Environment| env.links.heard_by(EarId(70), Channel::LAST).to_vec();
    assert_eq!(row(&a), row(&b));
    assert_ne!(row(&a), row(&c));
    assert_eq!(a.ears, b.ears);
}

#[test]
fn foreign_traffic_hits_wifi_channels_and_a_whole_floor_at_once() {
    use crate::{Air, Explain, Medium, Outcome, Reception, Sending};
    use std::sync::Arc;
    use thalweg_units::SimTime;
    // Two pairs of neighbours, far enough apart to be independent but for the bursts.
    let at = |x_m: f64| Placement {
        position: Position {
            x_m,
            y_m: 0.0,
            z_m: 0.0,
        },
        floor: 0,
    };
    let places = [at(0.0), at(12.0), at(140.0), at(152.0)];
    let model = BuildingModel {
        wifi: Some(WifiModel {
            power: Dbm(-55.0),
            power_spread: Db(1.0),
            ..WifiModel::default()
        }),
        ..BuildingModel::default()
    };
    let env = Arc::new(Environment::from_building(&model, &places, &CC2420, 3));
    let run = |channel: Channel| {
        let mut medium = Medium::new(Arc::clone(&env), 4);
        medium.listen(SimTime::ZERO, EarId(1), channel);
        medium.listen(SimTime::ZERO, EarId(3), channel);
        let (mut locked, mut got, mut both) = (Vec::new(), Vec::new(), [0u32; 4]);
        for i in 1..3000u64 {
            let start = SimTime::from_nanos(i * 20_000_000);
            let frames = [0, 2].map(|from| {
                medium.begin(
                    start,
                    &Sending::of(&CC2420, EarId(from), channel, Dbm(0.0), &[7; 125]),
                    &mut locked,
                )
            });
            got.clear();
            for tx in frames {
                medium.end(
                    start + Duration::from_micros(4256),
                    tx,
                    Explain::Losses,
                    &mut got,
                    &mut locked,
                );
            }
            let good = |ear| {
                let good = |r: &Reception| r.ear == ear && r.outcome == Outcome::Good;
                usize::from(got.iter().any(good))
            };
            both[2 * good(EarId(1)) + good(EarId(3))] += 1;
        }
        both
    };
    let clean = run(Channel::LAST);
    assert!(clean[3] > 2900, "{clean:?}");
    let wifi = run(Channel::new(22).unwrap());
    let lost = wifi[0] + wifi[1] + wifi[2];
    assert!((900..2300).contains(&lost), "{wifi:?}");
    // The same bursts at both: they lose together.
    assert!(wifi[0] * 10 > lost * 9, "{wifi:?}");
}
