//! The command line as a client of `thalweg gateway`: jobs, objects and transfers of a daemon, over its HTTP API.
//!
//! `http` sends requests, `events` and `follow` watch jobs, `model` has the answers' types; `collect`, `jobs` and
//! `objects` are the commands. Tests: `tests/all/gateway/client.rs`.

mod collect;
mod events;
mod follow;
mod http;
mod jobs;
mod model;
mod objects;
mod report;

pub(crate) use collect::run as collect;
pub(crate) use jobs::run as jobs;
pub(crate) use objects::run as objects;
