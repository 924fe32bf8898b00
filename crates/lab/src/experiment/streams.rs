//! Streams over paths of nodes with two radios (FastForward, section V), and their bounds (section II).
//!
//! Owns the keys of `kind = "streams"` and `kind = "stream-bounds"` and their rows. The path goes over
//! the testbed's nodes in their order and ends at its first; it is shortened hop by hop, radios and
//! channels of the links that stay are left as they are. Tests: `crates/simnet/tests/all/streams/`.

use super::context::{rows_in_order, RunContext};
use super::keys::{choices, keys};
use super::kind::{expect, with_seed, Kind};
use super::ExperimentError;
use crate::results::{columns, Column, Row, SEED};
use serde::Deserialize;
use std::sync::Arc;
use thalweg_host::transfer::stream;
use thalweg_medium::random::derive;
use thalweg_planner::streams::{bounds, Radios, StreamPlan, Transceiver};
use thalweg_protocols::fastforward::MAX_PATH;
use thalweg_sim::{boards, Bus};
use thalweg_simnet::collect::{random_object, CollectError};
use thalweg_simnet::streams::{self, Carrier, Ground, Load, Onlookers, Stream, Terms};
use thalweg_testbeds::Loss;
use thalweg_units::{BitRate, NodeId};
use thalweg_wire::phy;
use thalweg_wire::stream::MAX_PAYLOAD;

keys! {
    "streams",
    /// Streams over paths of nodes with two radios, and single-radio protocols over the same. Lists sweep.
    pub struct Streams {
        /// Testbed, by name or file; its nodes have two radios.
        pub testbed: String;
        /// Protocols, each over the same paths (`docs/variants.md`).
        pub protocols: Vec<Carrier>;
        /// Lengths of the path, in hops.
        pub hops: Vec<usize> = [], 1..=MAX_PATH - 1;
        /// Instead of `hops`: paths, as node ids from source to sink, that carry a stream each, alone and
        /// then all at the same time.
        pub together: Vec<Vec<u16>> = [];
        /// Packets of each stream.
        pub packets: u32 = 1000, 1..=10_000;
        /// Payload bytes of a packet.
        pub payload: u8 = 100, 1..=MAX_PAYLOAD;
        /// Loss injected on the path's last link.
        pub last_link_loss: Vec<f64> = [0], 0..=0.99;
        /// What drivers do with the bus while a radio is on the air: `released` or `held`.
        pub bus: Vec<BusName> = ["released"];
    }
}

/// What drivers do with the bus while a radio is on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BusName {
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

choices!(BusName);

/// The shorter path that others are compared to: the first on which a node forwards.
const SHORT: usize = 2;

#[derive(Debug, Clone, Copy)]
struct Cell {
    carrier: Carrier,
    loss: f64,
    bus: BusName,
}

impl Kind for Streams {
    fn columns() -> Vec<Column> {
        with_seed(&[columns! {
            protocol: Text, "Protocol.";
            loss: Number, "Share lost on the last link.";
            bus: Text, "What drivers do with the bus while a radio is on the air.";
            hops: Whole, "Hops of the path.";
            throughput_kbps: Number "kbit/s", "Frames of different packets at the sink.";
            throughput_kbyteps: Number "kbyte/s", "The same in bytes.";
            utilisation_pct: Number "%", "The same as a share of the radio's rate.";
            yield_pct: Number "%", "Packets that arrived.";
            repeated: Whole, "How often the sink was given a packet that it had.";
            retransmissions: Whole, "Retransmissions on all links.";
            unacknowledged: Whole, "Packets that were never acknowledged.";
            overflows: Whole, "Packets lost to full queues.";
            withheld: Whole, "Packets that found queues full and were not acknowledged.";
            setup_s: Number "s", "From the order to the source's beginning.";
            end: Text, "How it ended at the sink.";
            retransmissions_by_link: Text, "Retransmissions of each link, as `FROM-TO:COUNT`.";
            queue_mean_by_node: Text, "Mean queue of each node, as `NODE:PACKETS`.";
            queue_peak: Whole, "Packets in the longest queue.";
            uj_per_bit: Number "uJ/bit", "Energy of the path's nodes over bits of payload.";
            network_uj_per_bit: Number "uJ/bit", "The same of all nodes.";
            of_two_hops_pct: Number "%", "`throughput_kbps` over that of two hops.";
            stream: Whole, "Number of the stream, from 1 on, where several run together.";
            alone_kbps: Number "kbit/s", "Its throughput alone.";
            of_alone_pct: Number "%", "`throughput_kbps` over that.";
        }])
    }

    fn check(&self) -> Result<(), String> {
        let paths = self.hops.is_empty() != self.together.is_empty();
        expect("hops", paths, "either hops or paths together")?;
        let mut together = self.together.iter();
        let fit = together.all(|path| (2..=MAX_PATH).contains(&path.len()));
        let fit = fit && self.together.len() <= 2;
        expect("together", fit, "at most two paths of 2 to 24 nodes")
    }

    fn parts(&self) -> u64 {
        (self.cells().len() * (self.hops.len() + usize::from(!self.together.is_empty()))) as u64
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>, ExperimentError> {
        context.go_on()?;
        let site = context.sites.with_all_radios(&self.testbed, seed)?;
        let sink = site.testbed.index_of(site.testbed.sink).unwrap_or(0);
        let heard = &mut |_: &str, _| context.flow();
        let (ground, _) = Ground::surveyed(site, Radios::Alternating, sink, heard)?;
        rows_in_order(&self.cells(), |cell| match self.together.is_empty() {
            true => self.lengths(&ground, *cell, context),
            false => self.side_by_side(&ground, *cell, context),
        })
    }

    fn lossy_frame_bytes(&self) -> Option<usize> {
        Some(streams::psdu_bytes(self.payload))
    }
}

impl Streams {
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &carrier in &self.protocols {
            for &loss in &self.last_link_loss {
                cells.extend(self.bus.iter().map(|&bus| Cell { carrier, loss, bus }));
            }
        }
        cells
    }

    fn terms(&self, cell: Cell) -> Terms {
        Terms {
            carrier: cell.carrier,
            stream: stream::StreamTerms {
                payload_bytes: self.payload,
                ..stream::StreamTerms::default()
            },
            bus: cell.bus.bus(),
            ..Terms::default()
        }
    }
    /// What the source of `plan` has.
    fn object(&self, ground: &Ground, plan: &StreamPlan) -> Arc<[u8]> {
        let bytes = self.packets as usize * usize::from(self.payload);
        let source = ground.site.testbed.nodes[plan.nodes[0]].id;
        random_object(ground.site.seed, source, bytes)
    }
    fn run(
        &self,
        ground: &Ground,
        plans: &[StreamPlan],
        cell: Cell,
        context: &RunContext<'_>,
    ) -> Result<Vec<Stream>, ExperimentError> {
        let seed = derive(ground.site.seed, "stream", &[]);
        let loads: Vec<Load> = (plans.iter())
            .map(|plan| (plan.clone(), self.object(ground, plan)))
            .collect();
        let (terms, onlookers) = (self.terms(cell), &mut Onlookers::default());
        let carried = streams::run(
            ground,
            &loads,
            &terms,
            seed,
            &mut |_| context.flow(),
            onlookers,
        )?;
        Ok(carried.into_iter().map(|c| c.details.stream).collect())
    }

    /// A path of each length.
    fn lengths(
        &self,
        ground: &Ground,
        cell: Cell,
        context: &RunContext<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let longest = self.hops.iter().max().copied().unwrap_or(1);
        if longest >= ground.site.testbed.len() {
            let why = format!("a path of {longest} hops has too few nodes");
            return Err(ExperimentError::unfit(&ground.site, why));
        }
        let via = (0..=longest).rev().collect();
        let whole = ground.plan(&ground.request(longest, 0, Some(via)), &[])?;
        let ids = ground.ids(&whole.nodes);
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
            context.go_on()?;
            let plan = StreamPlan {
                nodes: whole.nodes[longest - hops..].to_vec(),
                links: whole.links[longest - hops..].to_vec(),
            };
            let outcomes = self.run(&ground, &[plan], cell, context)?;
            context.tick(1);
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
        context: &RunContext<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let mut plans: Vec<StreamPlan> = Vec::new();
        for path in &self.together {
            let index = |id: &u16| {
                let id = NodeId::new(*id).ok()?;
                ground.site.testbed.index_of(id)
            };
            let via: Option<Vec<usize>> = path.iter().map(index).collect();
            let unfit = || {
                let why = format!("not all nodes of the path {path:?} are there");
                ExperimentError::unfit(&ground.site, why)
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
            alone.extend(self.run(ground, std::slice::from_ref(plan), cell, context)?);
        }
        let together = self.run(ground, &plans, cell, context)?;
        context.tick(1);
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

fn row(ground: &Ground, cell: Cell, payload: u8, outcome: &Stream) -> Row {
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
    let [own, network] = outcome.joules_per_bit(payload);
    row.set_some("uj_per_bit", own.map(|j| j * 1e6));
    row.set_some("network_uj_per_bit", network.map(|j| j * 1e6));
    row
}

keys! {
    "stream-bounds",
    /// What streams can carry at best, in closed form.
    pub struct StreamBounds {
        /// The board whose radio's times are taken.
        pub board: String;
        /// Bytes of a data frame on the air.
        pub data_bytes: usize, 1..=phy::MAX_PSDU + 6;
        /// Bytes of an acknowledgement on the air.
        pub ack_bytes: usize, 1..=phy::MAX_PSDU + 6;
    }
}

impl Kind for StreamBounds {
    fn columns() -> Vec<Column> {
        with_seed(&[columns! {
            transceivers: Whole, "Radios of a node.";
            bound_kbps: Number "kbit/s", "Highest throughput of frames.";
            bound_pct: Number "%", "The same as a share of the radio's rate.";
        }])
    }

    fn check(&self) -> Result<(), String> {
        boards::load(&self.board).map_err(|e| format!("run.board: {e}"))?;
        Ok(())
    }

    fn parts(&self) -> u64 {
        1
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>, ExperimentError> {
        context.part(|| {
            let board = boards::load(&self.board).map_err(CollectError::from)?;
            let radio = Transceiver {
                to_transmit: board.timing.turnaround,
                to_receive: board.timing.to_receive,
            };
            let (one, two) = bounds(self.data_bytes, self.ack_bytes, radio);
            let row = |(transceivers, bound): (u32, BitRate)| {
                let share = 100.0 * bound.kbps() * 1e3 / f64::from(phy::BIT_RATE_BPS);
                Row::new()
                    .with(SEED, seed)
                    .with("transceivers", transceivers)
                    .with("bound_kbps", bound.kbps())
                    .with("bound_pct", share)
            };
            Ok([(1, one), (2, two)].map(row).to_vec())
        })
    }

    fn testbed_key(&self) -> Option<&'static str> {
        None
    }
}
