//! Motes of nRF52840 chips that run their real image: a Cortex-M4F, the chip's peripherals, and Thalweg's air.
//!
//! A [`machine::Machine`] is one chip, whose [`core`] interprets the image that [`elf::load`] put into its memory and
//! whose peripherals are [`soc::Devices`]. A [`soc::Soc`] is a chip without a core, for drivers that run on the host.
//! A [`world::World`] is many of either, over a [`thalweg_medium::Medium`]. Nothing here was compared with silicon:
//! each time has its source beside it. Same inputs, same bytes, on every machine.

pub mod core;
pub mod crystal;
pub mod elf;
pub mod ledger;
pub mod machine;
mod memory;
pub mod network;
pub mod perturbation;
pub mod soc;
pub mod world;

pub use memory::{Memory, FICR_BASE, FLASH_BYTES, PAGE_BYTES, RAM_BASE, RAM_BYTES, UICR_BASE};
