//! Low-power listening: the receiver is off except for a sample of the channel every check interval
//! (B-MAC: Polastre, Hill, Culler, SenSys 2004, section 3.2; TinyOS 1.x, CC1000RadioIntM).
//!
//! [`Sampler`] switches the radio for [`super::Mac`], which says when it needs it. Time base: the node's clock.
//! Invariants: the preamble outlasts the gap between two samples; every wait has a time-out. Not modelled: adapting the
//! interval to traffic, neighbours' schedules. Tests: `tests.rs`, `simnet/src/convergecast/tests.rs`.

use super::ops;
use crate::radio;
use thalweg_engine::{Activity, RadioEvent, RadioOp, Refusal, Request};
use thalweg_units::{Channel, Dbm, Duration, Instant};

/// The receiver is asked to come on again if it did not within this: no start-up takes so long.
const START_LIMIT: Duration = Duration::from_millis(20);

/// How a sleeping node listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lpl {
    /// How long it sleeps between two samples.
    pub interval: Duration,
    /// How long a sample takes once the receiver is on.
    pub look: Duration,
    /// While the channel is busy it samples again after this long; and so long it stays on after a
    /// frame.
    pub linger: Duration,
    /// It stays on no longer for one busy channel from which no frame comes.
    pub patience: Duration,
    /// Preamble of every frame that it sends, in bytes.
    pub preamble_bytes: u16,
}

impl Lpl {
    /// Least and greatest interval between samples.
    pub const INTERVALS: (Duration, Duration) =
        (Duration::from_millis(10), Duration::from_millis(1350));
    /// How much longer than the interval a preamble is: the modes of TinyOS (20 ms and 94 bytes up
    /// to 1085 ms and 2654 bytes, CC1000Const) all have 19 to 21 ms, for start-up, the sample, and the
    /// bytes that a receiver synchronises on.
    pub const MARGIN: Duration = Duration::from_millis(20);

    /// Listening every `interval`, brought within [`Lpl::INTERVALS`], where a byte takes `byte` and
    /// no frame is longer than `longest_frame` without its preamble.
    pub fn new(interval: Duration, byte: Duration, longest_frame: Duration) -> Self {
        let interval = interval.clamp(Self::INTERVALS.0, Self::INTERVALS.1);
        let byte_ns = byte.as_nanos().max(1);
        let bytes = (interval + Self::MARGIN).as_nanos().div_ceil(byte_ns);
        let preamble_bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        Self {
            interval,
            // Time to sample the channel (B-MAC, table 2).
            look: Duration::from_micros(350),
            linger: byte * 8,
            patience: byte * u64::from(preamble_bytes) + longest_frame,
            preamble_bytes,
        }
    }
}

/// How many readings in a row have to be loud before a sample counts as a sender.
const READINGS: u8 = 3;

/// Whether the medium access has something to do for which the radio must be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It has not.
    Sleep,
    /// It has.
    Radio,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Switched off by the layer above.
    Off,
    /// Until then, as the next.
    Asleep(Instant),
    /// The receiver was asked for.
    Starting(Instant),
    /// The receiver is on. The channel is sampled at at `look`; at `limit` it goes off all the same.
    Watching { look: Instant, limit: Instant },
    /// The channel was asked about.
    Looking { limit: Instant },
    /// It is on for the medium access.
    Working,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

/// The radio's switch under low-power listening.
#[derive(Debug)]
pub(super) struct Sampler {
    lpl: Lpl,
    phase: Phase,
    switch: Option<Switch>,
    sense: bool,
    /// Loud readings in a row.
    loud: u8,
    preamble: bool,
}

impl Sampler {
    pub(super) const fn new(lpl: Lpl) -> Self {
        Self {
            lpl,
            phase: Phase::Off,
            switch: None,
            sense: false,
            loud: 0,
            preamble: true,
        }
    }

    /// Begins to sample, for the first time `phase` from now.
    pub(super) fn start(&mut self, now: Instant, phase: Duration) {
        self.sleep(now);
        self.phase = Phase::Asleep(now + phase);
    }
    /// Switches off for good.
    pub(super) fn stop(&mut self) {
        self.phase = Phase::Off;
        self.switch = Some(Switch::Off);
        self.sense = false;
    }
    /// Whether the receiver is on.
    pub(super) const fn is_on(&self) -> bool {
        matches!(
            self.phase,
            Phase::Watching { .. } | Phase::Looking { .. } | Phase::Working
        )
    }
    /// Until when it waits for the receiver, at most.
    pub(super) fn started_by(&self, now: Instant) -> Instant {
        now + START_LIMIT
    }

    fn sleep(&mut self, now: Instant) {
        self.phase = Phase::Asleep(now + self.lpl.interval);
        self.switch = Some(Switch::Off);
        self.sense = false;
    }
    fn wake(&mut self, now: Instant) {
        self.phase = Phase::Starting(now + START_LIMIT);
        self.switch = Some(Switch::On);
    }
    fn watch(&mut self, now: Instant, look: Duration) {
        self.phase = Phase::Watching {
            look: now + look,
            limit: now + self.lpl.patience,
        };
    }

    /// Goes by what the medium access needs now.
    pub(super) fn attend(&mut self, now: Instant, need: Need) {
        match (self.phase, need) {
            (Phase::Asleep(_), Need::Radio) => self.wake(now),
            (Phase::Watching { .. } | Phase::Looking { .. }, Need::Radio) => {
                self.phase = Phase::Working;
                self.sense = false;
            }
            (Phase::Working, Need::Sleep) => self.watch(now, self.lpl.linger),
            _ => {}
        }
    }

    /// Takes what the radio reports; the channel is busy from `busy` on. Whether the receiver came on.
    pub(super) fn handle_radio(&mut self, now: Instant, event: &RadioEvent<'_>, busy: Dbm) -> bool {
        match (*event, self.phase) {
            (RadioEvent::Done { op: ops::WAKE }, Phase::Starting(_)) => {
                self.watch(now, self.lpl.look);
                return true;
            }
            (
                RadioEvent::Refused {
                    op: ops::WAKE,
                    why: Refusal::NoSuch,
                },
                Phase::Starting(_),
            ) => self.sleep(now),
            (
                RadioEvent::Sensed {
                    op: ops::LPL_SAMPLE,
                    power,
                    activity,
                },
                Phase::Looking { limit },
            ) => {
                if activity == Activity::Idle && power.0 < busy.0 {
                    self.sleep(now);
                } else if activity == Activity::Idle && self.loud + 1 < READINGS {
                    // A single reading of noise is loud now and then.
                    self.loud += 1;
                    self.sense = true;
                } else {
                    let look = now + self.lpl.linger;
                    // What is being received gets its time, whatever went before it.
                    let limit = match activity {
                        Activity::Receiving { since } => limit.max(since + self.lpl.patience),
                        Activity::Idle => limit,
                    };
                    self.phase = Phase::Watching { look, limit };
                }
            }
            // What was waited for; maybe it is answered, or another follows.
            (
                RadioEvent::Frame { .. } | RadioEvent::Corrupt { .. },
                Phase::Watching { .. } | Phase::Looking { .. },
            ) => {
                self.sense = false;
                self.watch(now, self.lpl.linger);
            }
            _ => {}
        }
        false
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self.phase {
            Phase::Asleep(until) | Phase::Starting(until) if until <= now => self.wake(now),
            Phase::Watching { limit, .. } | Phase::Looking { limit } if limit <= now => {
                self.sleep(now);
            }
            Phase::Watching { look, limit } if look <= now => {
                self.phase = Phase::Looking { limit };
                self.sense = true;
                self.loud = 0;
            }
            _ => {}
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.phase {
            Phase::Off | Phase::Working => None,
            Phase::Asleep(until) | Phase::Starting(until) => Some(until),
            Phase::Watching { look, limit } => Some(look.min(limit)),
            Phase::Looking { limit } => Some(limit),
        }
    }

    pub(super) fn poll_radio(&mut self, channel: Channel) -> Option<Request<'static>> {
        if core::mem::replace(&mut self.preamble, false) {
            let bytes = self.lpl.preamble_bytes;
            return Some(Request::new(ops::PREAMBLE, RadioOp::Preamble { bytes }));
        }
        match self.switch.take() {
            Some(Switch::On) => {
                return Some(Request::new(ops::WAKE, radio::listen(channel)));
            }
            Some(Switch::Off) => return Some(Request::new(ops::SLEEP, RadioOp::Sleep)),
            None => {}
        }
        core::mem::replace(&mut self.sense, false)
            .then(|| Request::new(ops::LPL_SAMPLE, RadioOp::Sense))
    }
}
