//! The thread that sends waiting messages: batch after batch, each once the one before is acknowledged.
//!
//! Invariants: a row goes only after its acknowledgement, in order; a broker that does not answer is left and
//! visited again, each time after a longer pause. Of what a broker sends only presses of buttons are acted upon, where they
//! are allowed. Time base: wall clock.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use rumqttc::{AsyncClient, ConnectionError, Event, EventLoop, LastWill, MqttOptions};
use rumqttc::{NetworkOptions, Outgoing, Packet, QoS, SubscribeFilter};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout_at, Instant};

use super::batch::Batch;
use super::messages;
use super::state::{Broker, MqttState};
use super::topics::{client, status};
use thalweg_host::store::{plain, Message, Retention, Store, StoreError, LONGEST_PAYLOAD};

/// The most messages in flight.
const BATCH: u16 = 32;
/// The time limit for a connection, in seconds.
const CONNECTING_S: u64 = 10;
/// The keep-alive time of an idle connection.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How long the next acknowledgement may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pauses before a broker that is away is tried again, in seconds.
const PAUSES: [u64; 6] = [1, 2, 4, 8, 15, 30];
/// A broker has no reason to send longer ones.
const LONGEST_INCOMING: usize = 16 * 1_024;
/// Room for a topic beside a payload.
const HEAD: usize = 4 * 1_024;

/// What the thread needs of the daemon.
pub(crate) trait Source: Send + Sync + 'static {
    /// Where messages wait.
    fn store(&self) -> MutexGuard<'_, Store>;
    /// Queues all present states, for a broker that has none.
    ///
    /// # Errors
    /// [`StoreError`].
    fn restate(&self) -> Result<(), StoreError>;
    /// Nothing waits any more.
    fn on_all_sent(&self);
    /// Sets the state of the broker.
    fn set_broker(&self, broker: Broker);
    /// The topics of buttons; none where they are not allowed.
    fn buttons(&self) -> Vec<String>;
    /// Somebody pressed the button of `topic`.
    fn on_press(&self, topic: &str);
}

/// What Home Assistant sends to the topic of a button that is pressed.
const PRESS: &[u8] = b"PRESS";

/// Sends what waits until `ends` says so or is gone.
///
/// # Errors
/// Where there is no runtime.
pub(crate) fn serve(
    source: &Arc<impl Source>,
    state: &Arc<MqttState>,
    mut ends: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut visitor = Visitor {
            source: source.clone(),
            state: state.clone(),
            is_first: true,
            pauses: PAUSES.into_iter(),
        };
        loop {
            let why = tokio::select! {
                why = visitor.visit() => why,
                _ = ends.changed() => return,
            };
            visitor.source.set_broker(Broker::Away(why));
            let last = PAUSES[PAUSES.len() - 1];
            let pause = visitor.pauses.next().unwrap_or(last);
            tokio::select! {
                () = sleep(Duration::from_secs(pause)) => {}
                _ = ends.changed() => return,
            }
        }
    });
    // A name that is being looked up would hold up the end.
    runtime.shutdown_background();
    Ok(())
}

struct Visitor<S> {
    source: Arc<S>,
    state: Arc<MqttState>,
    /// Whether the broker was not reached yet.
    is_first: bool,
    pauses: std::array::IntoIter<u64, 6>,
}

impl<S: Source> Visitor<S> {
    /// Connects, and sends until the line is lost: why.
    async fn visit(&mut self) -> String {
        match self.run_connection().await {
            Err(why) => why,
            Ok(never) => match never {},
        }
    }

    async fn run_connection(&mut self) -> Result<std::convert::Infallible, String> {
        // A batch, and what is asked of the broker before it.
        let (client, mut events) = AsyncClient::new(self.options(), usize::from(BATCH) + 1);
        let mut network = NetworkOptions::new();
        network.set_connection_timeout(CONNECTING_S);
        events.set_network_options(network);
        let has_session = match events.poll().await.map_err(|why| reason(&why))? {
            Event::Incoming(Packet::ConnAck(answer)) => answer.session_present,
            _ => return Err("it does not speak MQTT".to_owned()),
        };
        let source = self.source.clone();
        let mut line = Line::new(
            client,
            events,
            Box::new(move |topic| source.on_press(topic)),
        );
        self.source.set_broker(Broker::Connected);
        // A broker that forgot us has forgotten states as well.
        if self.is_first || !has_session {
            self.source.restate().map_err(|why| why.to_string())?;
            self.is_first = false;
        }
        line.send(
            &status(&self.state.config.prefix),
            Retention::Newest,
            "online".to_owned(),
        )?;
        self.wait_acknowledged(&mut line, Batch::new(vec![None]))
            .await?;
        line.listen(self.source.buttons())?;
        let mut has_sent = false;
        loop {
            let waiting = self.source.store().waiting(u32::from(BATCH));
            let waiting = waiting.map_err(|why| why.to_string())?;
            if waiting.is_empty() {
                if std::mem::take(&mut has_sent) {
                    self.source.on_all_sent();
                }
                tokio::select! {
                    () = self.state.wake.notified() => {}
                    event = line.event() => drop(event?),
                }
                continue;
            }
            let mut rows = Vec::with_capacity(waiting.len());
            for row in &waiting {
                let Message { topic, keep, .. } = &row.message;
                line.send(topic, *keep, messages::payload(row))?;
                rows.push(Some(row.id));
            }
            self.wait_acknowledged(&mut line, Batch::new(rows)).await?;
            self.pauses = PAUSES.into_iter();
            has_sent = true;
        }
    }

    /// Waits until all of `batch` is acknowledged; what was goes from the store, also where the line is lost.
    async fn wait_acknowledged(&self, line: &mut Line, mut batch: Batch) -> Result<(), String> {
        let end = line.follow(&mut batch).await;
        let written = self
            .source
            .store()
            .remove_messages(&batch.acknowledged_rows());
        written.map_err(|why| why.to_string())?;
        end
    }

    fn options(&self) -> MqttOptions {
        let config = &self.state.config;
        let host = config.host.clone().unwrap_or_default();
        let mut options = MqttOptions::new(client(&config.prefix), host, config.port);
        // So the broker says whether it still knows us.
        options.set_clean_session(false);
        options.set_keep_alive(KEEP_ALIVE);
        options.set_inflight(BATCH);
        options.set_max_packet_size(LONGEST_INCOMING, LONGEST_PAYLOAD + HEAD);
        let will = LastWill::new(status(&config.prefix), "offline", QoS::AtLeastOnce, true);
        options.set_last_will(will);
        if let Some((user, password)) = config.login() {
            options.set_credentials(user, password);
        }
        options
    }
}

/// A connection. A task polls its events, since a poll must not be interrupted.
struct Line {
    client: AsyncClient,
    events: mpsc::Receiver<Result<Event, ConnectionError>>,
    on_press: Box<dyn Fn(&str)>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Line {
    fn new(client: AsyncClient, mut events: EventLoop, on_press: Box<dyn Fn(&str)>) -> Self {
        let (sender, receiver) = mpsc::channel(2 * usize::from(BATCH));
        let task = tokio::spawn(async move {
            loop {
                let event = events.poll().await;
                // A poll after an error would connect again.
                let is_last = event.is_err();
                if sender.send(event).await.is_err() || is_last {
                    return;
                }
            }
        });
        Self {
            client,
            events: receiver,
            on_press,
            task,
        }
    }

    /// What happens next.
    async fn event(&mut self) -> Result<Event, String> {
        let event = match self.events.recv().await {
            Some(event) => event.map_err(|why| reason(&why))?,
            None => return Err("the line is closed".to_owned()),
        };
        if let Event::Incoming(Packet::Publish(told)) = &event {
            // One that the broker kept was pressed some time ago.
            if told.payload == PRESS && !told.retain {
                (self.on_press)(&told.topic);
            }
        }
        Ok(event)
    }

    /// Has the broker pass on what comes under `topics`. What comes while this line is down is lost: nobody waits for a
    /// button's effect for hours.
    fn listen(&self, topics: Vec<String>) -> Result<(), String> {
        if topics.is_empty() {
            return Ok(());
        }
        let filters = topics.into_iter();
        let filters = filters.map(|topic| SubscribeFilter::new(topic, QoS::AtMostOnce));
        let asked = self.client.try_subscribe_many(filters);
        asked.map_err(|why| why.to_string())
    }

    fn send(&self, topic: &str, keep: Retention, payload: String) -> Result<(), String> {
        let is_retained = keep == Retention::Newest;
        let sent = (self.client).try_publish(topic, QoS::AtLeastOnce, is_retained, payload);
        sent.map_err(|why| why.to_string())
    }

    /// Waits until all of `batch` is acknowledged.
    async fn follow(&mut self, batch: &mut Batch) -> Result<(), String> {
        let mut end = Instant::now() + PATIENCE;
        while !batch.is_done() {
            let event = timeout_at(end, self.event()).await;
            match event.map_err(|_| "it does not acknowledge".to_owned())?? {
                Event::Outgoing(Outgoing::Publish(packet)) => batch.sent(packet),
                Event::Incoming(Packet::PubAck(packet)) => {
                    batch.acknowledge(packet.pkid);
                    end = Instant::now() + PATIENCE;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Why a line is lost; nothing of what a broker sent is in it.
fn reason(why: &ConnectionError) -> String {
    match why {
        ConnectionError::Io(why) => plain(why),
        ConnectionError::NetworkTimeout => "it does not answer".to_owned(),
        ConnectionError::FlushTimeout => "it takes nothing".to_owned(),
        ConnectionError::ConnectionRefused(code) => format!("it refuses: {code:?}"),
        ConnectionError::MqttState(rumqttc::StateError::ConnectionAborted) => {
            "it closed the connection".to_owned()
        }
        ConnectionError::MqttState(rumqttc::StateError::AwaitPingResp) => "it is silent".to_owned(),
        ConnectionError::MqttState(rumqttc::StateError::Io(why)) => plain(why),
        _ => "it does not speak MQTT as it should".to_owned(),
    }
}
