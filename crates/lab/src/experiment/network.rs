//! Whole networks emptied: an object from every node, in several modes of bringing them to one or
//! more base stations ([`crate::campaign`]), against the one after the other that P3, section IV-D3,
//! counts with.
//!
//! Owns the keys of `kind = "network"` and its rows: one per mode, protocol and seed. Everything of a
//! row happened on one simulated time line. Tests: `tests.rs`.

use super::keys::expect;
use super::metric::SEED;
use super::row::{Row, Value};
use super::sites::Sites;
use super::{in_order, ExperimentError, Ticker};
use crate::campaign::{empty, CampaignError, Mode, NetworkRow};
use serde::Deserialize;
use std::ops::ControlFlow::{Break, Continue};
use thalweg_gateway::known::CLEAN_CHANNELS;
use thalweg_gateway::registry::Pipelined;
use thalweg_units::{Channel, ChannelSet};

/// A whole network emptied.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Testbed, by name or file.
    pub testbed: String,
    /// Bytes of each node's object.
    pub bytes: u32,
    /// The channels that are measured; transfers that run at once share those of them that link the
    /// network well.
    #[serde(default = "clean_channels")]
    pub channels: Vec<u8>,
    /// From so many nodes only, spread over the network.
    pub sources: Option<u32>,
    /// Modes, by name ([`Mode::name`]).
    pub modes: Vec<String>,
    /// How objects travel; each in every mode. P3, PIP or variants of them.
    pub protocols: Vec<Pipelined>,
}

fn clean_channels() -> Vec<u8> {
    CLEAN_CHANNELS.to_vec()
}

impl Network {
    fn channel_set(&self) -> ChannelSet {
        let valid = self.channels.iter().filter_map(|c| Channel::new(*c).ok());
        valid.collect()
    }
    pub(super) fn check(&self) -> Result<(), String> {
        let names: Vec<String> = Mode::ALL.iter().map(|m| m.name()).collect();
        let known = !self.modes.is_empty() && self.modes.iter().all(|m| names.contains(m));
        expect("modes", known, &format!("some of {}", names.join(" ")))?;
        expect("protocols", !self.protocols.is_empty(), "at least one")?;
        let clean = clean_channels().iter().all(|c| self.channels.contains(c));
        let channels = clean && self.channels.iter().all(|c| Channel::new(*c).is_ok());
        let range = "channels from 11 to 26, with 15, 20, 25 and 26";
        expect("channels", channels, range)?;
        expect("sources", self.sources != Some(0), "at least 1")?;
        let bytes = (1..=16_384 * 118).contains(&self.bytes);
        expect("bytes", bytes, "1 to 1933312")
    }
    /// Parts per seed that progress is counted in.
    pub(super) fn parts(&self) -> u64 {
        (self.modes.len() * self.protocols.len()) as u64
    }

    pub(super) fn rows(
        &self,
        seeds: &[u64],
        sites: &Sites,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let modes = self.modes.iter().filter_map(|name| Mode::named(name));
        let cases: Vec<(u64, Mode, Pipelined)> = seeds
            .iter()
            .flat_map(|&seed| modes.clone().map(move |mode| (seed, mode)))
            .flat_map(|(seed, mode)| self.protocols.iter().map(move |&v| (seed, mode, v)))
            .collect();
        in_order(&cases, |&(seed, mode, variant)| {
            ticker.go_on()?;
            let site = sites.site(&self.testbed, seed)?;
            let mut settings = mode.settings(&site, variant, self.channel_set(), self.bytes);
            settings.sources = self.sources.map(|n| n as usize);
            let mut observer = |_| match ticker.stopped() {
                true => Break(()),
                false => Continue(()),
            };
            let campaign = empty(&site, &settings, &mut observer);
            let row = match campaign {
                Ok(campaign) => campaign.row(&mode.name(), mode.stations()),
                Err(CampaignError::Run(why)) => return Err(why.into()),
                Err(why) => {
                    return Err(ExperimentError::Unfit {
                        testbed: self.testbed.clone(),
                        seed,
                        why: why.to_string(),
                    })
                }
            };
            ticker.tick(1);
            Ok(columns(&row, variant))
        })
    }
}

/// What is told of one campaign.
fn columns(r: &NetworkRow, variant: Pipelined) -> Row {
    let mut row = Row::new();
    // The row's own names are the columns'.
    if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(r) {
        for (name, value) in fields {
            if let Ok(value) = serde_json::from_value::<Value>(value) {
                row.set(&name, value);
            }
        }
    }
    let share = r.delivered as f64 / r.sources.max(1) as f64;
    row.with(SEED, r.seed)
        .with("protocol", variant.name)
        .with("delivered_share", share)
        .with("survey_s", r.measuring_s + r.collecting_s)
}
