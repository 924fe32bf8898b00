//! Thalweg's protocol engines: one folder per system.
//!
//! Every engine is a state machine over the contract of `thalweg-engine`: no I/O, no allocation,
//! no clock of its own. `no_std`. Each folder's README names the paper's sections that it
//! implements and every deviation.
//!
//! Two motes on the ideal network of `thalweg-engine`, where the first is told to measure the links between them:
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use thalweg_engine::harness::{Fate, Net};
//! use thalweg_engine::BoardTiming;
//! use thalweg_protocols::floodnet::{Config, Event::Measured};
//! use thalweg_protocols::linkprobe::{Measure, NodeList};
//! use thalweg_protocols::mote::{Command, Event, Mote};
//! use thalweg_protocols::object::NoObject;
//! use thalweg_units::{ChannelSet, Channel, Duration, NodeId};
//!
//! let timing = BoardTiming::IDEAL;
//! let mote = |id| Mote::<_, 32, 16>::new(id, Config::default(), timing, NoObject);
//! let motes = vec![mote(NodeId::new(0)?), mote(NodeId::new(1)?)];
//! let mut net = Net::new(motes, timing, |_air| Fate::Heard);
//! let (channels, interval) = (ChannelSet::from_iter([Channel::new(26)?]), Duration::from_millis(10));
//! let order = Measure::new(NodeList::range(0, 2)?, channels, 4, interval)?;
//! net.command(0, Command::Measure(order));
//! net.run_for(Duration::from_secs(1));
//! let is_measured = |event: &Event| matches!(event, Event::Floods(Measured { nodes: 2, .. }));
//! assert!(net.take_events().iter().any(|(_at, _mote, event)| is_measured(event)));
//! # Ok(())
//! # }
//! ```
//!
//! A family of protocols is a cargo feature; all are on by default:
//!
//! | feature | what |
//! |---|---|
//! | `pipeline` | floods, surveys, P3, PIP and Thalweg's own protocol: the whole `mote` |
//! | `tree` | carrier sense and collection trees |
//! | `rcrt`, `fusion`, `ifrc` | what stands on trees, each with `tree` |
//! | `fastforward` | streams over two radios, and burst forwarding |
//! | `forward` | chains of forwarders, copying and conditional |
//! | `member` | a node that is a mote and a source of RCRT's, and a base station's line; with `pipeline` and `rcrt` |
//! | `std` | RCRT's sink, which runs on a computer |
#![no_std]
// Families share helpers: with fewer families some are not called.
#![cfg_attr(
    not(all(
        feature = "member",
        feature = "fusion",
        feature = "ifrc",
        feature = "fastforward",
        feature = "forward"
    )),
    allow(dead_code)
)]

#[cfg(any(test, feature = "std"))]
extern crate std;

#[cfg(feature = "pipeline")]
mod bits;
#[cfg(feature = "fastforward")]
pub mod burst;
#[cfg(feature = "pipeline")]
pub mod collection;
#[cfg(feature = "tree")]
pub mod csma;
#[cfg(feature = "fastforward")]
pub mod fastforward;
#[cfg(feature = "pipeline")]
pub mod floodnet;
#[cfg(feature = "forward")]
pub mod forward;
#[cfg(feature = "fusion")]
pub mod fusion;
#[cfg(feature = "pipeline")]
pub mod glossy;
#[cfg(feature = "ifrc")]
pub mod ifrc;
#[cfg(feature = "member")]
pub mod line;
#[cfg(feature = "pipeline")]
pub mod linkprobe;
#[cfg(feature = "member")]
pub mod member;
#[cfg(feature = "pipeline")]
pub mod mote;
pub mod object;
#[cfg(feature = "pipeline")]
pub mod p3;
#[cfg(feature = "pipeline")]
pub mod pip;
#[cfg(feature = "pipeline")]
pub mod pipeline;
mod radio;
#[cfg(feature = "member")]
#[cfg(test)]
mod ram_tests;
#[cfg(feature = "rcrt")]
pub mod rcrt;
mod ring;
mod rng;
#[cfg(feature = "pipeline")]
pub mod rouse;
pub mod seals;
#[cfg(feature = "tree")]
pub mod stack;
#[cfg(feature = "pipeline")]
pub mod sweep;
#[cfg(feature = "pipeline")]
pub mod thalweg;
mod timer;
#[cfg(feature = "tree")]
pub mod tree;
