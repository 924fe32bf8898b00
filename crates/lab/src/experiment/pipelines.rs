//! PIP's engine over chains of nodes, on boards of several kinds, copying and with packets that wait
//! for the next one.
//!
//! Owns the keys of `kind = "pipelines"` and its rows, one per combination. All nodes of a chain are
//! the testbed's first ones, in its order, with a channel per hop. Tests: below, `crate::forwarding`.

use super::keys::expect;
use super::metric::SEED;
use super::row::Row;
use super::sites::Sites;
use super::{in_order, ExperimentError, Ticker};
use crate::collect::random_object;
use crate::forwarding::{Bench, Pipe};
use serde::Deserialize;
use std::ops::ControlFlow;
use thalweg_engine::Passing;
use thalweg_medium::random::derive;
use thalweg_sim::boards;
use thalweg_units::{BitRate, NodeId};
use thalweg_wire::phy::air_time;
use thalweg_wire::pipeline::{HEADER_BYTES, MAX_HOPS, MAX_PACKETS, MAX_PAYLOAD};
use thalweg_wire::route::PayloadSize;

/// Pipelines over chains of nodes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipelines {
    /// Testbed, by name or file; its nodes have places.
    pub testbed: String,
    /// Boards, by name or file; of two radios the first is used. More than one value sweeps, as of
    /// every list here.
    pub boards: Vec<String>,
    /// PIP, and PIP with conditional transmission.
    #[serde(default = "both")]
    pub protocols: Vec<PipName>,
    /// Hops of the chain, 1..=11.
    pub hops: Vec<usize>,
    /// Payload bytes of a packet, 1..=118.
    #[serde(default = "full")]
    pub payload: Vec<u8>,
    /// Packets of the object.
    #[serde(default = "thousand")]
    pub packets: u16,
}

/// A version of PIP as files name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PipName {
    /// As published: relays copy a packet and send it.
    Pip,
    /// Relays hold a packet in the radio until the next comes in.
    PipCit,
}

impl PipName {
    const fn name(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::PipCit => "pip-cit",
        }
    }
    const fn passing(self) -> Passing {
        match self {
            Self::Pip => Passing::Copied,
            Self::PipCit => Passing::Conditional,
        }
    }
}

fn both() -> Vec<PipName> {
    vec![PipName::Pip, PipName::PipCit]
}
fn full() -> Vec<u8> {
    vec![MAX_PAYLOAD as u8]
}
const fn thousand() -> u16 {
    1000
}

/// One combination.
#[derive(Debug, Clone)]
struct Cell<'a> {
    seed: u64,
    board: &'a str,
    protocol: PipName,
    hops: usize,
    payload: u8,
}

impl Pipelines {
    pub(super) fn check(&self) -> Result<(), String> {
        let most = usize::from(MAX_HOPS);
        let hops = !self.hops.is_empty() && self.hops.iter().all(|h| (1..=most).contains(h));
        expect("hops", hops, "values from 1 to 11")?;
        expect("boards", !self.boards.is_empty(), "at least one")?;
        expect("protocols", !self.protocols.is_empty(), "at least one")?;
        let sizes = self.payload.iter().all(|p| PayloadSize::new(*p).is_some());
        let sizes = sizes && !self.payload.is_empty();
        expect("payload", sizes, "values from 1 to 118")?;
        let packets = (1..=MAX_PACKETS).contains(&self.packets);
        expect("packets", packets, "1 to 16384")?;
        for board in &self.boards {
            boards::load(board).map_err(|e| format!("run.boards: {e}"))?;
        }
        Ok(())
    }

    pub(super) fn parts(&self) -> u64 {
        (self.boards.len() * self.protocols.len() * self.hops.len() * self.payload.len()) as u64
    }

    fn cells(&self, seed: u64) -> Vec<Cell<'_>> {
        let mut cells = Vec::new();
        for board in &self.boards {
            for &protocol in &self.protocols {
                for &hops in &self.hops {
                    cells.extend(self.payload.iter().map(|&payload| Cell {
                        seed,
                        board,
                        protocol,
                        hops,
                        payload,
                    }));
                }
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
        let cells: Vec<Cell<'_>> = seeds.iter().flat_map(|seed| self.cells(*seed)).collect();
        in_order(&cells, |cell| {
            ticker.go_on()?;
            let row = self.row(cell, sites, ticker)?;
            ticker.tick(1);
            Ok(row)
        })
    }

    fn row(
        &self,
        cell: &Cell<'_>,
        sites: &Sites,
        ticker: &Ticker<'_>,
    ) -> Result<Row, ExperimentError> {
        let unfit = |why: String| ExperimentError::Unfit {
            testbed: self.testbed.clone(),
            seed: cell.seed,
            why,
        };
        let board = boards::load(cell.board).map_err(|e| unfit(e.to_string()))?;
        let site = sites.site(&self.testbed, cell.seed)?;
        let site = site.with_board(board.with_one_radio())?;
        let testbed = site.testbed.clone();
        let (nodes, needed) = (testbed.len(), cell.hops + 1);
        let payload = PayloadSize::new(cell.payload).filter(|_| nodes >= needed);
        let payload =
            payload.ok_or_else(|| unfit(format!("{nodes} nodes, {needed} are needed")))?;
        let bench = Bench {
            site,
            seed: derive(cell.seed, "pipeline", &[]),
        };
        let ids: Vec<NodeId> = testbed.nodes.iter().map(|n| n.id).collect();
        let pipe = Pipe::line(cell.hops, cell.protocol.passing(), payload);
        let bytes = usize::from(self.packets) * usize::from(cell.payload);
        let object = random_object(cell.seed, ids[0], bytes);
        let mut observer = |_, _, _| match ticker.stopped() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let trial = pipe.run(&bench, &ids, &object, &mut observer)?;
        let mpdu = HEADER_BYTES + usize::from(cell.payload);
        let raw = trial.raw(payload).kbps();
        let whole = if trial.verified { bytes as u64 } else { 0 };
        let goodput = BitRate::of_bytes(whole, trial.time).kbps();
        let mut row = Row::new()
            .with(SEED, cell.seed)
            .with("board", cell.board)
            .with("protocol", cell.protocol.name())
            .with(
                "variant",
                format!("{}, {}", cell.board, cell.protocol.name()).as_str(),
            )
            .with("hops", cell.hops)
            .with("payload_bytes", u32::from(cell.payload))
            .with("raw_kbps", raw)
            .with("goodput_kbps", goodput)
            .with(
                "yield_pct",
                100.0 * f64::from(trial.received) / f64::from(trial.packets.max(1)),
            )
            .with(
                "first_round_pct",
                100.0 * f64::from(trial.first_round) / f64::from(trial.packets.max(1)),
            )
            .with("rounds", trial.rounds)
            .with("refused", trial.refused)
            .with("energy_j", trial.joules);
        if let Some(cadence) = pipe.cadence(&bench, &ids) {
            // The last of n packets cannot have arrived before n - 1 periods and its time on the air.
            let (period, n) = (cadence.data_period(), u64::from(self.packets));
            let least = period * (n - 1) + air_time(mpdu);
            let bound = BitRate::of_bytes(n * mpdu as u64, least).kbps();
            let slots = cell.hops.min(2) as f64;
            row.set("period_us", period.as_micros_f64());
            row.set("slot_us", period.as_micros_f64() / slots);
            row.set("bound_kbps", bound);
            row.set("of_bound", raw / bound);
        }
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{run, Run};

    fn runs(more: &str) -> Pipelines {
        let text =
            format!("testbed = 'ring12'\nboards = ['telosb', 'opal']\nhops = [1, 3]\n{more}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn every_combination_is_a_row_and_seeds_repeat() {
        let p = runs("packets = 30");
        p.check().unwrap();
        assert_eq!(p.parts(), 8);
        let go = || {
            run(
                &Run::Pipelines(p.clone()),
                &[1, 2],
                &Sites::default(),
                &|_, _| ControlFlow::Continue(()),
            )
        };
        let rows = go().unwrap();
        assert_eq!(rows.len(), 16);
        assert_eq!(rows, go().unwrap());
        for row in &rows {
            let share = row.number("of_bound").unwrap();
            // Crystals are off by a few times ten ppm.
            assert!((0.6..=1.0 + 1e-4).contains(&share), "{row:?}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (more, key) in [
            ("packets = 0", "packets"),
            ("payload = [119]", "payload"),
            ("payload = []", "payload"),
            ("protocols = []", "protocols"),
        ] {
            let error = runs(more).check().unwrap_err();
            assert!(error.starts_with(&format!("run.{key}")), "{error}");
        }
        for (from, to, key) in [("[1, 3]", "[12]", "hops"), ("'opal'", "'none'", "boards")] {
            let text = "testbed = 'ring12'\nboards = ['telosb', 'opal']\nhops = [1, 3]";
            let p: Pipelines = toml::from_str(&text.replace(from, to)).unwrap();
            assert!(p.check().unwrap_err().contains(key));
        }
    }

    #[test]
    fn a_site_that_does_not_fit_is_an_error_of_the_input() {
        let mut p = runs("packets = 10");
        p.testbed = "pair".into();
        let error = run(&Run::Pipelines(p), &[1], &Sites::default(), &|_, _| {
            ControlFlow::Continue(())
        });
        assert!(error.unwrap_err().is_input());
    }
}
