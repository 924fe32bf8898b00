//! Whole networks emptied: an object from every node, in several modes of bringing them to one or
//! more base stations ([`thalweg_simnet::campaign`]), against the one after the other that P3, section IV-D3,
//! counts with.
//!
//! Owns the keys of `kind = "network"` and its rows: one per mode, protocol and seed. Everything of a
//! row happened on one simulated time line. Tests: `tests.rs`.

use super::context::{rows_in_order, RunContext};
use super::keys::keys;
use super::kind::{expect, pairs, with_seed, Kind};
use super::{ExperimentError, Result};
use crate::results::{columns, Column, Row, SEED};
use std::ops::ControlFlow::Continue;
use thalweg_host::link_state::CLEAN_CHANNELS;
use thalweg_host::outcome::Summary;
use thalweg_host::registry::Pipelined;
use thalweg_planner::concurrent::Obstacle;
use thalweg_simnet::campaign::{empty, Campaign, CampaignError, Mode, Phase, Sources};
use thalweg_simnet::collect::Object;
use thalweg_units::{Channel, ChannelSet};

keys! {
    "network",
    /// An object from every node, in several modes of bringing them to one or more base stations.
    pub struct Network {
        /// Testbed, by name or file.
        pub testbed: String;
        /// Bytes of each node's object.
        pub bytes: u32, 1..=16_384 * 118;
        /// The channels that are measured; transfers that run at once share those of them that link the
        /// network well.
        pub channels: Vec<u8> = [15, 20, 25, 26], 11..=26;
        /// From so many nodes only, spread over the network.
        pub sources: Option<u32>, 1..=u32::MAX;
        /// Modes, by name; a wrong one is answered with all of them.
        pub modes: Vec<String>;
        /// How objects travel; each in every mode. P3, PIP or variants of them.
        pub protocols: Vec<Pipelined>;
    }
}

impl Kind for Network {
    fn columns() -> Vec<Column> {
        with_seed(&[columns! {
            testbed: Text, "Testbed.";
            mode: Text, "Mode.";
            stations: Whole, "Base stations.";
            radios: Whole, "Their radios: sinks.";
            sources: Whole, "Nodes to be emptied.";
            protocol: Text, "Protocol.";
            delivered: Whole, "Objects that arrived whole.";
            delivered_share: Number, "The same as a share of `sources`.";
            hop_by_hop: Whole, "Objects that came hop by hop, the last resort.";
            failed_attempts: Whole, "Transfers that brought nothing.";
            bytes_each: Whole "byte", "Bytes of each object.";
            measuring_s: Number "s", "Measuring links.";
            collecting_s: Number "s", "Collecting what was measured.";
            survey_s: Number "s", "Both.";
            waiting_s: Number "s", "From orders to the first wake-up packets.";
            waking_up_s: Number "s", "From there to the sources' first packets.";
            transferring_s: Number "s", "From there to the last data packets.";
            ending_s: Number "s", "From there until the sinks know that their sources heard of the end.";
            download_s: Number "s", "All after the survey.";
            total_s: Number "s", "Everything.";
            waves: Whole, "Waves of transfers at once.";
            at_work: Number, "Transfers at work at once, in the mean over `transferring_s`.";
            goodput_sum_kbps: Number "kbit/s", "Bits of all objects over `download_s`.";
            transfer_goodput_kbps: Number "kbit/s", "Mean goodput of the transfers that delivered.";
            least_goodput_kbps: Number "kbit/s", "Least goodput of them; 0 where none did.";
            first_round_reliability: Number, "Mean share of their packets that arrived in the first round.";
            hops: Number, "Their mean hops.";
            active_nodes: Number, "Their mean number of active nodes.";
            idle_sources: Whole, "How often a sink had nothing to do, since no source was left.";
            idle_relays: Whole, "The same, since too few relays were free.";
            idle_channels: Whole, "The same, since too few channels were free.";
            idle_goodput: Whole, "The same, since too little of its goodput would have been left.";
            cold_goodput_kbps: Number "kbit/s", "Bits of all objects over `total_s`.";
            network_energy_j: Number "J", "Energy of all nodes, survey included.";
            survey_energy_j: Number "J", "Of that, the survey's.";
            network_energy_per_byte_uj: Number "uJ/byte", "`network_energy_j` over bytes that arrived; 0 where none did.";
        }])
    }

    fn check(&self) -> Result<(), String> {
        let names = Mode::ALL.map(|mode| mode.name);
        let is_mode = self.modes.iter().all(|m| names.contains(&m.as_str()));
        expect("modes", is_mode, &format!("some of {}", names.join(" ")))?;
        let clean = CLEAN_CHANNELS.iter().all(|c| self.channels.contains(c));
        expect("channels", clean, "15, 20, 25 and 26 among others")
    }

    fn parts(&self) -> u64 {
        (self.modes.len() * self.protocols.len()) as u64
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let modes = self.modes.iter().filter_map(|name| Mode::named(name));
        let cases = pairs(&modes.collect::<Vec<_>>(), &self.protocols);
        let cases: Vec<_> = cases.into_iter().enumerate().collect();
        rows_in_order(&cases, |&(place, (mode, variant))| {
            let row = || Ok(vec![self.row(seed, mode, variant, context)?]);
            context.setting((seed, place), row)
        })
    }

    fn routes_key(&self) -> Option<&'static str> {
        Some("sources")
    }
}

impl Network {
    fn channel_set(&self) -> ChannelSet {
        let channels = self.channels.iter();
        channels.filter_map(|c| Channel::new(*c).ok()).collect()
    }

    fn row(
        &self,
        seed: u64,
        mode: Mode,
        variant: Pipelined,
        context: &RunContext<'_>,
    ) -> Result<Row> {
        let site = context.site(&self.testbed, seed)?;
        let object = Object::Random { bytes: self.bytes };
        let mut settings = mode.settings(&site, variant, self.channel_set(), object);
        if let Some(wanted) = self.sources {
            settings.sources = Sources::Spread(wanted as usize);
        }
        let mut silent = |_: &_, _: Option<&[u8]>| Continue(());
        match empty(&site, &settings, &mut |_| context.flow(), &mut silent) {
            Ok(campaign) => Ok(row_of(&campaign, mode).with("protocol", variant.name)),
            Err(CampaignError::Run(why)) => Err(why.into()),
            Err(why) => Err(ExperimentError::unfit(&site, why.to_string())),
        }
    }
}

/// `of`, a run of `mode`, in one row: times in seconds, rates in kbit/s, means over the transfers that delivered.
fn row_of(of: &Campaign, mode: Mode) -> Row {
    let all = of.transfers.iter().map(|t| &t.summary);
    let good: Vec<&Summary> = all.filter(|t| t.verified).collect();
    let mean = |of: &dyn Fn(&Summary) -> f64| {
        (!good.is_empty()).then(|| good.iter().map(|t| of(t)).sum::<f64>() / good.len() as f64)
    };
    let (measuring, collecting) = (of.phase_s(Phase::Measuring), of.phase_s(Phase::Collecting));
    let download = of.download_s();
    let per = |value: f64, by: f64| if by > 0.0 { value / by } else { 0.0 };
    let least = good.iter().map(|t| t.goodput_kbps).reduce(f64::min);
    let hop_by_hop = |t: &Summary| t.protocol == Pipelined::HOP_BY_HOP.name;
    let bytes = of.bytes() as f64;
    let idle = |why| of.idle.get(&why).copied().unwrap_or(0);
    let mut row = Row::new()
        .with(SEED, of.seed)
        .with("testbed", of.testbed.as_str())
        .with("mode", mode.name)
        .with("stations", mode.stations())
        .with("radios", of.radios)
        .with("sources", of.sources)
        .with("delivered", good.len())
        .with("delivered_share", per(good.len() as f64, of.sources as f64))
        .with("hop_by_hop", good.iter().filter(|t| hop_by_hop(t)).count())
        .with("failed_attempts", of.transfers.len() - good.len())
        .with("bytes_each", of.bytes_each)
        .with("measuring_s", measuring)
        .with("collecting_s", collecting)
        .with("survey_s", measuring + collecting)
        .with("waiting_s", of.phase_s(Phase::Waiting))
        .with("waking_up_s", of.phase_s(Phase::WakingUp))
        .with("transferring_s", of.phase_s(Phase::Transferring))
        .with("ending_s", of.phase_s(Phase::Ending))
        .with("download_s", download)
        .with("total_s", of.total_s())
        .with("waves", of.waves)
        .with("at_work", per(of.busy_s, of.phase_s(Phase::Transferring)))
        .with("goodput_sum_kbps", per(bytes * 8e-3, download))
        .with("cold_goodput_kbps", per(bytes * 8e-3, of.total_s()))
        .with("least_goodput_kbps", least.unwrap_or(0.0))
        .with("idle_sources", idle(Obstacle::Sources))
        .with("idle_relays", idle(Obstacle::Relays))
        .with("idle_channels", idle(Obstacle::Channels))
        .with("idle_goodput", idle(Obstacle::Goodput))
        .with("network_energy_j", of.network_energy_j)
        .with("survey_energy_j", of.survey_energy_j)
        .with(
            "network_energy_per_byte_uj",
            per(of.network_energy_j * 1e6, bytes),
        );
    // Nothing of none that arrived.
    row.set_some("transfer_goodput_kbps", mean(&|t| t.goodput_kbps));
    row.set_some("hops", mean(&|t| f64::from(t.hops)));
    row.set_some("active_nodes", mean(&|t| f64::from(t.active_nodes)));
    row.set_some("first_round_reliability", first_round_reliability(&good));
    row
}

/// The mean over those that have rounds: what goes hop by hop has none.
fn first_round_reliability(of: &[&Summary]) -> Option<f64> {
    let each: Vec<f64> = (of.iter())
        .filter_map(|t| t.first_round_reliability)
        .collect();
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}
