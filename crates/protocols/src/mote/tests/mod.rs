//! Whole nodes on small ideal networks. `bench.rs` watches that no engine leaves a transmission
//! pending when another has the radio.

mod bench;
mod company;
mod hops;
mod hosts;
mod idle;
mod nonsense;
mod on_line;
mod orders;
mod rendezvous;
mod sealed;
mod sealed_hops;
mod sealed_surveys;
mod sleepers;
mod stops;
mod together;
mod whole;
mod windows;
