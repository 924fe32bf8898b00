//! Why a frame did not arrive: one list of causes for both media.
//!
//! The ear's causes are found by redraws of the same reception, with the same random draws: one
//! thing after the other is taken away until the frame would have been right, and the last thing
//! taken away is the cause. Costs nothing for good receptions.

/// Why a frame was lost at an ear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Another frame on the channel was enough, of a sender that could not sense this one: a
    /// hidden terminal.
    Hidden,
    /// Another frame on the channel was enough, though its sender could sense this one: both began
    /// within the blind time of carrier sensing, or it did not look.
    Collision,
    /// No single sender in range was enough: the sum of many, most of them far away.
    NoiseFloor,
    /// Too weak: it would have been lost from the strongest sender alone, in silence.
    Weak,
    /// The receiver was sending, turning round, tuned elsewhere or asleep.
    Deaf,
    /// Synchronous senders of the same frame cancelled each other: the strongest alone would have
    /// been right.
    BeatNull,
    /// A frame on another channel.
    AdjacentChannel,
    /// Foreign traffic, or losses of a measured link that its trace does not explain.
    External,
}

impl Cause {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Collision => "collision",
            Self::NoiseFloor => "noise_floor",
            Self::Weak => "weak_link",
            Self::Deaf => "deaf",
            Self::BeatNull => "beat_null",
            Self::AdjacentChannel => "adjacent_channel",
            Self::External => "external",
        }
    }
    /// Whether other frames on the same channel did it.
    pub const fn is_co_channel(self) -> bool {
        matches!(self, Self::Hidden | Self::Collision | Self::NoiseFloor)
    }
    /// Of two senders, one of whom can sense the other or not.
    pub(crate) const fn of_two(senses: Senses) -> Self {
        match senses {
            Senses::Yes => Self::Collision,
            Senses::No => Self::Hidden,
        }
    }
}

/// Whether one of two senders can sense what the other sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Senses {
    Yes,
    No,
}

/// Disturbances left out in a redraw; each variant leaves out those of the ones before it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Without {
    Nothing,
    CoChannel,
    OtherChannels,
    External,
    OtherSenders,
}

impl Without {
    /// The last disturbance that has to be left out for `is_right`; none where nothing helps.
    pub(crate) fn least(mut is_right: impl FnMut(Self) -> bool) -> Option<Self> {
        [
            Self::CoChannel,
            Self::OtherChannels,
            Self::External,
            Self::OtherSenders,
        ]
        .into_iter()
        .find(|without| is_right(*without))
    }
}
