//! Tests of `speed.rs`.

use super::*;
use std::sync::Arc;
use thalweg_medium::{Environment, Medium};

#[test]
fn forty_nodes_do_what_they_did_elsewhere() {
    let counts = W1::new(40, 1).unwrap().run().unwrap();
    assert_eq!(counts.generated, 3_900);
    // ns-3.44's lr-wpan on the same input: 9,762 frames, 3,894 packets.
    assert!((8_298..11_226).contains(&counts.air_frames), "{counts:?}");
    assert!((3_660..=3_900).contains(&counts.delivered), "{counts:?}");
    assert_eq!(counts, W1::new(40, 1).unwrap().run().unwrap());
}

/// W1 of 40 nodes on the medium that is made for synchronous senders.
fn over_medium(seed: u64) -> Counts {
    let places = places(40, seed).unwrap();
    let least = RADIO.noise_floor.0 - 20.0;
    let env = Environment::from_gains(40, &RADIO, seed, |a, b, _| {
        let (a, b) = (places[a].at, places[b].at);
        let d = (a.0 - b.0).hypot(a.1 - b.1).max(1.0);
        let level = -LOSS.0 .0 - LOSS.1 .0 * d.log10();
        (level >= least).then_some(Dbm(level))
    });
    let air = Medium::new(Arc::new(env), seed);
    let mut w1 = W1::over(air, 0, &places, seed).unwrap();
    w1.run_over_air().unwrap()
}

#[test]
fn both_media_come_to_the_same() {
    let counts = |run: fn(u64) -> Counts| -> [f64; 2] {
        let runs: Vec<Counts> = (1..=3).map(run).collect();
        let sum = |of: fn(&Counts) -> u64| runs.iter().map(of).sum::<u64>() as f64;
        [sum(|c| c.air_frames), sum(|c| c.delivered)]
    };
    let medium = counts(over_medium);
    let ether = counts(|seed| W1::new(40, seed).unwrap().run().unwrap());
    for (a, b) in medium.into_iter().zip(ether) {
        assert!((a / b - 1.0).abs() < 0.01, "{medium:?} {ether:?}");
    }
}

#[test]
fn any_number_of_nodes_makes_a_tree() {
    let places = drawn(60, 3);
    assert_eq!(places.iter().filter(|p| p.parent.is_none()).count(), 1);
    for start in 0..60 {
        let (mut at, mut steps) = (start, 0);
        while let Some(parent) = places[at].parent {
            (at, steps) = (parent, steps + 1);
            assert!(steps < 60);
        }
    }
    assert!(W1::new(1, 1).is_err() && W1::new(10_001, 1).is_err());
}
