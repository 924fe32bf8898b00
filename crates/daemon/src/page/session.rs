//! The page of a session: rates over time, and each source.

use std::collections::BTreeMap;

use maud::{html, Markup};

use super::text::{bytes, count, seconds};
use super::{fact, node_link, objects, series, table};
use crate::running::{total, Running};
use crate::stations::Stations;
use thalweg_host::store::{Sample, StoreError, StoredJob};
use thalweg_host::transfer::session::{SessionRequest, SourceStatus};

/// So many objects of a session are listed.
const OBJECTS: u32 = 50;

pub(super) fn session(
    stations: &Stations,
    job: &StoredJob,
    request: &SessionRequest,
    (running, chosen): (Option<&Running>, Option<u16>),
) -> Result<Markup, StoreError> {
    let (samples, brought) = {
        let store = stations.shared().store();
        let brought = store.objects_of_session(job.id, OBJECTS)?;
        (store.samples(job.id)?, brought)
    };
    let live = running.map(|running| &running.sources[..]);
    let last = samples.last().map(|sample| &sample.sources[..]);
    let now = live.filter(|live| !live.is_empty()).or(last).unwrap_or(&[]);
    let sum = |of: fn(&SourceStatus) -> u64| now.iter().map(of).sum::<u64>();
    let (packets, lost) = (sum(|s| s.packets), sum(|s| s.repaired));
    Ok(html! {
        p {
            (count(request.sources.len(), "node")) " send what they measure, policy " code { (request.policy) } ", "
            @match request.duration_s { Some(s) => { "for " (seconds(s)) } None => "until it is cancelled" }
            ". A node wants " (request.demand) " packets/s"
            @if !request.demands.is_empty() { ", " (count(request.demands.len(), "node")) " something else" }
            "."
        }
        dl {
            (fact("All rates", format!("{:.1} packets/s", total(now.iter().filter_map(|s| s.rate)))))
            (fact("Delivered", format!("{}, {}", count(packets, "packet"), bytes(sum(|s| s.bytes)))))
            (fact("Lost first, then repaired", format!("{:.1} %", 100.0 * lost as f64 / packets.max(1) as f64)))
        }
        (chooser(request, chosen))
        div.charts {
            (series::framed(
                &series::rates(&samples, chosen),
                "Packets per second that the sink gives each node. A gap: no connection.",
            ))
            (series::framed(&series::packets(&samples), "Packets that arrived, in order, of all nodes together."))
        }
        h2 { "Nodes" }
        (sources(stations, job, request, (now, &samples)))
        h2 { "Objects" }
        (objects::list(stations, &brought))
    })
}

/// Asks which node is to be drawn by itself.
fn chooser(request: &SessionRequest, chosen: Option<u16>) -> Markup {
    html! {
        form.row {
            label {
                "Draw by itself "
                select name="node" {
                    @for node in &request.sources {
                        option value=(node) selected[Some(*node) == chosen] { "node " (node) }
                    }
                }
            }
            button.plain { "Draw" }
        }
    }
}

/// Each source, as it fares `now` and fared in `samples`.
fn sources(
    stations: &Stations,
    job: &StoredJob,
    request: &SessionRequest,
    (now, samples): (&[SourceStatus], &[Sample]),
) -> Markup {
    let mut mean: BTreeMap<u16, (f64, u32)> = BTreeMap::new();
    for one in samples.iter().flat_map(|sample| &sample.sources) {
        if let Some(rate) = one.rate {
            let (sum, count) = mean.entry(one.source.get()).or_default();
            (*sum, *count) = (*sum + rate, *count + 1);
        }
    }
    let none = || "\u{2013}".to_owned();
    let rows = html! {
        @for node in request.nodes() {
            @let found = now.iter().find(|s| s.source == node);
            @let mean = mean.get(&node.get()).map_or_else(none, |(sum, n)| format!("{:.2}", sum / f64::from(*n)));
            @let (packets, size, lost) = found.map_or((0, 0, 0), |s| (s.packets, s.bytes, s.repaired));
            tr {
                td { (node_link(stations, node, &job.station)) }
                td { (request.demand_of(node)) }
                td {
                    @match found.map(|s| s.rate) {
                        Some(Some(rate)) => (format!("{rate:.2}")),
                        Some(None) => "no connection",
                        None => (none()),
                    }
                }
                td { (mean) } td { (packets) } td { (bytes(size)) } td { (lost) }
            }
        }
    };
    let head = [
        "Node",
        "Wants, packets/s",
        "Rate",
        "Mean",
        "Packets",
        "Bytes",
        "Lost first",
    ];
    html! { div.tall { (table("Nodes of the session", &head, &rows)) } }
}
