//! Environments of measured links.

use super::*;
use crate::chip::CC2420;
use crate::{Air, Explain, Medium, Outcome, Sending};
use std::sync::Arc;
use thalweg_units::{Duration, SimTime};

const FRAME: MeasuredFrame = MeasuredFrame { psdu_bytes: 50 };

fn simulated(prr: f64, rssi: Option<Dbm>) -> f64 {
    let link = MeasuredLink {
        from: 0,
        to: 1,
        channel: Channel::LAST,
        prr,
        rssi,
    };
    let env = Arc::new(Environment::from_measured(
        2,
        [link],
        FRAME,
        Variation::STILL,
        &CC2420,
        1,
    ));
    let expected = env.prr(EarId(0), EarId(1), Channel::LAST, 50, Dbm(0.0));
    assert!((expected - prr).abs() < 0.01, "{prr} {rssi:?}: {expected}");
    let mut medium = Medium::new(env, 2);
    let (mut locked, mut received) = (Vec::new(), Vec::new());
    medium.listen(SimTime::ZERO, EarId(1), Channel::LAST);
    let mut at = SimTime::ZERO;
    for _ in 0..4000 {
        at += Duration::from_millis(97);
        let tx = medium.begin(
            at,
            &Sending::of(&CC2420, EarId(0), Channel::LAST, Dbm(0.0), &[1; 48]),
            &mut locked,
        );
        medium.end(
            at + CC2420.phy.air_time(48),
            tx,
            Explain::Losses,
            &mut received,
            &mut locked,
        );
    }
    received
        .iter()
        .filter(|r| r.outcome == Outcome::Good)
        .count() as f64
        / 4000.0
}

#[test]
fn a_single_sender_gets_the_measured_ratio() {
    let cases = [
        (0.9, Some(Dbm(-70.0))),
        (0.05, Some(Dbm(-80.0))),
        (0.5, Some(Dbm(-96.0))),
        (0.7, None),
        (0.99, Some(Dbm(-99.0))),
    ];
    for (prr, rssi) in cases {
        let got = simulated(prr, rssi);
        assert!((got - prr).abs() < 0.04, "{prr} {rssi:?}: {got}");
    }
}

#[test]
fn a_perfect_link_is_kept_as_strong_as_it_was_measured() {
    let link = MeasuredLink {
        from: 1,
        to: 0,
        channel: Channel::FIRST,
        prr: 1.0,
        rssi: Some(Dbm(-60.0)),
    };
    let dead = MeasuredLink {
        prr: 0.0,
        to: 2,
        ..link
    };
    let env = Environment::from_measured(3, [link, dead], FRAME, Variation::STILL, &CC2420, 1);
    let rssi = env.mean_rssi(EarId(1), EarId(0), Channel::FIRST).unwrap();
    assert!((rssi.0 + 60.0).abs() < 1e-3);
    assert_eq!(env.mean_rssi(EarId(1), EarId(2), Channel::FIRST), None);
    assert_eq!(env.mean_rssi(EarId(0), EarId(1), Channel::FIRST), None);
}
