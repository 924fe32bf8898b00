//! Carrier sense: one frame at a time, with backoff, acknowledgement and retransmission.
//!
//! A part of engines, not an engine: [`Mac`] is given a frame, asks for radio operations and gives
//! an [`Outcome`]. Three schemes share the code ([`Scheme`]): B-MAC as Fusion uses it (section
//! 2.3.3), the unslotted CSMA-CA of IEEE 802.15.4-2006 (7.5.1.4) and the TinyOS 1.x stack of the
//! CC2420. Time base: the node's clock. Invariant: a frame that was offered ends in one outcome.
//! B-MAC counts down only while its radio receives nothing. Tests: `tests.rs`.

mod floor;
mod rng;
mod scheme;
#[cfg(test)]
mod tests;

pub use floor::NoiseFloor;
pub use rng::Rng;
pub use scheme::{BMac, Config, Scheme, TinyOs, Unslotted};

use thalweg_engine::{Activity, Cca, OpId, RadioEvent, RadioOp, Refusal, Request, TxSlot, When};
use thalweg_units::{Channel, Dbm, Duration, Instant};
use thalweg_wire::addressed::{Ack, Congestion, ACK_BYTES};
use thalweg_wire::FrameBuf;

/// Names of the operations that a MAC asks for.
pub mod ops {
    use super::OpId;
    /// A frame.
    pub const DATA: OpId = OpId(0x100);
    /// An acknowledgement.
    pub const ACK: OpId = OpId(0x101);
    /// Carrier sense.
    pub const SENSE: OpId = OpId(0x102);
    /// A sample of the idle channel.
    pub const FLOOR: OpId = OpId(0x103);
    /// Copying a frame.
    pub const LOAD: OpId = OpId(0x104);
}

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
    /// It was sent to everybody, who do not acknowledge.
    Broadcast,
    /// No transmission of it was acknowledged.
    NoAck,
    /// The channel stayed busy for as long as the scheme waits.
    ChannelBusy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// Until the end of a backoff.
    Backoff {
        /// Since when it is counted down.
        since: Instant,
        until: Instant,
    },
    /// A backoff of which so much is left when the reception in progress is over, at the latest at
    /// `until`.
    Frozen {
        left: Duration,
        until: Instant,
    },
    /// Stopped by the layer above.
    Held,
    Loading,
    Sensing,
    /// The frame is asked for or on the air.
    Sending,
    AwaitAck {
        until: Instant,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Nothing,
    Load,
    Sense,
    Send,
}

/// Which windows a backoff is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Initial,
    Congestion,
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
    ack: [u8; ACK_BYTES],
    ack_wanted: bool,
    /// An acknowledgement of ours is asked for or on the air.
    acking: bool,
    floor: NoiseFloor,
    sample_floor: bool,
    /// Transmissions of frames so far, retransmissions among them.
    sent: u32,
}

impl Mac {
    /// An idle MAC. `seed` makes its backoffs its own.
    pub fn new(config: Config, channel: Channel, seed: u64) -> Self {
        Self {
            floor: NoiseFloor::new(config.quiet),
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
            ack: [0; ACK_BYTES],
            ack_wanted: false,
            acking: false,
            sample_floor: false,
            sent: 0,
        }
    }

    /// Whether it has no frame.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }
    /// Transmissions so far, retransmissions among them.
    pub const fn sent(&self) -> u32 {
        self.sent
    }
    /// Power from which on software's carrier sense calls the channel busy.
    pub fn threshold(&self) -> Dbm {
        match self.config.scheme {
            Scheme::BMac(BMac { margin, .. }) => self.floor.level() + margin,
            Scheme::Unslotted(_) | Scheme::TinyOs(_) => self.floor.level(),
        }
    }
    /// From the next backoff on.
    pub fn set_priority(&mut self, priority: Priority) {
        self.priority = priority;
    }

    /// Takes a frame, if it has none: `sequence` is what an acknowledgement of it would name, none
    /// for a frame that nobody acknowledges.
    pub fn offer(&mut self, now: Instant, frame: &FrameBuf, sequence: Option<u8>) {
        if self.state != State::Idle {
            return;
        }
        self.frame = *frame;
        self.acknowledged = sequence.is_some();
        self.sequence = sequence.unwrap_or(0);
        self.retries = 0;
        self.begin(now);
    }
    /// Changes byte `at` of the frame in hand; counts from its next transmission on.
    #[inline]
    pub fn patch(&mut self, at: usize, value: u8) {
        if let Some(byte) = self.frame.get_mut(at) {
            *byte = value;
        }
    }
    /// Takes the frame in hand back, unless it is on the air or waits for its acknowledgement.
    pub fn withdraw(&mut self) {
        if matches!(
            self.state,
            State::Backoff { .. } | State::Frozen { .. } | State::Held
        ) {
            self.state = State::Idle;
        }
    }
    /// Stops a backoff until [`Mac::release`].
    pub fn hold(&mut self) {
        if matches!(self.state, State::Backoff { .. } | State::Frozen { .. }) {
            self.state = State::Held;
        }
    }
    /// A frame that was held goes into a new backoff.
    pub fn release(&mut self, now: Instant) {
        if self.state == State::Held {
            self.begin(now);
        }
    }
    /// A backoff does not end before `until` and a new draw.
    pub fn defer(&mut self, until: Instant) {
        let end = match self.state {
            State::Backoff { until: end, .. } | State::Frozen { until: end, .. } => end,
            _ => return,
        };
        if end < until {
            let wait = self.window(Reason::Initial);
            self.state = State::Backoff {
                since: until,
                until: until + wait,
            };
        }
    }

    /// Answers a good frame: asks for an acknowledgement of number `sequence`.
    pub fn acknowledge(&mut self, sequence: u8, congestion: Congestion) {
        let ack = Ack {
            sequence,
            congestion,
        };
        self.ack = ack.bytes();
        self.ack_wanted = true;
        self.acking = true;
    }

    /// Takes what the radio reports.
    pub fn handle_radio(&mut self, now: Instant, event: &RadioEvent<'_>) -> Option<Outcome> {
        match *event {
            RadioEvent::Frame { mpdu, sfd, .. } => {
                self.sample_floor = self.uses_floor();
                self.received(now, sfd);
                if mpdu.len() != ACK_BYTES {
                    return None;
                }
                let ack = Ack::parse(mpdu).ok()?;
                let waits = matches!(self.state, State::AwaitAck { .. });
                if waits && ack.sequence == self.sequence {
                    self.state = State::Idle;
                    return Some(Outcome::Acknowledged(ack.congestion));
                }
            }
            RadioEvent::Corrupt { sfd } => {
                self.sample_floor = self.uses_floor();
                self.received(now, sfd);
            }
            RadioEvent::Sent { op: ops::ACK, .. } | RadioEvent::Refused { op: ops::ACK, .. } => {
                self.acking = false;
            }
            RadioEvent::Sent { op: ops::DATA, .. } if self.state == State::Sending => {
                self.sent += 1;
                if self.acknowledged {
                    let until = now + self.config.ack_wait;
                    self.state = State::AwaitAck { until };
                } else {
                    self.state = State::Idle;
                    return Some(Outcome::Broadcast);
                }
            }
            RadioEvent::Refused { op: ops::DATA, why } if self.state == State::Sending => {
                return match why {
                    Refusal::ChannelBusy => self.found_busy(now),
                    // An acknowledgement of ours took its place.
                    _ => {
                        self.back_off(now, Reason::Congestion);
                        None
                    }
                };
            }
            RadioEvent::Done { op: ops::LOAD } if self.state == State::Loading => {
                self.state = State::Sending;
                self.wanted = Wanted::Send;
            }
            RadioEvent::Sensed {
                op,
                power,
                activity,
            } => {
                if op == ops::FLOOR {
                    // Only what carrier sense takes for idle is a sample of the idle channel.
                    if activity == Activity::Idle && power.0 < self.threshold().0 {
                        self.floor.sample(power);
                    }
                } else if op == ops::SENSE && self.state == State::Sensing {
                    if let Activity::Receiving { since } = activity {
                        let left = now.since(self.counted_since.max(since));
                        let until = now + self.config.longest_frame;
                        self.state = State::Frozen { left, until };
                        return None;
                    }
                    if power.0 >= self.threshold().0 || self.acking {
                        return self.found_busy(now);
                    }
                    self.state = State::Sending;
                    self.wanted = Wanted::Send;
                }
            }
            _ => {}
        }
        None
    }

    /// The instant of [`Mac::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Outcome> {
        match self.state {
            State::Frozen { left, until } if until <= now => {
                // The reception came to nothing.
                self.count_down(now, left);
            }
            State::Backoff { since, until } if until <= now => {
                self.counted_since = since;
                if self.acking {
                    // The radio answers somebody; that is as good as a busy channel.
                    self.back_off(now, Reason::Congestion);
                    return None;
                }
                match self.config.scheme {
                    Scheme::BMac(_) => {
                        self.state = State::Sensing;
                        self.wanted = Wanted::Sense;
                    }
                    Scheme::Unslotted(_) => {
                        self.state = State::Sending;
                        self.wanted = Wanted::Send;
                    }
                    Scheme::TinyOs(_) if self.busy == 0 => {
                        self.state = State::Loading;
                        self.wanted = Wanted::Load;
                    }
                    Scheme::TinyOs(_) => {
                        self.state = State::Sending;
                        self.wanted = Wanted::Send;
                    }
                }
            }
            State::AwaitAck { until } if until <= now => {
                if self.retries >= self.config.retries {
                    self.state = State::Idle;
                    return Some(Outcome::NoAck);
                }
                self.retries += 1;
                self.begin(now);
            }
            _ => {}
        }
        None
    }

    /// When it next wants [`Mac::handle_timeout`].
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Backoff { until, .. }
            | State::Frozen { until, .. }
            | State::AwaitAck { until } => Some(until),
            _ => None,
        }
    }

    /// The next operation wanted.
    #[inline]
    pub fn poll_radio(&mut self) -> Option<Request<'_>> {
        if core::mem::replace(&mut self.ack_wanted, false) {
            let mpdu = &self.ack;
            return Some(Request::new(ops::ACK, RadioOp::Acknowledge { mpdu }));
        }
        if self.sample_floor {
            self.sample_floor = false;
            return Some(Request::new(ops::FLOOR, RadioOp::Sense));
        }
        let channel = self.channel;
        match core::mem::replace(&mut self.wanted, Wanted::Nothing) {
            Wanted::Nothing => None,
            Wanted::Load => {
                let (slot, mpdu) = (TxSlot(0), &*self.frame);
                Some(Request::new(ops::LOAD, RadioOp::Load { slot, mpdu }))
            }
            Wanted::Sense => Some(Request::new(ops::SENSE, RadioOp::Sense)),
            Wanted::Send => {
                let (when, cca) = (When::Now, self.config.cca());
                let op = match self.config.scheme {
                    Scheme::TinyOs(_) => RadioOp::Transmit {
                        slot: TxSlot(0),
                        channel,
                        when,
                        cca,
                    },
                    Scheme::BMac(_) | Scheme::Unslotted(_) => RadioOp::Stream {
                        mpdu: &self.frame,
                        channel,
                        when,
                        cca,
                    },
                };
                Some(Request::new(ops::DATA, op))
            }
        }
    }

    fn uses_floor(&self) -> bool {
        matches!(self.config.scheme, Scheme::BMac(_))
    }

    fn begin(&mut self, now: Instant) {
        self.busy = 0;
        self.back_off(now, Reason::Initial);
    }

    fn found_busy(&mut self, now: Instant) -> Option<Outcome> {
        self.busy = self.busy.saturating_add(1);
        if let Scheme::Unslotted(u) = self.config.scheme {
            if self.busy > u.max_backoffs {
                self.state = State::Idle;
                return Some(Outcome::ChannelBusy);
            }
        }
        self.back_off(now, Reason::Congestion);
        None
    }

    fn back_off(&mut self, now: Instant, reason: Reason) {
        let wait = self.window(reason);
        self.count_down(now, wait);
    }

    fn count_down(&mut self, now: Instant, wait: Duration) {
        self.state = State::Backoff {
            since: now,
            until: now + wait.max(Duration::from_nanos(1)),
        };
    }

    /// A reception has ended whose frame's header ended at `sfd`: what was counted down since its
    /// preamble does not count.
    fn received(&mut self, now: Instant, sfd: Instant) {
        let Scheme::BMac(b) = self.config.scheme else {
            return;
        };
        match self.state {
            State::Backoff { since, until } if until > now => {
                let began = since.max(sfd.saturating_sub(b.preamble)).min(now);
                let until = until + now.since(began);
                self.state = State::Backoff { since, until };
            }
            State::Frozen { left, .. } => self.count_down(now, left),
            _ => {}
        }
    }

    fn window(&mut self, reason: Reason) -> Duration {
        let (unit, first, slots) = match self.config.scheme {
            Scheme::BMac(BMac {
                unit,
                initial,
                congestion,
                ..
            })
            | Scheme::TinyOs(TinyOs {
                unit,
                initial,
                congestion,
            }) => match reason {
                Reason::Initial => (unit, 1, initial),
                Reason::Congestion => (unit, 1, congestion),
            },
            Scheme::Unslotted(u) => {
                let exponent = (u.min_be + self.busy).min(u.max_be).min(15);
                (u.unit, 0, 1 << exponent)
            }
        };
        let slots = match self.priority {
            Priority::Normal => slots,
            Priority::High => (slots / 4).max(1),
        };
        // Never none at all: a time-out is later than what it was asked for in.
        (unit * u64::from(first + self.rng.below(u32::from(slots)))).max(Duration::from_nanos(1))
    }
}

impl Config {
    const fn cca(&self) -> Cca {
        match self.scheme {
            // Software has looked already.
            Scheme::BMac(_) => Cca::Skip,
            Scheme::Unslotted(_) | Scheme::TinyOs(_) => Cca::Require,
        }
    }
}
