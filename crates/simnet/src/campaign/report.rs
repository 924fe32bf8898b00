//! The report of a campaign: its phases and its transfers.

use serde::Serialize;
use std::collections::BTreeMap;
use thalweg_host::outcome::Outcome;
use thalweg_planner::concurrent::Obstacle;
use thalweg_units::Duration;

/// What a campaign's time goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Measuring links (P3, equation 1).
    Measuring,
    /// Collecting what was measured.
    Collecting,
    /// From an order to the first wake-up packet: sleepers listen at rendezvous only.
    Waiting,
    /// From the first wake-up packet of a wave to its sources' first packets.
    WakingUp,
    /// From there to the last data packet of the wave's slowest transfer.
    Transferring,
    /// From there until all sinks know that their sources heard of the end.
    Ending,
}

/// A network emptied, or as far as it went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Campaign {
    /// The testbed's name.
    pub testbed: String,
    /// The seed.
    pub seed: u64,
    /// Sinks.
    pub radios: usize,
    /// Nodes to be emptied.
    pub sources: usize,
    /// Bytes of each.
    pub bytes_each: u32,
    /// Where the time went, in seconds.
    pub phases: BTreeMap<Phase, f64>,
    /// How many waves there were.
    pub waves: usize,
    /// Time of delivering transfers from their start to their last packet, summed, in seconds.
    pub busy_s: f64,
    /// How often a sink had nothing to do in a wave, and why.
    pub idle: BTreeMap<Obstacle, usize>,
    /// Energy of all nodes up to the end of the survey, in joules.
    pub survey_energy_j: f64,
    /// Energy of all nodes from first to last, survey included, in joules.
    pub network_energy_j: f64,
    /// Every attempt of a wave, in order, then each source that was fetched from alone.
    pub transfers: Vec<Outcome<InWave>>,
}

/// Details of a transfer that ran beside others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InWave {
    /// In which wave, from 0.
    pub wave: usize,
    /// Length and digest agree with what the source said, and yet the bytes are others: must never be.
    pub wrong: bool,
    /// What the planner had expected, in kbit/s.
    pub predicted_kbps: f64,
}

impl Campaign {
    pub(super) fn add(&mut self, phase: Phase, time: Duration) {
        *self.phases.entry(phase).or_default() += time.as_secs_f64();
    }
    /// Seconds of one phase.
    pub fn phase_s(&self, phase: Phase) -> f64 {
        self.phases.get(&phase).copied().unwrap_or(0.0)
    }
    /// Seconds, everything.
    pub fn total_s(&self) -> f64 {
        self.phases.values().sum()
    }
    /// Bytes delivered.
    pub fn bytes(&self) -> u64 {
        self.transfers.iter().map(|t| t.summary.bytes).sum()
    }
    /// Seconds that it took after the survey.
    pub fn download_s(&self) -> f64 {
        self.total_s() - self.phase_s(Phase::Measuring) - self.phase_s(Phase::Collecting)
    }
}
