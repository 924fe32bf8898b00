//! The driver on a model of the chip's registers, natively.
#![allow(clippy::unwrap_used)]

mod any_order;
mod bench;
mod clock;
mod node;
mod numbers;
mod overlaps;
mod peripherals;
mod radio;
mod recording;
