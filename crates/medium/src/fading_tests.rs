//! Distributions of fading.

use super::*;
use crate::random::stream;

fn draws(fading: Fading) -> Vec<[Db; Channel::COUNT]> {
    (0..3000)
        .map(|pair| fading.draw(&mut stream(1, "pair", &[pair])))
        .collect()
}

#[test]
fn mean_power_is_one_and_neighbouring_channels_are_alike() {
    let rice = Fading {
        rice_k: Some(Db(4.6)),
        taps: 10,
        mean_delay: Duration::from_nanos(60),
        lognormal: Db(0.0),
        coherence_channels: 1.5,
    };
    let all = draws(rice);
    let mean: f64 = all.iter().map(|f| f[7].factor()).sum::<f64>() / all.len() as f64;
    assert!((mean - 1.0).abs() < 0.06, "{mean}");
    let near: f64 = all.iter().map(|f| (f[7].0 - f[8].0).abs()).sum::<f64>();
    let far: f64 = all.iter().map(|f| (f[0].0 - f[15].0).abs()).sum::<f64>();
    assert!(near < 0.9 * far, "{near} {far}");
}

#[test]
fn the_lognormal_part_has_its_spread_and_its_coherence() {
    let only = Fading {
        rice_k: Some(Db(60.0)),
        taps: 0,
        mean_delay: Duration::ZERO,
        lognormal: Db(9.0),
        coherence_channels: 1.5,
    };
    let all = draws(only);
    let n = all.len() as f64;
    let spread = (all.iter().map(|f| f[3].0 * f[3].0).sum::<f64>() / n).sqrt();
    let lag = all.iter().map(|f| f[3].0 * f[4].0).sum::<f64>() / n / (spread * spread);
    assert!((spread - 9.0).abs() < 0.3, "{spread}");
    assert!((lag - libm::exp(-1.0 / 1.5)).abs() < 0.05, "{lag}");
}
