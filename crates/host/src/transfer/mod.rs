//! How objects travel: a file for each protocol family, with its nodes, terms and jobs. Families of streams share the
//! job in [`stream`].

pub mod account;
#[cfg(test)]
mod beside;
pub mod burst;
pub mod fastforward;
pub mod hops;
pub mod log;
pub mod pipeline;
pub mod rcrt;
pub mod reroute;
pub mod session;
pub mod stream;
pub mod terms;

#[cfg(test)]
mod tests;
