//! Why a frame was lost: by counterfactual redraws of the same reception, that is with the same
//! random draws. One thing after the other is taken away until the frame would have been right;
//! the last thing taken away is the cause. Costs nothing for good receptions.

/// Why a frame was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossCause {
    /// Too weak: it would have been lost from the strongest sender alone, in silence.
    Weak,
    /// Synchronous senders of the same frame cancelled each other: the strongest alone would have
    /// been right.
    BeatNull,
    /// Another frame on the same channel.
    Collision,
    /// A frame on another channel.
    AdjacentChannel,
    /// Foreign traffic, or what a measured link loses for reasons that its trace does not tell.
    ExternalInterference,
}

/// What is taken away in a redraw; each variant takes away what those before it did, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Without {
    Nothing,
    CoChannel,
    OtherChannels,
    External,
    OtherSenders,
}

impl LossCause {
    /// What caused a loss in a reception whose outcome `is_right(without)` tells.
    pub(crate) fn find(mut is_right: impl FnMut(Without) -> bool) -> Self {
        [
            (Without::CoChannel, Self::Collision),
            (Without::OtherChannels, Self::AdjacentChannel),
            (Without::External, Self::ExternalInterference),
            (Without::OtherSenders, Self::BeatNull),
        ]
        .into_iter()
        .find(|(without, _)| is_right(*without))
        .map_or(Self::Weak, |(_, cause)| cause)
    }
}
