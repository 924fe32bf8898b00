//! Bounds on what a chain can deliver, by which the search is cut short.

use super::{Search, LEAST};

/// A lower bound on a chain's cost on an order of channels: the cheapest walk, which may pass a node twice. Most orders
/// begin as the one before did, so its costs are reused.
pub(super) struct Bounds {
    source: usize,
    sink: usize,
    /// The order before this one.
    order: Vec<usize>,
    /// Per stage before the sink's: the least cost of reaching each node there.
    costs: Vec<Vec<f64>>,
}

impl Bounds {
    pub(super) fn new(search: &Search<'_>) -> Self {
        let mut at_source = vec![f64::INFINITY; search.expected.nodes()];
        at_source[search.source] = 0.0;
        Self {
            source: search.source,
            sink: search.sink,
            order: Vec::new(),
            costs: vec![at_source],
        }
    }

    /// No chain on `order` costs less, rounding included.
    pub(super) fn of(&mut self, table: &Table, order: &[usize]) -> f64 {
        let hops = order.len() - 1;
        let same = order.iter().zip(&self.order).take_while(|(a, b)| a == b);
        self.costs.truncate(same.count().clamp(1, hops));
        for stage in self.costs.len()..hops {
            let before = &self.costs[stage - 1];
            let mut costs = vec![f64::INFINITY; before.len()];
            for (from, &cost) in before.iter().enumerate().filter(|(_, c)| c.is_finite()) {
                for &(to, hop) in table.hops(order[stage], order[stage - 1], from) {
                    costs[to] = costs[to].min(cost + hop);
                }
            }
            costs[self.source] = f64::INFINITY;
            costs[self.sink] = f64::INFINITY;
            self.costs.push(costs);
        }
        self.order.clear();
        self.order.extend_from_slice(&order[..hops]);
        let mut least = f64::INFINITY;
        for (from, &cost) in self.costs[hops - 1].iter().enumerate() {
            if let Some(hop) = table.hop(order[hops], order[hops - 1], from, self.sink) {
                least = least.min(cost + hop);
            }
        }
        least
    }
}

/// Costs of hops: minus the logarithm of their delivery forth, and a little of that back, per
/// pair of channels (indices into the list) forth and back.
pub(super) struct Table {
    channels: usize,
    rows: Vec<Vec<Vec<(usize, f64)>>>,
}

impl Table {
    pub(super) fn new(search: &Search<'_>) -> Self {
        let &Search {
            expected,
            channels,
            reverse_cost,
            ..
        } = search;
        let (mut rows, nodes) = (Vec::new(), expected.nodes());
        for &forth in channels {
            // Who is reached from each node, and what that costs.
            let reached: Vec<Vec<(usize, f64)>> = (0..nodes)
                .map(|from| {
                    let reached = expected.reached(from, forth).iter();
                    reached
                        .filter(|(_, reach)| reach.delivery > LEAST)
                        .map(|&(to, reach)| (to, -libm::log(reach.delivery.min(1.0))))
                        .collect()
                })
                .collect();
            for &back in channels {
                let with_back = |from: usize| {
                    let hops = reached[from].iter().map(|&(to, cost)| {
                        let back = expected.link(to, from, back).map_or(0.0, |r| r.delivery);
                        (to, cost - reverse_cost * libm::log(back.clamp(1e-3, 1.0)))
                    });
                    hops.collect()
                };
                rows.push((0..nodes).map(with_back).collect());
            }
        }
        Self {
            channels: channels.len(),
            rows,
        }
    }
    /// What one hop costs, where it is one.
    pub(super) fn hop(&self, forth: usize, back: usize, from: usize, to: usize) -> Option<f64> {
        let row = self.hops(forth, back, from);
        let at = row.binary_search_by_key(&to, |&(to, _)| to).ok()?;
        Some(row[at].1)
    }
    pub(super) fn hops(&self, forth: usize, back: usize, from: usize) -> &[(usize, f64)] {
        &self.rows[forth * self.channels + back][from]
    }
}
