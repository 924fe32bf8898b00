//! Who gets how much of the network's capacity (RCRT, section 3.6): one file for each policy.
//!
//! A policy is the sink's alone: motes know rates, not why. Invariant: rates sum to the total, or to what
//! all demands together leave of it where a policy goes by demands. Tests: `../tests/policies.rs`.

mod demand_limited;
mod fair;
mod priority;
mod proportional;
mod weighted;

pub use demand_limited::DemandLimited;
pub use fair::Fair;
pub use priority::Priority;
pub use proportional::DemandProportional;
pub use weighted::Weighted;

use std::boxed::Box;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::vec::Vec;
use thalweg_units::NodeId;

/// A flow's claim on the capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Its source.
    pub origin: NodeId,
    /// The rate that it wants, d, packets per second: more than 0.
    pub demand: f64,
}

/// A way to share.
pub trait Policy: Debug + Send {
    /// Most that all flows together may be given, packets per second; none for any.
    fn limit(&self, _claims: &[Claim]) -> Option<f64> {
        None
    }
    /// Shares `total` packets per second: writes the rate of each claim to its place in `rates`.
    fn allocate(&self, total: f64, claims: &[Claim], rates: &mut [f64]);
}

/// The policies, as [`named`] knows them.
pub const NAMES: [&str; 5] = [
    "fair",
    "demand-proportional",
    "demand-limited",
    "weighted",
    "priority",
];

/// The policy of that name. `weighted` and `priority` may be followed by nodes and their weight or class,
/// all others having 1 and 0: `weighted:7=2,12=0.5`, `priority:7=1`.
pub fn named(name: &str) -> Option<Box<dyn Policy>> {
    let (kind, nodes) = name.split_once(':').unwrap_or((name, ""));
    let takes_nodes = matches!(kind, "weighted" | "priority");
    if !nodes.is_empty() && !takes_nodes {
        return None;
    }
    Some(match kind {
        "fair" => Box::new(Fair),
        "demand-proportional" => Box::new(DemandProportional),
        "demand-limited" => Box::new(DemandLimited),
        "weighted" => Box::new(Weighted::new(table(nodes)?)?),
        "priority" => Box::new(Priority::new(table(nodes)?)),
        _ => return None,
    })
}

/// `7=2,12=1` as a table.
fn table<V: core::str::FromStr>(nodes: &str) -> Option<BTreeMap<NodeId, V>> {
    let entries = nodes.split(',').filter(|entry| !entry.is_empty());
    let entry = |entry: &str| {
        let (node, value) = entry.split_once('=')?;
        let node = NodeId::new(node.trim().parse().ok()?).ok()?;
        Some((node, value.trim().parse().ok()?))
    };
    entries.map(entry).collect()
}

/// Shares `total` so that no flow gets more than its demand, and each that gets less gets as much as all
/// else who does (max-min). Returns what all demands leave.
fn max_min(total: f64, claims: &[Claim], rates: &mut [f64]) -> f64 {
    let mut order: Vec<(&Claim, &mut f64)> = claims.iter().zip(rates).collect();
    order.sort_by(|(a, _), (b, _)| a.demand.total_cmp(&b.demand));
    let mut left = total.max(0.0);
    let mut others = order.len();
    for (claim, rate) in order {
        *rate = (left / others as f64).min(claim.demand);
        left -= *rate;
        others -= 1;
    }
    left.max(0.0)
}
