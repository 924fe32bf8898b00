//! Meters.

use super::*;
use crate::board::built_in as boards;
use crate::SecondRadio;
use thalweg_medium::chip::AT86RF212;
use thalweg_units::Dbm;

/// Each state draws ten times what the one before draws, so that each has its own digit in a charge.
fn decimal() -> Board {
    Board {
        currents: Currents {
            supply_v: 2.0,
            radio_sleep_ma: 1.0,
            radio_idle_ma: 10.0,
            radio_calibrate_ma: 100.0,
            radio_receive_ma: 1_000.0,
            radio_transmit_ma: 10_000.0,
            mcu_active_ma: 100_000.0,
            mcu_low_power_ma: 1_000_000.0,
        },
        ..boards::telosb()
    }
}

fn us(us: u64) -> SimTime {
    SimTime::from_nanos(us * 1000)
}

/// Asleep, idle, calibrating, receiving, sending, in microseconds; they sum to the time elapsed.
fn radio_us(energy: &Energy) -> [u64; 5] {
    assert_eq!(energy.radio_sleep + energy.radio_on(), energy.elapsed());
    let times = [
        energy.radio_sleep,
        energy.radio_idle,
        energy.radio_calibrate,
        energy.radio_receive,
        energy.radio_transmit,
    ];
    times.map(|time| time.as_nanos() / 1_000)
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
    assert_eq!(radio_us(&energy), [10, 20, 30, 40, 50]);
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
fn each_state_is_charged_at_its_own_current() {
    let (mut meter, second) = (Meter::new(), 1_000_000);
    meter.mcu(us(0), us(6 * second));
    for (from, state) in [
        (1, RadioState::Idle),
        (3, RadioState::Calibrate),
        (6, RadioState::Receive),
    ] {
        meter.radio(us(from * second), state, [None; 2]);
    }
    let early = meter.read(us(8 * second), &decimal());
    meter.radio(us(10 * second), RadioState::Transmit, [None; 2]);
    let energy = meter.read(us(15 * second), &decimal());
    // Asleep 1 s, then 2, 3, 4 and 5 s; the microcontroller runs 6 s of 15.
    assert_eq!(energy.radio_charge_mc(), 54_321.0);
    assert_eq!(energy.mcu_charge_mc(), 9_600_000.0);
    assert_eq!(energy.radio_joules(), 2e-3 * 54_321.0);
    assert_eq!(energy.joules(), 2e-3 * 9_654_321.0);
    assert_eq!(energy.radio_on(), Duration::from_secs(14));
    let runs = meter.read(us(15 * second), &with_radio());
    assert_eq!(
        runs.mcu_charge_mc(),
        2_400_000.0,
        "whenever the radio is on"
    );
    assert_eq!(energy.since(&early).radio_charge_mc(), 52_000.0);
}

fn with_radio() -> Board {
    Board {
        mcu: McuRuns::WithRadio,
        ..decimal()
    }
}

#[test]
fn a_second_radio_draws_its_own_current_and_the_most_is_the_worst_state() {
    let board = Board {
        second: Some(SecondRadio {
            chip: &AT86RF212,
            tx_power: Dbm(3.0),
            receive_ma: 7.0,
            transmit_ma: 9.0,
        }),
        ..decimal()
    };
    assert_eq!(
        board.with_second_radio().currents,
        Currents {
            radio_receive_ma: 7.0,
            radio_calibrate_ma: 7.0,
            radio_transmit_ma: 9.0,
            ..board.currents
        }
    );
    assert_eq!(board.currents.most_w(), 2e-3 * 110_000.0);
    let quiet = Currents {
        radio_transmit_ma: 0.0,
        ..board.currents
    };
    assert_eq!(quiet.most_w(), 2e-3 * 101_000.0);
}

#[test]
fn a_second_of_receiving_is_56_4_millijoules() {
    let mut meter = Meter::new();
    meter.radio(SimTime::ZERO, RadioState::Receive, [None; 2]);
    let energy = meter.read(us(1_000_000), &boards::telosb());
    assert!((energy.radio_joules() - 18.8e-3 * 3.0).abs() < 1e-9);
    assert!((energy.mcu_joules() - 5.1e-6 * 3.0).abs() < 1e-12);
}

#[test]
fn a_radio_that_a_handler_starts_again_is_idle_until_then() {
    let mut meter = Meter::new();
    meter.radio(SimTime::ZERO, RadioState::Receive, [None; 2]);
    // A frame ends; the handler is done 90 us later. After the next one the radio sends before it would be.
    meter.pause(us(100), us(190));
    meter.pause(us(500), us(590));
    meter.radio(us(540), RadioState::Transmit, [None; 2]);
    // What it sent has ended: it calibrates for the receiver, and does not begin before a handler has run.
    let receive = Some((us(700), RadioState::Receive));
    meter.radio(us(600), RadioState::Calibrate, [receive, None]);
    meter.pause(us(600), us(690));
    let energy = meter.read(us(800), &boards::telosb());
    assert_eq!(radio_us(&energy), [0, 90 + 40 + 90, 10, 410 + 100, 60]);
}

#[test]
fn a_driver_wakes_ahead_of_its_radio_but_not_before_it_slept() {
    let mut meter = Meter::new();
    meter.led(us(1_000), Duration::from_micros(300));
    meter.radio(us(1_000), RadioState::Receive, [None; 2]);
    meter.radio(us(1_100), RadioState::Sleep, [None; 2]);
    meter.led(us(1_200), Duration::from_micros(10_000));
    let energy = meter.read(us(1_200), &boards::telosb());
    assert_eq!(radio_us(&energy), [0, 1_100, 0, 100, 0]);
}
