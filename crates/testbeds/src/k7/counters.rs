//! A K7 trace of counters: what the nodes of a running network (SmartMesh and its like) counted of their own
//! traffic. A row has frames sent and the share that arrived; without a row there was no traffic, which says
//! nothing of the link. So only rows are averaged, and a direction without any is taken to be like the
//! other. Rows bear the time of a report, not of a frame, so times do not count. Tests: `k7_tests.rs`.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_units::{Channel, ChannelSet};

use super::Row;
use crate::assumed::Assumed;
use crate::trace::TraceLink;

/// Frames sent and received; power in dBm, weighted by the frames received, and those weights.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sent: f64,
    received: f64,
    level: f64,
    weight: f64,
}

impl Sum {
    fn add(&mut self, row: &Row) {
        let sent = f64::from(row.frames);
        let received = f64::from(row.prr) * sent;
        self.sent += sent;
        self.received += received;
        if let Some(rssi) = row.rssi_dbm {
            self.level += f64::from(rssi) * received;
            self.weight += received;
        }
    }
    fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            level: self.level + other.level,
            weight: self.weight + other.weight,
        }
    }
}

/// Every link's mean over all `rows`, those without a channel on each of `channels`; and what was assumed.
pub(super) fn links(rows: &[Row], channels: ChannelSet) -> (Vec<TraceLink>, Vec<Assumed>) {
    let mut sums: BTreeMap<(u16, u16, Option<Channel>), Sum> = BTreeMap::new();
    for row in rows {
        let key = (row.src, row.dst, row.channel);
        sums.entry(key).or_default().add(row);
    }
    let counted: BTreeSet<(u16, u16)> = sums.keys().map(|(from, to, _)| (*from, *to)).collect();
    let sum = |key| sums.get(&key).copied().unwrap_or_default();
    let mut links = Vec::new();
    let mut alike = 0;
    for &(from, to) in &counted {
        let is_alone = !counted.contains(&(to, from));
        alike += usize::from(is_alone);
        for channel in channels.iter() {
            let all = sum((from, to, None)).and(sum((from, to, Some(channel))));
            if all.sent <= 0.0 {
                continue;
            }
            let link = TraceLink {
                from,
                to,
                channel,
                prr: all.received / all.sent,
                rssi_dbm: (all.weight > 0.0).then(|| all.level / all.weight),
            };
            links.push(link);
            if is_alone {
                links.push(TraceLink {
                    from: to,
                    to: from,
                    ..link
                });
            }
        }
    }
    let alike = (alike > 0).then_some(Assumed::BothWays(alike));
    (links, alike.into_iter().collect())
}
