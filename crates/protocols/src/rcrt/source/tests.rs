use super::*;
use crate::stack::Packet;
use std::vec::Vec;
use thalweg_units::NodeId;
use thalweg_wire::rcrt::{Feedback, Nacks, MAX_NACKS};

const FLOW: Flow = Flow { sink: 1, number: 0 };
const SECOND: Duration = Duration::from_secs(1);

/// This many packets, each of which has its number.
struct Numbers(u16, u16);
impl Application for Numbers {
    fn next(&mut self, _now: Instant, _flow: Flow) -> Option<Result<FrameBuf, Instant>> {
        let number = self.0;
        self.0 += 1;
        (number < self.1).then(|| Ok(FrameBuf::build(|w| w.u16(number).map(|_| ())).unwrap()))
    }
}

/// A mote with room for eight packets.
struct Mote {
    source: Source<Ring<Numbers, 8, 4>>,
    now: Instant,
    feedbacks: u8,
}

impl Mote {
    /// A flow that was opened, of so many packets.
    fn new(packets: u16, config: Config) -> Self {
        let mut source = Source::new(config, Ring::new(Numbers(0, packets)));
        let order = Order::Open {
            flow: FLOW,
            connection: 3,
            demand: Rate::from_per_s(2.0),
        };
        source.handle_command(Instant::ZERO, order);
        Self {
            source,
            now: Instant::ZERO,
            feedbacks: 0,
        }
    }
    fn connected(packets: u16, config: Config) -> Self {
        let mut mote = Self::new(packets, config);
        assert!(matches!(mote.sends()[..], [Sent::Open { first: 0 }]));
        mote.hear(true, 1.0, 0, 500, &[]);
        mote
    }
    /// Everything that it sends now.
    fn sends(&mut self) -> Vec<Sent> {
        self.source.handle_timeout(self.now);
        let mut all = Vec::new();
        while let Some((Direction::Up, bytes)) = self.source.next(self.now, |_| Room::Free) {
            let up = Up::parse(&bytes).unwrap();
            assert_eq!((up.flow, up.connection), (FLOW, 3));
            all.push(match up.what {
                UpBody::Open { first, .. } => Sent::Open { first },
                UpBody::Finish { end, .. } => Sent::Finish { end },
                UpBody::Data {
                    sequence,
                    ask,
                    echo,
                    payload,
                    ..
                } => {
                    assert_eq!(payload, sequence.to_le_bytes());
                    Sent::Data(sequence, ask, echo.map(|e| (e.number, e.waited_ms)))
                }
            });
            assert!(all.len() < 50, "no end");
        }
        all
    }
    /// Everything that it sends within `span`, with the millisecond of each.
    fn runs(&mut self, span: Duration) -> Vec<(u64, Sent)> {
        let until = self.now + span;
        let mut all = Vec::new();
        while let Some(at) = self.source.poll_timeout().filter(|at| *at <= until) {
            assert!(at > self.now, "a time-out in the past");
            self.now = at;
            let ms = |mote: &Self| mote.now.as_nanos() / 1_000_000;
            let sent = self.sends();
            all.extend(sent.into_iter().map(|sent| (ms(self), sent)));
        }
        self.now = until;
        all
    }
    fn hear(&mut self, accepts: bool, rate: f64, next: u16, rtt_ms: u16, missing: &[u16]) {
        self.feedbacks += 1;
        let mut room = [0; 2 * MAX_NACKS];
        let feedback = Feedback {
            number: self.feedbacks,
            rate: Rate::from_per_s(rate),
            next,
            rtt_ms,
            nacks: Nacks::pack(missing.iter().copied(), &mut room),
        };
        self.answer(match accepts {
            true => DownBody::Accept(feedback),
            false => DownBody::Feedback(feedback),
        });
    }
    fn answer(&mut self, what: DownBody<'_>) {
        let down = Down {
            flow: FLOW,
            connection: 3,
            what,
        };
        self.arrives(FrameBuf::build(|w| down.emit(w)).unwrap());
    }
    fn arrives(&mut self, payload: FrameBuf) {
        let to = NodeId::new(7).unwrap();
        let packet = Packet {
            direction: Direction::Down { to },
            origin: NodeId::new(1).unwrap(),
            number: 1,
            hops: 2,
            payload,
        };
        self.source.arrived(self.now, &packet);
    }
    fn state(&self) -> State {
        self.source.state(FLOW).unwrap().0
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Sent {
    Open { first: u16 },
    Data(u16, FeedbackRequest, Option<(u8, u16)>),
    Finish { end: u16 },
}
use Sent::{Data, Finish, Open};

fn numbers(sent: &[(u64, Sent)]) -> Vec<(u64, u16)> {
    let data = sent.iter().filter_map(|(at, sent)| match sent {
        Data(sequence, ..) => Some((*at, *sequence)),
        _ => None,
    });
    data.collect()
}

#[test]
fn a_connection_is_asked_for_until_the_sink_answers() {
    let mut mote = Mote::new(3, Config::PAPER);
    assert_eq!(mote.sends(), [Open { first: 0 }]);
    assert_eq!(mote.runs(SECOND * 3), [(2000, Open { first: 0 })]);
    mote.hear(true, 0.5, 0, 400, &[]);
    // The third message of the handshake is the first packet; it answers the second.
    assert_eq!(mote.sends(), [Data(0, FeedbackRequest::No, Some((1, 0)))]);
    assert_eq!(
        mote.runs(SECOND * 2),
        [(5000, Data(1, FeedbackRequest::No, None))]
    );
    let told = Event::Rate {
        flow: FLOW,
        rate: Rate::from_per_s(0.5),
    };
    let mut all = core::iter::from_fn(|| mote.source.poll_event());
    assert!(all.any(|event| event == told));
}

#[test]
fn new_packets_keep_to_the_rate_and_repairs_do_not() {
    let mut mote = Mote::connected(100, Config::PAPER);
    mote.sends();
    assert_eq!(
        numbers(&mote.runs(SECOND * 3)),
        [(1000, 1), (2000, 2), (3000, 3)]
    );
    // Faster: the token that is waited for comes sooner.
    mote.hear(false, 4.0, 0, 500, &[0, 2]);
    let again = [
        Data(0, FeedbackRequest::No, Some((2, 0))),
        Data(2, FeedbackRequest::No, None),
    ];
    assert_eq!(mote.sends(), again);
    assert_eq!(numbers(&mote.runs(SECOND / 2)), [(3250, 4), (3500, 5)]);
    // An echo says how long it waited; what was asked for again and has arrived is not sent.
    mote.now += Duration::from_millis(100);
    mote.hear(false, 4.0, 3, 500, &[]);
    assert_eq!(
        mote.runs(SECOND / 4),
        [(3750, Data(6, FeedbackRequest::No, Some((3, 150))))]
    );
}

#[test]
fn a_full_buffer_stalls_and_probes_at_the_lesser_of_half_the_rate_and_one_in_a_round_trip() {
    let mut mote = Mote::connected(100, Config::PAPER);
    mote.sends();
    let sent = mote.runs(SECOND * 13);
    // More than half of eight packets ask for feedback: those after the fourth.
    let asks = |sent: &Sent| matches!(sent, Data(_, FeedbackRequest::Yes, _));
    let first = sent.iter().position(|(_, sent)| asks(sent));
    assert_eq!(first, Some(4));
    let probes: Vec<(u64, u16)> = [1, 2, 3, 4, 5, 6, 7]
        .map(|k| (1000 * u64::from(k), k))
        .to_vec();
    let probes = [probes, [(9000, 0), (11_000, 0), (13_000, 0)].to_vec()].concat();
    assert_eq!(numbers(&sent), probes);
    // A round trip that is longer than two packets.
    mote.hear(false, 1.0, 0, 5000, &[]);
    mote.runs(SECOND * 2);
    assert_eq!(numbers(&mote.runs(SECOND * 6)), [(20_000, 0)]);
    // What frees the buffer lets it go on.
    mote.hear(false, 1.0, 5, 500, &[]);
    assert_eq!(mote.sends(), [Data(8, FeedbackRequest::No, Some((3, 0)))]);
}

#[test]
fn probes_back_off_where_that_is_asked_for() {
    let probing = Probing::Backoff { most: SECOND * 10 };
    let config = Config {
        probing,
        ..Config::PAPER
    };
    let mut mote = Mote::connected(100, config);
    mote.sends();
    let sent = numbers(&mote.runs(SECOND * 40));
    let probes: Vec<u64> = sent.into_iter().skip(7).map(|(at, _)| at).collect();
    assert_eq!(probes, [9000, 13_000, 21_000, 31_000]);
}

#[test]
fn the_tail_is_repaired_before_a_connection_ends() {
    let mut mote = Mote::connected(2, Config::PAPER);
    assert_eq!(mote.sends(), [Data(0, FeedbackRequest::No, Some((1, 0)))]);
    let sent = mote.runs(SECOND * 25);
    let finish = || Finish { end: 2 };
    assert_eq!(
        sent,
        [
            (1000, Data(1, FeedbackRequest::No, None)),
            (2000, finish()),
            (22_000, finish())
        ]
    );
    mote.hear(false, 1.0, 1, 500, &[1]);
    assert_eq!(mote.sends(), [Data(1, FeedbackRequest::No, Some((2, 0)))]);
    mote.answer(DownBody::Finished);
    assert_eq!(mote.state(), State::Finished);
    assert_eq!(mote.source.poll_timeout(), None);
    // A late word changes nothing.
    mote.hear(false, 1.0, 1, 500, &[1]);
    assert_eq!(mote.sends(), []);
}

#[test]
fn a_node_that_starts_anew_and_a_sink_that_forgot_go_on_where_they_were() {
    let mut mote = Mote::connected(100, Config::PAPER);
    mote.sends();
    mote.runs(SECOND * 3);
    mote.hear(false, 1.0, 2, 500, &[]);
    mote.source.handle_command(mote.now, Order::Resume);
    assert_eq!(mote.sends(), [Open { first: 2 }]);
    mote.hear(true, 1.0, 2, 500, &[]);
    assert_eq!(mote.sends(), [Data(4, FeedbackRequest::No, Some((3, 0)))]);
    mote.answer(DownBody::Unknown);
    mote.answer(DownBody::Unknown);
    assert_eq!(mote.sends(), [Open { first: 2 }]);
    // Refused it ends.
    mote.answer(DownBody::Refuse);
    assert_eq!(
        (mote.state(), mote.source.poll_timeout()),
        (State::Refused, None)
    );
}

/// A source forgets only what can have been delivered: a forged feedback changes nothing, and is counted.
#[test]
fn forged_acknowledgements_are_refused_and_counted() {
    let mut mote = Mote::connected(100, Config::PAPER);
    mote.sends();
    mote.runs(SECOND * 4);
    mote.hear(false, 1.0, 2, 500, &[]);
    let stands = Some((State::Open, 5, 2));
    assert_eq!(
        (mote.source.state(FLOW), mote.source.refused()),
        (stands, 0)
    );
    // Never sent; acknowledged before; a window away; a number that is asked for and acknowledged; one never sent.
    let forged: [(u16, &[u16]); 5] = [(6, &[]), (1, &[]), (2 + 1024, &[]), (4, &[3]), (3, &[5])];
    for (k, (next, missing)) in forged.into_iter().enumerate() {
        mote.hear(false, 9.0, next, 500, missing);
        assert_eq!(mote.source.state(FLOW), stands);
        assert_eq!(mote.source.refused(), k as u32 + 1);
    }
    // The flow has not come to its end, so no sink can have everything.
    mote.answer(DownBody::Finished);
    assert_eq!(
        (mote.source.state(FLOW), mote.source.refused()),
        (stands, 6)
    );
    // The true sink goes on where it was.
    mote.hear(false, 1.0, 4, 500, &[4]);
    assert_eq!(mote.source.state(FLOW), Some((State::Open, 5, 4)));
    let again = mote.sends();
    assert!(matches!(again[..], [Data(4, ..)]), "{again:?}");
}

/// Bits that flip past the check sum, and bytes that are missing: while anything is missing at the sink, no such feedback makes a
/// source forget more than the true one would. Nor does one of another flow or connection.
#[test]
fn damaged_feedback_makes_no_source_forget() {
    let mut room = [0; 2 * MAX_NACKS];
    let feedback = Feedback {
        number: 2,
        rate: Rate::from_per_s(1.0),
        next: 2,
        rtt_ms: 500,
        nacks: Nacks::pack([2, 3, 6].into_iter(), &mut room),
    };
    let (flow, what) = (FLOW, DownBody::Feedback(feedback));
    let says = |flow, connection| {
        let down = Down {
            flow,
            connection,
            what,
        };
        FrameBuf::build(|w| down.emit(w)).unwrap()
    };
    let good = says(flow, 3);
    let hears = |payload| {
        let mut mote = Mote::connected(100, Config::PAPER);
        mote.sends();
        mote.runs(SECOND * 6);
        assert_eq!(mote.source.state(FLOW), Some((State::Open, 7, 0)));
        mote.arrives(payload);
        mote.source.state(FLOW).unwrap()
    };
    assert_eq!(hears(good), (State::Open, 7, 2));
    for bit in 0..good.len() * 8 {
        let mut flipped = good;
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (state, _, acked) = hears(flipped);
        assert!(state == State::Open && acked <= 2, "bit {bit}: {acked}");
    }
    for len in 0..good.len() {
        let (state, _, acked) = hears(FrameBuf::from_slice(&good[..len]).unwrap());
        assert!(state == State::Open && acked <= 2, "{len} bytes: {acked}");
    }
    let other = Flow { sink: 2, number: 0 };
    for foreign in [says(flow, 2), says(flow, 4), says(other, 3)] {
        assert_eq!(hears(foreign), (State::Open, 7, 0));
    }
}

#[test]
fn what_makes_no_sense_is_ignored() {
    let mut mote = Mote::connected(100, Config::PAPER);
    mote.sends();
    mote.runs(SECOND);
    // Acknowledges what was never sent, asks for it; then an older feedback arrives late.
    mote.hear(false, 1.0, 40, 500, &[60_000, 7]);
    assert_eq!(mote.source.state(FLOW), Some((State::Open, 2, 0)));
    mote.hear(false, 1.0, 0, 500, &[]);
    mote.feedbacks = 0;
    mote.hear(false, 9.0, 1, 500, &[]);
    assert_eq!(mote.source.state(FLOW), Some((State::Open, 2, 0)));
    let no_flow = Order::Open {
        flow: Flow { sink: 2, number: 0 },
        connection: 0,
        demand: Rate::MAX,
    };
    mote.source.handle_command(mote.now, no_flow);
    let told = core::iter::from_fn(|| mote.source.poll_event());
    assert!(told
        .last()
        .is_some_and(|t| matches!(t, Event::NoRoom { .. })));
}
