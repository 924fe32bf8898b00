//! Transfers over routes drawn at random: one link survey per seed, every protocol over the same
//! plan and, route by route, over the same run of the radio environment (P3, section V).
//!
//! Owns the keys of `kind = "transfers"` and its rows. Every transfer has a session of its own, so
//! that no result depends on which others were asked for: which routes (`draw.rs`), the transfers of
//! one (`fetch.rs`), what goes wrong in them (`mishap.rs`). Tests: `../tests.rs`.

mod draw;
mod fetch;
mod losses;
mod mishap;
mod rate;

pub(super) use draw::Drawn;
pub(super) use fetch::outcome_row;
pub use losses::{Explained, ExplainedTransfer};
pub use mishap::Mishap;

use super::keys::expect;
use super::row::Row;
use super::sites::Sites;
use super::{rows_in_order, ExperimentError, Ticker};
use serde::{Deserialize, Serialize};
use thalweg_gateway::registry::Pipelined;
use thalweg_units::Channel;
use thalweg_wire::route::PayloadSize;

/// Transfers over routes drawn at random.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Testbed, by name or file.
    pub testbed: String,
    /// Routes drawn per seed.
    #[serde(default = "twenty")]
    pub routes: u32,
    /// Which routes are drawn.
    #[serde(default)]
    pub route: RouteSpec,
    /// Names the draw: two experiments with the same name see the same routes.
    #[serde(default)]
    pub draw: String,
    /// Pipeline channels, the set that stages take turns with.
    #[serde(default = "clean_channels")]
    pub channels: Vec<u8>,
    /// The channel on which routes are sought.
    #[serde(default = "last_channel")]
    pub routing_channel: u8,
    /// Payload bytes of a packet, 1..=118; more than one value sweeps.
    #[serde(default = "full_payload")]
    pub payload: Vec<u8>,
    /// Packets of the object, all full.
    #[serde(default = "five_hundred")]
    pub packets: u32,
    /// Bytes of the object, instead of `packets`; more than one value sweeps.
    #[serde(default)]
    pub bytes: Vec<u32>,
    /// Protocols, each over the same routes.
    pub protocols: Vec<Pipelined>,
    /// The one whose energy, goodput and nodes stand beside the others' in every row.
    pub baseline: Option<Pipelined>,
    /// Highest number of node-distinct paths; more than one value sweeps.
    #[serde(default)]
    pub max_paths: Vec<usize>,
    /// Lengths of the routes, 1 to 10 hops: so many `routes` are drawn of each, and every protocol's
    /// plan has exactly that length. Without them lengths are as they are drawn.
    #[serde(default)]
    pub hops: Vec<usize>,
    /// What goes wrong in the middle; more than one value sweeps.
    #[serde(default)]
    pub mishaps: Vec<Mishap>,
}

const fn twenty() -> u32 {
    20
}
const fn five_hundred() -> u32 {
    500
}
const fn last_channel() -> u8 {
    26
}
fn clean_channels() -> Vec<u8> {
    vec![15, 20, 25, 26]
}
fn full_payload() -> Vec<u8> {
    vec![118]
}

/// Which routes are drawn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteSpec {
    /// Fewest hops.
    pub min_hops: usize,
    /// Most hops.
    pub max_hops: usize,
    /// Fewest node-distinct paths.
    pub min_paths: usize,
    /// Source and sink on different floors.
    pub floors: Floors,
}

/// Whether source and sink may share a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Floors {
    /// Any two nodes.
    Any,
    /// Two floors.
    Different,
}

impl Default for RouteSpec {
    /// P3, section V: 2 to 6 hops between floors, N = 6.
    fn default() -> Self {
        Self {
            min_hops: 2,
            max_hops: 6,
            min_paths: 6,
            floors: Floors::Different,
        }
    }
}

/// One cell of a sweep.
#[derive(Debug, Clone, Copy)]
struct Cell {
    payload: PayloadSize,
    bytes: u32,
    max_paths: Option<usize>,
    mishap: Mishap,
}

impl Transfers {
    pub(super) fn check(&self) -> Result<(), String> {
        let channel = |c: u8| Channel::new(c).is_ok();
        expect("routes", (1..=10_000).contains(&self.routes), "1 to 10000")?;
        expect(
            "packets",
            (1..=16_384).contains(&self.packets),
            "1 to 16384",
        )?;
        expect("bytes", !self.bytes.contains(&0), "lengths of at least 1")?;
        let payloads =
            !self.payload.is_empty() && self.payload.iter().all(|p| (1..=118).contains(p));
        expect("payload", payloads, "values from 1 to 118")?;
        let most = u64::from(thalweg_wire::pipeline::MAX_PACKETS);
        let fits = self
            .cells()
            .iter()
            .all(|c| u64::from(c.bytes).div_ceil(u64::from(c.payload.bytes())) <= most);
        expect("bytes", fits, "no more than 16384 packets")?;
        let channels = !self.channels.is_empty() && self.channels.iter().all(|c| channel(*c));
        expect("channels", channels, "channels from 11 to 26")?;
        expect(
            "routing_channel",
            channel(self.routing_channel),
            "a channel from 11 to 26",
        )?;
        expect(
            "protocols",
            !self.protocols.is_empty(),
            "at least one protocol",
        )?;
        let known = self.baseline.is_none_or(|b| self.protocols.contains(&b));
        expect("baseline", known, "one of the protocols")?;
        let route = &self.route;
        let hops = 1 <= route.min_hops && route.min_hops <= route.max_hops && route.max_hops <= 10;
        expect(
            "route",
            hops && (1..=20).contains(&route.min_paths),
            "1 to 10 hops, 1 to 20 paths",
        )?;
        let paths = self.max_paths.iter().all(|m| (1..=20).contains(m));
        expect("max_paths", paths, "values from 1 to 20")?;
        let hops = self.hops.iter().all(|h| (1..=10).contains(h));
        expect("hops", hops, "values from 1 to 10")
    }
    pub(super) fn parts(&self) -> u64 {
        u64::from(self.routes) * self.hops.len().max(1) as u64
    }

    pub(super) fn rows(
        &self,
        seeds: &[u64],
        sites: &Sites,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        rows_in_order(seeds, |seed| {
            let drawn = self.draw(*seed, sites, ticker)?;
            let routes: Vec<usize> = (0..drawn.pairs.len()).collect();
            let rows = rows_in_order(&routes, |route| {
                ticker.go_on()?;
                let rows = self.route_rows(&drawn, *route)?;
                ticker.tick(1);
                Ok(rows)
            })?;
            // A building with fewer routes than wanted is done all the same.
            ticker.tick(self.parts().saturating_sub(routes.len() as u64));
            Ok(rows)
        })
    }

    /// The cells of the sweep, in the order of the file.
    fn cells(&self) -> Vec<Cell> {
        let max_paths: Vec<Option<usize>> = match self.max_paths.is_empty() {
            true => vec![None],
            false => self.max_paths.iter().copied().map(Some).collect(),
        };
        let mishaps = match self.mishaps.is_empty() {
            true => &[Mishap::None][..],
            false => &self.mishaps[..],
        };
        let mut cells = Vec::new();
        for payload in self.payload.iter().filter_map(|p| PayloadSize::new(*p)) {
            let full = [self.packets.saturating_mul(u32::from(payload.bytes()))];
            let bytes = if self.bytes.is_empty() {
                &full[..]
            } else {
                &self.bytes[..]
            };
            for &bytes in bytes {
                for &max_paths in &max_paths {
                    cells.extend(mishaps.iter().map(|&mishap| Cell {
                        payload,
                        bytes,
                        max_paths,
                        mishap,
                    }));
                }
            }
        }
        cells
    }
    fn first_cell(&self) -> Cell {
        let whole = Cell {
            payload: PayloadSize::MAX,
            bytes: 59_000,
            max_paths: None,
            mishap: Mishap::None,
        };
        self.cells().first().copied().unwrap_or(whole)
    }

    fn routing_channel(&self) -> Channel {
        Channel::new(self.routing_channel).unwrap_or(Channel::LAST)
    }
    fn channel_list(&self) -> Vec<Channel> {
        self.channels
            .iter()
            .filter_map(|c| Channel::new(*c).ok())
            .collect()
    }
}
