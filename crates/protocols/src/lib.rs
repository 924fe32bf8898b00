//! Thalweg's protocol engines: one folder per system.
//!
//! Every engine is a state machine over the contract of `thalweg-engine`: no I/O, no allocation,
//! no clock of its own. `no_std`. Each folder's README names the paper's sections that it
//! implements and every deviation.
#![no_std]

#[cfg(any(test, feature = "std"))]
extern crate std;

mod bits;
pub mod burst;
pub mod collection;
pub mod csma;
pub mod fastforward;
pub mod floodnet;
pub mod forward;
pub mod fusion;
pub mod glossy;
pub mod ifrc;
pub mod line;
pub mod linkprobe;
pub mod member;
pub mod mote;
pub mod object;
pub mod p3;
pub mod pip;
pub mod pipeline;
mod radio;
#[cfg(test)]
mod ram_tests;
pub mod rcrt;
mod ring;
mod rng;
pub mod rouse;
pub mod seals;
pub mod stack;
pub mod sweep;
pub mod thalweg;
mod timer;
pub mod tree;
