//! Chains of forwarders on simulated boards: what a chain is, one run of it, the highest rate at
//! which it loses nothing, the time of a packet through it (CIT, sections 3 to 5).
//!
//! Flow: [`Chain`] -> [`Chain::run`] -> [`Trial`]; [`Chain::highest_rate`] searches,
//! [`Chain::timeline`] shows. [`Pipe`] carries an object with PIP's own engine. Every number
//! comes out of the simulation packet by packet. Same chain, same seed: same bytes. Tests:
//! `tests.rs`.

mod chain;
mod pipeline;
mod search;
#[cfg(test)]
mod tests;
mod timeline;

pub use chain::{Bench, Chain, ChainError, Channels, ForwardingName, Nodes, Trial, UnfitBoard};
pub use pipeline::{Pipe, PipeObserver, PipeTrial};
pub use timeline::{timelines_svg, Bar, SpanLog, Timeline};

pub use thalweg_engine::Cca;
