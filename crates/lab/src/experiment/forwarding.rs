//! Chains of forwarders: the highest rate without loss, or the time of one packet, in every
//! combination of hops, channels, forwarding, CCA and operating system (CIT, sections 3 to 5).
//!
//! Owns the keys of `kind = "forwarding"` and its rows, one per combination. All nodes of a chain
//! are the testbed's first ones, in its order. Tests: `forwarding_tests.rs`, `thalweg_simnet::forwarding`.

use super::context::{in_order, RunContext};
use super::keys::{choices, keys};
use super::kind::{expect, pairs, with_seed, Kind};
use super::{ExperimentError, Result};
use crate::results::{columns, name_of, Column, Row};
use serde::Deserialize;
use thalweg_engine::Cca;
use thalweg_sim::boards;
use thalweg_simnet::forwarding::{Bench, Chain, Channels, ForwardingName};
use thalweg_wire::forward::{HEADER_BYTES, MAX_PAYLOAD};

keys! {
    "forwarding",
    /// Chains of forwarders: the highest rate without loss, or a packet's time around a loop. Lists sweep.
    pub struct ForwardingRuns {
        /// Testbed, by name or file.
        pub testbed: String;
        /// Board, by name or file.
        pub board: String = "telosb-contiki";
        /// Hops of the chain.
        pub hops: Vec<usize>, 1..=15;
        /// `one` for all hops, or one `per-hop`.
        pub channels: Vec<Channels> = ["per-hop"];
        /// How relays forward: `copying`, `resending`, `conditional`.
        pub forwarding: Vec<ForwardingName>;
        /// Whether nodes look before they send.
        pub cca: Vec<bool> = [false];
        /// Whether the board's operating system costs time.
        pub os: Vec<bool> = [true];
        /// Payload bytes of a packet; the header takes eight more.
        pub payload: Vec<u8> = [117], 0..=MAX_PAYLOAD;
        /// Packets of a run.
        pub packets: u16 = 1000, 10..=20_000;
        /// Node-distinct routes that take packets by turns.
        pub routes: Vec<u8> = [1], 1..=2;
        /// What is measured: `rate`, `latency`, or `bounds` alone, without a simulation.
        pub measure: Measure = "rate";
    }
}

/// What is measured of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Measure {
    /// The highest rate without loss.
    Rate,
    /// The time of one packet around a loop.
    Latency,
    /// The closed forms alone; nothing is simulated.
    Bounds,
}

choices!(Measure);

/// The name of a cost that is, or is left out.
const fn on(yes: bool) -> &'static str {
    match yes {
        true => "on",
        false => "off",
    }
}

/// Forwarding, and CCA where there is any: a series of figures 4 and 5.
fn variant(chain: &Chain) -> String {
    let cca = match chain.cca {
        Cca::Skip => "",
        Cca::Require => ", CCA",
    };
    name_of(&chain.forwarding) + cca
}

/// What is not left out besides copying: a place of figure 3.
fn overheads(cell: &Cell) -> &'static str {
    match (cell.chain.cca, cell.os) {
        (Cca::Skip, false) => "none",
        (Cca::Require, false) => "CCA",
        (Cca::Skip, true) => "OS",
        (Cca::Require, true) => "CCA and OS",
    }
}

/// One combination.
#[derive(Debug, Clone)]
struct Cell {
    channels: Channels,
    os: bool,
    routes: u8,
    chain: Chain,
}

impl Kind for ForwardingRuns {
    fn columns() -> Vec<Column> {
        with_seed(&[columns! {
            hops: Whole, "Hops of the chain.";
            channels: Text, "`one` for all hops, or one `per-hop`.";
            forwarding: Text, "How relays forward.";
            cca: Text, "Whether nodes look before they send: `on` or `off`.";
            os: Text, "Whether the operating system costs time: `on` or `off`.";
            variant: Text, "Forwarding, and CCA where there is any.";
            overheads: Text, "What costs time besides copying: `none`, `CCA`, `OS`, `CCA and OS`.";
            routes: Whole, "Routes that take packets by turns.";
            payload_bytes: Whole "byte", "Payload of a packet.";
            mpdu_bytes: Whole "byte", "Bytes of its frame.";
            bound_kbps: Number "kbit/s", "Bound on `raw_kbps` in closed form.";
            latency_ms: Number "ms", "A packet's time around the loop.";
            interval_us: Number "us", "Shortest interval between packets without a loss.";
            raw_kbps: Number "kbit/s", "Frames at the sink at that interval; 0 where there is none.";
            payload_kbps: Number "kbit/s", "The same of payloads alone.";
            header_bytes: Whole "byte", "Bytes of a packet's header.";
            of_bound: Number, "`raw_kbps` over `bound_kbps`.";
        }])
    }

    fn check(&self) -> Result<(), String> {
        let one = self.measure == Measure::Rate || self.routes == [1];
        expect("routes", one, "1 where the rate is not measured")?;
        let least = self.measure != Measure::Latency || self.hops.iter().all(|h| *h >= 2);
        expect("hops", least, "at least 2 for a loop")?;
        boards::load(&self.board).map_err(|e| format!("run.board: {e}"))?;
        Ok(())
    }

    fn parts(&self) -> u64 {
        self.cells().len() as u64
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let row = |cell: &Cell| context.part(|| self.row(seed, cell, context));
        in_order(&self.cells(), row)
    }

    fn testbed_key(&self) -> Option<&'static str> {
        (self.measure != Measure::Bounds).then_some("testbed")
    }
}

impl ForwardingRuns {
    fn cells(&self) -> Vec<Cell> {
        let lengths = pairs(&self.routes, &self.hops);
        let chains = pairs(&lengths, &pairs(&self.channels, &self.forwarding));
        let costs = pairs(&self.cca, &pairs(&self.os, &self.payload));
        let cell = |(((routes, hops), (channels, forwarding)), (cca, (os, payload_bytes)))| {
            let mut chain = match (self.measure, routes) {
                (Measure::Latency, _) => Chain::round(hops, channels, forwarding),
                (_, 2) => Chain::pair(hops, channels, forwarding),
                _ => Chain::line(hops, channels, forwarding),
            };
            chain.cca = if cca { Cca::Require } else { Cca::Skip };
            chain.payload_bytes = payload_bytes;
            Cell {
                channels,
                os,
                routes,
                chain,
            }
        };
        pairs(&chains, &costs).into_iter().map(cell).collect()
    }

    fn row(&self, seed: u64, cell: &Cell, context: &RunContext<'_>) -> Result<Row> {
        let chain = &cell.chain;
        let bound = chain.bound().kbps();
        let mut row = Row::new()
            .with("seed", seed)
            .with("hops", chain.hops())
            .with("channels", name_of(&cell.channels))
            .with("forwarding", name_of(&chain.forwarding))
            .with("cca", on(chain.cca == Cca::Require))
            .with("os", on(cell.os))
            .with("variant", variant(chain))
            .with("overheads", overheads(cell))
            .with("routes", u32::from(cell.routes))
            .with("payload_bytes", u32::from(chain.payload_bytes))
            .with("mpdu_bytes", chain.mpdu_bytes())
            .with("bound_kbps", bound);
        if self.measure == Measure::Bounds {
            return Ok(row);
        }
        let site = context.site(&self.testbed, seed)?;
        let unfit = |why: String| ExperimentError::unfit(&site, why);
        let (nodes, needed) = (site.environment.ears.len(), chain.nodes());
        if nodes < needed {
            return Err(unfit(format!("{nodes} nodes, {needed} are needed")));
        }
        let mut board = boards::load(&self.board).map_err(|e| unfit(e.to_string()))?;
        if !cell.os {
            board = board.without_os();
        }
        let site = site.with_board(board.with_one_radio())?;
        let bench = Bench::new(site, seed).map_err(|e| unfit(e.to_string()))?;
        if self.measure == Measure::Latency {
            let taken = chain.latency(&bench)?;
            row.set_some("latency_ms", taken.map(|t| t.as_secs_f64() * 1e3));
            return Ok(row);
        }
        let found = chain.highest_rate(&bench, self.packets)?;
        let (raw, payload) = found.map_or((0.0, 0.0), |(_, trial)| {
            (trial.raw().kbps(), trial.payload().kbps())
        });
        row.set_some("interval_us", found.map(|f| f.0.as_micros_f64()));
        Ok(row
            .with("raw_kbps", raw)
            .with("payload_kbps", payload)
            .with("header_bytes", HEADER_BYTES)
            .with("of_bound", raw / bound))
    }
}

#[cfg(test)]
#[path = "forwarding_tests.rs"]
mod tests;
