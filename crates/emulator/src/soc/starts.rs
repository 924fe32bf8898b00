//! How soon after a frame software has the transmitter's next start armed: a relay has a gap's time for it.
//!
//! From RADIO.PHYEND to the PPI channel that triggers TXEN being enabled. Time base: whole microseconds, rounded down.
//! What starts later than [`ANSWER`] after a frame is no answer to it. Tests: `tests/all/relays.rs`,
//! `.ci/emulated.py`.

use super::events::MICROSECOND;
use std::iter::Sum;

/// The longest gap on the air that is used, 192 us, and what it has of ramp-up.
const ANSWER: u64 = 170 * MICROSECOND;
/// As many as an answer may take.
const LONGEST_US: usize = (ANSWER / MICROSECOND) as usize;

/// What the radio was doing when a frame ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Received,
    Sent,
}

/// Times, each as often as it occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    counts: [u32; LONGEST_US],
}

impl Times {
    const NONE: Self = Self {
        counts: [0; LONGEST_US],
    };

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.counts.iter().sum()
    }
    /// The time, in microseconds, that so many percent (0 to 100) do not exceed; none where there are no times.
    pub fn percentile_us(&self, percent: u32) -> Option<usize> {
        let (count, mut below) = (u64::from(self.count()), 0);
        let reached = |times: &u32| {
            below += u64::from(*times);
            below > 0 && 100 * below >= count * u64::from(percent)
        };
        self.counts.iter().position(reached)
    }
}

impl Sum for Times {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::NONE, |mut sum, times| {
            let pairs = sum.counts.iter_mut().zip(times.counts);
            pairs.for_each(|(count, more)| *count = count.saturating_add(more));
            sum
        })
    }
}

/// The starts of a chip.
#[derive(Debug)]
pub(super) struct Starts {
    last: Option<(u64, Ended)>,
    /// When the frame before it ended and when it was armed.
    open: Option<(u64, Ended, u64)>,
    pub(super) after_received: Times,
    pub(super) after_sent: Times,
}

impl Starts {
    pub(super) const NONE: Self = Self {
        last: None,
        open: None,
        after_received: Times::NONE,
        after_sent: Times::NONE,
    };

    /// A frame ended at cycle `now`.
    pub(super) const fn ended(&mut self, now: u64, how: Ended) {
        self.last = Some((now, how));
    }

    /// A start was armed at cycle `now`.
    pub(super) fn armed(&mut self, now: u64) {
        self.open = self.last.take().map(|(since, how)| (since, how, now));
    }
    /// What was armed starts at cycle `now`.
    pub(super) fn started(&mut self, now: u64) {
        let Some((since, how, armed)) = self.open.take() else {
            return;
        };
        let times = match how {
            Ended::Received => &mut self.after_received,
            Ended::Sent => &mut self.after_sent,
        };
        if now - since <= ANSWER {
            let place = ((armed - since) / MICROSECOND) as usize;
            if let Some(count) = times.counts.get_mut(place) {
                *count = count.saturating_add(1);
            }
        }
    }
}
