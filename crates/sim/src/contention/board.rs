//! Boards of contention networks: what a radio's operations cost where frames are found by carrier
//! sense. Every constant carries its source. Lengths of time are of true time.

use thalweg_medium::chip::{Chip, CC1000, CC2420};
use thalweg_medium::ether::Form;
use thalweg_units::{Db, Dbm, Duration};

/// How a board acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// From the last symbol of the frame to the first of the acknowledgement.
    pub gap: Duration,
    /// From its first symbol to its last.
    pub air: Duration,
    /// Who can synchronise on it.
    pub form: Form,
}

/// When a sleeping radio begins to start up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakes {
    /// In time: its driver knows when it will be wanted, and the receiver is on when asked for.
    Ahead,
    /// When it is asked for: the receiver is on [`Contender::start_up`] later.
    WhenAsked,
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

/// A board, as a contention network charges it.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// Its name.
    pub name: &'static str,
    /// Its radio.
    pub chip: &'static Chip,
    /// From sleep to a receiver that is on, charged as receiving.
    pub start_up: Duration,
    /// Whether that time is waited for.
    pub wakes: Wakes,
    /// Between receiving and transmitting, either way.
    pub turnaround: Duration,
    /// How long a clear channel assessment looks; zero where it is one sample.
    pub cca: Duration,
    /// Power in the channel above which it counts as busy in hardware's own assessment.
    pub cca_threshold: Dbm,
    /// The register says nothing below this.
    pub rssi_least: Dbm,
    /// What fluctuates in its readings; none where they are averages over many symbols.
    pub detector: Option<Detector>,
    /// Cost of each byte that is copied into the transmit buffer before the radio is strobed.
    pub load_byte: Duration,
    /// Acknowledgements.
    pub acknowledgement: Acknowledgement,
    /// Nominal transmit power.
    pub tx_power: Dbm,
    /// The supply's voltage, in volts.
    pub supply_v: f64,
    /// Radio sending at `tx_power`, in milliamperes.
    pub transmit_ma: f64,
    /// Radio's receiver on, in milliamperes.
    pub receive_ma: f64,
}

impl Contender {
    /// Mica2: CC1000 at 433 MHz under TinyOS 1.x. One byte takes 416 us, and so does turning round;
    /// the acknowledgement is four bytes without a preamble, three byte times after the packet
    /// (CC1000RadioIntM). RSSI -105 to -50 dBm, from a band of 175 kHz behind a filter of 27 kOhm and 1
    /// nF, which averages 2 x 27 us of it; 51.3 dB to the volt in steps of 3 V / 1024; receive 7.4 mA, send 5.3 mA at -20 dBm and 8.9 mA at
    /// -5 dBm and 10.4 mA at 0 dBm (data sheet SWRS048): 7.9 mA at -10 dBm by interpolation. Start-up:
    /// 2 ms for the crystal, 200 us for the bias generator, 250 us for the synthesizer (there).
    pub fn mica2() -> Self {
        let byte = CC1000.phy.symbol * u64::from(CC1000.phy.symbols_per_byte);
        Self {
            name: "Mica2",
            chip: &CC1000,
            start_up: Duration::from_micros(2450),
            wakes: Wakes::Ahead,
            turnaround: byte,
            cca: Duration::ZERO,
            cca_threshold: CC1000.cca_threshold,
            rssi_least: Dbm(-105.0),
            detector: Some(Detector {
                noise: Dbm(-105.0),
                samples: 9.45,
                step: Db(0.15),
            }),
            load_byte: Duration::ZERO,
            acknowledgement: Acknowledgement {
                gap: byte * 3,
                air: byte * 4,
                form: Form::Expected,
            },
            tx_power: Dbm(-10.0),
            supply_v: 3.0,
            transmit_ma: 7.9,
            receive_ma: 7.4,
        }
    }

    /// IEEE 802.15.4 at 2.4 GHz as the standard has it (2006, 6.9.9 and 7.5.6.4): turnaround of 12
    /// symbols, assessment over 8, acknowledgement of 11 bytes on the air after the turnaround. No
    /// cost of copying; effective noise floor and threshold are the caller's chip's. Start-up of the
    /// CC2420's crystal 860 us and synthesizer 192 us (data sheet SWRS041).
    pub fn ieee802154(chip: &'static Chip) -> Self {
        let symbol = chip.phy.symbol;
        Self {
            name: "IEEE 802.15.4",
            chip,
            start_up: Duration::from_micros(1052),
            wakes: Wakes::Ahead,
            turnaround: symbol * 12,
            cca: symbol * 8,
            cca_threshold: chip.cca_threshold,
            rssi_least: chip.noise_floor - Db(3.0),
            detector: None,
            load_byte: Duration::ZERO,
            acknowledgement: Acknowledgement {
                gap: symbol * 12,
                air: chip.phy.air_time(3),
                form: Form::Preamble(chip.phy.preamble_bytes as u16),
            },
            tx_power: Dbm(0.0),
            supply_v: 3.0,
            transmit_ma: 17.4,
            receive_ma: 18.8,
        }
    }

    /// Tmote Sky under TinyOS 1.x: the CC2420 and a bus that takes 14 us a byte.
    pub fn tmote() -> Self {
        Self {
            name: "Tmote Sky",
            load_byte: Duration::from_micros(14),
            ..Self::ieee802154(&CC2420)
        }
    }
}
