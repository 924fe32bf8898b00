//! What comes from outside, and must never make anything panic, hang or grow without bound: frames from the air,
//! events of a radio, bytes of a line, requests to a gateway, files that users give.
//!
//! Each target takes any bytes, and panics where something does not hold. `fuzz/` looks for bytes that do so;
//! `tests/seeds.rs` tries those in `fuzz/seeds/` with every `cargo test`.

// A target says what does not hold by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

mod files;
mod http;
mod line;
mod mote;
mod wire;

pub use files::{config, experiment, k7, links, matrix, testbed};
pub use http::http;
pub use line::{host, link};
pub use mote::mote;
pub use wire::wire;

/// A target.
pub type Target = fn(&[u8]);

/// Every target, by its name in `fuzz/`.
pub const TARGETS: [(&str, Target); 11] = [
    ("wire", wire),
    ("host", host),
    ("link", link),
    ("mote", mote),
    ("k7", k7),
    ("matrix", matrix),
    ("links", links),
    ("testbed", testbed),
    ("config", config),
    ("experiment", experiment),
    ("http", http),
];
