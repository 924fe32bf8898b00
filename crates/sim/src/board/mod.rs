//! Boards: a microcontroller, its radios and the bus between them, with what each operation costs.
//!
//! Boards are files in `boards/`, whose numbers carry their sources; `file.rs` reads them, and
//! `built_in.rs` knows those that come with the program. Lengths of time are of true time: the
//! radio's crystal error over a turnaround is nanoseconds. Does not model a supply that sags.

pub mod built_in;
mod file;

pub use file::BoardError;

use crate::clock::ClockModel;
use thalweg_engine::BoardTiming;
pub use thalweg_engine::{Costs, PreCopy, Software};
use thalweg_medium::chip::Chip;
use thalweg_units::{Db, Dbm, Duration};

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
    /// One count of the timer that does that.
    pub sync_step: Duration,
    /// Standard deviation of the start of a transmission strobed by software
    /// ([`thalweg_engine::When::Now`], which it only delays, and [`thalweg_engine::When::At`]).
    pub software_jitter: Duration,
    /// How long a clear channel assessment takes; zero where it is one sample.
    pub cca: Duration,
    /// When a sleeping radio begins to start up.
    pub wakes: Wakes,
    /// What fluctuates in its readings of signal strength; none where they are averages over many
    /// symbols.
    pub detector: Option<Detector>,
    /// Nominal transmit power.
    pub tx_power: Dbm,
    /// For how long the microcontroller is awake for each event that it handles.
    pub handler: Duration,
    /// From a frame's end until a handler has started the radio again, where it is off meanwhile ([`McuRuns::ForHandlers`]).
    pub restart: Duration,
    /// What it costs its node that the radio ends a sleep.
    pub waking: Waking,
    /// What keeps the microcontroller awake besides.
    pub mcu: McuRuns,
    /// What it draws.
    pub currents: Currents,
    /// How acknowledgements come about.
    pub acks: Acks,
    /// Whether the bus may be used while a radio is on the air.
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

/// When a sleeping radio begins to start up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wakes {
    /// On demand, which takes its time.
    #[default]
    WhenAsked,
    /// Ahead: its driver knows when it will be wanted, and the receiver is on in time.
    Ahead,
}

/// A detector of signal strength with noise of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detector {
    /// What it reads on average of a silent channel.
    pub noise: Dbm,
    /// How many independent samples of that noise a reading averages.
    pub samples: f64,
    /// The converter's step.
    pub step: Db,
}

/// What keeps the microcontroller awake, besides handlers and copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McuRuns {
    /// Nothing.
    #[default]
    ForEvents,
    /// Its radio, whenever it is not powered down: one that hands over every byte.
    WithRadio,
    /// Not even a frame that it sends: the radio takes frames from memory by itself, and is off from a frame's end until
    /// a handler starts it again.
    ForHandlers,
}

/// What it costs that a radio ends a sleep, beside [`BoardTiming::wake`] and handlers; nothing of it delays anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waking {
    /// For how long before the radio is idle: its driver leaves the oscillator time.
    pub lead: Duration,
    /// For how long the microcontroller runs: its driver waits for clocks.
    pub code: Duration,
}

/// How acknowledgements come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acks {
    /// What sends them.
    pub by: AckBy,
    /// From the last symbol of the frame to the first of the acknowledgement, where that is fixed.
    pub gap: Duration,
    /// How many bytes they are on the air where they have no preamble; none for frames as others.
    pub bare_bytes: Option<u32>,
}

/// What acknowledges frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckBy {
    /// The chip, if [`thalweg_engine::RadioOp::Answer`] lets it, or on command.
    Hardware,
    /// The driver as soon as it has read the frame, if `Answer` lets it: TinyOS's drivers for RF212
    /// and RF231.
    Driver {
        /// What notice the radio to costs.
        strobe: Duration,
    },
    /// The engine, which commands the radio to.
    Engine,
}

/// What a driver does with the bus while its radio sends or receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bus {
    /// Releases it whenever it moves no data (FastForward, section IV-C).
    Released,
    /// Holds it until the frame is over, as the unmodified drivers do.
    Held,
}

/// Background work that a board does: a computation on what it senses, or a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Background {
    /// From one run to the next.
    pub every: Duration,
    /// Microcontroller time of a run.
    pub takes: Duration,
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

impl Currents {
    /// The most that a node draws, in watts: its microcontroller runs, and its one radio is in the state that costs most.
    pub const fn most_w(&self) -> f64 {
        let radio_ma = (self.radio_receive_ma.max(self.radio_transmit_ma))
            .max(self.radio_calibrate_ma)
            .max(self.radio_idle_ma);
        (radio_ma + self.mcu_active_ma) * 1e-3 * self.supply_v
    }
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
    /// From sleep to a receiver that is on.
    pub fn start_up(&self) -> Duration {
        self.timing.wake + self.timing.to_receive
    }
}
