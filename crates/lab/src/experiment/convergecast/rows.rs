//! A convergecast run's rows: the thesis' metrics (table 3.1) of the run, its nodes, its coverages
//! (table 5.2) and its links. Tests: `experiment/tests.rs`.

use super::{Convergecast, Row, Site};
use crate::convergecast::{Link, Outcome};
use crate::results::median;
use thalweg_medium::Cause;
use thalweg_protocols::stack::Drop;

/// What can befall frames that contend for one channel.
const LOSSES: [Cause; 5] = [
    Cause::Hidden,
    Cause::Collision,
    Cause::NoiseFloor,
    Cause::Weak,
    Cause::Deaf,
];

/// Table 5.2's shares of nodes, percent.
const COVERAGES: [u32; 7] = [100, 95, 90, 75, 50, 25, 10];

impl Convergecast {
    pub(super) fn run_row(&self, mut row: Row, o: &Outcome) -> Row {
        row.set("scope", "run");
        let rate = |packets: u64| packets as f64 / self.duration_s;
        let mut delivered: Vec<f64> = o.sources().map(|n| rate(o.nodes[n].delivered)).collect();
        delivered.sort_by(f64::total_cmp);
        row.set_some("efficiency", o.efficiency());
        row.set_some("fairness", o.fairness());
        row.set_some("channel_loss", o.channel_loss());
        row.set("throughput", rate(o.packets.delivered));
        row.set_some("median_throughput", median(&delivered));
        let mut latencies = o.latencies.clone();
        latencies.sort_by(f64::total_cmp);
        row.set_some("median_latency_s", median(&latencies));
        let received: u64 = o.sources().map(|n| o.nodes[n].received).sum();
        let at_sinks: u64 = o.sinks.iter().map(|n| o.nodes[*n].received).sum();
        let overflowed = o.dropped.get(&Drop::Buffer).copied().unwrap_or(0);
        if received + at_sinks > 0 {
            let share = overflowed as f64 / (received + at_sinks) as f64;
            row.set("buffer_drops", share);
        }
        for loss in LOSSES {
            row.set(&format!("lost_{}", loss.name()), o.lost_by(loss));
            if o.sent > 0 {
                let share = o.lost_by(loss) as f64 / o.sent as f64;
                row.set(&format!("share_{}", loss.name()), share);
            }
        }
        row.set("sent", o.sent);
        row.set("air_frames", o.air_frames);
        row.set("made", o.packets.made);
        row.set("skipped", o.packets.skipped);
        row.set("delivered", o.packets.delivered);
        let taken: u64 = o.nodes.iter().map(|n| n.taken).sum();
        if taken > 0 {
            let share = 1.0 - o.packets.delivered as f64 / taken as f64;
            row.set("end_to_end_drop", share);
        }
        for (why, name) in [
            (Drop::Buffer, "dropped_buffer"),
            (Drop::Retries, "dropped_retries"),
            (Drop::ChannelBusy, "dropped_channel_busy"),
        ] {
            row.set(name, o.packets.dropped.get(&why).copied().unwrap_or(0));
        }
        row.set("waiting", o.packets.waiting + o.packets.unsent);
        let bits = o.packets.delivered as f64 * 8.0 * f64::from(self.frame_bytes);
        row.set("bits_per_joule", bits / o.joules.max(1e-9));
        let depths: Vec<f64> = o.depth.iter().flatten().map(|d| f64::from(*d)).collect();
        let routed = o.sources().filter(|n| o.depth[*n].is_some()).count();
        row.set("routed", routed);
        if routed > 0 {
            row.set("mean_hops", depths.iter().sum::<f64>() / routed as f64);
        }
        row.set("max_hops", depths.iter().copied().fold(0.0, f64::max));
        if self.offered.is_empty() {
            return row;
        }
        let starved = o.sources().filter(|n| {
            let node = &o.nodes[*n];
            node.delivered as f64 <= 0.1 * node.made as f64
        });
        let sources = o.sources().count().max(1) as f64;
        row.set("starved_share", starved.count() as f64 / sources);
        row
    }

    pub(super) fn node_rows(&self, base: &Row, site: &Site, o: &Outcome) -> Vec<Row> {
        let row_of = |n: usize| {
            let node = &o.nodes[n];
            let id = site.testbed.id_of(n).map_or(0, |id| id.get());
            let mut row = base
                .clone()
                .with("scope", "node")
                .with("node", u32::from(id));
            row.set("throughput", node.delivered as f64 / self.duration_s);
            if node.made > 0 {
                row.set("received_share", node.delivered as f64 / node.made as f64);
            }
            row.set_some("imbalance", o.imbalance(n));
            row.set_some("hops", o.depth[n]);
            row.set("sent", node.sent);
            row.set("received", node.received);
            row.set("overflowed", node.overflowed);
            row
        };
        o.sources().map(row_of).collect()
    }

    /// The rate that so many percent of the nodes reach at least (table 5.2).
    pub(super) fn coverage_rows(&self, base: &Row, o: &Outcome) -> Vec<Row> {
        let mut rates: Vec<f64> = o
            .sources()
            .map(|n| o.nodes[n].delivered as f64 / self.duration_s)
            .collect();
        rates.sort_by(|a, b| b.total_cmp(a));
        let rows = COVERAGES.iter().filter_map(|coverage| {
            let count = (*coverage as usize * rates.len()).div_ceil(100).max(1);
            let rate = rates.get(count - 1)?;
            let row = base.clone().with("scope", "coverage");
            Some(row.with("coverage", *coverage).with("rate", *rate))
        });
        rows.collect()
    }
}

pub(super) fn edge_rows(base: &Row, site: &Site, o: &Outcome) -> Vec<Row> {
    let place = |n: usize| {
        let ear = site.environment.ears.get(n)?;
        ear.placement.map(|p| (p.position.x_m, p.position.y_m))
    };
    let id = |n: usize| site.testbed.id_of(n).map_or(0, |id| id.get());
    let row_of = |(&(from, to), link): (&(usize, usize), &Link)| {
        let ((x1, y1), (x2, y2)) = (place(from)?, place(to)?);
        let mut row = base.clone().with("scope", "edge");
        row.set("from", u32::from(id(from)));
        row.set("to", u32::from(id(to)));
        row.set("packets", link.received);
        row.set("sent", link.sent);
        for (name, value) in [("from_x", x1), ("from_y", y1), ("to_x", x2), ("to_y", y2)] {
            row.set(name, value);
        }
        row.set("to_is_sink", u32::from(o.sinks.contains(&to)));
        Some(row)
    };
    o.links.iter().filter_map(row_of).collect()
}
