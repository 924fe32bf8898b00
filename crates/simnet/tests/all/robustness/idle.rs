//! Idle networks: their nodes sleep, draw what is foreseen, and wake before an order.

use std::ops::ControlFlow::Continue;
use thalweg_host::survey::{Survey, CLEAN_CHANNELS};
use thalweg_simnet::motes::{currents, Motes};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, ChannelSet, Duration};

const WEEK: Duration = Duration::from_secs(7 * 86_400);

fn site(testbed: &str, seed: u64) -> Site {
    Site::new(Testbed::load(testbed).unwrap(), seed).idling(Some(WEEK))
}

#[test]
fn a_node_that_rests_draws_what_is_foreseen() {
    for (testbed, least_uw, most_uw) in [("floor21", 300.0, 400.0), ("motes20", 80.0, 100.0)] {
        let site = site(testbed, 1);
        let mut motes = Motes::open(&site, 5).unwrap();
        motes.wait(Duration::from_secs(3)).unwrap();
        let before = motes.network().energy(3);
        let minute = Duration::from_secs(60);
        motes.wait(minute).unwrap();
        let spent = motes.network().energy(3).since(&before);
        let on = spent.radio_receive + spent.radio_calibrate;
        assert!(on < minute / 200, "{testbed}: {on} in {minute}");
        let drawn_w = spent.joules() / minute.as_secs_f64();
        assert!((least_uw..most_uw).contains(&(drawn_w * 1e6)), "{drawn_w}");
        let foreseen_w = currents(&site.board).resting_w;
        assert!(
            (drawn_w / foreseen_w - 1.0).abs() < 0.05,
            "{testbed}: {drawn_w} W, foreseen {foreseen_w}"
        );
    }
}

#[test]
fn after_an_idle_week_all_nodes_are_roused_in_two_seconds() {
    let channels: ChannelSet = (CLEAN_CHANNELS.iter())
        .map(|number| Channel::new(*number).unwrap())
        .collect();
    for (testbed, seed) in [("motes20", 1), ("building100", 1), ("building100", 2)] {
        let site = site(testbed, seed);
        let mut motes = Motes::open(&site, seed).unwrap();
        let sink = site.testbed.sink_index();
        let surveyed = motes
            .survey_all(sink, Survey::sweep(channels), &mut |_| Continue(()))
            .unwrap();
        assert_eq!(surveyed.missing, [], "{testbed}");
        let rousing_s = surveyed.rousing.as_secs_f64();
        assert!((1.9..2.1).contains(&rousing_s), "{testbed}: {rousing_s} s");
    }
}
