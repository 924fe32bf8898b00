//! Whole runs on small testbeds: conservation, limits, order of strategies, determinism.

use super::*;
use proptest::prelude::{prop_assert, proptest, ProptestConfig};

fn setup(strategy: &str, workload: Workload) -> Setup {
    Setup {
        strategy: Strategy::named(strategy).unwrap(),
        workload,
        application: None,
        settle: Duration::from_secs(100),
        duration: Duration::from_secs(30),
        sinks: Vec::new(),
        routers: None,
        doze: None,
        queue: 8,
        frame_bytes: 36,
        power: None,
        channel: Channel::LAST,
        failures: Vec::new(),
        rates: BTreeMap::new(),
    }
}

fn outcome(setup: &Setup, seed: u64) -> Outcome {
    let testbed = Testbed::load("stata").unwrap();
    let environment = testbed.realise(seed);
    run(&testbed, &environment, setup, seed, None).unwrap()
}

fn check(o: &Outcome, queue: u8) {
    assert!(o.packets.is_conserved(), "{:?}", o.packets);
    assert!(o.deepest_queue <= usize::from(queue));
    let lost: u64 = o.lost.values().sum();
    assert!(lost <= o.sent && o.useful_hops <= o.sent);
    let delivered: u64 = o.nodes.iter().map(|n| n.delivered).sum();
    assert_eq!(delivered, o.packets.delivered);
    assert_eq!(o.latencies.len() as u64, delivered);
    let fairness = o.fairness().unwrap_or(1.0);
    assert!((0.0..=1.0 + 1e-9).contains(&fairness));
}

#[test]
fn a_quiet_network_delivers_most_and_a_saturated_one_starves_its_edge() {
    let quiet = outcome(&setup("none", Workload::Periodic { rate: 0.05 }), 1);
    check(&quiet, 8);
    let share = quiet.packets.delivered as f64 / quiet.packets.made as f64;
    assert!(share > 0.85, "{share}");
    let none = outcome(&setup("none", Workload::Periodic { rate: 4.0 }), 1);
    let fusion = outcome(&setup("fusion", Workload::Periodic { rate: 4.0 }), 1);
    assert!(none.channel_loss().unwrap() > 0.6);
    assert!(fusion.efficiency().unwrap() > 1.5 * none.efficiency().unwrap());
    assert!(fusion.fairness().unwrap() > 2.0 * none.fairness().unwrap());
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let setup = setup("fusion", Workload::Periodic { rate: 1.0 });
    let (a, b) = (outcome(&setup, 3), outcome(&setup, 3));
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
    assert_ne!(outcome(&setup, 4).packets, a.packets);
}

#[test]
fn only_the_backbone_forwards_where_there_is_one() {
    let setup = Setup {
        routers: Some(10),
        ..setup("none", Workload::Periodic { rate: 0.25 })
    };
    let o = outcome(&setup, 1);
    check(&o, 8);
    let forwarding = |n: &&NodeCounts| n.received > 0;
    assert!(o.nodes.iter().filter(forwarding).count() <= 10);
}

#[test]
fn several_sinks_share_the_network() {
    let setup = Setup {
        sinks: vec![5, 14, 7],
        ..setup("none", Workload::Periodic { rate: 0.5 })
    };
    let o = outcome(&setup, 1);
    check(&o, 8);
    assert!(o.sinks.iter().all(|s| o.nodes[*s].received > 0));
    assert_eq!(o.nodes[5].taken + o.nodes[14].taken + o.nodes[7].taken, 0);
}

#[test]
fn leaves_that_doze_use_less_and_still_deliver() {
    let awake = setup("occupancy", Workload::Periodic { rate: 0.25 });
    let doze = Setup {
        doze: Some(Duration::from_millis(200)),
        ..awake.clone()
    };
    let (awake, doze) = (outcome(&awake, 2), outcome(&doze, 2));
    check(&doze, 8);
    assert!(doze.joules < 0.9 * awake.joules);
    assert!(doze.packets.delivered * 10 > awake.packets.delivered * 8);
}

#[test]
fn a_map_shows_every_link() {
    let spot = |id: &str, x: f64, role| Spot {
        id: id.into(),
        at: (x, 0.0),
        role,
    };
    let spots = [
        spot("1", 0.0, SpotRole::Sink),
        spot("<2", 5.0, SpotRole::Node),
    ];
    let edge = Edge {
        from: 1,
        to: 0,
        packets: 7.0,
    };
    let svg = traffic_map("A & B", &spots, &[edge]);
    assert_eq!(svg.matches("<line").count(), 1);
    assert!(svg.contains("A &amp; B") && svg.contains("widest edge: 7"));
    assert!(traffic_map("", &[], &[]).ends_with("</svg>"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn packets_are_conserved_and_queues_keep_their_limit(
        seed in 0u64..1_000_000,
        strategy in proptest::sample::select(Strategy::NAMES.to_vec()),
        rate in 0.1f64..5.0,
        burst in 0u16..8,
        queue in 1u8..=8,
        failing in 0usize..54,
    ) {
        let workload = match burst {
            0 => Workload::Periodic { rate },
            burst => Workload::Events { burst, period: Duration::from_secs(7) },
        };
        let setup = Setup {
            duration: Duration::from_secs(15),
            queue,
            failures: vec![(failing, Duration::from_secs(5))],
            ..setup(strategy, workload)
        };
        let o = outcome(&setup, seed);
        prop_assert!(o.packets.is_conserved(), "seed {} {}: {:?}", seed, strategy, o.packets);
        prop_assert!(o.deepest_queue <= usize::from(queue), "seed {seed}");
    }
}
