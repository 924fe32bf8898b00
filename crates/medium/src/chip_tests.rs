//! The numbers of each chip, written down a second time, and a point of each of its curves.

use super::*;
use crate::modem::Demodulator;
use crate::{Air, EarId, Environment, Medium, Sending};
use std::sync::Arc;
use thalweg_units::SimTime;

/// What the data sheet says, or what is assumed where `chip.rs` says so.
struct Sheet {
    chip: &'static Chip,
    sensitivity: f64,
    floor: f64,
    /// What an energy detector reads of a silent channel.
    silence: f64,
    most: f64,
    /// What is left of a transmitter one channel above, one below, two above and two below, in dB.
    leaks: [f64; 4],
    rssi_step: f64,
    busy: f64,
}

const SHEETS: [Sheet; 7] = [
    Sheet {
        chip: &CC2420,
        sensitivity: -95.0,
        floor: -95.5,
        silence: -99.2,
        most: 0.0,
        leaks: [-46.0, -31.0, -54.0, -54.0],
        rssi_step: 1.0,
        busy: -77.0,
    },
    Sheet {
        chip: &AT86RF231,
        sensitivity: -101.0,
        floor: -101.5,
        silence: -105.2,
        most: 3.0,
        leaks: [-36.0, -33.0, -49.0, -49.0],
        rssi_step: 3.0,
        busy: -77.0,
    },
    Sheet {
        chip: &AT86RF212,
        sensitivity: -101.0,
        floor: -101.5,
        silence: -105.2,
        most: 10.0,
        leaks: [-36.0, -33.0, -49.0, -49.0],
        rssi_step: 3.0,
        busy: -77.0,
    },
    Sheet {
        chip: &NRF52840,
        sensitivity: -100.0,
        floor: -100.5,
        silence: -104.2,
        most: 8.0,
        leaks: [-34.0, -34.0, -50.0, -50.0],
        rssi_step: 1.0,
        busy: -77.0,
    },
    Sheet {
        chip: &CC2538,
        sensitivity: -97.0,
        floor: -97.5,
        silence: -101.2,
        most: 7.0,
        leaks: [-45.0, -45.0, -54.0, -54.0],
        rssi_step: 1.0,
        busy: -77.0,
    },
    Sheet {
        chip: &EFR32MG,
        sensitivity: -99.0,
        floor: -99.5,
        silence: -103.2,
        most: 19.5,
        leaks: [-34.0, -34.0, -50.0, -50.0],
        rssi_step: 1.0,
        busy: -77.0,
    },
    Sheet {
        chip: &CC1000,
        sensitivity: -101.0,
        floor: -110.0,
        silence: -117.0,
        most: 5.0,
        leaks: [-40.0, -40.0, -60.0, -60.0],
        rssi_step: 1.0,
        busy: -103.0,
    },
];

#[test]
fn every_chip_has_the_numbers_of_its_sheet() {
    for sheet in SHEETS {
        let (chip, name) = (sheet.chip, sheet.chip.name);
        let told = [chip.sensitivity, chip.noise_floor, chip.max_tx_power].map(|power| power.0);
        assert_eq!(told, [sheet.sensitivity, sheet.floor, sheet.most], "{name}");
        let told = [chip.rssi_step.0, chip.cca_threshold.0];
        assert_eq!(told, [sheet.rssi_step, sheet.busy], "{name}");
        let lock = if chip.band == Band::Mhz433 { 4.0 } else { -1.5 };
        assert_eq!((chip.lock_sinr, chip.steal), (Db(lock), Db(3.0)), "{name}");
        assert_eq!(chip.carrier_ppm, 10.0, "{name}");
    }
}

/// What an energy detector reads, in dBm, on channel number 15 + `tuned` while a transmitter on channel 15 arrives with
/// -40 dBm; of silence where there is none.
fn sensed(chip: &'static Chip, tuned: Option<i8>) -> f64 {
    let site = Environment::full_mesh(2, chip, Dbm(-40.0), 1);
    let mut air = Medium::new(Arc::new(site), 1);
    let channel = |offset: i8| Channel::new((15 + offset) as u8).unwrap();
    if tuned.is_some() {
        let sending = Sending::of(chip, EarId(1), channel(0), Dbm(0.0), &[0; 20]);
        air.begin(SimTime::ZERO, &sending, &mut Vec::new());
    }
    let at = SimTime::from_nanos(100_000);
    let power = air.sensed(at, EarId(0), channel(tuned.unwrap_or(0)));
    10.0 * libm::log10(power.0)
}

#[test]
fn a_detector_reads_what_leaks_and_the_noise_without_the_demodulators_loss() {
    let mw = |dbm: f64| libm::pow(10.0, dbm / 10.0);
    for sheet in SHEETS {
        let name = sheet.chip.name;
        let silence = sensed(sheet.chip, None);
        assert!((silence - sheet.silence).abs() < 0.01, "{name}: {silence}");
        for (tuned, leak) in [-1, 1, -2, 2].into_iter().zip(sheet.leaks) {
            let read = sensed(sheet.chip, Some(tuned));
            let expected = 10.0 * libm::log10(mw(-40.0 + leak) + mw(sheet.silence));
            assert!((read - expected).abs() < 0.01, "{name} {tuned}: {read}");
        }
        assert!((sensed(sheet.chip, Some(0)) + 40.0).abs() < 0.01, "{name}");
    }
}

#[test]
fn each_modem_meets_its_sheet_beside_noise_and_beside_another_frame() {
    let demodulator = Demodulator::default();
    // Loss of 20 bytes and their header, or of a bit, at a signal and an interferer in dBm.
    let loss = |sheet: &Sheet, signal: f64, other: f64| {
        let mw = |dbm: f64| Dbm(dbm).milliwatts().0;
        let modem = sheet.chip.modem;
        let ratio = Demodulator::ratio(modem, mw(signal), mw(sheet.floor), mw(other));
        let symbols = match modem {
            Modem::Fsk { .. } => 1.0,
            Modem::OQpsk | Modem::OQpskPlain => 46.0,
        };
        1.0 - libm::exp(-symbols * demodulator.hazard(modem, ratio))
    };
    for sheet in &SHEETS {
        let name = sheet.chip.name;
        // O-QPSK: 1 % of frames at a co-channel rejection of 3 dB and .3 dB below the sensitivity. FSK: 1e-3 of bits at the
        // sensitivity and at 5 dB (FM capture).
        let (below, sir, expected) = match sheet.chip.modem {
            Modem::Fsk { .. } => (0.0, 5.0, 1e-3),
            Modem::OQpsk | Modem::OQpskPlain => (0.3, 3.0, 1e-2),
        };
        let quiet = loss(sheet, sheet.sensitivity - below, -200.0);
        let captured = loss(sheet, -50.0, -50.0 - sir);
        for (what, lost) in [("noise", quiet), ("interference", captured)] {
            let ratio = lost / expected;
            assert!((0.75..1.33).contains(&ratio), "{name}, {what}: {lost}");
        }
    }
}
