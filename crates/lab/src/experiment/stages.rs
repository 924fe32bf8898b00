//! P3 over two radios beside FastForward, between the same nodes.
//!
//! Owns the keys of `kind = "stages"` and their rows. Sources are drawn for each seed among nodes whose
//! best stream to the testbed's sink has the length that was asked for; stages are broadened along that
//! stream's path. Tests: `crates/lab/tests/streams/p3dual.rs`.

use super::keys::expect;
use super::metric::SEED;
use super::row::Row;
use super::sites::Sites;
use super::{rows_in_order, ExperimentError, Ticker};
use crate::collect::random_object;
use crate::streams::{self, Carrier, Ground, Onlookers, Outcome, StagesOutcome, Terms};
use serde::Deserialize;
use std::ops::ControlFlow;
use thalweg_medium::random::derive;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::fastforward::MAX_PATH;
use thalweg_testbeds::Loss;
use thalweg_units::NodeId;
use thalweg_wire::{phy, stream};

/// Transfers over one path and over stages of several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stages {
    /// Testbed, by name or file; its nodes have two radios.
    pub testbed: String,
    /// Protocols over single paths to compare to.
    pub protocols: Vec<Carrier>,
    /// Most paths of P3 over two radios; more than one value sweeps. Where there are fewer, all.
    pub paths: Vec<usize>,
    /// How its nodes come to know their stages; more than one value sweeps.
    #[serde(default = "called")]
    pub set_up: Vec<SetUp>,
    /// Shortest and longest path, in hops.
    pub hops: [usize; 2],
    /// Loss injected on every link of the planned path, which the planner does not know; more than one
    /// value sweeps.
    #[serde(default = "none")]
    pub path_loss: Vec<f64>,
    /// How many sources each seed draws.
    #[serde(default = "one")]
    pub pairs: usize,
    /// Packets of each object.
    #[serde(default = "thousand")]
    pub packets: u32,
    /// Payload bytes of a packet.
    #[serde(default = "hundred")]
    pub payload: u8,
}

const fn one() -> usize {
    1
}
fn none() -> Vec<f64> {
    vec![0.0]
}
const fn thousand() -> u32 {
    1000
}
const fn hundred() -> u8 {
    100
}

/// How P3's nodes come to know their stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetUp {
    /// The sink calls them over the air.
    Called,
    /// They are told their places, beside the air: what the call costs is the difference.
    Told,
}

impl SetUp {
    /// The name of the protocol in rows.
    const fn name(self) -> &'static str {
        match self {
            Self::Called => "p3-dual",
            Self::Told => "p3-dual-told",
        }
    }
}

fn called() -> Vec<SetUp> {
    vec![SetUp::Called]
}

impl Stages {
    pub(super) fn check(&self) -> Result<(), String> {
        let packets = (1..=10_000).contains(&self.packets);
        expect("packets", packets, "1 to 10000")?;
        let payload = (1..=stream::MAX_PAYLOAD).contains(&usize::from(self.payload));
        expect("payload", payload, "1 to 111")?;
        let [least, most] = self.hops;
        let hops = (1..MAX_PATH).contains(&least) && (least..MAX_PATH).contains(&most);
        expect("hops", hops, "two lengths from 1 to 23, the shorter first")?;
        let paths = self.paths.iter().all(|p| (1..=16).contains(p));
        expect("paths", paths, "values from 1 to 16")?;
        expect("set_up", !self.set_up.is_empty(), "called, told or both")?;
        let loss = self.path_loss.iter().all(|l| (0.0..=0.99).contains(l));
        expect("path_loss", loss, "values from 0 to 0.99")?;
        expect("pairs", (1..=100).contains(&self.pairs), "1 to 100")
    }
    pub(super) fn parts(&self) -> u64 {
        let each = self.protocols.len() + self.paths.len() * self.set_up.len();
        (each * self.pairs * self.path_loss.len()) as u64
    }

    pub(super) fn rows(
        &self,
        seeds: &[u64],
        sites: &Sites,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        rows_in_order(seeds, |seed| {
            ticker.go_on()?;
            let ground = Ground::new(sites.with_all_radios(&self.testbed, *seed)?)?;
            let plans = self.plans(&ground)?;
            let mut rows = Vec::new();
            for loss in &self.path_loss {
                rows.extend(rows_in_order(&plans, |plan| {
                    self.pair(&ground, *loss, plan, ticker)
                })?);
            }
            Ok(rows)
        })
    }

    /// Paths of sources drawn by chance.
    fn plans(&self, ground: &Ground) -> Result<Vec<StreamPlan>, ExperimentError> {
        let sink = (ground.site.testbed.index_of(ground.site.testbed.sink)).unwrap_or(0);
        let draw = |n: usize| derive(ground.site.seed, "stages.source", &[n as u64]);
        let mut sources: Vec<usize> = (0..ground.site.testbed.len())
            .filter(|n| *n != sink)
            .collect();
        sources.sort_by_key(|n| draw(*n));
        let [least, most] = self.hops;
        let plans: Vec<StreamPlan> = (sources.into_iter())
            .filter_map(|source| ground.plan(&ground.request(source, sink, None), &[]).ok())
            .filter(|plan| (least..=most).contains(&plan.links.len()))
            .take(self.pairs)
            .collect();
        match plans.len() < self.pairs {
            true => Err(ExperimentError::Unfit {
                testbed: ground.site.testbed.name.clone(),
                seed: ground.site.seed,
                why: format!(
                    "only {} nodes have paths of {least} to {most} hops",
                    plans.len()
                ),
            }),
            false => Ok(plans),
        }
    }

    fn pair(
        &self,
        ground: &Ground,
        loss: f64,
        plan: &StreamPlan,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let source = plan.nodes.first().copied().unwrap_or(0);
        let seed = derive(ground.site.seed, "stages", &[source as u64]);
        let of_pair = |pair: &[NodeId]| Loss {
            from: pair[0],
            to: pair[1],
            share: loss,
        };
        let losses: Vec<Loss> = ground.ids(plan).windows(2).map(of_pair).collect();
        let ground = &match loss > 0.0 {
            true => (ground.clone()).with_losses(&losses, streams::psdu_bytes(self.payload))?,
            false => ground.clone(),
        };
        let bytes = self.packets as usize * usize::from(self.payload);
        let id = ground.site.testbed.nodes[source].id;
        let object = random_object(ground.site.seed, id, bytes).to_vec();
        let mut observer = |_| match ticker.stopped() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let mut rows = Vec::new();
        for carrier in &self.protocols {
            ticker.go_on()?;
            let terms = self.terms(*carrier);
            let plans = [(plan.clone(), object.clone())];
            let outcomes = streams::run(ground, &plans, &terms, seed, &mut observer)?;
            ticker.tick(1);
            for outcome in &outcomes {
                let row = self.row(ground, plan, carrier.name(), outcome);
                rows.push(
                    row.with("path_loss", loss)
                        .with("paths", 1usize)
                        .with("broadest", 1usize),
                );
            }
        }
        let cases = self
            .set_up
            .iter()
            .flat_map(|how| self.paths.iter().map(move |n| (*how, n)));
        for (set_up, paths) in cases {
            ticker.go_on()?;
            let stages = ground.stages(plan, *paths)?;
            let terms = self.terms(Carrier::P3Dual);
            let outcome = match set_up {
                SetUp::Told => {
                    streams::run_stages(ground, &stages, &object, &terms, seed, &mut observer)
                }
                SetUp::Called => {
                    let nobody = &mut Onlookers::default();
                    streams::run_called(
                        ground,
                        &stages,
                        &object,
                        &terms,
                        seed,
                        &mut observer,
                        nobody,
                    )
                }
            }?;
            ticker.tick(1);
            let StagesOutcome { stream, late, .. } = &outcome;
            let mut row = (self.row(ground, plan, set_up.name(), stream))
                .with("path_loss", loss)
                .with("paths", *paths)
                .with("broadest", stages.paths())
                .with("rounds", stream.rounds)
                .with("source_sent", outcome.source_sent)
                .with("late", *late);
            row.set_some("first_round_pct", outcome.first_round.map(|r| 100.0 * r));
            rows.push(row);
        }
        Ok(rows)
    }
    fn terms(&self, carrier: Carrier) -> Terms {
        Terms {
            carrier,
            payload_bytes: self.payload,
            ..Terms::default()
        }
    }
    fn row(&self, ground: &Ground, plan: &StreamPlan, protocol: &str, outcome: &Outcome) -> Row {
        let kbps = outcome.throughput().kbps();
        let rate = f64::from(phy::BIT_RATE_BPS) / 1e3;
        let share = f64::from(self.payload) / f64::from(outcome.air_bytes.max(1));
        let source = plan
            .nodes
            .first()
            .and_then(|n| ground.site.testbed.id_of(*n));
        let mut row = Row::new()
            .with(SEED, ground.site.seed)
            .with("source", source.map_or(0, |id| u32::from(id.get())))
            .with("hops", plan.links.len())
            .with("protocol", protocol)
            .with("throughput_kbps", kbps)
            .with("goodput_kbps", kbps * share)
            .with("utilisation_pct", 100.0 * kbps / rate)
            .with("yield_pct", 100.0 * outcome.data_yield())
            .with("seconds", outcome.seconds)
            .with("setup_s", outcome.setup_seconds)
            .with("end", outcome.end.as_str());
        let energy = outcome.joules_per_bit(self.payload);
        row.set_some("uj_per_bit", energy.map(|j| j * 1e6));
        row
    }
}
