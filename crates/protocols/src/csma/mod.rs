//! Carrier sense: one frame at a time, with backoff, acknowledgement and retransmission.
//!
//! A part of engines, not an engine: [`Mac`] is given a frame, asks for radio operations and gives
//! an [`Outcome`]. Three schemes share the code ([`Scheme`]): B-MAC as Fusion uses it (section
//! 2.3.3), the unslotted CSMA-CA of IEEE 802.15.4-2006 (7.5.1.4) and the TinyOS 1.x stack of the
//! CC2420. Time base: the node's clock. Invariant: a frame that was offered ends in one outcome.
//! B-MAC counts down only while its radio receives nothing. Tests: `tests.rs`, `cc2420_tests.rs`.

mod acks;
mod backoff;
#[cfg(test)]
mod cc2420_tests;
mod floor;
mod lpl;
pub mod ops;
mod scheme;
mod state;
#[cfg(test)]
mod tests;

pub use lpl::Lpl;
pub use scheme::{Acknowledgement, BMac, Config, Scheme, TinyOs, Unslotted, Windows};

use crate::radio;
use crate::rng::Rng;
use crate::timer::sooner;
use acks::Acks;
use floor::NoiseFloor;
use lpl::{Need, Sampler};
use state::{Reason, State, Wanted};
use thalweg_engine::{
    Activity, Assessment, Cca, OpId, RadioEvent, RadioOp, Refusal, Request, TxSlot, Wants, When,
};
use thalweg_units::{Channel, Dbm, Duration, Instant};
use thalweg_wire::addressed::{Ack, Congestion, ACK_BYTES, SEQUENCE_AT};
use thalweg_wire::FrameBuf;

/// How hard a node tries to win the channel (Fusion, section 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// As everybody.
    #[default]
    Normal,
    /// Its windows are a quarter as long.
    High,
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Acknowledged(Congestion),
    /// It was sent to all, who do not acknowledge.
    Broadcast,
    /// No transmission of it was acknowledged.
    NoAck,
    /// The channel stayed busy for as long as the scheme waits.
    ChannelBusy,
}

/// The medium access of one radio.
#[derive(Debug)]
pub struct Mac {
    config: Config,
    channel: Channel,
    rng: Rng,
    state: State,
    wanted: Wanted,
    frame: FrameBuf,
    /// Whether the frame is for one neighbour.
    acknowledged: bool,
    sequence: u8,
    retries: u8,
    busy: u8,
    /// Since when the backoff that ended last was counted down.
    counted_since: Instant,
    priority: Priority,
    acks: Acks,
    floor: NoiseFloor,
    sample_floor: bool,
    /// When the next sample for the floor is due; none while the radio is off.
    next_sample: Option<Instant>,
    /// Switches the radio, under low-power listening.
    sampler: Option<Sampler>,
}

impl Mac {
    /// What it wants of its radio.
    pub const fn wants(&self) -> Wants {
        self.config.wants()
    }
    /// An idle MAC. `seed` makes its backoffs its own.
    pub fn new(config: Config, channel: Channel, seed: u64) -> Self {
        Self {
            floor: NoiseFloor::new(),
            sampler: config.lpl.map(Sampler::new),
            config,
            channel,
            rng: Rng::new(seed),
            state: State::Idle,
            wanted: Wanted::Nothing,
            frame: FrameBuf::EMPTY,
            acknowledged: false,
            sequence: 0,
            retries: 0,
            busy: 0,
            counted_since: Instant::ZERO,
            priority: Priority::Normal,
            acks: Acks::new(config.acknowledgement()),
            sample_floor: false,
            next_sample: None,
        }
    }

    /// Whether it has no frame.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }
    /// Whether its frame is held back by the layer above.
    pub fn is_held(&self) -> bool {
        self.state == State::Held
    }
    /// Power from which on a sample of the channel means that a node sends.
    pub fn carrier(&self) -> Dbm {
        match self.config.scheme {
            Scheme::BMac(_) => self.floor.carrier(),
            Scheme::Unslotted(_) | Scheme::TinyOs(_) => self.config.carrier,
        }
    }
    /// From the next backoff on.
    pub fn set_priority(&mut self, priority: Priority) {
        self.priority = priority;
    }

    /// Takes a frame, if it has none: `sequence` is what an acknowledgement of it would name, none
    /// for a frame that is never acknowledged.
    pub fn offer(&mut self, now: Instant, frame: &FrameBuf, sequence: Option<u8>) {
        if self.state != State::Idle {
            return;
        }
        self.frame = *frame;
        self.acknowledged = sequence.is_some();
        self.sequence = sequence.unwrap_or(0);
        self.retries = 0;
        self.begin(now + self.config.tasks());
        self.attend(now);
    }
    /// Whether it switches the radio itself, and the engine must not order listen or sleep:
    /// low-power listening.
    pub const fn switches_radio(&self) -> bool {
        self.sampler.is_some()
    }
    /// The radio is on from now on. Under low-power listening: begins to sample the channel, at a
    /// phase of its own.
    pub fn start(&mut self, now: Instant) {
        if let (Scheme::BMac(b), None) = (self.config.scheme, self.config.lpl) {
            self.next_sample = Some(now + b.squelch);
        }
        if let (Some(sampler), Some(lpl)) = (&mut self.sampler, self.config.lpl) {
            let micros = u32::try_from(lpl.interval.as_micros()).unwrap_or(u32::MAX);
            let phase = Duration::from_micros(u64::from(1 + self.rng.below(micros)));
            sampler.start(now, phase);
        }
    }
    /// The radio is off from now on, and stays so.
    pub fn stop(&mut self) {
        self.next_sample = None;
        if let Some(sampler) = &mut self.sampler {
            sampler.stop();
        }
    }
    /// Changes the frame in hand from byte `at` on; counts from its next transmission on.
    #[inline]
    pub fn patch<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        let place = self.frame.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        if let Some(place) = place {
            *place = bytes;
        }
    }
    /// The last `bytes` bytes of the frame in hand, to be changed; what is written counts from its next
    /// transmission on. None where the frame is shorter.
    #[inline]
    pub fn tail_mut(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let at = self.frame.len().checked_sub(bytes)?;
        self.frame.get_mut(at..)
    }
    /// The frame in hand has this number from its next transmission on, and so has its acknowledgement.
    pub fn number(&mut self, sequence: u8) {
        self.sequence = sequence;
        self.patch(SEQUENCE_AT, [sequence]);
    }
    /// How often the frame in hand was asked for again.
    pub const fn retries(&self) -> u8 {
        self.retries
    }
    /// Takes the frame in hand back, unless it is on the air or waits for its acknowledgement.
    pub fn withdraw(&mut self) {
        if self.is_waiting() || self.state == State::Held {
            self.state = State::Idle;
        }
    }
    /// Stops a backoff until [`Mac::release`].
    pub fn hold(&mut self) {
        if self.is_waiting() {
            self.state = State::Held;
        }
    }
    /// For the end of a backoff, or for the radio.
    const fn is_waiting(&self) -> bool {
        use State::{Backoff, Frozen, Waking};
        matches!(self.state, Backoff { .. } | Frozen { .. } | Waking { .. })
    }
    /// A frame that was held goes into a new backoff.
    pub fn release(&mut self, now: Instant) {
        if self.state == State::Held {
            self.begin(now);
            self.attend(now);
        }
    }
    /// A backoff does not end before `until` and a new draw.
    pub fn defer(&mut self, until: Instant) {
        let end = match self.state {
            State::Backoff { until: end, .. }
            | State::Frozen { until: end, .. }
            | State::Waking { until: end } => end,
            _ => return,
        };
        if end < until {
            let (since, until) = (until, until + self.window(Reason::Initial));
            self.state = State::Backoff { since, until };
        }
    }

    /// Answers a good frame of `bytes`, which came in by `now`, with an acknowledgement of number
    /// `sequence`.
    pub fn acknowledge(
        &mut self,
        now: Instant,
        sequence: u8,
        congestion: Congestion,
        bytes: usize,
    ) {
        let ack = Ack {
            sequence,
            congestion,
        };
        self.acks.acknowledge(now, ack, bytes);
        if self.acks.takes_buffer() {
            // The frame in hand has to be copied again.
            self.busy = 0;
        }
    }

    /// Takes what the radio reports.
    pub fn handle_radio(&mut self, now: Instant, event: &RadioEvent<'_>) -> Option<Outcome> {
        let busy = self.floor.loud();
        if let Some(sampler) = &mut self.sampler {
            let came_on = sampler.handle_radio(now, event, busy);
            if came_on && matches!(self.state, State::Waking { .. }) {
                self.begin(now);
            }
        }
        self.acks.handle_radio(event);
        let outcome = self.handle_frames(now, event);
        self.attend(now);
        outcome
    }

    fn handle_frames(&mut self, now: Instant, event: &RadioEvent<'_>) -> Option<Outcome> {
        match *event {
            RadioEvent::Frame { mpdu, sfd, .. } => {
                self.received(now, sfd);
                self.redraw(now);
                if mpdu.len() != ACK_BYTES {
                    return None;
                }
                let ack = Ack::parse(mpdu).ok()?;
                let waits = matches!(self.state, State::AwaitAck { .. });
                if waits && ack.sequence == self.sequence {
                    return self.ends(Outcome::Acknowledged(ack.congestion));
                }
            }
            RadioEvent::Corrupt { sfd } => self.received(now, sfd),
            RadioEvent::Sent { op: ops::DATA, .. } if self.state == State::Sending => {
                if !self.acknowledged {
                    return self.ends(Outcome::Broadcast);
                }
                let until = now + self.config.ack_wait;
                self.state = State::AwaitAck { until };
            }
            RadioEvent::Refused { op: ops::DATA, why } if self.state == State::Sending => {
                if why == Refusal::ChannelBusy {
                    return self.found_busy(now);
                }
                // An acknowledgement of ours took its place.
                self.back_off(now, Reason::Congestion);
            }
            RadioEvent::Refused {
                op: ops::SENSE,
                why,
            } => {
                if let State::Sensing { .. } = self.state {
                    if why == Refusal::NoSuch {
                        self.state = State::Idle;
                        return Some(Outcome::ChannelBusy);
                    }
                    return self.found_busy(now);
                }
            }
            RadioEvent::Done { op: ops::LOAD } if self.state == State::Loading => self.loaded(now),
            RadioEvent::Sensed {
                op: op @ (ops::FLOOR | ops::LPL_SAMPLE),
                power,
                activity,
            } => self.sample_floor(op, power, activity),
            RadioEvent::Sensed {
                op: ops::SENSE,
                power,
                activity,
            } => return self.sensed(now, power, activity),
            _ => {}
        }
        None
    }

    /// The frame is in the radio's buffer.
    fn loaded(&mut self, now: Instant) {
        if self.acks.is_busy() && self.acks.takes_buffer() {
            // An acknowledgement of ours goes first.
            return self.back_off(now, Reason::Congestion);
        }
        self.state = State::Sending;
        self.wanted = Wanted::Send;
    }

    /// Lets the noise floor follow the channel while that is idle.
    fn sample_floor(&mut self, op: OpId, power: Dbm, activity: Activity) {
        // A sample that finds a sender is none of the idle channel.
        let is_sample = op == ops::FLOOR || power.0 < self.floor.loud().0;
        if is_sample && activity == Activity::Idle {
            self.floor.sample(power);
        }
    }

    /// What the radio found on the channel before a frame is sent.
    fn sensed(&mut self, now: Instant, power: Dbm, activity: Activity) -> Option<Outcome> {
        let State::Sensing { since: asked } = self.state else {
            return None;
        };
        if let Activity::Receiving { since } = activity {
            let left = if since <= asked {
                now.since(self.counted_since.max(since))
            } else {
                // A preamble between two samples is as good as a busy channel.
                self.window(Reason::Congestion)
            };
            let until = now + self.config.longest_frame;
            self.state = State::Frozen { left, until };
            return None;
        }
        if self.acks.is_busy() || power.0 > self.floor.clear().0 {
            return self.found_busy(now);
        }
        self.state = State::Sending;
        self.wanted = Wanted::Send;
        None
    }

    /// The instant of [`Mac::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Outcome> {
        if let Some(sampler) = &mut self.sampler {
            sampler.handle_timeout(now);
        }
        self.acks.handle_timeout(now);
        let outcome = self.handle_waits(now);
        self.attend(now);
        outcome
    }

    fn handle_waits(&mut self, now: Instant) -> Option<Outcome> {
        if self.next_sample.is_some_and(|at| at <= now) {
            if let Scheme::BMac(b) = self.config.scheme {
                self.next_sample = Some(now + b.squelch);
            }
            // Not while it sends, samples or waits for an answer.
            self.sample_floor = matches!(
                self.state,
                State::Idle | State::Backoff { .. } | State::Frozen { .. } | State::Held
            ) && !self.acks.is_busy();
        }
        match self.state {
            State::Frozen { left, until } if until <= now => {
                // The reception came to nothing.
                self.count_down(now, left);
            }
            State::Backoff { since, until } if until <= now => {
                self.counted_since = since;
                if !(self.sampler.as_ref()).is_none_or(Sampler::is_on) {
                    self.begin(now);
                    return None;
                }
                if self.acks.is_busy() {
                    // The radio acknowledges a frame; that is as good as a busy channel.
                    self.back_off(now, Reason::Congestion);
                    return None;
                }
                (self.state, self.wanted) = match self.config.scheme {
                    Scheme::BMac(_) => (State::Sensing { since: now }, Wanted::Sense),
                    Scheme::TinyOs(_) if self.busy == 0 => (State::Loading, Wanted::Load),
                    Scheme::Unslotted(_) | Scheme::TinyOs(_) => (State::Sending, Wanted::Send),
                };
            }
            State::AwaitAck { until } | State::Waking { until } if until <= now => {
                self.sample_floor =
                    self.uses_floor() && matches!(self.state, State::AwaitAck { .. });
                if self.retries >= self.config.retries {
                    self.state = State::Idle;
                    return Some(Outcome::NoAck);
                }
                self.retries += 1;
                let again = self.again();
                self.begin(now + again);
            }
            _ => {}
        }
        None
    }

    /// When it next wants [`Mac::handle_timeout`].
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let own = match self.state {
            State::Backoff { until, .. }
            | State::Frozen { until, .. }
            | State::Waking { until }
            | State::AwaitAck { until } => Some(until),
            _ => None,
        };
        let look = self.sampler.as_ref().and_then(Sampler::poll_timeout);
        let own = sooner(own, self.acks.poll_timeout());
        sooner(sooner(own, self.next_sample), look)
    }

    /// The next operation wanted.
    #[inline]
    pub fn poll_radio(&mut self) -> Option<Request<'_>> {
        let channel = self.channel;
        if let Some(request) = self.acks.poll_radio(channel) {
            return Some(request);
        }
        if core::mem::take(&mut self.sample_floor) {
            return Some(Request::new(ops::FLOOR, RadioOp::Sense));
        }
        if let Some(request) = self.sampler.as_mut().and_then(|s| s.poll_radio(channel)) {
            return Some(request);
        }
        match core::mem::replace(&mut self.wanted, Wanted::Nothing) {
            Wanted::Nothing => None,
            Wanted::Load => {
                let (slot, mpdu) = (TxSlot(0), &*self.frame);
                Some(Request::new(ops::LOAD, RadioOp::Load { slot, mpdu }))
            }
            Wanted::Sense => {
                let Scheme::BMac(b) = self.config.scheme else {
                    return None;
                };
                let assessment = Assessment {
                    samples: b.samples,
                    between: b.between_samples,
                    clear: self.floor.clear(),
                };
                Some(Request::new(ops::SENSE, RadioOp::Assess(assessment)))
            }
            Wanted::Send => {
                let mpdu = &*self.frame;
                let op = match self.config.scheme {
                    // Software has sampled already.
                    Scheme::BMac(_) => radio::stream(mpdu, channel, When::Now),
                    Scheme::Unslotted(_) => RadioOp::Stream {
                        mpdu,
                        channel,
                        when: When::Now,
                        cca: Cca::Require,
                    },
                    Scheme::TinyOs(_) => radio::transmit(channel, Cca::Require),
                };
                Some(Request::new(ops::DATA, op))
            }
        }
    }

    /// It is done with its frame, and turns back to receiving.
    fn ends(&mut self, outcome: Outcome) -> Option<Outcome> {
        self.state = State::Idle;
        self.sample_floor = self.uses_floor();
        Some(outcome)
    }
    fn uses_floor(&self) -> bool {
        matches!(self.config.scheme, Scheme::BMac(_))
    }

    /// An attempt begins at `now` or later.
    fn begin(&mut self, now: Instant) {
        self.busy = 0;
        match &self.sampler {
            // Carrier sense wants the receiver on.
            Some(sampler) if !sampler.is_on() => {
                let until = sampler.started_by(now);
                self.state = State::Waking { until };
            }
            _ => self.back_off(now, Reason::Initial),
        }
    }

    /// Has the radio on as long as there is something to do for it.
    fn attend(&mut self, now: Instant) {
        let Some(sampler) = &mut self.sampler else {
            return;
        };
        let rests = matches!(self.state, State::Idle | State::Held) && !self.acks.is_busy();
        let need = if rests { Need::Sleep } else { Need::Radio };
        sampler.attend(now, need);
    }
}
