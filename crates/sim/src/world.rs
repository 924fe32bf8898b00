//! The world below the engines: radios, their event queue and the air.
//!
//! Owns time, the queue, timers and notices to engines; the rules of what happens are in `rules/`. Not
//! generic over engines. Time base: [`SimTime`]; calls into the air come in time order. Notices of prompt
//! boards bypass the queue: they are delivered right after the present event. Invariant: each notice is
//! delivered once. Tests: `tests/`.

mod events;

use crate::capture::{Capture, CaptureError};
use crate::fault::{Fault, Power};
use crate::hooks::{Activity, Span, SpanHook, Stats, TraceHook, Watch};
use crate::mcu::Mcu;
use crate::queue::{Queue, Rank, Slab};
use crate::radio::{Filter, Mode, Radio};
use std::collections::VecDeque;
use thalweg_engine::{OpId, RadioEvent, RadioId, Refusal};
use thalweg_medium::{Air, Cause, Locked, Logarithm, Reception};
use thalweg_units::{Channel, Instant, NodeId, SimTime};

pub(crate) use events::{Event, Frame, Notice};

/// When a node wants its time-out, and the events in the queue that stand for it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Timer {
    pub(crate) local: Option<Instant>,
    wanted: Option<SimTime>,
    armed: Option<SimTime>,
    /// A later event, left behind by a sooner one.
    overtaken: Option<SimTime>,
}

/// What comes next for the engines.
pub(crate) enum Next {
    /// A notice of radio `radio` to its node: see [`World::deliver`].
    Notify { radio: usize, notice: u32 },
    /// Node `n`'s time-out.
    Timeout { node: usize },
    /// Node `n` has booted and wants an engine.
    Booted { node: usize },
    /// A frame has ended; [`World::release`] it when it was looked at.
    Aired { frame: u32, lost: Option<Cause> },
    /// Nothing until the deadline.
    Beyond,
    /// Nothing, ever.
    Idle,
}

/// An engine asks for things at one instant without end.
pub(crate) struct Stuck {
    pub(crate) at: SimTime,
}

pub(crate) struct World<A> {
    pub(crate) now: SimTime,
    pub(crate) stats: Stats,
    pub(crate) capture: Option<Box<dyn Capture>>,
    pub(crate) trace: Option<TraceHook>,
    pub(crate) watch: Option<Watch>,
    pub(crate) spans: Option<SpanHook>,
    pub(crate) failed: Option<CaptureError>,
    pub(crate) air: A,
    pub(crate) queue: Queue<Event>,
    /// The first radios of all nodes, then all second ones; so are the air's ears.
    pub(crate) radios: Vec<Radio>,
    /// By radio.
    pub(crate) filters: Vec<Filter>,
    pub(crate) mcus: Vec<Mcu>,
    pub(crate) timers: Vec<Timer>,
    /// By node.
    pub(crate) powers: Vec<Power>,
    /// How often each node has started, beside the first time.
    pub(crate) starts: Vec<u32>,
    /// What all random streams are derived from.
    pub(crate) seed: u64,
    /// Node by address, of those whose engines have one.
    pub(crate) by_address: Vec<Option<u32>>,
    pub(crate) frames: Slab<Frame>,
    /// Of these, what has not ended, where ears lock on frames before their end.
    pub(crate) on_air: Vec<u32>,
    pub(crate) notices: Slab<Notice>,
    /// Notices of prompt boards, by radio, oldest first.
    prompt: VecDeque<(u32, u32)>,
    /// Notices to dead nodes, by radio.
    held: Vec<(u32, u32)>,
    /// Faults to come, and those that came.
    pub(crate) planned: Vec<(usize, Fault)>,
    pub(crate) logarithm: Logarithm,
    pub(crate) locked: Vec<Locked>,
    pub(crate) received: Vec<Reception>,
    /// Events since time last moved.
    standing: u64,
}

impl<A: Air> World<A> {
    /// `radios` holds the first radios of all `nodes` nodes, then all second ones.
    pub(crate) fn new(air: A, radios: Vec<Radio>, nodes: usize, seed: u64) -> Self {
        Self {
            now: SimTime::ZERO,
            stats: Stats::default(),
            capture: None,
            trace: None,
            watch: None,
            spans: None,
            failed: None,
            air,
            queue: Queue::new(),
            filters: vec![Filter::default(); radios.len()],
            radios,
            mcus: (0..nodes).map(|_| Mcu::default()).collect(),
            timers: vec![Timer::default(); nodes],
            powers: vec![Power::On; nodes],
            starts: vec![0; nodes],
            seed,
            by_address: Vec::new(),
            frames: Slab::new(),
            on_air: Vec::new(),
            notices: Slab::new(),
            prompt: VecDeque::new(),
            held: Vec::new(),
            planned: Vec::new(),
            logarithm: Logarithm::default(),
            locked: Vec::new(),
            received: Vec::new(),
            standing: 0,
        }
    }

    #[cfg(test)]
    pub(crate) fn is_clean(&self) -> bool {
        self.frames.len() == 0 && self.notices.len() == 0 && self.held.is_empty()
    }
    /// Node `n` is reached by `address`.
    pub(crate) fn name(&mut self, n: usize, address: NodeId) {
        let place = usize::from(address.get());
        if self.by_address.len() <= place {
            self.by_address.resize(place + 1, None);
        }
        self.by_address[place] = Some(n as u32);
    }
    /// The node that radio `r` belongs to. A node's first radio has the node's own number.
    #[inline]
    pub(crate) fn node_of(&self, r: usize) -> usize {
        let nodes = self.mcus.len();
        if r < nodes {
            r
        } else {
            r % nodes.max(1)
        }
    }
    /// Which of its node's radios radio `r` is.
    #[inline]
    pub(crate) fn which(&self, r: usize) -> RadioId {
        match r < self.mcus.len() {
            true => RadioId(0),
            false => RadioId((r / self.mcus.len().max(1)) as u8),
        }
    }
    /// The radios of node `n`, first one first.
    pub(crate) fn radios_of(&self, n: usize) -> impl Iterator<Item = usize> {
        (n..self.radios.len()).step_by(self.mcus.len().max(1))
    }
    pub(crate) fn local(&self, n: usize) -> Instant {
        self.radios[n].read(self.now)
    }
    /// Lets things happen until one of them is for an engine, or until `deadline`.
    pub(crate) fn next(&mut self, deadline: SimTime) -> Result<Next, Stuck> {
        loop {
            if let Some((radio, notice)) = self.next_prompt()? {
                return Ok(Next::Notify { radio, notice });
            }
            let Some((at, what)) = self.queue.peek() else {
                return Ok(Next::Idle);
            };
            if let Event::Timer { node } = *what {
                if self.skip_timer(node as usize, at) {
                    continue;
                }
            }
            if at > deadline {
                return Ok(Next::Beyond);
            }
            self.stats.events += 1;
            self.standing = if at == self.now { self.standing + 1 } else { 0 };
            self.check_standing(at)?;
            self.now = at;
            let Some((_, what)) = self.queue.pop() else {
                continue;
            };
            if let Some(next) = self.happen(what) {
                return Ok(next);
            }
            if self.failed.is_some() {
                return Ok(Next::Beyond);
            }
        }
    }

    /// Carries out `what`; returns what of it is for an engine or for an observer of frames.
    #[inline]
    fn happen(&mut self, what: Event) -> Option<Next> {
        match what {
            Event::Wake { node, token } => self.wake(node as usize, token),
            Event::Strobe { node, token } => self.strobe(node as usize, token),
            Event::Tune { node, tuning } => self.tune(node as usize, tuning),
            Event::AirStart { node, token } => self.air_start(node as usize, token),
            Event::AirEnd { frame } => {
                let lost = self.air_end(frame);
                return Some(Next::Aired { frame, lost });
            }
            Event::Head {
                node,
                frame,
                tuning,
            } => self.head(node as usize, frame, tuning),
            Event::Assess { node, op } => self.sample(node as usize, op),
            Event::Work { node, begun } => self.end_work(node as usize, begun),
            Event::Undeafen { node } => self.undeafen(node as usize),
            Event::Background { node } => self.background_due(node as usize),
            Event::Resume { node } => self.begin_work(node as usize),
            Event::Strike { planned } => self.strike(planned as usize),
            Event::Boot { node } => {
                let node = node as usize;
                if self.boot(node) {
                    return Some(Next::Booted { node });
                }
            }
            Event::Notify { node, notice } => {
                let radio = node as usize;
                return Some(Next::Notify { radio, notice });
            }
            Event::Timer { node } => {
                let node = node as usize;
                if self.time_out(node) {
                    return Some(Next::Timeout { node });
                }
            }
        }
        None
    }

    /// Takes the event of node `n`'s timer off the queue where it is not the one due at `at`; whether it did.
    fn skip_timer(&mut self, n: usize, at: SimTime) -> bool {
        if self.timers[n].is_due(at) {
            return false;
        }
        self.queue.pop();
        if self.timers[n].passed(at) {
            self.arm(n);
        }
        true
    }

    /// Node `n`'s time-out is due; whether its engine gets it.
    fn time_out(&mut self, n: usize) -> bool {
        self.timers[n].armed = None;
        if self.radios[n].dead {
            return false;
        }
        self.timers[n].wanted = None;
        self.timers[n].local = None;
        self.pass_timeout(n);
        true
    }

    /// The next notice of a prompt board.
    #[inline]
    pub(crate) fn next_prompt(&mut self) -> Result<Option<(usize, u32)>, Stuck> {
        let Some((radio, notice)) = self.prompt.pop_front() else {
            return Ok(None);
        };
        self.standing += 1;
        self.check_standing(self.now)?;
        Ok(Some((radio as usize, notice)))
    }

    fn check_standing(&self, at: SimTime) -> Result<(), Stuck> {
        let limit = 65_536 + 1_024 * self.radios.len() as u64;
        match self.standing > limit {
            true => Err(Stuck { at }),
            false => Ok(()),
        }
    }

    /// Node `n` wants its next time-out at `local`.
    pub(crate) fn set_timeout(&mut self, n: usize, local: Option<Instant>) {
        let timer = &mut self.timers[n];
        if timer.local == local {
            return;
        }
        timer.local = local;
        timer.wanted = local.map(|l| self.radios[n].clock.when(l).max(self.now));
        self.arm(n);
    }
    /// The time-out that came due while node `n` was dead.
    pub(crate) fn renew_timeout(&mut self, n: usize) {
        let local = self.timers[n].local.take();
        self.set_timeout(n, local);
    }

    /// Puts the wanted time-out into the queue, unless a sooner event is there, which will do it, so
    /// that an engine that puts off its time-out with every frame does not fill the queue.
    fn arm(&mut self, n: usize) {
        if let Some(wanted) = self.timers[n].arm() {
            let what = Event::Timer { node: n as u32 };
            self.queue.push(wanted, Rank::Timeout, what);
        }
    }

    /// Sends `notice` to the engine of radio `n`'s node at `at`. Inlined everywhere, so that it is made where
    /// it is kept: bytes that were written one by one are slow to copy at once.
    #[inline(always)]
    pub(crate) fn notify(&mut self, n: usize, at: SimTime, notice: Notice) {
        let notice = self.notices.insert(notice);
        self.notify_kept(n, at, notice);
    }
    /// The same of a notice that is kept.
    #[inline]
    fn notify_kept(&mut self, n: usize, at: SimTime, notice: u32) {
        let node = n as u32;
        if at <= self.now && self.radios[n].is_prompt() {
            return self.prompt.push_back((node, notice));
        }
        let what = Event::Notify { node, notice };
        self.queue.push(at, Rank::Notify, what);
    }
    pub(crate) fn refuse(&mut self, n: usize, id: OpId, why: Refusal) {
        self.notify(n, self.now, Notice::Refused(id, why));
    }
    pub(crate) fn done(&mut self, n: usize, at: SimTime, id: OpId) {
        self.notify(n, at, Notice::Done(id));
    }
    /// Moves held and prompt notices of radios for which `is_own` holds into `undelivered`.
    pub(crate) fn take_undelivered(
        &mut self,
        is_own: impl Fn(u32) -> bool,
        undelivered: &mut Vec<u32>,
    ) {
        let mut keep = |&(radio, notice): &(u32, u32)| {
            let own = is_own(radio);
            if own {
                undelivered.push(notice);
            }
            !own
        };
        self.held.retain(&mut keep);
        self.prompt.retain(&mut keep);
    }
    /// Sends the notices that were held for node `n`.
    pub(crate) fn notify_held(&mut self, n: usize) {
        for (radio, notice) in std::mem::take(&mut self.held) {
            if self.node_of(radio as usize) == n {
                self.notify_kept(radio as usize, self.now, notice);
            } else {
                self.held.push((radio, notice));
            }
        }
    }

    /// Hands `notice` of radio `r` to `handle`; not where the node is dead, or the head of a frame was
    /// aborted meanwhile.
    #[inline]
    pub(crate) fn deliver<R>(
        &mut self,
        r: usize,
        notice: u32,
        handle: impl FnOnce(RadioEvent<'_>) -> R,
    ) -> Option<R> {
        if self.radios[r].dead {
            self.held.push((r as u32, notice));
            return None;
        }
        let (node, now) = (self.node_of(r), self.now);
        // Read field by field where it is kept, not moved.
        let kept = self.notices.get(notice)?;
        let mut of = None;
        let event = match *kept {
            Notice::Done(op) => Some(RadioEvent::Done { op }),
            Notice::Sent(op, sfd) => Some(RadioEvent::Sent { op, sfd }),
            Notice::Refused(op, why) => Some(RadioEvent::Refused { op, why }),
            Notice::Corrupt { sfd } => Some(RadioEvent::Corrupt { sfd }),
            Notice::On(op) => Some(turned_on(self.radios[r].mode, op)),
            Notice::Sense(op) => Some(self.sense(r, op)),
            Notice::Found(op, power, activity) => Some(RadioEvent::Sensed {
                op,
                power,
                activity,
            }),
            Notice::Head {
                frame,
                bytes,
                sfd,
                tuning,
            } => {
                of = Some(frame);
                let kept = self.frames.get(frame);
                let kept = kept.filter(|_| tuning == self.radios[r].tuning);
                kept.map(|kept| RadioEvent::Head {
                    bytes: &kept.mpdu[..usize::from(bytes)],
                    sfd,
                })
            }
            Notice::Frame {
                frame,
                bytes,
                sfd,
                end,
                rssi,
                lqi,
            } => {
                of = Some(frame);
                self.frames.get(frame).map(|kept| RadioEvent::Frame {
                    mpdu: &kept.mpdu[..usize::from(bytes)],
                    sfd,
                    end,
                    rssi,
                    lqi,
                })
            }
        };
        let handled = event.map(|event| {
            self.radios[node].handles(now);
            handle(event)
        });
        self.notices.free(notice);
        if let Some(frame) = of {
            self.release(frame);
        }
        handled
    }
    /// One notice of `frame` fewer is outstanding.
    #[inline]
    pub(crate) fn release(&mut self, frame: u32) {
        let Some(kept) = self.frames.get_mut(frame) else {
            return;
        };
        kept.users -= 1;
        if kept.users == 0 {
            self.frames.free(frame);
        }
    }

    pub(crate) fn span(
        &mut self,
        r: usize,
        from: SimTime,
        until: SimTime,
        activity: Activity,
        channel: Option<Channel>,
        mpdu: Option<&[u8]>,
    ) {
        if self.spans.is_none() {
            return;
        }
        let (radio, node) = (self.which(r), self.node_of(r));
        if let Some(hook) = &mut self.spans {
            hook(&Span {
                node,
                radio,
                from,
                until,
                activity,
                channel,
                mpdu,
            });
        }
    }
}

/// The answer to an operation that turned the receiver on, where the radio has `mode` by now.
const fn turned_on(mode: Mode, op: OpId) -> RadioEvent<'static> {
    match mode {
        Mode::Sleep => RadioEvent::Refused {
            op,
            why: Refusal::Superseded,
        },
        Mode::Listen { .. } => RadioEvent::Done { op },
    }
}

impl Timer {
    fn is_due(&self, at: SimTime) -> bool {
        self.armed == Some(at) && self.wanted == Some(at)
    }
    /// The event of `at` is gone from the queue and was not due; whether another must take its place.
    fn passed(&mut self, at: SimTime) -> bool {
        if self.armed == Some(at) {
            self.armed = None;
            return true;
        }
        self.overtaken = self.overtaken.filter(|later| *later != at);
        false
    }
    /// When an event has to be put into the queue; none where the one that is there will do.
    fn arm(&mut self) -> Option<SimTime> {
        let wanted = self.wanted?;
        if self.armed.is_some_and(|armed| armed <= wanted) {
            return None;
        }
        if self.overtaken == Some(wanted) {
            std::mem::swap(&mut self.armed, &mut self.overtaken);
            return None;
        }
        self.overtaken = self.armed.or(self.overtaken);
        self.armed = Some(wanted);
        Some(wanted)
    }
}
