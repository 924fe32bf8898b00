//! Radios of two bands on one node, distinguished by type: a 900 MHz channel is no 2.4 GHz channel.
//!
//! IEEE 802.15.4-2006, 6.1.2.1: channel page 2 (O-QPSK at 250 kbit/s) has channels 1..=10 in
//! 902-928 MHz. Radio operations carry a [`Channel`] as the place in the radio's own band;
//! [`Tuning::place`] is the one way from here to there. Tests: at the end.

use crate::Channel;
use core::fmt;

/// A channel of the 915 MHz band, 1..=10; its centre is 906 + 2 (k - 1) MHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel900(u8);

impl Channel900 {
    /// How many channels there are.
    pub const COUNT: usize = 10;
    /// Channel `number`; none outside 1..=10.
    pub const fn new(number: u8) -> Option<Self> {
        match number {
            1..=10 => Some(Self(number)),
            _ => None,
        }
    }
    /// The channel's number, 1..=10.
    pub const fn number(self) -> u8 {
        self.0
    }
    /// The channel at `place` of its band ([`Tuning::place`] the other way); none at places that the
    /// band has not.
    pub const fn at_place(place: Channel) -> Option<Self> {
        Self::new(place.index() as u8 + 1)
    }
}

/// A band and a channel in it: what a radio of that band may be tuned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tuning {
    /// 2.4 GHz.
    Ghz2_4(Channel),
    /// 902-928 MHz.
    Mhz900(Channel900),
}

impl Tuning {
    /// The channel's place in its band, as radio operations carry it.
    pub const fn place(self) -> Channel {
        match self {
            Self::Ghz2_4(channel) => channel,
            Self::Mhz900(channel) => Channel::from_index(channel.0 as usize - 1),
        }
    }
    /// Whether both are in one band.
    pub const fn same_band(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Ghz2_4(_), Self::Ghz2_4(_)) | (Self::Mhz900(_), Self::Mhz900(_))
        )
    }
    /// A byte for it: 11..=26 or 1..=10.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ghz2_4(channel) => channel.number(),
            Self::Mhz900(channel) => channel.number(),
        }
    }
    /// The tuning of that byte; none if there is no such.
    pub const fn from_code(code: u8) -> Option<Self> {
        match (Channel900::new(code), Channel::new(code)) {
            (Some(channel), _) => Some(Self::Mhz900(channel)),
            (None, Ok(channel)) => Some(Self::Ghz2_4(channel)),
            (None, Err(_)) => None,
        }
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ghz2_4(channel) => write!(f, "2.4G:{channel}"),
            Self::Mhz900(channel) => write!(f, "900M:{}", channel.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_tells_one_tuning_and_back() {
        let mut known = 0;
        for code in 0..=u8::MAX {
            if let Some(tuning) = Tuning::from_code(code) {
                assert_eq!(tuning.code(), code);
                known += 1;
            }
        }
        assert_eq!(known, Channel::COUNT + Channel900::COUNT);
        let (low, high) = (Channel900::new(1).unwrap(), Channel900::new(10).unwrap());
        assert_eq!(Tuning::Mhz900(low).place(), Channel::FIRST);
        for channel in [low, high] {
            let place = Tuning::Mhz900(channel).place();
            assert_eq!(Channel900::at_place(place), Some(channel));
        }
        assert_eq!(Channel900::at_place(Channel::LAST), None);
        assert!(!Tuning::Mhz900(high).same_band(Tuning::Ghz2_4(Channel::LAST)));
    }
}
