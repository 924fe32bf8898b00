//! A source in a secured network: it forgets what its sink acknowledged, and nothing else.

use super::*;
use crate::seals::SessionSeals;
use std::vec::Vec;
use thalweg_units::NodeId;
use thalweg_wire::rcrt::{Feedback, Nacks, MAX_NACKS};
use thalweg_wire::seal::session::SessionKeys;
use thalweg_wire::seal::{Key, MasterKey, SoftwareAes};
use thalweg_wire::{WireError, Writer};

const FLOW: Flow = Flow { sink: 0, number: 0 };
const SECOND: Duration = Duration::from_secs(1);

/// Always has a packet.
struct Endless;
impl Supply for Endless {
    fn room(&self) -> u16 {
        1_024
    }
    fn poll(&mut self, _now: Instant, _flow: Flow, _sequence: u32) -> Ready {
        Ready::Packet
    }
    fn read(&mut self, _: Flow, sequence: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.u32(sequence).map(|_| ())
    }
}

fn node(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}
/// Of node `id`, in the session with this number.
fn keys(id: u16, session: u32) -> SessionKeys {
    let (aes, master) = (
        &mut SoftwareAes::default(),
        MasterKey::new(Key::new([7; 16])),
    );
    master
        .node(aes, node(id), 0)
        .session(aes, (node(1), session))
}

type Sealed = Source<Endless, 1, Option<SessionSeals<SoftwareAes>>>;

/// Node 7 in session 40, with packets of which everything before `acked` was acknowledged, and eight more are on their way.
fn mote(acked: u32) -> Sealed {
    let seals = SessionSeals::new(SoftwareAes::default(), keys(7, 40));
    let mut source = Source::sealed(Config::PAPER, Endless, Some(seals));
    let order = Order::Open {
        flow: FLOW,
        connection: 1,
        demand: Rate::from_per_s(1.0),
    };
    source.handle_command(Instant::ZERO, order);
    let flow = source.flows[0].as_mut().unwrap();
    (flow.acked, flow.next, flow.state) = (acked, acked + 8, State::Open);
    source
}
fn says(what: DownBody<'_>) -> FrameBuf {
    let down = Down {
        flow: FLOW,
        connection: 1,
        what,
    };
    FrameBuf::build(|w| down.emit(w)).unwrap()
}
/// A feedback, plain.
fn feedback(next: u32, missing: &[u16]) -> FrameBuf {
    let mut room = [0; 2 * MAX_NACKS];
    says(DownBody::Feedback(told(next, missing, &mut room)))
}
fn told<'a>(next: u32, missing: &[u16], room: &'a mut [u8; 2 * MAX_NACKS]) -> Feedback<'a> {
    Feedback {
        number: 9,
        rate: Rate::from_per_s(1.0),
        next: next as u16,
        rtt_ms: 500,
        nacks: Nacks::pack(missing.iter().copied(), room),
    }
}
fn sealed(keys: &SessionKeys, mut message: FrameBuf, number: u32) -> FrameBuf {
    let aes = &mut SoftwareAes::default();
    keys.seal(aes, &mut message, number).unwrap();
    message
}
fn hears(source: &mut Sealed, payload: FrameBuf) {
    let packet = Packet {
        direction: Direction::Down { to: node(7) },
        origin: node(1),
        number: 1,
        hops: 2,
        payload,
    };
    source.arrived(Instant::ZERO + SECOND, &packet);
}
/// What node 7 has acknowledged, and refused, once it has heard this.
fn after(acked: u32, payload: FrameBuf) -> (u32, u32) {
    let mut source = mote(acked);
    hears(&mut source, payload);
    let (_, _, now) = source.state(FLOW).unwrap();
    (now, source.refused())
}

#[test]
fn only_its_sink_in_its_session_makes_it_forget() {
    let own = keys(7, 40);
    let good = sealed(&own, feedback(5, &[5, 6]), 5);
    assert_eq!(after(0, good), (5, 0));
    assert_eq!(after(0, feedback(5, &[5, 6])).0, 0, "plain");
    for other in [keys(8, 40), keys(7, 39), keys(7, 41)] {
        let forged = sealed(&other, feedback(5, &[5, 6]), 5);
        assert_eq!(after(0, forged), (0, 1));
    }
    // Without NACKs no other check finds a changed number.
    for message in [good, sealed(&own, feedback(5, &[]), 5)] {
        for bit in 0..message.len() * 8 {
            let mut flipped = message;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(after(0, flipped).0, 0, "bit {bit}");
        }
        for len in 0..message.len() {
            let cut = FrameBuf::from_slice(&message[..len]).unwrap();
            assert_eq!(after(0, cut).0, 0, "{len} bytes");
        }
    }
}

#[test]
fn a_recorded_feedback_makes_it_forget_nothing() {
    let (own, round) = (keys(7, 40), 0x1_0000);
    // 65,536 packets later it names packets that are on their way.
    let recorded = sealed(&own, feedback(5, &[]), 5);
    assert_eq!(after(round, recorded), (round, 1));
    let true_one = sealed(&own, feedback(round + 5, &[]), round + 5);
    assert_eq!(after(round, true_one), (round + 5, 0));
    // Across the end of the numbers.
    let late = sealed(&own, feedback(round - 2, &[]), round - 2);
    assert_eq!(after(round, late), (round, 1));
    assert_eq!(after(round - 4, late), (round - 2, 0));
}

/// What ends a connection, or begins it anew, is no order of anybody else either.
#[test]
fn nobody_else_ends_its_connection() {
    let stands = |source: &Sealed| source.state(FLOW).map(|(state, ..)| state);
    for what in [DownBody::Finished, DownBody::Unknown, DownBody::Refuse] {
        for state in [State::Open, State::Finishing, State::Opening] {
            let mut source = mote(0);
            source.flows[0].as_mut().unwrap().state = state;
            for payload in [says(what), sealed(&keys(8, 40), says(what), 0)] {
                hears(&mut source, payload);
                assert_eq!(stands(&source), Some(state), "{what:?}");
            }
        }
    }
    let mut source = mote(0);
    hears(
        &mut source,
        sealed(&keys(7, 40), says(DownBody::Unknown), 0),
    );
    assert_eq!(stands(&source), Some(State::Opening));
}

/// All that it sends is sealed under its own number in full.
#[test]
fn its_messages_are_sealed() {
    let (acked, aes) = (0x1_fffe, &mut SoftwareAes::default());
    let (mut source, mut room) = (mote(acked), [0; 2 * MAX_NACKS]);
    source.handle_command(Instant::ZERO, Order::Resume);
    let accepts = says(DownBody::Accept(told(acked, &[], &mut room)));
    hears(&mut source, sealed(&keys(7, 40), accepts, acked));
    let now = Instant::ZERO + SECOND;
    let sent: Vec<FrameBuf> =
        core::iter::from_fn(|| source.next(now, |_| Room::Free).map(|(_, message)| message))
            .collect();
    let number = acked + 8;
    let plain = keys(7, 40).open(aes, &sent[0], number).unwrap();
    let UpBody::Data { payload, .. } = Up::parse(&plain).unwrap().what else {
        panic!()
    };
    assert_eq!((payload, sent.len()), (&number.to_le_bytes()[..], 1));
    assert!(!sent[0].windows(4).any(|four| four == number.to_le_bytes()));
    assert!(keys(7, 40).open(aes, &sent[0], number & 0xffff).is_none());
}
