//! Tests of `receiver.rs`.

use super::*;

/// Mean and standard deviation of many receptions.
fn receptions(g: f64) -> (f64, f64) {
    let n = 4_000;
    let all = || (0..n).map(|word| f64::from(lqi(g, nth(7, word))));
    let mean = all().sum::<f64>() / n as f64;
    let square = all().map(|l| (l - mean) * (l - mean)).sum::<f64>();
    (mean, (square / n as f64).sqrt())
}

#[test]
fn lqi_counts_wrong_chips() {
    // By hand: p = .167, .057 and .0062, of 256 chips, .682 units each.
    for (g, mean, spread) in [(0.75, 80.9, 4.1), (2.0, 100.0, 2.5), (5.0, 108.9, 0.9)] {
        let (m, s) = receptions(g);
        assert!((m - mean).abs() < 0.3, "{g}: mean {m}");
        assert!((s - spread).abs() < 0.25, "{g}: spread {s}");
    }
}

#[test]
fn lqi_rises_with_the_ratio_within_its_limits() {
    for word in (0..50).map(|n| nth(3, n)) {
        let mut before = 0;
        for g in (0..700).map(|n| f64::from(n) * 0.025) {
            let now = lqi(g, word);
            assert!((50..=110).contains(&now) && now >= before, "{g}: {now}");
            before = now;
        }
        assert_eq!((lqi(0.0, word), before), (50, 110));
    }
    assert_eq!(lqi(1e12, 1), 110);
}
