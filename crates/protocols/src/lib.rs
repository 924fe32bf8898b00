//! Thalweg's protocol engines: one folder per system.
//!
//! Every engine is a state machine over the contract of `thalweg-engine`: no I/O, no allocation,
//! no clock of its own. `no_std`. Each folder's README names the paper's sections that it
//! implements and every deviation. What only a gateway does is behind the feature `std`.
#![no_std]

#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod blocks;
pub mod burst;
pub mod collection;
pub mod csma;
mod due;
pub mod fastforward;
mod fifo;
pub mod floodnet;
pub mod forward;
#[cfg(any(test, feature = "std"))]
pub mod fountain;
pub mod fusion;
pub mod glossy;
pub mod linkprobe;
pub mod mote;
pub mod object;
pub mod p3;
pub mod p3dual;
pub mod pip;
pub mod pipeline;
mod rng;
pub mod stack;
pub mod tree;
