//! A small ideal network for tests of engines: perfect clocks, a link either hears or does not,
//! frames that overlap on a channel collide unless they are the same frame within 0.5 us.
//!
//! Deterministic: events of one instant happen in the order they were caused. It answers
//! [`crate::RadioOp`] as far as [`CAPS`] goes, at the costs of a [`BoardTiming`], and insists that
//! engines ask for nothing that they did not name. It does not model power, fading or jitter;
//! `thalweg-sim` does. Only radio 0 and slot 0 exist. Tests: `harness_tests.rs`.

use crate::{
    Abilities, Ability, BoardTiming, Caps, Cca, Condition, Driver, Engine, OpId, Port, RadioEvent,
    RadioId, RadioOp, Refusal, Request, Undrained, When,
};
use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec::Vec;
use thalweg_units::{Channel, Dbm, Duration, Instant};
use thalweg_wire::{phy, FrameBuf};

mod air;
mod radio;
pub use air::{Air, Fate, SentFrame};

use radio::{Collision, Conditional, Lock, Mode, Pending, Radio, What};

/// Same-frame transmissions that begin this close together are one frame to a receiver.
const SAME_FRAME: Duration = Duration::from_nanos(500);

/// What the radios of the test network do: none acknowledges or senses, and there is one radio.
pub const CAPS: Caps = Caps {
    abilities: Abilities::ALL.without(Abilities::of(&[
        Ability::Answer,
        Ability::Acknowledge,
        Ability::Sense,
        Ability::Hear,
        Ability::Preamble,
    ])),
    ..Caps::IDEAL
};

type Links = Box<dyn FnMut(Air<'_>) -> Fate>;

/// The network.
pub struct Net<E: Engine> {
    nodes: Vec<Driver<E>>,
    ground: Ground,
    events: Vec<(Instant, usize, E::Event)>,
}

/// All that is below the engines.
struct Ground {
    radios: Vec<Radio>,
    timing: BoardTiming,
    links: Links,
    queue: BTreeMap<(Instant, u64), What>,
    sequence: u64,
    now: Instant,
    sent: Vec<SentFrame>,
}

/// Where the operations and events of `node` go.
struct Door<'a, V> {
    ground: &'a mut Ground,
    events: &'a mut Vec<(Instant, usize, V)>,
    node: usize,
}

impl<V> Port<V> for Door<'_, V> {
    fn submit(&mut self, request: Request<'_>) {
        let Request { radio, id, op } = request;
        let named = self.ground.radios[self.node].named;
        assert!(
            named.has(op.needs()),
            "node {} asks for what it did not name: {op:?}",
            self.node
        );
        if radio != RadioId(0) || !CAPS.allows(&op) {
            let why = Refusal::NoSuch;
            return self.ground.refuse(self.node, id, why);
        }
        self.ground.submit(self.node, id, op);
    }
    fn emit(&mut self, event: V) {
        self.events.push((self.ground.now, self.node, event));
    }
}

impl<E: Engine> Net<E> {
    /// A network of `engines` on boards of `timing`, whose links are what `links` says.
    ///
    /// # Panics
    /// Where an engine wants what [`CAPS`] has not, or later does without end what it does.
    pub fn new(
        engines: Vec<E>,
        timing: BoardTiming,
        links: impl FnMut(Air<'_>) -> Fate + 'static,
    ) -> Self {
        let radio = |engine: &E| Radio {
            mode: Mode::Sleep,
            pending: None,
            sending_until: None,
            awake_from: None,
            slot: None,
            last_rx_end: None,
            lock: None,
            conditional: None,
            readout: phy::MAX_MPDU,
            timeout: None,
            named: engine
                .wants(RadioId(0))
                .map_or(Abilities::NONE, |wants| wants.abilities),
        };
        let ground = Ground {
            radios: engines.iter().map(radio).collect(),
            timing,
            links: Box::new(links),
            queue: BTreeMap::new(),
            sequence: 0,
            now: Instant::ZERO,
            sent: Vec::new(),
        };
        let drivers = engines
            .into_iter()
            .map(|engine| Driver::new(engine, &[CAPS]).unwrap_or_else(|misfit| panic!("{misfit}")));
        let mut net = Self {
            nodes: drivers.collect(),
            ground,
            events: Vec::new(),
        };
        (0..net.nodes.len()).for_each(|n| net.call(n, |driver, _| driver.start()));
        net
    }

    /// The present instant, the same on every node.
    pub fn now(&self) -> Instant {
        self.ground.now
    }
    /// The engine of node `n`.
    pub fn engine(&self, n: usize) -> &E {
        self.nodes[n].engine()
    }
    /// The same, to change what is behind it: its store.
    pub fn engine_mut(&mut self, n: usize) -> &mut E {
        self.nodes[n].engine_mut()
    }
    /// All frames sent so far.
    pub fn sent(&self) -> &[SentFrame] {
        &self.ground.sent
    }
    /// Takes the events given so far: when, by which node, what.
    pub fn take_events(&mut self) -> Vec<(Instant, usize, E::Event)> {
        std::mem::take(&mut self.events)
    }
    /// Gives an order to node `n`.
    pub fn command(&mut self, n: usize, command: E::Command) {
        self.call(n, |driver, now| driver.command(now, command));
    }
    /// Tells node `n` something that its radio did not report: for tests with nonsense.
    pub fn inject(&mut self, n: usize, event: RadioEvent<'_>) {
        self.call(n, |driver, now| driver.radio(now, RadioId(0), event));
    }
    /// Runs until `deadline`.
    pub fn run_until(&mut self, deadline: Instant) {
        while self.step(deadline) {}
        self.ground.now = deadline;
    }
    /// Runs for `time`.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now() + time);
    }

    /// Does the next thing before `deadline`; `false` where there is none.
    fn step(&mut self, deadline: Instant) -> bool {
        let ground = &mut self.ground;
        let timers = (0..).zip(&ground.radios);
        let timer = timers
            .filter_map(|(n, radio)| radio.timeout.map(|t| (t.max(ground.now), n)))
            .min();
        let queued = ground.queue.keys().next().copied();
        match (queued, timer) {
            (Some((at, seq)), timer) if timer.is_none_or(|(t, _)| at <= t) => {
                if at > deadline {
                    return false;
                }
                ground.now = at;
                if let Some(what) = ground.queue.remove(&(at, seq)) {
                    self.happen(what);
                }
            }
            (_, Some((at, n))) => {
                if at > deadline {
                    return false;
                }
                ground.now = at;
                self.call(n, |driver, now| driver.timer(now));
            }
            _ => return false,
        }
        true
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Answer { node, answer } => self.inject(node, answer),
            What::On { node, op } => {
                let event = match self.ground.radios[node].mode {
                    Mode::Listen { .. } => RadioEvent::Done { op },
                    Mode::Sleep => RadioEvent::Refused {
                        op,
                        why: Refusal::Superseded,
                    },
                };
                self.inject(node, event);
            }
            What::TxStart { node, start } => self.ground.start_sending(node, start),
            What::TxEnd { air } => self.end_sending(air),
            What::Head { node, air } => self.head(node, air),
        }
    }

    fn call(
        &mut self,
        node: usize,
        what: impl FnOnce(&mut Driver<E>, Instant) -> Undrained<'_, E>,
    ) {
        let Self {
            nodes,
            ground,
            events,
        } = self;
        let undrained = what(&mut nodes[node], ground.now);
        let drained = undrained.drain(&mut Door {
            ground,
            events,
            node,
        });
        match drained {
            Ok(timeout) => self.ground.radios[node].timeout = timeout,
            Err(livelock) => panic!("node {node}: {livelock}"),
        }
    }

    fn head(&mut self, n: usize, air: usize) {
        let radio = &self.ground.radios[n];
        let Mode::Listen { head_bytes, .. } = radio.mode else {
            return;
        };
        let locked = radio.lock.as_ref();
        if locked.is_none_or(|l| l.air != air || l.collided.is_some()) {
            return;
        }
        let frame = self.ground.sent[air].clone();
        let bytes = &frame.mpdu[..usize::from(head_bytes).min(frame.mpdu.len())];
        let sfd = frame.start + phy::SFD_OFFSET;
        self.inject(n, RadioEvent::Head { bytes, sfd });
    }

    fn end_sending(&mut self, air: usize) {
        let frame = self.ground.sent[air].clone();
        let sfd = frame.start + phy::SFD_OFFSET;
        self.ground.radios[frame.from].sending_until = None;
        self.ground.power_down(frame.from);
        for n in 0..self.nodes.len() {
            let radio = &mut self.ground.radios[n];
            let Some(lock) = radio.lock.take_if(|lock| lock.air == air) else {
                continue;
            };
            if lock.fate != Fate::Heard {
                self.inject(n, RadioEvent::Corrupt { sfd });
                continue;
            }
            let end = frame.start + phy::air_time(frame.mpdu.len());
            radio.last_rx_end = Some(end);
            let bytes = radio.readout.min(frame.mpdu.len());
            self.ground.meet(n, &frame.mpdu);
            let (mpdu, rssi, lqi) = (&frame.mpdu[..bytes], Dbm(-60.0), 107);
            self.inject(
                n,
                RadioEvent::Frame {
                    mpdu,
                    sfd,
                    end,
                    rssi,
                    lqi,
                },
            );
        }
    }
}

impl Ground {
    fn at(&mut self, at: Instant, what: What) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), what);
    }
    fn answer(&mut self, node: usize, at: Instant, answer: RadioEvent<'static>) {
        self.at(at, What::Answer { node, answer });
    }
    fn done(&mut self, node: usize, at: Instant, op: OpId) {
        self.answer(node, at, RadioEvent::Done { op });
    }
    fn refuse(&mut self, node: usize, op: OpId, why: Refusal) {
        self.answer(node, self.now, RadioEvent::Refused { op, why });
    }

    fn submit(&mut self, n: usize, id: OpId, op: RadioOp<'_>) {
        let now = self.now;
        match op {
            RadioOp::Load { mpdu, .. } => self.load(n, id, mpdu),
            RadioOp::Stream {
                mpdu,
                channel,
                when,
                cca,
            } => match frame(mpdu) {
                Some(frame) => self.send(n, id, frame, channel, when, cca),
                None => self.refuse(n, id, Refusal::BadLength),
            },
            RadioOp::Transmit {
                channel, when, cca, ..
            } => match self.radios[n].slot {
                Some(frame) => self.send(n, id, frame, channel, when, cca),
                None => self.refuse(n, id, Refusal::Empty),
            },
            RadioOp::Listen {
                channel,
                head_bytes,
            } => self.listen(n, id, channel, head_bytes),
            RadioOp::Conditional { condition, .. }
                if condition.bytes.len() > Condition::MAX_BYTES =>
            {
                self.refuse(n, id, Refusal::BadLength);
            }
            RadioOp::Conditional {
                condition,
                channel,
                cca,
                ..
            } => self.hold(n, id, condition, channel, cca),
            RadioOp::Readout { bytes } => {
                self.radios[n].readout = usize::from(bytes);
                self.done(n, now, id);
            }
            RadioOp::Sleep => self.sleep(n, id),
            RadioOp::Cancel => {
                self.supersede_pending(n);
                self.supersede_conditional(n);
                self.done(n, now, id);
            }
            RadioOp::Sense
            | RadioOp::Assess(_)
            | RadioOp::Acknowledge { .. }
            | RadioOp::Hear(_)
            | RadioOp::Preamble { .. }
            | RadioOp::Answer(_) => self.refuse(n, id, Refusal::NoSuch),
        }
    }

    fn load(&mut self, n: usize, id: OpId, mpdu: &[u8]) {
        let Some(frame) = frame(mpdu) else {
            return self.refuse(n, id, Refusal::BadLength);
        };
        let cost = self.timing.load_base + self.timing.load_byte * mpdu.len() as u64;
        self.radios[n].slot = Some(frame);
        self.done(n, self.now + cost, id);
    }

    fn sleep(&mut self, n: usize, id: OpId) {
        self.radios[n].lock = None;
        self.supersede_pending(n);
        self.supersede_conditional(n);
        self.radios[n].mode = Mode::Sleep;
        self.power_down(n);
        self.done(n, self.now, id);
    }

    fn hold(&mut self, n: usize, id: OpId, until: Condition<'_>, channel: Channel, cca: Cca) {
        let Some(mpdu) = self.radios[n].slot else {
            return self.refuse(n, id, Refusal::Empty);
        };
        self.supersede_conditional(n);
        self.radios[n].conditional = Some(Conditional {
            op: id,
            offset: until.offset,
            bytes: until.bytes.to_vec(),
            channel,
            cca,
            mpdu,
        });
    }

    fn listen(&mut self, n: usize, id: OpId, channel: Channel, head_bytes: u8) {
        let now = self.now;
        let wake = now + self.timing.wake;
        let radio = &mut self.radios[n];
        radio.lock = None;
        let busy = radio.sending_until;
        let awake = *radio.awake_from.get_or_insert(wake);
        let since = busy.unwrap_or(now).max(awake) + self.timing.turnaround;
        radio.mode = Mode::Listen {
            channel,
            head_bytes,
            since,
        };
        match busy {
            Some(_) => self.done(n, now, id),
            None => self.at(since, What::On { node: n, op: id }),
        }
    }

    /// A sleeping radio that does not send loses its oscillator.
    fn power_down(&mut self, n: usize) {
        let radio = &mut self.radios[n];
        if radio.mode == Mode::Sleep && radio.sending_until.is_none() {
            radio.awake_from = None;
        }
    }

    fn supersede_pending(&mut self, n: usize) {
        if let Some(p) = self.radios[n].pending.take() {
            self.refuse(n, p.op, Refusal::Superseded);
        }
    }

    fn supersede_conditional(&mut self, n: usize) {
        if let Some(c) = self.radios[n].conditional.take() {
            self.refuse(n, c.op, Refusal::Superseded);
        }
    }

    /// The conditional transmission of node `n` goes out if `mpdu` meets its condition.
    fn meet(&mut self, n: usize, mpdu: &[u8]) {
        let met = self.radios[n].conditional.take_if(|c| {
            let (offset, bytes) = (c.offset, &c.bytes[..]);
            Condition { offset, bytes }.holds(mpdu)
        });
        if let Some(c) = met {
            self.send(n, c.op, c.mpdu, c.channel, When::Now, c.cca);
        }
    }

    fn send(&mut self, n: usize, op: OpId, mpdu: FrameBuf, channel: Channel, when: When, cca: Cca) {
        let now = self.now;
        let radio = &self.radios[n];
        let free = radio.sending_until.unwrap_or(now);
        let awake = radio.awake_from.unwrap_or(now + self.timing.wake);
        let ready = now.max(free).max(awake) + self.timing.turnaround;
        let start = match when {
            When::Now => ready,
            When::At(sfd) => sfd.saturating_sub(phy::SFD_OFFSET),
            When::AfterRx(gap) => match radio.last_rx_end {
                Some(end) => end + gap,
                None => return self.refuse(n, op, Refusal::Empty),
            },
        };
        if start < ready {
            let by = ready.since(start);
            return self.refuse(n, op, Refusal::Late { by });
        }
        let busy = self.queue.values().any(|w| match w {
            What::TxEnd { air } => self.sent[*air].channel == channel,
            _ => false,
        });
        if cca == Cca::Require && busy {
            return self.refuse(n, op, Refusal::ChannelBusy);
        }
        self.supersede_pending(n);
        self.radios[n].slot = Some(mpdu);
        self.radios[n].pending = Some(Pending {
            op,
            start,
            channel,
            mpdu,
        });
        self.at(start, What::TxStart { node: n, start });
    }

    fn start_sending(&mut self, n: usize, start: Instant) {
        let radio = &mut self.radios[n];
        let Some(p) = radio.pending.take_if(|p| p.start == start) else {
            return; // cancelled or superseded
        };
        let end = start + phy::air_time(p.mpdu.len());
        radio.lock = None;
        radio.sending_until = Some(end);
        // It was woken in time.
        radio.awake_from.get_or_insert(start);
        if let Mode::Listen { since, .. } = &mut radio.mode {
            *since = end + self.timing.turnaround;
        }
        let air = self.sent.len();
        let frame = SentFrame {
            from: n,
            channel: p.channel,
            start,
            mpdu: p.mpdu.to_vec(),
        };
        for to in (0..self.radios.len()).filter(|to| *to != n) {
            self.arrive(to, air, &frame);
        }
        self.sent.push(frame);
        self.at(end, What::TxEnd { air });
        let sfd = start + phy::SFD_OFFSET;
        self.answer(n, end, RadioEvent::Sent { op: p.op, sfd });
    }

    /// A frame begins at listener `to`: it locks, joins, collides, or passes.
    fn arrive(&mut self, to: usize, air: usize, frame: &SentFrame) {
        let radio = &mut self.radios[to];
        let Mode::Listen {
            channel,
            head_bytes,
            since,
        } = radio.mode
        else {
            return;
        };
        if channel != frame.channel || radio.sending_until.is_some() {
            return;
        }
        let fate = (self.links)(Air {
            from: frame.from,
            to,
            channel,
            mpdu: &frame.mpdu,
            start: frame.start,
            number: air,
        });
        if fate == Fate::Silent {
            return;
        }
        let sent = &self.sent;
        match &mut radio.lock {
            Some(lock) => {
                let same = frame.start.since(lock.start) < SAME_FRAME
                    && sent.get(lock.air).is_some_and(|f| f.mpdu == frame.mpdu);
                if !same {
                    lock.fate = Fate::Corrupted;
                    lock.collided = Some(Collision);
                } else if fate == Fate::Heard && lock.collided.is_none() {
                    lock.fate = Fate::Heard;
                }
            }
            // Deaf while tuning: the frame's beginning was missed.
            None if since > frame.start => {}
            None => {
                radio.lock = Some(Lock {
                    air,
                    start: frame.start,
                    fate,
                    collided: None,
                });
                if head_bytes > 0 {
                    let n = usize::from(head_bytes).min(frame.mpdu.len());
                    let after = phy::SFD_OFFSET + phy::BYTE * (phy::PHR_BYTES + n) as u64;
                    self.at(frame.start + after, What::Head { node: to, air });
                }
            }
        }
    }
}

fn frame(mpdu: &[u8]) -> Option<FrameBuf> {
    let frame = FrameBuf::from_slice(mpdu).ok();
    frame.filter(|frame| !frame.is_empty())
}

#[cfg(test)]
#[path = "harness_tests.rs"]
mod tests;
