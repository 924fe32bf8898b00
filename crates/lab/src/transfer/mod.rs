//! Transfers: a testbed's network under the command of its sink, from link survey to a verified
//! object. Everything measured comes from the simulation of the nodes' engines.

mod object;
mod report;
mod session;

pub use object::{digest, Memory};
pub use report::Outcome;
pub use session::{
    Node, Observer, Protocol, Session, SessionError, Step, Survey, Surveyed, Terms, MAX_NODES,
};
