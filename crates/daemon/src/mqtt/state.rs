//! What writers and sender of messages share: the configuration, and the state of the broker.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tokio::sync::Notify;

use super::config::MqttConfig;
use super::topics::Topics;

/// The state of the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Broker {
    /// Not reached yet.
    Trying,
    /// Connected.
    Connected,
    /// Out of reach, for this reason.
    Away(String),
}

/// The shared state.
#[derive(Debug)]
pub(crate) struct MqttState {
    pub(crate) config: MqttConfig,
    broker: Mutex<Broker>,
    /// Notified when there is something to send.
    pub(super) wake: Notify,
}

impl MqttState {
    /// None where there is no broker.
    pub(crate) fn new(config: &MqttConfig) -> Option<Self> {
        config.host.as_ref()?;
        Some(Self {
            config: config.clone(),
            broker: Mutex::new(Broker::Trying),
            wake: Notify::new(),
        })
    }
    /// The topics of `network`.
    pub(crate) fn topics(&self, network: &str) -> Topics {
        Topics::new(&self.config.prefix, network)
    }
    /// The state of the broker.
    pub(crate) fn broker(&self) -> Broker {
        let broker = self.broker.lock();
        broker.unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Sets the state of the broker, and returns the old one.
    pub(crate) fn set_broker(&self, now: Broker) -> Broker {
        let broker = self.broker.lock();
        std::mem::replace(&mut *broker.unwrap_or_else(PoisonError::into_inner), now)
    }
    /// There is something to send.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }
}
