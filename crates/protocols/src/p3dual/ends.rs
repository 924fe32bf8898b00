//! The two ends of the pipeline: what the source has still to send in its round, and what the sink has.

use super::config::MAX_PACKETS;
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
        let mut ranges = [None; MAX_MISSING];
        ranges[0] = Some(Range {
            first: 0,
            count: packets,
        });
        Self {
            number: 0,
            packets,
            ranges,
            ends: END_COPIES,
            asked: 0,
            until: None,
        }
    }
    /// A round of nothing, at whose end the sink says what it has not.
    pub(super) fn over(packets: u16) -> Self {
        Self {
            ranges: [None; MAX_MISSING],
            ..Self::first(packets)
        }
    }
    /// The round after this one: what is missing.
    pub(super) fn again(&self, ranges: [Option<Range>; MAX_MISSING]) -> Self {
        Self {
            number: self.number.wrapping_add(1),
            ranges,
            ends: END_COPIES,
            asked: 0,
            until: None,
            ..*self
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
            *range = Some(Range {
                first: now.first + 1,
                count: now.count - 1,
            });
            return Next::Packet(now.first);
        }
        if self.ends > 0 {
            self.ends -= 1;
            return Next::End;
        }
        Next::Nothing
    }
}

const WORDS: usize = MAX_PACKETS / 64;

/// What a sink has.
#[derive(Debug, Clone)]
pub(super) struct Got {
    have: [u64; WORDS],
    pub(super) count: u16,
    /// When it answers the end that it heard, and of which round.
    pub(super) answer: Option<(Instant, u8)>,
    /// Packets of the object, once an end told.
    pub(super) packets: Option<u16>,
    pub(super) is_told: bool,
}

impl Got {
    pub(super) const NOTHING: Self = Self {
        have: [0; WORDS],
        count: 0,
        answer: None,
        packets: None,
        is_told: false,
    };
    fn has(&self, number: u16) -> bool {
        let word = self.have.get(usize::from(number) / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
    /// Takes a packet; whether it is new.
    pub(super) fn take(&mut self, number: u16) -> bool {
        let is_new = !self.has(number);
        match self.have.get_mut(usize::from(number) / 64) {
            Some(word) if is_new => {
                *word |= 1 << (number % 64);
                self.count += 1;
                true
            }
            _ => false,
        }
    }
    /// The first runs of packets that are missing, of `packets`.
    pub(super) fn missing(&self, packets: u16) -> [Option<Range>; MAX_MISSING] {
        let mut ranges: [Option<Range>; MAX_MISSING] = [None; MAX_MISSING];
        let (mut at, mut run) = (0, None::<Range>);
        for number in 0..packets.min(MAX_PACKETS as u16) {
            match (self.has(number), &mut run) {
                (false, Some(range)) => range.count += 1,
                (false, None) => {
                    run = Some(Range {
                        first: number,
                        count: 1,
                    });
                }
                (true, Some(_)) => {
                    if let Some(place) = ranges.get_mut(at) {
                        *place = run.take();
                    }
                    at += 1;
                    run = None;
                }
                (true, None) => {}
            }
        }
        if let Some(place) = ranges.get_mut(at) {
            *place = run;
        }
        ranges
    }
}
