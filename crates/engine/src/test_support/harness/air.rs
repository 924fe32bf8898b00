//! Frames on the air of the test network, as those see them who decide about links or read its log.

use std::vec::Vec;
use thalweg_units::{Channel, Instant};

/// A frame on the air, as the link function sees it.
#[derive(Debug, Clone, Copy)]
pub struct Air<'a> {
    /// Index of the sender.
    pub from: usize,
    /// Index of the listener.
    pub to: usize,
    /// The channel.
    pub channel: Channel,
    /// The frame, without FCS.
    pub mpdu: &'a [u8],
    /// When its first preamble symbol went out.
    pub start: Instant,
    /// How many transmissions there were before in this network.
    pub number: usize,
}

/// What becomes of a frame at one listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives (unless it collides).
    Heard,
    /// Its beginning arrives, but its FCS is wrong.
    Corrupted,
    /// Nothing of it arrives.
    Silent,
}

/// An entry of the network's log: who sent what, when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFrame {
    /// Index of the sender.
    pub from: usize,
    /// The channel.
    pub channel: Channel,
    /// When its first preamble symbol went out.
    pub start: Instant,
    /// The frame, without FCS.
    pub mpdu: Vec<u8>,
}
