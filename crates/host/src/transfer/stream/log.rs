//! One stream while it runs, and its report at the end. Time base: network time.

use super::{End, StreamPath};
use crate::job::Progress;
use crate::network::NetworkTime;
use crate::object::digest;
use serde::Serialize;
use thalweg_units::{BitRate, Duration, NodeId};
use thalweg_wire::phy;
use thalweg_wire::stream::HEADER_BYTES;

/// One link of a stream, as the node that sends on it counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LinkReport {
    /// Node id of the sender.
    pub from: u16,
    /// Node id of the receiver.
    pub to: u16,
    /// Band and channel.
    pub on: String,
    /// Packets sent, each once.
    pub sent: u32,
    /// And again.
    pub retransmissions: u32,
    /// Packets that were never acknowledged.
    pub unacknowledged: u32,
    /// Packets that found the sender's queue full and are lost.
    pub overflows: u32,
    /// Packets that found the sender's queue full and were not acknowledged.
    pub withheld: u32,
    /// Packets that came to the sender again.
    pub duplicates: u32,
    /// Longest queue at the sender.
    pub queue_peak: u32,
    /// Its mean length, as packets were taken in.
    pub queue_mean: f64,
}

/// A stream that has ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Stream {
    /// Packets that the source had to send.
    pub packets: u32,
    /// Different packets that arrived at the sink.
    pub received: u32,
    /// How often the sink's application was given a packet that it had.
    pub repeated: u32,
    /// Bytes of a full packet on the air, preamble and headers included.
    pub air_bytes: u32,
    /// From the source's start to the last packet's arrival, in seconds.
    pub seconds: f64,
    /// From the order to the source's beginning, in seconds.
    pub setup_seconds: f64,
    /// How often it was called.
    pub rounds: u32,
    /// How it ended at the sink.
    pub end: String,
    /// How it ended at the source; none where the source does not report it.
    pub source_end: Option<String>,
    /// What arrived is what was sent.
    pub verified: bool,
    /// Energy of all nodes on the path, in joules; none without meters.
    #[serde(skip)]
    pub joules: Option<f64>,
    /// The same of all nodes of the network; none where they are not metered.
    #[serde(skip)]
    pub network_joules: Option<f64>,
    /// What arrived, where it is whole.
    #[serde(skip)]
    pub object: Option<Vec<u8>>,
    /// From the first call to the end of the last, in seconds.
    #[serde(skip)]
    pub elapsed_seconds: f64,
    /// Its links, from the source on, where its nodes can be inspected.
    pub links: Vec<LinkReport>,
}

impl Stream {
    /// Raw throughput: bytes on the air of different packets at the sink (FastForward, section V-A).
    pub fn throughput(&self) -> BitRate {
        let time = Duration::from_nanos((self.seconds * 1e9) as u64);
        BitRate::of_bytes(u64::from(self.received) * u64::from(self.air_bytes), time)
    }
    /// How it ended, in a line.
    pub fn failure(&self) -> String {
        let (received, packets, end) = (self.received, self.packets, &self.end);
        let line =
            format!("{received} of {packets} packets arrived; the stream ended at its sink: {end}");
        match &self.source_end {
            Some(end) => format!("{line}, at its source: {end}"),
            None => line,
        }
    }
    /// Packets that arrived per packet sent, 0 to 1.
    pub fn data_yield(&self) -> f64 {
        f64::from(self.received) / f64::from(self.packets.max(1))
    }
    /// Joules per bit of payload that arrived: those of the path's nodes, and those of all nodes.
    pub fn joules_per_bit(&self, payload_bytes: u8) -> [Option<f64>; 2] {
        let bits = f64::from(self.received) * f64::from(payload_bytes) * 8.0;
        let per_bit = |joules: Option<f64>| joules.filter(|_| bits > 0.0).map(|j| j / bits);
        [self.joules, self.network_joules].map(per_bit)
    }
}

/// `received` packets of `air_bytes` bytes each arrived within `time`: the rate counts every byte on the air.
pub fn arrived(round: u32, received: u32, air_bytes: u32, time: Duration) -> Progress {
    Progress::Packets {
        round,
        received,
        rate: BitRate::of_bytes(u64::from(received) * u64::from(air_bytes), time),
        since: time,
    }
}

/// One stream while it runs.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: StreamPath,
    /// Its report.
    pub(super) stream: Stream,
    /// For each packet, whether it is there.
    pub(super) have: Vec<bool>,
    pub(super) calls: u32,
    pub(super) ordered: NetworkTime,
    pub(super) begun: Option<NetworkTime>,
    pub(super) is_done: bool,
    /// What all nodes had spent at the first call.
    before: Option<Vec<Option<f64>>>,
}

impl Log {
    pub(super) fn new(path: StreamPath, payload_bytes: u8) -> Self {
        let mpdu = HEADER_BYTES + usize::from(payload_bytes);
        Self {
            stream: Stream {
                packets: u32::from(path.packets),
                air_bytes: (phy::air_time(mpdu).as_nanos() / phy::BYTE.as_nanos()) as u32,
                end: "under way".to_owned(),
                source_end: Some("under way".to_owned()),
                ..Stream::default()
            },
            have: vec![false; usize::from(path.packets)],
            path,
            calls: 0,
            ordered: NetworkTime::ZERO,
            begun: None,
            is_done: false,
            before: None,
        }
    }
    pub(super) fn is_whole(&self) -> bool {
        self.stream.received == self.stream.packets
    }
    pub(super) fn begin(&mut self, at: NetworkTime) {
        if self.begun.is_none() {
            self.begun = Some(at);
            self.stream.setup_seconds = at.since(self.ordered).as_secs_f64();
        }
    }
    /// It ended at node `by`.
    pub(super) fn set_end(&mut self, by: NodeId, why: End) {
        if by == self.path.sink {
            self.stream.end = why.to_string();
        } else if by == self.path.source {
            self.stream.source_end = Some(why.to_string());
        }
    }

    /// Adds a packet. Reports progress at every sixteenth and at the last.
    pub(super) fn add_packet(&mut self, at: NetworkTime, number: u16) -> Option<Progress> {
        self.begin(at);
        let time = at.since(self.begun.unwrap_or(at));
        let stream = &mut self.stream;
        stream.seconds = time.as_secs_f64();
        match self.have.get_mut(usize::from(number)) {
            Some(have) if !*have => *have = true,
            _ => {
                stream.repeated += 1;
                return None;
            }
        }
        stream.received += 1;
        let due = stream.received.is_multiple_of(16) || stream.received == stream.packets;
        due.then(|| arrived(stream.rounds, stream.received, stream.air_bytes, time))
    }

    /// What all nodes have spent, at the first call and in the end.
    pub(super) fn note_energy(&mut self, joules: Vec<Option<f64>>) {
        match self.before.take() {
            None => self.before = Some(joules),
            Some(before) => {
                let spent = before.into_iter().zip(joules);
                let spent: Vec<Option<f64>> = spent
                    .map(|(before, after)| Some(after? - before?))
                    .collect();
                let on_path = self.path.nodes.len();
                let sum = |of: &[Option<f64>]| of.iter().copied().sum();
                self.stream.joules = spent.get(..on_path).and_then(sum);
                let others = spent.get(on_path..).filter(|others| !others.is_empty());
                self.stream.network_joules = others.and_then(|_| sum(&spent));
            }
        }
    }
    pub(super) fn note_object(&mut self, bytes: Vec<u8>) {
        self.stream.verified = self.is_whole() && digest(&bytes) == self.path.object.digest;
        self.stream.object = Some(bytes).filter(|_| self.stream.verified);
    }
}
