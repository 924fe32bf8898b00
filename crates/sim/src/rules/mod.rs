//! What happens in a [`crate::world::World`]: one file for each part of it.
//!
//! Each adds to the world what it does, and none names another.

mod acks;
mod background;
mod conditional;
mod fault;
mod flight;
mod operations;
mod sensing;
mod software;
mod start;
mod watch;
