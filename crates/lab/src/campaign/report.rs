//! What is told of a campaign: its parts, its transfers, and one row for a table.

use crate::results::{Row, SEED};
use serde::Serialize;
use std::collections::BTreeMap;
use thalweg_gateway::outcome::{Core, Outcome};
use thalweg_planner::concurrent::Obstacle;
use thalweg_units::Duration;

/// What a campaign's time goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Debug, Clone, Default)]
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
    pub parts: BTreeMap<Part, f64>,
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
    /// Every attempt, in order.
    pub transfers: Vec<Outcome<InWave>>,
}

/// What is told of a transfer that ran beside others.
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
        self.transfers.iter().map(|t| t.core.bytes).sum()
    }

    /// In one row, as a run of `mode` with so many base stations: times in seconds, rates in kbit/s, means
    /// over the transfers that delivered.
    pub fn row(&self, mode: &str, stations: usize) -> Row {
        let all = self.transfers.iter().map(|t| &t.core);
        let good: Vec<&Core> = all.filter(|t| t.verified).collect();
        let mean = |of: &dyn Fn(&Core) -> f64| {
            good.iter().map(|t| of(t)).sum::<f64>() / good.len().max(1) as f64
        };
        let (measuring, collecting) = (self.part_s(Part::Measuring), self.part_s(Part::Collecting));
        let download = self.total_s() - measuring - collecting;
        let per = |value: f64, by: f64| if by > 0.0 { value / by } else { 0.0 };
        let least = good.iter().map(|t| t.goodput_kbps).reduce(f64::min);
        let reliability = |t: &Core| t.first_round_reliability.unwrap_or(0.0);
        let bytes = self.bytes() as f64;
        let idle = |why| self.idle.get(&why).copied().unwrap_or(0);
        Row::new()
            .with(SEED, self.seed)
            .with("testbed", self.testbed.as_str())
            .with("mode", mode)
            .with("stations", stations)
            .with("radios", self.radios)
            .with("sources", self.sources)
            .with("delivered", good.len())
            .with(
                "delivered_share",
                per(good.len() as f64, self.sources as f64),
            )
            .with("failed_attempts", self.transfers.len() - good.len())
            .with("bytes_each", self.bytes_each)
            .with("measuring_s", measuring)
            .with("collecting_s", collecting)
            .with("survey_s", measuring + collecting)
            .with("waiting_s", self.part_s(Part::Waiting))
            .with("waking_up_s", self.part_s(Part::WakingUp))
            .with("transferring_s", self.part_s(Part::Transferring))
            .with("ending_s", self.part_s(Part::Ending))
            .with("download_s", download)
            .with("total_s", self.total_s())
            .with("waves", self.waves)
            .with("at_work", per(self.busy_s, self.part_s(Part::Transferring)))
            .with("goodput_sum_kbps", per(bytes * 8e-3, download))
            .with("cold_goodput_kbps", per(bytes * 8e-3, self.total_s()))
            .with("transfer_goodput_kbps", mean(&|t| t.goodput_kbps))
            .with("least_goodput_kbps", least.unwrap_or(0.0))
            .with("first_round_reliability", mean(&reliability))
            .with("hops", mean(&|t| f64::from(t.hops)))
            .with("active_nodes", mean(&|t| f64::from(t.active_nodes)))
            .with("idle_sources", idle(Obstacle::Sources))
            .with("idle_relays", idle(Obstacle::Relays))
            .with("idle_channels", idle(Obstacle::Channels))
            .with("idle_goodput", idle(Obstacle::Goodput))
            .with("network_energy_j", self.network_energy_j)
            .with("survey_energy_j", self.survey_energy_j)
            .with(
                "network_energy_per_byte_uj",
                per(self.network_energy_j * 1e6, bytes),
            )
    }
}
