//! RTC (product specification, 6.22): 24-bit counters of 32.768 kHz / (prescaler + 1).
//!
//! Its clock is the crystal of the processor: one drift for both. It runs whether or not LFCLK was started.

use super::events::{Device, Event, Events, Id, Task, Wires};

const MASK: u32 = 0xff_ffff;
const REGISTERS: usize = 4;
const TICK: Event = 0;
const OVERFLOW: Event = 1;
const COMPARE: Event = 16;
/// 64 MHz / 32.768 kHz = 15625 / 8 cycles.
const CYCLES: u64 = 15_625;
const TICKS: u64 = 8;

/// Ticks of 32.768 kHz up to a cycle.
pub(super) const fn ticks(cycle: u64) -> u64 {
    (cycle as u128 * TICKS as u128 / CYCLES as u128) as u64
}
/// The cycle of a tick.
pub(super) const fn cycle_of(tick: u64) -> u64 {
    (tick as u128 * CYCLES as u128).div_ceil(TICKS as u128) as u64
}

#[derive(Debug)]
pub(super) struct Rtc {
    events: Events,
    routed: u32,
    prescaler: u32,
    cc: [u32; REGISTERS],
    /// Ticks of 32.768 kHz at which each register is met, at which the counter wraps, and of the next count.
    meets: [u64; REGISTERS],
    wraps: u64,
    next: u64,
    count: u32,
    since: Option<u64>,
}

impl Rtc {
    pub(super) fn new(id: Id) -> Self {
        Self {
            events: Events::new(id),
            routed: 0,
            prescaler: 0,
            cc: [0; REGISTERS],
            meets: [u64::MAX; REGISTERS],
            wraps: u64::MAX,
            next: u64::MAX,
            count: 0,
            since: None,
        }
    }

    fn period(&self) -> u64 {
        u64::from(self.prescaler) + 1
    }
    fn counter(&self, now: u64) -> u32 {
        let past = self
            .since
            .map_or(0, |since| ticks(now).saturating_sub(since) / self.period());
        self.count.wrapping_add(past as u32) & MASK
    }
    fn settle(&mut self, now: u64) {
        let count = self.counter(now);
        let period = self.period();
        if let Some(since) = &mut self.since {
            *since += ticks(now).saturating_sub(*since) / period * period;
        }
        self.count = count;
    }

    fn ahead(&self, by: u64) -> u64 {
        self.since
            .map_or(u64::MAX, |since| since + by * self.period())
    }
    /// A register that is met at the next count may be missed, and is here (6.22.7).
    fn plan(&mut self, number: usize, now: u64) {
        self.settle(now);
        let ahead = u64::from(self.cc[number].wrapping_sub(self.count) & MASK);
        let ahead = if ahead < 2 {
            ahead + u64::from(MASK) + 1
        } else {
            ahead
        };
        self.meets[number] = self.ahead(ahead);
    }
    fn plan_all(&mut self, now: u64) {
        for number in 0..REGISTERS {
            self.plan(number, now);
        }
        self.wraps = self.ahead(u64::from(MASK - self.count) + 1);
        self.next = self.ahead(1);
    }

    const fn wants(&self, event: Event) -> bool {
        self.events.is_enabled(event) || self.routed >> event & 1 != 0
    }
    /// Events without a listener cost nothing (6.22.5).
    fn raise(&mut self, event: Event, wires: &mut Wires<'_>) {
        if self.wants(event) {
            self.events.raise(event, wires);
        }
    }
}

impl Device for Rtc {
    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn task(&mut self, now: u64, task: Task, _wires: &mut Wires<'_>) {
        self.settle(now);
        match task {
            0 if self.since.is_none() => self.since = Some(ticks(now)),
            1 => self.since = None,
            2 => self.count = 0,
            3 => self.count = 0xff_fff0,
            _ => return,
        }
        self.plan_all(now);
    }

    fn read(&mut self, now: u64, offset: u32) -> Option<u32> {
        Some(match offset {
            0x340..=0x348 => self.routed,
            0x504 => self.counter(now),
            0x508 => self.prescaler,
            0x540..0x550 => self.cc[(offset as usize - 0x540) / 4],
            _ => return None,
        })
    }

    fn write(&mut self, now: u64, offset: u32, value: u32) -> Option<()> {
        match offset {
            0x340 => self.routed = value,
            0x344 => self.routed |= value,
            0x348 => self.routed &= !value,
            0x508 => {
                self.settle(now);
                self.prescaler = value & 0xfff;
                self.plan_all(now);
            }
            0x540..0x550 => {
                let number = (offset as usize - 0x540) / 4;
                self.cc[number] = value & MASK;
                self.plan(number, now);
            }
            _ => return None,
        }
        Some(())
    }

    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        let (now, round) = (ticks(now), (u64::from(MASK) + 1) * self.period());
        for number in 0..REGISTERS {
            if self.meets[number] <= now {
                self.meets[number] += round;
                self.raise(COMPARE + number as u32, wires);
            }
        }
        if self.wraps <= now {
            self.wraps += round;
            self.raise(OVERFLOW, wires);
        }
        if self.wants(TICK) && self.next <= now {
            self.next = now - (now - self.next) % self.period() + self.period();
            self.raise(TICK, wires);
        }
    }

    fn due(&self) -> u64 {
        let met = self.meets.iter().copied().min().unwrap_or(u64::MAX);
        let next = if self.wants(TICK) {
            self.next
        } else {
            u64::MAX
        };
        match met.min(self.wraps).min(next) {
            u64::MAX => u64::MAX,
            tick => cycle_of(tick),
        }
    }
}
