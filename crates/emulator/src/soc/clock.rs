//! CLOCK and POWER, which share a place (product specification, 5.3, 5.4): crystals, USB's supply, and why the chip was reset.

use super::events::{Device, Event, Events, Task, Wires, MICROSECOND};
use super::usbd::SETTLES;

/// HFXO from task to event (5.4.4, typical).
const HFXO_START: u64 = 360 * MICROSECOND;
/// LFXO (5.4.4, typical).
const LFXO_START: u64 = 250_000 * MICROSECOND;
const HFCLK_STARTED: Event = 0;
const LFCLK_STARTED: Event = 1;
const USB_DETECTED: Event = 7;
const USB_REMOVED: Event = 8;
const USB_POWER_READY: Event = 9;

/// Why the chip was reset: bits of RESETREAS (5.3.7.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetReason {
    /// The watchdog.
    Watchdog,
    /// Software, by AIRCR.
    Software,
    /// The processor locked up.
    Lockup,
    /// Power came: no bit is set, and none is left.
    PowerOn,
}

impl ResetReason {
    const fn bit(self) -> u32 {
        match self {
            Self::Watchdog => 1 << 1,
            Self::Software => 1 << 2,
            Self::Lockup => 1 << 3,
            Self::PowerOn => 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crystal {
    Off,
    Starts { until: u64 },
    Runs,
}

impl Crystal {
    fn start(&mut self, now: u64, takes: u64) {
        if *self == Self::Off {
            *self = Self::Starts { until: now + takes };
        }
    }
    const fn due(self) -> u64 {
        match self {
            Self::Starts { until } => until,
            _ => u64::MAX,
        }
    }
    const fn asked(self) -> u32 {
        !matches!(self, Self::Off) as u32
    }
    /// As the STAT registers tell: the state and the source.
    const fn status(self) -> u32 {
        match self {
            Self::Runs => 1 << 16 | 1,
            _ => 0,
        }
    }
}

/// USB's supply. Plugging in and out take effect at a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vbus {
    Gone,
    Comes { at: u64 },
    Settles { until: u64 },
    There,
    Goes { at: u64 },
}

impl Vbus {
    const fn due(self) -> u64 {
        match self {
            Self::Comes { at } | Self::Goes { at } | Self::Settles { until: at } => at,
            Self::Gone | Self::There => u64::MAX,
        }
    }
    /// USBREGSTATUS (5.3.7).
    const fn status(self) -> u32 {
        match self {
            Self::Gone | Self::Goes { .. } => 0,
            Self::Comes { .. } | Self::Settles { .. } => 1,
            Self::There => 3,
        }
    }
}

#[derive(Debug)]
pub(super) struct Clock {
    events: Events,
    vbus: Vbus,
    high: Crystal,
    low: Crystal,
    low_source: u32,
    reasons: u32,
    retained: [u32; 2],
    converter: u32,
    /// Cycles in which HFXO ran, up to its last stop.
    high_since: u64,
    high_spent: u64,
}

impl Clock {
    pub(super) const fn new() -> Self {
        Self {
            events: Events::new(0),
            vbus: Vbus::Gone,
            high: Crystal::Off,
            low: Crystal::Off,
            low_source: 0,
            reasons: 0,
            retained: [0; 2],
            converter: 0,
            high_since: 0,
            high_spent: 0,
        }
    }
    /// VBUS comes or goes.
    pub(super) fn plug(&mut self, now: u64) {
        self.vbus = Vbus::Comes { at: now };
    }
    pub(super) fn unplug(&mut self, now: u64) {
        self.vbus = Vbus::Goes { at: now };
    }
    /// The same after a reset, which keeps its reasons, GPREGRET and what is plugged in.
    pub(super) fn reset(&mut self, now: u64, reason: ResetReason) {
        let (reasons, retained) = match reason {
            ResetReason::PowerOn => (0, [0; 2]),
            _ => (self.reasons | reason.bit(), self.retained),
        };
        *self = Self {
            high_spent: self.crystal_cycles(now),
            reasons,
            retained,
            vbus: self.vbus,
            ..Self::new()
        };
    }
    pub(super) fn has_crystal(&self) -> bool {
        self.high == Crystal::Runs
    }
    /// Cycles in which HFXO was on.
    pub(super) fn crystal_cycles(&self, now: u64) -> u64 {
        let on = if self.high == Crystal::Off {
            0
        } else {
            now - self.high_since
        };
        self.high_spent + on
    }
}

impl Device for Clock {
    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn task(&mut self, now: u64, task: Task, _wires: &mut Wires<'_>) {
        match task {
            0 => {
                if self.high == Crystal::Off {
                    self.high_since = now;
                }
                self.high.start(now, HFXO_START);
            }
            1 => {
                self.high_spent = self.crystal_cycles(now);
                self.high = Crystal::Off;
            }
            2 => self.low.start(now, LFXO_START),
            3 => self.low = Crystal::Off,
            // CONSTLAT, LOWPWR and calibration cost nothing here.
            _ => (),
        }
    }

    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        Some(match offset {
            0x400 => self.reasons,
            0x408 => self.high.asked(),
            0x40c => self.high.status(),
            0x414 => self.low.asked(),
            0x418 => self.low.status() & 1 << 16 | self.low_source & 3,
            0x438 => self.vbus.status(),
            0x518 => self.low_source,
            0x51c => self.retained[0],
            0x520 => self.retained[1],
            0x578 => self.converter,
            // MAINREGSTATUS (5.3.7): the chip is supplied at VDD.
            0x640 => 0,
            _ => return None,
        })
    }

    fn write(&mut self, _now: u64, offset: u32, value: u32) -> Option<()> {
        match offset {
            0x400 => self.reasons &= !value,
            0x518 => self.low_source = value,
            0x51c => self.retained[0] = value & 0xff,
            0x520 => self.retained[1] = value & 0xff,
            0x578 => self.converter = value & 1,
            _ => return None,
        }
        Some(())
    }

    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        let crystals = [
            (&mut self.high, HFCLK_STARTED),
            (&mut self.low, LFCLK_STARTED),
        ];
        for (crystal, event) in crystals {
            if crystal.due() <= now {
                *crystal = Crystal::Runs;
                self.events.raise(event, wires);
            }
        }
        if self.vbus.due() <= now {
            let (next, event) = match self.vbus {
                Vbus::Comes { at } => (
                    Vbus::Settles {
                        until: at + SETTLES,
                    },
                    USB_DETECTED,
                ),
                Vbus::Settles { .. } => (Vbus::There, USB_POWER_READY),
                Vbus::Goes { .. } | Vbus::Gone | Vbus::There => (Vbus::Gone, USB_REMOVED),
            };
            self.vbus = next;
            self.events.raise(event, wires);
        }
    }
    fn due(&self) -> u64 {
        let crystals = self.high.due().min(self.low.due());
        crystals.min(self.vbus.due())
    }
}
