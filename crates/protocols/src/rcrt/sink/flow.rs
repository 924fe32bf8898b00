//! What a sink knows of one flow: what arrived, what is missing, how long repairs take, what to answer (RCRT,
//! sections 3.3, 3.4 and 3.7).
//!
//! Time base: the sink's clock. Invariants: a packet is given to the application once and in order; no more
//! than a window of packets is kept. Tests: `tests/`.

use super::config::{Config, Gap, Length};
use super::loss::Losses;
use super::rtt::RoundTrip;
use super::spare::Spare;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::{Echo, Flow, Proof, Rate};
use thalweg_wire::FrameBuf;

/// After so long without a packet, and ten packets' time, a flow has a gap.
pub(super) const GAP: Duration = Duration::from_secs(15);

/// A flow's name: its source, and its number there.
pub(super) type Key = (NodeId, Flow);

/// What a flow is to be answered next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    Nothing,
    Feedback,
    Accept,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    /// It was taken.
    New,
    /// It had been.
    Duplicate,
    /// No source that keeps to the window sends it.
    Impossible,
}

/// What a flow has shown since the last decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Its packets are from before the decrease.
    Nothing,
    /// It has the new rate.
    Rate,
    /// It has, and packets are missing of which the sink learned since.
    Loss,
}

#[derive(Debug)]
pub(super) struct FlowState {
    pub(super) origin: NodeId,
    pub(super) flow: Flow,
    pub(super) connection: u8,
    /// The connection before it.
    pub(super) before: Option<u8>,
    pub(super) demand: f64,
    /// As assigned, r.
    pub(super) rate: f64,
    /// Where the connection began.
    began: u64,
    /// Everything before it was given to the application.
    pub(super) next: u64,
    /// The packet after the last that was seen.
    pub(super) highest: u64,
    /// The packet after the last that the source has, once it has said so.
    pub(super) end: Option<u64>,
    /// Of its object, which the source states at the end.
    pub(super) proof: Option<Proof>,
    missing: BTreeSet<u64>,
    early: BTreeMap<u64, FrameBuf>,
    losses: Losses,
    pub(super) rtt: RoundTrip,
    /// The congestion level, C.
    pub(super) congestion: f64,
    /// The rate that the source says it has.
    reported: Rate,
    shown: Shown,
    /// What is missing before it was lost in a gap.
    gap: u64,
    pub(super) heard: Instant,
    /// Whether it does not keep others from more, because it is not heard.
    pub(super) is_counted_silent: bool,
    pub(super) answer: Answer,
    /// No feedback before.
    not_before: Instant,
    pub(super) feedbacks: u64,
    /// Packets that were missing before they came.
    pub(super) repaired: u64,
    /// When it is asked again for what is missing.
    pub(super) repeat: Option<Instant>,
    /// What it may send beyond its share.
    pub(super) spare: Spare,
}

impl FlowState {
    pub(super) fn new(
        (origin, flow): Key,
        (connection, before): (u8, Option<u8>),
        demand: f64,
        first: u64,
        now: Instant,
        config: &Config,
    ) -> Self {
        Self {
            origin,
            flow,
            connection,
            before,
            demand,
            rate: 0.0,
            began: first,
            next: first,
            highest: first,
            end: None,
            proof: None,
            missing: BTreeSet::new(),
            early: BTreeMap::new(),
            losses: Losses::default(),
            rtt: RoundTrip::new(config.first_rtt, config.rtt_gain),
            congestion: 0.0,
            reported: Rate::ZERO,
            shown: Shown::Rate,
            gap: first,
            heard: now,
            is_counted_silent: false,
            answer: Answer::Nothing,
            not_before: Instant::ZERO,
            feedbacks: 0,
            repaired: 0,
            repeat: None,
            spare: Spare::NONE,
        }
    }
    pub(super) const fn key(&self) -> Key {
        (self.origin, self.flow)
    }
    /// As it is sent.
    pub(super) fn wire_rate(&self) -> Rate {
        Rate::from_per_s(self.rate).max(Rate::LEAST)
    }
    /// Whether the source has the rate that was assigned last.
    pub(super) fn is_fresh(&self) -> bool {
        self.reported == self.wire_rate()
    }
    /// Whether it has lost packets at the rate of the last decrease or a later one.
    pub(super) fn has_lost_since(&self) -> bool {
        self.shown == Shown::Loss
    }
    /// The total was decreased.
    pub(super) const fn decreased(&mut self) {
        self.shown = Shown::Nothing;
    }
    /// A packet is here. Whether there was none for so long that what is missing before it was lost in a gap.
    pub(super) fn is_heard(&mut self, now: Instant) -> bool {
        let gap = GAP.max(Duration::from_secs_f64(
            10.0 / self.rate.max(Rate::LEAST.per_s()),
        ));
        now.since(core::mem::replace(&mut self.heard, now)) > gap
    }
    /// What is missing so far was lost in a gap.
    pub(super) const fn is_back(&mut self) {
        self.gap = self.highest;
    }
    /// Whether its losses say that the network is congested.
    pub(super) fn tells_congestion(&self, config: &Config) -> bool {
        self.congestion > config.upper && (config.gap == Gap::Congestion || self.next >= self.gap)
    }
    /// Whether everything was given to the application.
    pub(super) fn is_complete(&self) -> bool {
        self.end == Some(self.next)
    }
    /// Share of packets that arrive without an end-to-end loss, p.
    pub(super) fn delivery(&self) -> f64 {
        self.losses.delivery(self.highest)
    }
    /// Serial number `sequence` as a count, taken as the nearest to what is next; none before the first.
    pub(super) fn unwrap(&self, sequence: u16) -> Option<u64> {
        let ahead = sequence.wrapping_sub(self.next as u16);
        match ahead < 0x8000 {
            true => Some(self.next + u64::from(ahead)),
            false => self.next.checked_sub(0x1_0000 - u64::from(ahead)),
        }
    }

    pub(super) fn echoed(&mut self, now: Instant, echo: Option<Echo>) {
        if let Some(echo) = echo {
            let waited = Duration::from_millis(u64::from(echo.waited_ms));
            self.rtt.answered(now, echo.number, waited);
        }
    }

    /// Takes packet `sequence`; what can be given to the application now is handed to `deliver`.
    pub(super) fn take(
        &mut self,
        sequence: u64,
        rate: Rate,
        payload: &[u8],
        window: u16,
        mut deliver: impl FnMut(u64, FrameBuf),
    ) -> Took {
        let is_beyond = self.end.is_some_and(|end| sequence >= end);
        let is_far = sequence >= self.next + u64::from(window.max(1));
        let Ok(payload) = FrameBuf::from_slice(payload) else {
            return Took::Impossible;
        };
        if is_far || is_beyond {
            return Took::Impossible;
        }
        self.reported = rate;
        if sequence < self.next || self.early.contains_key(&sequence) {
            return Took::Duplicate;
        }
        if sequence > self.highest {
            self.lost(sequence);
        } else if sequence < self.highest {
            self.repaired += u64::from(self.missing.remove(&sequence));
        }
        self.highest = self.highest.max(sequence + 1);
        if self.shown == Shown::Nothing && self.is_fresh() {
            self.shown = Shown::Rate;
        }
        if sequence > self.next {
            self.early.insert(sequence, payload);
            return Took::New;
        }
        deliver(sequence, payload);
        self.next += 1;
        while let Some(payload) = self.early.remove(&self.next) {
            deliver(self.next, payload);
            self.next += 1;
        }
        Took::New
    }
    /// Everything from what was highest up to `until` is missing: one loss event.
    fn lost(&mut self, until: u64) {
        self.losses.event(self.highest, self.began);
        if self.shown == Shown::Rate {
            self.shown = Shown::Loss;
        }
        self.missing.extend(self.highest..until);
        self.highest = until;
    }
    /// The source has nothing from `end` on. Whether that can be.
    pub(super) fn ends(&mut self, end: u64, window: u16) -> bool {
        if end < self.highest || end > self.next + u64::from(window) {
            return false;
        }
        self.end = Some(end);
        if end > self.highest {
            self.lost(end);
        }
        true
    }
    /// What is missing, first what is first.
    pub(super) fn missing(&self) -> impl Iterator<Item = u64> + '_ {
        self.missing.iter().copied()
    }
    pub(super) fn misses(&self) -> bool {
        !self.missing.is_empty()
    }

    /// C after a packet: the moving average of L / (r RTT) (section 3.4).
    pub(super) fn measure(&mut self, config: &Config) {
        let in_round_trip = (self.rate * self.rtt.mean()).max(config.least_in_round_trip);
        let length = match config.length {
            Length::SinceKnown => self.early.len().saturating_sub(1),
            Length::Whole => self.early.len(),
        };
        let normal = length as f64 / in_round_trip;
        self.congestion += config.gain * (normal - self.congestion);
    }

    /// Wants `answer`, unless it wants more already. A feedback waits until one may be sent: then a packet
    /// asks for it again.
    pub(super) fn wants(&mut self, now: Instant, answer: Answer) {
        if answer != Answer::Feedback || now >= self.not_before {
            self.answer = self.answer.max(answer);
        }
    }
    /// A feedback goes out: its number.
    pub(super) fn sends(&mut self, now: Instant) -> u8 {
        self.not_before = now + self.rtt.limit();
        self.feedbacks += 1;
        self.rtt.sends(now)
    }
    /// When what is missing is asked for again, had a feedback gone out at `now`.
    pub(super) fn repeats_at(&self, now: Instant) -> Instant {
        now + self.rtt.limit()
    }
}
