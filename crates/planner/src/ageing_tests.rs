//! Tests of `ageing.rs`.

use super::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

#[test]
fn links_have_changed_the_more_the_older_the_sweep_is() {
    let variance = |age_s| {
        let age = Duration::from_secs(age_s);
        let ageing = Ageing::since(age, Duration::ZERO, [].into_iter());
        let shares = ageing.deviations(Db(0.0));
        let squares = shares.iter().map(|(share, by)| share * by.0 * by.0);
        squares.sum::<f64>()
    };
    let [new, soon, later, hour] = [0, 10, 60, 3_600].map(variance);
    assert!(new == 0.0 && new < soon && soon < later && later < hour);
    // But for what is farther out than the last step of the law.
    let whole = 2.2 * 2.2;
    assert!((0.85 * whole..whole).contains(&hour), "{hour}");
    assert_eq!(variance(86_400), hour);
}

#[test]
fn the_more_links_are_weak_the_likelier_a_strong_one_was() {
    let slope = |weak: usize, strong: usize| {
        slope([15.0].repeat(weak).into_iter().chain([25.0].repeat(strong)))
    };
    assert!((slope(300, 100) - 3.0f64.ln() / BAND_DB).abs() < 1e-9);
    assert_eq!([slope(200, 200), slope(100, 300), slope(390, 10)], [0.0; 3]);
    // As many at each of the steps in which sweeps tell levels.
    let steps = (0..8).flat_map(|step| [10.3 + 3.02 * f64::from(step)].repeat(50));
    assert_eq!(super::slope(steps), 0.0);
}

#[test]
fn drawn_changes_follow_the_law() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let each: Vec<f64> = (0..20_000).map(|_| change(&mut rng).0).collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let variance = each.iter().map(|by| by * by).sum::<f64>() / each.len() as f64;
    let law: f64 = CHANGES.iter().map(|(share, by)| share * by * by).sum();
    assert!(mean.abs() < 0.1, "{mean}");
    assert!((0.9..1.1).contains(&(variance / law)), "{variance} {law}");
}
