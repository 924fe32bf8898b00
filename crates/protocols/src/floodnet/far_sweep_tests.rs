//! Surveys of long rows over lossy links: floods with time for more hops, and announcements that every node repeats.

use super::sweep_tests::{carried_out, four, numbered, Skewed, MS};
use super::*;
use crate::linkprobe::NodeList;
use crate::rng::Rng;
use crate::sweep::{Sweep, FLOOR_DBM, SLOT};
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};

/// A survey of the row `net`, ordered from node 0, whose floods have time for `reach` hops: the nodes that it lacks.
fn survey(net: &mut Net<Skewed>, nodes: u16, reach: u8) -> Vec<u16> {
    let ids: Vec<u16> = (0..nodes).collect();
    let nodes = NodeList::of(ids.iter().map(|id| NodeId::new(*id).unwrap())).unwrap();
    let sweep = Sweep::new(nodes, four(), 2, (SLOT, MS(200)), FLOOR_DBM).unwrap();
    carried_out(net, &ids, Command::Sweep(sweep.reaching(reach))).missing
}

/// What `air` does in a row whose links carry, or not, as `is_good` says.
fn in_a_row(air: &Air<'_>, is_good: bool) -> Fate {
    match air.from.abs_diff(air.to) == 1 && is_good {
        true => Fate::Heard,
        false => Fate::Silent,
    }
}

/// Draws 0..100 for `id`.
fn percent(id: u64) -> u32 {
    Rng::new(id.wrapping_mul(0x9e37_79b9)).below(100)
}

/// Floods with time for six hops do not bring the reports of a long row; with time for more they do, over links that
/// lose a quarter.
#[test]
fn a_row_of_lossy_links_reports_to_its_end() {
    let lacks = |reach: u8, seed: u64| {
        let links = move |air: Air<'_>| {
            let id = seed << 40 | (air.number as u64) << 8 | air.to as u64;
            in_a_row(&air, percent(id) >= 25)
        };
        survey(&mut numbered(12, links), 12, reach).len()
    };
    let all = |reach: u8| (1..=6).map(|seed| lacks(reach, seed)).sum::<usize>();
    let (near, far) = (all(6), all(20));
    assert!(near >= 12, "{near}");
    assert!(far <= 5, "{far}");
}

/// Each link of a row is good for half a second at a time, and then perhaps not. Announcements that all nodes repeat reach
/// its end, where one flood needs all links at once.
#[test]
fn repeated_announcements_cross_links_that_come_and_go() {
    let taking_part = |reach: u8, seed: u64| {
        let links = move |air: Air<'_>| {
            let half = air.start.as_nanos() / 500_000_000;
            let id = seed << 40 | half << 8 | air.from.min(air.to) as u64;
            in_a_row(&air, percent(id) < 60)
        };
        let mut net = numbered(10, links);
        survey(&mut net, 10, reach);
        let campaign = |n: usize| net.engine(n).node.table().campaign();
        (0..10).filter(|n| campaign(*n) == campaign(0)).count()
    };
    let all = |reach: u8| (1..=6).map(|seed| taking_part(reach, seed)).sum::<usize>();
    let (near, far) = (all(6), all(31));
    assert!(near <= 40, "{near}");
    assert!(far >= 52, "{far}");
}
