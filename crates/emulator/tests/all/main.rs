//! The emulator against an independent decoder, the chip's facts and the real images.
//!
//! Images need `firmware/images.sh none` first: `cargo test -p thalweg-emulator --test all images:: -- --ignored`.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

mod babblesim;
mod devices;
mod ecb;
mod gauge;
mod images;
mod lockstep;
mod power;
mod relays;
mod speed;
mod two_chips;
mod usb;
