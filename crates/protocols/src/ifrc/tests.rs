//! Thresholds, slopes and sharing by numbers worked out by hand.

use super::detector::{Crossing, Detector};
use super::rate::{Allowance, Slope, Taken, INITIAL};
use super::*;
use crate::stack::Sighting;
use thalweg_units::Duration;
use thalweg_wire::addressed::Header;
use thalweg_wire::ifrc::Phase;
use thalweg_wire::tree::{Data, Notice, Stamp};

const ME: u16 = 1;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn near(a: f32, b: f32) -> bool {
    (a - b).abs() < 1e-3 * b.abs().max(1e-3)
}
fn additive(rate: f32, crossed: u8) -> State {
    let rate = Rate::from_per_s(rate);
    State {
        rate,
        phase: Phase::Additive { threshold: rate },
        crossed,
    }
}
fn says(own: State) -> Control {
    Control { own, child: None }
}

/// What a frame from `from` with `control` at its end does to `node`.
fn hear(node: &mut Ifrc, from: u16, kin: Kin, by_parent: bool, control: Control) {
    let (link, stamp) = (
        Header {
            sequence: 1,
            to: Some(id(ME)),
            from: id(from),
        },
        Stamp::default(),
    );
    let data = Data {
        link,
        stamp,
        direction: Direction::Up,
        origin: id(from),
        number: 1,
        hops: 0,
        payload: &[],
    };
    let (frame, hop) = match kin {
        Kin::Child => (Repr::Data(data), Hop::Here(Sighting::New)),
        Kin::Other => (Repr::Notice(Notice { link, stamp }), Hop::Elsewhere),
    };
    let mut tail = [0; CONTROL_BYTES];
    control.emit(&mut Writer::new(&mut tail)).unwrap();
    let heard = Overheard {
        frame: &frame,
        by_parent,
        hop,
        tail: &tail,
        end: Instant::ZERO,
    };
    assert_eq!(node.heard(Instant::ZERO, &heard), None);
}

fn fill(node: &mut Ifrc, packets: u8) {
    for packets in [packets - 1, packets] {
        let limit = QUEUE;
        node.queued(Instant::ZERO, Fill { packets, limit });
    }
}

/// A queue that stays at 30: its average after n insertions is 30 (1 - .97^n), over 8 with n = 11 (8.5), 16 with 26
/// (16.4), 20 with 37 (20.3) and 22 with 44 (22.1).
#[test]
fn each_threshold_is_crossed_once_and_the_last_is_told_apart() {
    let mut detector = Detector::NEW;
    let crossings = (1..=60).filter_map(|n| match detector.inserted(30) {
        Crossing::None => None,
        crossing => Some((n, crossing)),
    });
    use Crossing::{Last, Threshold};
    let wanted = [
        (11, Threshold),
        (26, Threshold),
        (37, Threshold),
        (44, Last),
    ];
    assert!(crossings.eq(wanted));
    // From 30 (1 - .97^60) = 25.2 an empty queue brings it below 4 with the 61st: 25.2 x .97^61 = 3.9.
    let calm = (1..=100).find(|_| {
        detector.inserted(0);
        detector.crossed() == 0
    });
    assert_eq!(calm, Some(61));
}

#[test]
fn slow_start_adds_phi_and_additive_increase_a_share_of_the_threshold() {
    let mut allowed = Allowance::NEW;
    for _ in 0..100 {
        allowed.grow(Slope::Node);
    }
    assert!(near(allowed.rate(), INITIAL + 100.0 * 0.0025));
    allowed.halve();
    assert!(near(allowed.rate(), 0.135));
    allowed.grow(Slope::Node);
    // .135^2 / (80 x .135).
    assert!(near(allowed.rate(), 0.135 + 0.135 / 80.0));
    allowed.grow(Slope::Base);
    let now = 0.135 + 0.135 / 80.0;
    assert!(near(
        allowed.rate(),
        now + 2.0 * 0.135 * 0.135 / (80.0 * now)
    ));
    // Slow start up to half of what was, and from there on additively.
    let half = allowed.rate() / 2.0;
    allowed.restart();
    assert!(near(allowed.rate(), INITIAL));
    let steps = (0..).take_while(|_| {
        let before = allowed.rate();
        allowed.grow(Slope::Node);
        near(allowed.rate() - before, 0.0025)
    });
    // (.07001 - .02) / .0025 = 20.004.
    assert_eq!(steps.count(), 21);
    assert!(allowed.rate() > half);
}

#[test]
fn a_lower_rate_is_taken_with_its_slow_start_and_a_higher_is_not() {
    let mut allowed = Allowance::NEW;
    let slow = Phase::SlowStart { threshold: None };
    assert_eq!(allowed.take(Rate::from_per_s(0.5), slow), Taken::Kept);
    allowed.grow(Slope::Node);
    let lower = Rate::from_per_s(0.01);
    let threshold = Rate::from_per_s(0.3);
    let phase = Phase::SlowStart {
        threshold: Some(threshold),
    };
    assert_eq!(allowed.take(lower, phase), Taken::Lowered);
    assert_eq!(allowed.phase(), phase);
    // No node is silenced by a rate of none.
    assert_eq!(allowed.take(Rate::from_per_s(0.0), slow), Taken::Lowered);
    assert!(allowed.rate() > 0.0);
}

#[test]
fn a_node_halves_at_a_crossing_unless_it_was_just_lowered() {
    let mut node = Ifrc::new(id(ME));
    (0..200).for_each(|_| node.admitted(Direction::Up));
    assert!(near(node.rate(), 0.52));
    (0..11).for_each(|_| fill(&mut node, 30));
    assert!(near(node.rate(), 0.26));
    let crossed = says(additive(0.1, 1));
    hear(&mut node, 9, Kin::Other, false, crossed);
    assert!(near(node.rate(), 0.1));
    // The second threshold comes at once: its congestion is that which the neighbour announced.
    (0..15).for_each(|_| fill(&mut node, 30));
    assert!(near(node.rate(), 0.1));
    node.admitted(Direction::Up);
    (0..11).for_each(|_| fill(&mut node, 30));
    assert!(near(node.rate(), (0.1 + 0.1 / 80.0) / 2.0));
}

#[test]
fn the_parents_rate_bounds_a_nodes() {
    let mut node = Ifrc::new(id(ME));
    (0..200).for_each(|_| node.admitted(Direction::Up));
    hear(&mut node, 5, Kin::Other, true, says(additive(0.2, 0)));
    assert!(near(node.rate(), 0.2));
    node.admitted(Direction::Up);
    assert!(node.rate() <= 0.2001);
    // A neighbour that is not the parent, and has crossed nothing new, bounds no node.
    hear(&mut node, 6, Kin::Other, false, says(additive(0.05, 0)));
    assert!(near(node.rate(), 0.2));
}

#[test]
fn a_neighbours_most_congested_child_counts_unless_that_is_the_node() {
    let own = additive(1.0, 0);
    let tells = |child: u16| Control {
        own,
        child: Some((id(child), additive(0.03, 1))),
    };
    let mut node = Ifrc::new(id(ME));
    (0..200).for_each(|_| node.admitted(Direction::Up));
    let before = node.rate();
    hear(&mut node, 5, Kin::Other, false, tells(ME));
    assert!(near(node.rate(), before));
    hear(&mut node, 5, Kin::Other, false, tells(8));
    assert!(near(node.rate(), 0.03));
}

#[test]
fn tokens_come_at_the_nodes_rate() {
    let mut node = Ifrc::new(id(ME));
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    assert!(node.admits(at(0), Direction::Up));
    node.admitted(Direction::Up);
    // .0225 packets/s: 44.4 s.
    assert!(!node.admits(at(44_000), Direction::Up));
    assert!(node.admits(at(44_000), Direction::Down { to: id(2) }));
    let due = node.poll_timeout().unwrap();
    assert!((at(44_000)..at(45_000)).contains(&due));
    node.handle_timeout(due);
    assert!(node.admits(due, Direction::Up));
}

#[test]
fn a_base_station_takes_a_congested_childs_rate_and_tells_of_it_twice() {
    let mut base = Ifrc::base(id(ME));
    hear(&mut base, 2, Kin::Child, false, says(additive(1.0, 0)));
    let notices = |base: &mut Ifrc| (0..9).filter(|_| base.poll_notice()).count();
    // Its first notice is due at once; its rate grows with time, twice as fast as a node's.
    assert_eq!(base.poll_timeout(), Some(Instant::ZERO));
    base.handle_timeout(Instant::ZERO);
    assert_eq!(notices(&mut base), 1);
    // Three packets of the fastest child take 3 s.
    let next = base.poll_timeout().unwrap();
    assert_eq!(next, Instant::ZERO + Duration::from_secs(3));
    for _ in 0..100 {
        let due = base.poll_timeout().unwrap();
        base.handle_timeout(due);
        base.poll_notice();
    }
    let grown = base.rate();
    assert!(grown > INITIAL + 0.005);
    // Who crosses without being a child is none of its business.
    hear(&mut base, 3, Kin::Other, false, says(additive(0.005, 1)));
    assert!(near(base.rate(), grown));
    hear(&mut base, 2, Kin::Child, false, says(additive(0.01, 1)));
    assert!(near(base.rate(), 0.01));
    assert_eq!(notices(&mut base), 2);
    // Its frames name the child.
    let mut tail = [0; CONTROL_BYTES];
    base.write_tail(&mut tail);
    let child = Control::parse(&tail).unwrap().child;
    assert_eq!(child.map(|(child, _)| child), Some(id(2)));
}

#[test]
fn a_neighbour_is_forgotten_after_fifty_packets() {
    let mut node = Ifrc::new(id(ME));
    hear(&mut node, 2, Kin::Child, false, says(additive(0.5, 1)));
    assert!(node.child.is_some());
    (0..50).for_each(|_| node.admitted(Direction::Up));
    assert!(node.child.is_some());
    node.admitted(Direction::Up);
    assert!(node.child.is_none());
}
