//! Boards: a microcontroller, a radio and the bus between them, with what each operation costs.
//!
//! Every constant carries its source. Lengths of time are of true time: the radio's crystal error
//! over a turnaround is nanoseconds. Does not model a supply that sags. Tests: at the end.

use crate::clock::ClockModel;
use thalweg_engine::BoardTiming;
use thalweg_medium::chip::{Chip, CC2420};
use thalweg_units::{Dbm, Duration};

/// A kind of board.
#[derive(Debug, Clone)]
pub struct Board {
    /// Its name.
    pub name: &'static str,
    /// Its radio.
    pub chip: &'static Chip,
    /// What engines plan with.
    pub timing: BoardTiming,
    /// Its clocks.
    pub clock: ClockModel,
    /// Standard deviation of the start of a transmission armed in hardware
    /// ([`thalweg_engine::When::AfterRx`]) around its nominal instant: capture and compare are
    /// rounded to the timer's count, and the chip's own latency varies. Symbol sigma_tau.
    pub sync_jitter: Duration,
    /// Standard deviation of the start of a transmission strobed by software
    /// ([`thalweg_engine::When::Now`], which it only delays, and [`thalweg_engine::When::At`]).
    pub software_jitter: Duration,
    /// Nominal transmit power.
    pub tx_power: Dbm,
    /// For how long the microcontroller is awake for each event that it handles.
    pub handler: Duration,
    /// What it draws.
    pub currents: Currents,
}

/// Currents drawn from the supply in each state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Currents {
    /// The supply's voltage, in volts.
    pub supply_v: f64,
    /// Radio powered down, in milliamperes.
    pub radio_sleep_ma: f64,
    /// Radio's oscillator running, synthesiser off, in milliamperes.
    pub radio_idle_ma: f64,
    /// Radio calibrating and turning, in milliamperes.
    pub radio_calibrate_ma: f64,
    /// Radio's receiver on, whether or not there is a frame, in milliamperes.
    pub radio_receive_ma: f64,
    /// Radio transmitting at the board's power, in milliamperes.
    pub radio_transmit_ma: f64,
    /// Microcontroller running, in milliamperes.
    pub mcu_active_ma: f64,
    /// Microcontroller waiting for an interrupt, in milliamperes.
    pub mcu_low_power_ma: f64,
}

/// The boards that there are.
pub mod boards {
    use super::{Board, BoardTiming, ClockModel, Currents, Dbm, Duration, CC2420};

    /// TelosB (Tmote Sky): CC2420 and MSP430F1611, at 0 dBm and 3 V.
    pub fn telosb() -> Board {
        Board {
            name: "TelosB",
            chip: &CC2420,
            timing: BoardTiming {
                // IEEE 802.15.4-2006, 6.4.1 (aTurnaroundTime, 12 symbols); the CC2420 calibrates
                // in the same 12 symbols (SWRS041, "Frequency synthesizer", "Radio control").
                turnaround: Duration::from_micros(192),
                // What a P3 cycle of 4537 us has beyond 4256 us of air and the turnaround, in
                // code derived from Glossy's (P3, section IV-G).
                forward_software: Duration::from_micros(89),
                // Interrupt entry and reading the capture registers; within `forward_software`.
                event_latency: Duration::from_micros(10),
                load_base: Duration::ZERO,
                // 2212 us for 128 bytes: the difference between CIT's 220 kbit/s without and 148
                // kbit/s with copying on a single hop (CIT, section V).
                load_byte: Duration::from_nanos(17_281),
                // CC2420 oscillator start-up (SWRS041, "Frequency synthesizer section").
                wake: Duration::from_micros(860),
            },
            clock: ClockModel {
                // Nodes were switched on within a second of each other; nothing depends on it.
                max_offset: Duration::from_secs(1),
                // Watch crystals are sold as +-20 ppm, which is taken as two sigma.
                drift_sigma_ppm: 10.0,
                // A timer that counts the 4 MHz oscillator, as Glossy's does.
                tick: Duration::from_nanos(250),
            },
            // Fitted to the 75 % that Glossy reports for two equal senders of 128 bytes.
            sync_jitter: Duration::from_nanos(100),
            // A few instructions at 4 MHz: which one the interrupt finds.
            software_jitter: Duration::from_micros(1),
            tx_power: Dbm(0.0),
            handler: Duration::from_micros(89),
            currents: Currents {
                supply_v: 3.0,
                // SWRS041, "Overall" current consumption, typical: power-down 20 uA, idle 426 uA,
                // receive 18.8 mA, transmit at 0 dBm 17.4 mA. None is given for calibration; the
                // synthesiser and the receive chain run, so it is taken as receive.
                radio_sleep_ma: 0.020,
                radio_idle_ma: 0.426,
                radio_calibrate_ma: 18.8,
                radio_receive_ma: 18.8,
                radio_transmit_ma: 17.4,
                // Tmote Sky datasheet, "Typical operating conditions": MCU on, radio off 1.8 mA;
                // MCU standby 5.1 uA.
                mcu_active_ma: 1.8,
                mcu_low_power_ma: 0.0051,
            },
        }
    }

    /// A board without errors of its own: perfect clock, no jitter, the given timing; else a
    /// TelosB. For tests to the nanosecond.
    pub fn exact(timing: BoardTiming) -> Board {
        Board {
            name: "exact",
            timing,
            clock: ClockModel::PERFECT,
            sync_jitter: Duration::ZERO,
            software_jitter: Duration::ZERO,
            handler: Duration::ZERO,
            ..telosb()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_add_up_to_the_papers_rates() {
        let board = boards::telosb();
        // P3: a cycle of 4537 us carries 1000 bits: 220.4 kbit/s.
        let cycle = thalweg_wire::phy::air_time(125) + board.timing.relay_gap();
        assert_eq!(cycle, Duration::from_micros(4537));
        assert!((1e6 / cycle.as_secs_f64() / 1e6 - 220.4).abs() < 0.05);
        // CIT: 128 bytes over the bus.
        assert_eq!((board.timing.load_byte * 128).as_micros(), 2211);
        assert!(board.timing.event_latency < board.timing.forward_software);
    }
}
