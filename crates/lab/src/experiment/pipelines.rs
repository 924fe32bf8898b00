//! PIP's engine over chains of nodes, on boards of several kinds, copying and with packets that wait
//! for the next one.
//!
//! Owns the keys of `kind = "pipelines"` and its rows, one per combination. All nodes of a chain are
//! the testbed's first ones, in its order, with a channel per hop. Tests: `pipelines_tests.rs`, `thalweg_simnet::forwarding`.

use super::context::{in_order, RunContext};
use super::keys::{choices, keys};
use super::kind::{pairs, with_seed, Kind};
use super::{ExperimentError, Result};
use crate::results::{columns, name_of, Column, Row, SEED};
use serde::{Deserialize, Serialize};
use thalweg_engine::Passing;
use thalweg_medium::random::derive;
use thalweg_sim::boards;
use thalweg_simnet::collect::random_object;
use thalweg_simnet::forwarding::{Bench, Pipe};
use thalweg_units::{BitRate, NodeId};
use thalweg_wire::phy::air_time;
use thalweg_wire::pipeline::{HEADER_BYTES, MAX_HOPS, MAX_PACKETS, MAX_PAYLOAD};
use thalweg_wire::route::PayloadSize;

keys! {
    "pipelines",
    /// PIP's engine over chains of nodes, on boards of several kinds. Lists sweep.
    pub struct Pipelines {
        /// Testbed, by name or file; its nodes have places.
        pub testbed: String;
        /// Boards, by name or file; of two radios the first is used.
        pub boards: Vec<String>;
        /// `pip`, and `pip-cit` with conditional transmission.
        pub protocols: Vec<PipName> = ["pip", "pip-cit"];
        /// Hops of the chain.
        pub hops: Vec<usize>, 1..=MAX_HOPS;
        /// Payload bytes of a packet.
        pub payload: Vec<u8> = [118], 1..=MAX_PAYLOAD;
        /// Packets of the object.
        pub packets: u16 = 1000, 1..=MAX_PACKETS;
    }
}

/// A version of PIP as files name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PipName {
    /// As published: relays copy a packet and send it.
    Pip,
    /// Relays hold a packet in the radio until the next comes in.
    PipCit,
}

choices!(PipName);

/// Board and protocol, hops and payload bytes.
type Cell = ((String, PipName), (usize, u8));

impl Kind for Pipelines {
    fn columns() -> Vec<Column> {
        with_seed(&[columns! {
            board: Text, "Board.";
            variant: Text, "Board and protocol.";
            protocol: Text, "Protocol.";
            hops: Whole, "Hops of the chain.";
            payload_bytes: Whole "byte", "Payload of a packet.";
            raw_kbps: Number "kbit/s", "Frames at the sink.";
            goodput_kbps: Number "kbit/s", "Object bits over the transfer's time; 0 where it did not arrive whole.";
            yield_pct: Number "%", "Packets that arrived.";
            first_round_pct: Number "%", "Packets that arrived in the first round.";
            rounds: Whole, "Rounds of transmission.";
            refused: Whole, "Transmissions that radios refused.";
            energy_j: Number "J", "Energy of the chain's nodes.";
            period_us: Number "us", "From one packet of the source to the next.";
            slot_us: Number "us", "The same for each slot of a period: two where there are two hops or more.";
            bound_kbps: Number "kbit/s", "Bound on `raw_kbps` in closed form.";
            of_bound: Number, "`raw_kbps` over `bound_kbps`.";
        }])
    }

    fn check(&self) -> Result<(), String> {
        for board in &self.boards {
            boards::load(board).map_err(|e| format!("run.boards: {e}"))?;
        }
        Ok(())
    }

    fn parts(&self) -> u64 {
        self.cells().len() as u64
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let row = |cell: &Cell| context.part(|| self.row(seed, cell, context));
        in_order(&self.cells(), row)
    }

    fn lossy_frame_bytes(&self) -> Option<usize> {
        None
    }
}

impl Pipelines {
    fn cells(&self) -> Vec<Cell> {
        let of_boards = pairs(&self.boards, &self.protocols);
        pairs(&of_boards, &pairs(&self.hops, &self.payload))
    }

    fn row(&self, seed: u64, cell: &Cell, context: &RunContext<'_>) -> Result<Row> {
        let &((ref board, protocol), (hops, payload_bytes)) = cell;
        let site = context.site(&self.testbed, seed)?;
        let unfit = |why: String| ExperimentError::unfit(&site, why);
        let fitted = boards::load(board).map_err(|e| unfit(e.to_string()))?;
        let site = site.with_board(fitted.with_one_radio())?;
        let testbed = site.testbed.clone();
        let (nodes, needed) = (testbed.len(), hops + 1);
        let payload = PayloadSize::new(payload_bytes).filter(|_| nodes >= needed);
        let payload =
            payload.ok_or_else(|| unfit(format!("{nodes} nodes, {needed} are needed")))?;
        let bench = Bench {
            site,
            seed: derive(seed, "pipeline", &[]),
        };
        let ids: Vec<NodeId> = testbed.nodes.iter().map(|n| n.id).collect();
        let passing = match protocol {
            PipName::Pip => Passing::Copied,
            PipName::PipCit => Passing::Conditional,
        };
        let pipe = Pipe::line(hops, passing, payload);
        let bytes = usize::from(self.packets) * usize::from(payload_bytes);
        let object = random_object(seed, ids[0], bytes);
        let mut observer = |_, _, _| context.flow();
        let trial = pipe.run(&bench, &ids, &object, &mut observer)?;
        let mpdu = HEADER_BYTES + usize::from(payload_bytes);
        let raw = trial.raw(payload).kbps();
        let whole = if trial.verified { bytes as u64 } else { 0 };
        let goodput = BitRate::of_bytes(whole, trial.time).kbps();
        let protocol = name_of(&protocol);
        let percent = |part: u32| 100.0 * f64::from(part) / f64::from(trial.packets.max(1));
        let mut row = Row::new()
            .with(SEED, seed)
            .with("board", board.as_str())
            .with("variant", format!("{board}, {protocol}"))
            .with("protocol", protocol)
            .with("hops", hops)
            .with("payload_bytes", u32::from(payload_bytes))
            .with("raw_kbps", raw)
            .with("goodput_kbps", goodput)
            .with("yield_pct", percent(trial.received))
            .with("first_round_pct", percent(trial.first_round))
            .with("rounds", trial.rounds)
            .with("refused", trial.refused)
            .with("energy_j", trial.joules);
        if let Some(cadence) = pipe.cadence(&bench, &ids) {
            // The last of n packets cannot have arrived before n - 1 periods and its time on the air.
            let (period, n) = (cadence.data_period(), u64::from(self.packets));
            let least = period * (n - 1) + air_time(mpdu);
            let bound = BitRate::of_bytes(n * mpdu as u64, least).kbps();
            let slots = hops.min(2) as f64;
            row.set("period_us", period.as_micros_f64());
            row.set("slot_us", period.as_micros_f64() / slots);
            row.set("bound_kbps", bound);
            row.set("of_bound", raw / bound);
        }
        Ok(row)
    }
}

#[cfg(test)]
#[path = "pipelines_tests.rs"]
mod tests;
