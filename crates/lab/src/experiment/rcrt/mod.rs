//! `kind = "rcrt"`: many sources that send to one sink or several, with RCRT and with what it is compared
//! to, over loads or groups of flows (RCRT, section 4).
//!
//! Owns the keys of the kind; its rows are in `rows.rs`. A seed draws floor, clocks, phases and which nodes
//! belong to which group; every transport meets the same. Tests: `tests.rs`.

mod outage;
mod reading;
mod rows;
#[cfg(test)]
mod tests;
mod transport;

use super::context::{in_order, RunContext};
use super::keys::{choices, keys, table};
use super::kind::{expect, or_none, pairs, with_seed, within, Captures, Kind};
use super::sites::Sites;
use super::{ExperimentError, Result};
use crate::results::{columns, Column, Row};
use outage::{Off, Outage};
use reading::Reading;
use serde::Deserialize;
use thalweg_medium::random::{derive, stream, uniform};
use thalweg_protocols::csma;
use thalweg_protocols::ifrc;
use thalweg_protocols::rcrt::sink::policy;
use thalweg_protocols::rcrt::source;
use thalweg_protocols::stack::{Queue, MAX_QUEUE};
use thalweg_protocols::tree::Routing;
use thalweg_sim::Capture;
use thalweg_simnet::convergecast::RunError;
use thalweg_simnet::rcrt::{
    run, Flow, Happens, Outcome, Pacing, Settle, Setup, Shape, Tree, Wanted,
};
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Duration, NodeId};
use transport::{probing, transport, Name, BACK_PRESSURE};

keys! {
    "rcrt",
    /// Many sources that send to sinks at once, with RCRT and with what it is compared to.
    pub struct Rcrt {
        /// Testbed, by name or file.
        pub testbed: String;
        /// `best-effort`, `reliable` (RCRT at fixed rates), `rcrt`, `baseline` (RCRT, fair, one flow of 1000 packets of
        /// each node to the testbed's sink), `ifrc` (sources always have a packet; on the best tree by ETX, which stays;
        /// a queue of 64; software acknowledgements; until `limit_s`): one run each.
        /// Beyond the paper: `rcrt-backoff` (a stalled source probes ever less often), `rcrt-fusion` (above Fusion's
        /// back-pressure and priority, with software acknowledgements), `rcrt-spare` (who meets no queue may send more
        /// than its share), `rcrt-steady` (a decrease goes by what arrives).
        pub transports: Vec<Name> = ["rcrt"];
        /// Policy of each sink, by name.
        pub policies: Vec<String> = ["fair"];
        /// Readings of what the paper leaves open, one run each; none for `taken`: `whole-lists`, `small-gain`, `slow-rtt`,
        /// `round-trips-alone`, `three-packets`, `timer`, `small-floor`, `every-loss`, `both`,
        /// `rate-leaves` (`docs/rcrt.md`), and for `rcrt-steady` `gaps-congest`.
        pub readings: Vec<Reading> = [];
        /// Who acknowledges frames between neighbours, one run each: `hardware`, `software`; none for `hardware`. IFRC's nodes
        /// hear all frames, which excludes the hardware's.
        pub acks: Vec<Acks> = [];
        /// Base stations by node number; none for the testbed's sink. Every sink receives from all.
        pub bases: Vec<u16> = [];
        /// Demands in packets per second that every flow has instead of its own, one run each.
        pub offered: Vec<f64> = [], 0.01..=100;
        /// Groups of flows. Nodes are drawn by the seed, groups of one name have the same.
        pub flows: Vec<Group> = [{}];
        /// How many nodes send; none for all.
        pub sources: Option<usize>;
        /// What happens.
        pub incidents: Vec<Happens> = [];
        /// Runs each point again with one relay off: of those that at most half of the flows
        /// cross the one that most cross. Rows of `scope = "outage"` say what flows deliver that do not cross it
        /// (`apart`) and that do (`crossing`) before, while and in four times as long after, and how much of what they
        /// deliver without the outage (`kept`).
        pub outage: Option<Outage>;
        /// Trees that are taken: floors are drawn until theirs fits. None for any.
        pub tree: Option<Wanted>;
        /// Seconds for routes to settle.
        pub settle_s: u32 = 600, 1..=36_000;
        /// Seconds after which a run ends at the latest.
        pub limit_s: u32 = 7200, 1..=360_000;
        /// Packets that a queue holds, and one more of the node's own.
        pub queue: u8 = 10, 1..=MAX_QUEUE - 1;
        /// Bytes of a packet that its application gets.
        pub payload: u8 = 64, 1..=80;
        /// Packets that a source's buffer holds (1024 are 64 KB of flash).
        pub buffer: u16 = 1024, 1..=32_000;
        /// Seconds between two rows of `scope = "time"`; 0 for none.
        pub sample_s: u32 = 0, 0..=3600;
    }
}

/// Who acknowledges frames between neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Acks {
    Hardware,
    Software,
}

/// Least of packets in a round trip that RCRT's authors took.
const SMALL_FLOOR: f64 = 0.1;

choices!(Name, Reading, Acks);

table! {
    /// Flows of one demand.
    pub struct Group {
        /// Their name.
        pub name: String = "all";
        /// How many nodes; none for all that are left.
        pub nodes: Option<usize>;
        /// Packets per second that each asks for.
        pub demand: f64 = 1, 0.01..=100;
        /// Packets of each.
        pub packets: u32 = 1000, 1..=60_000;
        /// Second at which they begin.
        pub at_s: f64 = 0;
        /// Number of their sink, from 0 on.
        pub sink: u8 = 0;
    }
}

/// The flows of `baseline`.
fn baseline() -> Group {
    Group {
        name: "all".to_owned(),
        nodes: None,
        demand: 1.0,
        packets: 1000,
        at_s: 0.0,
        sink: 0,
    }
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    transport: Name,
    offered: Option<f64>,
    reading: Option<Reading>,
    acks: Option<Acks>,
    off: Option<Off>,
}

impl Point {
    /// What is run of it: hardware acknowledges only where nodes do not hear frames to others.
    fn is_possible(&self) -> bool {
        !self.transport.overhears() || self.acks != Some(Acks::Hardware)
    }
    fn mac(&self, site: &Site) -> Option<csma::Config> {
        let hardware = csma::Config::TINYOS_CC2420;
        match (self.transport, self.acks) {
            (Name::Ifrc | Name::RcrtFusion, _) | (_, Some(Acks::Software)) => {
                hardware.with_software_acks(&site.board.timing)
            }
            (_, Some(Acks::Hardware) | None) => Some(hardware),
        }
    }
}

impl Kind for Rcrt {
    fn columns() -> Vec<Column> {
        let own = columns! {
            transport: Text, "Transport.";
            acks: Text, "Who acknowledges frames, where the experiment says so.";
            line: Text, "Transport and who acknowledges, where the experiment says so.";
            offered: Number "packet/s", "Demand of each flow, where the experiment says one.";
            reading: Text, "Reading of what the paper leaves open, where the experiment says so.";
            scope: Text, "What the row is of: `run`, `flow`, `node`, `time`, `outage`, or the `seed` with all its loads.";
            node: Whole, "Node.";
            hops: Whole, "Hops of its route at the end.";
            t_s: Number "s", "When the row was taken, of rows over time.";
            sink: Whole, "Number of the flow's sink, from 0 on.";
            demand: Number "packet/s", "What the flow asks for.";
            received: Number "packet/s", "What the sink gets of a flow, in the mean.";
            opened_s: Number "s", "When the sink accepted the flow.";
            ended_s: Number "s", "When it was closed with everything delivered.";
            repaired_share: Number, "Share of its packets that came first as an end-to-end retransmission.";
        };
        with_seed(&[rows::RUN, rows::LOADS, outage::COLUMNS, own])
    }

    fn check(&self) -> Result<(), String> {
        let exist = self.policies.iter().all(|p| policy::named(p).is_some());
        let wanted = format!("any of {}", policy::NAMES.join(", "));
        expect("policies", exist, &wanted)?;
        within("policies", &[self.policies.len()], 1..=4)?;
        let sinks: Vec<usize> = self.flows.iter().map(|g| usize::from(g.sink)).collect();
        within("flows.sink", &sinks, 0..=self.policies.len() - 1)?;
        let times = self.incidents.iter().all(|i| i.at().is_some());
        expect("incidents.at", times, "seconds, as \"500 s\"")
    }

    fn parts(&self) -> u64 {
        (self.points().len() * (1 + usize::from(self.outage.is_some()))) as u64
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let floor = self.floor(seed, |seed| context.site(&self.testbed, seed))?;
        let points = self.points();
        let runs = in_order(&points, |point| {
            context.part(|| self.outcome(&floor, *point, None))
        })?;
        let mut rows = self.all_rows(seed, &floor, &points, &runs);
        if let Some(outage) = self.outage {
            rows.extend(self.outage_rows((seed, outage), &floor, (&points, &runs), context)?);
        }
        Ok(rows)
    }

    fn lossy_frame_bytes(&self) -> Option<usize> {
        None
    }

    fn captures(&self) -> Option<&dyn Captures> {
        Some(self)
    }
}

impl Captures for Rcrt {
    fn testbed(&self) -> &str {
        &self.testbed
    }
    fn capture(&self, seed: u64, sites: &Sites, capture: Box<dyn Capture>) -> Result<()> {
        let floor = self.floor(seed, |seed| sites.site(&self.testbed, seed))?;
        match self.points().first() {
            Some(point) => self.outcome(&floor, *point, Some(capture)).map(|_| ()),
            None => Ok(()),
        }
    }
}

/// IFRC's motes draw their backoffs from windows so many times TinyOS's (the release of its authors).
const IFRC_BACKOFFS: u16 = 3;
/// The tree that IFRC's nodes keep: that of the fewest expected transmissions, found without load.
const GOOD_TREE: Routing = Routing::Etx {
    interval: Duration::from_secs(10),
    frame_bytes: 100,
};
/// Floors that are drawn before none is found.
const MOST_DRAWN: u64 = 400;

/// A floor that was taken.
struct Floor {
    site: Site,
    /// How many were drawn.
    drawn: u64,
    shape: Shape,
}

impl Rcrt {
    fn points(&self) -> Vec<Point> {
        let loads = pairs(&or_none(&self.offered), &or_none(&self.readings));
        let loads = pairs(&or_none(&self.acks), &loads);
        let point = |(transport, (acks, (offered, reading)))| Point {
            transport,
            offered,
            reading,
            acks,
            off: None,
        };
        let points = pairs(&self.transports, &loads);
        let points = points.into_iter().map(point);
        points.filter(Point::is_possible).collect()
    }

    /// The first floor that `seed` draws with a tree as it is wanted.
    fn floor(&self, seed: u64, site: impl Fn(u64) -> Result<Site>) -> Result<Floor> {
        for drawn in 1..=MOST_DRAWN {
            let site = match (&self.tree, drawn) {
                (None, _) => site(seed)?,
                (Some(_), k) => site(derive(seed, "floor", &[k]))?,
            };
            let point = Point {
                transport: Name::Baseline,
                offered: None,
                reading: None,
                acks: None,
                off: None,
            };
            let setup = self.setup(&site, point)?;
            let shape = Shape::unloaded(&site, &setup, run_seed(&site));
            let shape = shape.map_err(|error| failed(&site, error))?;
            if self.tree.is_none_or(|wanted| wanted.takes(&shape)) {
                let floor = Floor { site, drawn, shape };
                return Ok(floor);
            }
        }
        let site = site(seed)?;
        let why = format!("none of {MOST_DRAWN} floors drawn has a tree as `tree` wants it");
        Err(ExperimentError::unfit(&site, why))
    }

    fn setup(&self, site: &Site, point: Point) -> Result<Setup> {
        let node = |id: u16| {
            let found = NodeId::new(id).ok();
            let found = found.and_then(|id| site.testbed.index_of(id));
            found.ok_or_else(|| ExperimentError::unfit(site, format!("has no node {id}")))
        };
        let bases: Vec<usize> = match self.bases.as_slice() {
            [] => vec![site.testbed.sink_index()],
            _ if point.transport == Name::Baseline => vec![site.testbed.sink_index()],
            ids => ids.iter().map(|id| node(*id)).collect::<Result<_>>()?,
        };
        let (policies, groups) = match point.transport {
            Name::Baseline => (vec!["fair".to_owned()], vec![baseline()]),
            _ => (self.policies.clone(), self.flows.clone()),
        };
        let incidents = self.incidents.iter().map(|happens| {
            let at = happens.at().unwrap_or(Duration::ZERO);
            Ok((at, node(happens.node)?, happens.what))
        });
        let off = point.off.iter().flat_map(Off::incidents).map(Ok);
        let mac = point.mac(site).unwrap_or(csma::Config::TINYOS_CC2420);
        let is_ifrc = point.transport == Name::Ifrc;
        Ok(Setup {
            mac: match is_ifrc {
                true => mac.with_longer_backoffs(IFRC_BACKOFFS),
                false => mac,
            },
            base_mac: mac,
            routing: if is_ifrc {
                GOOD_TREE
            } else {
                Routing::MULTI_HOP_LQI
            },
            tree: if is_ifrc { Tree::Static } else { Tree::Dynamic },
            queue: match is_ifrc {
                true => Queue::of(ifrc::QUEUE),
                false => Queue {
                    packets: self.queue,
                    own: 1,
                },
            },
            power: None,
            channel: site.testbed.channels.iter().last().unwrap_or(Channel::LAST),
            flows: self.flows_of(site, &bases, &groups, point.offered),
            bases,
            transport: transport(point, policies),
            source: source::Config {
                probing: probing(point.transport),
                ..source::Config::PAPER
            },
            payload_bytes: self.payload,
            buffer: self.buffer,
            settle: Settle::For(Duration::from_secs(u64::from(self.settle_s))),
            limit: Duration::from_secs(u64::from(self.limit_s)),
            incidents: incidents.chain(off).collect::<Result<_>>()?,
            sealed: None,
        })
    }

    /// Nodes of each group, in an order that the seed draws; groups of one name have the same nodes.
    fn flows_of(
        &self,
        site: &Site,
        bases: &[usize],
        groups: &[Group],
        offered: Option<f64>,
    ) -> Vec<Flow> {
        let nodes = site.testbed.len();
        let mut rng = stream(site.seed, "rcrt", &[]);
        let mut order: Vec<usize> = (0..nodes).filter(|n| !bases.contains(n)).collect();
        for k in (1..order.len()).rev() {
            order.swap(k, (uniform(&mut rng) * (k + 1) as f64) as usize);
        }
        order.truncate(self.sources.unwrap_or(nodes));
        let mut left = order.as_slice();
        let mut drawn: Vec<(&str, &[usize])> = Vec::new();
        let mut flows = Vec::new();
        for group in groups {
            let of_name = drawn.iter().find(|(name, _)| *name == group.name);
            let members = match of_name {
                Some((_, members)) => members,
                None => {
                    let (members, rest) =
                        left.split_at(group.nodes.unwrap_or(left.len()).min(left.len()));
                    left = rest;
                    drawn.push((group.name.as_str(), members));
                    members
                }
            };
            flows.extend(members.iter().map(|node| Flow {
                node: *node,
                sink: group.sink,
                demand: offered.unwrap_or(group.demand),
                packets: group.packets,
                at: Duration::from_secs_f64(group.at_s),
            }));
        }
        flows
    }

    fn outcome(
        &self,
        floor: &Floor,
        point: Point,
        capture: Option<Box<dyn Capture>>,
    ) -> Result<Outcome> {
        let site = &floor.site;
        let setup = self.setup(site, point)?;
        let seed = run_seed(site);
        let pacing = match point.transport {
            Name::Ifrc => Pacing::Ifrc,
            Name::RcrtSpare => Pacing::Notes,
            Name::RcrtFusion => Pacing::Fusion(BACK_PRESSURE),
            _ => Pacing::Open,
        };
        run(site, &setup, pacing, seed, capture).map_err(|error| failed(site, error))
    }
}

fn run_seed(site: &Site) -> u64 {
    derive(site.seed, "rcrt run", &[])
}

fn failed(site: &Site, error: RunError) -> ExperimentError {
    match error {
        RunError::Sim(error) => ExperimentError::Sim(error),
        RunError::Network(error) => ExperimentError::Network(error),
        RunError::NoLpl(_) | RunError::Board(_) => ExperimentError::unfit(site, error.to_string()),
    }
}
