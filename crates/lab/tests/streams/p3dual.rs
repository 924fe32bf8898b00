//! P3 over two radios: all arrives, in rounds, at the pace that board and bus allow.

use super::*;
use thalweg_lab::streams::{pace, SetUp, Streamed};
use thalweg_sim::Fault;
use thalweg_units::{BitRate, Duration, NodeId};

fn over(
    ground: &Ground,
    plan: StagePlan,
    packets: usize,
    (terms, seed): (&Terms, u64),
) -> Streamed {
    let mut nobody = Onlookers::default();
    carry(ground, plan, packets, (terms, seed), &mut nobody).extra
}

fn go(ground: &Ground, hops: usize, packets: usize) -> Streamed {
    let plan = ground.stages(&path(ground, hops), 1).unwrap();
    let terms = terms(Carrier::Stages(SetUp::Told));
    over(ground, plan, packets, (&terms, 1))
}

#[test]
fn the_pace_is_that_of_bus_and_air_whatever_the_number_of_hops() {
    let ground = row(1);
    let pace = pace(&ground.site.board, 100);
    // 3904 on the air; 363 to copy, 100 to strobe, 17 to turn round, 4 for an interrupt, 20 to spare.
    assert!((4_407_000..4_409_000).contains(&pace.cycle.as_nanos()));
    let most = BitRate::of_bytes(122, pace.cycle).kbps();
    for hops in [1, 2, 4, 6] {
        let got = go(&ground, hops, 200);
        assert!(got.stream.verified, "{got:?}");
        assert_eq!(got.stream.received, 200);
        let kbps = got.stream.throughput().kbps();
        assert!(kbps <= most * 1.001, "{kbps} of {most}");
        assert!(kbps > most * 0.9, "{hops} hops: {kbps} of {most}");
    }
}

#[test]
fn what_is_lost_comes_again_in_rounds() {
    let loss = Loss {
        from: NodeId::new(3).unwrap(),
        to: NodeId::new(2).unwrap(),
        share: 0.3,
    };
    let ground = row(1).with_losses(&[loss], 116).unwrap();
    let got = go(&ground, 4, 100);
    assert!(got.stream.verified, "{got:?}");
    assert!(got.stream.rounds > 1);
    assert!(got
        .stream
        .first_round
        .is_some_and(|r| (0.5..0.9).contains(&r)));
    assert!((111..200).contains(&got.stages.unwrap().source_sent));
}

#[test]
fn a_sink_out_of_reach_ends_in_silence() {
    let loss = |from, to| Loss {
        from: NodeId::new(from).unwrap(),
        to: NodeId::new(to).unwrap(),
        share: 0.99,
    };
    // Of the frames' symbols so many are hit that not even short ones get through.
    let cut = [loss(2, 1), loss(3, 1), loss(1, 2), loss(1, 3)];
    let mut ground = row(1);
    for _ in 0..12 {
        ground = ground.with_losses(&cut, 20).unwrap();
    }
    let got = go(&ground, 2, 20);
    assert!(!got.stream.verified);
    assert_eq!(got.stream.source_end.as_deref(), Some("silent"));
}

fn called(ground: &Ground, hops: usize, packets: usize, seed: u64) -> Streamed {
    let plan = ground.stages(&path(ground, hops), 1).unwrap();
    let terms = terms(Carrier::Stages(SetUp::Called));
    over(ground, plan, packets, (&terms, seed))
}

#[test]
fn a_call_over_the_air_gives_the_same_pace() {
    let ground = row(1);
    let most = BitRate::of_bytes(122, pace(&ground.site.board, 100).cycle).kbps();
    for hops in [1, 2, 4, 6] {
        for seed in 1..=4 {
            let got = called(&ground, hops, 150, seed);
            assert!(got.stream.verified, "{hops} hops, {seed}: {got:?}");
            let kbps = got.stream.throughput().kbps();
            assert!(
                kbps > most * 0.9 && kbps <= most * 1.001,
                "{kbps} of {most}"
            );
            let set_up = got.stream.setup_seconds;
            assert!(
                (0.3..0.5 + 0.2 * hops as f64).contains(&set_up),
                "{hops}: {set_up}"
            );
        }
    }
}

/// Node 5 over nodes 3 and 4 to node 1, of which `dead` dies before the call.
fn with_dead(dead: usize) -> Streamed {
    let ground = row(1);
    let plan = StagePlan {
        stages: vec![vec![4], vec![2, 3], vec![0]],
        links: path(&ground, 2).links,
    };
    let terms = Terms {
        death: Some((dead, Duration::ZERO, Fault::Dead)),
        ..terms(Carrier::Stages(SetUp::Called))
    };
    over(&ground, plan, 120, (&terms, 1))
}

#[test]
fn a_stage_that_lost_a_relay_works_on_and_a_dead_source_is_told() {
    let got = with_dead(3);
    assert!(
        got.stream.verified && got.stream.setup_seconds < 1.0,
        "{got:?}"
    );
    let got = with_dead(4);
    assert_eq!(
        (got.stream.received, got.stream.end.as_str()),
        (0, "silent")
    );
    assert_eq!(got.stream.source_end.as_deref(), Some("under way"));
}

#[test]
fn a_long_stream_is_one_stream() {
    // Longer than any node waits for what does not come.
    let got = called(&row(1), 3, 600, 1);
    assert!(got.stream.verified && got.stream.seconds > 2.5, "{got:?}");
    assert_eq!(got.stream.source_end.as_deref(), Some("complete"));
    assert!(
        got.stream.first_round.is_some_and(|share| share > 0.95),
        "{got:?}"
    );
}

#[test]
fn lost_calls_are_repeated_and_a_stream_that_falls_silent_is_called_again() {
    // Three calls in four are lost on the middle links, both ways: repetitions make up for it.
    let loss = |from, to, share| Loss {
        from: NodeId::new(from).unwrap(),
        to: NodeId::new(to).unwrap(),
        share,
    };
    let most = [
        loss(3, 2, 0.3),
        loss(2, 3, 0.3),
        loss(4, 3, 0.3),
        loss(3, 4, 0.3),
    ];
    let ground = row(1).with_losses(&most, 20).unwrap();
    let got = called(&ground, 3, 40, 1);
    assert!(got.stream.verified, "{got:?}");
    assert!(got.stream.rounds > 1);
}
