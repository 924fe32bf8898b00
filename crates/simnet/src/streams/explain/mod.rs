//! Link maps: what each link of a stream sent, why it sent packets again, and how queues filled.
//!
//! A [`Recorder`] watches the air from a stream's beginning to its end. Causes of lost frames come from
//! the medium's counterfactual redraws of each reception; an arrived frame that went unanswered found a
//! full queue. How to read a map: `docs/fastforward.md`. Tests: `crates/simnet/tests/all/streams/explain.rs`.

mod picture;
mod record;

pub use record::Recorder;

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Why a frame did not bring its packet over the link, as far as its sender could know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Too weak for the receiver.
    Weak,
    /// Another frame on its channel.
    Collision,
    /// A frame on another channel of the band.
    AdjacentChannel,
    /// Foreign traffic, or a loss that was injected.
    External,
    /// The receiver's radio was sending or turning round.
    Busy,
    /// The receiver slept or listened elsewhere.
    Away,
    /// It arrived; its acknowledgement did not.
    AckLost,
    /// It arrived; its acknowledgement came when the sender waited no more.
    AckLate,
    /// It arrived, and was not acknowledged: the receiver's queue was full.
    Withheld,
}

impl Why {
    /// All, in order.
    pub const ALL: [Self; 9] = [
        Self::Weak,
        Self::Collision,
        Self::AdjacentChannel,
        Self::External,
        Self::Busy,
        Self::Away,
        Self::AckLost,
        Self::AckLate,
        Self::Withheld,
    ];
    /// Its name in tables and pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Collision => "collision",
            Self::AdjacentChannel => "adjacent channel",
            Self::External => "external",
            Self::Busy => "receiver busy",
            Self::Away => "not listening",
            Self::AckLost => "ACK lost",
            Self::AckLate => "ACK late",
            Self::Withheld => "queue full",
        }
    }
}

/// What one link made of its packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkMap {
    /// Node id of the sender.
    pub from: u16,
    /// Node id of the receiver.
    pub to: u16,
    /// Band and channel.
    pub on: String,
    /// Different packets sent, the stream's end included.
    pub packets: u32,
    /// Frames sent: packets and repetitions.
    pub tries: u32,
    /// Frames that arrived, repetitions included.
    pub arrived: u32,
    /// The other frames, and those that arrived without the sender's knowing it, by cause: as many as
    /// there were repetitions and packets given up. Where nothing is acknowledged, those that did not arrive.
    pub failed: BTreeMap<Why, u32>,
    /// The sender's queue, most packets in each [`StreamMap::step_ms`] from the beginning on; empty for
    /// protocols whose queues are not looked at.
    pub queue: Vec<u8>,
}

impl LinkMap {
    /// Frames that brought nothing, whatever the cause.
    pub fn all_failed(&self) -> u32 {
        self.failed.values().sum()
    }
}

/// A stream's links, from the source on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamMap {
    /// What carried it.
    pub protocol: String,
    /// Milliseconds between two values of the queues.
    pub step_ms: u32,
    /// The links.
    pub links: Vec<LinkMap>,
}

impl StreamMap {
    /// A line per link: what it sent, and why again.
    pub fn to_text(&self) -> String {
        let mut rows = vec![[
            "link",
            "on",
            "packets",
            "frames",
            "arrived",
            "sent for nothing",
        ]
        .map(str::to_owned)
        .to_vec()];
        for link in &self.links {
            let mut causes: Vec<(Why, u32)> = link.failed.iter().map(|(w, n)| (*w, *n)).collect();
            causes.sort_by_key(|(why, n)| (std::cmp::Reverse(*n), *why));
            let causes: Vec<String> = (causes.iter())
                .map(|(why, n)| format!("{} {n}", why.name()))
                .collect();
            rows.push(vec![
                format!("{}-{}", link.from, link.to),
                link.on.clone(),
                link.packets.to_string(),
                link.tries.to_string(),
                link.arrived.to_string(),
                causes.join(", "),
            ]);
        }
        let mut text = format!("{}: frames link by link\n", self.protocol);
        let width = |at: usize| rows.iter().filter_map(|r| r.get(at)).map(String::len).max();
        for row in &rows {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                let width = width(at).unwrap_or(0);
                let _ = match at {
                    0 | 1 => write!(line, "{cell:<width$}  "),
                    5 => write!(line, "{cell}"),
                    _ => write!(line, "{cell:>width$}  "),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}
