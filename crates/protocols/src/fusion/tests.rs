//! The discipline on a node driven by hand, and alone: congestion bit, back-pressure and its exceptions,
//! pause, tokens; what concerns the way up only.

use super::*;
use crate::csma::{self, Config as MacConfig};
use crate::stack::{Application, Command, Config, Node, Queue, Readings};
use crate::tree::{Role, Routing};
use thalweg_engine::{Activity, Engine, RadioEvent, RadioId, RadioOp};
use thalweg_units::{Channel, Dbm, Duration};
use thalweg_wire::addressed::{Ack, Header};
use thalweg_wire::tree::Data;
use thalweg_wire::FrameBuf;

type Mote = Node<Fusion, Readings>;

const T0: Instant = Instant::ZERO;
const DOWN: Direction = Direction::Down { to: NodeId::MAX };

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
/// A relay whose parent is node 1.
fn node(strategy: &str) -> Mote {
    let config = Config {
        id: id(2),
        channel: Channel::LAST,
        mac: MacConfig::MICA2,
        role: Role::Router,
        routing: Routing::Fixed(Some(id(1))),
        queue: Queue::of(8),
        seed: 1,
    };
    let strategy = Strategy::named(strategy).unwrap();
    let readings = Readings::new(Application::Waits, 20);
    let mut node = Node::new(config, Fusion::new(id(2), strategy), readings);
    node.handle_command(T0, Command::Start);
    drain(&mut node);
    node
}
fn drain(node: &mut Mote) {
    while node.poll_radio().is_some() {}
    while node.poll_event().is_some() {}
}
fn data(from: u16, to: u16, origin: u16, number: u16, state: Congestion) -> Data<'static> {
    Data {
        link: Header {
            sequence: number as u8,
            to: Some(id(to)),
            from: id(from),
        },
        stamp: stamp(state),
        direction: Direction::Up,
        origin: id(origin),
        number,
        hops: 0,
        payload: &[1, 2, 3],
    }
}
fn packet(from: u16, to: u16, origin: u16, number: u16, state: Congestion) -> FrameBuf {
    let data = data(from, to, origin, number, state);
    FrameBuf::build(|w| data.emit(w)).unwrap()
}
fn hear(node: &mut Mote, at: Instant, frame: &FrameBuf) {
    let event = RadioEvent::Frame {
        mpdu: frame,
        sfd: at,
        end: at,
        rssi: Dbm(-70.0),
        lqi: 0,
    };
    node.handle_radio(at, RadioId(0), event);
    drain(node);
    let op = csma::ops::ACK;
    node.handle_radio(at, RadioId(0), RadioEvent::Sent { op, sfd: at });
    drain(node);
}
fn fill(node: &mut Mote, count: u16) {
    for number in 0..count {
        hear(node, T0, &packet(3, 2, 3, number, Congestion::Clear));
    }
}
fn congestion_of(node: &Mote) -> Congestion {
    node.stack().discipline().congestion()
}

#[test]
fn a_queue_says_that_it_is_congested_from_two_of_eight_on() {
    for (strategy, two) in [
        ("occupancy", Congestion::Congested),
        ("rate-limiting", Congestion::Congested),
        ("none", Congestion::Clear),
    ] {
        let mut node = node(strategy);
        fill(&mut node, 1);
        assert_eq!(congestion_of(&node), Congestion::Clear);
        fill(&mut node, 2);
        assert_eq!(congestion_of(&node), two);
        assert_eq!(node.stack().discipline().stamp(), stamp(two));
        let priority = match two {
            Congestion::Congested => Priority::High,
            Congestion::Clear => Priority::Normal,
        };
        assert_eq!(node.stack().discipline().priority(), priority);
    }
}

/// What the node answers to a packet that it has received.
fn acknowledged(node: &mut Mote, number: u16) -> Ack {
    let mpdu = &packet(3, 2, 3, number, Congestion::Clear);
    let event = RadioEvent::Frame {
        mpdu,
        sfd: T0,
        end: T0,
        rssi: Dbm(-70.0),
        lqi: 0,
    };
    node.handle_radio(T0, RadioId(0), event);
    let mut answer = None;
    while let Some(request) = node.poll_radio() {
        if let RadioOp::Acknowledge { mpdu } = request.op {
            assert_eq!(answer.replace(Ack::parse(mpdu).unwrap()), None);
        }
    }
    let op = csma::ops::ACK;
    node.handle_radio(T0, RadioId(0), RadioEvent::Sent { op, sfd: T0 });
    drain(node);
    answer.unwrap()
}

#[test]
fn acknowledgements_say_that_a_queue_is_congested_where_the_strategy_has_them_do_so() {
    for (strategy, tells) in [
        ("fusion-ack", Congestion::Congested),
        ("fusion", Congestion::Clear),
        ("none", Congestion::Clear),
    ] {
        let mut node = node(strategy);
        let first = acknowledged(&mut node, 0);
        assert_eq!(
            (first.sequence, first.congestion),
            (0, Congestion::Clear),
            "{strategy}"
        );
        fill(&mut node, 3);
        let full = acknowledged(&mut node, 7);
        assert_eq!((full.sequence, full.congestion), (7, tells), "{strategy}");
    }
}

/// A child hears it in an acknowledgement as it does in a packet.
#[test]
fn an_acknowledgement_from_a_congested_parent_stops_a_child_where_the_strategy_has_it_do_so() {
    let acknowledged = Outcome::Acknowledged(Congestion::Congested);
    for (strategy, is_held) in [("fusion-ack", true), ("fusion", false)] {
        let mut fusion = Fusion::new(id(2), Strategy::named(strategy).unwrap());
        fusion.sent(DOWN, acknowledged);
        assert_eq!(fusion.gate(T0, Direction::Up), Gate::Open);
        fusion.sent(Direction::Up, acknowledged);
        let gate = if is_held { Gate::Held } else { Gate::Open };
        assert_eq!(fusion.gate(T0, Direction::Up), gate, "{strategy}");
    }
}

#[test]
fn a_congested_parent_stops_its_children_until_it_is_clear() {
    for (strategy, is_stopped) in [
        ("occupancy", true),
        ("rate-limiting", false),
        ("none", false),
    ] {
        let mut node = node(strategy);
        fill(&mut node, 1);
        assert!(!node.stack().mac().is_held());
        hear(&mut node, T0, &packet(1, 9, 4, 1, Congestion::Congested));
        assert_eq!(node.stack().mac().is_held(), is_stopped);
        // Others' congestion is not its business.
        hear(&mut node, T0, &packet(7, 9, 4, 1, Congestion::Clear));
        assert_eq!(node.stack().mac().is_held(), is_stopped);
        hear(&mut node, T0, &packet(1, 9, 4, 2, Congestion::Clear));
        assert!(!node.stack().mac().is_held());
    }
}

/// A discipline whose queue of eight is full and whose parent, it has just heard, is congested.
fn pressed() -> Fusion {
    let mut fusion = Fusion::new(id(2), Strategy::named("occupancy").unwrap());
    let (packets, limit) = (8, 8);
    fusion.queued(T0, Fill { packets, limit });
    hears(&mut fusion, T0, Direction::Up, 1, Hop::Elsewhere);
    fusion
}
/// It hears packet `number`, whose sender is congested and its parent if the packet is not for itself.
fn hears(fusion: &mut Fusion, at: Instant, direction: Direction, number: u16, hop: Hop) {
    let data = data(1, 9, 10 + number % 20, number, Congestion::Congested);
    let heard = Overheard {
        tail: &[],
        frame: &Repr::Data(Data { direction, ..data }),
        by_parent: hop == Hop::Elsewhere,
        hop,
        end: at,
    };
    fusion.heard(at, &heard);
}

#[test]
fn a_congested_node_may_send_one_more_packet_and_one_for_each_that_comes() {
    let mut fusion = pressed();
    assert_eq!(fusion.gate(T0, Direction::Up), Gate::Open);
    fusion.sent(Direction::Up, Outcome::Acknowledged(Congestion::Clear));
    assert_eq!(fusion.gate(T0, Direction::Up), Gate::Held);
    // Not for one that comes again, nor for one that is on its way down.
    hears(
        &mut fusion,
        T0,
        Direction::Up,
        2,
        Hop::Here(Sighting::Again),
    );
    hears(&mut fusion, T0, DOWN, 3, Hop::Here(Sighting::New));
    assert_eq!(fusion.gate(T0, Direction::Up), Gate::Held);
    hears(&mut fusion, T0, Direction::Up, 4, Hop::Here(Sighting::New));
    assert_eq!(fusion.gate(T0, Direction::Up), Gate::Open);
}

#[test]
fn the_way_down_is_not_held_back() {
    let mut fusion = pressed();
    fusion.sent(DOWN, Outcome::NoAck);
    assert_eq!(fusion.gate(T0, Direction::Up), Gate::Open);
    fusion.sent(Direction::Up, Outcome::NoAck);
    let gates = [Direction::Up, DOWN].map(|direction| fusion.gate(T0, direction));
    assert_eq!(gates, [Gate::Held, Gate::Open]);
    let mut limited = Fusion::new(id(2), Strategy::named("rate-limiting").unwrap());
    hears(&mut limited, T0, Direction::Up, 1, Hop::Elsewhere);
    limited.admitted(Direction::Up);
    let admits =
        |limited: &mut Fusion| [Direction::Up, DOWN].map(|direction| limited.admits(T0, direction));
    assert_eq!(admits(&mut limited), [false, true]);
    // What the parent sends down is no packet that it forwards for a source.
    hears(&mut limited, T0, DOWN, 2, Hop::Elsewhere);
    assert_eq!(admits(&mut limited), [false, true]);
    hears(&mut limited, T0, Direction::Up, 21, Hop::Elsewhere);
    assert_eq!(admits(&mut limited), [true, true]);
}

#[test]
fn after_the_parents_transmission_there_is_a_pause_for_what_waits_and_what_comes() {
    let (at, later) = (T0 + Duration::from_millis(1), T0 + Duration::from_millis(9));
    for child_at in [T0, later] {
        let mut node = node("occupancy+delay");
        let child = packet(3, 2, 3, 1, Congestion::Clear);
        let parent = packet(1, 9, 4, 1, Congestion::Clear);
        if child_at < at {
            hear(&mut node, child_at, &child);
        }
        hear(&mut node, at, &parent);
        if child_at > at {
            hear(&mut node, child_at, &child);
        }
        assert!(node.stack().mac().poll_timeout().unwrap() > at + Strategy::DELAY);
    }
}

#[test]
fn a_node_that_has_slept_knows_of_no_congestion() {
    let mut fusion = Fusion::new(id(2), Strategy::named("fusion").unwrap());
    let end = T0 + Strategy::DELAY;
    hears(&mut fusion, T0, Direction::Up, 1, Hop::Elsewhere);
    assert_eq!(fusion.gate(T0, Direction::Up), Gate::Held);
    assert_eq!(fusion.gate(T0, DOWN), Gate::Until(end));
    assert_eq!(fusion.gate(end, DOWN), Gate::Open);
    fusion.forget();
    assert_eq!(fusion.gate(T0, Direction::Up), Gate::Open);
}

#[test]
fn a_frame_says_what_holds_when_it_is_sent() {
    let mut node = node("occupancy");
    fill(&mut node, 7);
    let stamp_of = |mpdu: &[u8]| Repr::parse(mpdu).unwrap().stamp();
    let mut said = None;
    while said.is_none() {
        let at = node.poll_timeout().unwrap();
        node.handle_timeout(at);
        let mut looks = None;
        while let Some(request) = node.poll_radio() {
            if let RadioOp::Assess(_) = request.op {
                looks = Some(request.id);
            }
        }
        let Some(op) = looks else { continue };
        let (power, activity) = (Dbm(-110.0), Activity::Idle);
        let clear = RadioEvent::Sensed {
            op,
            power,
            activity,
        };
        node.handle_radio(at, RadioId(0), clear);
        while let Some(request) = node.poll_radio() {
            if let RadioOp::Stream { mpdu, .. } = request.op {
                said = Some(stamp_of(mpdu));
            }
        }
    }
    assert_eq!(said, Some(stamp(Congestion::Congested)));
}

#[test]
fn a_limited_source_waits_for_tokens() {
    let mut fusion = Fusion::new(id(2), Strategy::named("rate-limiting").unwrap());
    // The parent is heard all the time, with the packets of twenty other sources.
    let mut taken = 0;
    for k in 0..200 {
        let at = T0 + Duration::from_millis(100 * u64::from(k));
        hears(&mut fusion, at, Direction::Up, k, Hop::Elsewhere);
        if fusion.admits(at, Direction::Up) {
            fusion.admitted(Direction::Up);
            taken += 1;
        }
    }
    // One for each twenty packets of the parent's, and somewhat more until all sources are known.
    assert!((9..=14).contains(&taken), "{taken}");
}

#[test]
fn sampling_calls_a_busy_channel_congested_after_four_epochs() {
    let mut detector = Detector::new(Strategy::SAMPLING);
    let fill = |packets| Fill { packets, limit: 8 };
    let mut now = T0;
    detector.queued(now, fill(1));
    let mut since = None;
    for _ in 0..400 {
        now = detector.poll_timeout().unwrap();
        detector.handle_timeout(now);
        assert!(detector.poll_sample() && !detector.poll_sample());
        detector.sampled(now, ChannelState::Busy);
        if detector.congestion() == Congestion::Congested {
            since = since.or(Some(now));
        }
    }
    // 1 - .85^k > .726 from k = 8 on.
    let since = since.unwrap().since(T0);
    assert!((0.7..1.3).contains(&since.as_secs_f64()), "{since}");
    detector.queued(now, fill(0));
    assert_eq!(detector.poll_timeout(), None);
    assert_eq!(detector.congestion(), Congestion::Clear);
}

#[test]
fn a_name_is_its_parts() {
    let parts = |name: &str| {
        let s = Strategy::named(name).unwrap();
        let limit = s.rate_limit.map(|limit| limit.counts);
        (s.detection, s.feedback, s.delay, limit, s.congested)
    };
    let (delay, limit) = (Some(Strategy::DELAY), Some(Counts::Packets));
    let (overheard, high) = (Feedback::Overhearing, Priority::High);
    let nothing = (Detection::Off, Feedback::Off, None, None, Priority::Normal);
    assert_eq!(parts("none"), nothing);
    let limited = (Strategy::OCCUPANCY, Feedback::Off, None, limit, high);
    assert_eq!(parts("rate-limiting"), limited);
    let paused = (Strategy::OCCUPANCY, overheard, delay, None, high);
    assert_eq!(parts("occupancy+delay"), paused);
    let fusion = (Strategy::OCCUPANCY, Feedback::Both, delay, limit, high);
    assert_eq!(parts("fusion-ack"), fusion);
    let skewed = Some(Counts::LeastServed);
    let other = (Strategy::OCCUPANCY, overheard, delay, skewed, high);
    assert_eq!(parts("fusion-skewed"), other);
    assert!(Strategy::NAMES
        .iter()
        .all(|name| Strategy::named(name).is_some()));
    assert_eq!(Strategy::named("fusion-rate"), None);
}

#[test]
fn a_mote_fits_its_memory() {
    // Of a TelosB's 10,240 bytes. Neighbours take 2.7 kB, packets 2.2 kB and sources that are kept
    // apart 2.1 kB.
    assert!(size_of::<Mote>() <= 8_512, "{}", size_of::<Mote>());
}
