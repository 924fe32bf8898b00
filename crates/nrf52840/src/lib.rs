//! An nRF52840 as the engine contract's radio and clock, and what else a mote needs of the chip.
//!
//! Owns: registers by address, the order in which they are read and written, and what their events mean. Everything
//! goes through [`Registers`], so the same code runs on the chip, on an emulated one and natively on a model. Numbers
//! are the product specification's (clauses of v1.7, from memory), or say what else they come from. `no_std`, no
//! allocation. Time base: ticks of 62.5 ns of TIMER3, see [`clock`]. Nothing here has run on silicon. Tests: `tests/all/`.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod checksum;
pub mod chip;
pub mod clock;
mod digest;
pub mod dma;
pub mod ecb;
pub mod fault;
pub mod flash;
pub mod gauge;
pub mod host;
pub mod identity;
pub mod keys;
pub mod layout;
pub mod mark;
pub mod numbers;
pub mod radio;
pub mod random;
pub mod recording;
pub mod registers;
pub mod reset;
pub mod tick;
pub mod uart;
pub mod usb;
pub mod watchdog;

pub use chip::Registers;
