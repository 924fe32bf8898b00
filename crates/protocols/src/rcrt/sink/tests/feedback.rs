//! When feedback is sent, how often, what it says; round trips (section 3.7).

use super::super::rtt::RoundTrip;
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
    let before = bench.view(7).feedbacks;
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
    assert_eq!(bench.view(7).feedbacks, before + 2);
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

/// 4 s, 2 s and 2 s: errors of 0, 2 and 1 s from the mean. The second answer is to the feedback before the last.
#[test]
fn the_limit_is_the_mean_and_twice_the_deviation() {
    let mut rtt = RoundTrip::new(SECOND, 0.5);
    let at = |s: u64| Instant::ZERO + SECOND * s;
    let first = rtt.sends(at(0));
    rtt.answered(at(4), first, Duration::ZERO);
    let second = rtt.sends(at(10));
    let third = rtt.sends(at(11));
    rtt.answered(at(12), second, Duration::ZERO);
    rtt.answered(at(13), third, Duration::ZERO);
    assert_eq!(rtt.mean(), 2.5);
    assert!((rtt.limit().as_secs_f64() - 3.75).abs() < 1e-9);
}

#[test]
fn the_end_of_a_flow_measures_a_round_trip_too() {
    let mut bench = settled(PLAIN);
    bench.data(7, 1, 2);
    let number = bench.feedback().unwrap().number;
    bench.pass(3.0);
    let waited_ms = 1000;
    let says = UpBody::Finish {
        end: 4,
        echo: Some(Echo { number, waited_ms }),
        proof: None,
    };
    bench.up(7, 1, says);
    assert_eq!(bench.view(7).rtt_s, 2.0);
}
