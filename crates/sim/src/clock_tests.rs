//! Clocks.

use super::*;
use proptest::prelude::*;

#[test]
fn a_perfect_clock_reads_true_time() {
    let clock = ClockModel::PERFECT.draw(1, 2);
    for ns in [0, 1, 12_345, u64::MAX / 2] {
        assert_eq!(clock.read(SimTime::from_nanos(ns)), Instant::from_nanos(ns));
        assert_eq!(clock.when(Instant::from_nanos(ns)), SimTime::from_nanos(ns));
    }
}

#[test]
fn ten_ppm_are_ten_microseconds_a_second() {
    let clock = Clock::new(500, 10.0, Duration::ZERO);
    let read = clock.read(SimTime::from_nanos(1_000_000_000)).as_nanos();
    assert!(read.abs_diff(1_000_010_500) <= 1, "{read}");
    let gap = clock.after(SimTime::from_nanos(77), Duration::from_millis(100));
    assert!(
        gap.as_nanos().abs_diff(77 + 100_000_000 - 1_000) <= 1,
        "{gap:?}"
    );
}

#[test]
fn instants_before_the_beginning_have_come() {
    let clock = Clock::new(1_000_000, -20.0, Duration::from_nanos(250));
    assert_eq!(clock.when(Instant::from_nanos(999_999)), SimTime::ZERO);
    assert_eq!(clock.when(Instant::MAX).as_nanos(), u64::MAX);
}

#[test]
fn nodes_draw_their_own() {
    let model = ClockModel {
        max_offset: Duration::from_secs(1),
        drift_sigma_ppm: 10.0,
        ..ClockModel::PERFECT
    };
    let (a, b, again) = (model.draw(3, 0), model.draw(3, 1), model.draw(3, 0));
    assert_ne!((a.offset, a.rate), (b.offset, b.rate));
    assert_eq!((a.offset, a.rate), (again.offset, again.rate));
}

#[test]
fn rates_scatter_as_the_model_says_and_offsets_over_their_whole_range() {
    let model = ClockModel {
        max_offset: Duration::from_secs(1),
        drift_sigma_ppm: 10.0,
        ..ClockModel::PERFECT
    };
    let (nodes, at) = (4_000, 1_000_000_000);
    let clocks = || (0..nodes).map(|node| model.draw(3, node));
    // Nanoseconds gained in a second, which are thousandths of a ppm.
    let gain = |clock: Clock| (clock.value(at) - clock.value(0) - at) as f64 * 1e-3;
    let n = nodes as f64;
    let mean = clocks().map(gain).sum::<f64>() / n;
    let square = clocks().map(|clock| gain(clock).powi(2)).sum::<f64>() / n;
    assert!(mean.abs() < 0.5, "{mean} ppm");
    assert!((square.sqrt() - 10.0).abs() < 0.4, "{} ppm", square.sqrt());
    let offsets = || clocks().map(|clock| clock.offset as f64 * 1e-9);
    let mean = offsets().sum::<f64>() / n;
    assert!((mean - 0.5).abs() < 0.015, "{mean} s");
    let (least, most) = (offsets().fold(1.0, f64::min), offsets().fold(0.0, f64::max));
    assert!(
        least < 0.01 && (0.99..1.0).contains(&most),
        "{least} {most}"
    );
}

#[test]
fn a_node_that_restarts_counts_from_zero_with_the_same_crystal() {
    let model = ClockModel {
        max_offset: Duration::from_millis(5),
        drift_sigma_ppm: 10.0,
        tick: Duration::from_nanos(250),
    };
    let (at, second) = (SimTime::from_nanos(70_000_000_123), Duration::from_secs(1));
    let first = model.draw(3, 7);
    let again = |start| model.draw_again(first, (3, 7, start), at);
    let (one, two) = (again(1), again(2));
    assert!(one.read(at) < Instant::from_nanos(5_000_000));
    assert_ne!(one.read(at), two.read(at));
    assert_eq!((one.rate, one.tick), (first.rate, first.tick));
    assert_eq!(
        one.value(i128::from((at + second).as_nanos())) - one.value(i128::from(at.as_nanos())),
        first.value(i128::from((at + second).as_nanos())) - first.value(i128::from(at.as_nanos()))
    );
    let due = one.read(at) + second;
    assert!(one.read(one.when(due)) >= due && one.when(due) > at);
}

proptest! {
    #[test]
    fn a_timeout_fires_at_the_first_nanosecond_that_reads_it(
        offset in 0..2_000_000_000u64,
        ppm in -100.0..100.0f64,
        tick in 0..40_000u64,
        local in 0..1_000_000_000_000_000u64,
    ) {
        let clock = Clock::new(offset, ppm, Duration::from_nanos(tick));
        let local = Instant::from_nanos(local);
        let t = clock.when(local);
        prop_assert!(clock.read(t) >= local);
        if t > SimTime::ZERO {
            prop_assert!(clock.read(t.saturating_sub(Duration::from_nanos(1))) < local);
        }
    }

    #[test]
    fn readings_never_go_back(
        ppm in -1000.0..1000.0f64, tick in 0..1000u64, t in 0..u64::MAX / 2, step in 0..1000u64,
    ) {
        let clock = Clock::new(5, ppm, Duration::from_nanos(tick));
        let (a, b) = (SimTime::from_nanos(t), SimTime::from_nanos(t + step));
        prop_assert!(clock.read(a) <= clock.read(b));
    }
}
