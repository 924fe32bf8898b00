//! Why a packet did not get over a hop.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_draw::style::cause as colour;

/// Why a packet did not get over a hop, in the order in which things are taken away to find out:
/// of several receivers' causes the first in this order is the packet's, because that receiver
/// was nearest to getting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A frame of another stage of the same transfer on the same channel: with four channels a
    /// stage four before or behind. It was stronger, or the receiver was just breaking it off.
    SelfInterference,
    /// Another frame on the same channel: a stranger's, or a stage mate's that is out of step.
    Collision,
    /// A frame on another channel.
    AdjacentChannel,
    /// Wi-Fi and other foreign traffic.
    External,
    /// Where there is no such traffic: what a measured link lost, or a loss that was injected.
    Link,
    /// The senders cancelled each other: the strongest alone would have been right.
    BeatNull,
    /// The receiver has a usable sender, but was sending, turning around, or broke off.
    Busy,
    /// The receiver has a usable sender, but slept or listened elsewhere: it is not in the
    /// transfer, or not any more.
    NotListening,
    /// A usable sender had the packet and kept it back: one of the last but one stage, below the
    /// threshold.
    Withheld,
    /// A usable sender had the packet and did not send it for another reason.
    NotSent,
    /// The receiver's usable senders did not have the packet; those that had it are too weak.
    SenderMissing,
    /// All senders of the group are too weak for this receiver, or were at this time.
    Weak,
}

impl Cause {
    /// All, in order.
    pub const ALL: [Self; 12] = [
        Self::SelfInterference,
        Self::Collision,
        Self::AdjacentChannel,
        Self::External,
        Self::Link,
        Self::BeatNull,
        Self::Busy,
        Self::NotListening,
        Self::Withheld,
        Self::NotSent,
        Self::SenderMissing,
        Self::Weak,
    ];

    /// Its name in tables and pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SelfInterference => "self-interference",
            Self::Collision => "collision",
            Self::AdjacentChannel => "adjacent channel",
            Self::External => "Wi-Fi, external",
            Self::Link => "link's own loss",
            Self::BeatNull => "beat null",
            Self::Busy => "receiver busy",
            Self::NotListening => "not listening",
            Self::Withheld => "withheld",
            Self::NotSent => "not sent",
            Self::SenderMissing => "sender missing",
            Self::Weak => "weak",
        }
    }

    /// Its colour in pictures.
    pub(super) const fn colour(self) -> &'static str {
        match self {
            Self::SelfInterference => colour::SELF_INTERFERENCE,
            Self::Collision => colour::COLLISION,
            Self::AdjacentChannel => colour::ADJACENT_CHANNEL,
            Self::External | Self::Link => colour::EXTERNAL,
            Self::BeatNull => colour::CANCELLED,
            Self::Busy => colour::BUSY,
            Self::NotListening => colour::AWAY,
            Self::Withheld => colour::WITHHELD,
            Self::NotSent => colour::NOT_SENT,
            Self::SenderMissing => colour::MISSING,
            Self::Weak => colour::WEAK,
        }
    }
}

/// How many were lost for which cause.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Causes(pub BTreeMap<Cause, u32>);

impl Causes {
    /// One more.
    pub fn count(&mut self, cause: Cause) {
        *self.0.entry(cause).or_default() += 1;
    }
    /// Those of `other` too.
    pub fn add(&mut self, other: &Self) {
        for (cause, n) in &other.0 {
            *self.0.entry(*cause).or_default() += n;
        }
    }
    /// How many for `cause`.
    pub fn of(&self, cause: Cause) -> u32 {
        self.0.get(&cause).copied().unwrap_or(0)
    }
    /// How many in all.
    pub fn total(&self) -> u32 {
        self.0.values().sum()
    }
    /// The most frequent first.
    pub fn ranked(&self) -> Vec<(Cause, u32)> {
        let mut list: Vec<_> = self.0.iter().map(|(c, n)| (*c, *n)).collect();
        list.sort_by_key(|(cause, n)| (std::cmp::Reverse(*n), *cause));
        list
    }
}
