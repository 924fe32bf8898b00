//! What holds over all paths, losses and queues.

use super::*;
use proptest::prelude::*;
use thalweg_planner::streams::{bounds, Transceiver};
use thalweg_protocols::fastforward::Config;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// With acknowledgements and back-pressure nothing is lost while every link brings more than half
    /// through, whatever the queues; and nobody is given a packet twice.
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(
        seed in 0..1000u64,
        hops in 1..=6usize,
        queue in 1..=12usize,
        shares in proptest::collection::vec((0..45u32, 0..20u32), 6),
    ) {
        let ground = row(seed);
        let plan = path(&ground, hops);
        let ids = ground.ids(&plan.nodes);
        let mut losses = Vec::new();
        for (pair, (there, back)) in ids.windows(2).zip(shares) {
            let (a, b) = (pair[0], pair[1]);
            losses.push(Loss { from: a, to: b, share: f64::from(there) / 100.0 });
            losses.push(Loss { from: b, to: a, share: f64::from(back) / 100.0 });
        }
        let ground = ground.with_losses(&losses, 116).unwrap();
        let config = Config { queue, ..Config::default() };
        let stream = stream::StreamTerms { config, ..stream::StreamTerms::default() };
        let terms = Terms { stream, ..terms(FULL) };
        let got = go(&ground, &plan, 60, &terms, seed);
        prop_assert_eq!((got.received, got.repeated), (60, 0), "{:?}", got);
        prop_assert!(got.verified && got.end == "complete", "{:?}", got);
        prop_assert!(got.links.iter().all(|l| l.overflows == 0 && l.queue_peak as usize <= queue.max(1)));
    }

    /// Without one of them packets are lost, never repeated; asked for again they come.
    #[test]
    fn the_application_repairs_what_the_network_loses(
        seed in 0..1000u64,
        hops in 1..=4usize,
        share in 0..30u32,
        acknowledged in any::<bool>(),
    ) {
        let ground = row(seed);
        let plan = path(&ground, hops);
        let ids = ground.ids(&plan.nodes);
        let share = f64::from(share) / 100.0;
        let loss = Loss { from: ids[hops - 1], to: ids[hops], share };
        let ground = ground.with_losses(&[loss], 116).unwrap();
        let carrier = if acknowledged { NO_BACK_PRESSURE } else { NO_ACK };
        let stream = stream::StreamTerms { repairs: 30, ..stream::StreamTerms::default() };
        let terms = Terms { stream, ..terms(carrier) };
        let got = go(&ground, &plan, 40, &terms, seed);
        prop_assert_eq!((got.received, got.repeated), (40, 0), "{:?}", got);
        prop_assert!(got.verified, "{:?}", got);
    }
}

#[test]
fn no_stream_is_faster_than_its_bound() {
    let ground = row(5);
    let board = &ground.site.board;
    let radio = Transceiver {
        to_transmit: board.timing.turnaround,
        to_receive: board.timing.to_receive,
    };
    let (_, acked) = bounds(122, 11, radio);
    let unacked = 122.0 * 8.0 / (3904.0 + 17.0) * 1e3;
    let mut last = f64::INFINITY;
    for hops in [1, 3, 6] {
        let plan = path(&ground, hops);
        let full = go(&ground, &plan, 200, &terms(FULL), 1).throughput().kbps();
        let none = go(&ground, &plan, 200, &terms(NO_ACK), 1)
            .throughput()
            .kbps();
        assert!(full < acked.kbps() && none < unacked, "{full} {none}");
        assert!(full < none && full <= last, "{full} {none} {last}");
        // 23.7 kB/s, less what the first packet takes to get there.
        assert!(full > 0.93 * 189.6, "{full}");
        last = full;
    }
}

#[test]
fn a_slow_last_link_fills_queues_or_overflows_them() {
    let ground = row(2);
    let plan = path(&ground, 3);
    let ids = ground.ids(&plan.nodes);
    let loss = Loss {
        from: ids[2],
        to: ids[3],
        share: 0.3,
    };
    let ground = ground.with_losses(&[loss], 116).unwrap();
    let full = go(&ground, &plan, 300, &terms(FULL), 3);
    let open = go(&ground, &plan, 300, &terms(NO_BACK_PRESSURE), 3);
    assert_eq!((full.received, full.links[2].overflows), (300, 0));
    assert!(full.links[2].withheld > 0 && full.links[2].queue_peak == 12);
    assert!(open.links[2].overflows > 20 && open.links[2].withheld == 0);
    // The packet that ends the stream may be among those that found no room.
    let all = open.received + open.links[2].overflows;
    assert!((300..=301).contains(&all), "{all}");
}

#[test]
fn the_same_seed_gives_the_same_stream() {
    let once = |seed| {
        let ground = ground_of(Testbed::load("office12").unwrap(), seed);
        go(&ground, &path(&ground, 5), 100, &terms(FULL), seed)
    };
    assert_eq!(once(4), once(4));
    assert_ne!(once(4).seconds, once(5).seconds);
}
