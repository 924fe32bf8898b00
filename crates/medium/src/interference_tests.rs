//! Bursts of foreign traffic.

use super::*;

fn interference() -> Interference {
    let source = Source {
        id: 5,
        on_share: 0.4,
        on_rate_hz: 400.0,
        off_rate_hz: 12.0,
        mean_burst: Duration::from_millis(1),
        load_period: Duration::from_secs(1),
    };
    Interference::new(
        vec![[Some(source), None, None, None]],
        vec![(0, [1e-8; BANDS])],
    )
}

#[test]
fn bursts_do_not_depend_on_who_asks_when() {
    let interference = interference();
    let mut straight = Bursts::new(&interference, 3);
    let mut all = Vec::new();
    straight.overlapping(&interference, 0, 0, 1_000_000_000, |b| all.push(b));
    let mut jumping = Bursts::new(&interference, 3);
    for &(from, to) in all.iter().rev() {
        let mut seen = Vec::new();
        jumping.overlapping(&interference, 0, from, to, |b| seen.push(b));
        assert!(seen.contains(&(from, to)));
    }
    assert!(all.windows(2).all(|w| w[0].1 <= w[1].0));
}

#[test]
fn a_frame_is_hit_as_often_as_the_rates_say() {
    let interference = interference();
    let mut bursts = Bursts::new(&interference, 1);
    let (mut hits, frames) = (0, 40_000u64);
    for i in 0..frames {
        let from = i * 30_000_000;
        let mut hit = false;
        bursts.overlapping(&interference, 0, from, from + 4_256_000, |_| hit = true);
        hits += u64::from(hit);
    }
    let share = hits as f64 / frames as f64;
    let window = 4.256e-3 + 1e-3;
    let want = 0.4 * (1.0 - libm::exp(-400.0 * window)) + 0.6 * (1.0 - libm::exp(-12.0 * window));
    assert!((share - want).abs() < 0.03, "{share} for {want}");
}

#[test]
fn clean_channels_are_apart() {
    for (channel, band) in [
        (11, 0),
        (14, 0),
        (15, 3),
        (17, 1),
        (20, 3),
        (22, 2),
        (26, 3),
    ] {
        assert_eq!(Channel::new(channel).map(band_of), Ok(band));
    }
    assert_eq!(interference().at(0, Channel::LAST), None);
    assert!(interference().at(0, Channel::FIRST).is_some());
    assert_eq!(interference().at(1, Channel::FIRST), None);
    assert_eq!(Interference::none().at(0, Channel::FIRST), None);
}
