use super::*;
use crate::collection::{Collect, LinkReport, Missing};
use crate::glossy::test_support::{id, ideal, lossy, Adjacent, GRID, LINE, MESH, MOTE};
use crate::glossy::{Insistence, MissedSlot};
use crate::linkprobe::{Measure, NodeList};
use std::collections::BTreeMap;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_units::{BatteryLevel, Cause, ChannelSet, Dbm, Restarts};
use thalweg_wire::{dispatch, mac};

type Node = Floodnet<32, 160>;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn net(n: usize, links: impl FnMut(Air<'_>) -> Fate + 'static) -> Net<Node> {
    configured(n, Config::default(), links)
}

fn configured(n: usize, config: Config, links: impl FnMut(Air<'_>) -> Fate + 'static) -> Net<Node> {
    let nodes = (0..n).map(|i| Node::new(id(i), config, MOTE)).collect();
    let mut net = Net::new(nodes, MOTE, links);
    net.run_for(MS(1));
    net
}

fn channels(numbers: &[u8]) -> ChannelSet {
    numbers.iter().map(|n| Channel::new(*n).unwrap()).collect()
}

fn measure(n: usize, channels: ChannelSet, beacons: u8) -> Measure<160> {
    let nodes = NodeList::range(0, n as u16).unwrap();
    Measure::new(nodes, channels, beacons, MS(20)).unwrap()
}

fn collect(n: usize) -> Command<160> {
    Command::Collect(Collect {
        nodes: NodeList::range(0, n as u16).unwrap(),
        floor: 1,
    })
}

fn events(net: &mut Net<Node>) -> Vec<(Instant, usize, Event)> {
    net.take_events()
}

/// (from, to, channel) -> (received, rssi), each link reported once.
type LinkLevels = BTreeMap<(u16, u16, u8), (u8, f64)>;

struct Outcome {
    collected: LinkLevels,
    missing: Vec<Missing>,
    complete: u16,
}

/// Collects from all nodes and checks what must hold whatever is lost.
fn run_collection(net: &mut Net<Node>, n: usize, limit: Duration) -> Outcome {
    net.command(0, collect(n));
    net.run_for(limit);
    let (mut collected, mut missing, mut end) = (LinkLevels::new(), Vec::new(), None);
    for (_, node, event) in events(net) {
        assert!(node == 0, "only the sink is told: {event:?}");
        assert!(end.is_none(), "nothing follows the end: {event:?}");
        match event {
            Event::Link(LinkReport {
                from,
                to,
                channel,
                received,
                rssi,
            }) => {
                let key = (from.get(), to.get(), channel.number());
                assert_eq!(
                    collected.insert(key, (received, rssi.0)),
                    None,
                    "reported twice: {key:?}"
                );
            }
            Event::Missing(node) => missing.push(node),
            Event::Progress { complete, of } => assert!(complete <= of),
            Event::Collected {
                complete,
                missing,
                time,
            } => end = Some((complete, missing, time)),
            other => panic!("{other:?}"),
        }
    }
    let (complete, given_up, time) = end.expect("the collection ends");
    assert_eq!(usize::from(given_up), missing.len());
    assert_eq!(usize::from(complete + given_up), n);
    assert!(
        (0..n).all(|i| net.engine(i).is_idle()),
        "somebody is not idle"
    );
    assert!(time <= limit);
    Outcome {
        collected,
        missing,
        complete,
    }
}

/// What the nodes' own tables say, as the sink should report them.
fn tables(net: &Net<Node>, n: usize) -> LinkLevels {
    let mut all = LinkLevels::new();
    for to in 0..n {
        for row in net.engine(to).table().rows(1) {
            for (index, heard) in row.heard.iter().enumerate() {
                if let Some(heard) = heard {
                    let key = (row.neighbour.get(), to as u16, 11 + index as u8);
                    all.insert(key, (heard.received, f64::from(heard.rssi)));
                }
            }
        }
    }
    all
}

fn flood<const NODES: usize>(payload: FrameBuf) -> Command<NODES> {
    Command::Flood {
        payload,
        insistence: Insistence::Begins,
        begin: When::Now,
    }
}

#[test]
fn a_collection_tells_how_nodes_are_that_have_something_to_tell() {
    let mut net = net(6, ideal(LINE));
    let level = BatteryLevel::of_millivolts(2_710);
    for node in [0, 5] {
        net.engine_mut(node).set_battery(level);
    }
    let restarts = Restarts::new(Cause::Watchdog, 3).unwrap();
    net.engine_mut(4).set_restarts(restarts);
    net.command(0, collect(6));
    net.run_for(Duration::from_secs(10));
    let (mut batteries, mut restarted) = (Vec::new(), Vec::new());
    for (_, _, event) in events(&mut net) {
        match event {
            Event::Battery { node, level } => batteries.push((node, level)),
            Event::Restarted { node, restarts } => restarted.push((node, restarts)),
            _ => {}
        }
    }
    assert_eq!(batteries, [(id(0), level), (id(5), level)]);
    assert_eq!(restarted, [(id(4), restarts)]);
}

#[test]
fn every_node_is_told_of_a_flood_and_of_its_time() {
    let mut net = net(6, ideal(LINE));
    let payload = FrameBuf::from_slice(&[7; 117]).unwrap();
    net.command(0, flood(payload));
    net.run_for(MS(200));
    let events = events(&mut net);
    let mut flooded = [None; 6];
    for (_, node, event) in &events {
        if let Event::Flooded {
            initiator,
            relay,
            reference,
            ..
        } = event
        {
            let got = net.engine(*node).payload();
            assert_eq!((got, *initiator), (&payload[..], id(0)));
            assert_eq!(usize::from(*relay), node.saturating_sub(1));
            assert_eq!(flooded[*node].replace(*reference), None);
        }
    }
    assert!(flooded.iter().all(|r| *r == flooded[0] && r.is_some()));
    let over = |e: &&(_, _, Event)| matches!(e.2, Event::FloodFinished { sent: 3, .. });
    assert_eq!(events.iter().filter(over).count(), 6);
    let done = events.iter().find_map(|(at, node, event)| match event {
        Event::FloodDone { reference, quiet } => Some((*at, *node, *reference, *quiet)),
        _ => None,
    });
    let (at, node, reference, quiet) = done.unwrap();
    assert_eq!((node, Some(reference)), (0, flooded[0]));
    assert_eq!(at.since(reference), Duration::from_micros(8 * 4537));
    assert_eq!(quiet.since(reference), Duration::from_micros(11 * 4537));
    assert!((0..6).all(|n| net.engine(n).is_idle()));
}

#[test]
fn three_floods_in_a_row_arrive_everywhere() {
    let mut net = net(6, ideal(LINE));
    for number in 0..3u8 {
        net.command(0, flood(FrameBuf::from_slice(&[number; 110]).unwrap()));
        for _ in 0..100 {
            net.run_for(MS(1));
            if net.engine(0).is_idle() {
                break;
            }
        }
    }
    net.run_for(MS(100));
    let mut got = [0; 3];
    for (_, _, event) in events(&mut net) {
        if let Event::Flooded { sequence, .. } = event {
            got[usize::from(sequence)] += 1;
        }
    }
    assert_eq!(got, [6, 6, 6]);
    assert!((0..6).all(|n| net.engine(n).payload() == [2; 110]));
}

#[test]
fn the_sink_does_one_thing_at_a_time() {
    let mut net = net(3, ideal(LINE));
    let order = Command::Measure(measure(3, channels(&[26]), 2));
    net.command(0, order.clone());
    net.run_for(MS(5));
    net.command(0, flood(FrameBuf::from_slice(&[1]).unwrap()));
    net.command(0, order);
    net.run_for(MS(20));
    net.command(1, flood(FrameBuf::from_slice(&[1]).unwrap()));
    net.run_for(Duration::from_secs(1));
    let too_long = FrameBuf::from_slice(&[0; 118]).unwrap();
    net.command(0, flood(too_long));
    let refused: Vec<_> = events(&mut net)
        .into_iter()
        .filter_map(|(_, node, event)| match event {
            Event::Refused(why) => Some((node, why)),
            _ => None,
        })
        .collect();
    let busy = Refused::Busy;
    assert_eq!(
        refused,
        [(0, busy), (0, busy), (1, busy), (0, Refused::TooLong)]
    );
}

#[test]
fn a_stopped_node_drops_its_order_and_listens_again_when_told() {
    let mut net = net(3, ideal(LINE));
    net.command(0, Command::Measure(measure(3, channels(&[26]), 2)));
    net.run_for(MS(15));
    (0..3).for_each(|n| net.command(n, Command::Stop));
    net.run_for(MS(20));
    let sent = net.sent().len();
    net.run_for(Duration::from_secs(1));
    assert_eq!(net.sent().len(), sent);
    (0..3).for_each(|n| net.command(n, Command::Listen));
    net.run_for(MS(1));
    net.take_events();
    net.command(0, flood(FrameBuf::from_slice(&[9]).unwrap()));
    net.run_for(MS(100));
    let flooded = |e: &&(_, _, Event)| matches!(e.2, Event::Flooded { .. });
    assert_eq!(events(&mut net).iter().filter(flooded).count(), 3);
}

#[test]
fn a_measurement_takes_equation_1_and_counts_every_beacon() {
    let cases: [(usize, Adjacent); 3] = [(7, LINE), (20, GRID), (6, MESH)];
    for (n, adjacent) in cases {
        let mut net = net(n, ideal(adjacent));
        let begin = net.now() + MS(2);
        net.command(0, Command::Measure(measure(n, channels(&[15, 26]), 4)));
        // (T_o + IPI * N_b * channels) * n
        let total = MS((10 + 20 * 4 * 2) * n as u64);
        net.run_for(total + MS(100));
        let events = events(&mut net);
        let turns = events
            .iter()
            .filter(|e| matches!(e.2, Event::Probing { .. }))
            .count();
        assert_eq!(turns, n);
        let measured = Event::Measured {
            nodes: n as u16,
            time: total,
        };
        assert_eq!(
            events.last(),
            Some(&(begin + total, 0, measured)),
            "{n} nodes"
        );
        for to in 0..n {
            let rows: Vec<_> = net.engine(to).table().rows(1).collect();
            let heard: Vec<_> = rows
                .iter()
                .map(|r| usize::from(r.neighbour.get()))
                .collect();
            let expected: Vec<_> = (0..n).filter(|m| *m != to && adjacent(*m, to)).collect();
            assert_eq!(heard, expected, "neighbours of {to} of {n}");
            for row in rows {
                let cells: Vec<_> = row
                    .heard
                    .iter()
                    .enumerate()
                    .filter_map(|(i, c)| c.map(|c| (i, c)))
                    .collect();
                let cell = thalweg_wire::report::Received {
                    received: 4,
                    rssi: -60,
                };
                assert_eq!(cells, [(4, cell), (15, cell)]);
            }
        }
        assert!((0..n).all(|i| net.engine(i).is_idle()));
    }
}

#[test]
fn beacons_keep_their_interval_and_turns_their_length() {
    let mut net = net(3, ideal(MESH));
    net.command(0, Command::Measure(measure(3, channels(&[26]), 3)));
    net.run_for(Duration::from_secs(1));
    let beacons: Vec<_> = net
        .sent()
        .iter()
        .filter(|f| mac::dispatch(&f.mpdu) == Ok(dispatch::BEACON))
        .map(|f| (f.from, f.start, f.mpdu.len()))
        .collect();
    assert_eq!(
        beacons.iter().map(|b| b.0).collect::<Vec<_>>(),
        [0, 0, 0, 1, 1, 1, 2, 2, 2]
    );
    assert!(beacons.iter().all(|b| b.2 == 125));
    for (index, (_, start, _)) in beacons.iter().enumerate() {
        let (turn, number) = (index as u64 / 3, index as u64 % 3);
        let since_first = start.since(beacons[0].1);
        assert_eq!(since_first, MS(turn * 70 + number * 20));
    }
}

#[test]
fn a_missed_announcement_costs_one_turn() {
    // Node 3 hears nothing of the flood that announces node 1's turn.
    let mut net = net(5, |air: Air<'_>| {
        let turn_of_1 = Instant::from_nanos(3_000_000 + 70_000_000);
        let since = air.start.since(turn_of_1.saturating_sub(MS(5)));
        let in_flood = since > Duration::ZERO && since < MS(20);
        match air.to {
            3 if in_flood => Fate::Silent,
            _ => Fate::Heard,
        }
    });
    net.command(0, Command::Measure(measure(5, channels(&[20]), 3)));
    net.run_for(Duration::from_secs(1));
    for node in 0..5 {
        let rows: Vec<_> = net.engine(node).table().rows(1).collect();
        let heard: Vec<_> = rows.iter().map(|r| r.neighbour.get()).collect();
        let expected: Vec<u16> = (0..5)
            .filter(|m| usize::from(*m) != node && (node, *m) != (3, 1))
            .collect();
        assert_eq!(heard, expected, "node {node}");
        assert!(rows
            .iter()
            .all(|r| r.heard[9].is_some_and(|c| c.received == 3)));
    }
}

#[test]
fn all_tables_are_collected() {
    let cases: [(usize, Adjacent); 3] = [(7, LINE), (25, GRID), (20, MESH)];
    for (n, adjacent) in cases {
        let mut net = net(n, ideal(adjacent));
        net.command(
            0,
            Command::Measure(measure(n, channels(&[15, 20, 25, 26]), 3)),
        );
        net.run_for(Duration::from_secs(8));
        net.take_events();
        let outcome = run_collection(&mut net, n, Duration::from_secs(20));
        assert_eq!(
            (usize::from(outcome.complete), outcome.missing.len()),
            (n, 0)
        );
        assert_eq!(outcome.collected, tables(&net, n));
        assert!(outcome.collected.values().all(|link| *link == (3, -60.0)));
    }
}

#[test]
fn the_floor_keeps_weak_links_off_the_air() {
    let mut net = net(3, |air: Air<'_>| match (air.from, air.to) {
        // Two thirds of node 2's beacons are lost at node 1.
        (2, 1) if air.mpdu[3] == dispatch::BEACON && air.mpdu[2] % 3 > 0 => Fate::Corrupted,
        _ => Fate::Heard,
    });
    net.command(0, Command::Measure(measure(3, channels(&[26]), 9)));
    net.run_for(Duration::from_secs(1));
    net.take_events();
    let nodes = NodeList::range(0, 3).unwrap();
    net.command(0, Command::Collect(Collect { nodes, floor: 4 }));
    net.run_for(Duration::from_secs(5));
    let links: Vec<_> = events(&mut net)
        .into_iter()
        .filter_map(|(_, _, e)| match e {
            Event::Link(link) => Some((link.from.get(), link.to.get(), link.received)),
            _ => None,
        })
        .collect();
    assert_eq!(
        links,
        [(1, 0, 9), (2, 0, 9), (0, 1, 9), (0, 2, 9), (1, 2, 9)]
    );
    let weak = net.engine(1).table().rows(1).nth(1).unwrap();
    assert_eq!(weak.heard[15].map(|c| c.received), Some(3));
}

#[test]
fn a_node_that_never_answers_is_told_of_and_does_not_hold_up_the_rest() {
    let mut net = net(6, |air: Air<'_>| match (air.from, air.to) {
        (4, _) | (_, 4) => Fate::Silent,
        _ => Fate::Heard,
    });
    net.command(0, Command::Measure(measure(6, channels(&[26]), 3)));
    net.run_for(Duration::from_secs(1));
    net.take_events();
    let outcome = run_collection(&mut net, 6, Duration::from_secs(10));
    assert_eq!(
        outcome.missing,
        [Missing {
            node: id(4),
            received: 0,
            frames: None
        }]
    );
    assert_eq!(outcome.collected.len(), 5 * 4);
}

#[test]
fn losses_cost_beacons_and_time_but_no_order() {
    for missed in [MissedSlot::Wait, MissedSlot::ResendOnOwnClock] {
        for percent in [10, 30] {
            for seed in 0..6 {
                let base = Config::default();
                let glossy = glossy::Config {
                    missed,
                    ..base.glossy
                };
                let config = Config { glossy, ..base };
                let mut net = configured(20, config, lossy(GRID, percent, seed));
                net.command(0, Command::Measure(measure(20, channels(&[15, 26]), 5)));
                let total = MS((10 + 20 * 5 * 2) * 20);
                net.run_for(total + MS(100));
                let events = events(&mut net);
                let measured = Event::Measured {
                    nodes: 20,
                    time: total,
                };
                assert_eq!(events.last().map(|e| e.2), Some(measured), "seed {seed}");
                for ((from, to, _), (received, _)) in tables(&net, 20) {
                    assert!(GRID(usize::from(from), usize::from(to)) && received <= 5);
                }
                let outcome = run_collection(&mut net, 20, Duration::from_secs(30));
                let expected = tables(&net, 20);
                for (link, collected) in &outcome.collected {
                    assert_eq!(expected.get(link), Some(collected), "seed {seed}: {link:?}");
                }
                if outcome.missing.is_empty() {
                    assert_eq!(outcome.collected, expected, "seed {seed}");
                }
                assert!(
                    outcome.missing.len() <= 1,
                    "seed {seed}: {:?}",
                    outcome.missing
                );
            }
        }
    }
}

#[test]
fn a_second_measurement_forgets_the_first() {
    let mut net = net(4, |air: Air<'_>| {
        // In the second measurement node 2 is gone.
        let gone = air.start > Instant::from_nanos(1_000_000_000);
        match (air.from, air.to) {
            (2, _) | (_, 2) if gone => Fate::Silent,
            _ => Fate::Heard,
        }
    });
    for _ in 0..2 {
        net.command(0, Command::Measure(measure(4, channels(&[26]), 3)));
        net.run_for(Duration::from_secs(1));
        net.take_events();
    }
    assert_eq!(
        tables(&net, 4)
            .keys()
            .filter(|(from, ..)| *from == 2)
            .count(),
        0
    );
    let outcome = run_collection(&mut net, 4, Duration::from_secs(10));
    // Node 2 still has the first measurement's table, but cannot be asked either.
    assert!(outcome
        .collected
        .keys()
        .all(|(from, to, _)| *from != 2 && *to != 2));
}

#[test]
fn tables_of_139_nodes_are_collected_in_seconds() {
    // A corridor: each node hears the 24 next to it, six hops from end to end; the sink is in the
    // middle. With 32 neighbours, which is what a table here has room for.
    for (numbers, least, most) in [(&[26][..], 9, 13), (&[15, 20, 25, 26][..], 18, 24)] {
        let mut net = net(139, ideal(|a, b| a.abs_diff(b) <= 24));
        net.command(69, Command::Measure(measure(139, channels(numbers), 1)));
        net.run_for(Duration::from_secs(14));
        net.take_events();
        let nodes = NodeList::range(0, 139).unwrap();
        net.command(69, Command::Collect(Collect { nodes, floor: 1 }));
        net.run_for(Duration::from_secs(60));
        let events = events(&mut net);
        let links = events
            .iter()
            .filter(|e| matches!(e.2, Event::Link(_)))
            .count();
        let neighbours: usize = (0..139usize)
            .map(|n| {
                (0..139)
                    .filter(|m| *m != n && n.abs_diff(*m) <= 24)
                    .count()
                    .min(32)
            })
            .sum();
        assert_eq!(links, neighbours * numbers.len());
        match events.last() {
            Some((
                _,
                69,
                Event::Collected {
                    complete: 139,
                    missing: 0,
                    time,
                },
            )) => {
                assert!(
                    (least..=most).contains(&(time.as_micros() / 1_000_000)),
                    "{time}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_beacon_of_another_campaign_or_node_or_channel_is_not_counted() {
    let mut node = Node::new(id(1), Config::default(), MOTE);
    let announce = measure(3, channels(&[26]), 3).announce(Campaign::new(2), id(0));
    node.begin_turn(announce, Instant::ZERO);
    node.run(Instant::ZERO + MS(11));
    let right = Beacon {
        from: id(0),
        campaign: Campaign::new(2),
        channel: Channel::LAST,
        number: 0,
    };
    let wrong = [
        Beacon {
            from: id(2),
            ..right
        },
        Beacon {
            campaign: Campaign::new(3),
            ..right
        },
        Beacon {
            channel: Channel::FIRST,
            ..right
        },
    ];
    let mut hear = |beacon: Beacon| {
        let frame = FrameBuf::build(|w| beacon.emit(w, 20)).unwrap();
        let at = Instant::ZERO + MS(12);
        let (rssi, lqi) = (Dbm(-70.0), 100);
        let event = RadioEvent::Frame {
            mpdu: &frame,
            sfd: at,
            end: at,
            rssi,
            lqi,
        };
        node.handle_radio(at, RadioId(0), event);
        node.table().len()
    };
    assert!(wrong.into_iter().all(|beacon| hear(beacon) == 0));
    assert_eq!(hear(right), 1);
}
