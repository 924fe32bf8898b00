//! RADIO in its IEEE 802.15.4 mode (product specification, 6.20, 6.20.12): states, tasks, events, shortcuts.
//!
//! Its registers are in `radio_registers.rs`. Times come from [`RadioTimes`]; what it does to the air, and what it
//! hears, passes through [`Act`] and [`Arrival`]. A frame's bytes are taken from RAM at START. Not modelled: other
//! modes, TIFS, direction finding; RSSI without a reception takes as long as the receive chain, not 0.25 us.

use super::air::{Act, Arrival, Carrier, Check, Deed, FrameStart, RadioTimes};
use super::events::{Device, Events, Id, Short, Task, Wires, MICROSECOND};
use super::radio_names::{
    ADDRESS, BCMATCH, BCSTART, BCSTOP, CCABUSY, CCAIDLE, CCASTART, CCASTOP, CCASTOPPED, CRCERROR,
    CRCOK, DISABLE, DISABLED, EDEND, EDSTART, EDSTOP, EDSTOPPED, END, FRAMESTART, PAYLOAD, PHYEND,
    READY, RSSIEND, RSSISTART, RSSISTOP, RXEN, RXREADY, SHORTS, START, STOP, TXEN, TXREADY,
};
use super::radio_registers::Settings;
use std::collections::VecDeque;
use thalweg_units::Dbm;

/// Synchronisation header, and a byte, on the air.
const SHR: u64 = 160 * MICROSECOND;
const BYTE: u64 = 32 * MICROSECOND;
const BIT: u64 = 4 * MICROSECOND;
/// Energy detection and clear channel assessment: eight symbols (6.20.12.5, 6.20.12.6).
const ASSESSMENT: u64 = 128 * MICROSECOND;
/// Looks in that time, 32 us apart, so that the last is known before it ends.
const LOOKS: u32 = 4;
/// Bytes of the check sequence, which the radio makes and checks.
const CHECK_BYTES: usize = 2;

/// States (6.20.14.58), with the values that STATE shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Off.
    Disabled = 0,
    /// The receiver ramps up.
    RxRampUp = 1,
    /// The receiver is ready.
    RxIdle = 2,
    /// It receives.
    Rx = 3,
    /// The receiver goes off.
    RxDisable = 4,
    /// The transmitter ramps up.
    TxRampUp = 9,
    /// The transmitter is ready.
    TxIdle = 10,
    /// It sends.
    Tx = 11,
    /// The transmitter goes off.
    TxDisable = 12,
}

/// How many values [`State`] can have.
const STATES: usize = 13;

/// What falls due by itself, in the order in which it happens where several do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Ramped,
    OnAir,
    SentAddress,
    SentEnd,
    SentAll,
    Off,
    BitCount,
    Assessed,
}

/// What is being measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measuring {
    Nothing,
    Rssi,
    Energy,
    Channel,
}

/// A frame that comes in.
#[derive(Debug)]
struct Reception {
    mpdu: Vec<u8>,
    /// When its first byte behind the length begins to arrive.
    since: u64,
    check: Check,
}

/// The radio.
#[derive(Debug)]
pub(super) struct Radio {
    events: Events,
    times: RadioTimes,
    pub(super) settings: Settings,
    state: State,
    entered: u64,
    spent: [u64; STATES],
    plan: Vec<(u64, Step)>,
    arrivals: VecDeque<(u64, Arrival)>,
    acts: Vec<Act>,
    power: Option<Dbm>,
    reception: Option<Reception>,
    counting: Option<u64>,
    measuring: Measuring,
    sensed: Option<(Dbm, Carrier)>,
    starts_without_crystal: u64,
    bad_pointers: u64,
}

impl Radio {
    pub(super) fn new(id: Id, times: RadioTimes) -> Self {
        Self {
            events: Events::new(id),
            times,
            settings: Settings::default(),
            state: State::Disabled,
            entered: 0,
            spent: [0; STATES],
            plan: Vec::new(),
            arrivals: VecDeque::new(),
            acts: Vec::new(),
            power: None,
            reception: None,
            counting: None,
            measuring: Measuring::Nothing,
            sensed: None,
            starts_without_crystal: 0,
            bad_pointers: 0,
        }
    }

    /// What it has done to the air since this was last asked.
    pub(super) fn take_acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }
    pub(super) fn has_acts(&self) -> bool {
        !self.acts.is_empty()
    }
    /// Something arrives at a cycle; in the order of cycles.
    pub(super) fn arrive(&mut self, at: u64, arrival: Arrival) {
        let place = self.arrivals.partition_point(|(other, _)| *other <= at);
        self.arrivals.insert(place, (at, arrival));
    }
    pub(super) const fn times(&self) -> &RadioTimes {
        &self.times
    }
    pub(super) const fn state(&self) -> State {
        self.state
    }
    /// Bits after FRAMESTART at which it will tell of a frame's head, where it counts by itself.
    pub(super) const fn head_bits(&self) -> Option<u32> {
        match self.events.has_short(6) || self.events.has_short(14) {
            true => Some(self.settings.bit_count),
            false => None,
        }
    }
    /// Cycles in a state, up to `now`.
    pub(super) fn spent(&self, state: State, now: u64) -> u64 {
        let present = if self.state == state {
            now.saturating_sub(self.entered)
        } else {
            0
        };
        self.spent[state as usize] + present
    }
    /// How often it was started while HFXO did not run (5.4.1 forbids it), and pointers that were not in RAM.
    pub(super) const fn misuses(&self) -> (u64, u64) {
        (self.starts_without_crystal, self.bad_pointers)
    }
    pub(super) fn note_without_crystal(&mut self) {
        self.starts_without_crystal += 1;
    }
    /// Whether a task needs HFXO.
    pub(super) const fn needs_crystal(task: Task) -> bool {
        task == TXEN || task == RXEN
    }

    fn enter(&mut self, now: u64, state: State) {
        self.spent[self.state as usize] += now.saturating_sub(self.entered);
        let (was, is) = (self.hears(), state == State::Rx);
        (self.state, self.entered) = (state, now);
        let deed = match (was, is) {
            (false, true) => Deed::Listen(self.settings.channel()),
            (true, false) => Deed::Deafen,
            _ => return,
        };
        if was {
            self.forget();
        }
        self.acts.push(Act { at: now, deed });
    }
    fn hears(&self) -> bool {
        self.state == State::Rx
    }
    /// A reception in progress is dropped.
    /// Nothing is being received.
    fn lose(&mut self) {
        (self.reception, self.counting, self.power) = (None, None, None);
        self.plan.retain(|(_, step)| *step != Step::BitCount);
    }
    /// The same, and what is on its way through the receive chain goes with it.
    fn forget(&mut self) {
        self.lose();
        self.arrivals
            .retain(|(_, arrival)| matches!(arrival, Arrival::Sensed { .. }));
    }

    fn after(&mut self, at: u64, step: Step) {
        self.plan.push((at, step));
    }
    fn ramp(&mut self, now: u64, state: State) {
        self.plan.clear();
        self.enter(now, state);
        let takes = if self.settings.is_fast() {
            self.times.fast
        } else {
            self.times.normal
        };
        self.after(now + takes, Step::Ramped);
    }

    fn disable(&mut self, now: u64, wires: &mut Wires<'_>) {
        let takes = match self.state {
            // It tells so again (second source: BabbleSim).
            State::Disabled => return self.events.raise(DISABLED, wires),
            State::RxDisable | State::TxDisable => return,
            State::RxRampUp | State::RxIdle | State::Rx => self.times.disable_rx,
            State::TxRampUp | State::TxIdle | State::Tx => self.times.disable_tx,
        };
        if self.plan.iter().any(|(_, step)| *step == Step::SentAll) {
            self.acts.push(Act {
                at: now,
                deed: Deed::Abort,
            });
        }
        self.plan.clear();
        self.measuring = Measuring::Nothing;
        let next = match self.state {
            State::RxRampUp | State::RxIdle | State::Rx => State::RxDisable,
            _ => State::TxDisable,
        };
        self.enter(now, next);
        self.after(now + takes, Step::Off);
    }

    fn start(&mut self, now: u64, wires: &mut Wires<'_>) {
        match self.state {
            State::RxIdle => self.enter(now, State::Rx),
            State::TxIdle => {
                self.enter(now, State::Tx);
                let pointer = self.settings.pointer;
                let length = wires
                    .memory
                    .read(pointer, 1)
                    .map_or(0, |byte| byte[0] & 0x7f);
                let mpdu = usize::from(length).saturating_sub(CHECK_BYTES);
                let mpdu = wires.memory.read(pointer.wrapping_add(1), mpdu);
                self.bad_pointers += u64::from(mpdu.is_none());
                let deed = Deed::Send {
                    channel: self.settings.channel(),
                    power: self.settings.power(),
                    mpdu: mpdu.unwrap_or(&[]).to_vec(),
                };
                let air = now + self.times.start;
                let end = air + SHR + BYTE * (u64::from(length) + 1);
                self.acts.push(Act { at: air, deed });
                self.after(air, Step::OnAir);
                self.after(air + SHR - self.times.tx_address_early, Step::SentAddress);
                self.after(end - self.times.tx_end_early, Step::SentEnd);
                self.after(end, Step::SentAll);
            }
            _ => (),
        }
    }

    fn measure(&mut self, now: u64, what: Measuring) {
        if !matches!(self.state, State::Rx | State::RxIdle) {
            return;
        }
        (self.measuring, self.sensed) = (what, None);
        let looks = if what == Measuring::Rssi { 1 } else { LOOKS };
        let channel = self.settings.channel();
        self.acts.push(Act {
            at: now,
            deed: Deed::Sense { channel, looks },
        });
        if what != Measuring::Rssi {
            self.after(now + ASSESSMENT, Step::Assessed);
        }
    }

    fn step(&mut self, now: u64, step: Step, wires: &mut Wires<'_>) {
        match step {
            Step::Ramped if self.state == State::TxRampUp => {
                self.enter(now, State::TxIdle);
                self.events.raise(READY, wires);
                self.events.raise(TXREADY, wires);
            }
            Step::Ramped => {
                self.enter(now, State::RxIdle);
                self.events.raise(READY, wires);
                self.events.raise(RXREADY, wires);
            }
            Step::OnAir => (),
            Step::SentAddress => {
                self.events.raise(ADDRESS, wires);
                self.events.raise(FRAMESTART, wires);
            }
            Step::SentEnd => {
                self.events.raise(PAYLOAD, wires);
                self.events.raise(END, wires);
            }
            Step::SentAll => {
                self.enter(now, State::TxIdle);
                self.events.raise(PHYEND, wires);
            }
            Step::Off => {
                self.enter(now, State::Disabled);
                self.events.raise(DISABLED, wires);
            }
            Step::BitCount => {
                let since = self
                    .reception
                    .as_ref()
                    .map_or(now, |reception| reception.since);
                let there = (now.saturating_sub(since) / BYTE) as usize;
                self.write_bytes(there, wires);
                self.events.raise(BCMATCH, wires);
            }
            Step::Assessed => self.assess(wires),
        }
    }

    fn assess(&mut self, wires: &mut Wires<'_>) {
        let measured = std::mem::replace(&mut self.measuring, Measuring::Nothing);
        let (power, carrier) = self.sensed.take().unwrap_or((Dbm(-127.0), Carrier::Absent));
        let level = Settings::level(power);
        match measured {
            Measuring::Energy => {
                self.settings.energy = level;
                self.events.raise(EDEND, wires);
            }
            Measuring::Channel => {
                let busy = self.settings.is_busy(level, carrier);
                self.events
                    .raise(if busy { CCABUSY } else { CCAIDLE }, wires);
            }
            _ => (),
        }
    }

    /// Starts to count bits (6.20.10).
    fn count_bits(&mut self, now: u64) {
        self.counting = Some(now);
        self.plan_match(now);
    }
    /// The counter was changed, or begins.
    pub(super) fn plan_match(&mut self, now: u64) {
        self.plan.retain(|(_, step)| *step != Step::BitCount);
        if let Some(since) = self.counting {
            let at = since + u64::from(self.settings.bit_count) * BIT;
            if at > now {
                self.after(at, Step::BitCount);
            }
        }
    }

    /// DMA: the length and so many bytes behind it.
    fn write_bytes(&mut self, there: usize, wires: &mut Wires<'_>) {
        let Some(reception) = &self.reception else {
            return;
        };
        let mut bytes = reception
            .mpdu
            .iter()
            .copied()
            .take(there)
            .collect::<Vec<_>>();
        if let (Check::Wrong, Some(last)) = (reception.check, bytes.last_mut()) {
            // Which symbol was wrong is not known: the last so far.
            *last ^= 0x55;
        }
        let length = (reception.mpdu.len() + CHECK_BYTES) as u8;
        bytes.insert(0, length);
        self.bad_pointers += u64::from(!wires.memory.write_ram(self.settings.pointer, &bytes));
    }

    fn hear(&mut self, now: u64, arrival: Arrival, wires: &mut Wires<'_>) {
        if let Arrival::Sensed { power, carrier } = arrival {
            self.sensed = Some((power, carrier));
            if self.measuring == Measuring::Rssi {
                self.tell_rssi(power, wires);
            }
            return;
        }
        if !self.hears() {
            return;
        }
        match arrival {
            Arrival::Sfd { power } => {
                self.power = Some(power);
                self.events.raise(ADDRESS, wires);
                if self.times.frame_start == FrameStart::Delimiter {
                    self.events.raise(FRAMESTART, wires);
                }
            }
            Arrival::Header { mpdu } => {
                self.reception = Some(Reception {
                    mpdu,
                    since: now,
                    check: Check::Right,
                });
                if self.times.frame_start == FrameStart::Length {
                    self.events.raise(FRAMESTART, wires);
                }
            }
            Arrival::Garbled => {
                if let Some(reception) = &mut self.reception {
                    reception.check = Check::Wrong;
                }
            }
            Arrival::Lost => self.lose(),
            Arrival::End { check, lqi } => self.end(now, check, lqi, wires),
            Arrival::Sensed { .. } => (),
        }
    }

    fn end(&mut self, now: u64, check: Check, lqi: u8, wires: &mut Wires<'_>) {
        let Some(reception) = &mut self.reception else {
            return;
        };
        reception.check = check;
        let length = reception.mpdu.len();
        self.write_bytes(length, wires);
        // Link quality stands behind the payload (6.20.12.4).
        let behind = self.settings.pointer.wrapping_add(1 + length as u32);
        self.bad_pointers += u64::from(!wires.memory.write_ram(behind, &[lqi]));
        self.settings.check = check;
        self.enter(now, State::RxIdle);
        self.events.raise(PAYLOAD, wires);
        self.events.raise(END, wires);
        let checked = if check == Check::Right {
            CRCOK
        } else {
            CRCERROR
        };
        self.events.raise(checked, wires);
        self.events.raise(PHYEND, wires);
    }

    fn tell_rssi(&mut self, power: Dbm, wires: &mut Wires<'_>) {
        self.measuring = Measuring::Nothing;
        self.settings.rssi = (-power.0).clamp(0.0, 127.0) as u32;
        self.events.raise(RSSIEND, wires);
    }
}

impl Device for Radio {
    fn shorts(&self) -> &'static [Short] {
        SHORTS
    }

    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn task(&mut self, now: u64, task: Task, wires: &mut Wires<'_>) {
        match (task, self.state) {
            (TXEN, State::Disabled | State::RxIdle | State::TxIdle) => {
                self.ramp(now, State::TxRampUp);
            }
            (RXEN, State::Disabled | State::TxIdle) => self.ramp(now, State::RxRampUp),
            (START, _) => self.start(now, wires),
            (STOP, State::Rx) => self.enter(now, State::RxIdle),
            (STOP, State::Tx) => {
                self.plan.clear();
                self.acts.push(Act {
                    at: now,
                    deed: Deed::Abort,
                });
                self.enter(now, State::TxIdle);
            }
            (DISABLE, _) => self.disable(now, wires),
            (RSSISTART, _) => match self.power {
                Some(power) => self.tell_rssi(power, wires),
                None => self.measure(now, Measuring::Rssi),
            },
            (BCSTART, State::Rx) => self.count_bits(now),
            (BCSTOP, _) => {
                self.counting = None;
                self.plan_match(now);
            }
            (EDSTART, _) => self.measure(now, Measuring::Energy),
            (CCASTART, _) => self.measure(now, Measuring::Channel),
            (EDSTOP | CCASTOP | RSSISTOP, _) => {
                let stopped = match self.measuring {
                    Measuring::Energy => Some(EDSTOPPED),
                    Measuring::Channel => Some(CCASTOPPED),
                    _ => None,
                };
                self.measuring = Measuring::Nothing;
                self.plan.retain(|(_, step)| *step != Step::Assessed);
                if let Some(event) = stopped {
                    self.events.raise(event, wires);
                }
            }
            _ => (),
        }
    }

    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        match offset {
            0x550 => Some(self.state as u32),
            _ => self.settings.read(offset),
        }
    }

    fn write(&mut self, now: u64, offset: u32, value: u32) -> Option<()> {
        self.settings.write(offset, value)?;
        match offset {
            0x560 => self.plan_match(now),
            // POWER off resets all registers (6.20.14.86).
            0xffc if value & 1 == 0 => {
                self.spent[self.state as usize] += now.saturating_sub(self.entered);
                let (spent, acts) = (self.spent, std::mem::take(&mut self.acts));
                let misuses = self.misuses();
                let heard = self.hears();
                *self = Self::new(super::RADIO, self.times);
                (self.spent, self.acts, self.entered) = (spent, acts, now);
                (self.starts_without_crystal, self.bad_pointers) = misuses;
                if heard {
                    self.acts.push(Act {
                        at: now,
                        deed: Deed::Deafen,
                    });
                }
            }
            _ => (),
        }
        Some(())
    }

    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        let next = self.plan.iter().enumerate().min_by_key(|(_, (at, _))| *at);
        if let Some((place, &(at, step))) = next.filter(|(_, (at, _))| *at <= now) {
            self.plan.remove(place);
            self.step(at, step, wires);
            return;
        }
        if self.arrivals.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, arrival)) = self.arrivals.pop_front() {
                self.hear(now, arrival, wires);
            }
        }
    }

    fn due(&self) -> u64 {
        let planned = self
            .plan
            .iter()
            .map(|(at, _)| *at)
            .min()
            .unwrap_or(u64::MAX);
        let arrives = self.arrivals.front().map_or(u64::MAX, |(at, _)| *at);
        planned.min(arrives)
    }
}
