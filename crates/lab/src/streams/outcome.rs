//! What became of a stream.

use serde::Serialize;
use thalweg_units::{BitRate, Duration};

/// One link of a stream, as the node that sends on it counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Packets that the source had to send.
    pub packets: u32,
    /// Different packets that arrived at the sink.
    pub received: u32,
    /// How often the sink's application was given a packet that it had.
    pub repeated: u32,
    /// Bytes of a full packet on the air, preamble and headers included.
    pub air_bytes: u32,
    /// From the source's beginning to the last packet's arrival, in seconds.
    pub seconds: f64,
    /// From the order to the source's beginning, in seconds.
    pub setup_seconds: f64,
    /// Rounds that the application asked for.
    pub rounds: u32,
    /// How it ended at the sink.
    pub end: String,
    /// How it ended at the source; none where that does not tell.
    pub source_end: Option<String>,
    /// What arrived is what was sent.
    pub verified: bool,
    /// Energy of all nodes on the path, in joules.
    pub joules: f64,
    /// What arrived, where it is whole.
    #[serde(skip)]
    pub object: Option<Vec<u8>>,
    /// Its links, from the source on.
    pub links: Vec<LinkReport>,
}

impl Outcome {
    /// Raw throughput: bytes on the air of different packets at the sink (section V-A).
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
        if self.packets == 0 {
            return 0.0;
        }
        f64::from(self.received) / f64::from(self.packets)
    }
    /// Joules per bit of payload that arrived.
    pub fn joules_per_bit(&self, payload_bytes: u8) -> Option<f64> {
        let bits = f64::from(self.received) * f64::from(payload_bytes) * 8.0;
        (bits > 0.0).then(|| self.joules / bits)
    }
}
