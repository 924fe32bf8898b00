//! Board files: TOML with times in microseconds, as `boards/telosb.toml` shows.
//!
//! What a file leaves out is zero (a cost) or unlimited (a buffer); chip, turnaround and currents
//! must stand there. Tests: at the end.

use super::{AckStyle, Background, Board, Bus, Costs, Currents, PreCopy, SecondRadio, Software};
use crate::clock::ClockModel;
use serde::Deserialize;
use thalweg_engine::BoardTiming;
use thalweg_medium::chip::{Chip, AT86RF212, AT86RF231, CC1000, CC2420, NRF52840};
use thalweg_units::{Dbm, Duration};

/// Why there is no such board.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// Neither a built-in board nor a file.
    #[error("no board and no file is called {name:?}; built in are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The file cannot be read.
    #[error("{path}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's reason.
        why: std::io::Error,
    },
    /// The file is no board.
    #[error("{path}: {why}")]
    Malformed {
        /// The file.
        path: String,
        /// Place and expectation, on one line.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    chip: ChipName,
    tx_power_dbm: f64,
    timing: Timing,
    software: Kind,
    #[serde(default)]
    clock: ClockFile,
    #[serde(default)]
    jitter: Jitter,
    energy: Energy,
    acknowledge: Option<Acknowledge>,
    #[serde(default)]
    bus: BusName,
    second: Option<Second>,
    background: Option<BackgroundFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BackgroundFile {
    every_us: Us,
    takes_us: Us,
    #[serde(default)]
    switch_us: Us,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum BusName {
    #[default]
    Released,
    Held,
}

#[derive(Deserialize)]
#[serde(tag = "by", rename_all = "lowercase", deny_unknown_fields)]
enum Acknowledge {
    Hardware { gap_us: Us },
    Driver { strobe_us: Us },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Second {
    chip: ChipName,
    tx_power_dbm: f64,
    radio_receive_ma: f64,
    radio_transmit_ma: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChipName {
    Cc2420,
    Cc1000,
    At86rf231,
    At86rf212,
    Nrf52840,
}

impl ChipName {
    const fn chip(&self) -> &'static Chip {
        match self {
            Self::Cc2420 => &CC2420,
            Self::Cc1000 => &CC1000,
            Self::At86rf231 => &AT86RF231,
            Self::At86rf212 => &AT86RF212,
            Self::Nrf52840 => &NRF52840,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Timing {
    turnaround_us: Us,
    to_receive_us: Option<Us>,
    #[serde(default)]
    forward_software_us: Us,
    #[serde(default)]
    event_latency_us: Us,
    #[serde(default)]
    load_base_us: Us,
    #[serde(default)]
    load_byte_us: Us,
    #[serde(default)]
    wake_us: Us,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Kind {
    Overlapped,
    Serial(Serial),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Serial {
    strobe_us: Us,
    read_base_us: Us,
    read_byte_us: Us,
    os_us: Us,
    condition_us: Us,
    retune_us: Us,
    cca_settle_us: Us,
    rx_fifo_bytes: Option<u32>,
    precopy: bool,
    atomic_us: Us,
}

impl Default for Serial {
    fn default() -> Self {
        Self {
            strobe_us: Us::default(),
            read_base_us: Us::default(),
            read_byte_us: Us::default(),
            os_us: Us::default(),
            condition_us: Us::default(),
            retune_us: Us::default(),
            cca_settle_us: Us::default(),
            rx_fifo_bytes: None,
            precopy: true,
            atomic_us: Us::default(),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ClockFile {
    max_offset_us: Us,
    drift_sigma_ppm: f64,
    tick_us: Us,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Jitter {
    sync_us: Us,
    software_us: Us,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Energy {
    #[serde(default)]
    handler_us: Us,
    supply_v: f64,
    radio_sleep_ma: f64,
    radio_idle_ma: f64,
    radio_calibrate_ma: f64,
    radio_receive_ma: f64,
    radio_transmit_ma: f64,
    mcu_active_ma: f64,
    mcu_low_power_ma: f64,
}

/// Microseconds, read from an integer or a fraction from 0 to 10 s.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(try_from = "f64")]
struct Us(Duration);

impl TryFrom<f64> for Us {
    type Error = &'static str;
    fn try_from(us: f64) -> Result<Self, Self::Error> {
        if (0.0..=1e7).contains(&us) {
            // Files give tenths of a nanosecond at most; the product is exact enough to round.
            Ok(Self(Duration::from_nanos((us * 1e3).round() as u64)))
        } else {
            Err("expected microseconds from 0 to 10000000")
        }
    }
}

impl Board {
    /// The board that `text` describes; `path` names it in errors.
    ///
    /// # Errors
    /// [`BoardError::Malformed`].
    pub fn parse(path: &str, text: &str) -> Result<Self, BoardError> {
        let malformed = |why: String| BoardError::Malformed {
            path: path.to_owned(),
            why,
        };
        let file: File = toml::from_str(text).map_err(|e| {
            let message = e.message().replace('\n', " ");
            match e.span().filter(|span| span.start > 0) {
                Some(span) => {
                    let line = text.get(..span.start).unwrap_or("").matches('\n').count() + 1;
                    malformed(format!("line {line}: {message}"))
                }
                None => malformed(message),
            }
        })?;
        let e = &file.energy;
        let currents = [
            e.supply_v,
            e.radio_sleep_ma,
            e.radio_idle_ma,
            e.radio_calibrate_ma,
            e.radio_receive_ma,
            e.radio_transmit_ma,
            e.mcu_active_ma,
            e.mcu_low_power_ma,
        ];
        if !currents.iter().all(|x| (0.0..=10_000.0).contains(x)) {
            return Err(malformed("energy: expected values from 0 to 10000".into()));
        }
        if !(-60.0..=30.0).contains(&file.tx_power_dbm) {
            return Err(malformed("tx_power_dbm: expected -60 to 30".into()));
        }
        if !(0.0..=1_000.0).contains(&file.clock.drift_sigma_ppm) {
            return Err(malformed(
                "clock.drift_sigma_ppm: expected 0 to 1000".into(),
            ));
        }
        if let Some(second) = &file.second {
            let currents = [second.radio_receive_ma, second.radio_transmit_ma];
            let fine = currents.iter().all(|x| (0.0..=10_000.0).contains(x));
            if !fine || !(-60.0..=30.0).contains(&second.tx_power_dbm) {
                return Err(malformed(
                    "second: expected currents from 0 to 10000, tx_power_dbm from -60 to 30".into(),
                ));
            }
        }
        if let Some(background) = &file.background {
            let (every, takes) = (background.every_us.0, background.takes_us.0);
            if takes.is_zero() || takes > every {
                let why = "background: expected 0 < takes_us <= every_us";
                return Err(malformed(why.into()));
            }
            if matches!(file.software, Kind::Overlapped) {
                let why = "background: expected software of kind \"serial\", whose time is counted";
                return Err(malformed(why.into()));
            }
        }
        let software = match file.software {
            Kind::Overlapped => Software::Overlapped,
            Kind::Serial(s) => Software::Serial(Costs {
                strobe: s.strobe_us.0,
                read_base: s.read_base_us.0,
                read_byte: s.read_byte_us.0,
                os: s.os_us.0,
                condition: s.condition_us.0,
                retune: s.retune_us.0,
                cca_settle: s.cca_settle_us.0,
                rx_fifo_bytes: s.rx_fifo_bytes.unwrap_or(u32::MAX),
                precopy: match s.precopy {
                    true => PreCopy::Yes,
                    false => PreCopy::No,
                },
                atomic: s.atomic_us.0,
                switch: file
                    .background
                    .as_ref()
                    .map_or(Duration::ZERO, |b| b.switch_us.0),
            }),
        };
        Ok(Self {
            name: file.name,
            chip: file.chip.chip(),
            timing: BoardTiming {
                turnaround: file.timing.turnaround_us.0,
                forward_software: file.timing.forward_software_us.0,
                event_latency: file.timing.event_latency_us.0,
                load_base: file.timing.load_base_us.0,
                load_byte: file.timing.load_byte_us.0,
                wake: file.timing.wake_us.0,
                to_receive: file
                    .timing
                    .to_receive_us
                    .unwrap_or(file.timing.turnaround_us)
                    .0,
                software,
            },
            clock: ClockModel {
                max_offset: file.clock.max_offset_us.0,
                drift_sigma_ppm: file.clock.drift_sigma_ppm,
                tick: file.clock.tick_us.0,
            },
            sync_jitter: file.jitter.sync_us.0,
            software_jitter: file.jitter.software_us.0,
            tx_power: Dbm(file.tx_power_dbm),
            handler: e.handler_us.0,
            acks: match file.acknowledge {
                Some(Acknowledge::Hardware { gap_us }) => AckStyle::Hardware { gap: gap_us.0 },
                Some(Acknowledge::Driver { strobe_us }) => AckStyle::Driver {
                    strobe: strobe_us.0,
                },
                // IEEE 802.15.4-2006, 7.5.6.4.2: after aTurnaroundTime.
                None => AckStyle::Hardware {
                    gap: thalweg_wire::phy::TURNAROUND,
                },
            },
            bus: match file.bus {
                BusName::Released => Bus::Released,
                BusName::Held => Bus::Held,
            },
            background: file.background.map(|b| Background {
                every: b.every_us.0,
                takes: b.takes_us.0,
            }),
            second: file.second.map(|second| SecondRadio {
                chip: second.chip.chip(),
                tx_power: Dbm(second.tx_power_dbm),
                receive_ma: second.radio_receive_ma,
                transmit_ma: second.radio_transmit_ma,
            }),
            currents: Currents {
                supply_v: e.supply_v,
                radio_sleep_ma: e.radio_sleep_ma,
                radio_idle_ma: e.radio_idle_ma,
                radio_calibrate_ma: e.radio_calibrate_ma,
                radio_receive_ma: e.radio_receive_ma,
                radio_transmit_ma: e.radio_transmit_ma,
                mcu_active_ma: e.mcu_active_ma,
                mcu_low_power_ma: e.mcu_low_power_ma,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_one_line_with_its_place() {
        let good = include_str!("../../../../boards/ideal.toml");
        assert!(Board::parse("x", good).is_ok());
        for (from, to, wanted) in [
            ("cc2420", "cc9999", "cc9999"),
            ("turnaround_us = 192", "turnaround_us = -1", "10000000"),
            ("kind = \"serial\"", "kind = \"serial\"\nspeed = 1", "speed"),
            ("supply_v = 3.0", "supply_v = nan", "energy"),
            ("tx_power_dbm = 0.0", "tx_power_dbm = 99", "tx_power_dbm"),
            (
                "[energy]",
                "[background]\nevery_us = 10\ntakes_us = 11\n[energy]",
                "takes_us",
            ),
        ] {
            assert!(good.contains(from), "{from}");
            let error = Board::parse("x", &good.replace(from, to)).unwrap_err();
            let line = error.to_string();
            assert!(line.contains(wanted) && !line.contains('\n'), "{line}");
        }
    }
}
