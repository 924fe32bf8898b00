//! When feedback is sent, how often, what it says; round trips (section 3.7).

use super::*;

/// A source that has sent a packet at its newest rate, a minute ago.
fn settled(config: Config) -> Bench {
    let mut bench = Bench::new(config, "demand-limited");
    bench.connected(7, 1.0);
    bench.data(7, 1, 0);
    bench.pass(30.0);
    bench.clear();
    bench
}

#[test]
fn nothing_is_said_where_nothing_is_wrong() {
    let mut bench = settled(PLAIN);
    for sequence in 1..50 {
        bench.pass(1.0);
        bench.data(7, 1, sequence);
        assert_eq!(bench.says(), []);
    }
}

#[test]
fn each_of_four_conditions_asks_for_feedback() {
    let mut bench = settled(PLAIN);
    bench.data(7, 1, 3);
    assert_eq!(bench.feedback().unwrap().nacks, [1, 2]);

    let mut bench = settled(PLAIN);
    bench.data_at(7, 1, 1, rate(0.5), FeedbackRequest::No, None);
    assert_eq!(bench.feedback().unwrap().rate, rate(1.0));

    let mut bench = settled(PLAIN);
    bench.data(7, 1, 0);
    assert_eq!(bench.feedback().unwrap().next, 1);

    let mut bench = settled(PLAIN);
    bench.data_at(7, 1, 1, rate(1.0), FeedbackRequest::Yes, None);
    assert_eq!(bench.feedback().unwrap().next, 2);
}

#[test]
fn a_feedback_asks_for_the_first_ten_that_are_missing() {
    let mut bench = settled(PLAIN);
    bench.data(7, 1, 20);
    assert!(bench.feedback().unwrap().nacks.into_iter().eq(1..11));
}

/// The first round trip is taken as 1 s, without a deviation: the RTO.
#[test]
fn no_two_feedbacks_within_the_rto() {
    let mut bench = settled(PLAIN);
    bench.data(7, 1, 3);
    assert!(bench.feedback().is_some());
    bench.pass(0.9);
    bench.data(7, 1, 4);
    assert_eq!(bench.says(), []);
    // The paper's sink has no timer: a packet is needed.
    bench.pass(1.0);
    assert_eq!(bench.says(), []);
    bench.data(7, 1, 5);
    assert_eq!(bench.feedback().unwrap().nacks, [1, 2]);
}

#[test]
fn a_timer_repeats_until_nothing_is_missing_or_the_source_is_silent() {
    let config = Config {
        repeat: Repeat::ByTimer,
        ..PLAIN
    };
    let mut bench = settled(config);
    bench.data(7, 1, 2);
    assert!(bench.feedback().is_some());
    for _ in 0..3 {
        bench.pass(0.9);
        assert_eq!(bench.says(), []);
        bench.pass(0.2);
        assert_eq!(bench.feedback().unwrap().nacks, [1]);
    }
    bench.data(7, 1, 1);
    bench.pass(5.0);
    assert_eq!(bench.says(), []);

    bench.data(7, 1, 4);
    let mut feedbacks = 0;
    for _ in 0..200 {
        feedbacks += bench.says().len();
        bench.pass(1.0);
    }
    assert_eq!(feedbacks, 61);
    let Some(at) = bench.sink.poll_timeout() else {
        panic!("silent flows are looked for");
    };
    assert!(at > bench.now);
}

/// 4 s from feedback to answer, of which the source waited 1: 3 s; then 2 s. Weights 1/8 and 1/4 here.
#[test]
fn round_trips_leave_out_what_the_source_waited() {
    let mut bench = settled(Config {
        rtt_gain: 0.125,
        ..PLAIN
    });
    let echo = |number, waited_ms| Some(Echo { number, waited_ms });
    bench.data(7, 1, 0);
    let number = bench.feedback().unwrap().number;
    bench.pass(4.0);
    bench.data_at(7, 1, 1, rate(1.0), FeedbackRequest::Yes, echo(number, 1000));
    assert_eq!(bench.view(7).rtt_s, 3.0);
    let number = bench.feedback().unwrap().number;
    bench.pass(2.0);
    bench.data_at(7, 1, 2, rate(1.0), FeedbackRequest::No, echo(number, 0));
    assert_eq!(bench.view(7).rtt_s, 3.0 - 0.125);
    // RTO = 2.875 s + 2 x .25 s, from the feedback 2 s ago.
    bench.pass(1.3);
    bench.data_at(7, 1, 3, rate(1.0), FeedbackRequest::Yes, None);
    assert!(
        bench.feedback().is_some(),
        "the limit is the RTO of when the last was sent, 3 s"
    );
    bench.pass(3.3);
    bench.data_at(7, 1, 4, rate(1.0), FeedbackRequest::Yes, None);
    assert_eq!(bench.says(), []);
    bench.pass(0.1);
    bench.data_at(7, 1, 5, rate(1.0), FeedbackRequest::Yes, None);
    assert!(bench.feedback().is_some());
    // Numbers of no feedback, and waits longer than the time that has passed, teach nothing.
    bench.data_at(7, 1, 6, rate(1.0), FeedbackRequest::No, echo(200, 0));
    bench.data_at(7, 1, 7, rate(1.0), FeedbackRequest::No, echo(5, 60_000));
    assert_eq!(bench.view(7).rtt_s, 3.0 - 0.125);
}
