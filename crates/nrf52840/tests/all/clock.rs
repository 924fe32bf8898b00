//! The clock over sleeps: it goes on from where it was, and never back.

use crate::bench::model::{Chip, US};
use proptest::prelude::*;
use thalweg_nrf52840::clock::{instant, span, ticks, Clock, ClockError, LowFrequency};
use thalweg_nrf52840::registers::rtc;
use thalweg_units::{Duration, Instant};

fn start() -> (Chip, Clock) {
    let mut chip = Chip::new();
    let clock = Clock::start(&mut chip, LowFrequency::Crystal).unwrap();
    (chip, clock)
}

#[test]
fn ticks_and_instants_agree() {
    for ns in [0, 1, 62, 63, 124, 125, 126, 1_000_000_007] {
        let at = Instant::from_nanos(ns);
        assert!(instant(ticks(at)) >= at, "{ns}");
        assert!(
            instant(ticks(at)).since(at) < Duration::from_nanos(63),
            "{ns}"
        );
    }
    assert_eq!(span(Duration::from_micros(160)), 160 * US);
    assert_eq!(span(Duration::from_nanos(31)), 0);
    assert_eq!(span(Duration::from_nanos(63)), 1);
}

#[test]
fn time_goes_on_over_the_ends_of_32_bits() {
    let (mut chip, mut clock) = start();
    let first = clock.now(&mut chip);
    let begun = chip.now();
    for _ in 0..6 {
        chip.run(chip.now() + 100_000_000 * US);
        let now = clock.now(&mut chip);
        let passed = chip.now() - begun;
        assert_eq!(now - first, passed);
    }
}

#[test]
fn a_sleep_costs_no_time() {
    let (mut chip, mut clock) = start();
    chip.run(1_234_567);
    let before = clock.now(&mut chip);
    let begun = chip.now();
    let until = before + 10_000_000 * US;
    clock.sleep(&mut chip, Some(until)).unwrap();
    assert!(clock.is_asleep());
    assert!(chip.run(u64::MAX), "RTC1 wakes");
    clock.wake(&mut chip).unwrap();
    let now = clock.now(&mut chip);
    assert!((now - before).abs_diff(chip.now() - begun) <= 2, "{now}");
    // In time for what it was to wake for, and not much before.
    assert!(now < until && until - now < 1_600 * US, "{}", until - now);
    let mut pending = chip.0.borrow().rtc_interrupts;
    pending &= rtc::bit(1);
    assert_eq!(pending, 0);
}

#[test]
fn a_day_asleep_is_as_long_as_the_crystal_says() {
    let (mut chip, mut clock) = start();
    chip.0.borrow_mut().rtc_ppm = 20;
    let before = clock.now(&mut chip);
    let begun = chip.now();
    let day = 86_400_000_000 * US;
    while clock.now(&mut chip) + 1_600 * US < before + day {
        clock.sleep(&mut chip, Some(before + day)).unwrap();
        assert!(chip.run(u64::MAX));
    }
    clock.wake(&mut chip).unwrap();
    let (told, passed) = (clock.now(&mut chip) - before, chip.now() - begun);
    let ppm = (told as f64 / passed as f64 - 1.0) * 1e6;
    assert!((ppm - 20.0).abs() < 0.1, "{ppm}");
}

#[test]
fn a_clock_that_does_not_run_is_said() {
    let mut chip = Chip::new();
    chip.0.borrow_mut().crystal = false;
    let error = Clock::start(&mut chip, LowFrequency::Rc).map(|_| ());
    assert_eq!(error, Err(ClockError::NoCrystal));
}

#[test]
fn a_boot_loader_may_leave_clocks_running() {
    let (mut chip, _before) = start();
    assert!(Clock::start(&mut chip, LowFrequency::Crystal).is_ok());
    assert!(Clock::start(&mut chip, LowFrequency::Rc).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn time_never_goes_back(
        steps in prop::collection::vec((0..4_u8, 0..4_000_000_u64), 1..30),
        ppm in -500..500_i64,
    ) {
        let (mut chip, mut clock) = start();
        chip.0.borrow_mut().rtc_ppm = ppm;
        let mut last = clock.now(&mut chip);
        for (what, ticks) in steps {
            match what {
                0 => clock.sleep(&mut chip, Some(last + ticks)).unwrap(),
                1 => clock.wake(&mut chip).unwrap(),
                _ => {
                    let at = chip.now() + ticks;
                    chip.run(at);
                }
            }
            let now = clock.now(&mut chip);
            prop_assert!(now >= last, "{now} after {last}");
            last = now;
        }
        let passed = chip.now();
        let off = last.abs_diff(passed) as f64;
        prop_assert!(off <= passed as f64 * 500e-6 + 600.0, "{last} {passed}");
    }
}
