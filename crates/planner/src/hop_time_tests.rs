//! Tests of `hop_time.rs`.

use super::*;

fn counted(known: f64, frames: f64) -> HopLinks {
    let share = Share {
        known,
        frames: Some(frames),
        margin: None,
    };
    HopLinks {
        channels: vec![[share; 2]],
        call: 0.0,
    }
}

fn uncounted(known: f64, channels: usize) -> HopLinks {
    let share = Share {
        known,
        ..Share::NONE
    };
    HopLinks {
        channels: vec![[share; 2]; channels],
        call: 0.0,
    }
}

fn drawn(hops: usize, hop: &HopLinks) -> Courses {
    let known = hop.channels[0][0].known;
    let (steady_s, hops) = (steady(hops, known), vec![hop.clone(); hops]);
    let transfer = Transfer::default();
    Courses::drawn(&hops, &LinkModel::UNKNOWN, (&transfer, steady_s))
}

fn steady(hops: usize, share: f64) -> f64 {
    let transfer = Transfer::default();
    steady_s(vec![cost(share, share, &transfer); hops], &transfer)
}

/// One of the hops is likely to be weak, and the route is as slow as that.
#[test]
fn the_longer_a_route_the_more_changes_cost() {
    let more = |hops| drawn(hops, &counted(0.8, 8.0)).mean(|s| s) / steady(hops, 0.8);
    let [one, three, ten] = [1, 3, 10].map(more);
    assert!(
        one > 1.0 && three > 1.1 * one && ten > 1.2 * three,
        "{one} {three} {ten}"
    );
}

#[test]
fn strong_links_stay_strong() {
    let strong = Share {
        known: 0.99,
        frames: Some(1_000.0),
        margin: Some(20.0),
    };
    let hop = HopLinks {
        channels: vec![[strong; 2]],
        call: 0.0,
    };
    let courses = drawn(10, &hop);
    let median = courses.0[COURSES / 2];
    assert!(
        (0.9..1.05).contains(&(median / steady(10, 0.99))),
        "{median}"
    );
    let [least, most] = courses.likely();
    assert!(most < 1.3 * least, "{least} {most}");
}

#[test]
fn the_more_is_counted_the_less_is_open() {
    let open = |frames| {
        let [least, most] = drawn(1, &counted(0.7, frames)).likely();
        most / least
    };
    let [few, many] = [8.0, 1_000.0].map(open);
    assert!(few > 1.2 * many, "{few} {many}");
}

/// A survey chooses among them; two beacons each way do not always find the best.
#[test]
fn of_ratios_that_nobody_counted_more_channels_are_better() {
    let mean = |channels| drawn(5, &uncounted(0.7, channels)).mean(|s| s);
    let [one, four] = [1, 4].map(mean);
    assert!(four < 0.7 * one, "{one} {four}");
}

#[test]
fn nothing_gets_through_within_a_bound() {
    let courses = drawn(3, &counted(0.0, 1e6));
    let longest = courses.0[COURSES - 1];
    assert!(
        (ageing::WHOLE_S..2.0 * ageing::WHOLE_S).contains(&longest),
        "{longest}"
    );
}

/// Sixteen megabytes take longer than links take to change.
#[test]
fn a_long_transfer_takes_as_many_times_as_long_as_a_short_one() {
    let of = |packets| {
        let transfer = Transfer {
            packets,
            ..Transfer::default()
        };
        let steady_s = steady_s(vec![cost(0.8, 0.8, &transfer); 8], &transfer);
        let hops = vec![counted(0.8, 100.0); 8];
        let courses = Courses::drawn(&hops, &LinkModel::UNKNOWN, (&transfer, steady_s));
        courses.mean(|s| s) / steady_s
    };
    let [short, long] = [17_000, 138_000].map(of);
    assert!((0.7..1.3).contains(&(long / short)), "{short} {long}");
}
