//! What deviates from P3 as published: slim headers.

use super::bench::{draw, ideal, object, p3, start, transfer, Layout, TELOSB};
use proptest::prelude::*;
use thalweg_engine::harness::{Air, Fate};
use thalweg_wire::phy::{air_time, SFD_OFFSET};
use thalweg_wire::pipeline::Format;
use thalweg_wire::route::PayloadSize;

impl Layout {
    fn slim(mut self) -> Self {
        self.route.format = Format::Slim;
        self.route.payload = PayloadSize::max_of(Format::Slim);
        self
    }
}

fn lossy(loss: u64, seed: u64) -> impl FnMut(Air<'_>) -> Fate {
    move |air| {
        let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
        if draw(&ids) < loss {
            Fate::Corrupted
        } else {
            Fate::Heard
        }
    }
}

#[test]
fn slim_frames_are_as_long_and_carry_three_bytes_more() {
    for hops in [1, 2, 5, 10] {
        let layout = p3(hops, 4).slim();
        let object = object(40 * 121);
        let (outcome, net) = transfer(&layout, &object, ideal);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!((complete.packets, complete.rounds), (40, 1));
        let cycles = (air_time(125) + TELOSB.relay_gap()) * (40 + u64::from(hops) - 1);
        let took = complete
            .last_packet
            .since(start().saturating_sub(SFD_OFFSET));
        assert_eq!(took + TELOSB.relay_gap(), cycles, "{hops} hops");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_variant_completes_whatever_is_lost(
        hops in 1..=8u8, paths in 2..=8u8, slim: bool, len in 1..20_000usize, loss in 0..=250u64, seed: u64,
    ) {
        let mut layout = p3(hops, paths);
        if slim { layout = layout.slim(); }
        // A single chain of many hops bears little.
        let loss = if paths < 6 { loss / u64::from(hops) } else { loss };
        let object = object(len);
        let (outcome, net) = transfer(&layout, &object, lossy(loss, seed));
        outcome.assert_whole(&net, &object);
    }
}
