//! Sweeps over whole networks: what is reported, and what losses, drift and nonsense cost.

use super::*;
use crate::glossy::test_support::{id, ideal, lossy, Adjacent, GRID, LINE, MESH, MOTE};
use crate::linkprobe::NodeList;
use crate::sweep::{Sweep, FLOOR_DBM, SLOT};
use std::collections::BTreeMap;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::RadioOp;
use thalweg_units::{ChannelSet, Dbm};
use thalweg_wire::sweep::{Announcement, Beacon as SweepBeacon, Parameters, Reports};
use thalweg_wire::{dispatch, flood, mac};

pub(super) type Node = Floodnet<32, 160>;

pub(super) const MS: fn(u64) -> Duration = Duration::from_millis;

/// A node whose clock runs fast by so many millionths, and reads `ahead` when others read nothing.
pub(super) struct Skewed {
    pub(super) node: Node,
    ppm: i64,
    ahead: u64,
}

impl Skewed {
    fn local(&self, at: Instant) -> Instant {
        let ns = i128::from(at.as_nanos());
        let ns = ns + ns * i128::from(self.ppm) / 1_000_000;
        Instant::from_nanos(ns as u64 + self.ahead)
    }
    /// The first instant at which the node's clock reads `at` or more.
    fn global(&self, at: Instant) -> Instant {
        let ns = i128::from(at.as_nanos().saturating_sub(self.ahead));
        Instant::from_nanos((ns * 1_000_000 / i128::from(1_000_000 + self.ppm) + 1) as u64)
    }
}

impl Engine for Skewed {
    type Command = Command<160>;
    type Event = Event;
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        self.node.wants(radio)
    }
    fn handle_command(&mut self, now: Instant, command: Command<160>) {
        self.node.handle_command(self.local(now), command);
    }
    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        let mut event = event;
        match &mut event {
            RadioEvent::Sent { sfd, .. } => *sfd = self.local(*sfd),
            RadioEvent::Frame { sfd, end, .. } => {
                (*sfd, *end) = (self.local(*sfd), self.local(*end));
            }
            _ => {}
        }
        self.node.handle_radio(self.local(at), radio, event);
    }
    fn handle_timeout(&mut self, at: Instant) {
        self.node.handle_timeout(self.local(at));
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let (ppm, ahead) = (self.ppm, self.ahead);
        let mut request = self.node.poll_radio()?;
        if let RadioOp::Stream {
            when: When::At(at), ..
        } = &mut request.op
        {
            let ns = i128::from(at.as_nanos().saturating_sub(ahead));
            *at = Instant::from_nanos((ns * 1_000_000 / i128::from(1_000_000 + ppm)) as u64);
        }
        Some(request)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.node.poll_timeout().map(|at| self.global(at))
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.node.poll_event()
    }
}

fn net(ids: &[u16], links: impl FnMut(Air<'_>) -> Fate + 'static) -> Net<Skewed> {
    // Clocks as far apart as watch crystals are, and started at any time.
    let node = |(n, id): (usize, &u16)| Skewed {
        node: Node::new(NodeId::new(*id).unwrap(), Config::default(), MOTE),
        ppm: [0, 20, -20, 13, -7][n % 5],
        ahead: 1_000_003 * ((n as u64 * 7) % 11),
    };
    let nodes = ids.iter().enumerate().map(node).collect();
    let mut net = Net::new(nodes, MOTE, links);
    net.run_for(MS(1));
    net
}

pub(super) fn numbered(n: usize, links: impl FnMut(Air<'_>) -> Fate + 'static) -> Net<Skewed> {
    let ids: Vec<u16> = (0..n as u16).collect();
    net(&ids, links)
}

pub(super) fn four() -> ChannelSet {
    let numbers = [15, 20, 25, 26];
    numbers.iter().map(|n| Channel::new(*n).unwrap()).collect()
}

pub(super) fn order(ids: &[u16], sweeps: u8) -> Command<160> {
    reporting(ids, sweeps, Reports::Flooded)
}

pub(super) fn reporting(ids: &[u16], sweeps: u8, reports: Reports) -> Command<160> {
    let nodes = NodeList::of(ids.iter().map(|id| NodeId::new(*id).unwrap())).unwrap();
    let sweep = Sweep::new(nodes, four(), sweeps, (SLOT, MS(200)), FLOOR_DBM).unwrap();
    Command::Sweep(sweep.reporting(reports))
}

/// (from, to, channel) -> (received, rssi).
type LinkLevels = BTreeMap<(u16, u16, u8), (u8, i8)>;

pub(super) struct Outcome {
    collected: LinkLevels,
    pub(super) missing: Vec<u16>,
    measuring: Duration,
    collecting: Duration,
}

/// Runs a sweep ordered from node 0 and checks what must hold whatever is lost.
fn run(net: &mut Net<Skewed>, ids: &[u16], sweeps: u8) -> Outcome {
    carried_out(net, ids, order(ids, sweeps))
}

/// The same with reports that go inwards.
fn run_inwards(net: &mut Net<Skewed>, ids: &[u16], sweeps: u8) -> Outcome {
    carried_out(net, ids, reporting(ids, sweeps, Reports::Inwards))
}

pub(super) fn carried_out(net: &mut Net<Skewed>, ids: &[u16], order: Command<160>) -> Outcome {
    net.command(0, order);
    net.run_for(Duration::from_secs(20));
    let (mut collected, mut missing, mut measured, mut end) =
        (LinkLevels::new(), Vec::new(), None, None);
    for (_, node, event) in net.take_events() {
        assert!(node == 0 && end.is_none(), "node {node}: {event:?}");
        match event {
            Event::Measured { nodes, time } => {
                assert!(collected.is_empty() && usize::from(nodes) == ids.len());
                measured = Some(time);
            }
            Event::Link(link) => {
                let key = (link.from.get(), link.to.get(), link.channel.number());
                let cell = (link.received, link.rssi.0 as i8);
                assert_eq!(collected.insert(key, cell), None, "reported twice: {key:?}");
            }
            Event::Progress { .. } => {}
            Event::Missing(node) => missing.push(node.node.get()),
            Event::Collected {
                complete,
                missing: of,
                time,
            } => {
                assert_eq!(usize::from(complete + of), ids.len());
                end = Some(time);
            }
            other => panic!("{other:?}"),
        }
    }
    for n in 0..ids.len() {
        assert!(net.engine(n).node.is_idle(), "node {n} is not idle");
    }
    Outcome {
        collected,
        missing,
        measuring: measured.expect("beacons end"),
        collecting: end.expect("the collection ends"),
    }
}

/// What a complete sweep reports where adjacent nodes hear everything at -60 dBm.
fn all(ids: &[u16], adjacent: Adjacent, sweeps: u8) -> LinkLevels {
    let mut collected = LinkLevels::new();
    for (a, from) in ids.iter().enumerate() {
        for (b, to) in ids.iter().enumerate() {
            for channel in four().iter().filter(|_| a != b && adjacent(a, b)) {
                // The middle of -62 to -60.
                collected.insert((*from, *to, channel.number()), (sweeps, -61));
            }
        }
    }
    collected
}

fn frames(net: &Net<Skewed>, of: u8) -> usize {
    let is = |f: &&thalweg_engine::harness::SentFrame| mac::dispatch(&f.mpdu) == Ok(of);
    net.sent().iter().filter(is).count()
}

pub(super) fn floods(net: &Net<Skewed>, kind: Kind) -> usize {
    let of = |mpdu: &[u8]| {
        let flood = flood::Repr::parse(mpdu).ok()?;
        let (is, _) = Kind::parse_tag(&mut Reader::new(flood.content)).ok()?;
        Some((flood.initiator, flood.sequence)).filter(|_| is == kind)
    };
    let all: std::collections::BTreeSet<_> =
        net.sent().iter().filter_map(|f| of(&f.mpdu)).collect();
    all.len()
}

#[test]
fn one_order_brings_all_links_with_a_beacon_and_a_report_of_each_node() {
    let cases: [(usize, Adjacent, u8); 3] = [(7, LINE, 1), (25, GRID, 2), (20, MESH, 3)];
    for (n, adjacent, sweeps) in cases {
        let ids: Vec<u16> = (0..n as u16).collect();
        let mut net = numbered(n, ideal(adjacent));
        let outcome = run(&mut net, &ids, sweeps);
        assert_eq!(outcome.collected, all(&ids, adjacent, sweeps), "{n} nodes");
        assert!(outcome.missing.is_empty(), "{:?}", outcome.missing);
        assert_eq!(frames(&net, dispatch::SWEEP), n * 4 * usize::from(sweeps));
        assert_eq!(floods(&net, Kind::Sweep), 2);
        // The sink's own report costs no air.
        assert_eq!(floods(&net, Kind::Levels), n - 1);
        assert_eq!(floods(&net, Kind::Schedule), 0);
        let beacons = SLOT * ((n as u64 + 1) * 4 * u64::from(sweeps));
        let beacons = beacons + MS(200) * u64::from(sweeps - 1);
        let announcing = outcome.measuring.saturating_sub(beacons);
        assert!(announcing >= MS(20) && announcing <= MS(60), "{announcing}");
        let slots = Config::default().levels_slot(&MOTE) * n as u64;
        assert!(outcome.collecting >= slots && outcome.collecting <= slots + MS(10));
    }
}

/// How many frames of reports go inwards.
fn inward_frames(net: &Net<Skewed>) -> usize {
    let course = |mpdu: &[u8]| flood::Repr::parse(mpdu).ok().map(|flood| flood.course);
    let inwards =
        |f: &&thalweg_engine::harness::SentFrame| course(&f.mpdu) == Some(flood::Course::Inwards);
    net.sent().iter().filter(inwards).count()
}

#[test]
fn reports_go_inwards_one_behind_the_other_and_tell_the_same() {
    let cases: [(usize, Adjacent); 3] = [(12, LINE), (25, GRID), (20, MESH)];
    for (n, adjacent) in cases {
        let ids: Vec<u16> = (0..n as u16).collect();
        let mut net = numbered(n, ideal(adjacent));
        let outcome = run_inwards(&mut net, &ids, 2);
        assert_eq!(outcome.collected, all(&ids, adjacent, 2), "{n} nodes");
        assert!(outcome.missing.is_empty(), "{:?}", outcome.missing);
        assert_eq!(floods(&net, Kind::Levels), n - 1);
        assert_eq!(floods(&net, Kind::Schedule), 0);
        // In a row each hop has one sender; in the mesh no node has to relay.
        let row: usize = (1..n).sum();
        let sent = inward_frames(&net);
        match n {
            12 => assert_eq!(sent, row),
            20 => assert_eq!(sent, n - 1),
            _ => assert!(sent < n * (n - 1) / 2, "{sent}"),
        }
        let slot = Config::default().inward_slot(&MOTE);
        let time = slot * n as u64 + slot * 25 / thalweg_wire::sweep::HOPS_APART;
        assert!(
            outcome.collecting <= time + MS(10),
            "{}",
            outcome.collecting
        );
        assert!(slot * 2 < Config::default().levels_slot(&MOTE));
    }
}

#[test]
fn nodes_of_unknown_distance_to_the_sink_are_asked() {
    let ids: Vec<u16> = (0..20).collect();
    let mut net = numbered(20, deaf_at_first(12, GRID));
    let outcome = run_inwards(&mut net, &ids, 2);
    assert!(outcome.missing.is_empty(), "{:?}", outcome.missing);
    assert!(outcome.collected.keys().any(|(_, to, _)| *to == 12));
    // The first time in a short slot, which is none for it.
    assert_eq!(floods(&net, Kind::Schedule), 2);
    // Another sweep, of which it hears in time.
    let outcome = run_inwards(&mut net, &ids, 1);
    assert_eq!(outcome.collected, all(&ids, GRID, 1));
    assert_eq!(floods(&net, Kind::Schedule), 2);
}

#[test]
fn what_is_lost_on_the_way_inwards_is_asked_for() {
    let ids: Vec<u16> = (0..20).collect();
    let whole = all(&ids, GRID, 2);
    for seed in 0..6 {
        let mut net = numbered(20, lossy(GRID, 20, seed));
        let outcome = run_inwards(&mut net, &ids, 2);
        assert!(outcome.collected.keys().all(|key| whole.contains_key(key)));
        let missing = &outcome.missing;
        assert!(missing.len() <= 1, "seed {seed}: {missing:?}");
        assert!(floods(&net, Kind::Schedule) > 0, "seed {seed}");
    }
}

#[test]
fn addresses_may_lie_anywhere() {
    let ids: Vec<u16> = (0..20).map(|n| n * 100).collect();
    let mut net = net(&ids, ideal(GRID));
    // In any order.
    let mut shuffled = ids.clone();
    shuffled.rotate_left(7);
    let outcome = run(&mut net, &shuffled, 2);
    assert_eq!(outcome.collected, all(&ids, GRID, 2));
    assert!(floods(&net, Kind::Sweep) >= 6, "several parts, each twice");
}

/// Node `deaf` hears no flood before the beacons begin.
fn deaf_at_first(deaf: usize, adjacent: Adjacent) -> impl FnMut(Air<'_>) -> Fate {
    move |air: Air<'_>| {
        let begins = Instant::from_nanos(65_000_000);
        let lost = air.to == deaf && air.start < begins;
        match adjacent(air.from, air.to) && !lost {
            true => Fate::Heard,
            false => Fate::Silent,
        }
    }
}

#[test]
fn nodes_that_missed_the_floods_join_at_a_beacon() {
    let ids: Vec<u16> = (0..20).collect();
    let mut net = numbered(20, deaf_at_first(12, GRID));
    let outcome = run(&mut net, &ids, 2);
    assert!(outcome.missing.is_empty(), "{:?}", outcome.missing);
    let whole = all(&ids, GRID, 2);
    // It is on channel 26 until that comes, the last of four: the first three of the first sweep are lost.
    for (key, (received, _)) in &whole {
        let late = (key.0 == 12 || key.1 == 12) && key.2 != 26;
        let collected = outcome
            .collected
            .get(key)
            .map_or(0, |collected| collected.0);
        match late {
            true => assert_eq!(collected, 1, "{key:?}"),
            // Of the stretch in which it joins, it may have missed some.
            false if key.0 == 12 || key.1 == 12 => assert!(collected >= 1, "{key:?}"),
            false => assert_eq!(collected, *received, "{key:?}"),
        }
    }
}

#[test]
fn without_addresses_nodes_that_missed_the_floods_listen_and_are_asked() {
    let ids: Vec<u16> = (0..20).map(|n| n * 3).collect();
    let mut net = net(&ids, deaf_at_first(12, GRID));
    let outcome = run(&mut net, &ids, 2);
    assert!(outcome.missing.is_empty(), "{:?}", outcome.missing);
    assert!(outcome.collected.keys().all(|(from, ..)| *from != 36));
    assert!(outcome.collected.keys().any(|(_, to, _)| *to == 36));
    assert_eq!(floods(&net, Kind::Schedule), 1);
}

#[test]
fn a_node_restarted_in_mid_sweep_answers_when_asked() {
    let ids: Vec<u16> = (0..9).collect();
    for when in [100, 400, 650] {
        let mut net = numbered(9, ideal(MESH));
        net.command(0, order(&ids, 2));
        net.run_for(MS(when));
        net.command(4, Command::Stop);
        net.run_for(MS(30));
        net.command(4, Command::Listen);
        net.run_for(Duration::from_secs(5));
        let ended = |e: &(_, _, Event)| matches!(e.2, Event::Collected { complete: 9, .. });
        let events = net.take_events();
        assert!(
            events.iter().any(ended),
            "stopped after {when} ms: {events:?}"
        );
        assert!((0..9).all(|n| net.engine(n).node.is_idle()));
    }
}

#[test]
fn a_node_that_is_gone_is_told_of_and_costs_little() {
    let ids: Vec<u16> = (0..12).collect();
    let mut net = numbered(12, |air: Air<'_>| match (air.from, air.to) {
        (4, _) | (_, 4) => Fate::Silent,
        _ => Fate::Heard,
    });
    let outcome = run(&mut net, &ids, 2);
    assert_eq!(outcome.missing, [4]);
    assert_eq!(outcome.collected.len(), 11 * 10 * 4);
    assert!(
        outcome.collecting < Duration::from_secs(1),
        "{}",
        outcome.collecting
    );
}

#[test]
fn losses_cost_beacons_but_no_order_and_nothing_is_invented() {
    let ids: Vec<u16> = (0..20).collect();
    let whole = all(&ids, GRID, 2);
    for percent in [10, 30] {
        let mut received = 0;
        for seed in 0..6 {
            let mut net = numbered(20, lossy(GRID, percent, seed));
            let outcome = run(&mut net, &ids, 2);
            for (key, (count, rssi)) in &outcome.collected {
                let most = whole
                    .get(key)
                    .unwrap_or_else(|| panic!("{key:?} is no link"));
                assert!(count <= &most.0 && rssi == &most.1);
                received += usize::from(*count);
            }
            assert!(
                outcome.missing.len() <= 1,
                "seed {seed}: {:?}",
                outcome.missing
            );
        }
        let share = received as f64 / (6 * 2 * whole.len()) as f64;
        let least = 0.95 - percent as f64 / 100.0;
        assert!(share > least && share < least + 0.1, "{percent} %: {share}");
    }
}

#[test]
fn sweeps_follow_each_other_and_orders_do_not_mix() {
    let ids: Vec<u16> = (0..5).collect();
    let mut net = numbered(5, ideal(MESH));
    net.command(0, order(&ids, 1));
    net.run_for(MS(100));
    for node in [0, 3] {
        net.command(node, order(&ids, 1));
    }
    net.run_for(Duration::from_secs(2));
    let busy = |e: &&(_, _, Event)| e.2 == Event::Refused(Refused::Busy);
    assert_eq!(net.take_events().iter().filter(busy).count(), 2);
    for sweeps in [2, 1] {
        let outcome = run(&mut net, &ids, sweeps);
        assert_eq!(outcome.collected, all(&ids, MESH, sweeps));
    }
}

fn parameters() -> Parameters {
    let Command::Sweep(sweep) = order(&[0, 1, 2], 2) else {
        unreachable!()
    };
    sweep.parameters(Campaign::new(9), MS(20), 60)
}

fn hears(net: &mut Net<Skewed>, node: usize, mpdu: &[u8]) {
    let at = net.engine(node).local(net.now());
    net.inject(
        node,
        RadioEvent::Frame {
            mpdu,
            sfd: at,
            end: at,
            rssi: Dbm(-70.0),
            lqi: 100,
        },
    );
}

#[test]
fn a_stray_beacon_holds_a_node_for_as_long_as_it_tells_and_no_longer() {
    let mut net = numbered(3, ideal(LINE));
    let beacon = SweepBeacon {
        from: id(0),
        parameters: parameters(),
        stretch: 7,
        slot: 0,
    };
    let frame = FrameBuf::build(|w| beacon.emit(w, 32)).unwrap();
    hears(&mut net, 1, &frame);
    assert!(!net.engine(1).node.is_idle());
    net.run_for(parameters().measuring() + MS(20) * 4);
    assert!((0..3).all(|n| net.engine(n).node.is_idle()));
    // The same campaign again is no news.
    hears(&mut net, 1, &frame);
    assert!(net.engine(1).node.is_idle());
    net.take_events();
    let ids: Vec<u16> = (0..3).collect();
    assert_eq!(run(&mut net, &ids, 2).collected, all(&ids, LINE, 2));
}

#[test]
fn nonsense_in_mid_sweep_changes_nothing() {
    let ids: Vec<u16> = (0..3).collect();
    let mut net = numbered(3, ideal(MESH));
    net.command(0, order(&ids, 2));
    net.run_for(MS(60));
    // On whatever channel node 1 is, one of them is there.
    let foreign: Vec<FrameBuf> = (0..8)
        .map(|stretch| {
            let (from, parameters, slot) = (id(2), parameters(), 2);
            let beacon = SweepBeacon {
                from,
                parameters,
                stretch,
                slot,
            };
            FrameBuf::build(|w| beacon.emit(w, 32)).unwrap()
        })
        .collect();
    let mut broken = foreign[0];
    broken[8] = 0xff;
    let announcement = Announcement {
        parameters: parameters(),
        until: Duration::ZERO,
        from: id(0),
        rank: 0,
        nodes: &[7],
    };
    let content = FrameBuf::build(|w| announcement.emit(w)).unwrap();
    let flooded = flood::Repr {
        sequence: 77,
        initiator: id(2),
        course: flood::Course::Outwards(glossy::Ntx::ONE),
        relay: 31,
        content: &content,
    };
    let flooded = FrameBuf::build(|w| flooded.emit(w)).unwrap();
    for _ in 0..20 {
        net.run_for(MS(3));
        for frame in foreign.iter().chain([&broken, &flooded]) {
            hears(&mut net, 1, frame);
            hears(&mut net, 0, &frame[..frame.len().min(9)]);
        }
    }
    // The first report again, as a flood of another number.
    while floods(&net, Kind::Levels) == 0 {
        net.run_for(MS(1));
    }
    net.run_for(MS(25));
    let is_report = |f: &&thalweg_engine::harness::SentFrame| {
        let flood = flood::Repr::parse(&f.mpdu).ok();
        let tag = flood.map(|flood| Kind::parse_tag(&mut Reader::new(flood.content)));
        matches!(tag, Some(Ok((Kind::Levels, _))))
    };
    let mut again = net.sent().iter().find(is_report).unwrap().mpdu.clone();
    again[2] = again[2].wrapping_add(100);
    hears(&mut net, 0, &again);
    net.run_for(Duration::from_secs(2));
    let collected: Vec<_> = net
        .take_events()
        .into_iter()
        .filter_map(|(_, _, event)| match event {
            Event::Link(link) => Some((link.received, link.rssi.0 as i8)),
            _ => None,
        })
        .collect();
    assert_eq!(collected, [(2, -61); 3 * 2 * 4]);
}
