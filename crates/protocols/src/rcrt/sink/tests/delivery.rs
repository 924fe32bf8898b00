//! Exactly once and in order, whatever the network does to packets; connections that begin, go on and end.

use super::*;
use proptest::prelude::*;
use std::vec;

#[test]
fn packets_wait_for_those_before_them() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 1.0);
    for (sequence, delivered) in [
        (0, &[0][..]),
        (1, &[1]),
        (3, &[]),
        (4, &[]),
        (3, &[]),
        (2, &[2, 3, 4]),
        (2, &[]),
    ] {
        bench.data(7, 1, sequence);
        assert_eq!(bench.delivered(), delivered, "after {sequence}");
    }
    assert_eq!((bench.view(7).next, bench.view(7).repaired), (5, 1));
}

#[test]
fn a_connection_is_accepted_as_often_as_it_is_asked_for() {
    let mut bench = Bench::new(Config::PAPER, "demand-limited");
    bench.open(7, 1, 2.0, 0);
    bench.open(7, 1, 2.0, 0);
    let said = bench.says();
    let accept = |next| Heard {
        number: 1,
        rate: rate(2.0),
        next,
        nacks: vec![],
    };
    assert_eq!(said, [(7, Said::Accept(accept(0)))]);
    assert!(matches!(
        bench.events()[..],
        [
            Event::Assigned { why: Why::Join, .. },
            Event::Opened { connection: 1, .. }
        ]
    ));
    bench.data(7, 1, 0);
    bench.open(7, 1, 2.0, 0);
    let again = Heard {
        number: 2,
        ..accept(1)
    };
    assert_eq!(bench.says(), [(7, Said::Accept(again))]);
    assert_eq!(bench.delivered(), [0]);
}

#[test]
fn a_connection_ends_when_its_tail_has_arrived() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 1.0);
    bench.data(7, 1, 0);
    bench.pass(2.0);
    bench.finish(7, 1, 3);
    assert_eq!(bench.feedback().unwrap().nacks, [1, 2]);
    bench.data(7, 1, 2);
    bench.data(7, 1, 1);
    assert_eq!(bench.says(), [(7, Said::Finished)]);
    let told = bench.events();
    assert!(matches!(
        told.last(),
        Some(Event::Finished { connection: 1, .. })
    ));
    // What comes late is answered, and delivers nothing.
    bench.finish(7, 1, 3);
    assert_eq!(bench.says(), [(7, Said::Finished)]);
    bench.data(7, 1, 2);
    bench.open(7, 1, 1.0, 0);
    assert_eq!(bench.says(), [(7, Said::Finished)]);
    assert_eq!(bench.events(), []);
    assert_eq!(bench.sink.flows().count(), 0);
}

#[test]
fn a_new_connection_takes_the_place_of_the_old_one() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 1.0);
    bench.data(7, 1, 0);
    bench.data(7, 1, 2);
    bench.clear();
    bench.open(7, 2, 1.0, 40);
    let told = bench.events();
    let is_closed = |event: &Event| matches!(event, Event::Closed { connection: 1, .. });
    assert_eq!(told.iter().filter(|event| is_closed(event)).count(), 1);
    bench.data(7, 2, 40);
    assert_eq!(bench.delivered(), [40]);
    bench.data(7, 1, 3);
    assert!(bench.delivered().is_empty());
    assert_eq!(bench.sink.refused().unknown, 1);
}

/// The Open of a connection may overtake nothing: one that was long on its way would make the sink forget what it
/// has delivered of the next.
#[test]
fn an_opening_that_comes_late_does_not_end_the_newer_connection() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 1.0);
    bench.open(7, 2, 1.0, 0);
    bench.data(7, 2, 0);
    assert_eq!(bench.delivered(), [0]);
    bench.open(7, 1, 1.0, 0);
    bench.open(7, 2, 1.0, 0);
    bench.data(7, 2, 0);
    bench.data(7, 2, 1);
    assert_eq!(bench.delivered(), [1]);
    assert_eq!(bench.sink.refused().outdated, 1);
    // Nor one that has ended.
    bench.finish(7, 2, 2);
    bench.open(7, 1, 1.0, 0);
    bench.finish(7, 2, 2);
    assert_eq!(bench.sink.flows().count(), 0);
    assert_eq!(bench.says().last(), Some(&(7, Said::Finished)));
}

#[test]
fn a_store_keeps_the_connection_that_stands_not_the_one_before_it() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 1.0);
    bench.finish(7, 1, 0);
    bench.open(7, 2, 1.0, 0);
    let saved = bench.sink.saved(node(7), FLOW).unwrap();
    let found = (saved.connection, saved.completion);
    assert_eq!(found, (2, Completion::Open));
}

/// A feedback that waits belongs to its connection, not to its flow.
#[test]
fn what_waits_to_be_said_goes_with_its_connection() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 1.0);
    bench.pass(60.0);
    bench.data_at(7, 1, 1, Rate::ZERO, FeedbackRequest::Yes, None);
    bench.open(7, 2, 1.0, 0);
    assert!(matches!(bench.says()[..], [(7, Said::Accept(_))]));
}

#[test]
fn a_sink_that_starts_anew_goes_on_where_its_store_was() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 1.0);
    bench.connected(8, 1.0);
    for sequence in 0..3 {
        bench.data(7, 1, sequence);
        bench.data(8, 1, sequence);
    }
    bench.finish(8, 1, 3);
    let saved = [7, 8].map(|origin| bench.sink.saved(node(origin), FLOW).unwrap());
    assert_eq!(
        saved.map(|s| s.completion),
        [Completion::Open, Completion::Complete]
    );

    let mut bench = Bench::new(Config::PAPER, "fair");
    for saved in saved {
        bench.sink.restore(bench.now, saved);
    }
    bench.finish(8, 1, 3);
    assert_eq!(bench.says(), [(8, Said::Finished)]);
    bench.data(7, 1, 2);
    bench.data(7, 1, 4);
    assert_eq!(bench.feedback().unwrap().nacks, [3]);
    bench.open(7, 1, 1.0, 1);
    bench.data(7, 1, 3);
    assert_eq!(bench.delivered(), [3, 4]);
    // Without a store, the source must open again.
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.data(7, 1, 5);
    assert_eq!(bench.says(), [(7, Said::Unknown)]);
}

/// What a network does to a packet on its way.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Lost,
    Arrives { after: u8, copies: u8 },
    SinkRestarts,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let arrives = (0..12_u8, 1..3_u8).prop_map(|(after, copies)| Fate::Arrives { after, copies });
    let fate = prop_oneof![
        2 => Just(Fate::Lost),
        8 => arrives,
        1 => Just(Fate::SinkRestarts)
    ];
    proptest::collection::vec(fate, 1..200)
}

proptest! {
    /// A source that repeats what it is asked for, and ends; packets are lost, repeated and overtaken; the sink starts
    /// again from its store; numbers wrap.
    #[test]
    fn everything_is_delivered_once_and_in_order(
        fates in fates(),
        first in prop_oneof![Just(0_u16), Just(65_500), any::<u16>()],
        packets in 1..120_u16,
    ) {
        let (mut bench, mut got) = (Bench::new(Config::PAPER, "demand-limited"), Vec::new());
        let mut fates = fates.into_iter();
        // What is on its way, with the step in which it arrives.
        let mut air: Vec<(u32, Option<u16>)> = Vec::new();
        let (mut again, mut sent) = (VecDeque::new(), 0);
        let (mut is_open, mut is_finished) = (false, false);
        for step in 0..4000_u32 {
            bench.pass(2.0);
            let end = first.wrapping_add(packets);
            if !is_open {
                bench.open(7, 1, 1.0, first);
            } else {
                let sequence = again.pop_front().or_else(|| (sent < packets).then(|| {
                    sent += 1;
                    first.wrapping_add(sent - 1)
                }));
                match fates.next().unwrap_or(Fate::Arrives { after: 0, copies: 1 }) {
                    Fate::Lost => {}
                    Fate::Arrives { after, copies } => {
                        let ways = (0..copies).map(|copy| step + u32::from(after * (copy + 1)));
                        air.extend(ways.map(|at| (at, sequence)));
                    }
                    Fate::SinkRestarts => {
                        let saved = bench.sink.saved(node(7), FLOW).unwrap();
                        bench.sink = Sink::new(Config::PAPER, policy::named("fair").unwrap());
                        bench.sink.restore(bench.now, saved);
                    }
                }
            }
            let (now, later) = air.drain(..).partition(|(at, _)| *at <= step);
            air = later;
            let now: Vec<_> = now;
            for (_, sequence) in now {
                match sequence {
                    Some(sequence) => bench.data(7, 1, sequence),
                    None => bench.finish(7, 1, end),
                }
            }
            got.extend(bench.delivered());
            for (_, said) in bench.says() {
                match said {
                    Said::Accept(_) => is_open = true,
                    Said::Feedback(heard) => {
                        again.extend(heard.nacks.iter().filter(|n| !again.contains(n)).copied().collect::<Vec<_>>());
                    }
                    Said::Finished => is_finished = true,
                    Said::Unknown | Said::Refuse => prop_assert!(false, "a connection that stands is refused"),
                }
            }
            if is_finished && air.is_empty() {
                break;
            }
        }
        prop_assert!(is_finished);
        let from = u64::from(first);
        prop_assert!(got.into_iter().eq(from..from + u64::from(packets)));
        prop_assert_eq!(bench.sink.refused(), Refused::default());
    }
}
