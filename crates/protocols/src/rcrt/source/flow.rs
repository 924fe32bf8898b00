//! One flow of a source: its connection, its bucket, what it has to send next (RCRT, section 3.7).
//!
//! Time base: the node's clock. Invariants: at most a buffer of packets is unacknowledged; every wait has a
//! time-out. Does not know where packets come from. Tests: `tests.rs`.

use super::supply::Ready;
use super::{Config, Probing};
use crate::ring::Fifo;
use crate::timer::sooner;
use thalweg_units::{Duration, Instant};
use thalweg_wire::rcrt::{Echo, Feedback, FeedbackRequest, Flow, Rate, MAX_NACKS};

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The sink was asked, and has not answered yet.
    Opening,
    /// It stands.
    Open,
    /// Everything was sent; what is missing is repaired.
    Finishing,
    /// Everything arrived.
    Finished,
    /// The sink refused it.
    Refused,
}

/// What a flow sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Open,
    Finish,
    /// A packet that the sink has not: it was asked for, or a stalled source probes with it.
    Again(u32),
    /// A new one.
    New(u32),
}

/// What a feedback was to a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing that it did not know, or late.
    Nothing,
    /// Another rate.
    Rate,
    /// No sink says so: it is forged, or was damaged.
    Impossible,
}

/// Whether a flow's last packet is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Unknown,
    Known,
}

/// A moment that is waited for, or has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    At(Instant),
    Now,
    Never,
}

impl Due {
    fn pass(&mut self, now: Instant) {
        if matches!(self, Self::At(at) if *at <= now) {
            *self = Self::Now;
        }
    }
    const fn timeout(self) -> Option<Instant> {
        match self {
            Self::At(at) => Some(at),
            Self::Now | Self::Never => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct FlowState {
    pub(super) flow: Flow,
    pub(super) connection: u8,
    pub(super) state: State,
    pub(super) demand: Rate,
    /// As assigned.
    pub(super) rate: Rate,
    /// Everything before it has arrived.
    pub(super) acked: u32,
    /// The next new packet.
    pub(super) next: u32,
    /// Packets that may be unacknowledged.
    room: u32,
    again: Fifo<u32, { 2 * MAX_NACKS }>,
    /// When the bucket has a token.
    token: Due,
    /// When a stalled source probes, a connection is asked for or ended again.
    repeat: Due,
    /// Since it stalled.
    probes: u8,
    rtt: Duration,
    /// The last feedback and when it came, until a packet answers it.
    heard: Option<(u8, Instant)>,
    newest: Option<u8>,
    end: End,
}

impl FlowState {
    pub(super) fn new(flow: Flow, connection: u8, demand: Rate, room: u16) -> Self {
        Self {
            flow,
            connection,
            state: State::Opening,
            demand,
            rate: Rate::ZERO,
            acked: 0,
            next: 0,
            room: u32::from(room.max(1)),
            again: Fifo::EMPTY,
            token: Due::Never,
            repeat: Due::Now,
            probes: 0,
            rtt: Duration::ZERO,
            heard: None,
            newest: None,
            end: End::Unknown,
        }
    }
    /// Whether a sink may say that it has everything: the flow has come to its end, which its node may have told before
    /// it restarted.
    pub(super) fn may_be_finished(&self) -> bool {
        self.end == End::Known
    }
    /// Packets that were sent and may not have arrived.
    pub(super) const fn unacknowledged(&self) -> u32 {
        self.next.wrapping_sub(self.acked)
    }
    fn is_stalled(&self) -> bool {
        self.state == State::Open && self.unacknowledged() >= self.room
    }

    /// What there is to send, most urgent first. Whether there is a new packet is for the supply to say.
    pub(super) fn wants(&self) -> Option<Next> {
        match (self.state, self.repeat) {
            (State::Opening, Due::Now) => Some(Next::Open),
            (State::Open | State::Finishing, _) if !self.again.is_empty() => {
                self.again.front().map(|sequence| Next::Again(*sequence))
            }
            (State::Finishing, Due::Now) => Some(Next::Finish),
            (State::Open, repeat) if self.is_stalled() => {
                (repeat == Due::Now).then_some(Next::Again(self.acked))
            }
            (State::Open, _) => (self.token == Due::Now).then_some(Next::New(self.next)),
            _ => None,
        }
    }

    /// The sequence number that `next` says, in full.
    pub(super) const fn number(&self, next: Next) -> u32 {
        match next {
            Next::Open => self.acked,
            Next::Finish => self.next,
            Next::Again(sequence) | Next::New(sequence) => sequence,
        }
    }
    /// `next` was handed to the stack.
    pub(super) fn sent(&mut self, now: Instant, next: Next, config: &Config) {
        match next {
            Next::Open => self.repeat = Due::At(now + config.open_again),
            Next::Finish => self.repeat = Due::At(now + config.finish_again),
            Next::Again(sequence) => {
                if self.again.front() == Some(&sequence) {
                    self.again.pop();
                } else {
                    self.probes = self.probes.saturating_add(1);
                    self.repeat = Due::At(now + self.probe_interval(config));
                }
            }
            Next::New(_) => {
                self.next = self.next.wrapping_add(1);
                self.token = Due::At(now + self.interval());
                if self.is_stalled() {
                    self.probes = 0;
                    self.repeat = Due::At(now + self.probe_interval(config));
                }
            }
        }
    }
    /// The supply has no packet yet, or the flow ends here.
    pub(super) fn supplied(&mut self, ready: Ready) {
        match ready {
            Ready::Packet => {}
            Ready::At(at) => self.token = Due::At(at),
            Ready::End => {
                (self.state, self.end) = (State::Finishing, End::Known);
                (self.token, self.repeat) = (Due::Never, Due::Now);
            }
        }
    }
    /// No more than one token gathers.
    fn interval(&self) -> Duration {
        let rate = self.rate.max(Rate::LEAST);
        Duration::from_nanos(rate.interval_ns().unwrap_or(u64::MAX))
    }
    /// A stalled source probes at min(r / 2, 1 / RTT).
    fn probe_interval(&self, config: &Config) -> Duration {
        let paper = (self.interval() * 2).max(self.rtt);
        match config.probing {
            Probing::Steady => paper,
            Probing::Backoff { most } => {
                let doublings = u32::from(self.probes.min(16));
                (paper * (1_u64 << doublings)).min(most.max(paper))
            }
        }
    }

    /// A feedback of the sink.
    pub(super) fn heard(&mut self, now: Instant, feedback: &Feedback<'_>) -> Heard {
        // Serial numbers: half the numbers back is late.
        let is_late = |newest: u8| feedback.number.wrapping_sub(newest) >= 0x80;
        if self.newest.is_some_and(is_late) {
            return Heard::Nothing;
        }
        if !self.is_possible(feedback) {
            return Heard::Impossible;
        }
        self.newest = Some(feedback.number);
        self.heard = Some((feedback.number, now));
        self.rtt = Duration::from_millis(u64::from(feedback.rtt_ms));
        self.acknowledge(feedback.next);
        for nack in feedback.nacks.iter() {
            let behind = u32::from(nack.wrapping_sub(self.acked as u16));
            let sequence = self.acked.wrapping_add(behind);
            let is_asked = self.again.iter().any(|asked| *asked == sequence);
            if behind < self.unacknowledged() && !is_asked {
                // What does not fit is asked for again.
                let _ = self.again.push(sequence);
            }
        }
        let before = core::mem::replace(&mut self.rate, feedback.rate);
        if self.state == State::Opening {
            self.state = State::Open;
            // One that is stalled goes on probing.
            let repeat = match self.is_stalled() {
                true => Due::Now,
                false => Due::Never,
            };
            (self.token, self.repeat) = (Due::Now, repeat);
        } else if let (Due::At(at), true) = (self.token, before < self.rate) {
            // The token that is waited for comes at the new rate.
            self.token = Due::At(at.min(now + self.interval()));
        }
        match before == self.rate {
            true => Heard::Nothing,
            false => Heard::Rate,
        }
    }
    /// Whether it acknowledges no less than before and no more than was sent, and asks for what was sent and is not
    /// acknowledged: what else it says cannot be checked here.
    fn is_possible(&self, feedback: &Feedback<'_>) -> bool {
        let newly = u32::from(feedback.next.wrapping_sub(self.acked as u16));
        let left = self.unacknowledged().checked_sub(newly);
        let is_left = |left, nack: u16| u32::from(nack.wrapping_sub(feedback.next)) < left;
        left.is_some_and(|left| feedback.nacks.iter().all(|nack| is_left(left, nack)))
    }
    fn acknowledge(&mut self, next: u16) {
        let newly = u32::from(next.wrapping_sub(self.acked as u16));
        if newly == 0 {
            return;
        }
        self.acked = self.acked.wrapping_add(newly);
        let acked = self.acked;
        let count = self.again.len();
        for _ in 0..count {
            let kept = self.again.pop().filter(|asked| !is_before(*asked, acked));
            let _ = kept.map(|asked| self.again.push(asked));
        }
        self.probes = 0;
        if self.state == State::Open {
            self.repeat = Due::Never;
        }
    }

    /// What goes with the next packet.
    pub(super) fn echo(&mut self, now: Instant) -> Option<Echo> {
        let (number, at) = self.heard.take()?;
        let waited_ms = u16::try_from(now.since(at).as_micros() / 1000).ok()?;
        Some(Echo { number, waited_ms })
    }
    /// A buffer that is more than half full asks for feedback.
    pub(super) fn asks(&self) -> FeedbackRequest {
        match self.unacknowledged() * 2 > self.room {
            true => FeedbackRequest::Yes,
            false => FeedbackRequest::No,
        }
    }
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let token = match self.state {
            State::Open if !self.is_stalled() => self.token.timeout(),
            _ => None,
        };
        let repeat = match self.state {
            State::Finished | State::Refused => None,
            _ => self.repeat.timeout(),
        };
        sooner(token, repeat)
    }
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.token.pass(now);
        self.repeat.pass(now);
    }
    /// Nothing is due until the node restarts. What was heard last was in RAM.
    pub(super) fn stop(&mut self) {
        (self.token, self.repeat) = (Due::Never, Due::Never);
        (self.heard, self.newest) = (None, None);
        self.again.clear();
        if matches!(self.state, State::Open | State::Finishing) {
            self.state = State::Opening;
        }
    }
    /// The node restarted: the sink is asked where the flow was.
    pub(super) fn reopen(&mut self) {
        if matches!(
            self.state,
            State::Open | State::Opening | State::Finishing | State::Refused
        ) {
            self.state = State::Opening;
            self.repeat = Due::Now;
            self.newest = None;
        }
    }
    pub(super) fn end(&mut self, state: State) {
        self.state = state;
        self.again.clear();
    }
}

/// Whether `a` comes before `b`, numbers wrapping round.
const fn is_before(a: u32, b: u32) -> bool {
    a != b && b.wrapping_sub(a) < 0x8000_0000
}
