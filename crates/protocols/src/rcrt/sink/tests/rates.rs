//! Congestion, increase and decrease, by numbers that can be had by hand (sections 3.4 and 3.5).

use super::super::loss::Losses;
use super::*;
use std::vec;

/// Two sources at 1 packet per second each under the fair policy, and a round trip of 1 s: r RTT = 1.
fn two() -> Bench {
    let mut bench = Bench::new(PLAIN, "fair");
    bench.connected(7, 1.0);
    bench.connected(8, 1.0);
    assert_eq!(bench.sink.total(), 2.0);
    bench
}

#[test]
fn the_total_grows_by_a_at_most_every_two_round_trips() {
    let mut bench = two();
    bench.data(7, 1, 0);
    assert_eq!(bench.changes(), [Why::Increase]);
    assert_eq!(bench.sink.total(), 2.5);
    assert_eq!(bench.rate_of(8), rate(1.25));
    bench.pass(1.9);
    bench.data(8, 1, 0);
    assert_eq!(bench.changes(), []);
    bench.pass(0.2);
    bench.data(8, 1, 1);
    assert_eq!(
        (bench.changes(), bench.sink.total()),
        (vec![Why::Increase], 3.0)
    );
}

#[test]
fn a_flow_decides_nothing_before_it_has_its_newest_rate() {
    let mut bench = two();
    bench.data_at(7, 1, 0, rate(0.25), FeedbackRequest::No, None);
    assert_eq!(bench.changes(), []);
    bench.data(7, 1, 1);
    assert_eq!(bench.changes(), [Why::Increase]);
}

/// The 21st packet is lost: the interval is 20, p = .95, M = .95 / 1.05. C passes U = 4 once more than four round trips
/// of packets wait for the lost one.
#[test]
fn the_total_shrinks_by_the_loss_of_the_flow_that_told() {
    let mut bench = two();
    for sequence in (0..20).chain([21]) {
        bench.data(7, 1, sequence);
    }
    bench.clear();
    bench.pass(10.0);
    let (before, in_round_trip) = (bench.sink.total(), bench.view(7).rate);
    assert_eq!((before, in_round_trip), (2.5, 1.25));
    let mut waiting = 1;
    while bench.changes().is_empty() {
        waiting += 1;
        bench.data(7, 1, 20 + waiting);
        assert!(waiting < 10, "no decrease");
    }
    assert_eq!(waiting, 6);
    assert!((bench.sink.total() / before - 0.95 / 1.05).abs() < 1e-12);
    assert!((bench.view(7).delivery - 0.95).abs() < 1e-12);
    // Until the source has its new rate, and within two round trips, nothing more.
    let old = rate(0.5);
    bench.data_at(7, 1, 30, old, FeedbackRequest::No, None);
    bench.pass(10.0);
    bench.data_at(7, 1, 31, old, FeedbackRequest::No, None);
    assert_eq!(bench.changes(), []);
    bench.data(7, 1, 32);
    bench.data(7, 1, 33);
    assert!(matches!(bench.changes()[..], [Why::Decrease { .. }]));
}

/// Two sources, of which one has lost its packet `first`, and no other.
fn lost_after(first: u16) -> Bench {
    let config = Config {
        evidence: Evidence::New,
        ..PLAIN
    };
    let mut bench = Bench::new(config, "fair");
    bench.connected(7, 1.0);
    bench.connected(8, 1.0);
    for sequence in (0..first).chain([first + 1]) {
        bench.data(7, 1, sequence);
    }
    bench.pass(10.0);
    bench.clear();
    bench
}

/// The same loss, with the list that it left, lowers the total once. A later one, of which the sink learned after the
/// flow had its rate, counts for what it lowers p by: an interval of 8 beside that of 20, p = 1 - 1 / 14.
#[test]
fn a_loss_counts_once() {
    let mut bench = lost_after(20);
    let before = bench.sink.total();
    for sequence in 22..27 {
        bench.data(7, 1, sequence);
    }
    assert!(matches!(bench.changes()[..], [Why::Decrease { .. }]));
    assert!((bench.sink.total() / before - 0.95 / 1.05).abs() < 1e-12);
    let before = bench.sink.total();
    bench.pass(10.0);
    bench.data(7, 1, 27);
    assert_eq!(bench.changes(), []);
    bench.data(7, 1, 29);
    assert!(matches!(bench.changes()[..], [Why::Decrease { .. }]));
    let news = (1.0 - 1.0 / 14.0) / 0.95;
    assert!((bench.sink.total() / before - news / (2.0 - news)).abs() < 1e-12);
}

#[test]
fn losses_from_before_a_source_heard_of_a_decrease_are_not_new() {
    let mut bench = lost_after(20);
    let old = bench.rate_of(7);
    (22..27).for_each(|sequence| bench.data(7, 1, sequence));
    assert!(matches!(bench.changes()[..], [Why::Decrease { .. }]));
    bench.data_at(7, 1, 28, old, FeedbackRequest::No, None);
    bench.pass(10.0);
    (29..35).for_each(|sequence| bench.data(7, 1, sequence));
    assert_eq!(bench.changes(), []);
}

/// p = .995, M = .99: more than .98.
#[test]
fn a_loss_among_many_packets_lowers_nothing() {
    let mut bench = lost_after(200);
    (202..215).for_each(|sequence| bench.data(7, 1, sequence));
    assert!(bench.view(7).congestion > PLAIN.upper);
    assert_eq!(bench.changes(), []);
}

/// Flow 8 brings half of its rate, so 1.5 of 2 packets a second come; flow 7 loses every fourth: M = .75 / 1.25.
#[test]
fn a_steady_sink_goes_down_to_what_came() {
    let config = Config {
        control: Control::Aimd { increase: 0.0 },
        decrease: Decrease::ToWhatCame,
        ..PLAIN
    };
    let mut bench = Bench::new(config, "fair");
    bench.connected(7, 1.0);
    bench.connected(8, 1.0);
    let mut sequence = 0;
    for second in 0..40 {
        bench.pass(1.0);
        bench.data(7, 1, sequence);
        sequence += if second % 3 == 2 { 2 } else { 1 };
        if second % 2 == 0 {
            bench.data(8, 1, second / 2);
        }
        let changes = bench.changes();
        if let Some(&Why::Decrease { factor, delivery }) = changes.last() {
            let came = bench.sink.total() / 2.0 / 0.95;
            assert_eq!(bench.sink.total(), 2.0 * factor);
            assert!((came - 0.75).abs() < 0.1 || factor == delivery / (2.0 - delivery));
            return;
        }
    }
    panic!("no decrease");
}

/// Flow 8 brings what it had lost beside what it may send, so 2.75 packets a second come of 2: what flow 7 loses meanwhile cuts
/// nobody, what it loses later does.
#[test]
fn a_steady_sink_cuts_nobody_while_more_comes_than_may_be_sent() {
    let config = Config {
        control: Control::Aimd { increase: 0.0 },
        decrease: Decrease::ToWhatCame,
        ..PLAIN
    };
    let mut bench = Bench::new(config, "fair");
    bench.connected(7, 1.0);
    bench.connected(8, 1.0);
    let (mut sequence, mut cuts) = (0, [0, 0]);
    for second in 0..120 {
        let is_later = second >= 80;
        bench.pass(1.0);
        bench.data(7, 1, sequence);
        sequence += if second >= 20 && second % 3 == 2 {
            2
        } else {
            1
        };
        if !is_later {
            bench.data(8, 1, 2 * second);
            bench.data(8, 1, 2 * second + 1);
        }
        let is_cut = |why: &&Why| matches!(why, Why::Decrease { .. });
        cuts[usize::from(is_later)] += bench.changes().iter().filter(is_cut).count();
    }
    assert!(cuts[0] == 0 && cuts[1] > 0, "{cuts:?}");
}

/// A packet that waited for a relay to come back measures no round trip: feedbacks and decisions would wait for minutes.
#[test]
fn an_outage_is_no_round_trip_for_a_steady_sink() {
    for (gap, rtt_s) in [(Gap::Congestion, 120.0), (Gap::Outage, 1.0)] {
        let mut bench = Bench::new(Config { gap, ..PLAIN }, "fair");
        bench.connected(7, 1.0);
        let rate = bench.rate_of(7);
        bench.pass(2.0);
        bench.data_at(7, 1, 0, rate, FeedbackRequest::Yes, None);
        let number = bench.feedback().unwrap().number;
        bench.pass(120.0);
        let echo = Echo {
            number,
            waited_ms: 0,
        };
        bench.data_at(7, 1, 1, rate, FeedbackRequest::No, Some(echo));
        let is = bench.view(7).rtt_s;
        assert!((is - rtt_s).abs() < 1e-9, "{gap:?}: {is}");
    }
}

/// A relay is out for a minute: what its flow lost meanwhile cuts nobody, what it loses later does.
#[test]
fn an_outage_is_no_congestion_for_a_steady_sink() {
    for (gap, cuts) in [(Gap::Congestion, 1), (Gap::Outage, 0)] {
        let mut bench = Bench::new(Config { gap, ..PLAIN }, "fair");
        bench.connected(7, 1.0);
        bench.connected(8, 1.0);
        for sequence in 0..20 {
            bench.data(7, 1, sequence);
        }
        bench.pass(60.0);
        bench.data(7, 1, 79);
        bench.pass(10.0);
        let cut = |bench: &mut Bench| {
            let changes = bench.changes();
            changes
                .iter()
                .filter(|why| matches!(why, Why::Decrease { .. }))
                .count()
        };
        (80..90).for_each(|sequence| bench.data(7, 1, sequence));
        assert_eq!(cut(&mut bench).min(1), cuts);
        // Repaired, and congested.
        (20..79).for_each(|sequence| bench.data(7, 1, sequence));
        bench.pass(10.0);
        bench.data(7, 1, 90);
        cut(&mut bench);
        (92..110).for_each(|sequence| bench.data(7, 1, sequence));
        bench.pass(10.0);
        bench.data(7, 1, 110);
        assert!(cut(&mut bench) > 0);
    }
}

/// After an increase a decrease waits for two round trips, the next increase also for packets at the new rates.
#[test]
fn decisions_wait_for_packets_but_a_decrease_after_an_increase_does_not() {
    let mut bench = Bench::new(
        Config {
            packets: 5.0,
            ..PLAIN
        },
        "fair",
    );
    bench.connected(7, 1.0);
    bench.data(7, 1, 0);
    assert_eq!(bench.changes(), [Why::Increase]);
    // Two round trips and five packets at 1.5 a second: 5.33 s.
    bench.pass(5.2);
    bench.data(7, 1, 1);
    assert_eq!(bench.changes(), []);
    bench.pass(0.2);
    bench.data(7, 1, 2);
    assert_eq!(bench.changes(), [Why::Increase]);
    // At 2 a second: nine packets wait for the lost one.
    for sequence in 4..13 {
        bench.data(7, 1, sequence);
    }
    assert_eq!(bench.changes(), []);
    bench.pass(2.1);
    bench.data(7, 1, 13);
    assert!(matches!(bench.changes()[..], [Why::Decrease { .. }]));
    bench.pass(2.1);
    bench.data(7, 1, 14);
    assert_eq!(bench.changes(), []);
}

/// The constants that experiments have: nine packets at the mean rate between decisions, a list that is counted from
/// the packet that revealed the loss. One loss event, and 80 packets since, the lost one included: p = 1 - 1 / 80.
#[test]
fn the_usual_constants_by_hand() {
    let mut bench = Bench::new(Config::PAPER, "fair");
    bench.connected(7, 4.0);
    bench.connected(8, 4.0);
    bench.data(8, 1, 0);
    assert_eq!(bench.sink.total(), 8.5);
    // 9 packets at 4.25 a second, and two round trips of 1 s: 4.12 s.
    bench.pass(4.1);
    bench.data(7, 1, 0);
    assert_eq!(bench.sink.total(), 8.5);
    bench.pass(0.1);
    bench.data(7, 1, 1);
    assert_eq!(bench.sink.total(), 9.0);
    for sequence in (2..21).chain(22..100) {
        bench.data(7, 1, sequence);
    }
    bench.pass(3.0);
    bench.data(7, 1, 100);
    let p = 1.0 - 1.0 / 80.0;
    assert!((bench.view(7).delivery - p).abs() < 1e-12);
    assert!((bench.sink.total() - 9.0 * p / (2.0 - p)).abs() < 1e-9);
}

/// L_i as the text has it, and as it is counted from the packet that revealed the loss (section 3.4).
#[test]
fn the_length_of_the_list_is_read_in_two_ways() {
    for (length, congestion) in [(Length::Whole, 3.0), (Length::SinceKnown, 2.0)] {
        let mut bench = Bench::new(Config { length, ..PLAIN }, "demand-limited");
        bench.connected(7, 1.0);
        for sequence in [0, 2, 3, 4] {
            bench.data(7, 1, sequence);
        }
        assert_eq!(bench.view(7).congestion, congestion);
    }
}

/// Between L and U anywhere, nothing changes (section 3.4).
#[test]
fn the_total_stays_while_a_flow_is_between_the_thresholds() {
    let mut bench = two();
    bench.data(7, 1, 0);
    bench.clear();
    // Three packets at 1.25 a round trip.
    for sequence in 2..5 {
        bench.data(7, 1, sequence);
    }
    let c = bench.view(7).congestion;
    assert!((PLAIN.lower..PLAIN.upper).contains(&c), "{c}");
    bench.pass(10.0);
    bench.data(8, 1, 0);
    assert_eq!(bench.changes(), []);
    bench.data(7, 1, 1);
    bench.pass(10.0);
    bench.data(8, 1, 1);
    assert_eq!(bench.changes().last(), Some(&Why::Increase));
}

/// A source that is gone does not keep the others from more, and does again once it is heard.
/// One packet waits in a round trip of one: C is L, when silent flows are looked for too.
#[test]
fn a_flow_at_the_lower_threshold_holds_up_the_others() {
    let mut bench = two();
    bench.data(7, 1, 1);
    assert_eq!(bench.view(7).congestion, PLAIN.lower);
    for sequence in 0..3 {
        bench.data(8, 1, sequence);
        assert_eq!(bench.changes(), []);
        bench.pass(11.0);
    }
}

#[test]
fn a_silent_flow_does_not_hold_up_the_others() {
    let mut bench = two();
    for sequence in [0, 2, 3, 4] {
        bench.data(7, 1, sequence);
    }
    bench.clear();
    bench.pass(30.0);
    bench.data(8, 1, 0);
    assert_eq!(bench.changes(), []);
    bench.pass(60.0);
    bench.data(8, 1, 1);
    assert_eq!(bench.changes(), [Why::Increase]);
    // Heard again: it counts at once, not only when silence is looked for next.
    bench.pass(5.0);
    bench.data_at(7, 1, 5, Rate::ZERO, FeedbackRequest::No, None);
    assert!(bench.view(7).congestion >= PLAIN.lower);
    bench.clear();
    bench.data(8, 1, 2);
    assert_eq!(bench.changes(), []);
}

#[test]
fn flows_join_with_their_demand_and_leave_with_their_rate() {
    let mut bench = two();
    bench.open(9, 1, 4.0, 0);
    assert_eq!(bench.sink.total(), 6.0);
    assert_eq!(bench.changes(), [Why::Join]);
    bench.data(9, 1, 0);
    let total = bench.sink.total();
    bench.clear();
    bench.finish(9, 1, 1);
    assert!((bench.sink.total() - total * 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(bench.changes(), [Why::Leave]);
}

/// What a flow leaves is the others', up to their demands.
#[test]
fn the_total_stays_where_a_flow_leaves_alone() {
    let leave = Leave::Alone;
    let mut bench = Bench::new(Config { leave, ..PLAIN }, "demand-limited");
    for (origin, demand) in [(7, 1.0), (8, 4.0), (9, 4.0)] {
        bench.connected(origin, demand);
    }
    bench.data(9, 1, 0);
    assert_eq!(bench.sink.total(), 9.0);
    bench.finish(9, 1, 1);
    assert_eq!(bench.sink.total(), 5.0);
    assert_eq!([7, 8].map(|n| bench.rate_of(n)), [1.0, 4.0].map(rate));
}

#[test]
fn a_sink_that_all_flows_have_left_begins_anew() {
    let mut bench = Bench::new(PLAIN, "fair");
    for origin in [7, 8] {
        bench.connected(origin, 1.0);
        bench.data(origin, 1, 0);
        assert_eq!(bench.changes(), [Why::Increase]);
        bench.finish(origin, 1, 1);
        bench.clear();
    }
}

#[test]
fn the_total_is_no_more_than_frames_can_say() {
    let control = Control::Aimd { increase: 1e9 };
    let mut bench = Bench::new(Config { control, ..PLAIN }, "fair");
    bench.connected(7, 1.0);
    bench.connected(8, 1.0);
    bench.data(7, 1, 0);
    assert_eq!(bench.sink.total(), 2.0 * Rate::MAX.per_s());
}

#[test]
fn fixed_rates_are_the_demands() {
    let mut bench = Bench::new(
        Config {
            control: Control::Fixed,
            ..PLAIN
        },
        "fair",
    );
    bench.connected(7, 1.0);
    bench.connected(8, 3.0);
    for sequence in [0, 5, 6, 7, 8, 9, 10, 11] {
        bench.pass(10.0);
        bench.data(8, 1, sequence);
    }
    assert_eq!(bench.changes(), []);
    assert_eq!([7, 8].map(|n| bench.rate_of(n)), [1.0, 3.0].map(rate));
}

/// Figure 1: M r is below what the network can carry. Here it carries 1.1 packets per second and loses the rest at
/// random; p is estimated by the loss intervals. It holds to 1.5 times the capacity: losses that follow each other
/// are one event, so that p is taken as too high where much is lost.
#[test]
fn a_decrease_goes_below_the_capacity() {
    let capacity = 1.1;
    for load in [1.2, 1.35, 1.5, 1.65] {
        let delivery = capacity / load;
        let (mut losses, mut random, mut was_lost) = (Losses::default(), 1_u64, false);
        let mut factors = Vec::new();
        for sequence in 0..20_000 {
            // Knuth's MMIX constants.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let is_lost = (random >> 11) as f64 / (1_u64 << 53) as f64 > delivery;
            if is_lost && !was_lost {
                losses.event(sequence, 0);
            }
            was_lost = is_lost;
            let p = losses.delivery(sequence + 1);
            factors.push(p / (2.0 - p));
        }
        let mean = factors.iter().sum::<f64>() / factors.len() as f64;
        assert!(load * mean < capacity, "{load}: M {mean}");
    }
}
