//! The outcome of a transfer: a summary that all have, and details of its family. Tests: `outcome_tests.rs`.

use crate::job::Retry;
use serde::{de, Deserialize, Deserializer, Serialize, Serializer};
use thalweg_units::{Duration, NodeId};

/// The outcome of a transfer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome<X> {
    /// What all transfers report.
    #[serde(flatten)]
    pub summary: Summary,
    /// What its family adds.
    #[serde(flatten)]
    pub details: X,
}

/// The cost of a transfer with the survey before it: that of the first object from an unknown network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cold {
    /// From the survey's first beacon to the complete table of links, in seconds; 0 where an old survey serves.
    pub survey_s: f64,
    /// That and the transfer: from the first beacon to the last data packet, in seconds.
    pub cold_s: f64,
    /// Object bits over that time, in kbit/s; 0 for a transfer that failed. Where the survey is left out, as
    /// papers do, goodput is warm: [`Summary::goodput_kbps`].
    pub cold_goodput_kbps: f64,
}

fn is_open(sealed: &bool) -> bool {
    !sealed
}

/// What every transfer reports, as it is printed, stored and compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The protocol that carried it, such as `p3`.
    pub protocol: String,
    /// The testbed's name, or the file it came from.
    pub testbed: String,
    /// The node that had the object.
    #[serde(serialize_with = "number", deserialize_with = "node")]
    pub source: NodeId,
    /// The base station.
    #[serde(serialize_with = "number", deserialize_with = "node")]
    pub sink: NodeId,
    /// Bytes of the object, padding left out; of pipelines 0 where it did not arrive whole.
    pub bytes: u64,
    /// Length and digest agree with the source's; its tag, which nobody else can make, where it is sealed.
    pub verified: bool,
    /// It travelled encrypted, and is the source's own. Left out where it is not.
    #[serde(default, skip_serializing_if = "is_open")]
    pub sealed: bool,
    /// Object bits per time from the beginning to the last data packet, in kbit/s; 0 for a transfer that
    /// failed (P3, section V).
    pub goodput_kbps: f64,
    /// Goodput over the effective physical rate of the same packets, 0..=1 (P3, section V); none where
    /// a family has no such rate.
    pub utilisation: Option<f64>,
    /// Rounds of transmission.
    pub rounds: u32,
    /// Share of the packets that arrived in the first round, 0..=1.
    pub first_round_reliability: Option<f64>,
    /// Nodes that took part, source and sink included.
    pub active_nodes: u32,
    /// H.
    pub hops: u32,
    /// M, node-distinct paths.
    pub paths: u32,
    /// The transfer's own energy, as papers count it: that of all active nodes from the beginning to the last
    /// data packet, radio and microcontroller, in joules; none without meters.
    pub energy_j: Option<f64>,
    /// The same of all nodes of the network, those that only listen or sleep included, and of the survey where
    /// [`Summary::after`] counts one; none unless all nodes have meters.
    pub network_energy_j: Option<f64>,
    /// With the survey, where one was counted.
    #[serde(flatten)]
    pub cold: Option<Cold>,
    /// From the first wake-up packet to the last data packet (of streams from the source's beginning; to the
    /// end of a transfer that failed), in seconds.
    pub duration_s: f64,
    /// Before that, from the order to the first wake-up packet: nodes that sleep meet now and then. In seconds.
    pub waited_s: f64,
    /// How many attempts there were; rounds are those of the last.
    pub attempts: u32,
    /// How it ended, where it failed.
    pub failure: Option<String>,
    /// The seed of the run.
    pub seed: u64,
}

fn number<S: Serializer>(node: &NodeId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(node.get())
}
fn node<'a, D: Deserializer<'a>>(from: D) -> Result<NodeId, D::Error> {
    NodeId::new(u16::deserialize(from)?).map_err(de::Error::custom)
}

impl Summary {
    /// Counts the survey that the transfer's plan is from: `survey_s` seconds and, in joules, the energy of all
    /// nodes meanwhile. After all parts and attempts are counted.
    pub fn after(&mut self, survey_s: f64, joules: Option<f64>) {
        let cold_s = survey_s + self.waited_s + self.duration_s;
        let bits = if self.verified {
            self.bytes as f64 * 8.0
        } else {
            0.0
        };
        self.network_energy_j = self.network_energy_j.zip(joules).map(|(a, b)| a + b);
        self.cold = Some(Cold {
            survey_s,
            cold_s,
            cold_goodput_kbps: bits / 1000.0 / cold_s.max(f64::MIN_POSITIVE),
        });
    }

    /// Makes this a failed transfer, for the reason `why`.
    pub(crate) fn fails(&mut self, why: String) {
        (self.bytes, self.verified, self.goodput_kbps) = (0, false, 0.0);
        self.failure = Some(why);
    }

    fn add_energy(&mut self, of: &Self) {
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        self.energy_j = sum(self.energy_j, of.energy_j);
        self.network_energy_j = sum(self.network_energy_j, of.network_energy_j);
    }

    /// Adds `next`, the transfer of the object's next segment, after a pause of `pause_s` seconds.
    pub fn append(&mut self, next: &Self, pause_s: f64) {
        let (before, bytes) = (self.clone(), self.bytes as f64);
        self.bytes += next.bytes;
        self.verified &= next.verified;
        self.duration_s += pause_s + next.waited_s + next.duration_s;
        let total = self.duration_s.max(f64::MIN_POSITIVE);
        let over_time = |a: f64, b: f64| (a * before.duration_s + b * next.duration_s) / total;
        let over_bytes =
            |a: f64, b: f64| (a * bytes + b * next.bytes as f64) / (self.bytes.max(1) as f64);
        let goodput = over_time(before.goodput_kbps, next.goodput_kbps);
        let (u, v) = (before.utilisation, next.utilisation);
        self.utilisation = u.zip(v).map(|(u, v)| over_time(u, v));
        let (r, s) = (before.first_round_reliability, next.first_round_reliability);
        self.first_round_reliability = r.zip(s).map(|(r, s)| over_bytes(r, s));
        self.rounds = self.rounds.max(next.rounds);
        self.active_nodes = self.active_nodes.max(next.active_nodes);
        self.add_energy(next);
        self.attempts += next.attempts;
        self.failure.clone_from(&next.failure);
        (self.bytes, self.goodput_kbps) = match self.verified {
            true => (self.bytes, goodput),
            false => (0, 0.0),
        };
    }

    /// Adds the cost of a transfer that failed before this one: its time, the pause of `pause_s` seconds between
    /// them, its energy and its attempts.
    pub fn add_failed(&mut self, failed: &Self, pause_s: f64) {
        let duration_s = failed.duration_s + pause_s + self.waited_s + self.duration_s;
        if duration_s > 0.0 {
            let share = self.duration_s / duration_s;
            self.goodput_kbps *= share;
            self.utilisation = self.utilisation.map(|u| u * share);
        }
        (self.waited_s, self.duration_s) = (failed.waited_s, duration_s);
        self.add_energy(failed);
        self.attempts += failed.attempts;
    }
}

/// Runs a transfer over the plan `first` and, as long as it does not arrive whole and `retry` allows it, over the
/// plans that `next` makes from the plan before and the number of plans tried, each with the pause before it. The outcome
/// includes time, energy and attempts of those that failed, and these pauses. Also returns how many plans were tried.
///
/// # Errors
/// Those of `run`, which takes a plan and the number of plans tried before.
pub fn over_plans<P, X, T, E>(
    retry: Retry,
    first: P,
    mut run: impl FnMut(&P, u32) -> Result<(Outcome<X>, T), E>,
    mut next: impl FnMut(&P, u32) -> Option<(P, Duration)>,
) -> Result<(Outcome<X>, T, u32), E> {
    let (mut plan, mut tried, mut failed) = (first, 0, None);
    loop {
        let (mut outcome, brought) = run(&plan, tried)?;
        tried += 1;
        if let Some((failed, pause)) = &failed {
            (outcome.summary).add_failed(failed, Duration::as_secs_f64(*pause));
        }
        let again = !outcome.summary.verified && retry.allows(tried);
        match again.then(|| next(&plan, tried)).flatten() {
            Some((again, pause)) => (plan, failed) = (again, Some((outcome.summary, pause))),
            None => return Ok((outcome, brought, tried)),
        }
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
pub(crate) mod tests;
