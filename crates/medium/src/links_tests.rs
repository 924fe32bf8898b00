//! Rows of links.

use super::*;

fn link(to: u32, gain_mw: f32) -> Link {
    Link {
        to: EarId(to),
        gain_mw,
        delay_ns: 0.0,
        erasure: 0.0,
    }
}

#[test]
fn rows_are_sorted_and_the_later_of_two_holds() {
    let mut builder = LinksBuilder::new(4);
    let c = Channel::LAST;
    for (from, to, gain) in [
        (2, 3, 1.0),
        (0, 3, 2.0),
        (0, 1, 3.0),
        (0, 3, 4.0),
        (1, 1, 9.0),
        (0, 4, 9.0),
    ] {
        builder.add(EarId(from), c, link(to, gain));
    }
    let links = builder.build();
    assert_eq!(links.heard_by(EarId(0), c), &[link(1, 3.0), link(3, 4.0)]);
    assert_eq!(links.heard_by(EarId(1), c), &[]);
    assert_eq!(links.heard_by(EarId(2), c), &[link(3, 1.0)]);
    assert_eq!(links.heard_by(EarId(9), c), &[]);
    assert_eq!(links.between(EarId(0), EarId(3), c), Some(&link(3, 4.0)));
    assert_eq!(links.between(EarId(3), EarId(0), c), None);
    assert_eq!(links.heard_by(EarId(0), Channel::FIRST), &[]);
    assert_eq!(links.len(), 3);
}

#[test]
fn two_bands_stand_side_by_side() {
    let c = Channel::LAST;
    let of = |from: u32, to: u32, gain: f32| {
        let mut builder = LinksBuilder::new(2);
        builder.add(EarId(from), c, link(to, gain));
        builder.build()
    };
    let mut both = of(0, 1, 1.0).beside(2, of(1, 0, 2.0), 2);
    assert_eq!(both.heard_by(EarId(0), c), &[link(1, 1.0)]);
    assert_eq!(both.heard_by(EarId(1), c), &[]);
    assert_eq!(both.heard_by(EarId(2), c), &[]);
    assert_eq!(both.heard_by(EarId(3), c), &[link(2, 2.0)]);
    both.erase(EarId(3), EarId(2), 0.5);
    assert_eq!(both.between(EarId(3), EarId(2), c).unwrap().erasure, 0.5);
    assert_eq!(both.between(EarId(0), EarId(1), c).unwrap().erasure, 0.0);
}

#[test]
fn a_link_costs_less_than_a_kilobyte() {
    assert!(Channel::COUNT * core::mem::size_of::<Link>() <= 256);
}
