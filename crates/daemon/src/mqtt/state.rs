//! What those who write messages and the one who sends them share: the configuration, and how the broker is.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tokio::sync::Notify;

use super::config::MqttConfig;
use super::topics::Topics;

/// How the way to the broker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Broker {
    /// Not reached yet.
    Trying,
    /// It takes messages.
    Connected,
    /// It does not, for this reason.
    Away(String),
}

/// What is shared.
#[derive(Debug)]
pub(crate) struct MqttState {
    pub(crate) config: MqttConfig,
    broker: Mutex<Broker>,
    /// Told when there is something to send.
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
    /// How the way to the broker is.
    pub(crate) fn broker(&self) -> Broker {
        let broker = self.broker.lock();
        broker.unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// The way is as `now` says: how it was.
    pub(crate) fn set_broker(&self, now: Broker) -> Broker {
        let broker = self.broker.lock();
        std::mem::replace(&mut *broker.unwrap_or_else(PoisonError::into_inner), now)
    }
    /// There is something to send.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }
}
