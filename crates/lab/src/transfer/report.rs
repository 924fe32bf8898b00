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
    /// How many times the transfer was begun; what is said of rounds is of the last time.
    pub attempts: u32,
    /// How it ended, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The seed of the run.
    pub seed: u64,
}

impl Outcome {
    /// Counts a transfer that failed before this one as part of it: its time, the pause of
    /// `pause_s` seconds between them, its energy and its attempts.
    pub fn follows(&mut self, failed: &Self, pause_s: f64) {
        let duration_s = self.duration_s + failed.duration_s + pause_s;
        if duration_s > 0.0 {
            let share = self.duration_s / duration_s;
            self.goodput_kbps *= share;
            self.utilisation *= share;
        }
        self.duration_s = duration_s;
        self.energy_j += failed.energy_j;
        self.attempts += failed.attempts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_transfer_costs_time_energy_and_goodput() {
        let whole = Outcome {
            protocol: "p3".to_owned(),
            testbed: "line5".to_owned(),
            source: 5,
            sink: 1,
            bytes: 59_000,
            verified: true,
            goodput_kbps: 160.0,
            utilisation: 0.8,
            rounds: 2,
            first_round_reliability: Some(0.9),
            retransmitted: Some(0.1),
            active_nodes: 5,
            hops: 4,
            paths: 1,
            energy_j: 1.0,
            duration_s: 3.0,
            wake_up_s: 0.1,
            attempts: 1,
            failure: None,
            seed: 1,
        };
        let failed = Outcome {
            bytes: 0,
            verified: false,
            goodput_kbps: 0.0,
            duration_s: 5.0,
            energy_j: 2.0,
            ..whole.clone()
        };
        let mut both = whole.clone();
        both.follows(&failed, 4.0);
        assert_eq!(
            (both.duration_s, both.energy_j, both.attempts),
            (12.0, 3.0, 2)
        );
        assert_eq!((both.goodput_kbps, both.utilisation), (40.0, 0.2));
        assert_eq!((both.bytes, both.rounds), (whole.bytes, whole.rounds));
    }
}
