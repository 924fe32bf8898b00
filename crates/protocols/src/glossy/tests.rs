use super::test_support::{id, ideal, lossy, GRID, LINE, MESH, MOTE};
use super::*;
use std::vec;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::{Engine, RadioEvent, RadioId, Request, Wants, When};
use thalweg_units::Instant;
use thalweg_wire::flood::{Course, Repr};

/// A node that does nothing but floods.
struct Node(Flood, Option<Ring>);

enum Order {
    Start(Vec<u8>, When),
    Insist(Insistence),
    Listen,
    Stop,
    Stand(Ring),
    Inwards(Vec<u8>, Instant),
}

impl Engine for Node {
    type Command = Order;
    type Event = Event;
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| self.0.wants())
    }
    fn handle_command(&mut self, now: Instant, order: Order) {
        match order {
            Order::Start(content, when) => {
                self.0.start(now, &content, Ntx::THREE, when).unwrap();
            }
            Order::Insist(insistence) => self.0.insist(insistence),
            Order::Stand(ring) => self.1 = Some(ring),
            Order::Inwards(content, sfd) => {
                let ring = self.1.unwrap();
                self.0
                    .start_inwards(now, &content, (ring, sfd))
                    .unwrap()
                    .unwrap();
            }
            Order::Listen => self.0.listen(),
            Order::Stop => self.0.stop(),
        }
    }
    fn handle_radio(&mut self, _at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        self.0.handle_radio(&event, self.1);
    }
    fn handle_timeout(&mut self, at: Instant) {
        self.0.handle_timeout(at);
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        self.0.poll_radio()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.0.poll_event()
    }
}

fn net(n: usize, config: Config, links: impl FnMut(Air<'_>) -> Fate + 'static) -> Net<Node> {
    let nodes = (0..n)
        .map(|i| Node(Flood::new(id(i), config, MOTE), None))
        .collect();
    let mut net = Net::new(nodes, MOTE, links);
    net.run_for(Duration::from_millis(1));
    net
}

fn start(net: &mut Net<Node>, bytes: usize) {
    net.command(0, Order::Start(vec![0xa5; bytes], When::Now));
}

/// When the flood began for node 0, and what all others received of it: (node, relay, T_ref).
fn received(net: &mut Net<Node>) -> (Vec<Instant>, Vec<(usize, u8, Instant)>) {
    let (mut began, mut got) = (Vec::new(), Vec::new());
    for (_, node, event) in net.take_events() {
        match event {
            Event::Started { reference, .. } => began.push(reference),
            Event::Received {
                relay, reference, ..
            } => got.push((node, relay, reference)),
            Event::Finished { sent, .. } => assert!(sent <= 13, "node {node} sent {sent} times"),
            Event::Refused { why, .. } => panic!("{why:?}"),
        }
    }
    (began, got)
}

#[test]
fn a_flood_crosses_ten_hops_and_tells_all_the_same_time() {
    let mut net = net(11, Config::default(), ideal(LINE));
    start(&mut net, MAX_CONTENT);
    net.run_for(Duration::from_millis(200));
    let begin = net.sent()[0].start;
    let (began, got) = received(&mut net);
    assert_eq!(got.len(), 10);
    for (node, relay, reference) in got {
        assert_eq!((usize::from(relay), reference), (node - 1, began[0]));
        assert_eq!(net.engine(node).0.content(), &[0xa5; MAX_CONTENT]);
    }
    // Everyone sends three times, in every second slot.
    let slot = slot_time(phy::MAX_MPDU, &MOTE);
    assert_eq!(slot, Duration::from_micros(4256 + 281));
    assert_eq!(net.sent().len(), 33);
    for frame in net.sent() {
        let relay = Repr::parse(&frame.mpdu).unwrap().relay;
        assert_eq!(frame.start, begin + slot * u64::from(relay));
    }
    let end = net.sent().iter().map(|f| f.start).max().unwrap() + slot;
    assert_eq!(
        end.since(begin),
        flood_time(phy::MAX_MPDU, 10, Ntx::THREE, &MOTE)
    );
    assert_eq!(end.since(begin), Duration::from_micros(15 * 4537));
}

#[test]
fn a_control_flood_arrives_ten_hops_away_within_ten_milliseconds() {
    // P3, section IV-D1: T_o < 10 ms for a diameter of ten hops; an announcement has 15 bytes.
    let mut net = net(11, Config::default(), ideal(LINE));
    start(&mut net, 8);
    net.run_for(Duration::from_millis(100));
    let begin = net.sent()[0].start;
    let events = net.take_events();
    let last = events
        .iter()
        .filter(|e| matches!(e.2, Event::Received { .. }))
        .map(|e| e.0)
        .max();
    assert_eq!(
        last.unwrap().since(begin),
        Duration::from_micros(9 * 1017 + 736)
    );
}

#[test]
fn grids_and_meshes_are_flooded_in_as_many_slots_as_hops() {
    for (n, links, hops) in [(25, GRID, 4), (12, MESH, 1)] {
        let mut net = net(n, Config::default(), ideal(links));
        start(&mut net, 20);
        net.run_for(Duration::from_millis(100));
        let (began, got) = received(&mut net);
        assert_eq!(got.len(), n - 1);
        assert!(got.iter().all(|(_, _, reference)| *reference == began[0]));
        assert_eq!(got.iter().map(|(_, relay, _)| *relay).max(), Some(hops - 1));
        assert_eq!(net.sent().len(), 3 * n);
    }
}

#[test]
fn floods_survive_losses_and_every_part_in_them_ends() {
    for missed in [MissedSlot::Wait, MissedSlot::ResendOnOwnClock] {
        for (percent, least) in [(10, 99), (30, 90)] {
            let (mut expected, mut arrived) = (0, 0);
            for seed in 0..20 {
                let config = Config {
                    missed,
                    ..Config::default()
                };
                let mut net = net(25, config, lossy(GRID, percent, seed));
                start(&mut net, 40);
                net.run_for(Duration::from_millis(300));
                let (began, got) = received(&mut net);
                let mut nodes: Vec<_> = got.iter().map(|(node, ..)| *node).collect();
                nodes.dedup();
                assert_eq!(nodes.len(), got.len(), "seed {seed}: received twice");
                assert!(
                    got.iter().all(|(_, _, r)| *r == began[0]),
                    "seed {seed}: T_ref"
                );
                let busy = (0..25).filter(|n| net.engine(*n).0.is_active()).count();
                assert_eq!(busy, 0, "seed {seed}: not over");
                for node in 1..25 {
                    let sent = net.sent().iter().filter(|f| f.from == node).count();
                    assert!(sent <= 3, "seed {seed}: node {node} sent {sent} times");
                }
                expected += 24;
                arrived += got.len();
            }
            assert!(
                arrived * 100 >= expected * least,
                "{arrived} of {expected}, {missed:?}"
            );
        }
    }
}

#[test]
fn resending_by_the_clock_carries_a_flood_along_a_lossy_line() {
    let reach = |missed| -> usize {
        let config = Config {
            missed,
            ..Config::default()
        };
        let run = |seed| {
            let mut net = net(7, config, lossy(LINE, 20, seed));
            start(&mut net, 40);
            net.run_for(Duration::from_millis(300));
            received(&mut net).1.len()
        };
        (0..40).map(run).sum()
    };
    let (wait, resend) = (reach(MissedSlot::Wait), reach(MissedSlot::ResendOnOwnClock));
    assert!(resend > wait, "{resend} against {wait} of 240");
    assert!(resend >= 220, "{resend} of 240");
}

#[test]
fn an_unheard_beginning_is_repeated_in_the_initiators_own_slots() {
    let mut net = net(3, Config::default(), |air: Air<'_>| match air.number {
        0 | 1 => Fate::Silent,
        _ if LINE(air.from, air.to) => Fate::Heard,
        _ => Fate::Silent,
    });
    start(&mut net, 30);
    net.run_for(Duration::from_millis(200));
    let (began, got) = received(&mut net);
    assert_eq!(got, [(1, 4, began[0]), (2, 5, began[0])]);
    let by_initiator = net.sent().iter().filter(|f| f.from == 0).count();
    assert_eq!(
        by_initiator,
        2 + 3,
        "the unheard ones do not count towards N_tx"
    );
}

#[test]
fn a_lonely_initiator_gives_up() {
    let mut net = net(1, Config::default(), |_: Air<'_>| Fate::Silent);
    start(&mut net, 30);
    net.run_for(Duration::from_secs(1));
    assert_eq!(net.sent().len(), 13, "relay counters 0, 2 .. 24");
    assert!(!net.engine(0).0.is_active());
    let events = net.take_events();
    assert!(
        matches!(
            events[1].2,
            Event::Finished {
                sent: 13,
                heard: 0,
                ..
            }
        ),
        "{events:?}"
    );
}

#[test]
fn the_next_flood_travels_right_behind() {
    let mut net = net(8, Config::default(), ideal(LINE));
    let spacing = flood_spacing(HEADER, Ntx::THREE, &MOTE);
    start(&mut net, HEADER - 7);
    net.run_for(spacing);
    start(&mut net, HEADER - 7);
    net.run_for(Duration::from_millis(300));
    let (began, got) = received(&mut net);
    assert_eq!(began.len(), 2);
    assert_eq!(got.len(), 14);
    for reference in began {
        assert_eq!(got.iter().filter(|(.., r)| *r == reference).count(), 7);
    }
}
const HEADER: usize = 60;

#[test]
fn sequence_numbers_wrap_without_losing_a_flood() {
    let mut net = net(3, Config::default(), ideal(LINE));
    for _ in 0..600 {
        start(&mut net, 4);
        net.run_for(Duration::from_millis(40));
    }
    let (began, got) = received(&mut net);
    assert_eq!((began.len(), got.len()), (600, 1200));
}

/// A slot of those that go inwards: longer than any frame takes.
const HOP: Duration = Duration::from_millis(5);

/// A row whose node n is n hops away from node 0.
fn row(n: usize, links: impl FnMut(Air<'_>) -> Fate + 'static) -> Net<Node> {
    let mut net = net(n, Config::default(), links);
    for hops in 0..n {
        let ring = Ring {
            hops: hops as u8,
            slot: HOP,
        };
        net.command(hops, Order::Stand(ring));
    }
    net
}

/// When frames begin of what node `from` sends inwards if it is to arrive as if begun by the outermost at `begin`.
fn turn(begin: Instant, from: usize) -> Instant {
    begin + HOP * (u64::from(Config::default().max_relay) - from as u64)
}

#[test]
fn what_goes_inwards_is_sent_once_a_hop_in_the_slot_of_its_ring() {
    let begin = Instant::from_nanos(40_000_000);
    let mut net = row(11, ideal(LINE));
    net.command(8, Order::Inwards(vec![7; 60], turn(begin, 8)));
    net.run_for(Duration::from_millis(300));
    let (_, got) = received(&mut net);
    let nodes: Vec<usize> = got.iter().map(|(node, ..)| *node).collect();
    assert_eq!(nodes, [7, 6, 5, 4, 3, 2, 1, 0]);
    assert!(got.iter().all(|(_, _, reference)| *reference == begin));
    assert_eq!(net.engine(0).0.content(), &[7; 60]);
    let sent = net.sent();
    assert_eq!(sent.len(), 8);
    for (frame, hops) in sent.iter().zip((1..=8).rev()) {
        let sfd = frame.start + phy::SFD_OFFSET;
        assert_eq!((frame.from, sfd), (hops, turn(begin, hops)));
    }
    assert!((0..11).all(|n| !net.engine(n).0.is_active()));
}

#[test]
fn many_go_inwards_at_a_time_whatever_their_length() {
    let begin = Instant::from_nanos(40_000_000);
    let mut net = row(11, ideal(LINE));
    let mut orders: Vec<(Instant, usize, usize)> = (0..10)
        .map(|n| {
            // In any order, and with frames of any length.
            let from = 1 + n * 7 % 10;
            let arrives = begin + HOP * (4 * n as u64);
            (turn(arrives, from), from, 10 + n * 11 % 90)
        })
        .collect();
    orders.sort();
    for (at, from, bytes) in orders {
        let ahead = at.since(net.now()).saturating_sub(Duration::from_millis(1));
        net.run_for(ahead);
        net.command(from, Order::Inwards(vec![from as u8; bytes], at));
    }
    net.run_for(Duration::from_millis(300));
    let (_, got) = received(&mut net);
    assert_eq!(got.iter().filter(|(node, ..)| *node == 0).count(), 10);
    let sent: usize = (1..=10).sum();
    assert_eq!(net.sent().len(), sent);
}

#[test]
fn a_frame_that_comes_from_far_waits_for_its_slot_and_others_pass_by() {
    let begin = Instant::from_nanos(40_000_000);
    // Three hops at a time, and nothing from one to the next.
    let mut net = row(10, ideal(|a, b| a.abs_diff(b) == 3));
    net.command(9, Order::Inwards(vec![1; 20], turn(begin, 9)));
    net.run_for(Duration::from_millis(300));
    let (_, got) = received(&mut net);
    let nodes: Vec<usize> = got.iter().map(|(node, ..)| *node).collect();
    assert_eq!(nodes, [6, 3, 0]);
    let starts: Vec<_> = net.sent().iter().map(|f| f.start).collect();
    assert!(starts.windows(2).all(|w| w[1].since(w[0]) == HOP * 3));
    // Who is as far away, or does not know, does nothing.
    let mut net = row(2, ideal(LINE));
    net.command(0, Order::Stand(Ring { hops: 1, slot: HOP }));
    let again = net.now() + HOP * 30;
    net.command(1, Order::Inwards(vec![1; 20], again));
    net.run_for(Duration::from_millis(300));
    assert_eq!(received(&mut net).1, []);
    let mut too_far = Flood::new(id(1), Config::default(), MOTE);
    let hops = too_far.most_hops() + 1;
    let refused = too_far.start_inwards(Instant::ZERO, &[1], (Ring { hops, slot: HOP }, again));
    assert_eq!(refused, Ok(None));
}

#[test]
fn a_straggler_does_not_begin_a_flood_anew() {
    let repr = Repr {
        sequence: 9,
        initiator: id(0),
        course: Course::Outwards(Ntx::THREE),
        relay: 0,
        content: &[1, 2, 3],
    };
    let mpdu = thalweg_wire::FrameBuf::build(|w| repr.emit(w)).unwrap();
    let mut receiver = Flood::new(id(1), Config::default(), MOTE);
    let mut hear = |at: Duration| {
        let at = Instant::ZERO + at;
        receiver.handle_timeout(at);
        let (rssi, lqi) = (thalweg_units::Dbm(-60.0), 100);
        let event = RadioEvent::Frame {
            mpdu: &mpdu,
            sfd: at,
            end: at,
            rssi,
            lqi,
        };
        receiver.handle_radio(&event, None);
        core::iter::from_fn(|| receiver.poll_event())
            .filter(|event| matches!(event, Event::Received { .. }))
            .count()
    };
    assert_eq!(hear(Duration::from_millis(1)), 1);
    // The part in it is over after four silent slots, the flood's life after 25.
    assert_eq!(hear(Duration::from_millis(10)), 0);
    assert_eq!(hear(Duration::from_millis(20)), 0);
    assert_eq!(hear(Duration::from_millis(60)), 1);
}

#[test]
fn a_stopped_node_leaves_the_radio_alone() {
    let mut net = net(3, Config::default(), ideal(LINE));
    net.command(1, Order::Stop);
    start(&mut net, 10);
    net.run_for(Duration::from_millis(100));
    assert!(net.sent().iter().all(|f| f.from == 0));
    net.command(1, Order::Listen);
    net.take_events();
    start(&mut net, 10);
    net.run_for(Duration::from_millis(100));
    assert_eq!(received(&mut net).1.len(), 2);
}

#[test]
fn a_flood_that_the_radio_refuses_is_told_of() {
    let mut net = net(1, Config::default(), ideal(LINE));
    let late = When::At(Instant::from_nanos(1000));
    net.command(0, Order::Start(vec![1], late));
    net.run_for(Duration::from_millis(1));
    let events = net.take_events();
    assert!(
        matches!(events[..], [(_, 0, Event::Refused { sequence: 0, .. })]),
        "{events:?}"
    );
    assert!(!net.engine(0).0.is_active());
    let mut flood = Flood::new(id(0), Config::default(), MOTE);
    let begun = flood.start(Instant::ZERO, &[0; MAX_CONTENT + 1], Ntx::ONE, When::Now);
    assert_eq!(begun, Err(TooLong));
    assert!(!flood.is_active());
}

#[test]
fn an_initiator_that_insists_outlives_the_loss_of_any_of_its_first_frames() {
    for (insistence, lost, all) in [
        (Insistence::Begins, 0, true),
        (Insistence::Begins, 2, false),
        (Insistence::Throughout, 1, true),
        (Insistence::Throughout, 2, true),
        (Insistence::Throughout, 3, true),
    ] {
        let mut links = ideal(LINE);
        let mut net = net(7, Config::default(), move |air: Air<'_>| {
            let relay = Repr::parse(air.mpdu).unwrap().relay;
            match relay == lost {
                true => Fate::Silent,
                false => links(air),
            }
        });
        start(&mut net, 60);
        net.command(0, Order::Insist(insistence));
        net.run_for(Duration::from_millis(100));
        let (began, got) = received(&mut net);
        assert_eq!(got.len() == 6, all, "{insistence:?}, slot {lost}: {got:?}");
        assert!(got.iter().all(|(_, _, reference)| *reference == began[0]));
    }
}
