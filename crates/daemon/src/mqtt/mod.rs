//! What the daemon sends to a broker of MQTT (3.1.1): objects, states of nodes, its own presence.
//!
//! Messages are rows of the store's outbox; [`client`] sends them in order and lets them go once the broker has
//! acknowledged them. Where the configuration allows buttons, a broker's messages ask for surveys and objects, and for
//! nothing else. Time base: wall clock. Not done: TLS. Tests:
//! at the end of each file, `crates/daemon/tests/all/broker.rs`, `.ci/mqtt.py`.

mod batch;
mod client;
mod config;
pub(super) mod home;
pub(super) mod messages;
mod state;
mod topics;

pub(super) use client::{serve, Source};
pub use config::MqttConfig;
pub(super) use state::{Broker, MqttState};
pub(super) use topics::{status, Press};
