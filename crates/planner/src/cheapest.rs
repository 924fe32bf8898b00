//! Dijkstra's search: the cheapest ways from a node to the others. Tests: `placement_tests.rs`, `hop_route_tests.rs`.

/// What the cheapest ways from a node cost, and where they lead.
pub(crate) struct CheapestWays {
    /// What the way to each node costs; none where there is none.
    pub(crate) costs: Vec<Option<f64>>,
    /// The node before each on its way.
    before: Vec<Option<usize>>,
}

impl CheapestWays {
    /// From `start`, among so many `nodes`, until the way to `goal` is known, or those to all. `links` yields where one
    /// leads from a node, and at what cost; infinite is nowhere. It is asked once for each node, the nearest first.
    pub(crate) fn new(
        nodes: usize,
        start: usize,
        goal: Option<usize>,
        mut links: impl FnMut(usize) -> Vec<(usize, f64)>,
    ) -> Self {
        let mut ways = Self {
            costs: vec![None; nodes],
            before: vec![None; nodes],
        };
        let mut is_done = vec![false; nodes];
        ways.costs[start] = Some(0.0);
        loop {
            let open = (0..nodes).filter(|node| !is_done[*node]);
            let open = open.filter_map(|node| Some((node, ways.costs[node]?)));
            let nearest = open.min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((node, cost)) = nearest.filter(|(node, _)| Some(*node) != goal) else {
                return ways;
            };
            is_done[node] = true;
            for (next, more) in links(node) {
                let is_cheaper = ways.costs[next].is_none_or(|known| cost + more < known);
                if is_cheaper && more.is_finite() {
                    (ways.costs[next], ways.before[next]) = (Some(cost + more), Some(node));
                }
            }
        }
    }

    /// The nodes of the way to `goal`, both ends included.
    pub(crate) fn to(&self, goal: usize) -> Option<Vec<usize>> {
        self.costs[goal]?;
        let back = std::iter::successors(Some(goal), |node| self.before[*node]);
        let mut way: Vec<usize> = back.collect();
        way.reverse();
        Some(way)
    }
}
