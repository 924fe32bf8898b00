//! Channels of the 2.4 GHz O-QPSK PHY (IEEE 802.15.4-2006, 6.1.2.1: channel page 0, 11..=26).

use core::fmt;
use core::num::NonZeroU8;
use core::str::FromStr;

/// A channel of the 2.4 GHz band, 11..=26; its centre is 2405 + 5 (k - 11) MHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(NonZeroU8);

/// What was given is no channel of the 2.4 GHz band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelError;

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a channel is a whole number from 11 to 26")
    }
}
impl core::error::Error for ChannelError {}

impl Channel {
    /// How many channels there are.
    pub const COUNT: usize = 16;
    /// The lowest channel.
    pub const FIRST: Self = Self::from_index(0);
    /// The highest channel, the usual default: no Wi-Fi channel covers it.
    pub const LAST: Self = Self::from_index(Self::COUNT - 1);

    /// Channel `number`.
    ///
    /// # Errors
    /// [`ChannelError`] outside 11..=26.
    pub const fn new(number: u8) -> Result<Self, ChannelError> {
        match number {
            11..=26 => Ok(Self::from_index((number - 11) as usize)),
            _ => Err(ChannelError),
        }
    }
    /// The channel's number, 11..=26.
    pub const fn number(self) -> u8 {
        self.0.get()
    }
    /// The channel's place among all of them, 0..=15.
    pub const fn index(self) -> usize {
        (self.number() - 11) as usize
    }
    /// The channel at place `index` modulo 16.
    pub const fn from_index(index: usize) -> Self {
        Self(NonZeroU8::MIN.saturating_add(10 + (index % Self::COUNT) as u8))
    }
    /// All channels, lowest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..Self::COUNT).map(Self::from_index)
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
impl FromStr for Channel {
    type Err = ChannelError;
    fn from_str(s: &str) -> Result<Self, ChannelError> {
        Self::new(s.trim().parse().map_err(|_| ChannelError)?)
    }
}

/// A set of channels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ChannelSet(u16);

impl ChannelSet {
    /// No channel.
    pub const EMPTY: Self = Self(0);
    /// All sixteen.
    pub const ALL: Self = Self(u16::MAX);

    /// The set whose bit `i` says whether the channel at place `i` is in it.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
    /// Bit `i` is set where the channel at place `i` is in the set.
    pub const fn bits(self) -> u16 {
        self.0
    }
    /// This set and `channel`.
    #[must_use]
    pub const fn with(self, channel: Channel) -> Self {
        Self(self.0 | 1 << channel.index())
    }
    /// Whether `channel` is in the set.
    pub const fn contains(self, channel: Channel) -> bool {
        self.0 & (1 << channel.index()) != 0
    }
    /// How many channels are in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }
    /// Whether there is none in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The channels in it, lowest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Channel> + Clone {
        Channel::all().filter(move |c| self.contains(*c))
    }
}
impl FromIterator<Channel> for ChannelSet {
    fn from_iter<I: IntoIterator<Item = Channel>>(channels: I) -> Self {
        channels.into_iter().fold(Self::EMPTY, Self::with)
    }
}
impl fmt::Debug for ChannelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.iter().map(Channel::number);
        f.debug_set().entries(numbers).finish()
    }
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
