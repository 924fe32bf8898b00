//! The air of one run: what is being sent, who listens to what, who is locked on which frame.
//!
//! A transmission costs one look at the ears its sender can reach; sleeping ears cost nothing and
//! find out what is on the air when they begin to listen. Calls come in time order. Invariants: an
//! ear is locked on at most one frame; what it keeps of frames on the air is bounded by what
//! overlaps its reception. Draws depend on (seed, transmission, ear) only. Not modelled: receivers
//! that lock on a frame in the middle of its preamble after another one ended. Tests: `tests/`.

mod standing;

pub use standing::Standing;

use crate::environment::Environment;
use crate::interference::Bursts;
use crate::losscause::{LossCause, Without};
use crate::phasors::Carrier;
use crate::random::{derive, mix};
use crate::receiver::{can_lock, lqi, power_at, rssi, Fixed};
use crate::reception::{Heard, Hearing, Scratch};
use crate::signal::{arrive, On, Signal, Transmission};
use crate::variation::Draws;
use crate::{EarId, TxId};
use std::sync::Arc;
use thalweg_units::{Channel, Dbm, Duration, MilliWatts, SimTime};

/// Why a receiver is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deaf {
    /// The radio sleeps.
    Sleeping,
    /// It sends, turns around or changes channel.
    Busy,
}

/// What became of a frame that an ear synchronised on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every symbol was right.
    Good,
    /// At least one was wrong; the FCS tells.
    Corrupt(LossCause),
}

/// A frame that an ear has received, right or wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reception {
    /// The ear.
    pub ear: EarId,
    /// What it got.
    pub outcome: Outcome,
    /// When the SFD ended at the ear; of synchronous senders, at their power-weighted centre.
    pub sfd: SimTime,
    /// When the last symbol ended.
    pub end: SimTime,
    /// Received signal strength as the chip's register gives it.
    pub rssi: Dbm,
    /// Link quality indication in the CC2420's manner: mean chip correlation, 50 to 110.
    pub lqi: u8,
    /// How many synchronous senders there were.
    pub senders: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receiver {
    Off(Deaf),
    On(Channel),
}

#[derive(Debug, Default)]
struct Hears {
    locked: Option<Signal>,
    /// The locked frame's header is known to be right, so the lock holds to its end.
    header_right: bool,
    signals: Vec<Signal>,
    /// So many signals are kept without looking which of them are over.
    room: usize,
}

impl Hears {
    /// Makes room for a signal that begins at `at`. Those that can have no part in a reception any
    /// more go at the next idle moment, or when they are many: nobody minds them.
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

/// Low bits of a [`TxId`]: where the transmission is kept.
const PLACE_BITS: u32 = 20;

/// The state of the air.
#[derive(Debug)]
pub struct Medium {
    env: Arc<Environment>,
    fixed: Vec<Fixed>,
    receivers: Vec<Receiver>,
    hears: Vec<Hears>,
    carriers: Vec<Carrier>,
    transmissions: Vec<Transmission>,
    free: Vec<u32>,
    ended: Vec<u32>,
    /// By channel.
    on_air: Vec<Vec<u32>>,
    count: u64,
    draws: Draws,
    bursts: Bursts,
    burst_list: Vec<(u64, u64)>,
    scratch: Scratch,
}

impl Medium {
    /// The silent air of a run on `env`. All receivers are off.
    pub fn new(env: Arc<Environment>, seed: u64) -> Self {
        let fixed = env.ears.iter().map(Fixed::new).collect();
        let count = env.ears.len();
        Self {
            fixed,
            receivers: vec![Receiver::Off(Deaf::Sleeping); count],
            hears: (0..count).map(|_| Hears::default()).collect(),
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
            draws: Draws::new(&env, seed),
            bursts: Bursts::new(&env.interference, derive(seed, "interference", &[])),
            burst_list: Vec::new(),
            scratch: Scratch::default(),
            env,
        }
    }

    /// The site.
    pub fn environment(&self) -> &Arc<Environment> {
        &self.env
    }

    /// The receiver of `ear` is on and tuned to `channel` from `at` on; a reception in progress is
    /// dropped. Returns the transmission on which it synchronises at once, where enough of a
    /// preamble is still to come.
    pub fn listen(&mut self, at: SimTime, ear: EarId, channel: Channel) -> Option<TxId> {
        let place = ear.0 as usize;
        let fixed = *self.fixed.get(place)?;
        *self.receivers.get_mut(place)? = Receiver::On(channel);
        let hears = self.hears.get_mut(place)?;
        hears.locked = None;
        hears.signals.clear();
        let mut best: Option<(f64, u32)> = None;
        let late = fixed.chip.phy.symbol * u64::from(fixed.chip.phy.first_counted());
        for &tx_place in self.on_air.iter().flatten() {
            let Some(tx) = self.transmissions.get(tx_place as usize) else {
                continue;
            };
            if tx.end() <= at.as_nanos() {
                continue;
            }
            let Some(link) = self.env.links.between(tx.from, ear, tx.channel) else {
                continue;
            };
            let Some(signal) = arrive(&self.draws, &fixed, channel, tx, link) else {
                continue;
            };
            hears.signals.push(signal);
            let preamble_left = at.as_nanos() <= tx.start + late.as_nanos();
            if preamble_left
                && signal.on == On::Same
                && best.is_none_or(|(power, _)| signal.power > power)
            {
                best = Some((signal.power, tx_place));
            }
        }
        let (_, tx_place) = best?;
        let tx = self.transmissions.get_mut(tx_place as usize)?;
        let signal = *hears.signals.iter().find(|signal| signal.tx == tx.number)?;
        let external = self.env.interference.at(place, channel);
        let (bursts, env) = (&mut self.bursts, &self.env);
        let burst = || bursts.power_at(&env.interference, external, at);
        if !can_lock(&fixed, &hears.signals, &signal, at, burst) {
            return None;
        }
        hears.locked = Some(signal);
        hears.header_right = false;
        tx.locked.push(ear);
        Some(TxId(tx.number << PLACE_BITS | u64::from(tx_place)))
    }

    /// The receiver of `ear` is off from `at` on; a reception in progress is dropped.
    pub fn deafen(&mut self, _at: SimTime, ear: EarId, why: Deaf) {
        let place = ear.0 as usize;
        if let (Some(receiver), Some(hears)) =
            (self.receivers.get_mut(place), self.hears.get_mut(place))
        {
            *receiver = Receiver::Off(why);
            hears.locked = None;
            hears.signals.clear();
        }
    }

    /// A frame of `mpdu` bytes (FCS not among them, but on the air) begins at `at` with its first
    /// preamble symbol. Pushes to `locked` every ear that now synchronises on it, also those that
    /// it steals from another frame. The sender's own receiver goes off. The caller calls
    /// [`Medium::end`] after [`Medium::air_time`].
    pub fn transmit(
        &mut self,
        at: SimTime,
        from: EarId,
        channel: Channel,
        power: Dbm,
        mpdu: &[u8],
        locked: &mut Vec<EarId>,
    ) -> TxId {
        self.deafen(at, from, Deaf::Busy);
        let place = self.enter(at, from, channel, power, mpdu);
        let Self {
            env,
            fixed,
            receivers,
            hears,
            transmissions,
            draws,
            bursts,
            ..
        } = self;
        let id = TxId((self.count - 1) << PLACE_BITS | u64::from(place));
        let Some(tx) = transmissions.get_mut(place as usize) else {
            return id;
        };
        let audible = tx.power * draws.most;
        for link in env.links.heard_by(from, channel) {
            let ear_place = link.to.0 as usize;
            let Some(&Receiver::On(tuned)) = receivers.get(ear_place) else {
                continue;
            };
            let (Some(ear), Some(hears)) = (fixed.get(ear_place), hears.get_mut(ear_place)) else {
                continue;
            };
            if tuned != channel
                && f64::from(link.gain_mw) * audible * ear.leak(tuned, channel) < ear.inaudible
            {
                continue;
            }
            let Some(signal) = arrive(draws, ear, tuned, tx, link) else {
                continue;
            };
            hears.forget(at);
            hears.signals.push(signal);
            let Hears {
                locked: lock,
                header_right,
                signals,
                ..
            } = hears;
            // Looked at where it is kept: then it is written there and nowhere else.
            let Some(signal) = signals.last().filter(|signal| signal.on == On::Same) else {
                continue;
            };
            let external = env.interference.at(ear_place, channel);
            if let Some(current) = lock {
                if *header_right || signal.is_synchronous_with(current) {
                    continue;
                }
                let age = at.as_nanos().saturating_sub(current.start);
                if age < ear.chip.phy.sfd_offset().as_nanos() {
                    let group: f64 = signals
                        .iter()
                        .filter(|s| s.is_synchronous_with(current))
                        .map(|s| s.power)
                        .sum();
                    if signal.power < ear.steal * group {
                        continue;
                    }
                } else {
                    // It is free again if the header of what it was locked on was wrong.
                    let header = ear.chip.phy.mpdu_symbol();
                    if age < ear.chip.phy.symbol.as_nanos() * u64::from(header) {
                        continue;
                    }
                    bursts.gather(
                        &env.interference,
                        external,
                        current.start,
                        at,
                        &mut self.burst_list,
                    );
                    let heard = Hearing {
                        demodulator: env.demodulator(),
                        chip: ear.chip,
                        noise: ear.noise,
                        locked: current,
                        signals,
                        bursts: &self.burst_list,
                        burst_power: external.map_or(0.0, |(_, power)| power),
                        carriers: &self.carriers,
                    }
                    .assess(header, Without::Nothing, &mut self.scratch);
                    if heard.hazard < current.endurance() {
                        *header_right = true;
                        continue;
                    }
                    *lock = None;
                }
            }
            let burst = || bursts.power_at(&env.interference, external, at);
            if can_lock(ear, signals, signal, at, burst) {
                *lock = Some(*signal);
                *header_right = false;
                tx.locked.push(link.to);
                locked.push(link.to);
            }
        }
        id
    }

    /// First preamble symbol to last symbol of a frame of `mpdu_bytes` sent by `from`.
    pub fn air_time(&self, from: EarId, mpdu_bytes: usize) -> Duration {
        self.fixed
            .get(from.0 as usize)
            .map_or(Duration::ZERO, |ear| ear.chip.phy.air_time(mpdu_bytes))
    }

    /// At the end of the first `bytes` bytes of the MPDU: whether `ear` is locked on `tx` and
    /// everything was right so far; then when the SFD ended at the ear.
    pub fn head(&mut self, at: SimTime, ear: EarId, tx: TxId, bytes: usize) -> Option<SimTime> {
        let place = ear.0 as usize;
        let locked = self.hears.get(place)?.locked?;
        if locked.tx != tx.0 >> PLACE_BITS {
            return None;
        }
        let phy = self.fixed.get(place)?.chip.phy;
        let total = phy.air_symbols(self.mpdu(tx).len());
        let until = (phy.mpdu_symbol() + phy.symbols_per_byte * bytes as u32).min(total);
        let heard = self.assess(at, place, &locked, until, Without::Nothing)?;
        (heard.hazard < locked.endurance()).then(|| arrival(&locked, &heard) + phy.sfd_offset())
    }

    /// The frame's last symbol: pushes to `received` what every ear got that is still locked on
    /// it. Ears that did not get the header right report nothing.
    pub fn end(&mut self, at: SimTime, tx: TxId, received: &mut Vec<Reception>) {
        let place = (tx.0 & ((1 << PLACE_BITS) - 1)) as u32;
        let Some(transmission) = self.transmissions.get_mut(place as usize) else {
            return;
        };
        if transmission.number != tx.0 >> PLACE_BITS || self.ended.contains(&place) {
            return;
        }
        let bytes = transmission.mpdu.len();
        let mut ears = core::mem::take(&mut transmission.locked);
        if let Some(on_air) = self.on_air.get_mut(transmission.channel.index()) {
            on_air.retain(|&other| other != place);
        }
        for &ear in &ears {
            let Some(hears) = self.hears.get_mut(ear.0 as usize) else {
                continue;
            };
            let Some(locked) = hears
                .locked
                .filter(|locked| locked.tx == tx.0 >> PLACE_BITS)
            else {
                continue;
            };
            hears.locked = None;
            if let Some(reception) = self.receive(at, ear, &locked, bytes) {
                received.push(reception);
            }
        }
        ears.clear();
        if let Some(transmission) = self.transmissions.get_mut(place as usize) {
            transmission.locked = ears;
        }
        self.ended.push(place);
    }

    /// The bytes of a transmission (without FCS): from `transmit` until the first `transmit` after
    /// its `end`; then nothing.
    pub fn mpdu(&self, tx: TxId) -> &[u8] {
        self.transmissions
            .get((tx.0 & ((1 << PLACE_BITS) - 1)) as usize)
            .filter(|transmission| transmission.number == tx.0 >> PLACE_BITS)
            .map_or(&[], |transmission| &transmission.mpdu)
    }

    /// Power in `channel` at `ear`, noise included, as energy detection sees it; also where the
    /// receiver is off or tuned elsewhere.
    pub fn sensed_power(&mut self, at: SimTime, ear: EarId, channel: Channel) -> MilliWatts {
        let place = ear.0 as usize;
        let Some(fixed) = self.fixed.get(place) else {
            return MilliWatts::ZERO;
        };
        let mut power = fixed.sensed_noise;
        if self.receivers.get(place) == Some(&Receiver::On(channel)) {
            if let Some(hears) = self.hears.get(place) {
                power += power_at(&hears.signals, at);
            }
        } else {
            for &tx_place in self.on_air.iter().flatten() {
                let Some(tx) = self.transmissions.get(tx_place as usize) else {
                    continue;
                };
                if tx.end() > at.as_nanos() {
                    if let Some(link) = self.env.links.between(tx.from, ear, tx.channel) {
                        power += arrive(&self.draws, fixed, channel, tx, link)
                            .map_or(0.0, |signal| signal.power);
                    }
                }
            }
        }
        let external = self.env.interference.at(place, channel);
        MilliWatts(power + self.bursts.power_at(&self.env.interference, external, at))
    }

    /// How many frames were sent.
    pub fn transmissions(&self) -> u64 {
        self.count
    }

    fn enter(
        &mut self,
        at: SimTime,
        from: EarId,
        channel: Channel,
        power: Dbm,
        mpdu: &[u8],
    ) -> u32 {
        self.free.append(&mut self.ended);
        let air = self.air_time(from, mpdu.len());
        let number = self.count;
        self.count += 1;
        let mut content = mix(mpdu.len() as u64);
        for chunk in mpdu.chunks(8) {
            let mut word = [0; 8];
            for (to, byte) in word.iter_mut().zip(chunk) {
                *to = *byte;
            }
            content = mix(content.rotate_left(23) ^ u64::from_le_bytes(word));
        }
        let place = self.free.pop().unwrap_or(self.transmissions.len() as u32);
        if place as usize == self.transmissions.len() {
            self.transmissions.push(Transmission {
                number,
                key: 0,
                from,
                channel,
                start: 0,
                air: 0,
                power: 0.0,
                content,
                mpdu: Vec::with_capacity(mpdu.len()),
                locked: Vec::new(),
            });
        }
        if let Some(tx) = self.transmissions.get_mut(place as usize) {
            tx.number = number;
            tx.key = self.draws.key(number);
            tx.from = from;
            tx.channel = channel;
            tx.start = at.as_nanos();
            tx.air = air.as_nanos() as u32;
            tx.power = power.milliwatts().0;
            tx.content = content;
            tx.mpdu.clear();
            tx.mpdu.extend_from_slice(mpdu);
            tx.locked.clear();
        }
        if let Some(on_air) = self.on_air.get_mut(channel.index()) {
            on_air.push(place);
        }
        place
    }

    fn receive(
        &mut self,
        at: SimTime,
        ear: EarId,
        locked: &Signal,
        bytes: usize,
    ) -> Option<Reception> {
        let place = ear.0 as usize;
        let fixed = *self.fixed.get(place)?;
        let phy = fixed.chip.phy;
        let total = phy.air_symbols(bytes);
        let heard = self.assess(at, place, locked, total, Without::Nothing)?;
        let outcome = if heard.hazard <= 0.0 {
            Outcome::Good
        } else {
            let endurance = locked.endurance();
            if heard.hazard < endurance {
                Outcome::Good
            } else {
                let header = self.assess(at, place, locked, phy.mpdu_symbol(), Without::Nothing)?;
                if header.hazard >= endurance {
                    return None;
                }
                Outcome::Corrupt(LossCause::find(|without| {
                    heard.disturbed.by(without)
                        && self
                            .assess(at, place, locked, total, without)
                            .is_some_and(|heard| heard.hazard < endurance)
                }))
            }
        };
        let begin = arrival(locked, &heard);
        Some(Reception {
            ear,
            outcome,
            sfd: begin + phy.sfd_offset(),
            end: begin + phy.air_time(bytes),
            rssi: rssi(&fixed, heard.power),
            lqi: lqi(&fixed, &heard, locked.word),
            senders: heard.senders,
        })
    }

    fn assess(
        &mut self,
        at: SimTime,
        place: usize,
        locked: &Signal,
        until: u32,
        without: Without,
    ) -> Option<Heard> {
        let fixed = self.fixed.get(place)?;
        let Receiver::On(channel) = *self.receivers.get(place)? else {
            return None;
        };
        let external = self.env.interference.at(place, channel);
        self.bursts.gather(
            &self.env.interference,
            external,
            locked.start,
            at,
            &mut self.burst_list,
        );
        let hearing = Hearing {
            demodulator: self.env.demodulator(),
            chip: fixed.chip,
            noise: fixed.noise,
            locked,
            signals: &self.hears.get(place)?.signals,
            bursts: &self.burst_list,
            burst_power: external.map_or(0.0, |(_, power)| power),
            carriers: &self.carriers,
        };
        Some(hearing.assess(until, without, &mut self.scratch))
    }
}

/// When the first symbol of a reception arrived.
fn arrival(locked: &Signal, heard: &Heard) -> SimTime {
    let offset = f64::from(locked.delay) + heard.centre_ns;
    if offset >= 0.0 {
        SimTime::from_nanos(locked.start) + Duration::from_nanos((offset + 0.5) as u64)
    } else {
        SimTime::from_nanos(locked.start)
            .saturating_sub(Duration::from_nanos((0.5 - offset) as u64))
    }
}
