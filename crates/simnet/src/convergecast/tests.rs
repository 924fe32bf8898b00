//! Whole runs on small testbeds: conservation, limits, order of strategies, determinism.

use super::*;
use proptest::prelude::{prop_assert, proptest, ProptestConfig};
use std::ops::ControlFlow;
use thalweg_medium::Environment;
use thalweg_protocols::stack::{Event, Open};
use thalweg_testbeds::Testbed;

fn setup(strategy: &str, workload: Workload) -> Setup {
    Setup {
        strategy: Strategy::named(strategy).unwrap(),
        workload,
        settle: Duration::from_secs(100),
        duration: Duration::from_secs(30),
        sinks: Vec::new(),
        routers: None,
        doze: None,
        lpl: None,
        queue: 8,
        frame_bytes: 36,
        power: None,
        channel: Channel::LAST,
        failures: Vec::new(),
        rates: BTreeMap::new(),
    }
}

fn outcome(setup: &Setup, seed: u64) -> Outcome {
    let site = Site::new(Testbed::load("stata").unwrap(), seed);
    run(&site, setup, seed, None).unwrap()
}

/// Whether every packet is accounted for, once.
fn is_conserved(p: &Packets) -> bool {
    let dropped: u64 = p.dropped.values().sum();
    p.before + p.made == p.skipped + p.unsent + p.delivered + dropped + p.waiting
}

fn check(o: &Outcome, queue: u8) {
    assert!(is_conserved(&o.packets), "{:?}", o.packets);
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
fn where_congested_nodes_have_priority_they_have_the_plain_windows_and_others_four_times_those() {
    let mac = csma::Config::MICA2;
    let of = |name| prioritised(mac, &Strategy::named(name).unwrap());
    assert_eq!(of("none"), mac);
    for name in ["rate-limiting", "occupancy", "fusion"] {
        let csma::Scheme::BMac(b) = of(name).scheme else {
            panic!("no B-MAC");
        };
        assert_eq!((b.windows.initial, b.windows.congestion), (128, 64));
    }
}

#[test]
fn a_quiet_network_delivers_most_and_a_saturated_one_starves_its_edge() {
    let quiet = outcome(&setup("none", Workload::Periodic { rate: 0.05 }), 1);
    check(&quiet, 8);
    let share = quiet.packets.delivered as f64 / quiet.packets.made as f64;
    assert!(share > 0.85, "{share}");
    // One run of a saturated network says little.
    let saturated = |strategy| -> Vec<Outcome> {
        let setup = setup(strategy, Workload::Periodic { rate: 4.0 });
        (1..=4).map(|seed| outcome(&setup, seed)).collect()
    };
    let (none, fusion) = (saturated("none"), saturated("fusion"));
    let mean = |runs: &[Outcome], of: fn(&Outcome) -> Option<f64>| {
        runs.iter().map(|o| of(o).unwrap()).sum::<f64>() / runs.len() as f64
    };
    assert!(mean(&none, Outcome::channel_loss) > 0.6);
    let gain = |of| mean(&fusion, of) / mean(&none, of);
    assert!(gain(Outcome::efficiency) > 1.5);
    assert!(gain(Outcome::fairness) > 2.0);
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
fn while_routes_settle_a_periodic_load_is_on_the_air_and_events_are_not() {
    let frames = |workload| {
        let setup = Setup {
            duration: Duration::ZERO,
            ..setup("none", workload)
        };
        outcome(&setup, 2).air_frames
    };
    let period = Duration::from_secs(7);
    let [one, eight] = [1, 8].map(|burst| frames(Workload::Events { burst, period }));
    assert_eq!(one, eight);
    assert!(frames(Workload::Periodic { rate: 1.0 }) > 2 * one);
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
        prop_assert!(is_conserved(&o.packets), "seed {} {}: {:?}", seed, strategy, o.packets);
        prop_assert!(o.deepest_queue <= usize::from(queue), "seed {seed}");
    }
}

/// Two nodes 40 dB above the noise: the second, a sink, listens every 185 ms; the first sends it 50
/// packets, one a second. How many arrive, and how long the sink was awake.
fn to_a_sleeper(sender: csma::Config, packets: u64, seed: u64) -> (u64, f64) {
    let board = Board {
        wakes: Wakes::WhenAsked,
        ..boards::load("mica2").unwrap()
    };
    let receiver = csma::Config::MICA2
        .with_lpl(Duration::from_millis(185))
        .unwrap();
    let node = |id: u16, mac, parent: Option<u16>| {
        let id = NodeId::new(id).unwrap();
        let config = Config {
            id,
            channel: Channel::LAST,
            mac,
            role: if parent.is_some() {
                Role::Leaf
            } else {
                Role::Sink
            },
            routing: Routing::Fixed(parent.map(|p| NodeId::new(p).unwrap())),
            queue: Queue::of(8),
            seed: seed + u64::from(id.get()),
        };
        let readings = Readings::new(Application::Waits, 20);
        Node::<_, _>::new(config, Open, readings)
    };
    let engines = vec![node(1, sender, Some(2)), node(2, receiver, None)];
    let env = Environment::full_mesh(2, board.chip, Dbm(-60.0), 1);
    let reach = Reach::of_environment(&env, board.chip, Channel::LAST, board.tx_power);
    let mut network = Network::on(Ether::new(reach, seed), &[board], engines, seed).unwrap();
    (0..2).for_each(|n| network.command(n, Command::Start));
    let second = Duration::from_secs(1);
    let schedule = Schedule {
        first: Instant::ZERO + second,
        period: second,
        until: Instant::ZERO + second * (packets + 1),
        burst: 1,
    };
    if packets > 0 {
        network.command(0, Command::Upper(schedule));
    }
    let seconds = 60;
    let end = SimTime::ZERO + second * seconds;
    let mut arrived = 0;
    network
        .run_until(end, |_, node, event| {
            arrived += u64::from(node == 1 && matches!(event, Event::Received { .. }));
            ControlFlow::Continue(())
        })
        .unwrap();
    let awake = network.energy(1).radio_on().as_secs_f64() / seconds as f64;
    (arrived, awake)
}

#[test]
fn a_sleeper_gets_what_has_a_long_preamble_and_not_what_has_a_short_one() {
    let long = csma::Config::MICA2.with_lpl(Duration::from_millis(185));
    let (arrived, awake) = to_a_sleeper(long.unwrap(), 50, 1);
    assert!(arrived >= 49, "{arrived}");
    // Half a preamble, frame and acknowledgement: some 120 ms for each.
    assert!((0.06..0.16).contains(&awake), "{awake}");
    // Four tries of 24 ms each find it awake now and then.
    let short = csma::Config {
        retries: 0,
        ..csma::Config::MICA2
    };
    let (arrived, _) = to_a_sleeper(short, 50, 1);
    assert!(arrived <= 10, "{arrived}");
}

#[test]
fn an_idle_sleeper_is_awake_for_the_share_that_its_looks_take() {
    let long = csma::Config::MICA2.with_lpl(Duration::from_millis(185));
    let (_, awake) = to_a_sleeper(long.unwrap(), 0, 1);
    let expected = long.unwrap().lpl.unwrap();
    let on = (boards::load("mica2").unwrap().start_up() + expected.look).as_secs_f64();
    let expected = on / (on + expected.interval.as_secs_f64());
    assert!((awake / expected - 1.0).abs() < 0.01, "{awake} {expected}");
    assert!((expected - 2.8 / 187.8).abs() < 1e-6);
}

#[test]
fn networks_that_sleep_still_collect_and_use_less() {
    let awake = setup("fusion", Workload::Periodic { rate: 0.02 });
    let asleep = Setup {
        lpl: Some(Duration::from_millis(20)),
        ..awake.clone()
    };
    let (awake, o) = (outcome(&awake, 2), outcome(&asleep, 2));
    check(&o, 8);
    assert!(o.joules < 0.7 * awake.joules && o.awake < 0.7);
    assert!((awake.awake - 1.0).abs() < 1e-9);
    let share = |o: &Outcome| o.packets.delivered as f64 / o.packets.made as f64;
    assert!(share(&o) > 0.8 * share(&awake), "{}", share(&o));
    let again = outcome(&asleep, 2);
    assert_eq!(format!("{o:?}"), format!("{again:?}"));
}
