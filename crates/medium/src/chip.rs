//! Radio chips: what a receiver needs to hear a frame, and the constants of its modem.
//!
//! Every number has its source beside it. `noise_floor` is an *effective* floor: thermal noise
//! plus noise figure plus the loss of a real demodulator against the ideal one, so that the closed
//! forms of [`crate::modem`] give the data sheet's sensitivity. What operations cost in time
//! belongs to boards, not here. Tests: `chip_tests.rs`.

use thalweg_units::{Channel, Channel900, Db, Dbm, Duration};

/// Radio band of a chip; ears of different bands do not hear each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// 2400-2483.5 MHz, channels 11..=26.
    Ghz2_4,
    /// 902-928 MHz: a channel is the one of [`thalweg_units::Channel900`] at its place.
    Mhz900,
    /// 433 MHz (a channel is only a label here).
    Mhz433,
}

/// Which modem a chip has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Modem {
    /// IEEE 802.15.4 O-QPSK with 16-ary direct-sequence spreading.
    OQpsk,
    /// The same with interference that acts as noise of the same power, watt for watt: what the
    /// standard's Annex E and most network simulators assume. Kinder than hardware by some 2 dB.
    OQpskPlain,
    /// Non-coherent FSK, one bit a symbol: `Pe = 1/2 exp(-g / (2 bandwidth_per_rate))`, where `g`
    /// is the ratio of the signal to noise plus `interference_weight` times the interference.
    Fsk {
        /// Bit rate over noise bandwidth: turns SNR into Eb/N0.
        rate_per_bandwidth: f64,
        /// How much of interfering power acts as noise (FM capture).
        interference_weight: f64,
    },
}

/// Sizes and times of a chip's frame on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phy {
    /// One symbol.
    pub symbol: Duration,
    /// Symbols in a byte.
    pub symbols_per_byte: u32,
    /// Preamble bytes.
    pub preamble_bytes: u32,
    /// Start-of-frame delimiter bytes.
    pub sfd_bytes: u32,
    /// Length bytes.
    pub phr_bytes: u32,
    /// Check sequence bytes that hardware appends to the MPDU.
    pub fcs_bytes: u32,
    /// How many symbols of the preamble must be right (its last ones).
    pub sync_symbols: u32,
    /// For how many symbols after the preamble a stronger frame still steals the lock.
    pub steal_symbols: u32,
}

impl Phy {
    /// First preamble symbol to last symbol of a frame of `mpdu_bytes` without FCS.
    pub const fn air_time(&self, mpdu_bytes: usize) -> Duration {
        Duration::from_nanos(self.symbol.as_nanos() * self.air_symbols(mpdu_bytes) as u64)
    }
    /// The same in symbols.
    pub const fn air_symbols(&self, mpdu_bytes: usize) -> u32 {
        self.symbols_per_byte
            * (self.preamble_bytes
                + self.sfd_bytes
                + self.phr_bytes
                + mpdu_bytes as u32
                + self.fcs_bytes)
    }
    /// First preamble symbol to the end of the SFD.
    pub const fn sfd_offset(&self) -> Duration {
        Duration::from_nanos(
            self.symbol.as_nanos()
                * (self.symbols_per_byte * (self.preamble_bytes + self.sfd_bytes)) as u64,
        )
    }
    /// The same frame with a preamble of another length.
    #[must_use]
    pub const fn with_preamble(&self, bytes: u16) -> Self {
        let preamble_bytes = bytes as u32;
        Self {
            preamble_bytes,
            ..*self
        }
    }
    /// Until how long after its first symbol a receiver can still lock on a frame.
    pub const fn findable(&self) -> Duration {
        Duration::from_nanos(self.symbol.as_nanos() * self.first_counted() as u64)
    }
    /// First preamble symbol to the end of the length field.
    pub const fn header(&self) -> Duration {
        Duration::from_nanos(self.symbol.as_nanos() * self.mpdu_symbol() as u64)
    }
    /// Until how long after its first symbol a stronger frame steals the lock.
    pub const fn stealable(&self) -> Duration {
        let preamble = self.symbols_per_byte * self.preamble_bytes;
        Duration::from_nanos(self.symbol.as_nanos() * (preamble + self.steal_symbols) as u64)
    }
    /// The first symbol that must be right.
    pub const fn first_counted(&self) -> u32 {
        (self.symbols_per_byte * self.preamble_bytes).saturating_sub(self.sync_symbols)
    }
    /// The symbol after the length field, where the MPDU begins.
    pub const fn mpdu_symbol(&self) -> u32 {
        self.symbols_per_byte * (self.preamble_bytes + self.sfd_bytes + self.phr_bytes)
    }

    /// IEEE 802.15.4 O-QPSK at 62.5 ksymbol/s (6.3, 6.5). Two preamble symbols must be right; the
    /// correlator looks for a better one until the SFD is over.
    pub const OQPSK_250K: Self = Self {
        symbol: thalweg_wire::phy::SYMBOL,
        symbols_per_byte: 2,
        preamble_bytes: thalweg_wire::phy::PREAMBLE_BYTES as u32,
        sfd_bytes: thalweg_wire::phy::SFD_BYTES as u32,
        phr_bytes: thalweg_wire::phy::PHR_BYTES as u32,
        fcs_bytes: thalweg_wire::phy::FCS_BYTES as u32,
        sync_symbols: 2,
        steal_symbols: 2,
    };
    /// Mica2's CC1000 stack: 19.2 kbit/s of data (38.4 kBaud Manchester), 18 bytes of preamble and
    /// 2 of sync word before the packet, which holds its own length and CRC. Eight bits of the
    /// preamble must be right; once it waits for the sync word, the driver keeps its bit timing.
    pub const MICA2: Self = Self {
        symbol: Duration::from_nanos(52_083),
        symbols_per_byte: 8,
        preamble_bytes: 18,
        sfd_bytes: 2,
        phr_bytes: 0,
        fcs_bytes: 0,
        sync_symbols: 8,
        steal_symbols: 0,
    };
}

/// By how much a receiver suppresses a transmitter on another channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdjacentRejection {
    /// Interferer one channel above.
    pub above: Db,
    /// Interferer one channel below.
    pub below: Db,
    /// Interferer two or more channels away.
    pub far: Db,
}

impl AdjacentRejection {
    /// What is left of a power on channel `interferer` at a receiver tuned to `tuned` (places of
    /// the channels, 0..=15): a factor.
    pub fn leak(&self, tuned: usize, interferer: usize) -> f64 {
        if tuned == interferer {
            1.0
        } else if interferer == tuned + 1 {
            (-self.above).factor()
        } else if interferer + 1 == tuned {
            (-self.below).factor()
        } else {
            (-self.far).factor()
        }
    }
}

/// One radio chip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chip {
    /// Its name.
    pub name: &'static str,
    /// Its band.
    pub band: Band,
    /// Its modem.
    pub modem: Modem,
    /// Its frame on the air.
    pub phy: Phy,
    /// Effective noise floor, demodulator loss included.
    pub noise_floor: Dbm,
    /// How much of `noise_floor` is the demodulator's loss and not power: RSSI and CCA do not see
    /// it.
    pub demodulator_loss: Db,
    /// The data sheet's sensitivity (1 % PER of a 20-byte PSDU for O-QPSK).
    pub sensitivity: Dbm,
    /// Most transmit power that can be set.
    pub max_tx_power: Dbm,
    /// An idle receiver locks on a frame whose SINR at its start is above this.
    pub lock_sinr: Db,
    /// A new frame stronger by this steals the lock before the end of the locked frame's SFD.
    pub steal: Db,
    /// Suppression of other channels.
    pub adjacent: AdjacentRejection,
    /// RSSI register step.
    pub rssi_step: Db,
    /// The usual CCA threshold on received power.
    pub cca_threshold: Dbm,
    /// Standard deviation of the carrier offset, uniform within this many parts per million
    /// either way.
    pub carrier_ppm: f64,
}

impl Chip {
    /// Whether its band has a channel of this index.
    pub const fn has_channel(&self, channel: Channel) -> bool {
        match self.band {
            Band::Ghz2_4 | Band::Mhz433 => true,
            Band::Mhz900 => channel.index() < Channel900::COUNT,
        }
    }
}

/// Chipcon CC2420 (TelosB, Tmote Sky). Sensitivity -95 dBm, adjacent and alternate channel
/// rejection 45/30 and 54/53 dB (a leak is 1 dB below its rejection), co-channel rejection -3 dB:
/// data sheet SWRS041, receive section; the effective floor is kT x 2 MHz (-111 dBm) + 11.8 dB noise figure + 3.7 dB demodulator loss,
/// fitted to the sensitivity. CCA threshold -77 dBm: TinyOS 1.x default.
pub const CC2420: Chip = Chip {
    name: "CC2420",
    band: Band::Ghz2_4,
    modem: Modem::OQpsk,
    phy: Phy::OQPSK_250K,
    noise_floor: Dbm(-95.5),
    demodulator_loss: Db(3.7),
    sensitivity: Dbm(-95.0),
    max_tx_power: Dbm(0.0),
    lock_sinr: Db(-1.5),
    steal: Db(3.0),
    adjacent: AdjacentRejection {
        above: Db(46.0),
        below: Db(31.0),
        far: Db(54.0),
    },
    rssi_step: Db(1.0),
    cca_threshold: Dbm(-77.0),
    carrier_ppm: 10.0,
};

/// Atmel AT86RF231 (Opal's 2.4 GHz radio): sensitivity -101 dBm, +3 dBm, rejection 32 dB at
/// -5 MHz, 35 at +5, 48 at 10 and 54 at 15 MHz, RSSI in 3 dB steps (data sheet 8111C, tables 12-6
/// and 12-7). The leaks are 1 dB from the rejections, as the CC2420's.
pub const AT86RF231: Chip = Chip {
    name: "AT86RF231",
    noise_floor: Dbm(-101.5),
    sensitivity: Dbm(-101.0),
    max_tx_power: Dbm(3.0),
    adjacent: AdjacentRejection {
        above: Db(36.0),
        below: Db(33.0),
        far: Db(49.0),
    },
    rssi_step: Db(3.0),
    ..CC2420
};

/// Atmel AT86RF212 (Opal's 900 MHz radio) in its 250 kbit/s O-QPSK mode: sensitivity -101 dBm
/// (data sheet 8168). The same modem at the same bit rate; its shorter chip sequences are part of
/// the sensitivity.
pub const AT86RF212: Chip = Chip {
    name: "AT86RF212",
    band: Band::Mhz900,
    max_tx_power: Dbm(10.0),
    ..AT86RF231
};

/// Nordic nRF52840 in its IEEE 802.15.4 mode: sensitivity -100 dBm, +8 dBm (product
/// specification, 6.20). The rejections are assumed: what is usual for the class.
pub const NRF52840: Chip = Chip {
    name: "nRF52840",
    noise_floor: Dbm(-100.5),
    sensitivity: Dbm(-100.0),
    max_tx_power: Dbm(8.0),
    adjacent: AdjacentRejection {
        above: Db(34.0),
        below: Db(34.0),
        far: Db(50.0),
    },
    ..CC2420
};

/// Texas Instruments CC2538: sensitivity -97 dBm, +7 dBm, adjacent channel rejection 44 dB (data sheet SWRS096, "Features"
/// and "RF receive section"). The rejection two channels away is assumed: the CC2420's. The leaks are 1 dB from the
/// rejections, as the CC2420's.
pub const CC2538: Chip = Chip {
    name: "CC2538",
    noise_floor: Dbm(-97.5),
    sensitivity: Dbm(-97.0),
    max_tx_power: Dbm(7.0),
    adjacent: AdjacentRejection {
        above: Db(45.0),
        below: Db(45.0),
        far: Db(54.0),
    },
    ..CC2420
};

/// Silicon Labs EFR32MG1 (Mighty Gecko) in its IEEE 802.15.4 mode: sensitivity -99 dBm, +19.5 dBm (data sheet, "Feature
/// list"). The rejections are assumed: what is usual for the class.
pub const EFR32MG: Chip = Chip {
    name: "EFR32MG",
    noise_floor: Dbm(-99.5),
    sensitivity: Dbm(-99.0),
    max_tx_power: Dbm(19.5),
    ..NRF52840
};

/// Chipcon CC1000 on Mica2 (433 MHz, 38.4 kBaud Manchester): thermal noise of the 30 kHz band plus
/// 12 dB noise figure is -117 dBm, the rest of the effective -110 dBm is the demodulator's loss;
/// sensitivity about -101 dBm at a bit error rate of 1e-3 (data sheet SWRS048). 0.4 of an
/// interferer acts as noise: FM capture at 4 to 5 dB. CCA: what TinyOS 1.x senses in a quiet
/// network, with readings of -105 dBm in silence (19 of 20 looks).
pub const CC1000: Chip = Chip {
    name: "CC1000",
    band: Band::Mhz433,
    modem: Modem::Fsk {
        rate_per_bandwidth: 0.64,
        interference_weight: 0.4,
    },
    phy: Phy::MICA2,
    noise_floor: Dbm(-110.0),
    demodulator_loss: Db(7.0),
    sensitivity: Dbm(-101.0),
    max_tx_power: Dbm(5.0),
    lock_sinr: Db(4.0),
    steal: Db(3.0),
    adjacent: AdjacentRejection {
        above: Db(40.0),
        below: Db(40.0),
        far: Db(60.0),
    },
    rssi_step: Db(1.0),
    cca_threshold: Dbm(-103.0),
    carrier_ppm: 10.0,
};

#[cfg(test)]
#[path = "chip_tests.rs"]
mod tests;
