//! What Nordic's errata of the nRF52840 ask of USBD's drivers. Registers and values are those of Zephyr's driver and of
//! nrf-usbd 0.3; nobody here has read the errata.
//!
//! 171 (USBD may not become active) and 187 (it cannot be enabled) are around enabling, 199 (no tasks during DMA) around
//! each DMA; 223 (unexpected behaviour after a reset) has USBD enabled twice, see `bus`. 166 is of isochronous
//! endpoints, and 211 of low power, which nobody uses.

use crate::Registers;

/// Opens and closes the registers behind it.
const LOCK: u32 = 0x4006_EC00;
const KEY: u32 = 0x9375;
/// Anomalies 171 and 187: what is written there while USBD is enabled.
const ENABLING: [(u32, u32); 2] = [(0x4006_ED14, 3), (0x4006_EC14, 0xC0)];
/// Anomaly 199.
const DMA: u32 = 0x4002_7C1C;

fn unlocked(r: &mut impl Registers, at: u32, value: u32) {
    match r.read(LOCK) {
        0 => {
            for (at, value) in [(LOCK, KEY), (at, value), (LOCK, KEY)] {
                r.write(at, value);
            }
        }
        _ => r.write(at, value),
    }
}

/// Before USBD is enabled.
pub(super) fn enabling_begins(r: &mut impl Registers) {
    for (at, value) in ENABLING {
        unlocked(r, at, value);
    }
}
/// When it is ready.
pub(super) fn enabling_ends(r: &mut impl Registers) {
    for (at, _) in ENABLING.into_iter().rev() {
        unlocked(r, at, 0);
    }
}
/// Before a DMA's task.
pub(super) fn dma_begins(r: &mut impl Registers) {
    r.write(DMA, 0x82);
}
/// When it is over.
pub(super) fn dma_ends(r: &mut impl Registers) {
    r.write(DMA, 0);
}
