//! Transfers over routes drawn at random: one link survey per seed, every protocol over the same
//! plan and, route by route, over the same run of the radio environment (P3, section V).
//!
//! Owns the keys of `kind = "transfers"` and its rows. Every transfer runs in a fresh network, so results do not depend on
//! each other. Routes: `draw.rs`; the transfers of one: `fetch.rs`; mishaps: `mishap.rs`. Tests: `../tests.rs`.

mod draw;
mod fetch;
mod mishap;
mod rate;

pub(super) use draw::Drawn;
use draw::World;
pub(super) use fetch::{outcome_row, Task, Unplanned, OUTCOME, ROUTE};
use mishap::Mishap;

use super::context::RunContext;
use super::explained::{Explained, ExplainedTransfer};
use super::keys::{choices, keys, said, table, Shape};
use super::kind::{expect, or_none, pairs, with_seed, Explains, Kind};
use super::Result;
use crate::results::{columns, Column, Row, SEED};
use serde::Deserialize;
use thalweg_host::link_state::CLEAN_CHANNELS;
use thalweg_host::registry::Pipelined;
use thalweg_host::survey::{Survey, SurveyKind};
use thalweg_planner::pairs::Floors;
use thalweg_testbeds::{Testbed, AGE};
use thalweg_units::{Channel, ChannelSet, Duration};
use thalweg_wire::pipeline::MAX_PACKETS;
use thalweg_wire::route::PayloadSize;

keys! {
    "transfers",
    /// Objects over routes drawn at random, all protocols over the same. Lists sweep.
    pub struct Transfers {
        /// Testbed, by name or file.
        pub testbed: String;
        /// Routes drawn per seed, or which: source and sink of each, as `[[12, 1], [45, 1]]`.
        pub routes: Wanted = 20;
        /// Between whom: `drawn`, or `farthest`, the way to the testbed's sink from the node that is the most hops away. Then
        /// only the survey of those that plan chains is made, and all protocols plan by it.
        pub ends: Ends = "drawn";
        /// Which routes are drawn.
        pub route: RouteSpec = {};
        /// Names the draw: two experiments with the same name see the same routes.
        pub draw: String = "";
        /// Pipeline channels, the set that stages take turns with. None for 15, 20, 25 and 26: those of them that the testbed has, or if none all that it has.
        pub channels: Vec<u8> = [], 11..=26;
        /// The channel on which routes are sought; none for 26, or the control channel of a testbed that lacks it.
        pub routing_channel: Option<u8>, 11..=26;
        /// Payload bytes of a packet.
        pub payload: Vec<u8> = [118], 1..=118;
        /// Packets of the object, all full.
        pub packets: u32 = 500, 1..=MAX_PACKETS;
        /// Bytes of the object, instead of `packets`.
        pub bytes: Vec<u32> = [], 1..=u32::MAX;
        /// Protocols, each over the same routes (`docs/variants.md`).
        pub protocols: Vec<Pipelined>;
        /// The one whose energy, goodput and nodes stand beside the others' in every row.
        pub baseline: Option<Pipelined>;
        /// Highest number of node-distinct paths; `paths`, as the option is called, is the same.
        pub max_paths: Vec<usize> = [], 1..=20;
        /// Lengths of the routes in hops: so many `routes` are drawn of each, and every protocol's
        /// plan has exactly that length. Without them lengths are as they are drawn.
        pub hops: Vec<usize> = [], 1..=10;
        /// Milliseconds between two beacons of the surveys that all protocols plan by (P3 has 100). Routes are drawn
        /// from the survey of the first.
        pub beacon_ms: Vec<u32> = [100], 10..=3_000;
        /// By how many decibels (rms) links change between a survey and transfers a quarter of an hour or more later;
        /// without them as the testbed's do.
        pub change_db: Vec<f64> = [], 0..=20;
        /// How those survey that plan chains: `published`, or `sweep`, for which `beacon_ms` has no meaning.
        pub survey: SurveyKind = "published";
        /// How often a sweep goes over all nodes and channels.
        pub sweeps: u8 = 2, 1..=15;
        /// Surveys that those plan by that plan chains, one after the other.
        pub surveys: Vec<u32> = [1], 1..=8;
        /// Seconds from the beginning of one of them to that of the next.
        pub apart_s: u32 = 3600, 1..=1_000_000;
        /// Seconds from the beginning of the last survey to the transfer, which waits for the end of all surveys that protocols plan by.
        pub age_s: Vec<u32> = [300], 0..=10_000_000;
        /// What goes wrong in the middle.
        pub mishaps: Vec<Mishap> = [];
    }
}

/// How many routes, or which.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of routes, or source and sink of each, as [[12, 1], [45, 1]]"
)]
pub(super) enum Wanted {
    /// So many are drawn.
    Drawn(u32),
    /// From the first node to the second.
    Named(Vec<[u16; 2]>),
}

said! {
    Wanted => Shape::Either(&[Shape::Whole, <Vec<Vec<u16>>>::SHAPE]);
}
choices!(Ends, Mishap);

impl Transfers {
    /// Whether the values of its table in another kind's go together.
    ///
    /// # Errors
    /// As [`Kind::check`].
    pub(super) fn check_below(&self) -> Result<(), String> {
        let below = |why: String| why.replacen("run.", "run.transfers.", 1);
        self.check().map_err(below)
    }
}

impl Wanted {
    /// How many.
    fn count(&self) -> usize {
        match self {
            Self::Drawn(count) => *count as usize,
            Self::Named(pairs) => pairs.len(),
        }
    }
}

table! {
    /// Which routes are drawn. P3, section V: 2 to 6 hops between floors, N = 6.
    pub struct RouteSpec {
        /// Fewest hops.
        pub min_hops: usize = 2, 1..=10;
        /// Most hops.
        pub max_hops: usize = 6, 1..=10;
        /// Fewest node-distinct paths.
        pub min_paths: usize = 6, 1..=20;
        /// Whether source and sink may share a floor.
        pub floors: Floors = "different";
    }
}

/// The ends of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ends {
    /// Pairs drawn at random.
    Drawn,
    /// The farthest node and the sink.
    Farthest,
}

/// One cell of a sweep.
#[derive(Debug, Clone, Copy)]
struct Cell {
    payload: PayloadSize,
    bytes: u32,
    max_paths: Option<usize>,
    age: Duration,
    mishap: Mishap,
}

impl Kind for Transfers {
    fn columns() -> Vec<Column> {
        let own = columns! {
            baseline_goodput_kbps: Number "kbit/s", "`goodput_kbps` of `baseline` on the same route.";
            baseline_active_nodes: Number, "Its `active_nodes`.";
            baseline_energy_j: Number "J", "Its `energy_j`, where it delivered.";
            energy_over_baseline: Number, "`energy_j` over that, where both delivered.";
        };
        with_seed(&[OUTCOME, ROUTE, own])
    }

    fn check(&self) -> Result<(), String> {
        let count = (1..=10_000).contains(&self.routes.count());
        expect("routes", count, "1 to 10000")?;
        let is_drawn = matches!(self.routes, Wanted::Drawn(_)) || self.hops.is_empty();
        expect("hops", is_drawn, "none where `routes` names nodes")?;
        let is_drawn = matches!(self.routes, Wanted::Drawn(_)) || self.ends == Ends::Drawn;
        expect("ends", is_drawn, "none where `routes` names nodes")?;
        let fits = |c: &Cell| c.bytes.div_ceil(c.payload.bytes().into()) <= MAX_PACKETS.into();
        let fit = self.cells().iter().all(fits);
        expect("bytes", fit, "no more than 16384 packets")?;
        let known = self.baseline.is_none_or(|b| self.protocols.contains(&b));
        expect("baseline", known, "one of the protocols")?;
        let most = self.route.max_hops;
        let fits = self.route.min_hops <= most;
        expect("route.min_hops", fits, &format!("1 to {most}"))
    }

    fn parts(&self) -> u64 {
        (self.routes.count() * self.hops.len().max(1)) as u64
    }

    fn rows(&self, seed: u64, lab: &RunContext<'_>) -> Result<Vec<Row>> {
        let worlds = self.draw_all(seed, lab)?;
        let routes = worlds.first().map_or(0, |drawn| drawn.pairs.len());
        self.each_route(routes, lab, |route| {
            lab.setting((seed, route), || self.route_rows(&worlds, route))
        })
    }

    /// Nothing was transferred, and they say why.
    fn rows_without(&self, seed: u64, why: &str) -> Option<Vec<Row>> {
        let row = |variant: &Pipelined| {
            Row::new()
                .with(SEED, seed)
                .with("protocol", variant.name)
                .with("routes_found", 0u32)
                .with("routes_wanted", self.parts())
                .with("failure", format!("no transfer: {why}"))
        };
        Some(self.protocols.iter().map(row).collect())
    }

    fn routes_key(&self) -> Option<&'static str> {
        Some("routes")
    }

    fn sought(&self) -> Option<String> {
        let RouteSpec {
            max_hops,
            min_paths,
            ..
        } = self.route;
        let paths = if min_paths == 1 { "path" } else { "paths" };
        Some(format!("{max_hops} hops at most, {min_paths} {paths}"))
    }

    fn explains(&self) -> Option<&dyn Explains> {
        Some(self)
    }
}

impl Explains for Transfers {
    /// The loss maps of the first cell's transfers in the first world: the same transfers again, watched.
    fn explain(&self, seed: u64, lab: &RunContext<'_>) -> Result<Explained> {
        let Some(world) = self.worlds().into_iter().next() else {
            return Ok(Explained::default());
        };
        let drawn = self.draw_in(seed, world, lab)?;
        let map = |route: usize, variant: Pipelined| {
            let task = self.task(&drawn, route, variant).ok();
            let task = task.filter(Task::can_happen)?;
            Some(self.loss_map(&task).map(|map| ExplainedTransfer {
                seed,
                route: route + 1,
                protocol: variant.name,
                map,
            }))
        };
        let transfers = self.each_route(drawn.pairs.len(), lab, |route| {
            let maps = self.protocols.iter().filter_map(|v| map(route, *v));
            lab.part(|| maps.collect())
        })?;
        Ok(Explained { transfers })
    }
}

impl Transfers {
    /// The cells of the sweep, in the order of the file.
    fn cells(&self) -> Vec<Cell> {
        let none = [Mishap::None];
        let mishaps = match self.mishaps.as_slice() {
            [] => &none[..],
            mishaps => mishaps,
        };
        let lengths = |payload: PayloadSize| match self.bytes.as_slice() {
            [] => vec![self.packets.saturating_mul(u32::from(payload.bytes()))],
            bytes => bytes.to_vec(),
        };
        let payloads = self.payload.iter().filter_map(|p| PayloadSize::new(*p));
        let objects = payloads.flat_map(|payload| pairs(&[payload], &lengths(payload)));
        let ways = pairs(&or_none(&self.max_paths), mishaps);
        let ways = pairs(&ways, &self.age_s);
        let cell = |((payload, bytes), ((max_paths, mishap), age_s))| Cell {
            payload,
            bytes,
            max_paths,
            age: Duration::from_secs(u64::from(age_s)),
            mishap,
        };
        let cells = pairs(&objects.collect::<Vec<_>>(), &ways);
        cells.into_iter().map(cell).collect()
    }
    fn first_cell(&self) -> Cell {
        let whole = Cell {
            payload: PayloadSize::MAX,
            bytes: 59_000,
            max_paths: None,
            age: AGE,
            mishap: Mishap::None,
        };
        self.cells().first().copied().unwrap_or(whole)
    }

    /// How links are surveyed on `channels`, with `beacon_ms` from beacon to beacon.
    fn survey(channels: ChannelSet, beacon_ms: u32) -> Survey {
        Survey {
            interval: Duration::from_millis(u64::from(beacon_ms)),
            ..Survey::of(channels)
        }
    }
    /// How links on all `channels` are surveyed for those that plan chains.
    fn survey_of_all(&self, testbed: &Testbed, beacon_ms: u32) -> Survey {
        let channels = self.channel_list(testbed).into_iter().collect();
        match self.survey {
            SurveyKind::Published => Self::survey(channels, beacon_ms),
            SurveyKind::Sweep => Survey {
                beacons: self.sweeps,
                ..Survey::sweep(channels)
            },
        }
    }
    /// When the last survey begins: all counts of surveys end with the same.
    fn last_survey(&self) -> Duration {
        let most = self.surveys.iter().copied().max().unwrap_or(1);
        Duration::from_secs(u64::from(most.saturating_sub(1)) * u64::from(self.apart_s))
    }
    /// The worlds in which routes are run, in the order of the file.
    fn worlds(&self) -> Vec<World> {
        let worlds = pairs(&self.beacon_ms, &or_none(&self.change_db));
        let worlds = pairs(&worlds, &self.surveys).into_iter();
        let world = |((beacon_ms, change_db), surveys)| World {
            beacon_ms,
            change_db,
            surveys,
        };
        worlds.map(world).collect()
    }
    /// That from whose survey routes are drawn: of the first spacing of beacons, where links change as the testbed's do.
    fn first_world(&self) -> World {
        World {
            beacon_ms: self.beacon_ms.first().copied().unwrap_or(100),
            change_db: None,
            surveys: self.surveys.first().copied().unwrap_or(1),
        }
    }
    /// The channel on which routes are sought in `testbed`.
    fn routing_channel(&self, testbed: &Testbed) -> Channel {
        let said = self.routing_channel.and_then(|c| Channel::new(c).ok());
        let usual = || match testbed.channels.contains(Channel::LAST) {
            true => Channel::LAST,
            false => testbed.control,
        };
        said.unwrap_or_else(usual)
    }
    /// The pipeline channels in `testbed`.
    fn channel_list(&self, testbed: &Testbed) -> Vec<Channel> {
        let named = |list: &[u8]| -> Vec<Channel> {
            let list = list.iter();
            list.filter_map(|c| Channel::new(*c).ok()).collect()
        };
        if !self.channels.is_empty() {
            return named(&self.channels);
        }
        let mut usual = named(&CLEAN_CHANNELS);
        usual.retain(|c| testbed.channels.contains(*c));
        match usual.is_empty() {
            true => testbed.channels.iter().collect(),
            false => usual,
        }
    }
}
