//! Two ends on a line that drops, flips, delays and splits, and restarts ends: within a session what is
//! delivered is the beginning of what was sent, and where the line is good again all of it arrives.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::vec::Vec;
use thalweg_units::NodeId;
use thalweg_wire::host::{Carries, LastWords, Limits, Name};
use thalweg_wire::host::{Hello, VERSION};

const STEP: Duration = Duration::from_millis(10);

fn about(boot: u32) -> About {
    About {
        boot,
        node: NodeId::new(7).unwrap(),
        board: Name::new("test").unwrap(),
        carries: Carries::PipelinesAndSessions,
        limits: Limits {
            nodes: 4,
            order_bytes: 99,
            object_bytes: 1_000,
        },
        last_words: LastWords::EMPTY,
    }
}

/// What happens to a piece of the bytes under way.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    Drop,
    Flip(u8),
    Delay(u8),
    Split(u8),
    /// The end that would have received it restarts.
    Reboot,
}

fn faults() -> impl Strategy<Value = Fault> {
    prop_oneof![
        6 => Just(Fault::None),
        2 => Just(Fault::Drop),
        2 => any::<u8>().prop_map(Fault::Flip),
        2 => any::<u8>().prop_map(Fault::Delay),
        2 => any::<u8>().prop_map(Fault::Split),
        1 => Just(Fault::Reboot),
    ]
}

/// An end, its events, and what is on its way to it.
struct Side {
    link: Link,
    end: End,
    starts: u32,
    coming: VecDeque<(Instant, Vec<u8>)>,
    /// By session: what it sent, and what was delivered.
    sent: BTreeMap<u32, Vec<u16>>,
    heard: BTreeMap<u32, Vec<u16>>,
    downs: u32,
    next: u16,
}

impl Side {
    fn new(end: End) -> Self {
        let mut side = Self {
            link: Link::new(end, 0, None, Instant::ZERO),
            end,
            starts: 0,
            coming: VecDeque::new(),
            sent: BTreeMap::new(),
            heard: BTreeMap::new(),
            downs: 0,
            next: 0,
        };
        side.start(Instant::ZERO);
        side
    }
    fn start(&mut self, now: Instant) {
        self.starts += 1;
        let seed = self.starts << 8 | u32::from(self.end == End::Station);
        let about = (self.end == End::Station).then(|| about(self.starts));
        self.link = Link::new(self.end, seed, about, now);
    }
    fn session(&self) -> u32 {
        match self.link.protocol.state {
            State::Up(peer) => self.link.protocol.session(peer),
            _ => 0,
        }
    }
    /// Sends as many of `left` as there is room for, each with its number, long and short ones.
    fn send(&mut self, left: &mut u16) {
        while *left > 0 && self.link.room() > 0 {
            let mut message = [0x5a; MAX_MESSAGE];
            message[..2].copy_from_slice(&self.next.to_le_bytes());
            let len = 2 + usize::from(self.next) * 37 % (MAX_MESSAGE - 1);
            self.link.send(&message[..len]).unwrap();
            let sent = self.sent.entry(self.session()).or_default();
            sent.push(self.next);
            (self.next, *left) = (self.next + 1, *left - 1);
        }
    }
    fn take(&mut self, now: Instant, mut bytes: &[u8]) {
        loop {
            let session = self.session();
            match self.link.receive(now, &mut bytes) {
                None => return,
                Some(LinkEvent::Message(message)) => {
                    let number = u16::from_le_bytes([message[0], message[1]]);
                    let len = 2 + usize::from(number) * 37 % (MAX_MESSAGE - 1);
                    assert_eq!(message.len(), len);
                    assert!(message[2..].iter().all(|b| *b == 0x5a));
                    self.heard.entry(session).or_default().push(number);
                }
                Some(LinkEvent::Up(about)) => assert_eq!(about.is_some(), self.end == End::Host),
                Some(LinkEvent::Down(_)) => self.downs += 1,
                Some(LinkEvent::Note(note)) => assert_eq!(note, b"note"),
                Some(LinkEvent::Foreign(_)) => unreachable!("one version"),
            }
        }
    }
    fn put(&mut self, at: Instant, bytes: Vec<u8>) {
        // A stream stays in order.
        let at = self.coming.back().map_or(at, |(last, _)| at.max(*last));
        self.coming.push_back((at, bytes));
    }
}

/// Runs both ends for `steps`, with a fault for each piece that goes out; good once there is none left.
fn run(
    sides: &mut [Side; 2],
    now: &mut Instant,
    steps: u32,
    faults: &mut VecDeque<Fault>,
    left: &mut [u16; 2],
) {
    for _ in 0..steps {
        *now += STEP;
        for n in 0..2 {
            while sides[n].coming.front().is_some_and(|(at, _)| at <= now) {
                let (_, bytes) = sides[n].coming.pop_front().unwrap();
                sides[n].take(*now, &bytes);
            }
            if sides[n].link.due() <= *now && sides[n].link.timeout(*now).is_some() {
                sides[n].downs += 1;
            }
            sides[n].send(&mut left[n]);
            if *now > Instant::from_nanos(500_000_000 * u64::from(n as u8 + 1)) {
                let _ = sides[n].link.note(b"note");
            }
            let mut room = [0; MAX_STUFFED];
            loop {
                let len = sides[n].link.transmit(*now, &mut room);
                if len == 0 {
                    break;
                }
                let (mut bytes, at) = (room[..len].to_vec(), *now + STEP / 2);
                match faults.pop_front().unwrap_or(Fault::None) {
                    Fault::None => sides[1 - n].put(at, bytes),
                    Fault::Drop => {}
                    Fault::Flip(bit) => {
                        let place = usize::from(bit / 8) % bytes.len();
                        bytes[place] ^= 1 << (bit % 8);
                        sides[1 - n].put(at, bytes);
                    }
                    Fault::Delay(steps) => sides[1 - n].put(at + STEP * u64::from(steps), bytes),
                    Fault::Split(place) => {
                        let rest = bytes.split_off(usize::from(place) % bytes.len());
                        sides[1 - n].put(at, bytes);
                        sides[1 - n].put(at + STEP, rest);
                    }
                    Fault::Reboot => sides[1 - n].start(*now),
                }
            }
        }
    }
}

fn check(sides: &[Side; 2]) {
    for (from, to) in [(0, 1), (1, 0)] {
        for (session, heard) in &sides[to].heard {
            let sent = sides[from].sent.get(session);
            let sent = sent.unwrap_or_else(|| panic!("session {session:08x} is nobody's"));
            assert_eq!(heard[..], sent[..heard.len()], "in order and once");
        }
    }
}

proptest! {
    #[test]
    fn what_is_delivered_is_the_beginning_of_what_was_sent(
        story in prop::collection::vec(faults(), 0..400),
        left in (0u16..200, 0u16..200),
    ) {
        let mut sides = [Side::new(End::Host), Side::new(End::Station)];
        let (mut now, mut story, mut left) = (Instant::ZERO, VecDeque::from(story), [left.0, left.1]);
        run(&mut sides, &mut now, 1_000, &mut story, &mut left);
        check(&sides);
        // However bad it was: on a good line there is a session, and all of it arrives.
        let mut good = VecDeque::new();
        run(&mut sides, &mut now, 1_500, &mut good, &mut left);
        check(&sides);
        prop_assert!(sides.iter().all(|side| side.link.is_up()));
        let [a, b] = [sides[0].session(), sides[1].session()];
        prop_assert_eq!(a, b);
        let mut more = [50, 50];
        run(&mut sides, &mut now, 500, &mut good, &mut more);
        check(&sides);
        for (from, to) in [(0, 1), (1, 0)] {
            prop_assert!(sides[from].link.is_clear());
            prop_assert_eq!(sides[from].sent.get(&a), sides[to].heard.get(&a));
        }
    }
}

/// Both ends, greeted.
fn greeted() -> ([Side; 2], Instant) {
    let mut sides = [Side::new(End::Host), Side::new(End::Station)];
    let mut now = Instant::ZERO;
    run(&mut sides, &mut now, 10, &mut VecDeque::new(), &mut [0, 0]);
    assert!(sides.iter().all(|side| side.link.is_up()));
    (sides, now)
}

#[test]
fn a_quiet_line_beats_and_a_dead_one_is_silent() {
    let (mut sides, mut now) = greeted();
    run(
        &mut sides,
        &mut now,
        3_000,
        &mut VecDeque::new(),
        &mut [0, 0],
    );
    assert_eq!((sides[0].downs, sides[1].downs), (0, 0));
    let mut cut: VecDeque<Fault> = (0..10_000).map(|_| Fault::Drop).collect();
    run(&mut sides, &mut now, 320, &mut cut, &mut [0, 0]);
    assert_eq!((sides[0].downs, sides[1].downs), (1, 1));
    run(&mut sides, &mut now, 100, &mut VecDeque::new(), &mut [0, 0]);
    assert!(sides.iter().all(|side| side.link.is_up()));
}

#[test]
fn a_window_is_four_and_what_does_not_fit_is_refused() {
    let (mut sides, now) = greeted();
    let link = &mut sides[0].link;
    assert_eq!(link.send(&[0; MAX_MESSAGE + 1]), Err(SendError::TooLong));
    for _ in 0..WINDOW {
        assert_eq!(link.send(&[1]), Ok(()));
    }
    assert_eq!((link.send(&[1]), link.room()), (Err(SendError::Full), 0));
    link.leave(now);
    assert_eq!(link.send(&[1]), Err(SendError::Down));
    assert_eq!(link.note(&[1]), Err(SendError::Down));
}

#[test]
fn ends_of_different_versions_know_it_and_do_nothing_else() {
    let mut link = Link::new(End::Host, 1, None, Instant::ZERO);
    let hello = Frame::Hello(Hello {
        version: Version(VERSION.0 + 1),
        epoch: 5,
        echo: None,
        about: None,
    });
    let (mut bytes, mut room) = ([0; MAX_FRAME], [0; MAX_STUFFED]);
    let len = hello.emit(End::Station, &mut bytes).unwrap();
    let len = cobs::stuff(&bytes[..len], &mut room).unwrap();
    let told = link.receive(Instant::ZERO, &mut &room[..=len]);
    assert_eq!(told, Some(LinkEvent::Foreign(Version(VERSION.0 + 1))));
    assert_eq!(link.send(&[1]), Err(SendError::Down));
    assert_eq!(link.receive(Instant::ZERO, &mut &room[..=len]), None);
    assert_eq!(link.foreign(), Some(Version(VERSION.0 + 1)));
    // Its own greeting tells the other end the same.
    let mut room = [0; MAX_STUFFED];
    assert!(link.transmit(Instant::ZERO, &mut room) > 0);
    assert_eq!(link.transmit(Instant::ZERO, &mut room), 0);
}

#[test]
fn a_line_that_echoes_is_no_other_end() {
    let mut link = Link::new(End::Host, 1, None, Instant::ZERO);
    let mut room = [0; MAX_STUFFED];
    let len = link.transmit(Instant::ZERO, &mut room);
    assert_eq!(link.receive(Instant::ZERO, &mut &room[..len]), None);
    assert!(!link.is_up());
}

#[test]
fn any_bytes_come_in() {
    let (mut sides, now) = greeted();
    let noise: Vec<u8> = (0..5_000u32).map(|n| ((n * n) >> 3) as u8).collect();
    let mut rest = &noise[..];
    assert_eq!(sides[0].link.receive(now, &mut rest), None);
    assert!(sides[0].link.is_up());
}
