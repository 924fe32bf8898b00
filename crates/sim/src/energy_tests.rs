//! Meters.

use super::*;
use crate::board::built_in as boards;

fn us(us: u64) -> SimTime {
    SimTime::from_nanos(us * 1000)
}

#[test]
fn planned_states_follow_and_times_sum() {
    let mut meter = Meter::new();
    meter.radio(
        us(10),
        RadioState::Idle,
        [
            Some((us(30), RadioState::Calibrate)),
            Some((us(60), RadioState::Receive)),
        ],
    );
    meter.radio(us(100), RadioState::Transmit, [None; 2]);
    let energy = meter.read(us(150), &boards::telosb());
    let expect = [10, 20, 30, 40, 50].map(Duration::from_micros);
    let got = [
        energy.radio_sleep,
        energy.radio_idle,
        energy.radio_calibrate,
        energy.radio_receive,
        energy.radio_transmit,
    ];
    assert_eq!(got, expect);
    assert_eq!(energy.radio_sleep + energy.radio_on(), energy.elapsed());
    // A plan that is overtaken does not happen.
    meter.radio(
        us(150),
        RadioState::Calibrate,
        [Some((us(170), RadioState::Receive)), None],
    );
    meter.radio(us(160), RadioState::Sleep, [None; 2]);
    let later = meter.read(us(200), &boards::telosb()).since(&energy);
    assert_eq!(later.radio_receive, Duration::ZERO);
    assert_eq!(later.radio_sleep, Duration::from_micros(40));
}

#[test]
fn overlapping_work_is_counted_once() {
    let mut meter = Meter::new();
    meter.mcu(us(10), us(30));
    meter.mcu(us(20), us(25));
    meter.mcu(us(28), us(50));
    meter.mcu(us(60), us(100));
    let energy = meter.read(us(80), &boards::telosb());
    assert_eq!(energy.mcu_active, Duration::from_micros(40 + 20));
    assert_eq!(energy.elapsed(), Duration::from_micros(80));
}

#[test]
fn a_second_of_receiving_is_56_4_millijoules() {
    let mut meter = Meter::new();
    meter.radio(SimTime::ZERO, RadioState::Receive, [None; 2]);
    let energy = meter.read(us(1_000_000), &boards::telosb());
    assert!((energy.radio_joules() - 18.8e-3 * 3.0).abs() < 1e-9);
    assert!((energy.mcu_joules() - 5.1e-6 * 3.0).abs() < 1e-12);
}
