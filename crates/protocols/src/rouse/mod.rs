//! Idle nodes sleep, and a train of short frames wakes them.
//!
//! A node that rests listens for [`window`] once each [`PERIOD`], at a phase of its own: no clock is shared, and no base
//! station needed. Who has an order sends frames back to back, one each [`slot`], for [`LENGTH`]. A node that hears one
//! stays awake and sends the rest of the train with those who send already, in the same slots and the same bytes, so that
//! their frames arrive as one. For that a train is a row of floods of [`FLOOD`] slots: in each a node listens until it
//! hears a frame, takes its time, and sends in all slots after it. Alone its clock would be half a microsecond off after
//! two of them; and where nodes take the time of whomever they hear, they drift apart by 15 us in a second.
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
/// How long a train is that is to reach nodes up to five hops away, which it does in a second or so.
pub const LENGTH: Duration = Duration::from_secs(2);
/// How long a longer one is for each hop. In the mean it takes half a [`PERIOD`], and the more the farther away, as
/// fewer slots of a flood are left there.
pub const HOP: Duration = Duration::from_millis(350);
/// How long after what it had to do last a node goes to rest.
pub const AWAKE: Duration = Duration::from_secs(10);
/// What a sink takes off that: others may have done less than it knows.
pub const MARGIN: Duration = Duration::from_secs(1);
/// The most hops that a train is to go.
const FARTHEST: u8 = 60;
/// Slots of a flood.
pub const FLOOD: u16 = 24;
/// A node that has heard nothing in so many slots of a flood sends by its own clock: better so than not at all.
const PATIENCE: u16 = 10;

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
    let length = LENGTH.max(HOP * u64::from(hops.min(FARTHEST)));
    let slots = (length.as_nanos() / slot(timing).as_nanos()).min(u64::from(u16::MAX)) as u16;
    slots / FLOOD * FLOOD
}

/// What a train's next slot is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A frame with so many left after it is to be asked for.
    Send(u16),
    /// It is asked for, with so many left after it.
    Sending(u16),
    /// Nothing: the slot ends then.
    Listen(Instant),
}

/// Who sets the time of a train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// This node.
    Leads,
    /// Another.
    Follows,
}

/// A train on its way.
#[derive(Debug, Clone, Copy)]
struct Run {
    number: u8,
    part: Part,
    /// The SFD of the frame with so many left, by this node's clock.
    anchor: (Instant, u16),
    /// How many were left when a frame was heard last.
    heard: Option<u16>,
    next: Next,
}

impl Run {
    /// When the SFD of the frame with `left` left ends.
    fn sfd(&self, left: u16, slot: Duration) -> Instant {
        let (anchor, anchor_left) = self.anchor;
        anchor + slot * u64::from(anchor_left.saturating_sub(left))
    }
    /// How many slots before that of the frame with `left` left a frame was heard, in the same flood.
    fn since_heard(&self, left: u16) -> Option<u16> {
        let heard = self.heard.filter(|heard| heard / FLOOD == left / FLOOD);
        heard.and_then(|heard| heard.checked_sub(left))
    }
    /// Whether the slot of the frame with `left` left is for listening.
    fn listens(&self, left: u16) -> bool {
        let position = FLOOD - 1 - left % FLOOD;
        let waits = match self.part {
            Part::Leads => position == 1,
            Part::Follows => position < PATIENCE,
        };
        waits && self.since_heard(left).is_none()
    }
}

/// One node's part in a train.
#[derive(Debug)]
pub struct Train {
    slot: Duration,
    /// From asking for a frame to its SFD, at least.
    ahead: Duration,
    /// From a frame's SFD, late by a guard, until it is reported.
    told: Duration,
    /// The most slots that a train has.
    most: u16,
    channel: Channel,
    number: u8,
    run: Option<Run>,
    frame: [u8; BYTES],
}

impl Train {
    /// On `channel`.
    pub fn new(channel: Channel, timing: &BoardTiming) -> Self {
        Self {
            slot: slot(timing),
            ahead: timing.turnaround + SFD_OFFSET + BoardTiming::GUARD,
            told: air_time(BYTES).saturating_sub(SFD_OFFSET)
                + timing.event_latency
                + BoardTiming::GUARD,
            most: slots(FARTHEST, timing),
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
            anchor: (first, slots.saturating_sub(1)),
            heard: None,
            next: Next::Listen(first),
        });
        self.go_on(now);
    }
    /// Drops the train. What is pending at the radio is the caller's to take back.
    pub const fn stop(&mut self) {
        self.run = None;
    }
    /// A frame of a train whose SFD came at `sfd`: joins it, or takes its time. One that is to go on for longer than any
    /// does is none.
    pub fn take(&mut self, now: Instant, rouse: Rouse, sfd: Instant) {
        if rouse.left > self.most {
            return;
        }
        match &mut self.run {
            Some(run) if matches!(run.next, Next::Sending(_)) => return,
            Some(run) if run.number != rouse.train => return,
            Some(run) => {
                run.heard = Some(rouse.left);
                if run.part == Part::Follows {
                    run.anchor = (sfd, rouse.left);
                }
            }
            None => {
                self.run = Some(Run {
                    number: rouse.train,
                    part: Part::Follows,
                    anchor: (sfd, rouse.left),
                    heard: Some(rouse.left),
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
            RadioEvent::Refused { .. } => self.go_on_after_refusal(now),
            _ => {}
        }
    }
    /// Not the same slot again, however often it is refused at one instant: what was heard may lie about its place.
    fn go_on_after_refusal(&mut self, now: Instant) {
        match self.run.map(|run| run.next) {
            Some(Next::Sending(0)) => self.run = None,
            Some(Next::Sending(left)) => self.go_on_from(now + self.slot, left - 1),
            _ => self.go_on(now + self.slot),
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
            Next::Send(_) | Next::Sending(_) => None,
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
        // By hardware where a frame was heard: what software starts is up to a microsecond off on some boards.
        let when = match run.since_heard(left) {
            Some(slots) => {
                When::AfterRx((self.slot * u64::from(slots)).saturating_sub(air_time(BYTES)))
            }
            None => When::At(run.sfd(left, self.slot)),
        };
        let rouse = Rouse {
            train: run.number,
            left,
        };
        run.next = Next::Sending(left);
        rouse.emit(&mut Writer::new(&mut self.frame)).ok()?;
        let op = radio::stream(&self.frame, self.channel, when);
        Some(Request::new(OP, op))
    }

    /// Chooses what the next slot that can be met is for, or ends.
    fn go_on(&mut self, now: Instant) {
        self.go_on_from(now, u16::MAX);
    }
    /// The same, of slots with `most` left or fewer.
    fn go_on_from(&mut self, now: Instant, most: u16) {
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
        let left = (left as u16).min(most);
        run.next = match run.listens(left) {
            false => Next::Send(left),
            true => Next::Listen(run.sfd(left, slot) + self.told),
        };
    }
}

/// How long node `id` waits from going to rest to its first sample: a phase of its own.
pub fn phase(id: NodeId) -> Duration {
    let steps = (PERIOD.as_nanos() / 1_000_000) as u32;
    let step = Rng::new(u64::from(id.get())).below(steps);
    Duration::from_millis(1) * u64::from(step)
}
