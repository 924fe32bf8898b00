//! Boards: a microcontroller, a radio and the bus between them, with what each operation costs.
//!
//! Boards are files in `boards/`, whose numbers carry their sources; `board/file.rs` reads them.
//! Lengths of time are of true time: the radio's crystal error over a turnaround is nanoseconds.
//! Does not model a supply that sags. Tests: at the end.

mod file;

pub use file::BoardError;

use crate::background::Background;
use crate::clock::ClockModel;
use thalweg_engine::BoardTiming;
pub use thalweg_engine::{Costs, PreCopy, Software};
use thalweg_medium::chip::Chip;
use thalweg_units::{Dbm, Duration};

/// A kind of board.
#[derive(Debug, Clone)]
pub struct Board {
    /// Its name.
    pub name: String,
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
    /// How acknowledgements come about.
    pub acks: AckStyle,
    /// Who may use the bus while a radio is on the air.
    pub bus: Bus,
    /// What its microcontroller does when nothing else wants it.
    pub background: Option<Background>,
    /// Its second radio, if it has one: same bus, same timing.
    pub second: Option<SecondRadio>,
}

/// A second radio on the same bus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondRadio {
    /// Its chip.
    pub chip: &'static Chip,
    /// Nominal transmit power.
    pub tx_power: Dbm,
    /// Receiver on, in milliamperes.
    pub receive_ma: f64,
    /// Transmitting at its power, in milliamperes.
    pub transmit_ma: f64,
}

/// How a radio acknowledges the frames that [`thalweg_engine::RadioOp::Answer`] lets it answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckStyle {
    /// The chip does it, so long after the last symbol.
    Hardware {
        /// How long.
        gap: Duration,
    },
    /// The driver does it as soon as it has read the frame: TinyOS's drivers for RF212 and RF231.
    Driver {
        /// What telling the radio to costs.
        strobe: Duration,
    },
}

/// What a driver does with the bus while its radio sends or receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bus {
    /// Releases it whenever it moves no data (FastForward, section IV-C).
    Released,
    /// Holds it until the frame is over, as the unmodified drivers do.
    Held,
}

impl Board {
    /// The board without its second radio, for protocols that use one.
    #[must_use]
    pub fn with_one_radio(mut self) -> Self {
        self.second = None;
        self
    }
    /// The board as its second radio sees it; the board itself where there is none.
    #[must_use]
    pub fn with_second_radio(&self) -> Self {
        let mut board = self.clone();
        if let Some(second) = self.second {
            board.chip = second.chip;
            board.tx_power = second.tx_power;
            board.currents.radio_receive_ma = second.receive_ma;
            board.currents.radio_calibrate_ma = second.receive_ma;
            board.currents.radio_transmit_ma = second.transmit_ma;
        }
        board
    }
}

impl Board {
    /// What its software costs beyond [`Board::timing`]; nothing where it overlaps.
    pub const fn software_costs(&self) -> Costs {
        self.timing.software.costs()
    }
    /// The same board without the operating system's cost (CIT, figure 3).
    #[must_use]
    pub fn without_os(mut self) -> Self {
        if let Software::Serial(costs) = &mut self.timing.software {
            costs.os = Duration::ZERO;
        }
        self
    }
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

/// The boards that there are: one file each in `boards/`, built in.
pub mod boards {
    use super::{Board, BoardError, BoardTiming, ClockModel, Duration};

    const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/boards.rs"));

    /// The names of the built-in boards.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The built-in board of that name.
    ///
    /// # Errors
    /// [`BoardError::Unknown`]; [`BoardError::Malformed`], which a test rules out.
    pub fn built_in(name: &str) -> Result<Board, BoardError> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let (path, text) = found.ok_or_else(|| BoardError::Unknown {
            name: name.to_owned(),
            known: names().collect::<Vec<_>>().join(", "),
        })?;
        Board::parse(path, text)
    }

    /// The built-in board of that name, or the one in the TOML file of that name.
    ///
    /// # Errors
    /// [`BoardError`].
    pub fn load(name: &str) -> Result<Board, BoardError> {
        match built_in(name) {
            Err(unknown @ BoardError::Unknown { .. }) => match std::fs::read_to_string(name) {
                Ok(text) => Board::parse(name, &text),
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => Err(unknown),
                Err(why) => Err(BoardError::Unreadable {
                    path: name.to_owned(),
                    why,
                }),
            },
            found => found,
        }
    }

    /// TelosB (Tmote Sky) with the software of Glossy and P3: `boards/telosb.toml`.
    #[expect(clippy::expect_used, reason = "it is built in, and a test reads it")]
    pub fn telosb() -> Board {
        built_in("telosb").expect("built in")
    }

    /// A board without errors of its own: perfect clock, no jitter, the given timing; else a
    /// TelosB. For tests to the nanosecond.
    pub fn exact(timing: BoardTiming) -> Board {
        Board {
            name: "exact".to_owned(),
            timing: BoardTiming {
                to_receive: timing.turnaround,
                ..timing
            },
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

    #[test]
    fn contikis_costs_add_up_to_cits_rates() {
        let board = boards::load("telosb-contiki").unwrap();
        let (costs, timing) = (board.timing.software.costs(), board.timing);
        let frame = thalweg_wire::phy::air_time(125) + timing.turnaround + costs.strobe;
        assert_eq!(frame.as_micros(), 4545);
        let write = timing.load_base + timing.load_byte * 125;
        assert_eq!(write.as_micros(), 2211);
        assert!((1e3 / (frame + write).as_micros_f64() * 1e3 - 148.0).abs() < 0.1);
        assert_eq!((costs.read_base + costs.read_byte * 125).as_micros(), 3584);
        assert_eq!((costs.condition + costs.retune).as_micros(), 84);
        let copying = write + Duration::from_micros(3584) + costs.os + costs.strobe;
        assert!(timing.forward_software >= copying + timing.event_latency);
    }

    #[test]
    fn opals_costs_add_up_to_fastforwards_rates() {
        let board = boards::load("opal").unwrap();
        let (costs, timing) = (board.timing.software.costs(), board.timing);
        // 122 bytes on the air, 114 of them the MAC frame without its check sequence.
        let air = thalweg_wire::phy::air_time(114);
        let copy = timing.load_base + timing.load_byte * 114;
        let frame = timing.event_latency + copy + costs.strobe + timing.turnaround + air;
        let rate = |cycle: Duration| 122.0 / cycle.as_secs_f64() / 1e3;
        assert!((rate(frame) - 27.8).abs() < 0.05, "{}", rate(frame));
        let AckStyle::Driver { strobe } = board.acks else {
            panic!("TinyOS's drivers acknowledge in software");
        };
        let read = |bytes: u64| timing.event_latency + costs.read_base + costs.read_byte * bytes;
        let ack = timing.turnaround + thalweg_wire::phy::air_time(3);
        // The acknowledgement's own reading takes the place of the interrupt at the frame's end.
        let acked = frame + read(114) + strobe + ack + read(3) - timing.event_latency;
        assert!((rate(acked) - 23.7).abs() < 0.05, "{}", rate(acked));
        assert!(copy.as_micros_f64() < 0.1 * air.as_micros_f64());
        assert!(board
            .second
            .is_some_and(|second| second.chip.band != board.chip.band));
    }

    #[test]
    fn built_in_boards_are_well_formed() {
        for name in boards::names() {
            let board = boards::load(name).unwrap();
            assert!(
                board.timing.event_latency <= board.timing.forward_software,
                "{name}"
            );
        }
        let ideal = boards::load("ideal").unwrap();
        let software = Software::Serial(Costs::NOTHING);
        assert_eq!(
            ideal.timing,
            BoardTiming {
                software,
                ..BoardTiming::IDEAL
            }
        );
    }
}
