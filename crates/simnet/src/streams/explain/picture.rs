//! A link map as a picture ([`thalweg_draw::links`]). Tests: `crates/simnet/tests/all/streams/explain.rs`.

use super::{LinkMap, StreamMap, Why};
use thalweg_draw::links::{Links, Row};
use thalweg_draw::style::cause;
use thalweg_draw::BarPart;

const fn colour(why: Why) -> &'static str {
    match why {
        Why::Weak => cause::WEAK,
        Why::Collision => cause::COLLISION,
        Why::AdjacentChannel => cause::ADJACENT_CHANNEL,
        Why::External => cause::EXTERNAL,
        Why::Busy => cause::BUSY,
        Why::Away => cause::AWAY,
        Why::AckLost => cause::CANCELLED,
        Why::AckLate => cause::LATE,
        Why::Withheld => cause::WITHHELD,
    }
}

impl StreamMap {
    /// The map as an SVG document.
    pub fn to_svg(&self) -> String {
        let seen = |why: &Why| self.links.iter().any(|l| l.failed.contains_key(why));
        let whys = Why::ALL.into_iter().filter(seen);
        let good = std::iter::once((cause::NONE, "brought its packet on"));
        let links = Links {
            title: match (self.links.first(), self.links.last()) {
                (Some(first), Some(last)) => format!(
                    "{}, node {} to node {}: frames link by link, and queues",
                    self.protocol, first.from, last.to
                ),
                _ => self.protocol.clone(),
            },
            legend: good
                .chain(whys.map(|why| (colour(why), why.name())))
                .collect(),
            links: self.links.iter().map(row).collect(),
            step_s: f64::from(self.step_ms) / 1e3,
        };
        links.to_svg()
    }
}

fn row(link: &LinkMap) -> Row {
    let good = BarPart {
        name: "brought their packets on",
        colour: cause::NONE,
        count: link.tries.saturating_sub(link.all_failed()),
    };
    let failed = link.failed.iter().map(|(why, frames)| BarPart {
        name: why.name(),
        colour: colour(*why),
        count: *frames,
    });
    Row {
        name: format!("{} to {}", link.from, link.to),
        on: link.on.clone(),
        parts: std::iter::once(good).chain(failed).collect(),
        note: format!("{} for {} packets", link.tries, link.packets),
        queue: link.queue.clone(),
    }
}
