//! One packet at a time over one link: sent at once, acknowledged, repeated (sections IV-A, IV-B).
//!
//! Owns what has become of the frame that the radio was given. Time base: the node's clock.
//! Invariant: each frame ends in exactly one [`Verdict`]. Tests: `tests.rs`.

use thalweg_engine::{OpId, RadioEvent};
use thalweg_units::{Duration, Instant};

/// What the frame waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// The radio has not said yet that it is sent; the acknowledgement of an earlier copy may have
    /// come.
    Sending {
        op: Option<OpId>,
        acked: bool,
    },
    Waiting {
        until: Instant,
    },
}

impl State {
    const TO_SEND: Self = Self::Sending {
        op: None,
        acked: false,
    };
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is there, as far as the protocol's version can know.
    Delivered,
    /// It is to be sent again, out of the radio's buffer.
    Again,
    /// It was sent as often as it may be.
    GivenUp,
}

/// A link's sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    state: State,
    sequence: u8,
    attempts: u32,
    /// Tells this link's waits from those of the links beside it.
    salt: u16,
}

/// From the second repetition on a sender waits up to this much longer. Two senders beside each other
/// that repeat at the same pace can stay in step, the one's copy over the bus making the other's
/// acknowledgement late each time.
const SPREAD_US: u64 = 512;

impl Sender {
    pub(super) const fn new(salt: u16) -> Self {
        Self {
            state: State::Idle,
            sequence: 0,
            attempts: 0,
            salt,
        }
    }
    fn spread(&self) -> Duration {
        if self.attempts < 2 {
            return Duration::ZERO;
        }
        let salt = u64::from(self.salt) << 32 | u64::from(self.sequence) << 16;
        let mixed = (salt + u64::from(self.attempts)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Duration::from_micros((mixed >> 40) % SPREAD_US)
    }
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }
    /// The frame with this sequence number is given to the radio.
    pub(super) fn begin(&mut self, sequence: u8) {
        self.sequence = sequence;
        self.attempts = 1;
        self.state = State::TO_SEND;
    }
    /// That operation will send it.
    pub(super) fn submitted(&mut self, id: OpId) {
        if let State::Sending { op, .. } = &mut self.state {
            *op = Some(id);
        }
    }
    /// The radio answered.
    pub(super) fn answered(
        &mut self,
        at: Instant,
        event: &RadioEvent<'_>,
        ack_timeout: Option<Duration>,
    ) -> Option<Verdict> {
        let State::Sending { op, acked } = self.state else {
            return None;
        };
        if op.is_none() || event.answers() != op {
            return None;
        }
        let Some(timeout) = ack_timeout.filter(|_| !acked) else {
            self.state = State::Idle;
            return Some(Verdict::Delivered);
        };
        // One that was refused is as good as lost.
        let until = at + timeout + self.spread();
        self.state = State::Waiting { until };
        None
    }
    /// An acknowledgement came.
    pub(super) fn acknowledged(&mut self, sequence: u8) -> Option<Verdict> {
        if sequence != self.sequence {
            return None;
        }
        match &mut self.state {
            State::Idle => None,
            State::Sending { acked, .. } => {
                // Of the copy before, unless none was sent yet.
                *acked = self.attempts > 1;
                None
            }
            State::Waiting { .. } => {
                self.state = State::Idle;
                Some(Verdict::Delivered)
            }
        }
    }
    /// Its time-out, if it waits for one.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.state {
            State::Waiting { until } => Some(until),
            _ => None,
        }
    }
    /// The time is `at`; it may send `most` times.
    pub(super) fn timeout(&mut self, at: Instant, most: u32) -> Option<Verdict> {
        if self.due().is_none_or(|until| at < until) {
            return None;
        }
        if self.attempts >= most {
            self.state = State::Idle;
            return Some(Verdict::GivenUp);
        }
        self.attempts += 1;
        self.state = State::TO_SEND;
        Some(Verdict::Again)
    }
}
