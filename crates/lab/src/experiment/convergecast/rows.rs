//! A convergecast run's rows: the thesis' metrics (table 3.1) of the run, its nodes, its coverages
//! (table 5.2) and its links. Tests: `experiment/tests.rs`.

use super::{Convergecast, Row, Site};
use crate::results::{columns, median, Column};
use thalweg_medium::Cause;
use thalweg_protocols::stack::Drop;
use thalweg_simnet::convergecast::{Link, Outcome};

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

/// Columns of a run.
pub(in crate::experiment) const RUN: &[Column] = columns! {
    efficiency: Number, "Hops of packets that arrived over transmissions (equation 3.1).";
    fairness: Number, "Fairness over the sources' delivered packets (equation 3.3).";
    channel_loss: Number, "Share of data frames that did not arrive.";
    throughput: Number "packet/s", "Packets that reached a sink; of rows of nodes, their own.";
    median_throughput: Number "packet/s", "Median of the sources'.";
    median_latency_s: Number "s", "Median time from reading to sink.";
    buffer_drops: Number, "Receptions that found a queue full, as a share of all.";
    sent: Whole, "Data frames sent over single links.";
    air_frames: Whole, "Frames on the air, all of the run.";
    made: Whole, "Packets that were made.";
    skipped: Whole, "Packets that applications gave up for want of room.";
    delivered: Whole, "Packets that reached a sink.";
    end_to_end_drop: Number, "Share of the packets taken that did not reach a sink.";
    dropped_buffer: Whole, "Packets dropped since a queue was full.";
    dropped_retries: Whole, "Packets dropped after the last retry.";
    dropped_channel_busy: Whole, "Packets dropped since the channel was never clear.";
    waiting: Whole, "Packets that still wait at the end.";
    bits_per_joule: Number "bit/J", "Bits of delivered frames over the energy of all nodes.";
    routed: Whole, "Sources that have a route at the end.";
    mean_hops: Number, "Mean hops of routes at the end.";
    max_hops: Number, "Most hops of them.";
    sink_children: Whole, "Nodes one hop from a sink.";
    starved_share: Number, "Share of sources of whose packets a tenth or less arrived.";
    lost_hidden: Whole, "Frames lost to a sender that did not hear theirs.";
    lost_collision: Whole, "Frames lost to one that did.";
    lost_noise_floor: Whole, "Frames lost to many senders together, none of which was enough.";
    lost_weak_link: Whole, "Frames lost on weak links.";
    lost_deaf: Whole, "Frames lost since the receiver did not listen.";
    share_hidden: Number, "`lost_hidden` over `sent`.";
    share_collision: Number, "`lost_collision` over `sent`.";
    share_noise_floor: Number, "`lost_noise_floor` over `sent`.";
    share_weak_link: Number, "`lost_weak_link` over `sent`.";
    share_deaf: Number, "`lost_deaf` over `sent`.";
};

/// Columns of nodes, coverages and links.
pub(in crate::experiment) const NODE_AND_EDGE: &[Column] = columns! {
    node: Whole, "Node, of rows of nodes.";
    received: Whole, "Packets that came in over the air, each once.";
    overflowed: Whole, "Packets that it dropped for want of room.";
    received_share: Number, "Share of its packets that reached a sink.";
    imbalance: Number, "Packets received over those that the next hop received of it (equation 3.2).";
    hops: Whole, "Hops of its route at the end.";
    coverage: Whole "%", "Share of the nodes, of rows of coverages.";
    rate: Number "packet/s", "Rate that so many reach at least.";
    from: Whole, "Node that sends, of rows of links.";
    to: Whole, "Node that receives.";
    from_x: Number "m", "Where the sender is.";
    from_y: Number "m", "The same.";
    to_x: Number "m", "Where the receiver is.";
    to_y: Number "m", "The same.";
    packets: Whole, "Packets received over the link, each once.";
    to_is_sink: YesNo, "Whether the receiver is a sink.";
};

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
        row.set_some("buffer_drops", share(overflowed, received + at_sinks));
        for loss in LOSSES {
            row.set(&format!("lost_{}", loss.name()), o.lost_by(loss));
            let lost = share(o.lost_by(loss), o.sent);
            row.set_some(&format!("share_{}", loss.name()), lost);
        }
        row.set("sent", o.sent);
        row.set("air_frames", o.air_frames);
        row.set("made", o.packets.made);
        row.set("skipped", o.packets.skipped);
        row.set("delivered", o.packets.delivered);
        let taken: u64 = o.nodes.iter().map(|n| n.taken).sum();
        let delivered = share(o.packets.delivered, taken);
        row.set_some("end_to_end_drop", delivered.map(|share| 1.0 - share));
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
        let children = o.depth.iter().filter(|depth| **depth == Some(1));
        row.set("sink_children", children.count());
        if routed > 0 {
            row.set("mean_hops", depths.iter().sum::<f64>() / routed as f64);
        }
        row.set("max_hops", depths.iter().copied().fold(0.0, f64::max));
        if self.offered.is_empty() {
            return row;
        }
        let starves = |n: &usize| o.nodes[*n].delivered as f64 <= 0.1 * o.nodes[*n].made as f64;
        let starved = o.sources().filter(starves);
        let sources = o.sources().count().max(1) as f64;
        row.set("starved_share", starved.count() as f64 / sources);
        row
    }

    pub(super) fn node_rows(&self, base: &Row, site: &Site, o: &Outcome) -> Vec<Row> {
        let row_of = |n: usize| {
            let node = &o.nodes[n];
            let mut row = (base.clone())
                .with("scope", "node")
                .with("node", id(site, n))
                .with("throughput", node.delivered as f64 / self.duration_s)
                .with("sent", node.sent)
                .with("received", node.received)
                .with("overflowed", node.overflowed);
            row.set_some("received_share", share(node.delivered, node.made));
            row.set_some("imbalance", o.imbalance(n));
            row.set_some("hops", o.depth[n]);
            row
        };
        o.sources().map(row_of).collect()
    }

    /// The rate that so many percent of the nodes reach at least (table 5.2).
    pub(super) fn coverage_rows(&self, base: &Row, o: &Outcome) -> Vec<Row> {
        let rate = |n: usize| o.nodes[n].delivered as f64 / self.duration_s;
        let mut rates: Vec<f64> = o.sources().map(rate).collect();
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

/// `part` of `whole`; none of nothing.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn id(site: &Site, n: usize) -> u32 {
    site.testbed.id_of(n).map_or(0, |id| u32::from(id.get()))
}

pub(super) fn edge_rows(base: &Row, site: &Site, o: &Outcome) -> Vec<Row> {
    let place = |n: usize| {
        let ear = site.environment.ears.get(n)?;
        ear.placement.map(|p| (p.position.x_m, p.position.y_m))
    };
    let row_of = |(&(from, to), link): (&(usize, usize), &Link)| {
        let ((x1, y1), (x2, y2)) = (place(from)?, place(to)?);
        let row = base.clone().with("scope", "edge");
        let row = row.with("from", id(site, from)).with("to", id(site, to));
        let row = row.with("from_x", x1).with("from_y", y1);
        let row = row.with("to_x", x2).with("to_y", y2);
        let row = row.with("packets", link.received).with("sent", link.sent);
        Some(row.with("to_is_sink", u32::from(o.sinks.contains(&to))))
    };
    o.links.iter().filter_map(row_of).collect()
}
