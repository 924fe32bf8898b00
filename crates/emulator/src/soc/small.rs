//! The small peripherals: RNG, TEMP, WDT, EGU, GPIO (product specification, 6.19, 6.28, 6.36, 6.10, 6.9).

use super::events::{Device, Event, Events, Id, Short, Task, Wires, MICROSECOND};
use super::rtc::{cycle_of, ticks};
use crate::core::Activity;

/// A random byte without and with bias correction (6.19.4).
const BYTE: u64 = 30 * MICROSECOND;
const BYTE_CORRECTED: u64 = 120 * MICROSECOND;
const READY: Event = 0;

/// SplitMix64: what chance is drawn from.
pub(super) fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The random number generator: a stream from a seed, so that runs repeat.
#[derive(Debug)]
pub(super) struct Rng {
    events: Events,
    config: u32,
    state: u64,
    value: u32,
    due: u64,
}

impl Rng {
    pub(super) fn new(id: Id, seed: u64) -> Self {
        Self {
            events: Events::new(id),
            config: 0,
            state: seed,
            value: 0,
            due: u64::MAX,
        }
    }
    /// Goes on where the one before has come to.
    pub(super) const fn follow(&mut self, before: &Self) {
        self.state = before.state;
    }
    fn takes(&self) -> u64 {
        if self.config & 1 != 0 {
            BYTE_CORRECTED
        } else {
            BYTE
        }
    }
}

impl Device for Rng {
    fn shorts(&self) -> &'static [Short] {
        &[(0, READY, 1)]
    }

    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }
    fn task(&mut self, now: u64, task: Task, _wires: &mut Wires<'_>) {
        match task {
            0 => self.due = now + self.takes(),
            1 => self.due = u64::MAX,
            _ => (),
        }
    }
    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        match offset {
            0x504 => Some(self.config),
            0x508 => Some(self.value),
            _ => None,
        }
    }
    fn write(&mut self, _now: u64, offset: u32, value: u32) -> Option<()> {
        (offset == 0x504).then(|| self.config = value & 1)
    }
    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        if self.due <= now {
            self.value = (draw(&mut self.state) >> 56) as u32;
            self.due = now + self.takes();
            self.events.raise(READY, wires);
        }
    }
    fn due(&self) -> u64 {
        self.due
    }
}

/// The thermometer: 25 degrees, in quarters, after 36 us (6.28.3).
#[derive(Debug)]
pub(super) struct Temp {
    events: Events,
    due: u64,
}

impl Temp {
    const TAKES: u64 = 36 * MICROSECOND;
    const QUARTERS: u32 = 100;

    pub(super) const fn new(id: Id) -> Self {
        Self {
            events: Events::new(id),
            due: u64::MAX,
        }
    }
}

impl Device for Temp {
    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }
    fn task(&mut self, now: u64, task: Task, _wires: &mut Wires<'_>) {
        self.due = if task == 0 {
            now + Self::TAKES
        } else {
            u64::MAX
        };
    }
    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        (offset == 0x508).then_some(Self::QUARTERS)
    }
    fn write(&mut self, _now: u64, _offset: u32, _value: u32) -> Option<()> {
        None
    }
    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        if self.due <= now {
            self.due = u64::MAX;
            self.events.raise(READY, wires);
        }
    }
    fn due(&self) -> u64 {
        self.due
    }
}

/// The watchdog: once started it runs until a reset (6.36).
#[derive(Debug)]
pub(super) struct Wdt {
    events: Events,
    reload: u32,
    requests: u32,
    left: u32,
    config: u32,
    due: u64,
    started: bool,
    /// Cycles that are left of its patience, while the processor sleeps and it stands still (CONFIG.SLEEP, 6.36.4).
    paused: Option<u64>,
    /// The reset follows the event by two ticks of 32.768 kHz (6.36.1).
    reset: u64,
    /// It has asked for the reset.
    bites: bool,
}

impl Wdt {
    const RELOAD: u32 = 0x6e52_4635;

    pub(super) const fn new(id: Id) -> Self {
        Self {
            events: Events::new(id),
            reload: u32::MAX,
            requests: 1,
            left: 0,
            config: 1,
            due: u64::MAX,
            started: false,
            paused: None,
            reset: u64::MAX,
            bites: false,
        }
    }
    fn restart(&mut self, now: u64) {
        self.left = self.requests;
        self.due = cycle_of(ticks(now) + u64::from(self.reload) + 1);
    }
    /// The processor goes to sleep, or runs again.
    pub(super) fn processor(&mut self, now: u64, to: Activity) {
        let stands_still = self.config & 1 == 0;
        match to {
            Activity::Sleeps if stands_still && self.due != u64::MAX => {
                self.paused = Some(self.due.saturating_sub(now));
                self.due = u64::MAX;
            }
            Activity::Sleeps => (),
            Activity::Runs => {
                if let Some(left) = self.paused.take() {
                    self.due = now + left;
                }
            }
        }
    }
    /// Whether it asks for a reset.
    pub(super) const fn bites(&self) -> bool {
        self.bites
    }
}

impl Device for Wdt {
    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }
    fn task(&mut self, now: u64, task: Task, _wires: &mut Wires<'_>) {
        if task == 0 && !self.started {
            self.started = true;
            self.restart(now);
        }
    }
    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        match offset {
            0x400 => Some(u32::from(self.started)),
            0x404 => Some(self.left),
            0x504 => Some(self.reload),
            0x508 => Some(self.requests),
            0x50c => Some(self.config),
            _ => None,
        }
    }
    fn write(&mut self, now: u64, offset: u32, value: u32) -> Option<()> {
        match offset {
            // What it was started with cannot be changed (6.36.2).
            0x504 | 0x508 | 0x50c if self.started => (),
            0x504 => self.reload = value.max(0xf),
            0x508 => self.requests = value & 0xff,
            0x50c => self.config = value,
            0x600..0x620 if value == Self::RELOAD && self.started => {
                self.left &= !(1 << ((offset - 0x600) / 4));
                if self.left == 0 && self.due != u64::MAX {
                    self.restart(now);
                }
            }
            0x600..0x620 => (),
            _ => return None,
        }
        Some(())
    }
    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        if self.due <= now {
            self.due = u64::MAX;
            self.reset = cycle_of(ticks(now) + 2);
            self.events.raise(READY, wires);
        }
        if self.reset <= now {
            (self.reset, self.bites) = (u64::MAX, true);
        }
    }
    fn due(&self) -> u64 {
        self.due.min(self.reset)
    }
}

/// Event generator: a task raises the event of its number (6.10).
#[derive(Debug)]
pub(super) struct Egu(Events);

impl Egu {
    pub(super) const fn new(id: Id) -> Self {
        Self(Events::new(id))
    }
}

impl Device for Egu {
    fn events(&self) -> &Events {
        &self.0
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.0
    }
    fn task(&mut self, _now: u64, task: Task, wires: &mut Wires<'_>) {
        if task < 16 {
            self.0.raise(task, wires);
        }
    }
    fn read(&mut self, _now: u64, _offset: u32) -> Option<u32> {
        None
    }
    fn write(&mut self, _now: u64, _offset: u32, _value: u32) -> Option<()> {
        None
    }
    fn advance(&mut self, _now: u64, _wires: &mut Wires<'_>) {}
    fn due(&self) -> u64 {
        u64::MAX
    }
}

/// Two ports of pins: what is put out is read back; nothing is connected.
#[derive(Debug, Default)]
pub(super) struct Gpio {
    out: [u32; 2],
    direction: [u32; 2],
    pins: [[u32; 32]; 2],
}

/// Port, and the register within it: P1 lies 0x300 behind P0.
const fn port(offset: u32) -> Option<(usize, u32)> {
    match offset {
        0x504..0x780 => Some((0, offset)),
        0x804..0xa80 => Some((1, offset - 0x300)),
        _ => None,
    }
}

impl Gpio {
    pub(super) fn read(&self, offset: u32) -> Option<u32> {
        let (port, register) = port(offset)?;
        let (out, direction) = (self.out[port], self.direction[port]);
        Some(match register {
            0x504..=0x50c => out,
            0x510 => out & direction,
            0x514..=0x51c => direction,
            0x520 | 0x524 => 0,
            0x700.. => self.pins[port][(register as usize - 0x700) / 4],
            _ => return None,
        })
    }
    pub(super) fn write(&mut self, offset: u32, value: u32) -> Option<()> {
        let (port, register) = port(offset)?;
        let (out, direction) = (&mut self.out[port], &mut self.direction[port]);
        match register {
            0x504 => *out = value,
            0x508 => *out |= value,
            0x50c => *out &= !value,
            0x514 => *direction = value,
            0x518 => *direction |= value,
            0x51c => *direction &= !value,
            0x520 | 0x524 => (),
            0x700.. => self.pins[port][(register as usize - 0x700) / 4] = value,
            _ => return None,
        }
        Some(())
    }
}
