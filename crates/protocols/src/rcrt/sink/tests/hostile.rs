//! Input that no source makes: nothing panics, memory is bounded, everything is counted.

use super::*;
use proptest::prelude::*;
use std::vec;

#[test]
fn what_cannot_be_is_counted_and_changes_nothing() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 1.0);
    bench.data(7, 1, 0);
    bench.clear();
    let view = bench.view(7);
    bench.sink.handle_packet(bench.now, node(7), &[]);
    bench.sink.handle_packet(bench.now, node(7), &[0xff; 40]);
    bench.open(8, 1, 0.0, 0);
    bench.data(7, 2, 1);
    bench.data(8, 1, 1);
    // Beyond the window of 1024 from 1, and before the first.
    bench.data(7, 1, 1025);
    bench.data(7, 1, 65_000);
    bench.finish(7, 1, 1026);
    bench.finish(7, 1, 0);
    let refused = Refused {
        malformed: 2,
        unknown: 2,
        outdated: 0,
        demands: 1,
        flows: 0,
        sequences: 4,
        forged: 0,
    };
    assert_eq!(bench.sink.refused(), refused);
    assert_eq!((bench.view(7), bench.events()), (view, vec![]));
    bench.data(7, 1, 1024);
    assert_eq!(bench.sink.refused(), refused);
    // Nothing is sent after its end.
    bench.finish(7, 1, 1025);
    bench.data(7, 1, 1);
    bench.data(7, 1, 1025);
    assert_eq!(bench.sink.refused().sequences, 5);
    // No source goes on before its first packet.
    bench.clear();
    bench.open(7, 1, 1.0, 65_000);
    assert_eq!(bench.says(), [(7, Said::Refuse)]);
    assert_eq!(bench.sink.refused().sequences, 6);
}

#[test]
fn flows_are_bounded_and_so_are_those_that_ended() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    for id in 1..=5000 {
        bench.open(id, 1, 1.0, 0);
    }
    assert_eq!(bench.sink.flows().count(), MAX_FLOWS);
    assert_eq!(bench.sink.refused().flows, 5000 - MAX_FLOWS as u64);
    let answers = bench.says();
    assert_eq!(answers.len(), MAX_FLOWS + MAX_REFUSALS);

    let mut bench = Bench::new(Config::PAPER, "fair");
    for id in 1..=5000 {
        bench.open(id, 1, 1.0, 0);
        bench.finish(id, 1, 0);
    }
    assert_eq!(bench.sink.flows().count(), 0);
    // The earliest are forgotten.
    let known = |id| bench.sink.saved(node(id), FLOW).is_some();
    assert_eq!(
        (known(1), known(904), known(905), known(5000)),
        (false, false, true, true)
    );

    // One that begins again and again waits for one answer.
    let mut bench = Bench::new(Config::PAPER, "fair");
    for connection in 1..=200 {
        bench.open(1, connection, 1.0, 0);
    }
    assert_eq!((bench.sink.answers.len(), bench.says().len()), (1, 1));

    // A flow that ends again and again is one.
    let mut bench = Bench::new(Config::PAPER, "fair");
    for (id, connection) in [(1, 1), (1, 2)]
        .into_iter()
        .chain((2..=4096).map(|id| (id, 1)))
    {
        bench.open(id, connection, 1.0, 0);
        bench.finish(id, connection, 0);
    }
    assert!(bench.sink.saved(node(1), FLOW).is_some());

    let mut bench = Bench::new(Config::PAPER, "fair");
    for id in 1..=5000 {
        let saved = Saved {
            origin: node(id),
            flow: FLOW,
            connection: 1,
            demand: 1.0,
            next: 0,
            completion: Completion::Open,
        };
        bench.sink.restore(bench.now, saved);
    }
    assert_eq!(bench.sink.refused().flows, 5000 - MAX_FLOWS as u64);
}

#[test]
fn a_store_may_hold_anything() {
    let mut bench = Bench::new(Config::PAPER, "demand-proportional");
    for (id, demand) in [
        (1, f64::NAN),
        (2, -1.0),
        (3, f64::INFINITY),
        (4, 1.0),
        (4, 9.0),
    ] {
        let saved = Saved {
            origin: node(id),
            flow: FLOW,
            connection: 1,
            demand,
            next: u64::MAX,
            completion: Completion::Open,
        };
        bench.sink.restore(bench.now, saved);
    }
    assert_eq!(bench.sink.flows().count(), 4);
    assert_eq!(bench.view(4).demand, 1.0);
    for id in 1..=4 {
        bench.data(id, 1, 5);
        bench.finish(id, 1, 9);
    }
    assert!(bench.sink.total().is_finite());
}

/// Whether each queue is within its bound; events are taken after each packet.
fn keeps_its_bounds(sink: &Sink) -> bool {
    let (flows, window) = (sink.flows.len(), u64::from(sink.config.window));
    // Packets that came early, and those that are missing, lie between these two.
    let in_window = |f: &FlowState| f.highest - f.next <= window;
    flows <= MAX_FLOWS
        && sink.answers.len() <= flows
        && sink.repeats.len() <= flows
        && sink.refusals.len() <= MAX_REFUSALS
        && sink.flows.iter().all(in_window)
}

/// A message that may make sense.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 0..30);
    let near = (0..3_u8, 0..3_u8, 0..6_u16, any::<u8>(), 0..2_u8).prop_map(
        |(kind, connection, number, flags, high)| {
            let number = number + u16::from(high) * 65_530;
            let [a, b] = number.to_le_bytes();
            let echo = [flags, flags, flags, flags, flags];
            let mut bytes = vec![kind | flags & 0x30, 0x10, connection];
            match kind {
                0 => bytes.extend([flags, flags >> 7, a, b]),
                1 => bytes.extend([a, b].into_iter().chain(echo)),
                _ => bytes.extend([a, b].into_iter().chain(echo.into_iter().take(3))),
            }
            bytes
        },
    );
    prop_oneof![1 => noise, 6 => near]
}

proptest! {
    #[test]
    fn no_bytes_make_a_sink_panic_or_grow(
        messages in proptest::collection::vec((1..4_u16, message(), 0..3000_u64, any::<bool>()), 0..300),
        policy in 0..policy::NAMES.len(),
        repeat in prop_oneof![Just(Repeat::OnPackets), Just(Repeat::ByTimer)],
    ) {
        let config = Config { repeat, ..Config::PAPER };
        let mut bench = Bench::new(config, policy::NAMES[policy]);
        let mut highest = std::collections::BTreeMap::new();
        for (origin, bytes, ms, answers) in messages {
            bench.pass(ms as f64 * 1e-3);
            bench.sink.handle_packet(bench.now, node(origin), &bytes);
            prop_assert!(keeps_its_bounds(&bench.sink));
            // The way down may be taken.
            let said = if answers { bench.says() } else { vec![] };
            for (_, said) in said {
                if let Said::Accept(heard) | Said::Feedback(heard) = said {
                    prop_assert!(heard.rate > Rate::ZERO);
                }
            }
            for event in bench.events() {
                match event {
                    // In order and once, as long as a connection stands.
                    Event::Delivered { origin, flow, sequence, .. } => {
                        let last = highest.insert((origin, flow), sequence);
                        prop_assert!(last.is_none_or(|last| last + 1 == sequence));
                    }
                    Event::Opened { origin, flow, .. } => {
                        highest.remove(&(origin, flow));
                    }
                    _ => {}
                }
            }
            prop_assert!(bench.sink.total().is_finite() && bench.sink.total() >= 0.0);
            prop_assert!(bench.sink.flows().count() <= 3 * 256);
        }
    }
}
