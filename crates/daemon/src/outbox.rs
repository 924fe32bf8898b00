//! What the daemon writes for the broker: with an object its row and its node's state, with a survey the states of
//! all nodes. Where no broker is configured, nothing is written.
//!
//! Invariant: a message is written together with what it reports, or neither is. Tests:
//! `crates/daemon/tests/all/broker.rs`.

use std::sync::MutexGuard;

use serde_json::json;
use thalweg_units::NodeId;

use super::mqtt::home::{self, Buttons};
use super::mqtt::messages::{self, SurveyView};
use super::mqtt::{status, Broker, Press, Source};
use super::snapshot::LinkSnapshot;
use super::station_state::{now, StationState};
use super::stations::Stations;
use thalweg_host::store::{
    day_of, JobId, Level, Message, NewSurvey, NewTransfer, Store, StoreError, StoredObject,
    StoredTransfer, Work,
};

impl StationState {
    /// Stores `object` with the record of its transfer and the end of its job.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing is stored.
    pub(super) fn keep(
        &self,
        new: &NewTransfer<'_>,
        object: &[u8],
    ) -> Result<StoredObject, StoreError> {
        // Both before the store is locked for the writes.
        let (snapshot, spent) = (self.snapshot(), self.spent_today());
        let messages_of =
            |stored: &StoredTransfer| self.object_messages(stored, (snapshot.as_deref(), &spent));
        let stored = self.store().keep_and_queue(new, object, messages_of);
        self.wake_mqtt();
        stored.inspect_err(|why| self.note_store_fault(why))
    }

    /// Makes an object of a source's bytes in a session.
    ///
    /// # Errors
    /// [`StoreError`]; then all is as it was.
    pub(super) fn close_stream(
        &self,
        of: (JobId, NodeId),
        new: &NewTransfer<'_>,
        object: &[u8],
    ) -> Result<StoredObject, StoreError> {
        // Both before the store is locked for the writes.
        let (snapshot, spent) = (self.snapshot(), self.spent_today());
        let messages_of =
            |stored: &StoredTransfer| self.object_messages(stored, (snapshot.as_deref(), &spent));
        let stored = self.store().close_stream(of, new, object, messages_of);
        self.wake_mqtt();
        stored.inspect_err(|why| self.note_store_fault(why))
    }

    /// The messages about an object: its row, and its node's state.
    fn object_messages(
        &self,
        stored: &StoredTransfer,
        (snapshot, spent): (Option<&LinkSnapshot>, &[(NodeId, f64)]),
    ) -> Vec<Message> {
        let Some(mqtt) = self.mqtt() else {
            return Vec::new();
        };
        let topics = mqtt.topics(self.network());
        let of = (&topics, &self.facts);
        let mut messages = vec![messages::object(of, stored)];
        if let Ok(index) = self.facts.network.place.index_of(stored.record.source) {
            let survey = snapshot.map(|snapshot| SurveyView {
                links: snapshot.link_state.links(),
                missing: &snapshot.missing,
                batteries: &snapshot.batteries,
                at: snapshot.at,
            });
            messages.push(messages::node(of, index, (survey, spent), Some(stored)));
        }
        messages
    }

    /// Stores `links`, which were just measured.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing is stored.
    pub(super) fn keep_survey(&self, survey: &NewSurvey<'_>) -> Result<(), StoreError> {
        let view = Some(SurveyView {
            links: survey.links,
            missing: survey.missing,
            batteries: survey.batteries,
            at: now(),
        });
        {
            let mut store = self.store();
            let messages = self.node_messages(&store, view)?;
            let network = (self.network(), self.facts.network.sink);
            store.keep_survey(network, survey, &messages)?;
        }
        self.wake_mqtt();
        Ok(())
    }

    /// The states of all nodes.
    fn node_messages(
        &self,
        store: &Store,
        survey: Option<SurveyView<'_>>,
    ) -> Result<Vec<Message>, StoreError> {
        let Some(mqtt) = self.mqtt() else {
            return Ok(Vec::new());
        };
        let topics = mqtt.topics(self.network());
        let of = (&topics, &self.facts);
        let spent = store.spent_on(self.network(), day_of(now()))?;
        let ids = self.facts.network.place.ids.iter().enumerate();
        let messages = ids.map(|(index, id)| {
            let last = store.latest_of(self.network(), *id, 1)?;
            Ok(messages::node(of, index, (survey, &spent), last.first()))
        });
        messages.collect()
    }

    /// What nodes have spent since midnight, UTC, in joules; nothing where no broker asks.
    fn spent_today(&self) -> Vec<(NodeId, f64)> {
        if self.mqtt().is_none() {
            return Vec::new();
        }
        let spent = self.store().spent_on(self.network(), day_of(now()));
        // What fails here fails again with the object.
        spent.unwrap_or_default()
    }

    fn wake_mqtt(&self) {
        if let Some(mqtt) = self.mqtt() {
            mqtt.wake();
        }
    }

    /// Queues the present states of all its nodes and of its line.
    fn restate(&self) -> Result<(), StoreError> {
        {
            let mut store = self.store();
            let (network, node_messages) = (
                (self.network(), self.facts.network.sink),
                self.facts.network.place.ids.len(),
            );
            // The one in memory may lag behind the store for a moment.
            let snapshot = store.surveys(network, node_messages, 1)?.pop();
            let survey = snapshot.as_ref().map(|snapshot| SurveyView {
                links: &snapshot.links,
                missing: &snapshot.missing,
                batteries: &snapshot.batteries,
                at: snapshot.measured_at,
            });
            let mut messages = self.node_messages(&store, survey)?;
            if let Some(mqtt) = self.mqtt().filter(|mqtt| mqtt.config.discovery) {
                let (topics, status) = (mqtt.topics(self.network()), status(&mqtt.config.prefix));
                let of = (&topics, &self.facts);
                let buttons = match mqtt.config.buttons {
                    true => Buttons::On,
                    false => Buttons::Off,
                };
                messages.push(home::base_station(of, &status, buttons));
                let sources = self.facts.sources();
                messages.extend(sources.map(|id| home::node(of, id, &status, buttons)));
            }
            store.queue_messages(&messages)?;
        }
        // A change of the line is also queued: the last message must be the present state.
        loop {
            let line = self.line();
            self.outbox("line", &json!({ "line": line }));
            if self.line() == line {
                return Ok(());
            }
        }
    }
}

impl StationState {
    /// A button asks for a job. One that waits or runs already is not asked for again.
    fn press(&self, press: Press) {
        let work = match press {
            Press::Measure => Work::Survey,
            Press::Fetch(from) if self.facts.sources().any(|node| node == from) => {
                Work::Fetch { from }
            }
            Press::Fetch(_) => return,
        };
        let open = self.store().open_jobs(self.network());
        let asked = open.and_then(|open| match open.iter().any(|job| job.work == work) {
            true => Ok(Vec::new()),
            false => self.submit(&[work], 0),
        });
        match asked {
            Ok(jobs) => {
                for job in jobs {
                    self.log(
                        Level::Info,
                        &format!("job {}: asked by a button over MQTT", job.id.0),
                    );
                }
            }
            Err(why) => self.log(Level::Warning, &format!("a button over MQTT: {why}")),
        }
    }
}

impl Source for Stations {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.shared().store()
    }

    fn restate(&self) -> Result<(), StoreError> {
        self.all().iter().try_for_each(|station| station.restate())
    }

    fn on_all_sent(&self) {
        self.shared().emit("mqtt", &json!({ "waiting": 0 }));
    }

    fn buttons(&self) -> Vec<String> {
        let mqtt = self.shared().mqtt.as_ref();
        let Some(mqtt) = mqtt.filter(|mqtt| mqtt.config.buttons) else {
            return Vec::new();
        };
        let topics = self.all().iter();
        let topics = topics.flat_map(|station| mqtt.topics(station.network()).presses());
        topics.collect()
    }

    fn on_press(&self, topic: &str) {
        let Some(mqtt) = self
            .shared()
            .mqtt
            .as_ref()
            .filter(|mqtt| mqtt.config.buttons)
        else {
            return;
        };
        for station in self.all() {
            if let Some(press) = mqtt.topics(station.network()).pressed(topic) {
                station.press(press);
            }
        }
    }

    fn set_broker(&self, broker: Broker) {
        let Some(mqtt) = &self.shared().mqtt else {
            return;
        };
        match (mqtt.set_broker(broker.clone()), broker) {
            (Broker::Away(_), Broker::Away(_)) | (_, Broker::Trying) => {}
            (_, Broker::Away(why)) => {
                let line = format!("the MQTT broker is out of reach: {why}");
                self.shared().log(Level::Warning, &line);
            }
            (_, Broker::Connected) => {
                (self.shared()).log(Level::Info, "the MQTT broker is within reach");
            }
        }
    }
}
