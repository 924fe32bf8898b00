//! Sources whose symbols take time: what waits for what, and that all of it ends.

use super::bench::{draw, ideal, object, p3, Layout, Memory, Outcome, TELOSB};
use crate::pipeline::{Command, End, Event, Pipeline, Preparation};
use proptest::prelude::*;
use std::vec;
use thalweg_engine::harness::{Air, Fate, Net, Price};
use thalweg_units::Duration;
use thalweg_wire::route::{BlockSymbols, Learning, ObjectRange, Percent, Recovery, TrialRun};

fn percent(n: u8) -> Percent {
    Percent::new(n).unwrap()
}

fn blocks(layout: Layout, most: u8, spare: u8) -> Layout {
    let mut layout = layout;
    layout.route.recovery = Recovery::Blocks {
        most: BlockSymbols::new(most).unwrap(),
        spare: percent(spare),
    };
    layout
}

fn lossy(loss: u64, seed: u64) -> impl FnMut(Air<'_>) -> Fate {
    move |air| {
        let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
        match draw(&ids) < loss {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    }
}

type Ran = (Outcome, Net<Pipeline<Memory>>);

/// A transfer whose source makes symbols for `price`, `share` of them before it begins.
fn transfer(
    layout: &Layout,
    object: &Memory,
    (price, share): (Price, u8),
    links: impl FnMut(Air<'_>) -> Fate + 'static,
) -> Ran {
    let mut object = object.clone();
    if let (Recovery::Blocks { most, .. }, 1..) = (layout.route.recovery, share) {
        object = prepared(&object, layout, most, share);
    }
    let mut net = layout.net(&object, TELOSB, links);
    net.price(price);
    let outcome = layout.run(&mut net, 240);
    (outcome, net)
}

/// `object` with `share` of its symbols.
fn prepared(object: &Memory, layout: &Layout, most: BlockSymbols, share: u8) -> Memory {
    let mut net = Net::new(vec![Pipeline::new(TELOSB, object.clone())], TELOSB, ideal);
    net.price(Price::PerByte(Duration::from_micros(1)));
    net.command(
        0,
        Command::Prepare(Preparation {
            range: ObjectRange::ALL,
            payload: layout.route.payload,
            most,
            share: percent(share),
        }),
    );
    net.run_for(Duration::from_secs(60));
    let told = net.take_events();
    assert!(
        matches!(told[..], [(_, 0, Event::Prepared { .. })]),
        "{told:?}"
    );
    net.engine(0).store().clone()
}

/// When the object was complete, after the transfer's beginning.
fn took(ran: &Ran, object: &Memory) -> Duration {
    let complete = ran.0.assert_whole(&ran.1, object);
    complete.last_packet.since(super::bench::start())
}

#[test]
fn a_symbol_is_sent_no_sooner_than_it_is_made_and_as_soon_as_it_is() {
    // Two packets of twenty are lost, in one block of 20: two symbols are made in one pass, of 20 packets
    // of 118 bytes that are read once and multiplied twice.
    let layout = blocks(p3(2, 2), 32, 0);
    let object = object(20 * 118);
    let lose = |air: Air<'_>| match (air.from, air.number) {
        (0, 4 | 9) => Fate::Corrupted,
        _ => Fate::Heard,
    };
    let at_once = took(
        &transfer(&layout, &object, (Price::Nothing, 0), lose),
        &object,
    );
    let byte = Duration::from_micros(10);
    let slow = took(
        &transfer(&layout, &object, (Price::PerByte(byte), 0), lose),
        &object,
    );
    let job = byte * (20 * 118 * 4);
    let later = slow.saturating_sub(at_once);
    let slots = TELOSB.relay_gap() * 2 + thalweg_wire::phy::air_time(125) * 2;
    assert!(later >= job && later <= job + slots * 2, "{later} {job}");
    // Those that were made before cost nothing.
    let stored = took(
        &transfer(&layout, &object, (Price::PerByte(byte), 50), lose),
        &object,
    );
    assert_eq!(stored, at_once);
}

#[test]
fn a_source_whose_job_is_never_done_gives_up() {
    let layout = blocks(p3(3, 2), 32, 0);
    let object = object(100 * 118);
    for (share, tuned) in [(0, false), (2, false), (0, true)] {
        let mut layout = layout.clone();
        if tuned {
            let run = TrialRun::new(4).unwrap();
            layout.route.learning = Learning::Channels { run };
        }
        let (outcome, net) = transfer(&layout, &object, (Price::Never, share), lossy(150, 5));
        if share > 0 {
            // It sends again what it has.
            outcome.assert_whole(&net, &object);
            continue;
        }
        assert_eq!(outcome.end(0), Some(End::TimedOut), "{share} {tuned}");
        let last = outcome.events.iter().map(|e| e.0).max().unwrap();
        let limit = super::bench::start() + Duration::from_secs(20);
        assert!(last < limit, "{last}");
        assert!((0..layout.stages.len()).all(|n| net.engine(n).session().is_none()));
        assert!(outcome.complete().is_none());
    }
}

#[test]
fn a_source_with_an_old_job_begins_anew() {
    let layout = blocks(p3(2, 2), 32, 0);
    let object = object(40 * 118);
    let mut net = layout.net(&object, TELOSB, lossy(200, 3));
    net.price(Price::PerByte(Duration::from_micros(20)));
    net.run_for(Duration::from_millis(600));
    for n in 0..layout.stages.len() {
        net.command(n, Command::Stop);
    }
    net.take_events();
    // Whatever was under way is done now, and nobody wants it.
    net.run_for(Duration::from_secs(2));
    assert_eq!(net.take_events().len(), 0);
    for (n, mut session) in layout.sessions().enumerate() {
        session.start = net.now() + Duration::from_millis(50);
        net.command(n, Command::Start(session));
    }
    let outcome = layout.run(&mut net, 60);
    outcome.assert_whole(&net, &object);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn late_symbols_arrive_and_no_transfer_hangs(
        packets in 1..150usize,
        most in 1..=128u8,
        loss in 0..300u64,
        (spare, share, ns) in (0..20u8, 0..60u8, 0..8_000u64),
        (hops, paths, tuned, seed) in (1..5u8, 1..4u8, any::<bool>(), any::<u64>()),
    ) {
        let mut layout = blocks(p3(hops, paths), most, spare);
        if tuned {
            layout.route.learning = Learning::Channels { run: TrialRun::new(4).unwrap() };
        }
        let object = object(packets * 118 - 30);
        let price = Price::PerByte(Duration::from_nanos(ns));
        let ran = transfer(&layout, &object, (price, share), lossy(loss, seed));
        prop_assert!((0..layout.stages.len()).all(|n| ran.1.engine(n).session().is_none()));
        if ran.0.complete().is_some() {
            ran.0.assert_whole(&ran.1, &object);
        } else {
            prop_assert!(loss > 100, "{:?}", ran.0.events);
        }
    }
}
