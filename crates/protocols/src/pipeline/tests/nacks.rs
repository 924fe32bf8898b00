//! What a NACK tells, frame by frame.

use super::super::cadence::Cadence;
use super::super::context::Packets;
use super::super::missing::{Missing, Plan};
use super::bench::{layout, start, TELOSB};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec::Vec;
use thalweg_wire::pipeline::{Format, Nack};
use thalweg_wire::route::{PayloadSize, Scheme};

/// Slim frames over four hops, with a byte that is said beside.
fn cadence() -> Cadence {
    let mut layout = layout(Scheme::Thalweg, 4, 2);
    layout.route.format = Format::Slim;
    layout.route.payload = PayloadSize::max_of(Format::Slim);
    layout.part(0, start(), &TELOSB).cadence
}

/// The plan of a NACK of `packets` of which those `missing` are not there, and what its frames tell.
fn told(missing: &BTreeSet<u16>, packets: u16, below: u16) -> (Plan, Vec<u16>) {
    let mut here = Packets::EMPTY;
    here.fill_to(packets);
    missing.iter().for_each(|packet| here.remove(*packet));
    let here = &here;
    let all = Missing { here, below };
    let plan = all.plan(&cadence(), packets);
    let (mut from, mut frames, mut said) = (Some(0), 0, Vec::new());
    while let Some(packet) = from {
        let mut vector = [0; 121];
        let vector = &mut vector[..usize::from(plan.vector_bytes)];
        let part = all.part(packet, vector);
        let nack = Nack {
            first: part.first,
            missing: missing.len() as u16,
            following: 0,
            vector,
        };
        said.extend(nack.missing_packets());
        (from, frames) = (part.next, frames + 1);
    }
    assert_eq!(frames, plan.frames);
    (plan, said)
}

#[test]
fn a_vector_is_as_long_as_it_must_be() {
    let plan = |missing: BTreeSet<u16>| told(&missing, 500, 500).0;
    let one = |vector_bytes| Plan {
        frames: 1,
        vector_bytes,
    };
    assert_eq!(plan((7..500).step_by(50).collect()), one(63));
    assert_eq!(plan(BTreeSet::new()), one(0));
}

#[test]
fn parts_in_which_nothing_is_missing_are_left_out() {
    let frames = |missing: BTreeSet<u16>| told(&missing, 16_000, 16_000).0.frames;
    assert_eq!(frames((3..16_000).step_by(50).collect()), 18);
    assert_eq!(frames([3, 9_000, 15_999].into()), 3);
}

#[test]
fn nothing_is_told_of_what_the_source_has_not_sent() {
    let missing: BTreeSet<u16> = (16..500).collect();
    let (plan, said) = told(&missing, 500, 16);
    assert_eq!((plan.frames, plan.vector_bytes, said.len()), (1, 2, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_that_is_missing_is_told_once(
        packets in 64..16_384_u16, every in 1..400_u16, seed: u64,
    ) {
        let is_missing = |packet: &u16| {
            let mixed = (u64::from(*packet) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            mixed % u64::from(every) == 0
        };
        let missing: BTreeSet<u16> = (0..packets).filter(is_missing).collect();
        let (plan, said) = told(&missing, packets, packets);
        prop_assert!(said.iter().eq(&missing), "{plan:?}");
    }
}
