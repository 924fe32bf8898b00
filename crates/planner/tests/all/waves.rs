//! Waves of transfers on made-up buildings: what may never be, and that the turn of every source comes.

use super::common::{building, rng};
use std::collections::BTreeSet;
use thalweg_planner::concurrent::{Obstacle, Reuse, Wave, WaveRequest, Waves};
use thalweg_planner::{Backups, LinkQualities, Plan, RouteRequest};
use thalweg_units::{Channel, Dbm};

const NODES: usize = 90;

fn request(links: &LinkQualities, sinks: &[usize], reuse: Reuse) -> WaveRequest {
    let route = RouteRequest {
        min_paths: 3,
        max_paths: Some(4),
        ..RouteRequest::new(0, 0)
    };
    let mut request = WaveRequest::new(links, route, sinks.to_vec());
    request.reuse = reuse;
    request
}

/// All waves until no source is left.
fn waves(links: &LinkQualities, request: WaveRequest, seed: u64) -> Vec<Wave> {
    let mut rng = rng(seed);
    let mut pending: Vec<usize> = (0..links.nodes()).collect();
    pending.retain(|node| !request.sinks.contains(node));
    let mut planner = Waves::new(links, request);
    let mut waves = Vec::new();
    while !pending.is_empty() {
        let wave = planner.next(&pending, &mut rng);
        let before = pending.len();
        let gone = |node: &usize| {
            wave.plans.iter().any(|p| p.source == *node) || wave.lost.iter().any(|l| l.0 == *node)
        };
        pending.retain(|node| !gone(node));
        assert!(pending.len() < before, "a wave of nothing");
        waves.push(wave);
    }
    waves
}

fn nodes(plan: &Plan) -> Vec<usize> {
    plan.active_nodes()
        .into_iter()
        .map(|(node, _)| node)
        .collect()
}

#[test]
fn no_node_has_two_parts_and_no_channel_two_users() {
    for seed in 1..4 {
        let links = building(NODES, seed);
        // Two radios at one end, one at the other.
        let sinks = [30, 31, 59];
        let request = request(&links, &sinks, Reuse::Never);
        let waves = waves(&links, request, seed);
        let sources: Vec<usize> = waves
            .iter()
            .flat_map(|w| &w.plans)
            .map(|p| p.source)
            .collect();
        let lost = waves.iter().map(|w| w.lost.len()).sum::<usize>();
        assert_eq!(sources.len() + lost, NODES - sinks.len());
        assert!(waves.iter().any(|w| w.plans.len() > 1), "seed {seed}");
        for wave in &waves {
            let mut active = BTreeSet::new();
            let mut used = BTreeSet::new();
            for plan in &wave.plans {
                assert!(
                    nodes(plan).into_iter().all(|node| active.insert(node)),
                    "seed {seed}"
                );
                let relays = nodes(plan).into_iter().filter(|n| *n != plan.sink);
                assert!(relays.into_iter().all(|n| !sinks.contains(&n)));
                let channels: BTreeSet<Channel> = plan.channels.iter().copied().collect();
                assert!(channels.into_iter().all(|c| used.insert(c)), "seed {seed}");
            }
            assert_eq!(wave.plans.len() + wave.idle.len(), sinks.len());
        }
    }
}

#[test]
fn transfers_on_one_channel_are_out_of_earshot() {
    let links = building(NODES, 1);
    let sinks = [30, 59];
    let mut never = request(&links, &sinks, Reuse::Never);
    never.channels.truncate(4);
    let mut apart = request(&links, &sinks, Reuse::OutOfEarshot);
    apart.channels.truncate(4);
    let never = waves(&links, never, 7);
    let apart = waves(&links, apart, 7);
    assert!(apart.len() < never.len(), "{} {}", apart.len(), never.len());
    let mut shared = 0;
    for wave in &apart {
        for (at, a) in wave.plans.iter().enumerate() {
            for b in &wave.plans[at + 1..] {
                shared += usize::from(a.channels.iter().any(|c| b.channels.contains(c)));
                let on = |from, to, on| links.prr(from, to, on) > 0.0;
                assert!(!heard(&on, a, b, 0) && !heard(&on, b, a, 0));
            }
        }
    }
    assert!(shared > 0);
}

#[test]
fn chains_share_channels_out_of_earshot_and_leave_some_to_others() {
    for seed in 1..3 {
        let links = building(NODES, seed);
        let sinks = [30, 59];
        let lean = |reuse| {
            let mut request = WaveRequest::new(&links, RouteRequest::planned(0, 0), sinks.to_vec());
            request.reuse = reuse;
            request.channels.truncate(4);
            request
        };
        let apart = waves(&links, lean(Reuse::OutOfEarshot), seed);
        for wave in &apart {
            for (at, a) in wave.plans.iter().enumerate() {
                for b in &wave.plans[at + 1..] {
                    // Who was missed on a channel and heard on another may well reach on the first.
                    let all = &a.channels;
                    let on = |from, to, _| all.iter().any(|c| links.prr(from, to, *c) > 0.0);
                    assert!(!heard(&on, a, b, 1) && !heard(&on, b, a, 1), "seed {seed}");
                }
            }
        }
        let never = waves(&links, lean(Reuse::Never), seed);
        let both = |waves: &[Wave]| waves.iter().filter(|w| w.plans.len() == 2).count();
        assert!(
            both(&never) > 0 && both(&apart) > both(&never),
            "seed {seed}"
        );
        for wave in &never {
            let mut used = BTreeSet::new();
            for plan in &wave.plans {
                let channels: BTreeSet<Channel> = plan.channels.iter().copied().collect();
                assert!(channels.into_iter().all(|c| used.insert(c)), "seed {seed}");
                // Nobody gets a plan that does not carry anything.
                assert!(plan.prediction.goodput_kbps > 50.0, "seed {seed}");
            }
        }
    }
}

/// Whether anyone of `b`, from stage `least` on, hears by `hears` what someone of `a` sends on its own channel.
fn heard(hears: &dyn Fn(usize, usize, Channel) -> bool, a: &Plan, b: &Plan, least: usize) -> bool {
    a.active_nodes().iter().any(|&(from, stage)| {
        a.channels.get(stage + 1).is_some_and(|&on| {
            let listens = |stage: usize| b.channels.get(stage) == Some(&on);
            let counts = |at: usize| at >= least && listens(at);
            let listeners = b.active_nodes().into_iter().filter(|&(_, at)| counts(at));
            listeners.into_iter().any(|(to, _)| hears(from, to, on))
        })
    })
}

#[test]
fn a_source_left_over_has_a_plan_with_backups_into_each_sink() {
    let links = building(NODES, 2);
    let sinks = [30, 59];
    let request = WaveRequest::new(&links, RouteRequest::planned(0, 0), sinks.to_vec());
    let planner = Waves::new(&links, request);
    let mut second = 0;
    for source in [0, 29, 75] {
        let plans = planner.plans_of(source, Backups::Relays, &mut rng(1));
        assert_eq!(plans.len(), sinks.len());
        assert!(plans[0].shortest <= plans[1].shortest, "node {source}");
        second += usize::from(plans[0].sink == sinks[1]);
        for plan in &plans {
            assert_eq!(plan.source, source);
            let other = sinks.into_iter().find(|sink| *sink != plan.sink);
            assert!(!nodes(plan).contains(&other.unwrap()));
            // A single hop has no relays.
            assert!(plan.hops == 1 || !plan.backup_relays.is_empty());
        }
    }
    assert!((1..3).contains(&second), "all into one");
}

#[test]
fn a_channel_full_of_losses_is_left_out() {
    let mut links = LinkQualities::new(3);
    for channel in [15, 20, 26] {
        let channel = Channel::new(channel).unwrap();
        for (a, b) in [(0, 1), (1, 2)] {
            for (from, to) in [(a, b), (b, a)] {
                let received = if channel == Channel::LAST || a == 0 {
                    10
                } else {
                    5
                };
                let lossy = channel.number() == 15;
                let received = if lossy { received / 2 } else { received };
                let rssi = Some(Dbm(-70.0));
                links.record(from, to, channel, received, 10, rssi).unwrap();
            }
        }
    }
    let request = WaveRequest::new(&links, RouteRequest::new(0, 0), vec![2]);
    assert_eq!(request.channels, [Channel::LAST]);
}

#[test]
fn a_network_in_two_parts_loses_only_the_far_one() {
    let mut links = LinkQualities::new(6);
    for channel in [15, 17, 20, 22, 24, 26] {
        let channel = Channel::new(channel).unwrap();
        for (a, b) in [(0, 1), (1, 2), (3, 4)] {
            for (from, to) in [(a, b), (b, a)] {
                let rssi = Some(Dbm(-60.0));
                links.record(from, to, channel, 10, 10, rssi).unwrap();
            }
        }
    }
    let mut rng = rng(1);
    let mut planner = Waves::new(&links, request(&links, &[0, 5], Reuse::Never));
    let wave = planner.next(&[1, 2, 3, 4], &mut rng);
    assert_eq!(wave.plans.len(), 1);
    assert_eq!((wave.plans[0].source, wave.plans[0].sink), (2, 0));
    // The other sink has nobody: 1 relays, and 3 and 4 are cut off.
    assert_eq!(wave.idle, [(5, Obstacle::Sources)]);
    let wave = planner.next(&[3, 4], &mut rng);
    assert!(wave.plans.is_empty());
    let lost: Vec<usize> = wave.lost.iter().map(|(node, _)| *node).collect();
    assert_eq!(lost, [3, 4]);
}
