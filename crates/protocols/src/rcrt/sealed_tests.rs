//! Sealed sources and a sink, between which somebody loses, changes, repeats and records whatever passes.

use super::sink::{policy, Config, Event, Sink};
use super::source::{self, Application, Order, Ring, Source, State};
use crate::rng::Rng;
use crate::seals::SessionSeals;
use crate::stack::{Packet, Room, Upper};
use proptest::prelude::*;
use std::vec::Vec;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::{FeedbackRequest, Flow, Met, Rate, Up, UpBody};
use thalweg_wire::seal::session::SessionKeys;
use thalweg_wire::seal::{Key, MasterKey, SoftwareAes};
use thalweg_wire::tree::Direction;
use thalweg_wire::FrameBuf;

const FLOW: Flow = Flow { sink: 0, number: 0 };
const PACKETS: u16 = 40;
const SOURCES: u16 = 2;
const STEP: Duration = Duration::from_millis(50);

struct Numbered(u16, u16);
impl Application for Numbered {
    fn next(&mut self, _now: Instant, _flow: Flow) -> Option<Result<FrameBuf, Instant>> {
        let (origin, number) = (self.0, self.1);
        self.1 += 1;
        let packet = FrameBuf::build(|w| w.u16(origin)?.u16(number).map(|_| ()));
        (number < PACKETS).then(|| Ok(packet.unwrap()))
    }
}
fn node(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}
fn keys(id: u16, session: u32) -> SessionKeys {
    let (aes, master) = (
        &mut SoftwareAes::default(),
        MasterKey::new(Key::new([7; 16])),
    );
    let own = master.node(aes, node(id), 0);
    own.session(aes, (node(100), session))
}

type Mote = Source<Ring<Numbered, 16, 4>, 1, Option<SessionSeals<SoftwareAes>>>;

/// Who hears everything, and what he has recorded: to or from which node.
struct Attacker {
    rng: Rng,
    /// Of 256 messages he stops so many.
    stops: u32,
    recorded: Vec<(u16, FrameBuf)>,
}

impl Attacker {
    /// What arrives instead of `message`, and at which node or from which.
    fn passes(&mut self, of: u16, message: FrameBuf) -> Vec<(u16, FrameBuf)> {
        self.recorded.push((of, message));
        let mut all = Vec::new();
        if self.rng.below(256) >= self.stops {
            all.push((of, message));
        }
        let any = self.rng.below(self.recorded.len() as u32) as usize;
        match self.rng.below(4) {
            0 => all.push(self.recorded[any]),
            // To another node, or in another's name.
            1 => all.push((1 + self.rng.below(SOURCES.into()) as u16, message)),
            2 => {
                let (of, mut changed) = self.recorded[any];
                let bit = self.rng.below(8 * changed.len() as u32) as usize;
                changed[bit / 8] ^= 1 << (bit % 8);
                all.push((of, changed));
            }
            _ => {}
        }
        all
    }
}

/// A session with this number, at whose end everything was delivered. Feedback makes no source forget more than that.
fn session(number: u32, attacker: &mut Attacker) {
    let mote = |id: u16| -> Mote {
        let seals = SessionSeals::new(SoftwareAes::default(), keys(id, number));
        let ring = Ring::new(Numbered(id, 0));
        let mut source = Source::sealed(source::Config::PAPER, ring, Some(seals));
        let order = Order::Open {
            flow: FLOW,
            connection: 1,
            demand: Rate::from_per_s(4.0),
        };
        source.handle_command(Instant::ZERO, order);
        source
    };
    let mut motes: Vec<Mote> = (1..=SOURCES).map(mote).collect();
    let sink = Sink::new(Config::STEADY, policy::named("fair").unwrap());
    let mut sink = sink.sealed((1..=SOURCES).map(|id| (node(id), keys(id, number))));
    let mut delivered = [0; SOURCES as usize];
    let mut now = Instant::ZERO;
    for _ in 0..100_000 {
        now += STEP;
        for k in 0..SOURCES {
            let mote = &mut motes[usize::from(k)];
            // It restarts, and has forgotten which feedback was the newest.
            if attacker.rng.below(300) == 0 {
                mote.stop();
                mote.handle_command(now, Order::Resume);
            }
            mote.handle_timeout(now);
            while let Some((_, message)) = mote.next(now, |_| Room::Free) {
                for (from, message) in attacker.passes(k + 1, message) {
                    sink.handle_packet(now, node(from), &message);
                }
            }
        }
        while let Some(event) = sink.poll_event() {
            if let Event::Delivered {
                origin, payload, ..
            } = event
            {
                let count = &mut delivered[usize::from(origin.get()) - 1];
                let own = FrameBuf::build(|w| w.u16(origin.get())?.u16(*count).map(|_| ()));
                assert_eq!(payload, own.unwrap(), "in order, once, its own");
                *count += 1;
            }
        }
        if sink.poll_timeout().is_some_and(|at| at <= now) {
            sink.handle_timeout(now);
        }
        while let Some((to, message)) = sink.poll_message(now) {
            for (to, payload) in attacker.passes(to.get(), message) {
                let packet = Packet {
                    direction: Direction::Down { to: node(to) },
                    origin: node(100),
                    number: 0,
                    hops: 1,
                    payload,
                };
                motes[usize::from(to) - 1].arrived(now, &packet);
            }
        }
        for (mote, delivered) in motes.iter().zip(delivered) {
            let (_, _, acked) = mote.state(FLOW).unwrap();
            assert!(acked <= delivered.into(), "{acked} of {delivered}");
        }
        let done = |mote: &Mote| mote.state(FLOW).is_some_and(|(s, ..)| s == State::Finished);
        if motes.iter().all(done) {
            break;
        }
    }
    assert_eq!(delivered, [PACKETS; SOURCES as usize]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn nothing_is_forgotten_or_foreign_whoever_listens_and_forges(
        seed in any::<u64>(),
        stops in 0u32..100,
    ) {
        let (rng, recorded) = (Rng::new(seed), Vec::new());
        let mut attacker = Attacker { rng, stops, recorded };
        // What he has of the first is worth nothing in the second.
        for number in [40, 43] {
            session(number, &mut attacker);
        }
    }
}

/// The air has the lower half of a packet's number; its seal is under all of it.
#[test]
fn a_long_flow_goes_on_where_its_numbers_on_the_air_are_half_used_up() {
    let sink = Sink::new(Config::STEADY, policy::named("fair").unwrap());
    let mut sink = sink.sealed([(node(1), keys(1, 40))]);
    let (first, rate) = (32_700, Rate::from_per_s(4.0));
    let mut send = |number: u32, what: UpBody<'_>| {
        let (flow, connection) = (FLOW, 1);
        let up = Up {
            flow,
            connection,
            what,
        };
        let mut message = FrameBuf::build(|w| up.emit(w)).unwrap();
        let aes = &mut SoftwareAes::default();
        keys(1, 40).seal(aes, &mut message, number).unwrap();
        sink.handle_packet(Instant::ZERO, node(1), &message);
        let events = core::iter::from_fn(|| sink.poll_event());
        events
            .filter(|event| matches!(event, Event::Delivered { .. }))
            .count()
    };
    let open = UpBody::Open {
        demand: rate,
        first: first as u16,
    };
    send(first, open);
    for number in first..first + 200 {
        let data = UpBody::Data {
            sequence: number as u16,
            rate,
            ask: FeedbackRequest::No,
            met: Met::default(),
            echo: None,
            payload: &[7],
        };
        assert_eq!(send(number, data), 1, "{number}");
    }
}
