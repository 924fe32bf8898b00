//! TIMER (product specification, 6.30): counters at 16 MHz / 2^prescaler, or of a task's triggers.

use super::events::{Device, Event, Events, Id, Short, Task, Wires};

/// Cycles of the 16 MHz clock.
const TICK: u64 = 4;
/// Compare registers at most; TIMER0 to 2 have four (6.30.3).
const REGISTERS: usize = 6;
const START: Task = 0;
const STOP: Task = 1;
const COUNT: Task = 2;
const CLEAR: Task = 3;
const SHUTDOWN: Task = 4;
const CAPTURE: Task = 16;
const COMPARE: Event = 16;

#[derive(Debug)]
pub(super) struct Timer {
    events: Events,
    registers: usize,
    mode: u32,
    bit_mode: u32,
    prescaler: u32,
    cc: [u32; REGISTERS],
    /// When each register is next met.
    meets: [u64; REGISTERS],
    count: u32,
    /// Since when it has counted on from `count`; none where it stands.
    since: Option<u64>,
}

impl Timer {
    pub(super) fn new(id: Id, registers: usize) -> Self {
        Self {
            events: Events::new(id),
            registers: registers.min(REGISTERS),
            mode: 0,
            bit_mode: 0,
            prescaler: 4,
            cc: [0; REGISTERS],
            meets: [u64::MAX; REGISTERS],
            count: 0,
            since: None,
        }
    }

    const fn mask(&self) -> u32 {
        match self.bit_mode {
            0 => 0xffff,
            1 => 0xff,
            2 => 0xff_ffff,
            _ => u32::MAX,
        }
    }
    const fn tick(&self) -> u64 {
        TICK << self.prescaler
    }
    fn counter(&self, now: u64) -> u32 {
        let past = self
            .since
            .map_or(0, |since| now.saturating_sub(since) / self.tick());
        self.count.wrapping_add(past as u32) & self.mask()
    }
    const fn counts_triggers(&self) -> bool {
        self.mode != 0
    }

    /// Keeps the count of `now`; from there it goes on as it did.
    fn settle(&mut self, now: u64) {
        let count = self.counter(now);
        if let Some(since) = &mut self.since {
            let past = now.saturating_sub(*since) / (TICK << self.prescaler);
            *since += past * (TICK << self.prescaler);
        }
        self.count = count;
    }

    /// Works out when each register is met: strictly later than the present tick.
    fn plan(&mut self, now: u64) {
        self.settle(now);
        let (mask, count, tick) = (self.mask(), self.count, self.tick());
        for (meets, cc) in self.meets.iter_mut().zip(self.cc).take(self.registers) {
            let ahead = u64::from(cc.wrapping_sub(count) & mask);
            let ahead = if ahead == 0 {
                u64::from(mask) + 1
            } else {
                ahead
            };
            *meets = self.since.map_or(u64::MAX, |since| since + ahead * tick);
        }
    }
}

impl Device for Timer {
    fn shorts(&self) -> &'static [Short] {
        &[
            (0, COMPARE, CLEAR),
            (1, COMPARE + 1, CLEAR),
            (2, COMPARE + 2, CLEAR),
            (3, COMPARE + 3, CLEAR),
            (4, COMPARE + 4, CLEAR),
            (5, COMPARE + 5, CLEAR),
            (8, COMPARE, STOP),
            (9, COMPARE + 1, STOP),
            (10, COMPARE + 2, STOP),
            (11, COMPARE + 3, STOP),
            (12, COMPARE + 4, STOP),
            (13, COMPARE + 5, STOP),
        ]
    }

    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn task(&mut self, now: u64, task: Task, wires: &mut Wires<'_>) {
        match task {
            START if self.since.is_none() && !self.counts_triggers() => {
                self.since = Some(now - now % TICK);
            }
            STOP | SHUTDOWN => {
                self.settle(now);
                self.since = None;
            }
            COUNT if self.counts_triggers() => {
                self.count = self.count.wrapping_add(1) & self.mask();
                for number in 0..self.registers {
                    if self.cc[number] & self.mask() == self.count {
                        self.events.raise(COMPARE + number as u32, wires);
                    }
                }
            }
            CLEAR => {
                self.settle(now);
                self.count = 0;
            }
            CAPTURE..22 => {
                let count = self.counter(now);
                if let Some(cc) = self.cc.get_mut((task - CAPTURE) as usize) {
                    *cc = count;
                }
            }
            _ => return,
        }
        self.plan(now);
    }

    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        Some(match offset {
            0x504 => self.mode,
            0x508 => self.bit_mode,
            0x510 => self.prescaler,
            0x540..0x558 => self.cc[(offset as usize - 0x540) / 4],
            _ => return None,
        })
    }

    fn write(&mut self, now: u64, offset: u32, value: u32) -> Option<()> {
        self.settle(now);
        match offset {
            0x504 => self.mode = value & 3,
            0x508 => self.bit_mode = value & 3,
            0x510 => self.prescaler = (value & 0xf).min(9),
            0x540..0x558 => self.cc[(offset as usize - 0x540) / 4] = value,
            _ => return None,
        }
        self.plan(now);
        Some(())
    }

    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        let round = (u64::from(self.mask()) + 1) * self.tick();
        for number in 0..self.registers {
            if self.meets[number] <= now {
                self.meets[number] = self.meets[number].saturating_add(round);
                self.events.raise(COMPARE + number as u32, wires);
            }
        }
    }
    fn due(&self) -> u64 {
        self.meets.iter().copied().min().unwrap_or(u64::MAX)
    }
}
