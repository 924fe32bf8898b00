//! A small ideal network for tests of engines: perfect clocks, a link either hears or does not,
//! frames that overlap on a channel collide unless they are the same frame within 0.5 us.
//!
//! Deterministic: events of one instant happen in the order they were caused. It answers
//! [`crate::RadioOp`] as far as [`CAPS`] goes, at the costs of a [`BoardTiming`], and insists that
//! engines ask for nothing that they did not name. It does not model power, fading or jitter;
//! `thalweg-sim` does. Only radio 0 and slot 0 exist. Tests: `harness_tests.rs`.

use crate::{
    Abilities, Ability, BoardTiming, Caps, Driver, Engine, Port, RadioEvent, RadioId, Refusal,
    Request, Undrained,
};
use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec::Vec;
use thalweg_units::{Dbm, Duration, Instant};
use thalweg_wire::{phy, FrameBuf};

mod air;
mod ground;
mod radio;
pub use air::{Air, Fate, SentFrame};

use radio::{Mode, Radio, What};

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

fn frame(mpdu: &[u8]) -> Option<FrameBuf> {
    let frame = FrameBuf::from_slice(mpdu).ok();
    frame.filter(|frame| !frame.is_empty())
}

#[cfg(test)]
#[path = "harness_tests.rs"]
mod tests;
