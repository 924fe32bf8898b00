//! The two ends of the pipeline: what the source has still to send in its round, and what the sink has.

use super::config::MAX_PACKETS;
use crate::bits::Bits;
use thalweg_units::Instant;
use thalweg_wire::stream::{Range, MAX_MISSING};

/// How often a round's end is told, in cycles of their own.
pub(super) const END_COPIES: u8 = 3;

/// What a source sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Packet(u16),
    End,
    /// It waits for what is missing.
    Nothing,
}

/// A source's round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) number: u8,
    pub(super) packets: u16,
    ranges: [Option<Range>; MAX_MISSING],
    /// Ends still to be told.
    ends: u8,
    /// How often ends were told without an answer.
    pub(super) asked: u8,
    /// Until when the answer may come; none while the round is under way.
    pub(super) until: Option<Instant>,
}

impl Round {
    /// The first round of `packets` packets: all of them.
    pub(super) fn first(packets: u16) -> Self {
        let mut round = Self::over(packets);
        let (first, count) = (0, packets);
        round.ranges[0] = Some(Range { first, count });
        round
    }
    /// A round of nothing, at whose end the sink says what it has not.
    pub(super) fn over(packets: u16) -> Self {
        Self {
            number: 0,
            packets,
            ranges: [None; MAX_MISSING],
            ends: END_COPIES,
            asked: 0,
            until: None,
        }
    }
    /// The round after this one: what is missing.
    pub(super) fn again(&self, ranges: [Option<Range>; MAX_MISSING]) -> Self {
        Self {
            number: self.number.wrapping_add(1),
            ranges,
            ..Self::over(self.packets)
        }
    }
    /// Nothing was answered: the ends once more.
    pub(super) fn ask(&mut self) {
        self.asked = self.asked.saturating_add(1);
        self.ends = END_COPIES;
        self.until = None;
    }
    pub(super) fn next(&mut self) -> Next {
        for range in &mut self.ranges {
            let Some(now) = range.filter(|r| r.count > 0 && r.first < self.packets) else {
                *range = None;
                continue;
            };
            let (first, count) = (now.first + 1, now.count - 1);
            *range = Some(Range { first, count });
            return Next::Packet(now.first);
        }
        let left = self.ends.checked_sub(1);
        self.ends = left.unwrap_or(0);
        left.map_or(Next::Nothing, |_| Next::End)
    }
}

/// What a sink has.
#[derive(Debug, Clone)]
pub(super) struct Got {
    have: Bits<{ MAX_PACKETS / 8 }>,
    pub(super) count: u16,
    /// When it answers the end that it heard, and of which round.
    pub(super) answer: Option<(Instant, u8)>,
    /// Packets of the object, once an end told.
    pub(super) packets: Option<u16>,
    pub(super) is_told: bool,
}

impl Got {
    pub(super) const NOTHING: Self = Self {
        have: Bits::EMPTY,
        count: 0,
        answer: None,
        packets: None,
        is_told: false,
    };
    /// Whether a packet is there.
    pub(super) fn has(&self, number: u16) -> bool {
        self.have.contains(number)
    }
    /// Takes a packet.
    pub(super) fn take(&mut self, number: u16) {
        self.count += u16::from(self.have.insert(number));
    }
    /// The first runs of packets that are missing, of `packets`.
    pub(super) fn missing(&self, packets: u16) -> [Option<Range>; MAX_MISSING] {
        let mut ranges = [None; MAX_MISSING];
        let all = 0..packets.min(MAX_PACKETS as u16);
        let mut missing = all.filter(|n| !self.have.contains(*n)).peekable();
        for place in &mut ranges {
            let Some(first) = missing.next() else { break };
            let mut count = 1;
            while missing.next_if_eq(&(first + count)).is_some() {
                count += 1;
            }
            *place = Some(Range { first, count });
        }
        ranges
    }
}
