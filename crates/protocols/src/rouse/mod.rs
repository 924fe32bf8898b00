//! Nodes that nobody asks anything of sleep, and a train of short frames rouses them.
//!
//! A node that rests listens for [`window`] once each [`PERIOD`], at a phase of its own: no clock is shared, and no base
//! station needed. Who has an order sends frames back to back, one each [`slot`], for [`LENGTH`]. A node that hears one
//! stays awake and sends the rest of the train with those who send already, in the same slots and the same bytes, so that
//! their frames arrive as one as in a flood. In one slot of sixteen it listens instead, and takes the time of what it hears:
//! alone its clock would be half a microsecond off after 13 ms.
//!
//! Owns: one node's part in a train, [`Train`]. Time base: the node's clock. Invariant: a train ends, whatever is heard.
//! The way of sampling is B-MAC's (Polastre, SenSys 2004), with frames that can be read in place of a long preamble.
//! Tests: `tests.rs`, `../mote/tests/idle.rs`.

#[cfg(test)]
mod tests;

use crate::radio;
use crate::rng::Rng;
use thalweg_engine::{BoardTiming, OpId, RadioEvent, Request, When};
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::phy::{air_time, SFD_OFFSET};
use thalweg_wire::rouse::{Rouse, BYTES};
use thalweg_wire::Writer;

/// The name of a train's operations.
pub const OP: OpId = OpId(2);

/// From one sample of a node that rests to its next.
pub const PERIOD: Duration = Duration::from_millis(300);
/// How long a train is. Over each hop it takes half a [`PERIOD`] in the mean, and all of it at most.
pub const LENGTH: Duration = Duration::from_secs(2);
/// How long after what it had to do last a node goes to rest.
pub const AWAKE: Duration = Duration::from_secs(10);
/// What a sink takes off that: others may have done less than it knows.
pub const MARGIN: Duration = Duration::from_secs(1);
/// One slot of so many is for listening.
const LISTENING: u32 = 12;

/// From one frame of a train to the next on boards of `timing`.
pub fn slot(timing: &BoardTiming) -> Duration {
    crate::glossy::slot_time(BYTES, timing)
}

/// For how long a sample listens: it holds a whole frame of a train, wherever it begins; with the time that the receiver
/// needs to be on.
pub fn window(timing: &BoardTiming) -> Duration {
    let on = timing.wake + timing.turnaround;
    on + slot(timing) + air_time(BYTES) + timing.event_latency + BoardTiming::GUARD
}

/// For how long of each second a node that rests has its receiver on, calibration included.
pub fn duty(timing: &BoardTiming) -> f64 {
    window(timing).saturating_sub(timing.wake).as_secs_f64() / PERIOD.as_secs_f64()
}

/// How many slots a train has that is to reach nodes so many hops away.
pub fn slots(hops: u8, timing: &BoardTiming) -> u16 {
    // Two seconds have room for ten hops with three quarters of a period each, which one train of a hundred needs.
    let length = LENGTH.max(PERIOD * u64::from(hops) * 3 / 4);
    (length.as_nanos() / slot(timing).as_nanos()).min(u64::from(u16::MAX)) as u16
}

/// What a train's next slot is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A frame with so many left after it is to be asked for.
    Send(u16),
    /// It is asked for.
    Sending,
    /// Nothing: the slot ends then.
    Listen(Instant),
}

/// Who sets the time of a train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// This node: it has the order, and sends in every slot.
    Leads,
    /// Another.
    Joins,
}

/// A train on its way.
#[derive(Debug, Clone, Copy)]
struct Run {
    number: u8,
    part: Part,
    /// The SFD of the frame with so many left.
    anchor: (Instant, u16),
    next: Next,
}

/// One node's part in a train.
#[derive(Debug)]
pub struct Train {
    id: NodeId,
    slot: Duration,
    /// From asking for a frame to its SFD, at least.
    ahead: Duration,
    /// From a frame's SFD, late by a guard, until it is told.
    told: Duration,
    channel: Channel,
    number: u8,
    run: Option<Run>,
    frame: [u8; BYTES],
}

impl Train {
    /// Of node `id`, on `channel`.
    pub fn new(id: NodeId, channel: Channel, timing: &BoardTiming) -> Self {
        Self {
            id,
            slot: slot(timing),
            ahead: timing.turnaround + SFD_OFFSET + BoardTiming::GUARD,
            told: air_time(BYTES) + timing.event_latency + BoardTiming::GUARD,
            channel,
            number: 0,
            run: None,
            frame: [0; BYTES],
        }
    }
    /// Whether one is on its way.
    pub const fn is_on(&self) -> bool {
        self.run.is_some()
    }
    /// Begins a train of so many slots, as soon as a radio is on that wakes in `wake`.
    pub fn begin(&mut self, now: Instant, wake: Duration, slots: u16) {
        self.number = self.number.wrapping_add(1);
        let first = now + wake + self.ahead;
        self.run = Some(Run {
            number: self.number,
            part: Part::Leads,
            anchor: (first, slots),
            next: Next::Listen(first),
        });
        self.go_on(now);
    }
    /// Drops the train. What is pending at the radio is the caller's to take back.
    pub const fn stop(&mut self) {
        self.run = None;
    }
    /// A frame of a train whose SFD came at `sfd`: joins it, or takes its time.
    pub fn take(&mut self, now: Instant, rouse: Rouse, sfd: Instant) {
        let anchor = (sfd, rouse.left);
        match &mut self.run {
            Some(run) if run.part == Part::Leads || run.number != rouse.train => return,
            Some(Run {
                next: Next::Sending,
                ..
            }) => return,
            Some(run) => run.anchor = anchor,
            None => {
                self.run = Some(Run {
                    number: rouse.train,
                    part: Part::Joins,
                    anchor,
                    next: Next::Listen(sfd),
                });
            }
        }
        self.go_on(now);
    }
    /// An answer of the radio to [`OP`].
    pub fn handle_radio(&mut self, now: Instant, event: &RadioEvent<'_>) {
        match event {
            RadioEvent::Sent { .. } => self.go_on(now),
            // Not the same slot again.
            RadioEvent::Refused { .. } => self.go_on(now + self.slot),
            _ => {}
        }
    }
    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.go_on(now);
        }
    }
    /// When a slot for listening is over.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.run?.next {
            Next::Listen(until) => Some(until),
            Next::Send(_) | Next::Sending => None,
        }
    }
    /// Whether a frame is to be asked for.
    pub fn wants_radio(&self) -> bool {
        matches!(
            self.run,
            Some(Run {
                next: Next::Send(_),
                ..
            })
        )
    }
    /// The next frame.
    pub fn poll_radio(&mut self) -> Option<Request<'_>> {
        let run = self.run.as_mut()?;
        let Next::Send(left) = run.next else {
            return None;
        };
        let sfd = sfd_of(run, left, self.slot);
        let rouse = Rouse {
            train: run.number,
            left,
        };
        run.next = Next::Sending;
        rouse.emit(&mut Writer::new(&mut self.frame)).ok()?;
        let op = radio::stream(&self.frame, self.channel, When::At(sfd));
        Some(Request::new(OP, op))
    }

    /// Chooses what the next slot that can be met is for, or ends.
    fn go_on(&mut self, now: Instant) {
        let (slot, ahead) = (self.slot, self.ahead);
        let Some(run) = &mut self.run else { return };
        let (anchor, left) = run.anchor;
        let passed = (now + ahead).since(anchor).as_nanos();
        let passed = passed.div_ceil(slot.as_nanos());
        let Some(left) = u64::from(left).checked_sub(passed) else {
            self.run = None;
            return;
        };
        // At most what it was.
        let left = left as u16;
        let listens = run.part == Part::Joins && listens(self.id, left);
        run.next = match listens {
            false => Next::Send(left),
            true => Next::Listen(sfd_of(run, left, slot) + self.told),
        };
    }
}

/// When the SFD of the frame with `left` left ends.
fn sfd_of(run: &Run, left: u16, slot: Duration) -> Instant {
    let (anchor, anchor_left) = run.anchor;
    anchor + slot * u64::from(anchor_left.saturating_sub(left))
}

/// Whether node `id` listens in the slot of the frame with `left` left: others listen in other slots.
fn listens(id: NodeId, left: u16) -> bool {
    let first = Rng::new(u64::from(id.get())).below(LISTENING);
    (u32::from(left) + first) % LISTENING == 0
}

/// How long node `id` waits from going to rest to its first sample: a phase of its own.
pub fn phase(id: NodeId) -> Duration {
    let steps = (PERIOD.as_nanos() / 1_000_000) as u32;
    let step = Rng::new(u64::from(id.get())).below(steps);
    Duration::from_millis(1) * u64::from(step)
}
