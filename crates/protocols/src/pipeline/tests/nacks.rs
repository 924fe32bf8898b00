//! What a NACK tells, frame by frame.

use super::super::cadence::Cadence;
use super::super::context::Packets;
use super::super::missing::{Missing, Plan};
use super::bench::{layout, object, start, Memory, TELOSB};
use crate::pipeline::{Adaptation, Command, Fixed, Pipeline, Setup, Tally};
use proptest::prelude::*;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::vec::Vec;
use thalweg_engine::harness::{Fate, Net};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::{Format, Header, Kind, Nack};
use thalweg_wire::route::{PayloadSize, Scheme};
use thalweg_wire::Reader;

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

/// Notes what a destination takes stock of.
struct Stock {
    fixed: Fixed,
    tallies: Rc<RefCell<Vec<Tally>>>,
}

impl Adaptation for Stock {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.fixed.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        self.fixed.listening()
    }
    fn on_round_end(&mut self, _round: u16, tally: Option<Tally>) {
        self.tallies.borrow_mut().extend(tally);
    }
}

/// A round begins when the NACK before it said: a request that comes so many cycles later follows so many packets.
#[test]
fn a_destination_knows_how_many_packets_a_round_may_have_had() {
    let layout = layout(Scheme::P3, 1, 1);
    let tallies: Rc<RefCell<Vec<Tally>>> = Rc::default();
    let parts = [0, 1].map(|n| {
        let Setup {
            session, cadence, ..
        } = layout.part(n, start(), &TELOSB);
        let (channels, stage) = (layout.route.channels, n as u8);
        let fixed = Fixed { channels, stage };
        let tallies = Rc::clone(&tallies);
        let adaptation: Box<dyn Adaptation> = match n {
            0 => Box::new(fixed),
            _ => Box::new(Stock { fixed, tallies }),
        };
        Setup {
            session,
            cadence,
            adaptation,
        }
    });
    let engines = [object(20 * 118), Memory::default()].map(Pipeline::new);
    let mut lost = 0;
    let mut net = Net::new(engines.into(), TELOSB, move |air| {
        let header = Header::parse(&mut Reader::new(air.mpdu)).unwrap();
        let is_lost = header.head.kind == Kind::Data && header.number % 4 == 0 && lost < 5;
        lost += u32::from(is_lost);
        match is_lost {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    });
    for (n, part) in parts.into_iter().enumerate() {
        net.command(n, Command::Start(part));
    }
    net.run_for(Duration::from_secs(2));
    let told: Vec<_> = tallies
        .borrow()
        .iter()
        .map(|t| (t.missing, t.sent))
        .collect();
    assert_eq!(told, [(5, 21), (0, 6)], "a hop's slack");
}
