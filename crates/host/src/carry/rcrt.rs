//! Objects of many nodes at once over RCRT: what is asked, what has come, when it is over (RCRT, section 3).
//!
//! A job without I/O beside a base station's mote; the sink that it has decides about rates. A source's object is one
//! connection of packets, whose numbers wrap. Sources begin by themselves, as in the paper: no order goes down the
//! tree. Time base: the field's. Invariants: an object is whole only with its source's length and digest; the
//! job ends, as each patience sees a packet of an object that is finite. Tests: `rcrt_tests.rs`.

use crate::object::{digest, Memory};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_protocols::object::{ObjectInfo, ObjectStore};
use thalweg_protocols::rcrt::sink::{policy, Config, Event, Sink};
use thalweg_protocols::rcrt::source::{Ready, Supply};
use thalweg_protocols::rcrt::Send;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::{Flow, Rate, PAPER_PAYLOAD_BYTES};
use thalweg_wire::{WireError, Writer};

/// Object bytes in a packet, unless somebody says (section 4.1).
pub const PAYLOAD_BYTES: u8 = PAPER_PAYLOAD_BYTES as u8;
/// The most that fits into a frame below the headers of link, tree and transport.
pub const MAX_PAYLOAD_BYTES: u8 = 80;
/// The one flow of a source that has one object.
pub const FLOW: Flow = Flow { sink: 0, number: 0 };
/// A source is given up after so long without a packet that is new, or after ten packets' time at its rate: a node that
/// starts again has to find a route first, which takes minutes.
pub const PATIENCE: Duration = Duration::from_secs(900);

/// What cannot be asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskError {
    /// No policy's name, or not its nodes.
    #[error(
        "policy {0:?}: there are {names}; nodes as weighted:7=2,12=0.5 (above 0) or priority:7=1",
        names = policy::NAMES.join(", ")
    )]
    Policy(String),
    /// A demand that is none.
    #[error("a demand is from {LEAST_DEMAND} to {MOST_DEMAND} packets per second, not {0}")]
    Demand(f64),
    /// A payload that fits into no frame.
    #[error("a packet of rcrt holds 1 to {MAX_PAYLOAD_BYTES} bytes, not {0}")]
    Payload(u8),
}

/// The least demand, packets per second.
pub const LEAST_DEMAND: f64 = 0.01;
/// The most, packets per second: what one channel carries over one hop.
pub const MOST_DEMAND: f64 = 100.0;

/// On what terms objects come.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Who gets how much, by name (section 3.6).
    pub policy: String,
    /// What each source wants, d, packets per second.
    pub demand: f64,
    /// Object bytes in a packet.
    pub payload: u8,
}

impl Terms {
    /// Whether they can be asked.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn check(&self) -> Result<(), AskError> {
        if policy::named(&self.policy).is_none() {
            return Err(AskError::Policy(self.policy.clone()));
        }
        if !(LEAST_DEMAND..=MOST_DEMAND).contains(&self.demand) {
            return Err(AskError::Demand(self.demand));
        }
        match self.payload {
            1..=MAX_PAYLOAD_BYTES => Ok(()),
            payload => Err(AskError::Payload(payload)),
        }
    }
}

/// A node's object as its flow's packets. The object stays, so that any packet of the sink's window can be read again.
#[derive(Debug)]
pub struct Stored {
    memory: Memory,
    payload: u8,
}

impl Stored {
    /// `object` in packets of `payload` bytes, at least one.
    pub fn new(object: Arc<[u8]>, payload: u8) -> Self {
        let mut memory = Memory::default();
        memory.offer(object);
        let payload = payload.max(1);
        Self { memory, payload }
    }
    /// Bytes of packet `sequence`: none behind the end.
    fn bytes_of(&self, sequence: u32) -> usize {
        let from = u64::from(sequence) * u64::from(self.payload);
        let left = u64::from(self.memory.info().len).saturating_sub(from);
        left.min(u64::from(self.payload)) as usize
    }
}

impl Supply for Stored {
    fn room(&self) -> u16 {
        Config::PAPER.window
    }
    fn poll(&mut self, _now: Instant, _flow: Flow, sequence: u32) -> Ready {
        match self.bytes_of(sequence) {
            0 => Ready::End,
            _ => Ready::Packet,
        }
    }
    fn read(&mut self, _flow: Flow, sequence: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        let mut room = [0; u8::MAX as usize];
        let bytes = self.bytes_of(sequence);
        let into = room.get_mut(..bytes).ok_or(WireError::Truncated)?;
        // Below the object's length, which is 32 bits.
        self.memory.read(sequence * u32::from(self.payload), into);
        w.bytes(into).map(|_| ())
    }
}

/// What a source is known to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The source.
    pub source: NodeId,
    /// Its object's length and digest.
    pub info: ObjectInfo,
}

/// Why an object is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The sink never heard of the source.
    #[error("nothing came in; the node is off or has no way to the base station")]
    Unheard,
    /// The rest did not come.
    #[error("{bytes} of {of} bytes came in, and no more")]
    Incomplete {
        /// Bytes that came in, in order.
        bytes: u64,
        /// Bytes of the object.
        of: u64,
    },
    /// As many bytes as there should be, or more, which are not the source's.
    #[error("it is not what the source has")]
    Other,
}

/// What became of a source's object.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered {
    /// The source.
    pub source: NodeId,
    /// When its connection stood, first.
    pub opened: Option<Instant>,
    /// When the last packet was delivered that was not there before.
    pub last: Option<Instant>,
    /// Packets delivered.
    pub packets: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// The object, where it is whole.
    pub object: Result<Vec<u8>, Missing>,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Standing {
    /// Objects of which everything was delivered.
    pub complete: usize,
    /// Objects asked for.
    pub objects: usize,
    /// Bytes delivered.
    pub bytes: u64,
    /// Bytes of all objects.
    pub of: u64,
    /// Least of the rates of flows that go on, packets per second.
    pub least: f64,
    /// Their mean, packets per second.
    pub mean: f64,
}

/// A source and what came of it.
#[derive(Debug)]
struct Part {
    wanted: Wanted,
    opened: Option<Instant>,
    last: Option<Instant>,
    ended: Option<Instant>,
    packets: u64,
    /// The most packets that it ever had.
    most: u64,
    received: Vec<u8>,
}

impl Part {
    fn take(&mut self, now: Instant, payload: &[u8]) {
        self.received.extend_from_slice(payload);
        self.packets += 1;
        // A source that begins anew again and again brings nothing new.
        if self.packets > self.most {
            (self.most, self.last) = (self.packets, Some(now));
        }
    }
    fn bytes(&self) -> u64 {
        self.received.len() as u64
    }
    fn is_complete(&self) -> bool {
        self.bytes() >= u64::from(self.wanted.info.len)
    }
    fn finish(self) -> Gathered {
        let (bytes, of) = (self.bytes(), u64::from(self.wanted.info.len));
        let object = match (self.opened, bytes) {
            (None, _) => Err(Missing::Unheard),
            (_, bytes) if bytes < of => Err(Missing::Incomplete { bytes, of }),
            (_, bytes) if bytes > of || digest(&self.received) != self.wanted.info.digest => {
                Err(Missing::Other)
            }
            _ => Ok(self.received),
        };
        Gathered {
            source: self.wanted.source,
            opened: self.opened,
            last: self.last,
            packets: self.packets,
            bytes,
            object,
        }
    }
}

/// The job.
#[derive(Debug)]
pub struct Gather {
    sink: Sink,
    began: Instant,
    parts: BTreeMap<NodeId, Part>,
}

impl Gather {
    /// Everything that is `wanted`, from `now` on.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn new(
        now: Instant,
        terms: &Terms,
        wanted: impl IntoIterator<Item = Wanted>,
    ) -> Result<Self, AskError> {
        terms.check()?;
        let policy = policy::named(&terms.policy);
        let policy = policy.ok_or_else(|| AskError::Policy(terms.policy.clone()))?;
        let part = |wanted: Wanted| Part {
            wanted,
            opened: None,
            last: None,
            ended: None,
            packets: 0,
            most: 0,
            received: Vec::new(),
        };
        let parts = wanted.into_iter().map(|w| (w.source, part(w))).collect();
        Ok(Self {
            sink: Sink::new(Config::PAPER, policy),
            began: now,
            parts,
        })
    }
    /// Sources begin now: patience is counted from here.
    pub const fn begin(&mut self, now: Instant) {
        self.began = now;
    }
    /// The sink.
    pub const fn sink(&self) -> &Sink {
        &self.sink
    }
    /// A packet that `origin` made came in. What nobody asked for is left alone.
    pub fn handle_packet(&mut self, now: Instant, origin: NodeId, message: &[u8]) {
        if self.parts.contains_key(&origin) {
            self.sink.handle_packet(now, origin, message);
        }
    }
    /// When [`Self::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.sink.poll_timeout()
    }
    /// That instant has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sink.handle_timeout(now);
    }
    /// The next message down, as late as it can be sent: round trips begin here.
    pub fn poll_message(&mut self, now: Instant) -> Option<Send> {
        let (to, message) = self.sink.poll_message(now)?;
        Some(Send { to, message })
    }
    /// The next thing that the sink tells, once it is noted here.
    pub fn poll_event(&mut self, now: Instant) -> Option<Event> {
        let event = self.sink.poll_event()?;
        match &event {
            Event::Opened { origin, .. } => {
                if let Some(part) = self.parts.get_mut(origin) {
                    part.opened.get_or_insert(now);
                }
            }
            Event::Delivered {
                origin, payload, ..
            } => {
                if let Some(part) = self.parts.get_mut(origin).filter(|p| !p.is_complete()) {
                    part.take(now, payload);
                }
            }
            Event::Finished { origin, .. } => {
                if let Some(part) = self.parts.get_mut(origin) {
                    part.ended = Some(now);
                }
            }
            // The source has forgotten what it had sent, and begins anew.
            Event::Closed { origin, .. } => {
                if let Some(part) = self.parts.get_mut(origin) {
                    part.packets = 0;
                    part.received.clear();
                }
            }
            Event::Assigned { .. } => {}
        }
        Some(event)
    }
    /// Whether every source has ended its connection, or was waited for in vain.
    pub fn is_over(&self, now: Instant) -> bool {
        let going: BTreeMap<NodeId, f64> = self.sink.flows().map(|f| (f.origin, f.rate)).collect();
        let is_given_up = |part: &Part| {
            let rate = going.get(&part.wanted.source).copied();
            let packets = rate.map_or(0.0, |rate| 10.0 / rate.max(Rate::LEAST.per_s()));
            let patience = PATIENCE.max(Duration::from_secs_f64(packets));
            let last = part.last.or(part.opened).unwrap_or(self.began);
            now.since(last) > patience
        };
        let mut parts = self.parts.values();
        parts.all(|part| part.ended.is_some() || is_given_up(part))
    }
    /// How far it is.
    pub fn standing(&self) -> Standing {
        let flows = || self.sink.flows().map(|flow| flow.rate);
        let count = flows().count();
        let parts = || self.parts.values();
        Standing {
            complete: parts().filter(|part| part.is_complete()).count(),
            objects: self.parts.len(),
            bytes: parts().map(Part::bytes).sum(),
            of: parts().map(|part| u64::from(part.wanted.info.len)).sum(),
            least: flows().reduce(f64::min).unwrap_or(0.0),
            mean: flows().sum::<f64>() / count.max(1) as f64,
        }
    }
    /// What became of each, in the order of their numbers.
    pub fn finish(self) -> Vec<Gathered> {
        self.parts.into_values().map(Part::finish).collect()
    }
}

#[cfg(test)]
#[path = "rcrt_tests.rs"]
mod tests;
