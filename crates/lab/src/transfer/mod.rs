//! Transfers: a testbed's network under the command of its sink, from link survey to a verified
//! object. Everything measured comes from the simulation of the nodes' engines.

mod fetch;
mod log;
mod object;
mod report;
mod session;
mod survey;

pub(crate) use fetch::{active_nodes, mean_pause};
pub use fetch::{Protocol, Terms};
pub use object::{digest, Memory};
pub use report::Outcome;
pub(crate) use session::carries_transfers;
pub use session::{Node, Observer, Session, SessionError, Step, MAX_NODES};
pub use survey::{Survey, Surveyed};
