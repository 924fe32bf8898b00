//! A network of motes that run their images, in the air of a site.
//!
//! Each mote has a crystal and a receive chain of its own, drawn from a seed. Time base: [`SimTime`]. Invariant: same
//! images, site, seed and perturbation, same bytes. Tests: below, and `.ci/emulated.py`.

use crate::core::Costs;
use crate::crystal::Crystal;
use crate::elf::{self, ElfError, Image};
use crate::ledger::Spent;
use crate::machine::Machine;
use crate::memory::Memory;
use crate::perturbation::Perturbation;
use crate::soc::{RadioTimes, Setup, Times};
use crate::world::{Counts, Stopped, World};
use std::sync::Arc;
use thalweg_medium::random::{derive, normal, stream};
use thalweg_medium::{Environment, Medium};
use thalweg_units::{Duration, SimTime};

/// Crystals are sold as +-20 ppm, which is taken as two sigma (`boards/nrf52840.toml`); in parts in 10^9.
const DRIFT_SIGMA_PPB: f64 = 10_000.0;
/// Motes are switched on within this time.
const SWITCHED_ON_WITHIN: Duration = Duration::from_millis(500);

/// Which line a host is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// UARTE0.
    Uart,
    /// USB, into which it is plugged.
    Usb,
}

/// What a mote's flash has.
#[derive(Debug, Clone, Copy)]
pub struct Flash<'a> {
    /// Its program, an ELF file.
    pub image: &'a [u8],
    /// Its identity: where it is, and its bytes.
    pub identity: (u32, &'a [u8]),
    /// The same of its keys, where it has some.
    pub keys: Option<(u32, &'a [u8])>,
}

/// Has the chip, which starts at the vector table at 0 (ARMv7-M B1.5.5), start the image at `vectors`: what there is of
/// a boot loader here. It gives the image its stack and its start, and no more; where the table is, the image must say.
fn boot(memory: &mut Memory, vectors: u32) {
    let start: Option<[u8; 8]> = memory.fixed(vectors);
    // Flash has a word at 0; an image at 0 is its own start.
    let _placed = start.is_some_and(|start| memory.program(0, &start));
}

/// The network.
pub struct Network {
    world: World<Machine>,
    images: Vec<Image>,
}

impl Network {
    /// A mote for each ear of `environment`, switched on.
    ///
    /// # Errors
    /// [`ElfError`] where one's image is no program, or its identity belongs where there is no flash.
    pub fn open(
        environment: Arc<Environment>,
        motes: &[Flash<'_>],
        (seed, perturbation): (u64, Perturbation),
    ) -> Result<Self, ElfError> {
        let medium = Medium::new(environment, derive(seed, "air", &[]));
        let mut world = World::new(medium, perturbation, seed);
        let mut images = Vec::new();
        let costs = perturbation.costs(Costs::CORTEX_M4);
        for (number, flash) in motes.iter().enumerate() {
            let mut memory = Memory::default();
            images.push(elf::load(flash.image, &mut memory)?);
            for (address, bytes) in [flash.identity].into_iter().chain(flash.keys) {
                if !memory.program(address, bytes) {
                    return Err(ElfError::Place { address });
                }
            }
            let radio = perturbation.radio(RadioTimes::TYPICAL, number, seed);
            let identity = derive(seed, "device", &[number as u64]);
            let setup = Setup { identity, radio };
            boot(&mut memory, images.last().map_or(0, |image| image.vectors));
            let machine = Machine::new(memory, 0, setup, costs);
            let mut draw = stream(seed, "crystal", &[number as u64]);
            let drawn = (DRIFT_SIGMA_PPB * normal(&mut draw)) as i32;
            let ppb = perturbation.drift(number, drawn);
            let late = derive(seed, "boot", &[number as u64]) % SWITCHED_ON_WITHIN.as_nanos();
            world.add(machine, Crystal::new(SimTime::from_nanos(late), ppb));
        }
        Ok(Self { world, images })
    }

    /// True time up to which everything has happened.
    pub fn now(&self) -> SimTime {
        self.world.now()
    }
    /// Runs to a true time.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run_until(&mut self, end: SimTime) -> Result<(), Stopped> {
        self.world.run_until(end)
    }
    /// A host is plugged into a mote's USB.
    pub fn plug(&mut self, mote: usize) {
        if let Some((now, devices)) = self.world.devices_mut(mote) {
            devices.plug(now);
        }
    }
    /// The host puts bytes on the line to a mote.
    pub fn send_line(&mut self, mote: usize, line: Line, bytes: &[u8]) {
        match (self.world.devices_mut(mote), line) {
            (Some((now, devices)), Line::Uart) => devices.send_line(now, bytes),
            (Some((now, devices)), Line::Usb) => devices.send_usb(now, bytes),
            (None, _) => {}
        }
    }
    /// Bytes that are still on the serial line to a mote.
    pub fn line_waiting(&mut self, mote: usize) -> usize {
        let devices = self.world.devices_mut(mote);
        devices.map_or(0, |(_, devices)| devices.line_waiting())
    }
    /// The host takes what a mote has put on the line.
    pub fn take_line(&mut self, mote: usize, line: Line) -> Vec<u8> {
        match (self.world.devices_mut(mote), line) {
            (Some((_, devices)), Line::Uart) => devices.take_line(),
            (Some((now, devices)), Line::Usb) => devices.take_usb(now),
            (None, _) => Vec::new(),
        }
    }
    /// What has happened on the air.
    pub fn counts(&self) -> Counts {
        self.world.counts()
    }
    /// For how long a mote's parts were in which state.
    pub fn spent(&self, mote: usize) -> Spent {
        self.world.spent(mote)
    }
    /// Bytes of stack that a mote has ever used, and of RAM that its statics take.
    pub fn memory(&self, mote: usize) -> Option<(u32, u32)> {
        let (image, chip) = (self.images.get(mote)?, self.world.chip(mote)?);
        let statics = image.statics.end - image.statics.start;
        Some((image.stack_bytes(&chip.core().memory), statics))
    }
    /// How many motes there are.
    pub fn motes(&self) -> usize {
        self.images.len()
    }
    /// How soon after frames that came in and went out a mote has armed starts.
    pub fn starts(&self, mote: usize) -> Option<[&Times; 2]> {
        let chip = self.world.chip(mote)?;
        Some(chip.core().peripherals.starts())
    }
    /// How often a mote was reset.
    pub fn resets(&self, mote: usize) -> u64 {
        self.world.chip(mote).map_or(0, Machine::resets)
    }
    /// Its motes and their air.
    pub const fn world(&self) -> &World<Machine> {
        &self.world
    }
    /// The same, to look closer.
    pub fn world_mut(&mut self) -> &mut World<Machine> {
        &mut self.world
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chip_is_told_an_images_start_and_nothing_else() {
        let start = [0, 0, 1, 0x20, 0x41, 0x10, 0, 0];
        let table = [&start[..], &[7; 8]].concat();
        let mut memory = Memory::default();
        let erased = memory.read(8, 8).map(<[u8]>::to_vec);
        assert!(memory.program(0x1000, &table));
        boot(&mut memory, 0x1000);
        assert_eq!(memory.read(0, 8), Some(&start[..]));
        assert_eq!(memory.read(8, 8), erased.as_deref());
        // An image at 0 stays as it is.
        assert!(memory.program(0, &table));
        boot(&mut memory, 0);
        assert_eq!(memory.read(0, 16), Some(&table[..]));
    }
}
