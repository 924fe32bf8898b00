//! Chains of forwarders: the highest rate without loss, or the time of one packet, in every
//! combination of hops, channels, forwarding, CCA and operating system (CIT, sections 3 to 5).
//!
//! Owns the keys of `kind = "forwarding"` and its rows, one per combination. All nodes of a chain
//! are the testbed's first ones, in its order. Tests: below, `crate::forwarding`.

use super::keys::expect;
use super::row::Row;
use super::sites::Sites;
use super::{in_order, ExperimentError, Ticker};
use crate::forwarding::{Bench, Chain, Channels, ForwardingName};
use serde::Deserialize;
use thalweg_engine::Cca;
use thalweg_sim::boards;
use thalweg_units::Channel;
use thalweg_wire::forward::{HEADER_BYTES, MAX_PAYLOAD};

/// Chains of forwarders.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardingRuns {
    /// Testbed, by name or file.
    pub testbed: String,
    /// Board, by name or file.
    #[serde(default = "contiki")]
    pub board: String,
    /// Hops of the chain; more than one value sweeps, as of every list here.
    pub hops: Vec<usize>,
    /// One channel for all hops, or one for each.
    #[serde(default = "per_hop")]
    pub channels: Vec<Channels>,
    /// The hops' channels instead of the built-in order.
    #[serde(default)]
    pub channel_list: Vec<u8>,
    /// How relays forward.
    pub forwarding: Vec<ForwardingName>,
    /// Whether nodes look before they send.
    #[serde(default = "no")]
    pub cca: Vec<bool>,
    /// Whether the board's operating system costs time.
    #[serde(default = "yes")]
    pub os: Vec<bool>,
    /// Payload bytes of a packet, 0..=117; the header takes eight more.
    #[serde(default = "full")]
    pub payload: Vec<u8>,
    /// Packets of a run.
    #[serde(default = "thousand")]
    pub packets: u16,
    /// Node-distinct routes that take packets by turns, 1 or 2.
    #[serde(default = "one")]
    pub routes: Vec<u8>,
    /// What is measured.
    #[serde(default)]
    pub measure: Measure,
}

/// What is measured of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The highest rate without loss.
    #[default]
    Rate,
    /// The time of one packet around a loop.
    Latency,
    /// The closed forms alone; nothing is simulated.
    Bounds,
}

fn contiki() -> String {
    "telosb-contiki".to_owned()
}
fn per_hop() -> Vec<Channels> {
    vec![Channels::PerHop]
}
fn no() -> Vec<bool> {
    vec![false]
}
fn yes() -> Vec<bool> {
    vec![true]
}
fn full() -> Vec<u8> {
    vec![MAX_PAYLOAD as u8]
}
const fn thousand() -> u16 {
    1000
}
fn one() -> Vec<u8> {
    vec![1]
}

/// The name of a cost that is, or is left out.
const fn on(yes: bool) -> &'static str {
    if yes {
        "on"
    } else {
        "off"
    }
}

/// Forwarding, and CCA where there is any: a series of figures 4 and 5.
fn variant(chain: &Chain) -> String {
    match chain.cca {
        Cca::Skip => chain.forwarding.name().to_owned(),
        Cca::Require => format!("{}, CCA", chain.forwarding.name()),
    }
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
    seed: u64,
    channels: Channels,
    os: bool,
    routes: u8,
    chain: Chain,
}

impl ForwardingRuns {
    pub(super) fn check(&self) -> Result<(), String> {
        let in_each = |key: &str, ok: bool, range: &str| expect(key, ok, range);
        let hops = !self.hops.is_empty() && self.hops.iter().all(|h| (1..=15).contains(h));
        in_each("hops", hops, "values from 1 to 15")?;
        let lists = [
            ("channels", self.channels.is_empty()),
            ("forwarding", self.forwarding.is_empty()),
            ("cca", self.cca.is_empty()),
            ("os", self.os.is_empty()),
        ];
        for (key, empty) in lists {
            in_each(key, !empty, "at least one value")?;
        }
        let channels = self.channel_list.iter().all(|c| Channel::new(*c).is_ok());
        in_each("channel_list", channels, "channels from 11 to 26")?;
        let most = self.hops.iter().max().copied().unwrap_or(0);
        let enough = self.channel_list.is_empty() || self.channel_list.len() >= most;
        in_each("channel_list", enough, "a channel for every hop")?;
        let sizes = self.payload.iter().all(|p| usize::from(*p) <= MAX_PAYLOAD);
        let sizes = sizes && !self.payload.is_empty();
        in_each("payload", sizes, "values from 0 to 117")?;
        in_each(
            "packets",
            (10..=20_000).contains(&self.packets),
            "10 to 20000",
        )?;
        let routes = !self.routes.is_empty() && self.routes.iter().all(|r| (1..=2).contains(r));
        in_each("routes", routes, "1 or 2")?;
        let one = self.measure == Measure::Rate || self.routes == [1];
        in_each("routes", one, "1 where the rate is not measured")?;
        let least = self.measure != Measure::Latency || self.hops.iter().all(|h| *h >= 2);
        in_each("hops", least, "at least 2 for a loop")?;
        boards::load(&self.board).map_err(|e| format!("run.board: {e}"))?;
        Ok(())
    }

    pub(super) fn parts(&self) -> u64 {
        (self.hops.len()
            * self.channels.len()
            * self.forwarding.len()
            * self.cca.len()
            * self.os.len()
            * self.payload.len()
            * self.routes.len()) as u64
    }

    fn chain(
        &self,
        hops: usize,
        channels: Channels,
        forwarding: ForwardingName,
        routes: u8,
    ) -> Chain {
        let mut chain = match (self.measure, routes) {
            (Measure::Latency, _) => Chain::round(hops, channels, forwarding),
            (_, 2) => Chain::pair(hops, channels, forwarding),
            _ => Chain::line(hops, channels, forwarding),
        };
        if channels == Channels::PerHop && routes == 1 {
            let own = self
                .channel_list
                .iter()
                .filter_map(|c| Channel::new(*c).ok());
            let all = chain.channels.iter_mut().flatten();
            all.zip(own).for_each(|(channel, own)| *channel = own);
        }
        chain
    }

    fn cells(&self, seed: u64) -> Vec<Cell> {
        let mut cells = Vec::new();
        for routes in &self.routes {
            for hops in &self.hops {
                for channels in &self.channels {
                    for forwarding in &self.forwarding {
                        let base = self.chain(*hops, *channels, *forwarding, *routes);
                        for cca in &self.cca {
                            for os in &self.os {
                                for payload in &self.payload {
                                    let cca = if *cca { Cca::Require } else { Cca::Skip };
                                    cells.push(Cell {
                                        seed,
                                        channels: *channels,
                                        os: *os,
                                        routes: *routes,
                                        chain: Chain {
                                            cca,
                                            payload_bytes: *payload,
                                            ..base.clone()
                                        },
                                    });
                                }
                            }
                        }
                    }
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
        let cells: Vec<Cell> = seeds.iter().flat_map(|seed| self.cells(*seed)).collect();
        in_order(&cells, |cell| {
            ticker.go_on()?;
            let row = self.row(cell, sites)?;
            ticker.tick(1);
            Ok(row)
        })
    }

    fn row(&self, cell: &Cell, sites: &Sites) -> Result<Row, ExperimentError> {
        let chain = &cell.chain;
        let unfit = |why: String| ExperimentError::Unfit {
            testbed: self.testbed.clone(),
            seed: cell.seed,
            why,
        };
        let bound = chain.bound().kbps();
        let mut row = Row::new()
            .with("seed", cell.seed)
            .with("hops", chain.hops())
            .with("channels", cell.channels.name())
            .with("forwarding", chain.forwarding.name())
            .with("cca", on(chain.cca == Cca::Require))
            .with("os", on(cell.os))
            .with("variant", variant(chain).as_str())
            .with("overheads", overheads(cell))
            .with("routes", u32::from(cell.routes))
            .with("payload_bytes", u32::from(chain.payload_bytes))
            .with("mpdu_bytes", chain.mpdu_bytes())
            .with("bound_kbps", bound);
        if self.measure == Measure::Bounds {
            return Ok(row);
        }
        let site = sites.site(&self.testbed, cell.seed)?;
        let nodes = site.environment.ears.len();
        if nodes < chain.nodes() {
            let needed = chain.nodes();
            return Err(unfit(format!("{nodes} nodes, {needed} are needed")));
        }
        let mut board = boards::load(&self.board).map_err(|e| unfit(e.to_string()))?;
        if !cell.os {
            board = board.without_os();
        }
        let site = site.with_board(board.with_one_radio())?;
        let bench = Bench::new(site, cell.seed).map_err(|e| unfit(e.to_string()))?;
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
mod tests {
    use super::*;
    use crate::experiment::{run, Run};
    use std::ops::ControlFlow;

    fn runs(text: &str) -> ForwardingRuns {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn every_combination_is_a_row_and_seeds_repeat() {
        let text = "testbed='ring12'\nhops=[1,2]\nforwarding=['copying','conditional']\npackets=20\nos=[true,false]";
        let text = text.replace("\\\n", "\n");
        let r = runs(&text);
        r.check().unwrap();
        assert_eq!(r.parts(), 8);
        let sites = Sites::default();
        let go = || {
            run(&Run::Forwarding(r.clone()), &[1, 2], &sites, &|_, _| {
                ControlFlow::Continue(())
            })
        };
        let rows = go().unwrap();
        assert_eq!(rows.len(), 16);
        assert_eq!(rows, go().unwrap());
        assert!(rows
            .iter()
            .all(|r| r.number("raw_kbps").is_some_and(|x| x > 30.0)));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let good = "testbed='ring12'\nhops=[2]\nforwarding=['copying']\n".replace("\\\n", "\n");
        for (more, key) in [
            ("packets=9", "packets"),
            ("payload=[118]", "payload"),
            ("routes=[3]", "routes"),
            ("channel_list=[9]", "channel_list"),
            ("channel_list=[15]", "channel_list"),
            ("board='none'", "board"),
            ("measure='latency'\nroutes=[2]", "routes"),
        ] {
            let error = runs(&format!("{good}{}", more.replace("\\\n", "\n")))
                .check()
                .unwrap_err();
            assert!(error.starts_with(&format!("run.{key}")), "{error}");
        }
    }

    #[test]
    fn another_board_than_the_testbeds_forwards_with_its_first_radio() {
        let r =
            runs("testbed='ring12'\nhops=[2]\nforwarding=['copying']\nboard='opal'\npackets=20");
        let go = |r| {
            run(&Run::Forwarding(r), &[1], &Sites::default(), &|_, _| {
                ControlFlow::Continue(())
            })
        };
        let rows = go(r).unwrap();
        // A tenth of the air time each for read and write, instead of half as much again.
        assert!(
            rows[0].number("raw_kbps").is_some_and(|x| x > 95.0),
            "{rows:?}"
        );
    }

    #[test]
    fn a_site_that_is_too_small_is_an_error_of_the_input() {
        let r = runs(&"testbed='pair'\nhops=[2]\nforwarding=['copying']".replace("\\\n", "\n"));
        let error = run(&Run::Forwarding(r), &[1], &Sites::default(), &|_, _| {
            ControlFlow::Continue(())
        });
        assert!(error.unwrap_err().is_input());
    }
}
