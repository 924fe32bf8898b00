//! What a NACK tells, frame by frame.

use super::super::cadence::Cadence;
use super::super::context::Packets;
use super::super::missing::{Missing, Plan};
use super::super::session::Tells;
use super::bench::{layout, start, TELOSB};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec::Vec;
use thalweg_wire::pipeline::{Format, Nack, Telling};
use thalweg_wire::route::{PayloadSize, Scheme};

/// Slim frames over four hops, with a byte that is said beside.
fn cadence() -> Cadence {
    let mut layout = layout(Scheme::Thalweg, 4, 2);
    layout.route.format = Format::Slim;
    layout.route.payload = PayloadSize::max_of(Format::Slim);
    layout.part(0, start(), &TELOSB).cadence
}

/// The plan of a NACK of `packets` of which those `missing` are not there, and what its frames tell.
fn told(missing: &BTreeSet<u16>, packets: u16, below: u16, tells: Tells) -> (Plan, Vec<u16>) {
    let mut here = Packets::EMPTY;
    here.fill_to(packets);
    missing.iter().for_each(|packet| here.remove(*packet));
    let here = &here;
    let all = Missing { here, below };
    let plan = all.plan(tells, &cadence(), packets);
    let (mut from, mut frames, mut said) = (Some(0), 0, Vec::new());
    while let Some(packet) = from {
        let mut vector = [0; 121];
        let vector = &mut vector[..usize::from(plan.vector_bytes)];
        let part = all.part(plan.telling, packet, vector);
        let nack = Nack {
            first: part.first,
            missing: missing.len() as u16,
            following: 0,
            telling: plan.telling,
            vector,
        };
        said.extend(nack.missing_packets());
        (from, frames) = (part.next, frames + 1);
    }
    assert_eq!(frames, plan.frames);
    (plan, said)
}

#[test]
fn a_few_of_many_are_told_as_runs_and_half_of_them_as_a_vector() {
    let bytes = |missing: BTreeSet<u16>| {
        let (plan, _) = told(&missing, 500, 500, Tells::Shortest);
        assert_eq!(plan.frames, 1);
        (plan.telling, plan.vector_bytes)
    };
    assert_eq!(bytes((7..500).step_by(50).collect()), (Telling::Runs, 11));
    assert_eq!(bytes((16..500).collect()), (Telling::Runs, 3));
    assert_eq!(bytes((0..500).step_by(2).collect()), (Telling::Vector, 63));
    assert_eq!(bytes(BTreeSet::new()), (Telling::Vector, 0));
}

#[test]
fn a_long_transfer_takes_a_few_frames_where_it_took_many() {
    // Two of a hundred, one by one.
    let missing: BTreeSet<u16> = (3..16_000).step_by(50).collect();
    let (runs, _) = told(&missing, 16_000, 16_000, Tells::Shortest);
    let (vector, _) = told(&missing, 16_000, 16_000, Tells::Vector);
    assert_eq!(
        (runs.telling, vector.telling),
        (Telling::Runs, Telling::Vector)
    );
    assert_eq!((runs.frames, vector.frames), (4, 18));
}

#[test]
fn nothing_is_told_of_what_the_source_has_not_sent() {
    let missing: BTreeSet<u16> = (16..500).collect();
    let (runs, said) = told(&missing, 500, 16, Tells::Shortest);
    assert_eq!((runs.frames, runs.vector_bytes, said.len()), (1, 0, 0));
    let (vector, said) = told(&missing, 500, 16, Tells::Vector);
    assert_eq!((vector.frames, vector.vector_bytes, said.len()), (1, 2, 0));
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
        let air = |plan: Plan| u32::from(plan.frames) * (u32::from(plan.vector_bytes) + 27);
        let [shortest, vector] = [Tells::Shortest, Tells::Vector].map(|tells| {
            let (plan, said) = told(&missing, packets, packets, tells);
            assert!(said.iter().eq(&missing), "{plan:?}");
            air(plan)
        });
        prop_assert!(shortest <= vector);
    }
}
