//! `kind = "convergecast"`: strategies against congestion, swept over loads (Fusion, chapter 5).
//!
//! Owns the keys of the kind and its rows. Every strategy meets the same site, clocks and phases. A
//! seed is one realisation of the testbed and one run on it. Rows have a `scope`: `run`, `node`,
//! `coverage` or `edge`. Tests: `tests.rs`.

mod rows;

use super::context::{rows_in_order, RunContext};
use super::keys::{choices, keys};
use super::kind::{expect, or_none, pairs, with_seed, within, Captures, Kind};
use super::sites::Sites;
use super::{ExperimentError, Result};
use crate::results::{columns, Column, Row, SEED};
use serde::Deserialize;
use std::collections::BTreeMap;
use thalweg_medium::random::{derive, stream, uniform};
use thalweg_protocols::csma::Lpl;
use thalweg_protocols::fusion::{Detection, Strategy};
use thalweg_protocols::stack::MAX_QUEUE;
use thalweg_sim::Capture;
use thalweg_simnet::convergecast::{run, Outcome, RunError, Setup, Workload};
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Dbm, Duration, NodeId};

keys! {
    "convergecast",
    /// Strategies against congestion, over loads or events (`docs/convergecast.md`).
    pub struct Convergecast {
        /// Testbed, by name or file.
        pub testbed: String;
        /// Strategies, by name; a wrong one is answered with all of them.
        pub strategies: Vec<String>;
        /// Offered loads in packets per second and node, one run each.
        pub offered: Vec<f64> = [], 0.001..=100;
        /// Or events: packets of each node at each, one run each.
        pub bursts: Vec<u16> = [], 1..=100;
        /// Seconds from event to event.
        pub event_period_s: f64 = 20, 0.1..=3_600;
        /// Seconds for routes to settle.
        pub settle_s: f64 = 120, 1..=3_600;
        /// Seconds that the load is counted.
        pub duration_s: f64 = 240, 1..=36_000;
        /// Sinks by node number, the first so many of them, one run each; none for the testbed's.
        pub sinks: Vec<u16> = [];
        /// How many of `sinks` there are, one run each; none for all.
        pub sink_counts: Vec<usize> = [];
        /// How many nodes may route, one run each; none for all.
        pub routers: Vec<usize> = [];
        /// Shares of the period that leaves listen before they send, one run each; 1 for leaves that
        /// never sleep.
        pub listen: Vec<f64> = [1], 0..=1;
        /// Low-power listening: how long (10 to 1350 ms) nodes sleep between two looks at the channel, one run each; 0
        /// for radios that stay on. None for those alone.
        pub lpl_interval_ms: Vec<f64> = [];
        /// Packets that a queue holds.
        pub queue: u8 = 8, 1..=MAX_QUEUE;
        /// Bytes of a frame, check sequence included.
        pub frame_bytes: u8 = 36, 34..=127;
        /// Nominal transmit power, dBm; none for the board's.
        pub tx_power_dbm: Option<f64>, -30..=20;
        /// Every third node, drawn by the seed, offers so many times the rate of the others.
        pub uneven: f64 = 1, 0.01..=100;
        /// So many nodes, drawn by the seed, fail halfway.
        pub failing: usize = 0;
        /// Rows: `runs`, `nodes` and coverages too, or `edges` as well.
        pub detail: Detail = "runs";
    }
}

/// How much each run reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Detail {
    /// A row for each run.
    Runs,
    /// Rows for its nodes and coverages too.
    Nodes,
    /// Rows for its links as well.
    Edges,
}

choices!(Detail);

/// One run of the sweep.
#[derive(Debug, Clone, Copy)]
struct Point<'a> {
    strategy: &'a str,
    workload: Workload,
    load: f64,
    sinks: Option<usize>,
    routers: Option<usize>,
    listen: f64,
    lpl_ms: Option<f64>,
}

impl Kind for Convergecast {
    fn columns() -> Vec<Column> {
        let own = columns! {
            strategy: Text, "Strategy.";
            offered: Number "packet/s", "Offered load of each node.";
            burst: Whole, "Packets of each node at an event.";
            sinks: Whole, "Sinks, where the experiment says how many.";
            routers: Whole, "Nodes that may route, where the experiment says how many.";
            listen: Number, "Share of the period that leaves listen, where several are compared.";
            lpl_interval_ms: Number "ms", "How long nodes sleep between two looks; 0 for radios that stay on.";
            scope: Text, "What the row is of: `run`, `node`, `coverage` or `edge`.";
            awake: Number, "Share of the time that the sources' radios were not asleep.";
            delivery: Number, "Share of the packets made that reached a sink.";
            joules_per_packet: Number "J/packet", "Energy of all nodes over delivered packets.";
        };
        with_seed(&[rows::RUN, rows::NODE_AND_EDGE, own])
    }

    fn check(&self) -> Result<(), String> {
        let named = self.strategies.iter().all(|s| Strategy::named(s).is_some());
        let names = Strategy::NAMES.join(", ");
        expect("strategies", named, &format!("one or more of {names}"))?;
        let one_load = self.offered.is_empty() != self.bursts.is_empty();
        expect("offered", one_load, "loads, or `bursts` instead of them")?;
        self.check_lpl()?;
        within("sink_counts", &self.sink_counts, 1..=self.sinks.len())
    }

    fn parts(&self) -> u64 {
        self.points().len() as u64
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let points: Vec<_> = self.points().into_iter().enumerate().collect();
        rows_in_order(&points, |(place, point)| {
            let rows = || self.run_rows(context.sites, seed, point);
            context.setting((seed, *place), rows)
        })
    }

    fn lossy_frame_bytes(&self) -> Option<usize> {
        None
    }

    fn captures(&self) -> Option<&dyn Captures> {
        Some(self)
    }
}

impl Captures for Convergecast {
    fn testbed(&self) -> &str {
        &self.testbed
    }

    fn capture(&self, seed: u64, sites: &Sites, capture: Box<dyn Capture>) -> Result<()> {
        let points = self.points();
        let Some(point) = points.first() else {
            return Ok(());
        };
        let site = sites.site(&self.testbed, seed)?;
        self.outcome(&site, point, Some(capture)).map(|_| ())
    }
}

impl Convergecast {
    fn check_lpl(&self) -> Result<(), String> {
        let (least, most) = Lpl::INTERVALS;
        let range = least.as_secs_f64() * 1e3..=most.as_secs_f64() * 1e3;
        let fits = |ms: &f64| *ms == 0.0 || range.contains(ms);
        let all = self.lpl_interval_ms.iter().all(fits);
        expect("lpl_interval_ms", all, "10 to 1350 ms, or 0 for always on")?;
        let detection = |name: &String| Strategy::named(name).unwrap_or_default().detection;
        let samples = |name: &String| matches!(detection(name), Detection::Sampling(_));
        let alone = self.lpl_interval_ms.is_empty()
            || !(self.strategies.iter().any(samples) || self.listen.iter().any(|l| *l < 1.0));
        let wanted = "neither channel sampling nor leaves that sleep beside it";
        expect("lpl_interval_ms", alone, wanted)
    }

    fn points(&self) -> Vec<Point<'_>> {
        let periodic = self.offered.iter();
        let periodic = periodic.map(|&rate| (Workload::Periodic { rate }, rate));
        let events = self.bursts.iter().map(|burst| {
            let workload = Workload::Events {
                burst: *burst,
                period: Duration::from_secs_f64(self.event_period_s),
            };
            (workload, f64::from(*burst))
        });
        let loads: Vec<(Workload, f64)> = periodic.chain(events).collect();
        let strategies: Vec<&str> = self.strategies.iter().map(String::as_str).collect();
        let runs = pairs(&loads, &strategies);
        let ends = pairs(&or_none(&self.sink_counts), &self.listen);
        let tree = pairs(&or_none(&self.routers), &or_none(&self.lpl_interval_ms));
        let point = |((((workload, load), strategy), (sinks, listen)), (routers, lpl_ms))| Point {
            strategy,
            workload,
            load,
            sinks,
            routers,
            listen,
            lpl_ms,
        };
        let points = pairs(&pairs(&runs, &ends), &tree);
        points.into_iter().map(point).collect()
    }

    /// The run of `point` on `site`.
    fn setup(&self, site: &Site, point: &Point<'_>) -> Result<Setup> {
        let sink = |id: &u16| {
            let found = NodeId::new(*id).ok();
            let found = found.and_then(|id| site.testbed.index_of(id));
            found.ok_or_else(|| ExperimentError::unfit(site, format!("has no node {id}")))
        };
        let sinks = self.sinks.iter().take(point.sinks.unwrap_or(usize::MAX));
        let sinks = sinks.map(sink).collect::<Result<Vec<usize>, _>>()?;
        let nodes = site.testbed.len();
        let mut rates = BTreeMap::new();
        let mut rng = stream(site.seed, "convergecast", &[]);
        let mut order: Vec<usize> = (0..nodes).collect();
        for k in (1..nodes).rev() {
            order.swap(k, (uniform(&mut rng) * (k + 1) as f64) as usize);
        }
        let sink = site.testbed.sink_index();
        let others = || order.iter().filter(|n| **n != sink && !sinks.contains(n));
        if self.uneven != 1.0 {
            rates.extend(others().take(nodes / 3).map(|n| (*n, self.uneven)));
        }
        let halfway = Duration::from_secs_f64(self.duration_s / 2.0);
        let failing = others().rev().take(self.failing);
        let failures = failing.map(|n| (*n, halfway)).collect();
        let doze = match (point.workload, point.listen) {
            (Workload::Periodic { rate }, listen) if listen < 1.0 => {
                Some(Duration::from_secs_f64(listen / rate))
            }
            _ => None,
        };
        Ok(Setup {
            strategy: Strategy::named(point.strategy).unwrap_or_default(),
            workload: point.workload,
            settle: Duration::from_secs_f64(self.settle_s),
            duration: Duration::from_secs_f64(self.duration_s),
            sinks,
            routers: point.routers.filter(|count| *count < nodes),
            doze,
            lpl: (point.lpl_ms.filter(|ms| *ms > 0.0)).map(|ms| Duration::from_secs_f64(ms * 1e-3)),
            queue: self.queue,
            frame_bytes: self.frame_bytes,
            power: self.tx_power_dbm.map(Dbm),
            channel: site.testbed.channels.iter().last().unwrap_or(Channel::LAST),
            failures,
            rates,
        })
    }

    fn outcome(
        &self,
        site: &Site,
        point: &Point<'_>,
        capture: Option<Box<dyn Capture>>,
    ) -> Result<Outcome> {
        let setup = self.setup(site, point)?;
        let seed = derive(site.seed, "convergecast run", &[]);
        run(site, &setup, seed, capture).map_err(|error| match error {
            RunError::Sim(error) => ExperimentError::Sim(error),
            RunError::Network(error) => ExperimentError::Network(error),
            RunError::NoLpl(_) | RunError::Board(_) => {
                ExperimentError::unfit(site, error.to_string())
            }
        })
    }

    fn run_rows(&self, sites: &Sites, seed: u64, point: &Point<'_>) -> Result<Vec<Row>> {
        let site = &sites.site(&self.testbed, seed)?;
        let base = self.base_row(site, point);
        // Rows have columns of sleep where the file has intervals, even of none.
        let what = format!("{} {:?}", point.lpl_ms.is_some(), self.setup(site, point)?);
        let key = ((self.testbed.clone(), seed), what);
        let known = sites.row(&key).filter(|_| self.detail == Detail::Runs);
        if let Some(row) = known {
            return Ok(vec![base.and(row)]);
        }
        let outcome = self.outcome(site, point, None)?;
        let row = self.outcome_row(point, &outcome);
        sites.keep_row(key, &row);
        let mut rows = vec![base.clone().and(row)];
        if self.detail != Detail::Runs {
            rows.extend(self.node_rows(&base, site, &outcome));
            rows.extend(self.coverage_rows(&base, &outcome));
        }
        if self.detail == Detail::Edges {
            rows.extend(rows::edge_rows(&base, site, &outcome));
        }
        Ok(rows)
    }

    /// The columns of a run's outcome.
    fn outcome_row(&self, point: &Point<'_>, outcome: &Outcome) -> Row {
        let mut run = self.run_row(Row::new(), outcome);
        if point.lpl_ms.is_some() {
            run.set("awake", outcome.awake);
            let (delivered, made) = (outcome.packets.delivered, outcome.packets.made);
            run.set_some("delivery", rows::share(delivered, made));
            if delivered > 0 {
                run.set("joules_per_packet", outcome.joules / delivered as f64);
            }
        }
        run
    }

    fn base_row(&self, site: &Site, point: &Point<'_>) -> Row {
        let mut row = Row::new()
            .with(SEED, site.seed)
            .with("strategy", point.strategy);
        match point.workload {
            // Whole rates as whole numbers, as files write them.
            Workload::Periodic { .. } if point.load.fract() == 0.0 => {
                row.set("offered", point.load as u64);
            }
            Workload::Periodic { .. } => row.set("offered", point.load),
            Workload::Events { burst, .. } => row.set("burst", u32::from(burst)),
        }
        row.set_some("sinks", point.sinks);
        row.set_some("routers", point.routers);
        if self.listen.len() > 1 {
            row.set("listen", point.listen);
        }
        // Whole intervals as whole numbers, as files write them.
        match point.lpl_ms {
            Some(ms) if ms.fract() == 0.0 => row.set("lpl_interval_ms", ms as u64),
            ms => row.set_some("lpl_interval_ms", ms),
        }
        row
    }
}
