//! Motes and the air between them, a quantum at a time.
//!
//! A receiver learns of the air only [`crate::soc::RadioTimes::chain`] later than it happens. So all motes run a
//! quantum that is no longer, one after the other; then what they did to the air happens in the order of true time,
//! and what the air tells them lands in a quantum that has not run. The order of motes plays no part. A mote that
//! sleeps costs one comparison. Time base: [`SimTime`]. Frames that are broken off stay on the air, and are wrong.

use crate::crystal::Crystal;
use crate::ledger::Spent;
use crate::machine::Chip;
use crate::perturbation::Perturbation;
use crate::soc::{Act, Arrival, Carrier, Check, Deed, FrameStart, RadioState};
use crate::{
    core::Stop,
    soc::{Devices, Misuse},
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use thalweg_medium::{
    Air, Deaf, EarId, EarStatus, Explain, FrameId, Lead, Locked, Medium, Outcome, Reception,
    Sending,
};
use thalweg_units::{Channel, Dbm, Duration, MilliWatts, SimTime};

/// The longest that motes run by themselves.
const QUANTUM: Duration = Duration::from_micros(20);
/// Longer than an instruction and an exception's entry.
const SLACK: Duration = Duration::from_micros(1);
/// First symbol to the delimiter's end, and a byte (IEEE 802.15.4, 12.1).
const SHR: Duration = Duration::from_micros(160);
const BYTE: Duration = Duration::from_micros(32);
const BIT: Duration = Duration::from_micros(4);
const CHECK_BYTES: u64 = 2;
const PREAMBLE_BYTES: u16 = 4;
/// Between two looks at the power in a channel.
const LOOK: Duration = Duration::from_micros(32);

/// A mote whose software cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Which, in the order in which they were added.
    pub mote: usize,
    /// Why.
    pub stop: Stop,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mote {}: {}", self.mote, self.stop)
    }
}
impl std::error::Error for Stopped {}

/// A frame that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFrame {
    /// First symbol on the air.
    pub at: SimTime,
    /// By which mote.
    pub from: usize,
    /// On which channel.
    pub channel: Channel,
    /// Its bytes without check sequence.
    pub mpdu: Vec<u8>,
}

/// What has happened on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames sent.
    pub sent: u64,
    /// Receptions with a right check sequence.
    pub good: u64,
    /// Receptions with a wrong one.
    pub corrupt: u64,
    /// Frames that were meant for a frequency that is no channel, or another mode.
    pub off_channel: u64,
}

struct Mote<C> {
    chip: C,
    crystal: Crystal,
    /// Nothing happens at it before.
    wakes: SimTime,
    /// Frames that it has received to the end.
    received: u64,
}

struct OnAir {
    frame: SentFrame,
    air: Duration,
    check: Check,
}

/// What is still to happen on the air.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Later {
    Sfd {
        ear: EarId,
        of: FrameId,
    },
    Header {
        ear: EarId,
        of: FrameId,
    },
    Head {
        ear: EarId,
        of: FrameId,
        bytes: usize,
    },
    Look {
        mote: usize,
        channel: Channel,
        left: u32,
        looks: u32,
        sum: f64,
    },
    End {
        of: FrameId,
    },
}

/// An entry of the queue: its time, then the order in which it was made.
struct Entry {
    at: SimTime,
    number: u64,
    what: Later,
}
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Motes, air and true time.
pub struct World<C> {
    motes: Vec<Mote<C>>,
    medium: Medium,
    perturbation: Perturbation,
    seed: u64,
    now: SimTime,
    quantum: Duration,
    queue: BinaryHeap<Reverse<Entry>>,
    made: u64,
    on_air: BTreeMap<FrameId, OnAir>,
    /// Deeds of a mote that lie in quanta to come.
    ahead: Vec<(SimTime, usize, Act)>,
    counts: Counts,
    frames: Option<Vec<SentFrame>>,
    got: Vec<Reception>,
    locked: Vec<Locked>,
}

impl<C: Chip> World<C> {
    /// No motes yet, in the air of `medium`; mote n is its ear n. `seed` draws the perturbations' chances.
    pub fn new(medium: Medium, perturbation: Perturbation, seed: u64) -> Self {
        Self {
            motes: Vec::new(),
            medium,
            perturbation,
            seed,
            now: SimTime::ZERO,
            quantum: QUANTUM,
            queue: BinaryHeap::new(),
            made: 0,
            on_air: BTreeMap::new(),
            ahead: Vec::new(),
            counts: Counts::default(),
            frames: None,
            got: Vec::new(),
            locked: Vec::new(),
        }
    }

    /// Adds a mote that has not run yet. Says which it is.
    pub fn add(&mut self, chip: C, crystal: Crystal) -> usize {
        let chain = crystal.length(chip.devices().radio_times().chain);
        // The last instruction of a quantum goes a little beyond it.
        let room = chain.saturating_sub(SLACK).max(SLACK);
        self.quantum = self.quantum.min(room);
        self.motes.push(Mote {
            wakes: crystal.time(0),
            chip,
            crystal,
            received: 0,
        });
        self.motes.len() - 1
    }

    /// True time up to which everything has happened.
    pub fn now(&self) -> SimTime {
        self.now
    }
    /// What has happened on the air.
    pub fn counts(&self) -> Counts {
        self.counts
    }
    /// From now on, keeps frames for [`World::take_frames`].
    pub fn record(&mut self) {
        self.frames.get_or_insert_default();
    }
    /// Frames sent since they were last taken, in the order in which they began.
    pub fn take_frames(&mut self) -> Vec<SentFrame> {
        self.frames.as_mut().map(std::mem::take).unwrap_or_default()
    }
    /// A mote's chip.
    pub fn chip(&self, mote: usize) -> Option<&C> {
        self.motes.get(mote).map(|mote| &mote.chip)
    }
    /// A mote's chip, to change it; it runs with the next quantum.
    pub fn chip_mut(&mut self, mote: usize) -> Option<&mut C> {
        let mote = self.motes.get_mut(mote)?;
        mote.wakes = SimTime::ZERO;
        Some(&mut mote.chip)
    }
    /// A mote's peripherals at its cycle now, to change what is outside of them; it runs with the next quantum.
    pub fn devices_mut(&mut self, mote: usize) -> Option<(u64, &mut Devices)> {
        let mote = self.motes.get_mut(mote)?;
        mote.wakes = SimTime::ZERO;
        let now = mote.crystal.cycle(self.now).max(mote.chip.now());
        Some((now, mote.chip.devices_mut()))
    }
    /// What a mote's software should not have done.
    pub fn misuse(&self, mote: usize) -> Misuse {
        let mote = self.motes.get(mote);
        mote.map_or(Misuse::default(), |mote| mote.chip.devices().misuse())
    }

    /// For how long a mote's parts were in which state.
    pub fn spent(&self, mote: usize) -> Spent {
        use RadioState::{
            Disabled, Rx, RxDisable, RxIdle, RxRampUp, Tx, TxDisable, TxIdle, TxRampUp,
        };
        let Some(mote) = self.motes.get(mote) else {
            return Spent::default();
        };
        let now = mote.crystal.cycle(self.now).max(mote.chip.now());
        let devices = mote.chip.devices();
        let length = |cycles| mote.crystal.length(cycles);
        let states = |states: &[RadioState]| {
            length(
                states
                    .iter()
                    .map(|state| devices.radio_cycles(*state, now))
                    .sum(),
            )
        };
        let asleep = mote.chip.asleep() + (now - mote.chip.now());
        Spent {
            receiving: states(&[Rx]),
            sending: states(&[Tx]),
            between: states(&[RxRampUp, RxIdle, RxDisable, TxRampUp, TxIdle, TxDisable]),
            off: states(&[Disabled]),
            running: length(now - asleep),
            asleep: length(asleep),
            crystal: length(devices.crystal_cycles(now)),
        }
    }

    /// Runs to a true time.
    ///
    /// # Errors
    /// [`Stopped`]; motes behind the one that stopped have not run the last quantum.
    pub fn run_until(&mut self, end: SimTime) -> Result<(), Stopped> {
        while self.now < end {
            // Where all sleep, the quantum in which nothing happens is long.
            let queued = self
                .queue
                .peek()
                .map_or(SimTime::MAX, |Reverse(entry)| entry.at);
            let ahead = self.ahead.iter().map(|(at, ..)| *at).min();
            let wakes = self.motes.iter().map(|mote| mote.wakes).min();
            let quiet = queued
                .min(ahead.unwrap_or(SimTime::MAX))
                .min(wakes.unwrap_or(SimTime::MAX));
            self.now = self.now.max(quiet.min(end));
            let to = (self.now + self.quantum).min(end);
            let mut deeds = std::mem::take(&mut self.ahead);
            for (number, mote) in self.motes.iter_mut().enumerate() {
                if mote.wakes >= to {
                    continue;
                }
                let run = mote.chip.run(mote.crystal.cycle(to));
                run.map_err(|stop| Stopped { mote: number, stop })?;
                mote.wakes = mote.crystal.time(mote.chip.idle_until());
                if mote.chip.devices().has_acts() {
                    let acts = mote.chip.devices_mut().take_acts();
                    deeds.extend(
                        acts.into_iter()
                            .map(|act| (mote.crystal.time(act.at), number, act)),
                    );
                }
            }
            deeds.sort_by_key(|(at, number, _)| (*at, *number));
            self.happen(deeds, to);
            self.now = to;
        }
        Ok(())
    }

    /// What motes did, and what follows on the air, in order, up to `to`.
    fn happen(&mut self, deeds: Vec<(SimTime, usize, Act)>, to: SimTime) {
        let mut deeds = deeds.into_iter().peekable();
        loop {
            let deed = deeds.peek().map_or(SimTime::MAX, |(at, ..)| *at);
            let queued = self
                .queue
                .peek()
                .map_or(SimTime::MAX, |Reverse(entry)| entry.at);
            if deed.min(queued) >= to {
                break;
            }
            if deed <= queued {
                if let Some((at, mote, act)) = deeds.next() {
                    self.do_deed(at, mote, act.deed);
                }
            } else if let Some(Reverse(entry)) = self.queue.pop() {
                self.follow(entry.at, entry.what);
            }
        }
        self.ahead.extend(deeds);
    }

    fn later(&mut self, at: SimTime, what: Later) {
        self.made += 1;
        let number = self.made;
        self.queue.push(Reverse(Entry { at, number, what }));
    }

    /// Something reaches a mote's registers, a receive chain later.
    fn tell(&mut self, at: SimTime, number: usize, arrival: Arrival) {
        let Some(mote) = self.motes.get_mut(number) else {
            return;
        };
        let mut late = Duration::ZERO;
        if matches!(arrival, Arrival::End { .. }) {
            mote.received += 1;
            late = self.perturbation.late_end(self.seed, number, mote.received);
        }
        let chain = mote.chip.devices().radio_times().chain;
        let cycle = mote.crystal.cycle(at + late) + chain;
        mote.chip.devices_mut().arrive(cycle, arrival);
        mote.wakes = mote.wakes.min(mote.crystal.time(cycle));
    }

    fn do_deed(&mut self, at: SimTime, mote: usize, deed: Deed) {
        let ear = EarId(mote as u32);
        match deed {
            Deed::Listen(Some(channel)) => {
                if let Some(on) = self.medium.listen(at, ear, channel) {
                    self.lock(at, Locked { ear, on });
                }
            }
            Deed::Listen(None) | Deed::Deafen => self.medium.deafen(at, ear, Deaf::Busy),
            Deed::Send { channel: None, .. } => self.counts.off_channel += 1,
            Deed::Send {
                channel: Some(channel),
                power,
                mpdu,
            } => self.send(at, mote, channel, power, mpdu),
            Deed::Abort => {
                for on_air in self
                    .on_air
                    .values_mut()
                    .filter(|on_air| on_air.frame.from == mote)
                {
                    on_air.check = Check::Wrong;
                }
            }
            Deed::Sense {
                channel: Some(channel),
                looks,
            } => {
                let (left, sum) = (looks, 0.0);
                self.follow(
                    at,
                    Later::Look {
                        mote,
                        channel,
                        left,
                        looks,
                        sum,
                    },
                );
            }
            Deed::Sense { channel: None, .. } => (),
        }
    }

    fn send(&mut self, at: SimTime, from: usize, on: Channel, power: Dbm, mpdu: Vec<u8>) {
        let air = SHR + BYTE * (1 + CHECK_BYTES + mpdu.len() as u64);
        let sending = Sending {
            from: EarId(from as u32),
            to: None,
            on,
            power,
            lead: Lead::Preamble(PREAMBLE_BYTES),
            air,
            mpdu: &mpdu,
        };
        let mut locked = std::mem::take(&mut self.locked);
        let of = self.medium.begin(at, &sending, &mut locked);
        let frame = SentFrame {
            at,
            from,
            channel: on,
            mpdu,
        };
        self.counts.sent += 1;
        if let Some(frames) = &mut self.frames {
            frames.push(frame.clone());
        }
        let check = Check::Right;
        self.on_air.insert(of, OnAir { frame, air, check });
        self.later(at + air, Later::End { of });
        self.lock_all(at, locked);
    }

    fn lock_all(&mut self, at: SimTime, mut locked: Vec<Locked>) {
        for lock in locked.drain(..) {
            self.lock(at, lock);
        }
        self.locked = locked;
    }
    fn lock(&mut self, at: SimTime, Locked { ear, on: of }: Locked) {
        if let Some(on_air) = self.on_air.get(&of) {
            let sfd = on_air.frame.at + SHR;
            self.later(sfd.max(at), Later::Sfd { ear, of });
            self.later((sfd + BYTE).max(at), Later::Header { ear, of });
        }
    }

    fn follow(&mut self, at: SimTime, what: Later) {
        match what {
            Later::Sfd { ear, of } => {
                let status = self.medium.ear_status(at, ear, of);
                if let (EarStatus::Locked, Some(on_air)) = (status, self.on_air.get(&of)) {
                    let power = self.medium.sensed(at, ear, on_air.frame.channel).dbm();
                    self.tell(at, ear.0 as usize, Arrival::Sfd { power });
                }
            }
            Later::Header { ear, of } => self.header(at, ear, of),
            Later::Head { ear, of, bytes } => {
                let turned = self.has_turned(at, ear, of);
                if !turned && self.medium.head(at, ear, of, bytes).is_none() {
                    self.tell(at, ear.0 as usize, Arrival::Garbled);
                }
            }
            Later::Look {
                mote,
                channel,
                left,
                looks,
                sum,
            } => {
                let ear = EarId(mote as u32);
                let sum = sum + self.medium.sensed(at, ear, channel).0;
                if left > 1 {
                    let left = left - 1;
                    return self.later(
                        at + LOOK,
                        Later::Look {
                            mote,
                            channel,
                            left,
                            looks,
                            sum,
                        },
                    );
                }
                let power = MilliWatts(sum / f64::from(looks.max(1))).dbm();
                let carrier = match self.medium.receiving(ear) {
                    Some(_) => Carrier::Present,
                    None => Carrier::Absent,
                };
                self.tell(at, mote, Arrival::Sensed { power, carrier });
            }
            Later::End { of } => self.end(at, of),
        }
    }

    /// Whether `ear` has left `of` for a stronger frame, of which it hears what there is to hear.
    fn has_turned(&mut self, at: SimTime, ear: EarId, of: FrameId) -> bool {
        let holds = self.medium.ear_status(at, ear, of) == EarStatus::Locked;
        !holds && self.medium.receiving(ear).is_some()
    }

    fn header(&mut self, at: SimTime, ear: EarId, of: FrameId) {
        let mote = ear.0 as usize;
        if self.has_turned(at, ear, of) {
            return;
        }
        let right = self.medium.head(at, ear, of, 0).is_some();
        let (Some(on_air), true) = (self.on_air.get(&of), right) else {
            return self.tell(at, mote, Arrival::Lost);
        };
        let (mpdu, end) = (on_air.frame.mpdu.clone(), on_air.frame.at + on_air.air);
        let length_end = on_air.frame.at + SHR + BYTE;
        // Where the radio will count to: so many bytes must be known to be right or wrong by then.
        let devices = self.motes.get(mote).map(|mote| mote.chip.devices());
        let counted = devices.and_then(|devices| {
            let bits = u64::from(devices.head_bits()?);
            match devices.radio_times().frame_start {
                FrameStart::Length => Some(bits),
                FrameStart::Delimiter => bits.checked_sub(8),
            }
        });
        self.tell(at, mote, Arrival::Header { mpdu });
        if let Some(bits) = counted {
            let head = length_end + BIT * bits.min(1 << 11);
            if head < end {
                let bytes = (bits / 8) as usize;
                self.later(head, Later::Head { ear, of, bytes });
            }
        }
    }

    fn end(&mut self, at: SimTime, of: FrameId) {
        let (mut got, mut locked) = (
            std::mem::take(&mut self.got),
            std::mem::take(&mut self.locked),
        );
        self.medium.end(at, of, Explain::No, &mut got, &mut locked);
        let sent = self
            .on_air
            .remove(&of)
            .map_or(Check::Wrong, |on_air| on_air.check);
        for reception in got.drain(..) {
            let check = match reception.outcome {
                Outcome::Good => sent,
                Outcome::Corrupt(_) => Check::Wrong,
            };
            match check {
                Check::Right => self.counts.good += 1,
                Check::Wrong => self.counts.corrupt += 1,
            }
            let (_, lqi) = self.medium.registers(of, &reception);
            // Of several senders, their power-weighted centre.
            self.tell(
                reception.end,
                reception.ear.0 as usize,
                Arrival::End { check, lqi },
            );
        }
        self.got = got;
        self.lock_all(at, locked);
    }
}
