//! Rows of these runs: `run`, `flow`, `node`, `time` and, over loads, `seed`. Definitions are those of
//! RCRT's figures (section 4). Tests: `tests.rs`.

use super::{Floor, Name, Point, Rcrt};
use crate::results::{columns, name_of, Column, Row, SEED};
use thalweg_simnet::rcrt::{FlowOutcome, Outcome};

/// The window in which goodput at a fixed load counts: the load has settled, and no flow has ended.
const WINDOW_S: (f64, f64) = (300.0, 1800.0);
/// Rates count from here on, until the first flow ends: what came before found the network's capacity.
const CONVERGED_S: f64 = 600.0;
/// IFRC's slow start takes so long: rates are steady after it.
const HALF_AN_HOUR_S: f64 = 1800.0;
/// A run of the paper's ends when each flow has so many packets (section 4.1).
const PACKETS: usize = 1000;
/// Changes of parents are counted over so long (figure 12: 38 minutes).
const FIGURE_12_S: f64 = 2280.0;
/// A fixed load is sustained at this share of it in the mean, and that one at the worst node.
const SUSTAINED: (f64, f64) = (0.97, 0.90);
/// Best effort's knee: the highest load of which so much is delivered in the mean.
const KNEE: f64 = 0.95;

/// Columns of a run.
pub(in crate::experiment) const RUN: &[Column] = columns! {
    drawn: Whole, "Floors drawn until one had such a tree.";
    depth: Whole, "Depth of its tree.";
    children: Whole, "Children of its base station.";
    largest_subtree: Whole, "Nodes of its largest subtree.";
    lasted_s: Number "s", "How long the run took.";
    air_frames: Whole, "Frames on the air.";
    frame_loss: Number, "Share of data frames over single links that did not arrive.";
    wrong: Whole, "Packets given out in wrong order, twice, or with other bytes.";
    delivered: Whole, "Packets delivered in order.";
    delivered_share: Number, "Share of all packets that was.";
    rate: Number "packet/s", "Rate assigned to a flow, in the mean over flows and time.";
    steady_rate: Number "packet/s", "The same after half an hour.";
    rate_swing: Number, "Largest deviation of that rate from its mean over time, over the mean.";
    goodput: Number "packet/s", "Goodput of a flow; of rows of runs the mean of flows.";
    goodput_least: Number "packet/s", "The least of flows.";
    goodput_most: Number "packet/s", "The most of flows.";
    goodput_spread: Number, "Their difference over the mean.";
    goodput_of_sinks: Number "packet/s", "Each sink's mean goodput, summed.";
    second_sink_unequal: Number, "Largest difference of rates of the second sink's flows, over their mean.";
    feedbacks: Whole, "Feedbacks sent.";
    feedbacks_per_packet: Number, "Feedbacks over delivered packets.";
    repaired: Number, "Share of a flow's packets that came first as an end-to-end retransmission, in the mean.";
    repaired_least: Number, "The least of flows.";
    repaired_most: Number, "The most of flows.";
    repaired_spread: Number, "Their difference over the mean.";
    repaired_few_share: Number, "Share of flows of which 5 % or less were repaired.";
    parent_changes: Number, "Changes of a node's parent; of rows of runs in 38 minutes, in the mean.";
    late_ended_s: Number "s", "When the last of the flows ended that joined late.";
    share_before: Number, "Rates over demands before those joined.";
    share_while: Number, "The same while they were there.";
    share_after: Number, "The same after them.";
};

/// Columns of loads, and of what they say together.
pub(in crate::experiment) const LOADS: &[Column] = columns! {
    received_least: Number "packet/s", "The least of flows.";
    received_most: Number "packet/s", "The most of flows.";
    received_spread: Number, "Their difference over the mean.";
    reliability: Number, "`received` over `offered`.";
    reliability_least: Number, "`received_least` over `offered`.";
    traffic: Number "packet/s", "Packets up and feedback down at best effort (figure 1).";
    decreased: Number "packet/s", "What RCRT makes of that rate (figure 1).";
    knee: Number "packet/s", "Highest load of which best effort delivers 95 %.";
    decreased_over_knee: Number, "The most of `decreased` over `knee`, where more than 5 % are lost.";
    sustainable: Number "packet/s", "Highest fixed load that is sustained.";
    sustainable_over_knee: Number, "`sustainable` over `knee`.";
    rcrt_over_sustainable: Number, "What RCRT delivers at loads beyond, over `sustainable`, in the mean.";
    rcrt_over_sustainable_least: Number, "The least of loads.";
    rcrt_over_sustainable_most: Number, "The most of loads.";
    rcrt_over_sustainable_spread: Number, "Their difference over the mean.";
    steady_over_sustainable: Number, "The same of `rcrt-steady`.";
    steady_over_sustainable_least: Number, "The least of loads.";
    steady_over_sustainable_most: Number, "The most of loads.";
    steady_over_sustainable_spread: Number, "Their difference over the mean.";
    collapsed_over_best_effort: Number, "What fixed rates with repairs deliver at loads beyond, over best effort.";
    collapsed_spread_over_best_effort: Number, "The same of the difference between flows.";
};

/// Mean, least and most.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    mean: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (!values.is_empty()).then(|| Self {
            mean,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
    fn set(row: &mut Row, name: &str, values: impl Iterator<Item = f64>) {
        if let Some(spread) = Self::of(values) {
            row.set(name, spread.mean);
            row.set(&format!("{name}_least"), spread.least);
            row.set(&format!("{name}_most"), spread.most);
            if spread.mean > 0.0 {
                let relative = (spread.most - spread.least) / spread.mean;
                row.set(&format!("{name}_spread"), relative);
            }
        }
    }
}

/// Reception at a fixed load of `offered` packets per second.
fn set_received(row: &mut Row, point: Point, offered: f64, o: &Outcome) {
    let flows = || o.flows.iter();
    let received = || flows().map(|f| f.rate_within(WINDOW_S));
    Spread::set(row, "received", received());
    if let Some(spread) = Spread::of(received()) {
        let p = spread.mean / offered;
        row.set("reliability", p);
        row.set("reliability_least", spread.least / offered);
        if point.transport == Name::BestEffort {
            // Figure 1: packets up and feedback down, and what M makes of the rate.
            row.set("traffic", offered * (2.0 - p) / p.max(1e-3));
            row.set("decreased", offered * p / (2.0 - p));
        }
    }
}

impl Rcrt {
    pub(super) fn all_rows(
        &self,
        seed: u64,
        floor: &Floor,
        points: &[Point],
        runs: &[Outcome],
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        for (point, outcome) in points.iter().zip(runs) {
            let base = base_row(seed, point);
            rows.push(self.run_row(&base, floor, *point, outcome));
            rows.extend(outcome.flows.iter().map(|f| flow_row(&base, floor, f)));
            rows.extend(self.node_rows(&base, floor, outcome));
            rows.extend(self.time_rows(&base, floor, outcome));
        }
        if !self.offered.is_empty() {
            let row = Row::new().with(SEED, seed).with("scope", "seed");
            rows.push(self.seed_row(row, points, runs));
        }
        rows
    }

    fn run_row(&self, base: &Row, floor: &Floor, point: Point, o: &Outcome) -> Row {
        let mut row = base.clone().with("scope", "run");
        row.set("drawn", floor.drawn);
        row.set("depth", floor.shape.depth);
        row.set("children", floor.shape.children);
        row.set("largest_subtree", floor.shape.largest);
        row.set("lasted_s", o.lasted);
        row.set("air_frames", o.air_frames);
        let (sent, lost) = o.frames;
        if sent > 0 {
            row.set("frame_loss", lost as f64 / sent as f64);
        }
        let flows = || o.flows.iter();
        row.set("wrong", flows().map(|f| f.wrong).sum::<u32>());
        if point.transport != Name::BestEffort {
            self.set_goodput(&mut row, point, o);
        }
        if let Some(offered) = point.offered {
            set_received(&mut row, point, offered, o);
        }
        let bases = self.bases_of(floor);
        let nodes = (0..o.parents.len()).filter(|n| !bases.contains(n));
        let in_38_min = FIGURE_12_S / o.lasted.max(1.0);
        let changes = nodes.map(|n| o.parent_changes(n) as f64 * in_38_min);
        row.set_some("parent_changes", Spread::of(changes).map(|s| s.mean));
        row
    }

    /// What flows with a rate delivered.
    fn set_goodput(&self, row: &mut Row, point: Point, o: &Outcome) {
        let flows = || o.flows.iter();
        let all: usize = flows().map(|f| f.flow.packets as usize).sum();
        let delivered: usize = flows().map(|f| f.delivered.len()).sum();
        if point.transport != Name::Ifrc {
            row.set("delivered_share", delivered as f64 / all.max(1) as f64);
        }
        row.set_some("rate", mean_rate(o, (0.0, thousand(o))));
        row.set_some("steady_rate", mean_rate(o, (HALF_AN_HOUR_S, o.lasted)));
        Spread::set(row, "goodput", flows().filter_map(FlowOutcome::goodput));
        let feedbacks: u32 = flows().map(|f| f.feedbacks).sum();
        row.set("feedbacks", feedbacks);
        row.set(
            "feedbacks_per_packet",
            f64::from(feedbacks) / delivered.max(1) as f64,
        );
        let shares: Vec<f64> = flows().filter_map(FlowOutcome::repaired_share).collect();
        Spread::set(row, "repaired", shares.iter().copied());
        let few = shares.iter().filter(|share| **share <= 0.05).count();
        row.set(
            "repaired_few_share",
            few as f64 / shares.len().max(1) as f64,
        );
        row.set_some("rate_swing", swing(o));
        self.set_phases(row, o);
        let goodputs = self.policies.iter().enumerate().filter_map(|(k, _)| {
            let of_sink = flows().filter(|f| usize::from(f.flow.sink) == k);
            Spread::of(of_sink.filter_map(FlowOutcome::goodput))
        });
        row.set("goodput_of_sinks", goodputs.map(|s| s.mean).sum::<f64>());
        let limited = flows().filter(|f| f.flow.sink == 1);
        row.set_some("second_sink_unequal", unequal(limited, o.lasted));
    }

    /// Rates over demands before, while and after flows are there that join late.
    fn set_phases(&self, row: &mut Row, o: &Outcome) {
        let joins = self.flows.iter().map(|g| g.at_s).fold(0.0, f64::max);
        let late = |f: &&FlowOutcome| f.flow.at.as_secs_f64() >= joins;
        let ends = |late: &mut dyn Iterator<Item = &FlowOutcome>| -> (f64, f64) {
            let ends: Vec<f64> = late.map(|f| f.ended.unwrap_or(o.lasted)).collect();
            let first = ends.iter().copied().fold(o.lasted, f64::min);
            (first, ends.iter().copied().fold(0.0, f64::max))
        };
        if joins <= 0.0 {
            return;
        }
        let (first_late, last_late) = ends(&mut o.flows.iter().filter(late));
        let (first_early, _) = ends(&mut o.flows.iter().filter(|f| !late(f)));
        row.set("late_ended_s", last_late);
        let share = |from: f64, to: f64| {
            let seconds = (0..(to - from).max(0.0) as u32).map(|k| from + f64::from(k));
            let shares = seconds.filter_map(|at| {
                let active = o.flows.iter().filter(|f| f.is_active(at));
                let shares = active.filter_map(|f| Some(f.rate_at(at)? / f.flow.demand));
                Spread::of(shares)
            });
            Spread::of(shares.map(|s| s.mean)).map(|s| s.mean)
        };
        row.set_some("share_before", share(0.0, joins));
        row.set_some("share_while", share(joins, first_late));
        row.set_some("share_after", share(last_late, first_early));
    }

    fn node_rows(&self, base: &Row, floor: &Floor, o: &Outcome) -> Vec<Row> {
        let bases = self.bases_of(floor);
        let row = |n: usize| {
            let mut row = base
                .clone()
                .with("scope", "node")
                .with("node", id(floor, n));
            row.set("parent_changes", o.parent_changes(n));
            row.set_some("hops", o.depth(&bases, n, o.lasted));
            row
        };
        let nodes = 0..o.parents.len();
        nodes.filter(|n| !bases.contains(n)).map(row).collect()
    }

    /// Rates and packets of each flow as they went on.
    fn time_rows(&self, base: &Row, floor: &Floor, o: &Outcome) -> Vec<Row> {
        if self.sample_s == 0 {
            return Vec::new();
        }
        let step = f64::from(self.sample_s);
        let mut rows = Vec::new();
        for k in 0..(o.lasted / step) as u32 {
            let at = f64::from(k) * step;
            for flow in o.flows.iter().filter(|f| f.is_active(at)) {
                let mut row = base.clone().with("scope", "time").with("t_s", at);
                row.set("node", id(floor, flow.flow.node));
                row.set("sink", u32::from(flow.flow.sink));
                row.set("demand", flow.flow.demand);
                row.set_some("rate", flow.rate_at(at));
                let delivered = flow.delivered.partition_point(|then| *then <= at);
                row.set("delivered", delivered);
                row.set("received", flow.rate_within((at, at + step)));
                rows.push(row);
            }
        }
        rows
    }

    /// What loads say together: best effort's knee, the sustainable load, RCRT's share of it.
    fn seed_row(&self, mut row: Row, points: &[Point], runs: &[Outcome]) -> Row {
        let of = |name: Name| -> Vec<(f64, Spread)> {
            let runs = points.iter().zip(runs).filter(|(p, _)| p.transport == name);
            let spread = |(p, o): (&Point, &Outcome)| {
                let received = o.flows.iter().map(|f| f.rate_within(WINDOW_S));
                Some((p.offered?, Spread::of(received)?))
            };
            runs.filter_map(spread).collect()
        };
        let (best_effort, reliable) = (of(Name::BestEffort), of(Name::Reliable));
        let knee = crossing(&best_effort, |load, s| s.mean / load - KNEE);
        row.set_some("knee", knee);
        if let Some(knee) = knee {
            // Figure 1: wherever more than 5 % are lost.
            let lossy = best_effort.iter().filter(|(load, s)| s.mean / load < 0.95);
            let decreased = lossy.map(|(load, s)| {
                let p = s.mean / load;
                load * p / (2.0 - p) / knee
            });
            row.set_some("decreased_over_knee", Spread::of(decreased).map(|s| s.most));
        }
        let sustained =
            |load: f64, s: &Spread| (s.mean / load - SUSTAINED.0).min(s.least / load - SUSTAINED.1);
        let sustainable = crossing(&reliable, sustained);
        row.set_some("sustainable", sustainable);
        if let (Some(knee), Some(sustainable)) = (knee, sustainable) {
            row.set("sustainable_over_knee", sustainable / knee);
        }
        if let Some(limit) = sustainable {
            for (name, transport) in [("rcrt", Name::Rcrt), ("steady", Name::RcrtSteady)] {
                let beyond = of(transport).into_iter().filter(|(load, _)| *load >= limit);
                let shares = beyond.map(|(_, s)| s.mean / limit);
                Spread::set(&mut row, &format!("{name}_over_sustainable"), shares);
            }
            // Beyond it, repairs at fixed rates leave less than best effort.
            let pairs = best_effort.iter().zip(&reliable);
            let beyond = pairs.filter(|((load, _), _)| *load > limit + 0.15);
            let (mut less, mut wider, mut count) = (0.0, 0.0, 0.0);
            for ((_, b), (_, r)) in beyond {
                less += r.mean / b.mean;
                wider += (r.most - r.least) / (b.most - b.least).max(1e-9);
                count += 1.0;
            }
            if count > 0.0 {
                row.set("collapsed_over_best_effort", less / count);
                row.set("collapsed_spread_over_best_effort", wider / count);
            }
        }
        row
    }

    pub(super) fn bases_of(&self, floor: &Floor) -> Vec<usize> {
        let testbed = &floor.site.testbed;
        let of_id = |id: &u16| testbed.index_of(thalweg_units::NodeId::new(*id).ok()?);
        match self.bases.as_slice() {
            [] => vec![testbed.sink_index()],
            ids => ids.iter().filter_map(of_id).collect(),
        }
    }
}

/// The load up to which `over` is not negative, between two loads by interpolation; the last where it
/// never is.
fn crossing(loads: &[(f64, Spread)], over: impl Fn(f64, &Spread) -> f64) -> Option<f64> {
    let mut last: Option<(f64, f64)> = None;
    for (load, spread) in loads {
        let now = over(*load, spread);
        match last {
            _ if now >= 0.0 => {}
            None => return None,
            Some((before, was)) => return Some(before + (load - before) * was / (was - now)),
        }
        last = Some((*load, now));
    }
    last.map(|(load, _)| load)
}

/// Mean of flows' rates over time, from second `from` to `until`, or until the first of them has ended.
fn mean_rate(o: &Outcome, (from, until): (f64, f64)) -> Option<f64> {
    let ends = o.flows.iter().filter_map(|f| f.ended);
    let until = ends.fold(o.lasted.min(until), f64::min);
    let seconds = (0..(until - from).max(0.0) as u32).map(|k| from + f64::from(k));
    let mean_at = |at: f64| Spread::of(o.flows.iter().filter_map(|f| f.rate_at(at)));
    let rates = seconds.filter_map(mean_at);
    Spread::of(rates.map(|s| s.mean)).map(|s| s.mean)
}

/// When each flow had the packets with which the paper ends a run; the run's end where one never had.
fn thousand(o: &Outcome) -> f64 {
    let flows = o.flows.iter();
    let times = flows.map(|f| f.delivered.get(PACKETS - 1).copied().unwrap_or(o.lasted));
    times.fold(0.0, f64::max)
}

/// Largest deviation of the assigned rate from its mean over time, over the mean: from convergence to the
/// first flow's end.
fn swing(o: &Outcome) -> Option<f64> {
    let first_end = o
        .flows
        .iter()
        .filter_map(|f| f.ended)
        .fold(o.lasted, f64::min);
    let seconds = (first_end - CONVERGED_S) as i64;
    let mean_at = |at: f64| Spread::of(o.flows.iter().filter_map(|f| f.rate_at(at)));
    let rates = (0..seconds).filter_map(|k| mean_at(CONVERGED_S + k as f64));
    let spread = Spread::of(rates.map(|s| s.mean))?;
    Some((spread.most - spread.mean).max(spread.mean - spread.least) / spread.mean)
}

/// How unequal the rates of flows are at most, as the difference over the mean, from the first minute on until one
/// of them has ended.
fn unequal<'a>(flows: impl Iterator<Item = &'a FlowOutcome>, lasted: f64) -> Option<f64> {
    let flows: Vec<&FlowOutcome> = flows.collect();
    let until = flows.iter().filter_map(|f| f.ended).fold(lasted, f64::min);
    let seconds = (60..until as u32).map(f64::from);
    let spread = seconds.filter_map(|at| Spread::of(flows.iter().filter_map(|f| f.rate_at(at))));
    Spread::of(spread.map(|s| (s.most - s.least) / s.mean)).map(|s| s.most)
}

/// What all rows of `point` say.
pub(super) fn base_row(seed: u64, point: &Point) -> Row {
    let mut base = Row::new().with(SEED, seed);
    base.set("transport", name_of(&point.transport));
    if let Some(acks) = &point.acks {
        let (transport, acks) = (name_of(&point.transport), name_of(acks));
        base.set("line", format!("{transport}, {acks} acknowledgements"));
        base.set("acks", acks);
    }
    base.set_some("offered", point.offered);
    base.set_some("reading", point.reading.as_ref().map(name_of));
    base
}

fn flow_row(base: &Row, floor: &Floor, f: &FlowOutcome) -> Row {
    let mut row = base.clone().with("scope", "flow");
    row.set("node", id(floor, f.flow.node));
    row.set("sink", u32::from(f.flow.sink));
    row.set("demand", f.flow.demand);
    row.set("delivered", f.delivered.len());
    row.set("feedbacks", f.feedbacks);
    row.set_some("goodput", f.goodput());
    row.set_some("opened_s", f.opened);
    row.set_some("ended_s", f.ended);
    row.set_some("repaired_share", f.repaired_share());
    row
}

pub(super) fn id(floor: &Floor, n: usize) -> u32 {
    floor
        .site
        .testbed
        .id_of(n)
        .map_or(0, |id| u32::from(id.get()))
}
