//! What those who write messages and the one who sends them share: the configuration, and how the broker is.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tokio::sync::Notify;

use super::config::MqttConfig;
use super::topics::Topics;

/// How the way to the broker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::daemon) enum Broker {
    /// Not reached yet.
    Trying,
    /// It takes messages.
    Connected,
    /// It does not, for this reason.
    Away(String),
}

/// What is shared.
#[derive(Debug)]
pub(in crate::daemon) struct Telling {
    pub(in crate::daemon) config: MqttConfig,
    broker: Mutex<Broker>,
    /// Told when there is something to send.
    pub(super) wake: Notify,
}

impl Telling {
    /// None where there is no broker.
    pub(in crate::daemon) fn new(config: &MqttConfig) -> Option<Self> {
        config.host.as_ref()?;
        Some(Self {
            config: config.clone(),
            broker: Mutex::new(Broker::Trying),
            wake: Notify::new(),
        })
    }
    /// The topics of `network`.
    pub(in crate::daemon) fn topics(&self, network: &str) -> Topics {
        Topics::new(&self.config.prefix, network)
    }
    /// How the way to the broker is.
    pub(in crate::daemon) fn broker(&self) -> Broker {
        let broker = self.broker.lock();
        broker.unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// The way is as `now` says: how it was.
    pub(in crate::daemon) fn broker_is(&self, now: Broker) -> Broker {
        let broker = self.broker.lock();
        std::mem::replace(&mut *broker.unwrap_or_else(PoisonError::into_inner), now)
    }
    /// There is something to send.
    pub(in crate::daemon) fn wake(&self) {
        self.wake.notify_one();
    }
}
