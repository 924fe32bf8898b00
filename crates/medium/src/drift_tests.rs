//! Changes of links against the laws that they are drawn from.

use super::*;

fn change(db: [f64; 3]) -> Variation {
    let [after_15_min, after_2_h, after_1_day] = db.map(Db);
    Variation {
        change: Change {
            after_15_min,
            after_2_h,
            after_1_day,
        },
        ..Variation::NONE
    }
}

const BUSY: [f64; 3] = [2.4, 2.7, 3.4];

/// Levels of many pairs on some channels, `at` this time.
fn levels(variation: &Variation, at: Duration, channels: [u8; 2]) -> Vec<[f64; 2]> {
    let mut drift = Drift::new(variation, World { seed: 3, age: at });
    let mut level = |pair: u32, channel: u8| {
        let channel = Channel::new(channel).unwrap();
        let factor = drift.factor(
            &mut Held::default(),
            SimTime::ZERO,
            EarId(pair),
            EarId(pair + 1),
            channel,
        );
        Db::from_factor(f64::from(factor)).0
    };
    (0..20_000)
        .map(|pair| channels.map(|channel| level(pair, channel)))
        .collect()
}

fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let squares: Vec<f64> = values.map(|v| v * v).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn changes_are_as_large_as_they_were_asked_to_be() {
    let variation = change(BUSY);
    let start = Duration::from_secs(1_000_000);
    let before = levels(&variation, start, [26, 26]);
    let mut last = 0.0;
    for (seconds, least, most) in [
        (10, 0.8, 1.2),
        (300, 1.8, 2.1),
        (900, 2.3, 2.5),
        (7_200, 2.55, 2.85),
        (86_400, 3.2, 3.6),
    ] {
        let after = levels(&variation, start + Duration::from_secs(seconds), [26, 26]);
        let d = deviation(before.iter().zip(&after).map(|(a, b)| b[0] - a[0]));
        assert!((least..most).contains(&d), "{d} dB after {seconds} s");
        assert!(d > last);
        last = d;
    }
}

#[test]
fn changes_have_heavy_tails() {
    let variation = change(BUSY);
    let [before, after] = [0, 9_000].map(|s| levels(&variation, Duration::from_secs(s), [26; 2]));
    let mut d: Vec<f64> = (before.iter().zip(&after))
        .map(|(a, b)| (b[0] - a[0]).abs())
        .collect();
    d.sort_by(f64::total_cmp);
    let rms = deviation(d.iter().copied());
    let (median, p99) = (d[10_000] / rms, d[19_800] / rms);
    assert!((0.3..0.55).contains(&median), "{median}");
    assert!((3.0..4.5).contains(&p99), "{p99}");
}

#[test]
fn channels_far_apart_change_on_their_own() {
    let variation = change(BUSY);
    for (channels, measured) in [([25, 26], 0.51), ([21, 26], 0.11), ([15, 26], 0.0)] {
        let both = levels(&variation, Duration::ZERO, channels);
        let product = both.iter().map(|[a, b]| a * b).sum::<f64>() / both.len() as f64;
        let [a, b] = [0, 1].map(|k| deviation(both.iter().map(|l| l[k])));
        let correlation = product / (a * b);
        assert!(
            (correlation - measured).abs() < 0.06,
            "{channels:?}: {correlation}"
        );
    }
}

#[test]
fn bursts_hold_for_half_a_second_and_both_ways() {
    let variation = Variation {
        burst: Db(1.3),
        ..Variation::NONE
    };
    let mut drift = Drift::new(
        &variation,
        World {
            seed: 1,
            ..World::default()
        },
    );
    let mut level = |ms: u64, a: u32, b: u32| {
        let at = SimTime::ZERO + Duration::from_millis(ms);
        let factor = drift.factor(&mut Held::default(), at, EarId(a), EarId(b), Channel::LAST);
        Db::from_factor(f64::from(factor)).0
    };
    let (mut near, mut far, mut square) = (0.0, 0.0, 0.0);
    for k in 0..4_000 {
        let at = k * 1_703;
        let now = level(at, 4, 9);
        assert_eq!(now, level(at, 9, 4));
        near += now * level(at + 10, 4, 9);
        far += now * level(at + 500, 4, 9);
        square += now * now;
    }
    assert!(near / square > 0.95, "{}", near / square);
    assert!((far / square).abs() < 0.05, "{}", far / square);
    assert!(((square / 4_000.0).sqrt() - 1.3).abs() < 0.05);
}

#[test]
fn what_is_held_is_what_would_be_drawn() {
    let mut drift = Drift::new(
        &change(BUSY),
        World {
            seed: 5,
            age: Duration::from_secs(77),
        },
    );
    let mut bursty = Drift::new(&Variation::default(), World::default());
    for drift in [&mut drift, &mut bursty] {
        let mut held = Held::default();
        // On and back again, so that bursts are met at their ends, their beginnings and after others.
        for k in 0..20_000u64 {
            let at = SimTime::from_nanos(k / 7 * 25_000_000 + k % 7 * 166_666_667);
            let (a, b) = (EarId(4), EarId(9));
            let kept = drift.factor(&mut held, at, a, b, Channel::LAST);
            let drawn = drift.factor(&mut Held::default(), at, a, b, Channel::LAST);
            assert_eq!(kept, drawn, "{at:?}");
        }
        let end = SimTime::from_nanos(held.until);
        let before = SimTime::from_nanos(held.until - 1);
        let mut at = |at| drift.draw(at, EarId(4), EarId(9), Channel::LAST).until;
        assert_eq!(at(before), held.until);
        assert_eq!(at(end), held.until + BURST_NS);
    }
}

#[test]
fn still_worlds_do_not_change() {
    let mut drift = Drift::new(&Variation::NONE, World::default());
    assert_eq!(
        drift.factor(
            &mut Held::default(),
            SimTime::ZERO,
            EarId(0),
            EarId(1),
            Channel::LAST
        ),
        1.0
    );
}
