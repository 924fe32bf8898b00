//! P3 over two radios beside FastForward, between the same nodes.
//!
//! Owns the keys of `kind = "stages"` and their rows. Sources are drawn for each seed among nodes whose
//! best stream to the testbed's sink has the length that was asked for; stages are broadened along that
//! stream's path. Tests: `crates/lab/tests/streams/p3dual.rs`.

use super::kind::{expect, keys, some, within, words, Kind};
use super::lab::{rows_in_order, Lab};
use super::ExperimentError;
use crate::collect::random_object;
use crate::results::{Row, SEED};
use crate::streams::{self, Carrier, Ground, Onlookers, SetUp, Stream, Terms};
use thalweg_gateway::carry::stream;
use thalweg_medium::random::derive;
use thalweg_planner::stages::StagePlan;
use thalweg_planner::streams::{Radios, StreamPlan};
use thalweg_protocols::fastforward::MAX_PATH;
use thalweg_testbeds::Loss;
use thalweg_units::NodeId;
use thalweg_wire::phy;
use thalweg_wire::stream::MAX_PAYLOAD;

keys! {
    "stages",
    /// P3 over two radios beside protocols over single paths. Lists sweep.
    pub struct Stages {
        /// Testbed, by name or file; its nodes have two radios.
        pub testbed: String,
        /// Protocols over single paths to compare to.
        pub protocols: Vec<Carrier>,
        /// Most paths of P3 over two radios, 1 to 16; where there are fewer, all.
        pub paths: Vec<usize>,
        /// How its nodes come to know their stages: `called` over the air, or `told` beside it (`called`).
        #[serde(default = "called")]
        pub set_up: Vec<SetUp>,
        /// Shortest and longest path, in hops.
        pub hops: [usize; 2],
        /// Loss injected on every link of the planned path, which the planner does not know; more than one
        /// value sweeps.
        #[serde(default = "none")]
        pub path_loss: Vec<f64>,
        /// How many sources each seed draws (1).
        #[serde(default = "one")]
        pub pairs: usize,
        /// Packets of each object (1000).
        #[serde(default = "thousand")]
        pub packets: u32,
        /// Payload bytes of a packet (100).
        #[serde(default = "hundred")]
        pub payload: u8,
    }
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

fn called() -> Vec<SetUp> {
    vec![SetUp::Called]
}

impl Kind for Stages {
    fn columns() -> Vec<&'static str> {
        words(&[
            "source hops protocol throughput_kbps goodput_kbps utilisation_pct yield_pct \
            seconds setup_s end uj_per_bit network_uj_per_bit path_loss paths broadest rounds source_sent late \
            first_round_pct",
        ])
    }

    fn check(&self) -> Result<(), String> {
        within("packets", &[self.packets], 1..=10_000)?;
        within("payload", &[self.payload], 1..=MAX_PAYLOAD as u8)?;
        within("hops", &self.hops, 1..=MAX_PATH - 1)?;
        let [least, most] = self.hops;
        expect("hops", least <= most, "the shorter length first")?;
        within("paths", &self.paths, 1..=16)?;
        some("set_up", &self.set_up)?;
        within("path_loss", &self.path_loss, 0.0..=0.99)?;
        within("pairs", &[self.pairs], 1..=100)
    }

    fn parts(&self) -> u64 {
        let each = self.protocols.len() + self.paths.len() * self.set_up.len();
        (each * self.pairs * self.path_loss.len()) as u64
    }

    fn rows(&self, seed: u64, lab: &Lab<'_>) -> Result<Vec<Row>, ExperimentError> {
        lab.go_on()?;
        let site = lab.sites.with_all_radios(&self.testbed, seed)?;
        let sink = site.testbed.index_of(site.testbed.sink).unwrap_or(0);
        let heard = &mut |_: &str, _| lab.heard();
        let (ground, _) = Ground::surveyed(site, Radios::Alternating, sink, heard)?;
        let plans = self.plans(&ground)?;
        rows_in_order(&self.path_loss, |loss| {
            rows_in_order(&plans, |plan| self.pair(&ground, *loss, plan, lab))
        })
    }

    fn lossy_frame_bytes(&self) -> Option<usize> {
        Some(streams::psdu_bytes(self.payload))
    }
}

impl Stages {
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
            true => {
                let found = plans.len();
                let why = format!("only {found} nodes have paths of {least} to {most} hops");
                Err(ExperimentError::unfit(&ground.site, why))
            }
            false => Ok(plans),
        }
    }

    fn pair(
        &self,
        ground: &Ground,
        loss: f64,
        plan: &StreamPlan,
        lab: &Lab<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let source = plan.nodes.first().copied().unwrap_or(0);
        let seed = derive(ground.site.seed, "stages", &[source as u64]);
        let of_pair = |pair: &[NodeId]| Loss {
            from: pair[0],
            to: pair[1],
            share: loss,
        };
        let losses: Vec<Loss> = ground.ids(&plan.nodes).windows(2).map(of_pair).collect();
        let ground = &match loss > 0.0 {
            true => (ground.clone()).with_losses(&losses, streams::psdu_bytes(self.payload))?,
            false => ground.clone(),
        };
        let bytes = self.packets as usize * usize::from(self.payload);
        let id = ground.site.testbed.nodes[source].id;
        let object = random_object(ground.site.seed, id, bytes);
        let carry = |carrier: Carrier, plan: StagePlan| {
            lab.go_on()?;
            let (terms, nobody) = (self.terms(carrier), &mut Onlookers::default());
            let load = [(plan, object.clone())];
            let carried = streams::run(ground, &load, &terms, seed, &mut |_| lab.heard(), nobody)?;
            lab.tick(1);
            Ok::<_, ExperimentError>(carried.into_iter().map(|c| c.extra))
        };
        let mut rows = Vec::new();
        for carrier in &self.protocols {
            for carried in carry(*carrier, StagePlan::from(plan))? {
                let row = self.row(ground, plan, carrier.name(), &carried.stream);
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
            let carrier = Carrier::Stages(set_up);
            let stages = ground.stages(plan, *paths)?;
            let broadest = stages.paths();
            for carried in carry(carrier, stages)? {
                let stream = &carried.stream;
                let mut row = (self.row(ground, plan, carrier.name(), stream))
                    .with("path_loss", loss)
                    .with("paths", *paths)
                    .with("broadest", broadest)
                    .with("rounds", stream.rounds);
                if let Some(stages) = &carried.stages {
                    row = row
                        .with("source_sent", stages.source_sent)
                        .with("late", stages.late);
                }
                row.set_some("first_round_pct", stream.first_round.map(|r| 100.0 * r));
                rows.push(row);
            }
        }
        Ok(rows)
    }
    fn terms(&self, carrier: Carrier) -> Terms {
        Terms {
            carrier,
            stream: stream::Terms {
                payload_bytes: self.payload,
                ..stream::Terms::default()
            },
            ..Terms::default()
        }
    }
    fn row(&self, ground: &Ground, plan: &StreamPlan, protocol: &str, outcome: &Stream) -> Row {
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
        let [own, network] = outcome.joules_per_bit(self.payload);
        row.set_some("uj_per_bit", own.map(|j| j * 1e6));
        row.set_some("network_uj_per_bit", network.map(|j| j * 1e6));
        row
    }
}
