//! Motes of nRF52840 chips that run their real image: a Cortex-M4F, the chip's peripherals, and Thalweg's air.

pub mod core;
mod memory;
pub mod soc;

pub use memory::{Memory, FICR_BASE, FLASH_BYTES, PAGE_BYTES, RAM_BASE, RAM_BYTES, UICR_BASE};
