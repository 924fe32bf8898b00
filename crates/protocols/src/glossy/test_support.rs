//! Networks for tests: who is next to whom, and losses drawn from a seed.

use std::boxed::Box;
use thalweg_engine::harness::{Air, Fate};
use thalweg_engine::BoardTiming;
use thalweg_units::{Duration, NodeId};

/// A mote with P3's 89 us of software a hop.
pub(crate) const MOTE: BoardTiming = BoardTiming {
    forward_software: Duration::from_micros(89),
    ..BoardTiming::IDEAL
};

pub(crate) fn id(n: usize) -> NodeId {
    NodeId::new(n as u16).unwrap()
}

/// Who hears whom.
pub(crate) type Adjacent = fn(usize, usize) -> bool;

/// Node n hears n - 1 and n + 1.
pub(crate) const LINE: Adjacent = |a, b| a.abs_diff(b) == 1;
/// Everyone hears everyone.
pub(crate) const MESH: Adjacent = |_, _| true;
/// Five columns; the eight around are heard.
pub(crate) const GRID: Adjacent =
    |a, b| (a % 5).abs_diff(b % 5) <= 1 && (a / 5).abs_diff(b / 5) <= 1;

/// Links between the adjacent that lose `percent` of all receptions, half of them in mid-frame.
pub(crate) fn lossy(
    adjacent: Adjacent,
    percent: u64,
    seed: u64,
) -> Box<dyn FnMut(Air<'_>) -> Fate> {
    Box::new(move |air| {
        if !adjacent(air.from, air.to) {
            return Fate::Silent;
        }
        let draw = mix(seed ^ mix(air.number as u64 ^ mix(air.to as u64)));
        match draw % 200 {
            d if d >= 2 * percent => Fate::Heard,
            d if d % 2 == 0 => Fate::Corrupted,
            _ => Fate::Silent,
        }
    })
}

pub(crate) fn ideal(adjacent: Adjacent) -> Box<dyn FnMut(Air<'_>) -> Fate> {
    lossy(adjacent, 0, 0)
}

/// The finaliser of SplitMix64.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
