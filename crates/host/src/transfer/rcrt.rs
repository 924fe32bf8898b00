//! Objects of many nodes at once over RCRT (RCRT, section 3): what each node sends, and what has arrived.
//!
//! [`Objects`] stores what a [`Session`](super::session::Session) brings from sources whose objects are known
//! beforehand, or proved at its end. A source's object is one connection of packets, whose numbers wrap. Time base: the network's.
//! Invariants: an object is whole only with its source's length and digest; a source is given up after [`PATIENCE`]
//! without new bytes. Tests: `rcrt_tests.rs`.

use super::session::{SourceStatus, StreamEvent, StreamStore};
use crate::job::Failure;
use crate::network::NetworkTime;
use crate::object::{self, Memory};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_protocols::object::{ObjectInfo, ObjectStore};
use thalweg_protocols::rcrt::sink::Config;
use thalweg_protocols::rcrt::source::{Ready, Supply};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::{Flow, Proof, Rate, PAPER_PAYLOAD_BYTES};
use thalweg_wire::{WireError, Writer};

/// The default of object bytes in a packet (section 4.1).
pub const PAYLOAD_BYTES: u8 = PAPER_PAYLOAD_BYTES as u8;
/// The most that fits into a frame below the headers of link, tree and transport.
pub const MAX_PAYLOAD_BYTES: u8 = 80;
/// A source is given up after so long without a packet that is new, or after ten packets' time at its rate: a node that
/// starts again has to find a route first, which takes minutes.
pub const PATIENCE: Duration = Duration::from_secs(900);

/// A node's object as its flow's packets. The object stays, so that any packet of the sink's window can be read again.
#[derive(Debug)]
pub struct Stored {
    memory: Memory,
    payload: u8,
}

impl Stored {
    /// `object` in packets of `payload` bytes, at least one.
    pub fn new(object: Arc<[u8]>, payload: u8) -> Self {
        Self::proving(object::Proof::Digest, object, payload)
    }
    /// The same with a `proof`: sealed where that is a tag.
    pub fn proving(proof: object::Proof, object: Arc<[u8]>, payload: u8) -> Self {
        let mut memory = Memory::proving(proof);
        memory.offer(object);
        let payload = payload.max(1);
        Self { memory, payload }
    }
    /// What is known of the object.
    pub fn info(&self) -> ObjectInfo {
        self.memory.info()
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
    /// The rest did not come, however long it is.
    #[error("{bytes} bytes came in, and no end")]
    Endless {
        /// Bytes that came in, in order.
        bytes: u64,
    },
    /// It ended without a digest to compare with.
    #[error("its source sends no object")]
    Unproved,
    /// Its source has none.
    #[error("its node has no recording yet")]
    NoRecording,
    /// As many bytes as there should be, or more, which are not the source's.
    #[error("it is not what the source has")]
    Other,
}

/// The result for a source's object.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered {
    /// The source.
    pub source: NodeId,
    /// When its first connection opened.
    pub opened: Option<NetworkTime>,
    /// When the last new packet was delivered.
    pub last: Option<NetworkTime>,
    /// Bytes delivered.
    pub bytes: u64,
    /// Each rate that it had, and since when: seconds after the session began, packets per second.
    pub rates: Vec<(f64, f64)>,
    /// Packets that were missing for a while, as of the last sample.
    pub repaired: u64,
    /// The object, where it is whole.
    pub object: Result<Vec<u8>, Missing>,
}

/// The progress of all objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds after the session began.
    pub at_s: f64,
    /// Objects of which everything was delivered.
    pub complete: usize,
    /// Objects asked for.
    pub objects: usize,
    /// Bytes delivered.
    pub bytes: u64,
    /// Bytes of all objects; of those whose length is not known yet, what came in.
    pub of: u64,
    /// Least of the rates of flows that go on, packets per second.
    pub least: f64,
    /// Their mean, packets per second.
    pub mean: f64,
}

/// A source's object, as it arrives.
#[derive(Debug)]
struct SourceObject {
    /// None before its source has reported it.
    info: Option<ObjectInfo>,
    proof: object::Proof,
    opened: Option<NetworkTime>,
    last: Option<NetworkTime>,
    /// The most bytes that it ever had.
    most: usize,
    received: Vec<u8>,
    rates: Vec<(f64, f64)>,
    repaired: u64,
    is_finished: bool,
}

impl SourceObject {
    const fn new(info: Option<ObjectInfo>) -> Self {
        Self {
            info,
            proof: object::Proof::Digest,
            opened: None,
            last: None,
            most: 0,
            received: Vec::new(),
            rates: Vec::new(),
            repaired: 0,
            is_finished: false,
        }
    }
    fn begin(&mut self, at: NetworkTime) {
        self.opened.get_or_insert(at);
        if !self.is_complete() {
            self.received.clear();
        }
    }
    fn take(&mut self, at: NetworkTime, bytes: &[u8]) {
        if self.is_complete() {
            return;
        }
        self.received.extend_from_slice(bytes);
        // A source that restarts again and again brings nothing new.
        if self.received.len() > self.most {
            (self.most, self.last) = (self.received.len(), Some(at));
        }
    }
    fn bytes(&self) -> u64 {
        self.received.len() as u64
    }
    fn is_complete(&self) -> bool {
        let is_there = |info: ObjectInfo| self.bytes() >= u64::from(info.len);
        self.info.map_or(self.is_finished, is_there)
    }
    /// Its source has nothing more, and says what it was.
    fn end(&mut self, proof: Option<Proof>) {
        let told = proof.map(|Proof { len, digest }| ObjectInfo { len, digest });
        (self.info, self.is_finished) = (self.info.or(told), true);
    }
    /// Whether it is given up in a session that began at `begun`.
    fn is_given_up(&self, begun: NetworkTime, now: NetworkTime) -> bool {
        let rate = self.rates.last().map(|(_, rate)| *rate);
        let packets = rate.map_or(0.0, |rate| 10.0 / rate.max(Rate::LEAST.per_s()));
        let patience = PATIENCE.max(Duration::from_secs_f64(packets));
        now.since(self.last.or(self.opened).unwrap_or(begun)) > patience
    }
    fn finish(mut self, source: NodeId) -> Gathered {
        let bytes = self.bytes();
        let object = match (self.opened, self.info) {
            (None, _) => Err(Missing::Unheard),
            (_, None) if self.is_finished => Err(Missing::Unproved),
            (_, None) => Err(Missing::Endless { bytes }),
            (_, Some(info)) if info.is_none() => Err(Missing::NoRecording),
            (_, Some(info)) => {
                let of = u64::from(info.len);
                (self.proof).open(&info.digest, 0, &mut self.received);
                match bytes.cmp(&of) {
                    Ordering::Less => Err(Missing::Incomplete { bytes, of }),
                    Ordering::Equal if self.proof.holds(&info.digest, &self.received) => {
                        Ok(self.received)
                    }
                    Ordering::Equal | Ordering::Greater => Err(Missing::Other),
                }
            }
        };
        Gathered {
            source,
            opened: self.opened,
            last: self.last,
            bytes,
            rates: self.rates,
            repaired: self.repaired,
            object,
        }
    }
}

/// Objects as they arrive.
pub struct Objects<W> {
    begun: NetworkTime,
    sources: BTreeMap<NodeId, SourceObject>,
    watch: W,
}

impl<W: FnMut(Progress) -> ControlFlow<()>> Objects<W> {
    /// The objects of `wanted`, from `now` on; what they are, where it is known. `watch` is called with the progress, and may break off.
    pub fn new(
        now: NetworkTime,
        wanted: impl IntoIterator<Item = (NodeId, Option<ObjectInfo>)>,
        watch: W,
    ) -> Self {
        let wanted = wanted.into_iter();
        Self {
            begun: now,
            sources: wanted
                .map(|(id, info)| (id, SourceObject::new(info)))
                .collect(),
            watch,
        }
    }
    /// The same where `proof` tells for each source what shows that its object is whole; else that is a digest.
    #[must_use]
    pub fn proved_by(mut self, proof: impl Fn(NodeId) -> object::Proof) -> Self {
        for (source, state) in &mut self.sources {
            state.proof = proof(*source);
        }
        self
    }
    /// The result for each source, in the order of their numbers.
    pub fn finish(self) -> Vec<Gathered> {
        let sources = self.sources.into_iter();
        sources
            .map(|(source, state)| state.finish(source))
            .collect()
    }
}

impl<W: FnMut(Progress) -> ControlFlow<()>> StreamStore for Objects<W> {
    fn append(&mut self, events: Vec<StreamEvent>) -> Result<(), Failure> {
        for one in events {
            let (StreamEvent::Begun(source, _)
            | StreamEvent::Bytes(source, ..)
            | StreamEvent::Ended(source, _)) = one;
            let Some(state) = self.sources.get_mut(&source) else {
                continue;
            };
            match one {
                StreamEvent::Begun(_, at) => state.begin(at),
                StreamEvent::Bytes(_, at, bytes) => state.take(at, &bytes),
                StreamEvent::Ended(_, proof) => state.end(proof),
            }
        }
        Ok(())
    }
    fn sample(&mut self, at_s: f64, sources: &[SourceStatus]) -> Result<(), Failure> {
        for (source, rate) in sources.iter().filter_map(|s| Some((s.source, s.rate?))) {
            let rates = self.sources.get_mut(&source).map(|state| &mut state.rates);
            if let Some(rates) = rates.filter(|r| r.last().is_none_or(|(_, last)| *last != rate)) {
                rates.push((at_s, rate));
            }
        }
        for status in sources {
            if let Some(state) = self.sources.get_mut(&status.source) {
                state.repaired = status.repaired;
            }
        }
        let rates = || sources.iter().filter_map(|s| s.rate);
        let sources = || self.sources.values();
        let progress = Progress {
            at_s,
            complete: sources().filter(|state| state.is_complete()).count(),
            objects: self.sources.len(),
            bytes: sources().map(SourceObject::bytes).sum(),
            of: sources()
                .map(|state| state.info.map_or(state.bytes(), |info| info.len.into()))
                .sum(),
            least: rates().reduce(f64::min).unwrap_or(0.0),
            // An empty sum of floats is -0.
            mean: rates().fold(0.0, |a, b| a + b) / rates().count().max(1) as f64,
        };
        match (self.watch)(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Failure::Cancelled),
        }
    }
    fn is_done(&self, now: NetworkTime) -> bool {
        let mut sources = self.sources.values();
        sources.all(|state| state.is_finished || state.is_given_up(self.begun, now))
    }
}

#[cfg(test)]
#[path = "rcrt_tests.rs"]
mod tests;
