//! Board files: TOML with times in microseconds, as `boards/telosb.toml` shows.
//!
//! A file may extend another: it holds what differs, key by key. A key that is missing is zero (a cost) or
//! unlimited (a buffer); chip, turnaround and currents are required. Tests: `file_tests.rs`.

use super::{
    AckBy, Acks, Background, Board, Bus, Costs, Currents, Detector, McuRuns, PreCopy, SecondRadio,
    Software, Wakes, Waking,
};
use crate::clock::ClockModel;
use serde::Deserialize;
use std::ops::RangeInclusive;
use thalweg_engine::BoardTiming;
use thalweg_medium::chip::{Chip, AT86RF212, AT86RF231, CC1000, CC2420, CC2538, EFR32MG, NRF52840};
use thalweg_units::{Db, Dbm, Duration};
use toml::{Table, Value};

/// Why there is no such board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// Neither a built-in board nor a file.
    #[error("no board and no file is called {name:?}; built in are {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// The built-in boards.
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
    detector: Option<DetectorFile>,
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
    Engine { gap_us: Us, bare_bytes: Option<u32> },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DetectorFile {
    noise_dbm: f64,
    samples: f64,
    step_db: f64,
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
    Cc2538,
    Cc1000,
    At86rf231,
    At86rf212,
    Nrf52840,
    Efr32mg,
}

impl ChipName {
    const fn chip(&self) -> &'static Chip {
        match self {
            Self::Cc2420 => &CC2420,
            Self::Cc2538 => &CC2538,
            Self::Cc1000 => &CC1000,
            Self::At86rf231 => &AT86RF231,
            Self::At86rf212 => &AT86RF212,
            Self::Nrf52840 => &NRF52840,
            Self::Efr32mg => &EFR32MG,
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
    #[serde(default)]
    cca_us: Us,
}

impl Timing {
    fn of(&self, software: Software) -> BoardTiming {
        BoardTiming {
            turnaround: self.turnaround_us.0,
            forward_software: self.forward_software_us.0,
            event_latency: self.event_latency_us.0,
            load_base: self.load_base_us.0,
            load_byte: self.load_byte_us.0,
            wake: self.wake_us.0,
            to_receive: self.to_receive_us.unwrap_or(self.turnaround_us).0,
            software,
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Kind {
    Overlapped,
    Serial(Serial),
    Prompt(Prompt),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prompt {
    #[serde(default)]
    wakes_ahead: bool,
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
    compare_us: Option<Us>,
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
    #[serde(default)]
    restart_us: Us,
    #[serde(default)]
    waking_lead_us: Us,
    #[serde(default)]
    waking_code_us: Us,
    #[serde(default)]
    mcu_runs: McuName,
    supply_v: f64,
    radio_sleep_ma: f64,
    radio_idle_ma: f64,
    radio_calibrate_ma: f64,
    radio_receive_ma: f64,
    radio_transmit_ma: f64,
    mcu_active_ma: f64,
    mcu_low_power_ma: f64,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
enum McuName {
    #[default]
    ForEvents,
    WithRadio,
    ForHandlers,
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

/// How many files may extend each other.
const MOST_EXTENSIONS: usize = 4;
const EXTENDS: &str = "extends";

/// The board that `text` describes; `path` names it in errors, and `text_of` finds what it extends.
pub(super) fn read(
    path: &str,
    text: &str,
    text_of: &dyn Fn(&str) -> Result<String, BoardError>,
) -> Result<Board, BoardError> {
    let malformed = |why: String| BoardError::Malformed {
        path: path.to_owned(),
        why,
    };
    let parse = |text: &str| {
        toml::from_str::<Table>(text).map_err(|e| {
            let message = e.message().replace('\n', " ");
            let start = e.span().map_or(0, |span| span.start);
            let line = text.get(..start).unwrap_or("").matches('\n').count() + 1;
            malformed(format!("line {line}: {message}"))
        })
    };
    let mut table = parse(text)?;
    let mut left = MOST_EXTENSIONS;
    while let Some(base) = table.remove(EXTENDS) {
        let name = base.as_str();
        let name = name.ok_or_else(|| malformed("extends: expected the name of a board".into()))?;
        left = left
            .checked_sub(1)
            .ok_or_else(|| malformed("extends: too many, or itself".into()))?;
        let mut base = parse(&text_of(name)?)?;
        lay_over(&mut base, table);
        table = base;
    }
    let file: File = table
        .try_into()
        .map_err(|e: toml::de::Error| malformed(e.to_string().trim_end().replace('\n', ", ")))?;
    file.board().map_err(|why| malformed(why.into()))
}

/// Writes what `over` says over `base`, table by table.
fn lay_over(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => lay_over(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

impl File {
    fn board(self) -> Result<Board, &'static str> {
        const CURRENTS: RangeInclusive<f64> = 0.0..=10_000.0;
        const POWERS: RangeInclusive<f64> = -60.0..=30.0;
        let e = &self.energy;
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
        let fine = |values: &[f64], range: RangeInclusive<f64>| {
            values.iter().all(|value| range.contains(value))
        };
        let second = self.second.as_ref();
        let second = second.map(|s| ([s.radio_receive_ma, s.radio_transmit_ma], s.tx_power_dbm));
        let times = self
            .background
            .as_ref()
            .map(|b| (b.every_us.0, b.takes_us.0));
        let is_serial = matches!(self.software, Kind::Serial(_));
        let detector = self.detector.as_ref();
        let expectations = [
            (fine(&currents, CURRENTS), "energy: expected values from 0 to 10000"),
            (fine(&[self.tx_power_dbm], POWERS), "tx_power_dbm: expected -60 to 30"),
            (
                fine(&[self.clock.drift_sigma_ppm], 0.0..=1_000.0),
                "clock.drift_sigma_ppm: expected 0 to 1000",
            ),
            (
                second.is_none_or(|(ma, dbm)| fine(&ma, CURRENTS) && fine(&[dbm], POWERS)),
                "second: expected currents from 0 to 10000, tx_power_dbm from -60 to 30",
            ),
            (
                times.is_none_or(|(every, takes)| !takes.is_zero() && takes <= every),
                "background: expected 0 < takes_us <= every_us",
            ),
            (
                times.is_none() || is_serial,
                "background: expected software of kind \"serial\", whose time is counted",
            ),
            (
                detector.is_none_or(|d| {
                    fine(&[d.noise_dbm], -200.0..=0.0) && fine(&[d.samples, d.step_db], 1e-3..=1e3)
                }),
                "detector: expected noise_dbm from -200 to 0, samples and step_db from 0.001 to 1000",
            ),
        ];
        if let Some((_, why)) = expectations.iter().find(|(holds, _)| !holds) {
            return Err(why);
        }
        Ok(self.converted())
    }

    fn converted(self) -> Board {
        let (timing, clock, e) = (self.timing, self.clock, self.energy);
        let wakes = match self.software {
            Kind::Prompt(Prompt { wakes_ahead: true }) => Wakes::Ahead,
            _ => Wakes::WhenAsked,
        };
        let switch = self.background.as_ref().map(|b| b.switch_us.0);
        Board {
            name: self.name,
            chip: self.chip.chip(),
            timing: timing.of(software(self.software, switch.unwrap_or_default())),
            clock: ClockModel {
                max_offset: clock.max_offset_us.0,
                drift_sigma_ppm: clock.drift_sigma_ppm,
                tick: clock.tick_us.0,
            },
            sync_jitter: self.jitter.sync_us.0,
            sync_step: clock.compare_us.unwrap_or(clock.tick_us).0,
            software_jitter: self.jitter.software_us.0,
            cca: timing.cca_us.0,
            wakes,
            detector: self.detector.map(|d| Detector {
                noise: Dbm(d.noise_dbm),
                samples: d.samples,
                step: Db(d.step_db),
            }),
            tx_power: Dbm(self.tx_power_dbm),
            handler: e.handler_us.0,
            restart: e.restart_us.0,
            waking: Waking {
                lead: e.waking_lead_us.0,
                code: e.waking_code_us.0,
            },
            mcu: match e.mcu_runs {
                McuName::ForEvents => McuRuns::ForEvents,
                McuName::WithRadio => McuRuns::WithRadio,
                McuName::ForHandlers => McuRuns::ForHandlers,
            },
            acks: acks(self.acknowledge, timing.turnaround_us.0),
            bus: match self.bus {
                BusName::Released => Bus::Released,
                BusName::Held => Bus::Held,
            },
            background: self.background.map(|b| Background {
                every: b.every_us.0,
                takes: b.takes_us.0,
            }),
            second: self.second.map(|second| SecondRadio {
                chip: second.chip.chip(),
                tx_power: Dbm(second.tx_power_dbm),
                receive_ma: second.radio_receive_ma,
                transmit_ma: second.radio_transmit_ma,
            }),
            currents: currents(&e),
        }
    }
}

fn software(kind: Kind, switch: Duration) -> Software {
    match kind {
        Kind::Overlapped => Software::Overlapped,
        Kind::Prompt(_) => Software::Prompt,
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
            switch,
        }),
    }
}

fn acks(acknowledge: Option<Acknowledge>, turnaround: Duration) -> Acks {
    // IEEE 802.15.4-2006, 7.5.6.4.2: after aTurnaroundTime.
    let standard = Acknowledge::Hardware {
        gap_us: Us(thalweg_wire::phy::TURNAROUND),
    };
    let (by, gap, bare_bytes) = match acknowledge.unwrap_or(standard) {
        Acknowledge::Hardware { gap_us } => (AckBy::Hardware, gap_us.0, None),
        Acknowledge::Driver { strobe_us } => {
            let strobe = strobe_us.0;
            (AckBy::Driver { strobe }, turnaround, None)
        }
        Acknowledge::Engine { gap_us, bare_bytes } => (AckBy::Engine, gap_us.0, bare_bytes),
    };
    Acks {
        by,
        gap,
        bare_bytes,
    }
}

const fn currents(energy: &Energy) -> Currents {
    Currents {
        supply_v: energy.supply_v,
        radio_sleep_ma: energy.radio_sleep_ma,
        radio_idle_ma: energy.radio_idle_ma,
        radio_calibrate_ma: energy.radio_calibrate_ma,
        radio_receive_ma: energy.radio_receive_ma,
        radio_transmit_ma: energy.radio_transmit_ma,
        mcu_active_ma: energy.mcu_active_ma,
        mcu_low_power_ma: energy.mcu_low_power_ma,
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
