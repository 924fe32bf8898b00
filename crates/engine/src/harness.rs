//! A small ideal network for tests of engines: perfect clocks, a link either hears or does not,
//! frames that overlap on a channel collide unless they are the same frame within 0.5 us.
//!
//! Deterministic: events of one instant happen in the order they were caused. It answers the whole
//! of [`crate::RadioOp`] at the costs of a [`BoardTiming`]. It does not model power, fading or jitter;
//! `thalweg-sim` does. Only radio 0 and slot 0 exist. Tests: at the end of this file.

use crate::{drain, BoardTiming, Cca, Condition, Engine, OpId, RadioEvent, RadioId, Refusal, When};
use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec::Vec;
use thalweg_units::{Channel, Dbm, Duration, Instant};
use thalweg_wire::phy;

mod air;
mod owned;
pub use air::{Air, Fate, SentFrame};
use owned::{Answer, Conditional, Owned};

/// Same-frame transmissions that begin this close together are one frame to a receiver.
const SAME_FRAME: Duration = Duration::from_nanos(500);

struct Pending {
    op: OpId,
    start: Instant,
    channel: Channel,
    mpdu: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Sleep,
    Listen {
        channel: Channel,
        head_bytes: u8,
        since: Instant,
    },
}

struct Lock {
    air: usize,
    start: Instant,
    fate: Fate,
    collided: Option<Collision>,
}

/// Another frame came in between: not even the beginning can be read.
struct Collision;

struct Node<E> {
    engine: E,
    mode: Mode,
    pending: Option<Pending>,
    sending_until: Option<Instant>,
    /// From when the oscillator is stable; none while powered down.
    awake_from: Option<Instant>,
    slot: Option<Vec<u8>>,
    last_rx_end: Option<Instant>,
    lock: Option<Lock>,
    conditional: Option<Conditional>,
    /// How many bytes of a frame are handed over.
    readout: usize,
    timeout: Option<Instant>,
}

#[derive(Debug)]
enum What {
    Answer { node: usize, answer: Answer },
    TxStart { node: usize, start: Instant },
    TxEnd { air: usize },
    Head { node: usize, air: usize },
}

type Links = Box<dyn FnMut(Air<'_>) -> Fate>;

/// The network.
pub struct Net<E: Engine> {
    nodes: Vec<Node<E>>,
    timing: BoardTiming,
    links: Links,
    queue: BTreeMap<(Instant, u64), What>,
    sequence: u64,
    now: Instant,
    sent: Vec<SentFrame>,
    events: Vec<(Instant, usize, E::Event)>,
}

impl<E: Engine> Net<E> {
    /// A network of `engines` on boards of `timing`, whose links are what `links` says.
    pub fn new(
        engines: Vec<E>,
        timing: BoardTiming,
        links: impl FnMut(Air<'_>) -> Fate + 'static,
    ) -> Self {
        let nodes = engines
            .into_iter()
            .map(|engine| Node {
                engine,
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
            })
            .collect();
        let mut net = Self {
            nodes,
            timing,
            links: Box::new(links),
            queue: BTreeMap::new(),
            sequence: 0,
            now: Instant::ZERO,
            sent: Vec::new(),
            events: Vec::new(),
        };
        (0..net.nodes.len()).for_each(|n| net.settle(n));
        net
    }

    /// The present instant, the same on every node.
    pub fn now(&self) -> Instant {
        self.now
    }
    /// The engine of node `n`.
    pub fn engine(&self, n: usize) -> &E {
        &self.nodes[n].engine
    }
    /// All frames sent so far.
    pub fn sent(&self) -> &[SentFrame] {
        &self.sent
    }
    /// Takes the events given so far: when, by which node, what.
    pub fn take_events(&mut self) -> Vec<(Instant, usize, E::Event)> {
        std::mem::take(&mut self.events)
    }
    /// Gives an order to node `n`.
    pub fn command(&mut self, n: usize, command: E::Command) {
        self.nodes[n].engine.handle_command(self.now, command);
        self.settle(n);
    }
    /// Tells node `n` something that its radio did not report: for tests with nonsense.
    pub fn inject(&mut self, n: usize, event: RadioEvent<'_>) {
        self.tell(n, event);
    }
    /// Runs until `deadline`.
    pub fn run_until(&mut self, deadline: Instant) {
        while self.step(deadline) {}
        self.now = deadline;
    }
    /// Runs for `time`.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Does the next thing before `deadline`; `false` where there is none.
    fn step(&mut self, deadline: Instant) -> bool {
        let timer = (0..self.nodes.len())
            .filter_map(|n| self.nodes[n].timeout.map(|t| (t.max(self.now), n)))
            .min();
        let queued = self.queue.keys().next().copied();
        match (queued, timer) {
            (Some((at, seq)), timer) if timer.is_none_or(|(t, _)| at <= t) => {
                if at > deadline {
                    return false;
                }
                self.now = at;
                if let Some(what) = self.queue.remove(&(at, seq)) {
                    self.happen(what);
                }
            }
            (_, Some((at, n))) => {
                if at > deadline {
                    return false;
                }
                self.now = at;
                self.nodes[n].engine.handle_timeout(at);
                self.settle(n);
                assert!(
                    self.nodes[n].timeout.is_none_or(|t| t > at),
                    "node {n}: a time-out at {at} stayed due after it was handled"
                );
            }
            _ => return false,
        }
        true
    }

    fn at(&mut self, at: Instant, what: What) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), what);
    }

    fn answer(&mut self, n: usize, at: Instant, answer: Answer) {
        self.at(at, What::Answer { node: n, answer });
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Answer { node, answer } => {
                let event = match answer {
                    Answer::Done(op) => RadioEvent::Done { op },
                    Answer::Sent(op, sfd) => RadioEvent::Sent { op, sfd },
                    Answer::Refused(op, why) => RadioEvent::Refused { op, why },
                };
                self.tell(node, event);
            }
            What::TxStart { node, start } => self.start_sending(node, start),
            What::TxEnd { air } => self.end_sending(air),
            What::Head { node, air } => self.head(node, air),
        }
    }

    fn tell(&mut self, n: usize, event: RadioEvent<'_>) {
        let now = self.now;
        self.nodes[n].engine.handle_radio(now, RadioId(0), event);
        self.settle(n);
    }

    fn settle(&mut self, n: usize) {
        let mut asked: Vec<(RadioId, OpId, Owned)> = Vec::new();
        let (now, events) = (self.now, &mut self.events);
        let timeout = drain(
            &mut self.nodes[n].engine,
            |r| asked.push((r.radio, r.id, Owned::from(r))),
            |e| events.push((now, n, e)),
        );
        match timeout {
            Ok(timeout) => self.nodes[n].timeout = timeout,
            Err(livelock) => panic!("node {n}: {livelock}"),
        }
        for (radio, id, op) in asked {
            if radio == RadioId(0) {
                self.submit(n, id, op);
            } else {
                self.answer(n, now, Answer::Refused(id, Refusal::NoSuch));
            }
        }
    }

    fn submit(&mut self, n: usize, id: OpId, op: Owned) {
        let now = self.now;
        match op {
            Owned::NoSuch => self.answer(n, now, Answer::Refused(id, Refusal::NoSuch)),
            Owned::Load(slot, _) | Owned::Send { slot, .. } if slot != 0 => {
                self.answer(n, now, Answer::Refused(id, Refusal::NoSuch));
            }
            Owned::Load(_, mpdu)
            | Owned::Send {
                mpdu: Some(mpdu), ..
            } if mpdu.is_empty() || mpdu.len() > phy::MAX_MPDU => {
                self.answer(n, now, Answer::Refused(id, Refusal::BadLength));
            }
            Owned::Load(_, mpdu) => {
                let cost = self.timing.load_base + self.timing.load_byte * mpdu.len() as u64;
                self.nodes[n].slot = Some(mpdu);
                self.answer(n, now + cost, Answer::Done(id));
            }
            Owned::Send {
                slot: _,
                mpdu,
                channel,
                when,
                cca,
            } => {
                let Some(mpdu) = mpdu.or_else(|| self.nodes[n].slot.clone()) else {
                    return self.answer(n, now, Answer::Refused(id, Refusal::Empty));
                };
                self.send(n, id, mpdu, channel, when, cca);
            }
            Owned::Listen {
                channel,
                head_bytes,
            } => {
                self.supersede_lock(n);
                let busy = self.nodes[n].sending_until;
                let awake = *self.nodes[n]
                    .awake_from
                    .get_or_insert(now + self.timing.wake);
                let since = busy.unwrap_or(now).max(awake) + self.timing.turnaround;
                self.nodes[n].mode = Mode::Listen {
                    channel,
                    head_bytes,
                    since,
                };
                let done = if busy.is_some() { now } else { since };
                self.answer(n, done, Answer::Done(id));
            }
            Owned::Conditional { condition, .. } if condition.len() > Condition::MAX_BYTES => {
                self.answer(n, now, Answer::Refused(id, Refusal::BadLength));
            }
            Owned::Conditional {
                offset,
                condition: bytes,
                channel,
                cca,
            } => {
                let Some(mpdu) = self.nodes[n].slot.clone() else {
                    return self.answer(n, now, Answer::Refused(id, Refusal::Empty));
                };
                self.supersede_conditional(n);
                self.nodes[n].conditional = Some(Conditional {
                    op: id,
                    offset,
                    bytes,
                    channel,
                    cca,
                    mpdu,
                });
            }
            Owned::Readout(bytes) => {
                self.nodes[n].readout = bytes;
                self.answer(n, now, Answer::Done(id));
            }
            // Nobody acknowledges here.
            Owned::Answer => self.answer(n, now, Answer::Refused(id, Refusal::NoSuch)),
            Owned::Sleep => {
                self.supersede_lock(n);
                self.supersede_pending(n);
                self.supersede_conditional(n);
                self.nodes[n].mode = Mode::Sleep;
                self.power_down(n);
                self.answer(n, now, Answer::Done(id));
            }
            Owned::Cancel => {
                self.supersede_pending(n);
                self.supersede_conditional(n);
                self.answer(n, now, Answer::Done(id));
            }
        }
    }

    /// A sleeping radio that does not send loses its oscillator.
    fn power_down(&mut self, n: usize) {
        let node = &mut self.nodes[n];
        if matches!(node.mode, Mode::Sleep) && node.sending_until.is_none() {
            node.awake_from = None;
        }
    }

    fn supersede_lock(&mut self, n: usize) {
        self.nodes[n].lock = None;
    }

    fn supersede_pending(&mut self, n: usize) {
        if let Some(p) = self.nodes[n].pending.take() {
            self.answer(n, self.now, Answer::Refused(p.op, Refusal::Superseded));
        }
    }

    fn supersede_conditional(&mut self, n: usize) {
        if let Some(c) = self.nodes[n].conditional.take() {
            self.answer(n, self.now, Answer::Refused(c.op, Refusal::Superseded));
        }
    }

    /// The conditional transmission of node `n` goes out if `mpdu` meets its condition.
    fn meet(&mut self, n: usize, mpdu: &[u8]) {
        let met = self.nodes[n].conditional.take_if(|c| {
            let (offset, bytes) = (c.offset, &c.bytes[..]);
            Condition { offset, bytes }.holds(mpdu)
        });
        if let Some(c) = met {
            self.send(n, c.op, c.mpdu, c.channel, When::Now, c.cca);
        }
    }

    fn send(&mut self, n: usize, op: OpId, mpdu: Vec<u8>, channel: Channel, when: When, cca: Cca) {
        let now = self.now;
        let node = &self.nodes[n];
        let free = node.sending_until.unwrap_or(now);
        let awake = node.awake_from.unwrap_or(now + self.timing.wake);
        let ready = now.max(free).max(awake) + self.timing.turnaround;
        let start = match when {
            When::Now => ready,
            When::At(sfd) => sfd.saturating_sub(phy::SFD_OFFSET),
            When::AfterRxOn { radio, .. } if radio != RadioId(0) => {
                return self.answer(n, now, Answer::Refused(op, Refusal::Empty));
            }
            When::AfterRx(gap) | When::AfterRxOn { gap, .. } => match self.nodes[n].last_rx_end {
                Some(end) => end + gap,
                None => return self.answer(n, now, Answer::Refused(op, Refusal::Empty)),
            },
        };
        if start < ready {
            let why = Refusal::Late {
                by: ready.since(start),
            };
            return self.answer(n, now, Answer::Refused(op, why));
        }
        let busy = self.queue.values().any(|w| match w {
            What::TxEnd { air } => self.sent[*air].channel == channel,
            _ => false,
        });
        if cca == Cca::Require && busy {
            return self.answer(n, now, Answer::Refused(op, Refusal::ChannelBusy));
        }
        self.supersede_pending(n);
        self.nodes[n].slot = Some(mpdu.clone());
        self.nodes[n].pending = Some(Pending {
            op,
            start,
            channel,
            mpdu,
        });
        self.at(start, What::TxStart { node: n, start });
    }

    fn start_sending(&mut self, n: usize, start: Instant) {
        if self.nodes[n]
            .pending
            .as_ref()
            .is_none_or(|p| p.start != start)
        {
            return; // cancelled or superseded
        }
        let Some(p) = self.nodes[n].pending.take() else {
            return;
        };
        let end = start + phy::air_time(p.mpdu.len());
        self.supersede_lock(n);
        self.nodes[n].sending_until = Some(end);
        // It was woken in time.
        self.nodes[n].awake_from.get_or_insert(start);
        if let Mode::Listen { since, .. } = &mut self.nodes[n].mode {
            *since = end + self.timing.turnaround;
        }
        let air = self.sent.len();
        let frame = SentFrame {
            from: n,
            channel: p.channel,
            start,
            mpdu: p.mpdu,
        };
        for to in (0..self.nodes.len()).filter(|to| *to != n) {
            self.arrive(to, air, &frame);
        }
        self.sent.push(frame);
        self.at(end, What::TxEnd { air });
        self.answer(n, end, Answer::Sent(p.op, start + phy::SFD_OFFSET));
    }

    /// A frame begins at listener `to`: it locks, joins, collides, or passes.
    fn arrive(&mut self, to: usize, air: usize, frame: &SentFrame) {
        let Mode::Listen {
            channel,
            head_bytes,
            since,
        } = self.nodes[to].mode
        else {
            return;
        };
        let sending = self.nodes[to].sending_until.is_some();
        if channel != frame.channel || sending {
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
        match &mut self.nodes[to].lock {
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
                self.nodes[to].lock = Some(Lock {
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

    fn head(&mut self, n: usize, air: usize) {
        let Mode::Listen { head_bytes, .. } = self.nodes[n].mode else {
            return;
        };
        let locked = self.nodes[n].lock.as_ref();
        if locked.is_none_or(|l| l.air != air || l.collided.is_some()) {
            return;
        }
        let frame = self.sent[air].clone();
        let bytes = &frame.mpdu[..usize::from(head_bytes).min(frame.mpdu.len())];
        self.tell(
            n,
            RadioEvent::Head {
                bytes,
                sfd: frame.start + phy::SFD_OFFSET,
            },
        );
    }

    fn end_sending(&mut self, air: usize) {
        let frame = self.sent[air].clone();
        let sfd = frame.start + phy::SFD_OFFSET;
        self.nodes[frame.from].sending_until = None;
        self.power_down(frame.from);
        for n in 0..self.nodes.len() {
            if self.nodes[n].lock.as_ref().is_none_or(|l| l.air != air) {
                continue;
            }
            let heard = self.nodes[n]
                .lock
                .take()
                .is_some_and(|l| l.fate == Fate::Heard);
            if heard {
                let end = frame.start + phy::air_time(frame.mpdu.len());
                self.nodes[n].last_rx_end = Some(end);
                self.meet(n, &frame.mpdu);
                let bytes = self.nodes[n].readout.min(frame.mpdu.len());
                let (mpdu, rssi, lqi) = (&frame.mpdu[..bytes], Dbm(-60.0), 107);
                self.tell(
                    n,
                    RadioEvent::Frame {
                        mpdu,
                        sfd,
                        end,
                        rssi,
                        lqi,
                    },
                );
            } else {
                self.tell(n, RadioEvent::Corrupt { sfd });
            }
        }
    }
}

#[cfg(test)]
#[path = "harness_tests.rs"]
mod tests;
