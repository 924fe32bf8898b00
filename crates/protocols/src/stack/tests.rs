//! A node of best effort driven by hand: what it relays, drops, delivers and takes, up and down.

extern crate std;
use super::*;
use crate::csma;
use crate::tree::{Role, Routing};
use std::vec::Vec;
use thalweg_engine::{Engine, RadioEvent, RadioId, RadioOp};
use thalweg_units::{Channel, Dbm, Duration, Instant};
use thalweg_wire::addressed::{Ack, Congestion, Header};
use thalweg_wire::tree::{Beacon, Data, LinkQuality, LqiBeacon, LqiRoute, Repr, Route, Stamp};

const T0: Instant = Instant::ZERO;
const DOWN: Direction = Direction::Down {
    to: NodeId::MAX, // no node
};

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

/// Sends as ordered, and keeps the events of packets.
#[derive(Debug, Default)]
struct Puppet {
    orders: Vec<Direction>,
    arrived: Vec<(u16, u16)>,
    gone: Vec<(Direction, Gone)>,
}
impl Upper for Puppet {
    type Command = Direction;
    type Event = ();
    fn handle_command(&mut self, _now: Instant, direction: Direction) {
        self.orders.push(direction);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn handle_timeout(&mut self, _now: Instant) {}
    fn poll_event(&mut self) -> Option<()> {
        None
    }
    fn next(
        &mut self,
        _now: Instant,
        mut room: impl FnMut(Direction) -> Room,
    ) -> Option<(Direction, FrameBuf)> {
        let direction = *self.orders.first()?;
        (room(direction) == Room::Free).then(|| (self.orders.remove(0), FrameBuf::EMPTY))
    }
    fn arrived(&mut self, _now: Instant, packet: &Packet) {
        self.arrived.push((packet.origin.get(), packet.number));
    }
    fn gone(&mut self, _now: Instant, packet: &Packet, how: Gone) {
        self.gone.push((packet.direction, how));
    }
    fn stop(&mut self) {
        self.orders.clear();
    }
}

/// Node 2 between its parent 1 and others; asks for acknowledgements and gets them.
struct Bench<T: Upper> {
    node: Node<Open, T, 4>,
    now: Instant,
    told: Vec<Event<T::Event>>,
}

impl<T: Upper> Bench<T> {
    fn new(role: Role, queue: u8, above: T) -> Self {
        let routing = Routing::Fixed((role != Role::Sink).then_some(id(1)));
        Self::with(role, routing, Queue::of(queue), above)
    }
    fn with(role: Role, routing: Routing, queue: Queue, above: T) -> Self {
        let config = Config {
            id: id(2),
            channel: Channel::LAST,
            mac: csma::Config::IEEE_802_15_4,
            role,
            routing,
            queue,
            seed: 1,
        };
        let mut bench = Self {
            node: Node::new(config, Open, above),
            now: T0,
            told: Vec::new(),
        };
        bench.command(Command::Start);
        bench
    }
    fn command(&mut self, command: Command<T::Command>) {
        self.node.handle_command(self.now, command);
        self.drain();
    }
    /// What it sends now, events aside.
    fn drain(&mut self) -> Option<FrameBuf> {
        let mut frame = None;
        while let Some(request) = self.node.poll_radio() {
            if let RadioOp::Stream { mpdu, .. } = request.op {
                frame = FrameBuf::from_slice(mpdu).ok();
            }
        }
        self.told
            .extend(core::iter::from_fn(|| self.node.poll_event()));
        frame
    }
    fn radio(&mut self, event: RadioEvent<'_>) {
        self.node.handle_radio(self.now, RadioId(0), event);
        self.drain();
    }
    fn frame(&mut self, mpdu: &[u8]) {
        let at = self.now;
        self.radio(RadioEvent::Frame {
            mpdu,
            sfd: at,
            end: at,
            rssi: Dbm(-70.0),
            lqi: 110,
        });
    }
    /// A beacon of the sink `from` comes, with an LQI of 110.
    fn beacon(&mut self, from: u16, cost: u16) {
        let (hops, parent) = (0, id(from));
        let beacon = LqiBeacon {
            link: Header {
                sequence: 0,
                to: None,
                from: id(from),
            },
            stamp: Stamp::default(),
            route: Some(LqiRoute { cost, hops, parent }),
        };
        self.frame(&FrameBuf::build(|w| beacon.emit(w)).unwrap());
    }
    /// Packet `number` of `origin` comes from `from`.
    fn comes(&mut self, from: u16, direction: Direction, origin: u16, number: u16, hops: u8) {
        let data = Data {
            link: Header {
                sequence: number as u8,
                to: Some(id(2)),
                from: id(from),
            },
            stamp: Stamp::default(),
            direction,
            origin: id(origin),
            number,
            hops,
            payload: &[1, 2, 3],
        };
        let frame = FrameBuf::build(|w| data.emit(w)).unwrap();
        self.frame(&frame);
        let op = csma::ops::ACK;
        self.radio(RadioEvent::Sent { op, sfd: self.now });
    }
    /// Waits for its next frame.
    fn transmits(&mut self) -> FrameBuf {
        let frame = loop {
            self.now = self.node.poll_timeout().unwrap();
            self.node.handle_timeout(self.now);
            if let Some(frame) = self.drain() {
                break frame;
            }
        };
        let op = csma::ops::DATA;
        self.radio(RadioEvent::Sent { op, sfd: self.now });
        frame
    }
    /// Waits for its next packet: its addressee, where it goes, whose it is. It is acknowledged.
    fn sends(&mut self) -> (u16, Direction, u16) {
        let frame = self.transmits();
        let Ok(Repr::Data(data)) = Repr::parse(&frame) else {
            panic!("no packet");
        };
        let ack = Ack {
            sequence: data.link.sequence,
            congestion: Congestion::Clear,
        };
        self.frame(&ack.bytes());
        (
            data.link.to.unwrap().get(),
            data.direction,
            data.origin.get(),
        )
    }
    fn queued(&self) -> usize {
        self.node.stack().queue().count()
    }
    fn dropped(&self) -> Vec<Drop> {
        let why = self.told.iter().filter_map(|event| match event {
            Event::Gone {
                how: Gone::Dropped(why),
                ..
            } => Some(*why),
            _ => None,
        });
        why.collect()
    }
    fn received(&self) -> usize {
        let is_received = |event: &&Event<_>| matches!(event, Event::Received { .. });
        self.told.iter().filter(is_received).count()
    }
}
fn relay() -> Bench<Puppet> {
    Bench::new(Role::Router, 8, Puppet::default())
}

#[test]
fn a_queue_keeps_order_and_its_limit() {
    let mut bench = relay();
    for number in 0..12 {
        bench.comes(3, Direction::Up, 10 + number, number, 0);
    }
    assert_eq!((bench.queued(), bench.received()), (8, 12));
    assert_eq!(bench.dropped(), [Drop::Buffer; 4]);
    for origin in 10..18 {
        assert_eq!(bench.sends(), (1, Direction::Up, origin));
    }
    assert_eq!(bench.queued(), 0);
}

#[test]
fn a_node_has_room_for_a_packet_of_its_own_beyond_those_of_others() {
    let queue = Queue { packets: 4, own: 1 };
    let up = Routing::Fixed(Some(id(1)));
    let mut bench = Bench::with(Role::Router, up, queue, Puppet::default());
    for number in 0..5 {
        bench.comes(3, Direction::Up, 10 + number, number, 0);
    }
    assert_eq!((bench.queued(), bench.dropped().len()), (4, 1));
    bench.command(Command::Upper(Direction::Up));
    bench.command(Command::Upper(Direction::Up));
    assert_eq!((bench.queued(), bench.node.above().orders.len()), (5, 1));
    // With one gone there is room for the node's own again, and for no other's.
    bench.sends();
    assert_eq!((bench.queued(), bench.node.above().orders.len()), (5, 0));
    bench.comes(3, Direction::Up, 20, 1, 0);
    assert_eq!((bench.queued(), bench.dropped().len()), (5, 2));
}

#[test]
fn where_links_are_estimated_by_gaps_every_transmission_has_a_number_of_its_own() {
    let (interval, frame_bytes) = (Duration::from_secs(100), 34);
    let routing = Routing::Etx {
        interval,
        frame_bytes,
    };
    let mut bench = Bench::with(Role::Router, routing, Queue::of(8), Puppet::default());
    for sequence in 0..5 {
        let (to, from, stamp) = (None, id(1), Stamp::default());
        let route = Route {
            sink: from,
            sequence: 1,
            cost: 0,
            parent: from,
        };
        let (neighbour, received) = (id(2), 255);
        let link = LinkQuality {
            neighbour,
            received,
        };
        let header = Header { sequence, to, from };
        let links = core::iter::once(link);
        let beacon = FrameBuf::build(|w| Beacon::emit(w, header, stamp, &[route], links));
        bench.frame(&beacon.unwrap());
    }
    bench.command(Command::Upper(Direction::Up));
    bench.command(Command::Upper(Direction::Up));
    // Nobody answers the first packet, which is sent four times.
    let numbers: Vec<(u8, u16)> = core::iter::from_fn(|| match Repr::parse(&bench.transmits()) {
        Ok(Repr::Data(data)) => Some((data.link.sequence, data.number)),
        _ => None,
    })
    .take(5)
    .collect();
    assert_eq!(numbers, [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2)]);
    // An acknowledgement names the transmission that it answers.
    assert_eq!(bench.sends().0, 1);
    assert_eq!(bench.queued(), 0);
}

#[test]
fn a_packet_is_taken_once_and_dropped_when_it_comes_round() {
    let mut bench = relay();
    bench.comes(3, Direction::Up, 10, 5, 1);
    bench.comes(3, Direction::Up, 10, 5, 1);
    assert_eq!((bench.queued(), bench.received()), (1, 1));
    bench.comes(4, Direction::Up, 10, 5, 4);
    bench.comes(4, Direction::Up, 10, 6, 40);
    assert_eq!((bench.queued(), bench.received()), (1, 3));
    assert_eq!(bench.dropped(), [Drop::Hops; 2]);
}

#[test]
fn a_loop_of_a_tree_by_lqi_is_left_when_a_packet_comes_round() {
    let routing = Routing::MULTI_HOP_LQI;
    let mut bench = Bench::with(Role::Router, routing, Queue::of(8), Puppet::default());
    for round in [(10, 4), (2, 9)] {
        bench.beacon(1, 125);
        let parent = |bench: &Bench<Puppet>| bench.node.stack().router().parent();
        assert_eq!(parent(&bench), Some(id(1)));
        assert_eq!(
            bench.told.last(),
            Some(&Event::Parent {
                parent: Some(id(1))
            })
        );
        let (origin, number) = round;
        if origin != 2 {
            bench.comes(3, Direction::Up, origin, number, 0);
            bench.comes(3, Direction::Up, origin, number, 0);
            assert_eq!(parent(&bench), Some(id(1)));
        }
        bench.comes(3, Direction::Up, origin, number, 3);
        assert_eq!(parent(&bench), None);
        assert_eq!(bench.told.last(), Some(&Event::Parent { parent: None }));
    }
    assert_eq!(
        (bench.dropped(), bench.queued()),
        (std::vec![Drop::Hops; 2], 1)
    );
}

#[test]
fn a_sink_delivers_what_comes_up_once() {
    let mut bench = Bench::new(Role::Sink, 8, Puppet::default());
    for hops in [1, 1, 3] {
        bench.comes(3, Direction::Up, 10, 5, hops);
    }
    bench.command(Command::Upper(Direction::Up));
    assert_eq!(bench.node.above().arrived, [(10, 5), (2, 1)]);
    assert_eq!(bench.queued(), 0);
}

#[test]
fn what_goes_down_takes_the_way_that_its_destinations_latest_packet_came() {
    let mut bench = relay();
    let to = |n| Direction::Down { to: id(n) };
    bench.comes(3, Direction::Up, 10, 1, 2);
    bench.comes(4, Direction::Up, 10, 2, 2);
    // Round a circle, it says nothing about where 10 is; nor does what comes down about where 1 is.
    bench.comes(5, Direction::Up, 10, 2, 6);
    bench.comes(1, to(10), 1, 1, 0);
    bench.comes(1, to(11), 1, 2, 0);
    bench.comes(3, to(1), 10, 3, 0);
    let sent: Vec<_> = (0..5).map(|_| bench.sends()).collect();
    let up = (1, Direction::Up, 10);
    // Without a route, straight to the destination.
    assert_eq!(
        sent,
        [up, up, (4, to(10), 1), (11, to(11), 1), (1, to(1), 10)]
    );
    // One that comes back the way it went is in a circle.
    bench.comes(4, to(10), 1, 1, 2);
    assert_eq!(bench.dropped(), [Drop::Hops; 2]);
    assert!(bench.node.above().arrived.is_empty());
    bench.comes(1, to(2), 1, 3, 4);
    assert_eq!((bench.queued(), bench.received()), (0, 8));
    assert_eq!(bench.node.above().arrived, [(1, 3)]);
}

#[test]
fn the_layer_above_is_told_what_became_of_its_packets_alone() {
    let mut bench = Bench::new(Role::Router, 2, Puppet::default());
    bench.comes(3, Direction::Up, 10, 1, 0);
    for _ in 0..3 {
        bench.command(Command::Upper(DOWN));
    }
    // One was taken, two wait for room.
    assert_eq!((bench.queued(), bench.node.above().orders.len()), (2, 2));
    bench.sends();
    assert!(bench.node.above().gone.is_empty());
    assert_eq!(bench.sends(), (NodeId::MAX.get(), DOWN, 2));
    assert_eq!(bench.node.above().gone, [(DOWN, Gone::Passed)]);
    // No node acknowledges the next: a transmission and its repetitions.
    for _ in 0..=csma::Config::IEEE_802_15_4.retries {
        while bench.drain().is_none() {
            bench.now = bench.node.poll_timeout().unwrap();
            bench.node.handle_timeout(bench.now);
        }
        let op = csma::ops::DATA;
        bench.radio(RadioEvent::Sent { op, sfd: bench.now });
    }
    bench.now = bench.node.poll_timeout().unwrap();
    bench.node.handle_timeout(bench.now);
    let gone = Gone::Dropped(Drop::Retries);
    assert_eq!(bench.node.above().gone.last(), Some(&(DOWN, gone)));
}

#[test]
fn a_node_that_was_stopped_goes_on_with_its_queue() {
    let mut bench = relay();
    bench.comes(3, Direction::Up, 10, 1, 0);
    bench.command(Command::Stop);
    bench.command(Command::Start);
    assert_eq!(bench.sends(), (1, Direction::Up, 10));
}

fn readings(application: Application, burst: u16) -> Bench<Readings> {
    let mut bench = Bench::new(Role::Router, 8, Readings::new(application, 20));
    let second = Duration::from_secs(1);
    bench.command(Command::Upper(Schedule {
        first: T0 + second,
        period: second,
        until: T0 + second * 2,
        burst,
    }));
    bench.now = T0 + second;
    bench.node.handle_timeout(bench.now);
    bench.drain();
    bench
}

#[test]
fn an_application_has_one_packet_in_the_stack_or_fills_it() {
    for (application, in_stack, waits) in [(Application::Waits, 1, 3), (Application::Fills, 4, 0)] {
        let mut bench = readings(application, 4);
        assert_eq!(
            (bench.queued(), bench.node.above().waiting()),
            (in_stack, waits)
        );
        assert!(bench.told.contains(&Event::Taken { number: 1 }));
        let (made, skipped) = (4, 0);
        assert!(bench
            .told
            .contains(&Event::Upper(Reading { made, skipped })));
        bench.sends();
        assert_eq!(bench.node.above().waiting(), u16::max(waits, 1) - 1);
    }
}

#[test]
fn a_node_whose_clock_is_ahead_makes_the_readings_that_it_missed() {
    let mut bench = Bench::new(Role::Router, 8, Readings::new(Application::Waits, 20));
    let second = Duration::from_secs(1);
    bench.command(Command::Upper(Schedule {
        first: T0 + second,
        period: second,
        until: T0 + second * 60,
        burst: 2,
    }));
    bench.now = T0 + Duration::from_millis(4_500);
    bench.node.handle_timeout(bench.now);
    let next = bench.node.above().poll_timeout();
    assert_eq!(next, Some(T0 + second * 5), "nothing stays due");
    bench.drain();
    let (made, skipped) = (8, 6);
    assert!(bench
        .told
        .contains(&Event::Upper(Reading { made, skipped })));
}

#[test]
fn the_last_reading_is_the_latest_that_was_due() {
    let second = Duration::from_secs(1);
    let schedule = Schedule {
        first: T0 + second,
        period: second,
        until: T0 + second * 10,
        burst: 1,
    };
    let after = |ms| schedule.latest(T0 + Duration::from_millis(ms));
    assert_eq!(after(0), T0 + second);
    assert_eq!(after(1999), T0 + second);
    assert_eq!(after(3000), T0 + second * 3);
}

#[test]
fn no_packet_is_lost_from_the_books_however_many_are_insisted_on() {
    let mut bench = readings(Application::Insists, 100);
    while bench.node.above().waiting() > 0 || bench.queued() > 0 {
        bench.sends();
    }
    let passed = |event: &&Event<_>| {
        matches!(
            event,
            Event::Gone {
                how: Gone::Passed,
                ..
            }
        )
    };
    let passed = bench.told.iter().filter(passed).count();
    assert_eq!(passed + bench.dropped().len(), 100);
    assert!(passed >= 8);
}
