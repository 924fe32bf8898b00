//! What is told of a transfer.

use serde::Serialize;

/// One transfer, as it is printed, stored and compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// `p3` or `pip`.
    pub protocol: String,
    /// The testbed's name.
    pub testbed: String,
    /// The node that had the object.
    pub source: u16,
    /// The node that wanted it.
    pub sink: u16,
    /// Bytes of the object that arrived, padding left out; 0 where it did not arrive whole.
    pub bytes: u64,
    /// Length and digest agree with the source's.
    pub verified: bool,
    /// Object bits per time from the first wake-up packet to the last data packet, in kbit/s; 0
    /// for a transfer that failed (P3, section V).
    pub goodput_kbps: f64,
    /// Goodput over the effective physical rate of the same packets, 0..=1 (P3, section V).
    pub utilisation: f64,
    /// Rounds of transmission.
    pub rounds: u32,
    /// Share of the packets that arrived in the first round, 0..=1.
    pub first_round_reliability: Option<f64>,
    /// Share of retransmissions in all data transmissions of the source, 0..=1.
    pub retransmitted: Option<f64>,
    /// Nodes that took part, source and sink included.
    pub active_nodes: u32,
    /// H.
    pub hops: u32,
    /// M, node-distinct paths.
    pub paths: u32,
    /// Energy of all active nodes from the first wake-up packet to the last data packet, radio and
    /// microcontroller, in joules.
    pub energy_j: f64,
    /// From the first wake-up packet to the last data packet (or to the end of a transfer that
    /// failed), in seconds.
    pub duration_s: f64,
    /// Of it, up to the source's first packet, in seconds.
    pub wake_up_s: f64,
    /// How it ended, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The seed of the run.
    pub seed: u64,
}
