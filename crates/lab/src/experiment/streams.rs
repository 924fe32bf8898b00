//! Streams over paths of nodes with two radios (FastForward, section V), and their bounds (section II).
//!
//! Owns the keys of `kind = "streams"` and `kind = "stream-bounds"` and their rows. The path goes over
//! the testbed's nodes in their order and ends at its first; it is shortened hop by hop, radios and
//! channels of the links that stay are left as they are. Tests: `crates/lab/tests/streams/`.

use super::keys::expect;
use super::metric::SEED;
use super::row::Row;
use super::sites::Sites;
use super::{rows_in_order, ExperimentError, Ticker};
use crate::collect::random_object;
use crate::streams::{self, Carrier, Ground, Outcome, Terms};
use serde::Deserialize;
use std::ops::ControlFlow;
use thalweg_medium::random::derive;
use thalweg_planner::streams::{bounds, StreamPlan, Transceiver};
use thalweg_protocols::fastforward::MAX_PATH;
use thalweg_sim::{boards, Bus};
use thalweg_testbeds::Loss;
use thalweg_units::NodeId;
use thalweg_wire::{phy, stream};

/// Streams over paths of a testbed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streams {
    /// Testbed, by name or file; its nodes have two radios.
    pub testbed: String,
    /// Protocols, each over the same paths.
    pub protocols: Vec<Carrier>,
    /// Lengths of the path, in hops.
    #[serde(default)]
    pub hops: Vec<usize>,
    /// Instead of `hops`: paths, as node ids from source to sink, that carry a stream each, alone and
    /// then all at the same time.
    #[serde(default)]
    pub together: Vec<Vec<u16>>,
    /// Packets of each stream.
    #[serde(default = "thousand")]
    pub packets: u32,
    /// Payload bytes of a packet.
    #[serde(default = "hundred")]
    pub payload: u8,
    /// Loss injected on the path's last link; more than one value sweeps.
    #[serde(default = "none")]
    pub last_link_loss: Vec<f64>,
    /// What drivers do with the bus: `released` or `held`; more than one value sweeps.
    #[serde(default = "released")]
    pub bus: Vec<BusName>,
}

/// What drivers do with the bus while a radio is on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BusName {
    /// Release it.
    Released,
    /// Hold it.
    Held,
}

impl BusName {
    const fn bus(self) -> Bus {
        match self {
            Self::Released => Bus::Released,
            Self::Held => Bus::Held,
        }
    }
    const fn name(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Held => "held",
        }
    }
}

const fn thousand() -> u32 {
    1000
}
const fn hundred() -> u8 {
    100
}
fn none() -> Vec<f64> {
    vec![0.0]
}
fn released() -> Vec<BusName> {
    vec![BusName::Released]
}

/// The shorter path that others are compared to: the first on which a node forwards.
const SHORT: usize = 2;

#[derive(Debug, Clone, Copy)]
struct Cell {
    carrier: Carrier,
    loss: f64,
    bus: BusName,
}

impl Streams {
    pub(super) fn check(&self) -> Result<(), String> {
        let packets = (1..=10_000).contains(&self.packets);
        expect("packets", packets, "1 to 10000")?;
        let most = stream::MAX_PAYLOAD;
        let payload = (1..=most).contains(&usize::from(self.payload));
        expect("payload", payload, "1 to 111")?;
        expect("protocols", !self.protocols.is_empty(), "at least one")?;
        let hops = self.hops.iter().all(|h| (1..MAX_PATH).contains(h));
        expect("hops", hops, "values from 1 to 23")?;
        let paths = self.hops.is_empty() != self.together.is_empty();
        expect("hops", paths, "either hops or paths together")?;
        let long = self
            .together
            .iter()
            .all(|p| (2..=MAX_PATH).contains(&p.len()));
        expect(
            "together",
            long && self.together.len() <= 2,
            "at most two paths of 2 to 24 nodes",
        )?;
        let loss = self.last_link_loss.iter().all(|l| (0.0..=0.99).contains(l));
        expect("last_link_loss", loss, "values from 0 to 0.99")
    }
    pub(super) fn parts(&self) -> u64 {
        (self.cells().len() * (self.hops.len() + usize::from(!self.together.is_empty()))) as u64
    }
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &carrier in &self.protocols {
            for &loss in &self.last_link_loss {
                cells.extend(self.bus.iter().map(|&bus| Cell { carrier, loss, bus }));
            }
        }
        cells
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
            rows_in_order(&self.cells(), |cell| match self.together.is_empty() {
                true => self.lengths(&ground, *cell, ticker),
                false => self.side_by_side(&ground, *cell, ticker),
            })
        })
    }

    fn terms(&self, cell: Cell) -> Terms {
        Terms {
            carrier: cell.carrier,
            payload_bytes: self.payload,
            bus: cell.bus.bus(),
            ..Terms::default()
        }
    }
    /// What the source of `plan` has.
    fn object(&self, ground: &Ground, plan: &StreamPlan) -> Vec<u8> {
        let bytes = self.packets as usize * usize::from(self.payload);
        let source = ground.site.testbed.nodes[plan.nodes[0]].id;
        random_object(ground.site.seed, source, bytes).to_vec()
    }
    fn run(
        &self,
        ground: &Ground,
        plans: &[StreamPlan],
        cell: Cell,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Outcome>, ExperimentError> {
        let seed = derive(ground.site.seed, "stream", &[]);
        let plans: Vec<(StreamPlan, Vec<u8>)> = (plans.iter())
            .map(|plan| (plan.clone(), self.object(ground, plan)))
            .collect();
        let mut observer = |_| match ticker.stopped() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        Ok(streams::run(
            ground,
            &plans,
            &self.terms(cell),
            seed,
            &mut observer,
        )?)
    }

    /// A path of each length.
    fn lengths(
        &self,
        ground: &Ground,
        cell: Cell,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let unfit = |why: String| ExperimentError::Unfit {
            testbed: ground.site.testbed.name.clone(),
            seed: ground.site.seed,
            why,
        };
        let longest = self.hops.iter().max().copied().unwrap_or(1);
        if longest >= ground.site.testbed.len() {
            return Err(unfit(format!("a path of {longest} hops has too few nodes")));
        }
        let via = (0..=longest).rev().collect();
        let whole = ground.plan(&ground.request(longest, 0, Some(via)), &[])?;
        let ids = ground.ids(&whole);
        let ground = match (ids.as_slice(), cell.loss > 0.0) {
            ([.., from, to], true) => {
                let (from, to, share) = (*from, *to, cell.loss);
                let psdu = streams::psdu_bytes(self.payload);
                let loss = Loss { from, to, share };
                ground.clone().with_losses(&[loss], psdu)?
            }
            _ => ground.clone(),
        };
        let mut rows = Vec::new();
        let mut short = None;
        let mut lengths = self.hops.clone();
        lengths.sort_unstable();
        for hops in lengths {
            ticker.go_on()?;
            let plan = StreamPlan {
                nodes: whole.nodes[longest - hops..].to_vec(),
                links: whole.links[longest - hops..].to_vec(),
            };
            let outcomes = self.run(&ground, &[plan], cell, ticker)?;
            ticker.tick(1);
            let Some(outcome) = outcomes.first() else {
                continue;
            };
            let kbps = outcome.throughput().kbps();
            if hops == SHORT {
                short = Some(kbps);
            }
            let mut row = row(&ground, cell, self.payload, outcome).with("hops", hops);
            row.set_some("of_two_hops_pct", short.map(|short| 100.0 * kbps / short));
            rows.push(row);
        }
        Ok(rows)
    }

    /// Several paths, alone and together.
    fn side_by_side(
        &self,
        ground: &Ground,
        cell: Cell,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let mut plans: Vec<StreamPlan> = Vec::new();
        for path in &self.together {
            let index = |id: &u16| {
                let id = NodeId::new(*id).ok()?;
                ground.site.testbed.index_of(id)
            };
            let via: Option<Vec<usize>> = path.iter().map(index).collect();
            let unfit = || ExperimentError::Unfit {
                testbed: ground.site.testbed.name.clone(),
                seed: ground.site.seed,
                why: format!("not all nodes of the path {path:?} are there"),
            };
            let via = via.ok_or_else(unfit)?;
            let ends = (via.first().copied(), via.last().copied());
            let (Some(source), Some(sink)) = ends else {
                return Err(unfit());
            };
            plans.push(ground.plan(&ground.request(source, sink, Some(via)), &plans)?);
        }
        let mut alone = Vec::new();
        for plan in &plans {
            alone.extend(self.run(ground, std::slice::from_ref(plan), cell, ticker)?);
        }
        let together = self.run(ground, &plans, cell, ticker)?;
        ticker.tick(1);
        let rows = (alone.iter().zip(&together).zip(&plans).enumerate())
            .map(|(n, ((alone, outcome), plan))| {
                let (one, both) = (alone.throughput().kbps(), outcome.throughput().kbps());
                row(ground, cell, self.payload, outcome)
                    .with("stream", n + 1)
                    .with("hops", plan.links.len())
                    .with("alone_kbps", one)
                    .with("of_alone_pct", 100.0 * both / one)
            })
            .collect();
        Ok(rows)
    }
}

fn row(ground: &Ground, cell: Cell, payload: u8, outcome: &Outcome) -> Row {
    let kbps = outcome.throughput().kbps();
    let rate = f64::from(phy::BIT_RATE_BPS) / 1e3;
    let sum = |of: fn(&streams::LinkReport) -> u32| outcome.links.iter().map(of).sum::<u32>();
    let peak = outcome.links.iter().map(|l| l.queue_peak).max();
    let again: Vec<String> = (outcome.links.iter())
        .map(|l| format!("{}-{}:{}", l.from, l.to, l.retransmissions))
        .collect();
    let queues: Vec<String> = (outcome.links.iter())
        .map(|l| format!("{}:{:.1}", l.from, l.queue_mean))
        .collect();
    let mut row = Row::new()
        .with(SEED, ground.site.seed)
        .with("protocol", cell.carrier.name())
        .with("loss", cell.loss)
        .with("bus", cell.bus.name())
        .with("throughput_kbps", kbps)
        .with("throughput_kbyteps", kbps / 8.0)
        .with("utilisation_pct", 100.0 * kbps / rate)
        .with("yield_pct", 100.0 * outcome.data_yield())
        .with("repeated", outcome.repeated)
        .with("retransmissions", sum(|l| l.retransmissions))
        .with("unacknowledged", sum(|l| l.unacknowledged))
        .with("overflows", sum(|l| l.overflows))
        .with("withheld", sum(|l| l.withheld))
        .with("setup_s", outcome.setup_seconds)
        .with("end", outcome.end.as_str())
        .with("retransmissions_by_link", again.join(" ").as_str())
        .with("queue_mean_by_node", queues.join(" ").as_str());
    row.set_some("queue_peak", peak);
    row.set_some(
        "uj_per_bit",
        outcome.joules_per_bit(payload).map(|j| j * 1e6),
    );
    row
}

/// What streams can carry at best.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamBounds {
    /// The board whose radio's times are taken.
    pub board: String,
    /// Bytes of a data frame on the air.
    pub data_bytes: usize,
    /// Bytes of an acknowledgement on the air.
    pub ack_bytes: usize,
}

impl StreamBounds {
    pub(super) fn check(&self) -> Result<(), String> {
        let bytes = |b: usize| (1..=phy::MAX_PSDU + 6).contains(&b);
        expect("data_bytes", bytes(self.data_bytes), "1 to 133")?;
        expect("ack_bytes", bytes(self.ack_bytes), "1 to 133")?;
        boards::load(&self.board).map_err(|e| e.to_string())?;
        Ok(())
    }
    pub(super) fn rows(
        &self,
        seeds: &[u64],
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let board = boards::load(&self.board).map_err(streams::StreamFailure::from)?;
        let radio = Transceiver {
            to_transmit: board.timing.turnaround,
            to_receive: board.timing.to_receive,
        };
        let (one, two) = bounds(self.data_bytes, self.ack_bytes, radio);
        let mut rows = Vec::new();
        for seed in seeds {
            for (transceivers, bound) in [(1u32, one), (2, two)] {
                let share = 100.0 * bound.kbps() * 1e3 / f64::from(phy::BIT_RATE_BPS);
                rows.push(
                    Row::new()
                        .with(SEED, *seed)
                        .with("transceivers", transceivers)
                        .with("bound_kbps", bound.kbps())
                        .with("bound_pct", share),
                );
            }
            ticker.tick(1);
        }
        Ok(rows)
    }
}
