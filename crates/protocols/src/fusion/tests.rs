//! A node as a whole, driven by hand: congestion bit, back-pressure and its exceptions, delay,
//! duplicates, the queue's limit, the application.

extern crate std;
use super::*;
use std::vec::Vec;
use thalweg_engine::{Engine, RadioEvent, RadioId};

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn node(strategy: &str, application: Application) -> Node {
    let mut node = Node::new(Config {
        id: id(2),
        channel: Channel::LAST,
        mac: csma::Config::MICA2,
        role: Role::Router,
        routing: Routing::Fixed(Some(id(1))),
        queue: 8,
        frame_bytes: 36,
        strategy: Strategy::named(strategy).unwrap(),
        application,
        seed: 1,
    });
    node.handle_command(Instant::ZERO, Command::Start);
    drain(&mut node);
    node
}
/// Operations and events of a drain.
fn drain(node: &mut Node) -> (Vec<OpId>, Vec<Event>) {
    let mut ops = Vec::new();
    while let Some(request) = node.poll_radio() {
        ops.push(request.id);
    }
    let events = core::iter::from_fn(|| node.poll_event()).collect();
    (ops, events)
}
fn packet(from: u16, to: u16, origin: u16, number: u16, congestion: Congestion) -> FrameBuf {
    let data = Data {
        link: Header {
            sequence: number as u8,
            to: Some(id(to)),
            from: id(from),
        },
        congestion,
        origin: id(origin),
        number,
        hops: 0,
        payload: &[1, 2, 3],
    };
    FrameBuf::build(|w| data.emit(w)).unwrap()
}
fn hear(node: &mut Node, at: Instant, frame: &FrameBuf) -> Vec<Event> {
    let event = RadioEvent::Frame {
        mpdu: frame,
        sfd: at,
        end: at,
        rssi: thalweg_units::Dbm(-70.0),
        lqi: 0,
    };
    node.handle_radio(at, RadioId(0), event);
    let (_, events) = drain(node);
    let op = csma::ops::ACK;
    node.handle_radio(at, RadioId(0), RadioEvent::Sent { op, sfd: at });
    drain(node);
    events
}
fn fill(node: &mut Node, count: u16) {
    for number in 0..count {
        let frame = packet(3, 2, 3, number, Congestion::Clear);
        hear(node, Instant::ZERO, &frame);
    }
}
fn is_stopped(node: &Node) -> bool {
    node.mac.is_held()
}

#[test]
fn the_queue_has_a_limit_and_says_so_from_seven_of_eight_on() {
    let mut node = node("occupancy", Application::Skips);
    fill(&mut node, 6);
    assert_eq!(node.congestion(), Congestion::Clear);
    fill(&mut node, 7);
    assert_eq!(
        (node.queue().len(), node.congestion()),
        (7, Congestion::Congested)
    );
    let mut dropped = 0;
    for number in 7..12 {
        let frame = packet(3, 2, 3, number, Congestion::Clear);
        let events = hear(&mut node, Instant::ZERO, &frame);
        let is_drop = |e: &&Event| {
            matches!(
                e,
                Event::Dropped {
                    why: Drop::Buffer,
                    ..
                }
            )
        };
        dropped += events.iter().filter(is_drop).count();
        assert!(node.queue().len() <= 8);
    }
    assert_eq!((node.queue().len(), dropped), (8, 4));
}

#[test]
fn a_packet_that_comes_twice_is_taken_once() {
    let mut node = node("none", Application::Skips);
    let frame = packet(3, 2, 3, 5, Congestion::Clear);
    assert_eq!(hear(&mut node, Instant::ZERO, &frame).len(), 1);
    assert!(hear(&mut node, Instant::ZERO, &frame).is_empty());
    assert_eq!(node.queue().len(), 1);
}

#[test]
fn a_packet_that_comes_back_over_more_links_is_dropped_with_its_reason() {
    let mut recent = Recent::new();
    let id = NodeId::new(2).unwrap();
    assert_eq!(recent.see(id, 5, 3), Sighting::New);
    assert_eq!(recent.see(id, 5, 3), Sighting::Again);
    assert_eq!(recent.see(id, 5, 6), Sighting::Round);
    assert_eq!(recent.see(id, 6, 6), Sighting::New);
}

#[test]
fn a_congested_parent_stops_its_children_until_it_is_clear() {
    let mut node = node("occupancy", Application::Skips);
    fill(&mut node, 3);
    assert!(!is_stopped(&node));
    let at = Instant::ZERO;
    hear(&mut node, at, &packet(1, 9, 4, 1, Congestion::Congested));
    assert!(is_stopped(&node));
    // Others' congestion is not its business.
    hear(&mut node, at, &packet(7, 9, 4, 1, Congestion::Clear));
    assert!(is_stopped(&node));
    hear(&mut node, at, &packet(1, 9, 4, 2, Congestion::Clear));
    assert!(!is_stopped(&node));
}

#[test]
fn a_congested_node_may_send_one_more_packet_and_one_for_each_that_comes() {
    let mut node = node("occupancy", Application::Skips);
    fill(&mut node, 7);
    let at = Instant::ZERO;
    hear(&mut node, at, &packet(1, 9, 4, 1, Congestion::Congested));
    assert_eq!((node.allowance, is_stopped(&node)), (1, false));
    node.finish(at, Outcome::Acknowledged(Congestion::Clear));
    node.pump(at);
    assert_eq!(node.allowance, 0);
    fill(&mut node, 8);
    hear(&mut node, at, &packet(3, 2, 3, 90, Congestion::Clear));
    assert_eq!(node.allowance, 1);
}

#[test]
fn without_a_strategy_nothing_stops() {
    let mut node = node("none", Application::Skips);
    fill(&mut node, 8);
    let at = Instant::ZERO;
    hear(&mut node, at, &packet(1, 9, 4, 1, Congestion::Congested));
    assert!(!is_stopped(&node));
    assert_eq!(node.congestion(), Congestion::Clear);
}

#[test]
fn after_the_parents_transmission_there_is_a_pause() {
    let mut node = node("occupancy+delay", Application::Skips);
    fill(&mut node, 1);
    let at = Instant::ZERO + Duration::from_millis(1);
    hear(&mut node, at, &packet(1, 9, 4, 1, Congestion::Clear));
    assert!(node.mac.poll_timeout().unwrap() > at + Strategy::DELAY);
}

#[test]
fn an_application_has_one_packet_in_the_stack_and_skips_or_waits() {
    for application in [Application::Skips, Application::Waits] {
        let mut node = node("none", application);
        node.handle_command(
            Instant::ZERO,
            Command::Offer(Schedule {
                first: Instant::ZERO + Duration::from_secs(1),
                period: Duration::from_secs(1),
                until: Instant::ZERO + Duration::from_secs(9),
                burst: 3,
            }),
        );
        drain(&mut node);
        let at = Instant::ZERO + Duration::from_secs(1);
        node.handle_timeout(at);
        let (_, events) = drain(&mut node);
        assert!(events.contains(&Event::Taken { number: 1 }));
        assert_eq!(node.queue().len(), 1);
        let expected = if application == Application::Waits {
            2
        } else {
            0
        };
        assert_eq!(node.waiting(), expected);
        let skipped = events.contains(&Event::Skipped { packets: 2 });
        assert_eq!(skipped, application == Application::Skips);
    }
}

#[test]
fn a_limited_source_waits_for_tokens() {
    let mut node = node("rate-limiting", Application::Skips);
    let mut at = Instant::ZERO + Duration::from_millis(100);
    // The parent is heard all the time, with other sources' packets.
    let mut taken = 0;
    let schedule = Schedule {
        first: at,
        period: Duration::from_millis(100),
        until: at + Duration::from_secs(100),
        burst: 1,
    };
    node.handle_command(Instant::ZERO, Command::Offer(schedule));
    for k in 0..200u16 {
        hear(
            &mut node,
            at,
            &packet(1, 9, 10 + k % 20, k, Congestion::Clear),
        );
        node.handle_timeout(at);
        let (_, events) = drain(&mut node);
        taken += events
            .iter()
            .filter(|e| matches!(e, Event::Taken { .. }))
            .count();
        if node.in_hand == InHand::Packet {
            node.mac = Mac::new(node.config.mac, node.config.channel, 1);
            node.finish(at, Outcome::Acknowledged(Congestion::Clear));
        }
        at += Duration::from_millis(100);
    }
    // Ten from the bucket, and one for each twenty packets of the parent's.
    assert!((15..=22).contains(&taken), "{taken}");
}

#[test]
fn sampling_calls_a_busy_channel_congested_after_four_epochs() {
    let mut detector = Detector::new(Strategy::SAMPLING);
    let mut queue = Queue::new(8);
    assert!(queue.push(Packet {
        origin: id(3),
        number: 1,
        hops: 0,
        payload: FrameBuf::EMPTY,
    }));
    let mut now = Instant::ZERO;
    detector.queue_changed(now, &queue);
    let mut since = None;
    for _ in 0..400 {
        now = detector.poll_timeout().unwrap();
        detector.asked(now);
        detector.sample(now, ChannelState::Busy);
        if detector.congestion(&queue) == Congestion::Congested {
            since = since.or(Some(now));
        }
    }
    // 1 - .85^k > .726 from k = 8 on.
    let since = since.unwrap().since(Instant::ZERO);
    assert!((0.7..1.3).contains(&since.as_secs_f64()), "{since}");
    queue.pop();
    detector.queue_changed(now, &queue);
    assert_eq!(detector.poll_timeout(), None);
    assert_eq!(detector.congestion(&queue), Congestion::Clear);
}

proptest::proptest! {
    #[test]
    fn the_queue_is_first_in_first_out_and_never_above_its_limit(
        limit in 1u8..20,
        pushes in proptest::collection::vec(proptest::prelude::any::<bool>(), 0..200),
    ) {
        let mut queue = Queue::new(limit);
        let (mut next, mut first) = (0u16, 0u16);
        for push in pushes {
            if push {
                let packet = Packet { origin: id(1), number: next, hops: 0, payload: FrameBuf::EMPTY };
                if queue.push(packet) {
                    next += 1;
                }
            } else if let Some(packet) = queue.pop() {
                proptest::prop_assert_eq!(packet.number, first);
                first += 1;
            }
            proptest::prop_assert!(queue.len() <= usize::from(limit).min(MAX_QUEUE));
            proptest::prop_assert_eq!(queue.iter().count(), queue.len());
        }
    }
}
