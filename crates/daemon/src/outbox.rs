//! What the daemon writes for the broker: with an object its row and its node's state, with a survey the states of
//! all nodes. Where no broker is configured, nothing is written.
//!
//! Invariant: a message is written with what it tells, or neither is. Tests: `crates/daemon/tests/all/broker.rs`.

use std::sync::MutexGuard;

use serde_json::json;
use thalweg_units::NodeId;

use super::desk::{now, Desk, Surveyed};
use super::mqtt::messages::{self, Seen};
use super::mqtt::{status, Broker, Source};
use super::stations::Stations;
use thalweg_host::store::{
    JobId, Kept, Level, Message, NewSurvey, NewTransfer, Store, StoreError, StoredTransfer,
};

impl Desk {
    /// Stores `object` with the record of its transfer and the end of its job.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing is stored.
    pub(super) fn keep(&self, new: &NewTransfer<'_>, object: &[u8]) -> Result<Kept, StoreError> {
        let surveyed = self.surveyed();
        let tell = |stored: &StoredTransfer| self.brought(stored, surveyed.as_deref());
        let kept = self.store().keep_and_tell(new, object, tell);
        self.wake_mqtt();
        kept
    }

    /// Makes an object of what came in session `job` of node `source`.
    ///
    /// # Errors
    /// [`StoreError`]; then all is as it was.
    pub(super) fn close_stream(
        &self,
        of: (JobId, NodeId),
        new: &NewTransfer<'_>,
        object: &[u8],
    ) -> Result<Kept, StoreError> {
        let surveyed = self.surveyed();
        let tell = |stored: &StoredTransfer| self.brought(stored, surveyed.as_deref());
        let kept = self.store().close_stream(of, new, object, tell);
        self.wake_mqtt();
        kept
    }

    /// What is told of an object: its row, and its node's state.
    fn brought(&self, stored: &StoredTransfer, surveyed: Option<&Surveyed>) -> Vec<Message> {
        let Some(mqtt) = self.mqtt() else {
            return Vec::new();
        };
        let topics = mqtt.topics(self.network());
        let mut told = vec![messages::object(&topics, stored)];
        if let Ok(index) = self.facts.network.place.index_of(stored.record.source) {
            let seen = surveyed.map(|surveyed| Seen {
                links: surveyed.known.links(),
                missing: &surveyed.missing,
                batteries: &surveyed.batteries,
                at: surveyed.at,
            });
            let of = (&topics, &self.facts);
            told.push(messages::node(of, index, seen, Some(stored)));
        }
        told
    }

    /// Stores `links`, which were just measured.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing is stored.
    pub(super) fn keep_survey(&self, survey: &NewSurvey<'_>) -> Result<(), StoreError> {
        let seen = Some(Seen {
            links: survey.links,
            missing: survey.missing,
            batteries: survey.batteries,
            at: now(),
        });
        {
            let mut store = self.store();
            let told = self.nodes(&store, seen)?;
            let network = (self.network(), self.facts.network.sink);
            store.keep_survey(network, survey, &told)?;
        }
        self.wake_mqtt();
        Ok(())
    }

    /// The states of all nodes.
    fn nodes(&self, store: &Store, seen: Option<Seen<'_>>) -> Result<Vec<Message>, StoreError> {
        let Some(mqtt) = self.mqtt() else {
            return Ok(Vec::new());
        };
        let topics = mqtt.topics(self.network());
        let of = (&topics, &self.facts);
        let ids = self.facts.network.place.ids.iter().enumerate();
        let told = ids.map(|(index, id)| {
            let last = store.latest_of(self.network(), *id, 1)?;
            Ok(messages::node(of, index, seen, last.first()))
        });
        told.collect()
    }

    fn wake_mqtt(&self) {
        if let Some(mqtt) = self.mqtt() {
            mqtt.wake();
        }
    }

    /// Writes the states of all its nodes and of its line anew, as they are.
    fn restate(&self) -> Result<(), StoreError> {
        {
            let mut store = self.store();
            let (network, nodes) = (
                (self.network(), self.facts.network.sink),
                self.facts.network.place.ids.len(),
            );
            // The one in memory may lag behind the store for a moment.
            let surveyed = store.surveys(network, nodes, 1)?.pop();
            let seen = surveyed.as_ref().map(|surveyed| Seen {
                links: &surveyed.links,
                missing: &surveyed.missing,
                batteries: &surveyed.batteries,
                at: surveyed.measured_at,
            });
            let mut told = self.nodes(&store, seen)?;
            if let Some(mqtt) = self.mqtt().filter(|mqtt| mqtt.config.discovery) {
                let (topics, status) = (mqtt.topics(self.network()), status(&mqtt.config.prefix));
                let of = (&topics, &self.facts);
                let sources = self.facts.sources();
                told.extend(sources.map(|id| messages::discovery(of, id, &status)));
            }
            store.tell(&told)?;
        }
        // Whoever changes the line writes after that: the last that is written is how it is.
        loop {
            let line = self.line();
            self.outbox("line", &json!({ "line": line }));
            if self.line() == line {
                return Ok(());
            }
        }
    }
}

impl Source for Stations {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.common().store()
    }

    fn restate(&self) -> Result<(), StoreError> {
        self.all().iter().try_for_each(|desk| desk.restate())
    }

    fn all_told(&self) {
        self.common().tell("mqtt", &json!({ "waiting": 0 }));
    }

    fn broker_is(&self, broker: Broker) {
        let Some(mqtt) = &self.common().mqtt else {
            return;
        };
        match (mqtt.broker_is(broker.clone()), broker) {
            (Broker::Away(_), Broker::Away(_)) | (_, Broker::Trying) => {}
            (_, Broker::Away(why)) => {
                let line = format!("the MQTT broker is out of reach: {why}");
                self.common().log(Level::Warning, &line);
            }
            (_, Broker::Connected) => {
                (self.common()).log(Level::Info, "the MQTT broker is within reach");
            }
        }
    }
}
