//! What is told of a campaign: its parts, its transfers, and one row for a table.

use serde::Serialize;
use std::collections::BTreeMap;
use thalweg_planner::concurrent::Obstacle;
use thalweg_testbeds::Testbed;
use thalweg_units::Duration;

/// What a campaign's time goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Measuring links (P3, equation 1).
    Measuring,
    /// Collecting what was measured.
    Collecting,
    /// From an order to the first wake-up packet: sleepers listen at meetings only.
    Waiting,
    /// From the first wake-up packet of a wave to its sources' first packets.
    WakingUp,
    /// From there to the last data packet of the wave's slowest transfer.
    Transferring,
    /// From there until all sinks know that their sources know.
    Ending,
}

/// A network emptied, or as far as it went.
#[derive(Debug, Clone, Serialize)]
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
    /// Channels for pipelines, best first.
    pub channels: Vec<u8>,
    /// Where the time went, in seconds.
    pub parts: BTreeMap<Part, f64>,
    /// How many waves there were.
    pub waves: usize,
    /// Time of delivering transfers from their start to their last packet, summed, in seconds.
    pub busy_s: f64,
    /// How often a sink had nothing to do in a wave, and why.
    pub idle: BTreeMap<Obstacle, usize>,
    /// Nodes whose link tables did not come in.
    pub missing_tables: usize,
    /// Energy of all nodes up to the end of the survey, in joules.
    pub survey_energy_j: f64,
    /// Energy of all nodes from first to last, in joules.
    pub energy_j: f64,
    /// Every attempt, in order.
    pub transfers: Vec<TransferRow>,
}

/// One attempt at a transfer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferRow {
    /// In which wave, from 0.
    pub wave: usize,
    /// From which node.
    pub source: u16,
    /// To which.
    pub sink: u16,
    /// Length and digest agree with what the source said.
    pub verified: bool,
    /// They do, and yet the bytes are others than the source's: must never be.
    pub wrong: bool,
    /// Bytes delivered.
    pub bytes: u64,
    /// Object bits per time from its own first wake-up packet to its last data packet; 0 where it failed.
    pub goodput_kbps: f64,
    /// What the planner had expected, in kbit/s.
    pub predicted_kbps: f64,
    /// That time, or the time until it had failed, in seconds.
    pub duration_s: f64,
    /// Rounds of transmission.
    pub rounds: u32,
    /// Share of its packets that arrived in the first round, 0..=1.
    pub first_round_reliability: Option<f64>,
    /// H.
    pub hops: usize,
    /// M.
    pub paths: usize,
    /// Source, relays and sink.
    pub active_nodes: usize,
    /// Reception channels of stages 0 to H.
    pub channels: Vec<u8>,
    /// How it ended, where it failed.
    pub failure: Option<String>,
}

impl TransferRow {
    pub(super) fn lost(wave: usize, source: u16, why: String) -> Self {
        Self {
            wave,
            source,
            sink: 0,
            verified: false,
            wrong: false,
            bytes: 0,
            goodput_kbps: 0.0,
            predicted_kbps: 0.0,
            duration_s: 0.0,
            rounds: 0,
            first_round_reliability: None,
            hops: 0,
            paths: 0,
            active_nodes: 0,
            channels: Vec::new(),
            failure: Some(why),
        }
    }
}

/// A campaign in one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkRow {
    /// The seed.
    pub seed: u64,
    /// The testbed's name.
    pub testbed: String,
    /// The mode's name (see [`super::Mode`]).
    pub mode: String,
    /// Base stations.
    pub stations: usize,
    /// Radios of all base stations: the most transfers at once.
    pub radios: usize,
    /// Nodes to be emptied.
    pub sources: usize,
    /// Of those, emptied.
    pub delivered: usize,
    /// Attempts that failed.
    pub failed_attempts: usize,
    /// Bytes of each object.
    pub bytes_each: u32,
    /// Seconds of link measurement.
    pub measuring_s: f64,
    /// Seconds of collection.
    pub collecting_s: f64,
    /// Seconds from orders to first wake-up packets.
    pub waiting_s: f64,
    /// Seconds of wake-ups.
    pub waking_up_s: f64,
    /// Seconds of transfers.
    pub transferring_s: f64,
    /// Seconds from last packets to free sinks.
    pub ending_s: f64,
    /// Seconds from the end of collection to the end: all that follows the survey.
    pub download_s: f64,
    /// Seconds, everything.
    pub total_s: f64,
    /// Waves.
    pub waves: usize,
    /// Transfers at work, on average over the time of transfers.
    pub at_work: f64,
    /// All bits delivered per second of the download, in kbit/s.
    pub goodput_sum_kbps: f64,
    /// Mean goodput of the transfers that delivered, in kbit/s.
    pub transfer_goodput_kbps: f64,
    /// The least.
    pub least_goodput_kbps: f64,
    /// Mean first-round reliability of those.
    pub first_round_reliability: f64,
    /// Mean hops of those.
    pub hops: f64,
    /// Mean active nodes of those.
    pub active_nodes: f64,
    /// Sinks without a transfer in a wave, by obstacle: no source left.
    pub idle_sources: usize,
    /// No relays free.
    pub idle_relays: usize,
    /// No channels free.
    pub idle_channels: usize,
    /// Too little predicted.
    pub idle_goodput: usize,
    /// Energy of all nodes over the download, in joules.
    pub energy_j: f64,
    /// The same over the survey.
    pub survey_energy_j: f64,
    /// Energy of the download per byte delivered, in microjoules.
    pub energy_per_byte_uj: f64,
}

impl Campaign {
    pub(super) fn new(testbed: &Testbed, seed: u64, radios: usize, sources: usize) -> Self {
        Self {
            testbed: testbed.name.clone(),
            seed,
            radios,
            sources,
            bytes_each: 0,
            channels: Vec::new(),
            parts: BTreeMap::new(),
            waves: 0,
            busy_s: 0.0,
            idle: BTreeMap::new(),
            missing_tables: 0,
            survey_energy_j: 0.0,
            energy_j: 0.0,
            transfers: Vec::new(),
        }
    }
    pub(super) fn add(&mut self, part: Part, time: Duration) {
        *self.parts.entry(part).or_default() += time.as_secs_f64();
    }
    /// Seconds of one part.
    pub fn part_s(&self, part: Part) -> f64 {
        self.parts.get(&part).copied().unwrap_or(0.0)
    }
    /// Seconds, everything.
    pub fn total_s(&self) -> f64 {
        self.parts.values().sum()
    }
    /// Bytes delivered.
    pub fn bytes(&self) -> u64 {
        self.transfers.iter().map(|t| t.bytes).sum()
    }

    /// In one line, as a run of `mode` with so many base stations.
    pub fn row(&self, mode: &str, stations: usize) -> NetworkRow {
        let good: Vec<&TransferRow> = self.transfers.iter().filter(|t| t.verified).collect();
        let mean = |of: &dyn Fn(&TransferRow) -> f64| {
            good.iter().map(|t| of(t)).sum::<f64>() / good.len().max(1) as f64
        };
        let download =
            self.total_s() - self.part_s(Part::Measuring) - self.part_s(Part::Collecting);
        let energy = self.energy_j - self.survey_energy_j;
        let per = |value: f64, by: f64| if by > 0.0 { value / by } else { 0.0 };
        let least = good.iter().map(|t| t.goodput_kbps).reduce(f64::min);
        let idle = |why| self.idle.get(&why).copied().unwrap_or(0);
        NetworkRow {
            seed: self.seed,
            testbed: self.testbed.clone(),
            mode: mode.to_owned(),
            stations,
            radios: self.radios,
            sources: self.sources,
            delivered: good.len(),
            failed_attempts: self.transfers.len() - good.len(),
            bytes_each: self.bytes_each,
            measuring_s: self.part_s(Part::Measuring),
            collecting_s: self.part_s(Part::Collecting),
            waiting_s: self.part_s(Part::Waiting),
            waking_up_s: self.part_s(Part::WakingUp),
            transferring_s: self.part_s(Part::Transferring),
            ending_s: self.part_s(Part::Ending),
            download_s: download,
            total_s: self.total_s(),
            waves: self.waves,
            at_work: per(self.busy_s, self.part_s(Part::Transferring)),
            goodput_sum_kbps: per(self.bytes() as f64 * 8e-3, download),
            transfer_goodput_kbps: mean(&|t| t.goodput_kbps),
            least_goodput_kbps: least.unwrap_or(0.0),
            first_round_reliability: mean(&|t| t.first_round_reliability.unwrap_or(0.0)),
            hops: mean(&|t| t.hops as f64),
            active_nodes: mean(&|t| t.active_nodes as f64),
            idle_sources: idle(Obstacle::Sources),
            idle_relays: idle(Obstacle::Relays),
            idle_channels: idle(Obstacle::Channels),
            idle_goodput: idle(Obstacle::Goodput),
            energy_j: energy,
            survey_energy_j: self.survey_energy_j,
            energy_per_byte_uj: per(energy * 1e6, self.bytes() as f64),
        }
    }
}
