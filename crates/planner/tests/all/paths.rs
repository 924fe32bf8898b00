//! Path searches against brute force on small random graphs.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::SeedableRng;
use thalweg_planner::{node_distinct_paths, PathSearch, Topology};

fn rng(seed: u64) -> rand_pcg::Pcg64Mcg {
    rand_pcg::Pcg64Mcg::seed_from_u64(seed)
}

/// Every simple path of exactly `hops` hops, as the set of its relays.
fn all_paths(
    graph: &Topology,
    hops: usize,
    path: &mut Vec<usize>,
    sink: usize,
    out: &mut Vec<u32>,
) {
    let here = path[path.len() - 1];
    if path.len() == hops {
        if graph.linked(here, sink) {
            out.push(path[1..].iter().fold(0, |set, &node| set | 1 << node));
        }
        return;
    }
    for &next in graph.neighbours(here) {
        if next != sink && !path.contains(&next) {
            path.push(next);
            all_paths(graph, hops, path, sink, out);
            path.pop();
        }
    }
}

/// The largest number of pairwise disjoint sets.
fn most_disjoint(sets: &[u32], taken: u32) -> usize {
    let Some((&first, rest)) = sets.split_first() else {
        return 0;
    };
    let without = most_disjoint(rest, taken);
    if first & taken == 0 {
        // Only sets that contain the lowest relay of `first` or are disjoint from it matter.
        without.max(1 + most_disjoint(rest, taken | first))
    } else {
        without
    }
}

fn brute_force(graph: &Topology, source: usize, sink: usize, hops: usize) -> usize {
    let mut sets = Vec::new();
    all_paths(graph, hops, &mut vec![source], sink, &mut sets);
    sets.sort_unstable();
    sets.dedup();
    if hops == 1 {
        return usize::from(!sets.is_empty());
    }
    most_disjoint(&sets, 0)
}

fn check_paths(graph: &Topology, paths: &[Vec<usize>], source: usize, sink: usize, hops: usize) {
    let mut taken = vec![false; graph.nodes()];
    for path in paths {
        assert_eq!(path.len(), hops + 1, "{path:?}");
        assert_eq!((path[0], path[hops]), (source, sink));
        assert!(
            path.windows(2).all(|hop| graph.linked(hop[0], hop[1])),
            "{path:?}"
        );
        for &relay in &path[1..hops] {
            assert!(relay != source && relay != sink);
            assert!(
                !std::mem::replace(&mut taken[relay], true),
                "{relay} twice in {paths:?}"
            );
        }
    }
}

fn graphs() -> impl Strategy<Value = Topology> {
    (7usize..=11, 0.3f64..0.7).prop_flat_map(|(nodes, density)| {
        let pairs: Vec<(usize, usize)> = (0..nodes)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .collect();
        prop::collection::vec(prop::bool::weighted(density), pairs.len()).prop_map(move |there| {
            let edges = pairs
                .iter()
                .zip(&there)
                .filter(|(_, &there)| there)
                .map(|(&e, _)| e);
            Topology::from_edges(nodes, edges)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(26), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn searches_agree_with_brute_force(graph in graphs(), hops in 1usize..6, seed in 0u64..1000) {
        let (source, sink) = (0, graph.nodes() - 1);
        let most = brute_force(&graph, source, sink, hops);
        let dfs = node_distinct_paths(&graph, source, sink, hops, PathSearch::DepthFirst, &mut rng(seed));
        let better = node_distinct_paths(&graph, source, sink, hops, PathSearch::Layered, &mut rng(seed));
        for found in [&dfs, &better] {
            check_paths(&graph, &found.paths, source, sink, hops);
        }
        prop_assert!(dfs.paths.len() <= better.paths.len());
        prop_assert!(most <= better.upper_bound, "bound {} below {most}", better.upper_bound);
        // Complete on graphs this small: nothing that exists is missed.
        prop_assert_eq!(better.paths.len(), most);
        prop_assert_eq!(dfs.paths.is_empty(), most == 0);
        let again = node_distinct_paths(&graph, source, sink, hops, PathSearch::Layered, &mut rng(seed));
        prop_assert_eq!(again, better);
    }
}

/// Layers of relays between a source and a sink, linked only from layer to layer.
fn layered_graphs() -> impl Strategy<Value = (Topology, usize)> {
    (3usize..=6, 3usize..=7, 0.2f64..0.5, 0u64..1 << 40).prop_map(|(hops, width, density, seed)| {
        use rand::Rng;
        let mut rng = rng(seed);
        let nodes = 2 + width * (hops - 1);
        let layer = |node: usize| match node {
            0 => 0,
            last if last == nodes - 1 => hops,
            relay => 1 + (relay - 1) % (hops - 1),
        };
        let mut edges = Vec::new();
        for a in 0..nodes {
            for b in 0..nodes {
                let end = a == 0 || b == nodes - 1;
                if layer(a) + 1 == layer(b) && (end || rng.random_bool(density)) {
                    edges.push((a, b));
                }
            }
        }
        (Topology::from_edges(nodes, edges), hops)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(26), failure_persistence: None, ..ProptestConfig::default() })]
    /// Where every relay has one layer only, Menger's bound is met exactly.
    #[test]
    fn the_larger_search_is_exact_on_layers((graph, hops) in layered_graphs(), seed in 0u64..1000) {
        let sink = graph.nodes() - 1;
        prop_assume!(graph.hops_from(0)[sink] == Some(hops));
        let found = node_distinct_paths(&graph, 0, sink, hops, PathSearch::Layered, &mut rng(seed));
        check_paths(&graph, &found.paths, 0, sink, hops);
        prop_assert_eq!(found.paths.len(), found.upper_bound);
    }
}
