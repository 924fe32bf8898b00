//! What passes between a radio and the air, and the times that the radio's front end takes.
//!
//! A radio says what it did at which cycle ([`Act`]); the air answers with what arrives at which cycle
//! ([`Arrival`]), at least [`RadioTimes::chain`] later than it was on the air.

use thalweg_units::{Channel, Dbm};

/// What a radio does to the air.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// Its receiver is on; none where the frequency is no channel of IEEE 802.15.4.
    Listen(Option<Channel>),
    /// Its receiver is off.
    Deafen,
    /// It sends: the first symbol leaves the antenna now.
    Send {
        /// On which channel; none where the frequency is none.
        channel: Option<Channel>,
        /// Transmit power.
        power: Dbm,
        /// The frame without check sequence.
        mpdu: Vec<u8>,
    },
    /// It stops before its frame is over.
    Abort,
    /// It wants to know the power in its channel, a look now and further ones 32 us apart.
    Sense {
        /// In which channel; none where the frequency is none.
        channel: Option<Channel>,
        /// How many looks.
        looks: u32,
    },
}

/// A deed and its cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct Act {
    /// When, in cycles of the chip.
    pub at: u64,
    /// What.
    pub deed: Deed,
}

/// What the receiver finds out.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// The delimiter of a frame's start has ended.
    Sfd {
        /// Its power.
        power: Dbm,
    },
    /// Its length byte has ended and is right.
    Header {
        /// The frame without check sequence, as it was sent.
        mpdu: Vec<u8>,
    },
    /// Some byte so far was wrong.
    Garbled,
    /// It is no frame after all, or its header was wrong.
    Lost,
    /// Its last symbol has ended.
    End {
        /// Whether the check sequence is right.
        check: Check,
        /// Link quality as the register shows it.
        lqi: u8,
    },
    /// The mean of the looks that were asked for.
    Sensed {
        /// Power, noise included.
        power: Dbm,
        /// Whether a frame is being received.
        carrier: Carrier,
    },
}

/// A frame's check sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Right.
    Right,
    /// Wrong.
    Wrong,
}

/// Whether a modulated carrier is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// None.
    Absent,
    /// One.
    Present,
}

/// What FRAMESTART means while receiving, on which sources differ (see `tests/all/babblesim.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameStart {
    /// The delimiter has ended.
    Delimiter,
    /// The length byte has ended.
    Length,
}

/// What a radio takes, in cycles of 64 MHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioTimes {
    /// TXEN or RXEN to READY, fast ramp-up (RADIO 6.20.15.8; OSF measured 40.4 us).
    pub fast: u64,
    /// The same, normal ramp-up.
    pub normal: u64,
    /// START to the antenna (second source: BabbleSim).
    pub start: u64,
    /// From the antenna to an event while receiving (second source: BabbleSim, OSF).
    pub chain: u64,
    /// DISABLE to DISABLED after sending (RADIO 6.20.15.8).
    pub disable_tx: u64,
    /// The same after receiving.
    pub disable_rx: u64,
    /// By how much ADDRESS and FRAMESTART come before the delimiter's end while sending (second source: OSF measured
    /// 20 us, BabbleSim none).
    pub tx_address_early: u64,
    /// By how much END comes before the last symbol's end while sending (second source: BabbleSim).
    pub tx_end_early: u64,
    /// What FRAMESTART means while receiving.
    pub frame_start: FrameStart,
}

impl RadioTimes {
    /// What the sources agree on, and the more likely reading where they do not.
    pub const TYPICAL: Self = Self {
        fast: 40 * 64,
        normal: 130 * 64,
        start: 64,
        chain: 22 * 64,
        disable_tx: 21 * 64,
        disable_rx: 32,
        tx_address_early: 0,
        // 17.3 us.
        tx_end_early: 1_107,
        frame_start: FrameStart::Length,
    };
}
