//! A chip without a core: a driver that runs on the host against the same registers.

use super::{Devices, Setup};
use crate::core::{Peripherals, Written};
use crate::memory::Memory;

/// Memory and peripherals, with time that passes as the driver reads, writes and waits.
#[derive(Debug)]
pub struct Soc {
    /// The memories.
    pub memory: Memory,
    /// The peripherals.
    pub devices: Devices,
    now: u64,
    access: u64,
}

impl Soc {
    /// A chip at power-on, where each access to a register takes `access` cycles.
    pub fn new(setup: Setup, access: u64) -> Self {
        let mut memory = Memory::default();
        let devices = Devices::new(setup, &mut memory);
        Self {
            memory,
            devices,
            now: 0,
            access,
        }
    }

    /// The present, in cycles.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Reads a word of a register or of memory; nought where nothing is.
    pub fn read(&mut self, address: u32) -> u32 {
        let here = self
            .memory
            .read(address, 4)
            .and_then(|bytes| bytes.try_into().ok());
        if let Some(bytes) = here {
            return u32::from_le_bytes(bytes);
        }
        self.advance(self.access);
        let read = self.devices.read(&mut self.memory, self.now, address);
        read.unwrap_or(0)
    }

    /// Writes a word of a register or of RAM. Says whether something was there.
    pub fn write(&mut self, address: u32, value: u32) -> bool {
        if self.memory.write_ram(address, &value.to_le_bytes()) {
            return true;
        }
        self.advance(self.access);
        let written = self
            .devices
            .write(&mut self.memory, self.now, address, value);
        if let Some(Written::Stalls(cycles)) = written {
            self.advance(cycles);
        }
        written.is_some()
    }

    /// Power fails so many cycles ago, and comes again: `seed` decides what is left of what was being changed.
    pub fn cut_power(&mut self, ago: u64, seed: u64) {
        let at = self.now.saturating_sub(ago);
        self.devices.cut_power(&mut self.memory, at, seed);
        self.advance(0);
    }

    /// Until which cycle no interrupt of `mask` is asked for and nothing happens by itself.
    pub(crate) fn idle_until(&self, mask: u64) -> u64 {
        match self.devices.lines() & mask {
            0 => self.devices.due(),
            _ => self.now,
        }
    }

    /// Time passes.
    pub fn advance(&mut self, cycles: u64) {
        self.advance_to(self.now + cycles);
    }
    /// Time passes up to a cycle.
    pub fn advance_to(&mut self, cycle: u64) {
        self.now = self.now.max(cycle);
        self.devices.advance(&mut self.memory, self.now);
    }
    /// Time passes until one of the interrupts `mask` is asked for, at most to cycle `limit`. Gives those that are.
    pub fn wait(&mut self, mask: u64, limit: u64) -> u64 {
        loop {
            let lines = self.devices.lines() & mask;
            let next = self.devices.due();
            if lines != 0 || next > limit {
                if lines == 0 {
                    self.advance_to(limit);
                }
                return lines;
            }
            self.advance_to(next);
        }
    }
}

/// Software on the host that takes a chip's interrupts.
pub trait Program {
    /// Which interrupts it takes, interrupt 0 lowest.
    fn mask(&self) -> u64;
    /// Some of them are asked for. It must quiet them, else it is called again at once.
    fn interrupt(&mut self, soc: &mut Soc, lines: u64);
}

/// A chip whose software runs on the host.
#[derive(Debug)]
pub struct Native<T> {
    /// The chip.
    pub soc: Soc,
    /// Its software.
    pub program: T,
}

impl<T: Program> Native<T> {
    /// Runs to cycle `end`.
    pub fn run(&mut self, end: u64) {
        let mask = self.program.mask();
        while self.soc.now() < end {
            let lines = self.soc.wait(mask, end);
            if lines != 0 {
                self.program.interrupt(&mut self.soc, lines);
                // Entry and return take time, so an interrupt that is not quieted does not stop it.
                self.soc.advance(24);
            }
        }
    }
}
