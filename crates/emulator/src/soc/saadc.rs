//! SAADC (product specification, 6.23): its first channel measures what supplies the chip, 3.0 V at VDD.
//!
//! Not modelled: pins, the other channels, series of results, limits, calibration, oversampling.

use super::events::{Device, Event, Events, Id, Task, Wires, MICROSECOND};

const STARTED: Event = 0;
const END: Event = 1;
const DONE: Event = 2;
const RESULTDONE: Event = 3;
const STOPPED: Event = 5;
/// A conversion beside the time to settle (6.23.5: 2 us).
const CONVERTS: u64 = 2 * MICROSECOND;
/// Times to settle, by CONFIG.TACQ, in microseconds.
const SETTLES: [u64; 6] = [3, 5, 10, 15, 20, 40];
/// Gains by CONFIG.GAIN, 1/6 to 4, in sixtieths.
const SIXTIETHS: [i64; 8] = [10, 12, 15, 20, 30, 60, 120, 240];
/// Of PSELP: VDD. Nothing is at other inputs.
const VDD: u32 = 9;
/// What VDD has, in millivolts.
const SUPPLY_MV: u32 = 3_000;

#[derive(Debug)]
pub(super) struct Saadc {
    events: Events,
    enabled: bool,
    input: u32,
    config: u32,
    resolution: u32,
    pointer: u32,
    most: u32,
    amount: u32,
    /// It was started, and has room for results.
    started: bool,
    due: u64,
}

impl Saadc {
    pub(super) const fn new(id: Id) -> Self {
        Self {
            events: Events::new(id),
            enabled: false,
            input: 0,
            config: 0x2_0000,
            resolution: 1,
            pointer: 0,
            most: 0,
            amount: 0,
            started: false,
            due: u64::MAX,
        }
    }

    /// The result: V(P) times gain over reference (6.23.2).
    fn result(&self) -> i16 {
        let gain = SIXTIETHS[(self.config >> 8 & 7) as usize];
        let millivolts = if self.input == VDD { SUPPLY_MV } else { 0 };
        // The internal reference is .6 V, the other a quarter of VDD.
        let reference = match self.config >> 12 & 1 {
            0 => 600,
            _ => SUPPLY_MV / 4,
        };
        let bits = 8 + 2 * self.resolution.min(3);
        let full = 1_i64 << bits;
        let counts = i64::from(millivolts) * gain * full / 60 / i64::from(reference);
        counts.min(full - 1) as i16
    }
}

impl Device for Saadc {
    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }
    fn task(&mut self, now: u64, task: Task, wires: &mut Wires<'_>) {
        match task {
            _ if !self.enabled => (),
            0 => {
                (self.started, self.amount) = (true, 0);
                self.events.raise(STARTED, wires);
            }
            1 if self.started && self.due == u64::MAX => {
                let settles = SETTLES.get((self.config >> 16 & 7) as usize);
                self.due = now + settles.unwrap_or(&40) * MICROSECOND + CONVERTS;
            }
            2 => {
                (self.started, self.due) = (false, u64::MAX);
                self.events.raise(STOPPED, wires);
            }
            _ => (),
        }
    }
    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        match offset {
            0x400 => Some(u32::from(self.due != u64::MAX)),
            0x500 => Some(u32::from(self.enabled)),
            0x510 => Some(self.input),
            0x514 => Some(0),
            0x518 => Some(self.config),
            0x5f0 => Some(self.resolution),
            0x62c => Some(self.pointer),
            0x630 => Some(self.most),
            0x634 => Some(self.amount),
            _ => None,
        }
    }
    fn write(&mut self, _now: u64, offset: u32, value: u32) -> Option<()> {
        match offset {
            0x500 => {
                self.enabled = value & 1 != 0;
                if !self.enabled {
                    (self.started, self.due) = (false, u64::MAX);
                }
            }
            0x510 => self.input = value & 0x1f,
            // Against ground only.
            0x514 if value == 0 => (),
            0x518 => self.config = value,
            0x5f0 => self.resolution = value & 3,
            0x62c => self.pointer = value,
            0x630 => self.most = value & 0x7fff,
            _ => return None,
        }
        Some(())
    }
    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        if self.due > now {
            return;
        }
        self.due = u64::MAX;
        self.events.raise(DONE, wires);
        self.events.raise(RESULTDONE, wires);
        if self.amount < self.most {
            let at = self.pointer.saturating_add(2 * self.amount);
            // DMA reaches RAM alone; a result for elsewhere is lost.
            let _ = wires.memory.write_ram(at, &self.result().to_le_bytes());
            self.amount += 1;
        }
        if self.amount == self.most {
            self.started = false;
            self.events.raise(END, wires);
        }
    }
    fn due(&self) -> u64 {
        self.due
    }
}
