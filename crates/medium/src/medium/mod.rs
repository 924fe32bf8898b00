//! The air of one run: what is being sent, which ear listens to what, which is locked on which frame.
//!
//! A transmission costs one look at the ears its sender can reach; sleeping ears cost nothing and
//! find out what is on the air when they begin to listen. Invariants: an ear is locked on at most one
//! frame; what it keeps of frames on the air is bounded by what overlaps its reception. Draws depend
//! on (seed, transmission, ear) only. Locks are in `lock.rs`, receptions in `receive.rs`, causes of
//! loss in `explain.rs`. Tests: `../tests/`.

mod explain;
mod lock;
mod receive;

use crate::air::{
    Able, Air, Deaf, EarStatus, Explain, FrameId, Lead, Locked, Receiving, Reception, Sending,
};
use crate::cause::Cause;
use crate::chip::{Chip, Phy};
use crate::draws::Draws;
use crate::drift::{Held, HeldRows};
use crate::environment::Environment;
use crate::interference::Bursts;
use crate::links::Link;
use crate::logarithm::Logarithm;
use crate::phasors::Carrier;
use crate::random::{derive, mix};
use crate::receiver::{arrive, power_at, Fixed};
use crate::reception::Scratch;
use crate::signal::{Signal, Transmission};
use crate::EarId;
use std::sync::Arc;
use thalweg_units::{Channel, ChannelSet, Dbm, MilliWatts, SimTime};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receiver {
    Off(Deaf),
    On(Channel),
}

#[derive(Debug, Default)]
struct EarState {
    locked: Option<Signal>,
    /// When it locked, in nanoseconds.
    since: u64,
    /// The locked frame's header is known to be right, so the lock holds to its end.
    header_right: bool,
    signals: Vec<Signal>,
    /// How many signals are kept before those that are over are dropped.
    room: usize,
}

impl EarState {
    /// Makes room for a signal that begins at `at`. Signals that can have no part in a reception any
    /// more do no harm; they go when the ear is idle, or when they are many.
    #[inline]
    fn forget(&mut self, at: SimTime) {
        if self.locked.is_none() || self.signals.len() >= self.room {
            let since = self
                .locked
                .as_ref()
                .map_or(at.as_nanos(), |locked| locked.start);
            self.signals.retain(|signal| signal.end() > since);
            self.room = 2 * self.signals.len() + FEW_SIGNALS;
        }
    }
}

/// What an ear hears at once where it is quiet.
const FEW_SIGNALS: usize = 4;

/// Low bits of a [`FrameId`]: where the transmission is kept.
const PLACE_BITS: u32 = 20;

const fn place_of(frame: FrameId) -> usize {
    (frame.0 & ((1 << PLACE_BITS) - 1)) as usize
}
const fn number_of(frame: FrameId) -> u64 {
    frame.0 >> PLACE_BITS
}

/// The state of the air.
#[derive(Debug)]
pub struct Medium {
    env: Arc<Environment>,
    fixed: Vec<Fixed>,
    receivers: Vec<Receiver>,
    states: Vec<EarState>,
    carriers: Vec<Carrier>,
    transmissions: Vec<Transmission>,
    free: Vec<u32>,
    ended: Vec<u32>,
    /// By channel.
    on_air: Vec<Vec<u32>>,
    count: u64,
    draws: Draws,
    held: HeldRows,
    bursts: Bursts,
    burst_list: Vec<(u64, u64)>,
    scratch: Scratch,
    logarithm: Logarithm,
    /// Locks that a frame has stolen: of which frame, at which ear.
    stolen: Vec<(FrameId, EarId)>,
}

impl Medium {
    /// The silent air of a run on `env`. All receivers are off.
    pub fn new(env: Arc<Environment>, seed: u64) -> Self {
        let fixed = env.ears.iter().map(Fixed::new).collect();
        let count = env.ears.len();
        Self {
            fixed,
            receivers: vec![Receiver::Off(Deaf::Sleeping); count],
            states: (0..count).map(|_| EarState::default()).collect(),
            carriers: env
                .ears
                .iter()
                .map(|ear| Carrier::new(ear.carrier_offset_hz))
                .collect(),
            transmissions: Vec::new(),
            free: Vec::new(),
            ended: Vec::new(),
            on_air: vec![Vec::new(); Channel::COUNT],
            count: 0,
            draws: Draws::new(env.variation, env.world, seed),
            held: HeldRows::new(count),
            bursts: Bursts::new(&env.interference, derive(seed, "interference", &[])),
            burst_list: Vec::new(),
            scratch: Scratch::default(),
            logarithm: Logarithm::default(),
            stolen: Vec::new(),
            env,
        }
    }

    /// The site.
    pub fn environment(&self) -> &Arc<Environment> {
        &self.env
    }

    fn transmission(&self, of: FrameId) -> Option<&Transmission> {
        let found = self.transmissions.get(place_of(of));
        found.filter(|tx| tx.id == of)
    }
    /// The frame of `signal` as it is on the air at `ear`.
    fn phy(&self, ear: usize, signal: &Signal) -> Option<Phy> {
        let chip = self.fixed.get(ear)?.chip;
        Some(chip.phy.with_preamble(signal.preamble))
    }

    fn enter(&mut self, at: SimTime, frame: &Sending<'_>) -> (u32, FrameId) {
        self.free.append(&mut self.ended);
        let number = self.count;
        self.count += 1;
        let place = self.free.pop().unwrap_or(self.transmissions.len() as u32);
        let kept = self.transmissions.get_mut(place as usize);
        let mut locked = kept.map_or(Vec::new(), |old| core::mem::take(&mut old.locked));
        locked.clear();
        let (preamble, expected) = match frame.lead {
            Lead::Preamble(bytes) => (bytes, false),
            Lead::Expected => (0, true),
        };
        let id = FrameId(number << PLACE_BITS | u64::from(place));
        let tx = Transmission {
            id,
            key: self.draws.key(number),
            from: frame.from,
            channel: frame.on,
            start: at.as_nanos(),
            air: u32::try_from(frame.air.as_nanos()).unwrap_or(u32::MAX),
            preamble,
            expected,
            power: frame.power.milliwatts().0,
            content: content_of(frame.mpdu),
            locked,
            to: frame.to,
            missed: None,
        };
        match self.transmissions.get_mut(place as usize) {
            Some(old) => *old = tx,
            None => self.transmissions.push(tx),
        }
        if let Some(on_air) = self.on_air.get_mut(frame.on.index()) {
            on_air.push(place);
        }
        (place, id)
    }
}

/// The link from the sender of `tx` to `ear`, and what is held of it.
fn link<'a>(
    env: &'a Environment,
    held: &'a mut HeldRows,
    tx: &Transmission,
    ear: EarId,
) -> Option<(&'a Link, &'a mut Held)> {
    let row = env.links.heard_by(tx.from, tx.channel);
    let place = env.links.place(tx.from, ear, tx.channel)?;
    let held = held.of(tx.from, tx.channel, row.len());
    row.get(place).zip(held.get_mut(place))
}

/// A hash of a frame's bytes.
fn content_of(mpdu: &[u8]) -> u64 {
    let mut content = mix(mpdu.len() as u64);
    for chunk in mpdu.chunks(8) {
        let mut word = [0; 8];
        for (to, byte) in word.iter_mut().zip(chunk) {
            *to = *byte;
        }
        content = mix(content.rotate_left(23) ^ u64::from_le_bytes(word));
    }
    content
}

impl Air for Medium {
    const ABLE: Able = Able {
        heads: true,
        synchronous: true,
    };

    fn chip(&self, ear: EarId) -> Option<&'static Chip> {
        self.fixed.get(ear.0 as usize).map(|fixed| fixed.chip)
    }
    fn ears(&self) -> usize {
        self.fixed.len()
    }
    fn channels(&self) -> ChannelSet {
        ChannelSet::ALL
    }

    fn listen(&mut self, at: SimTime, ear: EarId, on: Channel) -> Option<FrameId> {
        self.tune(at, ear, on)
    }
    fn deafen(&mut self, _at: SimTime, ear: EarId, why: Deaf) {
        let place = ear.0 as usize;
        if let (Some(receiver), Some(state)) =
            (self.receivers.get_mut(place), self.states.get_mut(place))
        {
            *receiver = Receiver::Off(why);
            state.signals.clear();
            if let Some(locked) = state.locked.take() {
                self.note(locked.tx, ear, Cause::Deaf);
            }
        }
    }
    fn begin(&mut self, at: SimTime, frame: &Sending<'_>, locked: &mut Vec<Locked>) -> FrameId {
        self.deafen(at, frame.from, Deaf::Busy);
        let (place, id) = self.enter(at, frame);
        let unlocked = self.arrive_everywhere(at, place, locked);
        self.note_beginning(at, id, unlocked);
        id
    }
    fn head(&mut self, at: SimTime, ear: EarId, of: FrameId, bytes: usize) -> Option<SimTime> {
        self.receive_head(at, ear, of, bytes)
    }
    fn end(
        &mut self,
        at: SimTime,
        of: FrameId,
        explain: Explain,
        got: &mut Vec<Reception>,
        locked: &mut Vec<Locked>,
    ) -> Option<Cause> {
        self.receive_all(at, of, explain, got, locked)
    }

    fn sensed(&mut self, at: SimTime, ear: EarId, on: Channel) -> MilliWatts {
        let place = ear.0 as usize;
        let Some(fixed) = self.fixed.get(place) else {
            return MilliWatts::ZERO;
        };
        let mut power = fixed.sensed_noise;
        if self.receivers.get(place) == Some(&Receiver::On(on)) {
            if let Some(state) = self.states.get(place) {
                power += power_at(&state.signals, at);
            }
        } else {
            for &tx_place in self.on_air.iter().flatten() {
                let Some(tx) = self.transmissions.get(tx_place as usize) else {
                    continue;
                };
                if tx.end() > at.as_nanos() {
                    let over = link(&self.env, &mut self.held, tx, ear);
                    let signal = over.and_then(|over| arrive(&mut self.draws, fixed, on, tx, over));
                    power += signal.map_or(0.0, |signal| signal.power);
                }
            }
        }
        let external = self.env.interference.at(place, on);
        MilliWatts(power + self.bursts.power_at(&self.env.interference, external, at))
    }
    fn receiving(&self, ear: EarId) -> Option<Receiving> {
        let state = self.states.get(ear.0 as usize)?;
        let locked = state.locked.as_ref()?;
        let start = SimTime::from_nanos(locked.start);
        Some(Receiving {
            since: SimTime::from_nanos(state.since),
            sfd: start + self.phy(ear.0 as usize, locked)?.sfd_offset(),
            until: SimTime::from_nanos(locked.end()),
        })
    }
    fn registers(&self, of: FrameId, reception: &Reception) -> (Dbm, u8) {
        self.read_registers(of, reception)
    }

    fn ear_status(&mut self, at: SimTime, ear: EarId, of: FrameId) -> EarStatus {
        self.state_of(at, ear, of)
    }
    fn troubles(&mut self, at: SimTime, ear: EarId, of: FrameId) -> (Option<Cause>, Option<EarId>) {
        (self.header_loss(at, ear, of), self.interferer(ear, of))
    }
}
