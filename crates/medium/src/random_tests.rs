//! Distributions and streams.

use super::*;

#[test]
fn streams_of_different_purposes_are_unrelated() {
    let a = derive(1, "fading", &[1, 2]);
    assert_eq!(a, derive(1, "fading", &[1, 2]));
    for b in [
        derive(1, "fading", &[2, 1]),
        derive(2, "fading", &[1, 2]),
        derive(1, "fadin", &[1, 2]),
        derive(1, "fading", &[1]),
    ] {
        assert_ne!(a, b);
    }
}

#[test]
fn normal_and_exponential_have_their_moments() {
    let mut rng = stream(7, "moments", &[]);
    let n = 200_000;
    let (mut m, mut v, mut e) = (0.0, 0.0, 0.0);
    for _ in 0..n {
        let x = normal(&mut rng);
        m += x;
        v += x * x;
        e += exponential(&mut rng);
    }
    let n = f64::from(n);
    assert!((m / n).abs() < 0.01 && (v / n - 1.0).abs() < 0.015 && (e / n - 1.0).abs() < 0.01);
}

#[test]
fn a_normal_draw_is_the_same_by_table() {
    let table = Logarithm::default();
    let (mut a, mut b) = (stream(7, "normal", &[]), stream(7, "normal", &[]));
    for _ in 0..10_000 {
        assert!((normal(&mut a) - normal_by(&table, &mut b)).abs() < 1e-13);
    }
    assert_eq!(a.next_u64(), b.next_u64());
}

#[test]
fn the_quantile_is_that_of_the_normal_law() {
    for (p, z) in [
        (0.5, 0.0),
        (0.975, 1.959_964),
        (0.001, -3.090_232),
        (1e-9, -5.997_807),
    ] {
        assert!((normal_quantile(p) - z).abs() < 1e-5, "{p}");
    }
}
