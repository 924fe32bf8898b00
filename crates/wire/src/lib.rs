//! Frames of Thalweg: what is on the air, as bytes and parsed. `no_std`, no allocation.
//!
//! Owns: the IEEE 802.15.4 PHY's sizes and air time ([`phy`]), the MAC header and FCS ([`mac`]), and one module per
//! protocol's own header: a `Repr` with `parse` and `emit`. Parsing any bytes never panics, and `parse(emit(r)) == r`.
//! Where bytes are something else, `parse` fails; where they do not fit, `emit` does ([`WireError`]). Every frame begins
//! with a MAC header, the three bytes of [`mac`] or, where single links are acknowledged, the nine of
//! [`addressed::Header`], and a [`dispatch`] byte. Frames are carried *without* their FCS: hardware appends and checks it.
#![no_std]

pub mod addressed;
pub mod beacon;
mod bits;
pub mod buf;
pub mod dispatch;
pub mod flood;
pub mod forward;
pub mod hop;
pub mod host;
pub mod ifrc;
pub mod levels;
pub mod mac;
pub mod muster;
pub mod phy;
pub mod pipeline;
pub mod rcrt;
pub mod report;
pub mod rouse;
pub mod route;
pub mod seal;
pub mod stream;
pub mod sweep;
pub mod tree;

pub use buf::{FrameBuf, Reader, WireError, Writer};
