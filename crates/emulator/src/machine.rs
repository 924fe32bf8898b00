//! A whole chip: core, memory and peripherals, which resets as the chip does.

use crate::core::{Core, Costs, Running, Stop};
use crate::memory::Memory;
use crate::soc::{Devices, Native, Program, ResetReason, Setup};

/// A chip that a world can run.
pub trait Chip {
    /// Runs to a cycle; what is in progress then may go a little beyond.
    ///
    /// # Errors
    /// [`Stop`] where its software cannot go on.
    fn run(&mut self, end: u64) -> Result<(), Stop>;
    /// Until which cycle nothing happens by itself; the present where software runs.
    fn idle_until(&self) -> u64;
    /// Its present, in cycles.
    fn now(&self) -> u64;
    /// Cycles in which its processor slept.
    fn asleep(&self) -> u64;
    /// Its peripherals.
    fn devices(&self) -> &Devices;
    /// Its peripherals, to change what is outside of them.
    fn devices_mut(&mut self) -> &mut Devices;
}

/// A chip with its core.
#[derive(Debug)]
pub struct Machine {
    core: Core<Devices>,
    vectors: u32,
    resets: u64,
}

impl Machine {
    /// A chip at power-on, with a program in `memory` whose vector table is at `vectors`.
    pub fn new(mut memory: Memory, vectors: u32, setup: Setup, costs: Costs) -> Self {
        let devices = Devices::new(setup, &mut memory);
        Self {
            core: Core::new(memory, devices, vectors, costs),
            vectors,
            resets: 0,
        }
    }
    /// The core.
    pub fn core(&self) -> &Core<Devices> {
        &self.core
    }
    /// The core, to change what is in memory.
    pub fn core_mut(&mut self) -> &mut Core<Devices> {
        &mut self.core
    }
    /// Power fails now, and comes again at once; `seed` decides what is left of a word or page that was being changed.
    pub fn cut_power(&mut self, seed: u64) {
        self.begin(|devices, memory, now| devices.cut_power(memory, now, seed));
    }
    /// Does to the chip around the core what `resets` it, and starts the core.
    fn begin(&mut self, resets: impl FnOnce(&mut Devices, &mut Memory, u64)) {
        let now = self.core.cycles();
        let Core {
            memory,
            peripherals,
            ..
        } = &mut self.core;
        resets(peripherals, memory, now);
        self.core.reset(self.vectors);
        self.core.nudge();
    }
    /// How often it was reset.
    pub fn resets(&self) -> u64 {
        self.resets
    }
}

impl Chip for Machine {
    fn run(&mut self, end: u64) -> Result<(), Stop> {
        while self.core.run(end)? == Running::Reset {
            let reason = match self.core.is_locked_up() {
                true => ResetReason::Lockup,
                false => self.core.peripherals.reset_reason(),
            };
            self.begin(|devices, memory, now| devices.reset(memory, now, reason));
            self.resets += 1;
        }
        Ok(())
    }
    fn idle_until(&self) -> u64 {
        self.core.idle_until()
    }
    fn now(&self) -> u64 {
        self.core.cycles()
    }
    fn asleep(&self) -> u64 {
        self.core.cycles_asleep()
    }
    fn devices(&self) -> &Devices {
        &self.core.peripherals
    }
    fn devices_mut(&mut self) -> &mut Devices {
        self.core.nudge();
        &mut self.core.peripherals
    }
}

impl<T: Program> Chip for Native<T> {
    fn run(&mut self, end: u64) -> Result<(), Stop> {
        Self::run(self, end);
        Ok(())
    }
    fn idle_until(&self) -> u64 {
        self.soc.idle_until(self.program.mask())
    }
    fn now(&self) -> u64 {
        self.soc.now()
    }
    fn asleep(&self) -> u64 {
        0
    }
    fn devices(&self) -> &Devices {
        &self.soc.devices
    }
    fn devices_mut(&mut self) -> &mut Devices {
        &mut self.soc.devices
    }
}

impl<C: Chip + ?Sized> Chip for Box<C> {
    fn run(&mut self, end: u64) -> Result<(), Stop> {
        (**self).run(end)
    }
    fn idle_until(&self) -> u64 {
        (**self).idle_until()
    }
    fn now(&self) -> u64 {
        (**self).now()
    }
    fn asleep(&self) -> u64 {
        (**self).asleep()
    }
    fn devices(&self) -> &Devices {
        (**self).devices()
    }
    fn devices_mut(&mut self) -> &mut Devices {
        (**self).devices_mut()
    }
}
