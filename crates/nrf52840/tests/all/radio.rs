//! Each operation of the contract on the model: what it does to registers and air, and what is reported about it.
use crate::bench::model::{State, US};
use crate::bench::{Bench, Told, CHANNEL};
use thalweg_engine::{
    Answering, Assessment, Cca, Condition, Hear, RadioOp, Refusal, TxSlot, Wants, When,
};
use thalweg_nrf52840::clock::{instant, ticks};
use thalweg_nrf52840::radio::{Usage, CAPS, TIMING};
use thalweg_units::{Channel, Dbm, Duration, NodeId};
use thalweg_wire::addressed::{Ack, Congestion, Header};
use thalweg_wire::FrameBuf;

const MPDU: [u8; 20] = [7; 20];

fn stream(when: When) -> RadioOp<'static> {
    RadioOp::Stream {
        mpdu: &MPDU,
        channel: CHANNEL,
        when,
        cca: Cca::Skip,
    }
}

#[test]
fn listening_is_done_when_the_receiver_is_on() {
    let mut b = Bench::new();
    let (channel, head_bytes) = (CHANNEL, 0);
    let id = b.ask(RadioOp::Listen {
        channel,
        head_bytes,
    });
    assert_eq!(b.told, []);
    b.run(30);
    assert_eq!(b.told, []);
    b.run(20);
    assert_eq!(b.told, [Told::Done(id)]);
    assert_eq!(b.chip.0.borrow().state, State::Rx);
}

#[test]
fn a_frame_is_told_with_its_times() {
    for frame_start in [22, 54] {
        let mut b = Bench::new();
        b.chip.0.borrow_mut().frame_start = frame_start * US;
        b.listen();
        let (sfd, end) = b.incoming(50, &MPDU, true);
        b.run(1_500);
        let frame = Told::Frame {
            mpdu: MPDU.to_vec(),
            sfd: instant(sfd),
            end: instant(end),
            rssi: Dbm(-60.0),
            lqi: 100,
        };
        assert_eq!(b.told, [frame]);
        let delay = b.radio.frame_start_delay();
        assert_eq!(delay, Duration::from_micros(frame_start));
    }
}

#[test]
fn a_corrupt_frame_is_told_with_what_was_learned() {
    for frame_start in [22, 54] {
        let mut b = Bench::new();
        b.chip.0.borrow_mut().frame_start = frame_start * US;
        b.listen();
        b.incoming(50, &MPDU, true);
        b.run(1_500);
        b.told.clear();
        let (sfd, _) = b.incoming(50, &MPDU, false);
        b.run(1_500);
        assert_eq!(b.told, [Told::Corrupt(instant(sfd))]);
        assert_eq!(b.radio.counters().corrupt, 1);
    }
}

#[test]
fn an_answer_goes_out_a_gap_after_the_frame() {
    let mut b = Bench::new();
    b.listen();
    let offset = b.offset();
    let (_, end) = b.incoming(50, &MPDU, true);
    let gap = TIMING.relay_gap();
    b.run_with(2_500, |b, told| {
        if let Told::Frame { .. } = told {
            b.submit(stream(When::AfterRx(gap)));
        }
    });
    let sent = b.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].start - offset, end + 160 * US);
    assert_eq!((&sent[0].mpdu[..], sent[0].whole), (&MPDU[..], true));
    // And it is reported when its SFD ended on the air.
    let sfd = instant(end + 320 * US);
    assert_eq!(b.told.last(), Some(&Told::Sent(2, sfd)));
    // The receiver is on again.
    assert_eq!(b.chip.0.borrow().state, State::Rx);
    assert!(!b.is_strobe_on());
    // The driver's part of the gap: register accesses, 125 ns each here, its own instructions not counted.
    let took = b.radio.counters().longest_answer;
    assert!(took < 15 * US as u32, "{took} ticks");
}

#[test]
fn what_comes_too_late_is_refused_with_its_margin() {
    let mut b = Bench::new();
    b.listen();
    let never = b.ask(stream(When::AfterRx(Duration::from_millis(9))));
    assert_eq!(b.answers(never), [Told::Refused(never, Refusal::Empty)]);
    b.incoming(50, &MPDU, true);
    b.run(2_000);
    let late = b.ask(stream(When::AfterRx(Duration::from_micros(160))));
    let Told::Refused(_, Refusal::Late { by }) = b.answers(late)[0] else {
        panic!("{:?}", b.told);
    };
    // Asked for some 950 us after the frame: 2,050 us less 50, 896 of air and the gap, and the lead.
    assert!((900..1_060).contains(&by.as_micros()), "{by}");
    assert_eq!(b.radio.counters().late_after_rx, 1);
    assert_eq!(b.sent(), []);
}

#[test]
fn the_slot_is_as_it_was_after_a_refusal() {
    let mut b = Bench::new();
    b.listen();
    let slot = TxSlot(0);
    b.ask(RadioOp::Load {
        slot,
        mpdu: &[1, 2, 3],
    });
    b.ask(stream(When::At(instant(0))));
    let (channel, when, cca) = (CHANNEL, When::Now, Cca::Skip);
    b.ask(RadioOp::Transmit {
        slot,
        channel,
        when,
        cca,
    });
    b.run(1_000);
    assert_eq!(b.sent()[0].mpdu, [1, 2, 3]);
}

#[test]
fn a_timed_start_leaves_the_receiver_on_until_then() {
    let mut b = Bench::new();
    b.listen();
    let offset = b.offset();
    let at = b.clock.now(&mut b.chip) + 5_000 * US;
    let id = b.ask(stream(When::At(instant(at))));
    b.run(4_000);
    assert_eq!(b.chip.0.borrow().state, State::Rx);
    assert_eq!(b.radio.usage(&mut b.chip), Usage::Active);
    b.run(3_000);
    assert_eq!(b.sent()[0].start - offset + 160 * US, at);
    assert_eq!(b.answers(id), [Told::Sent(id, instant(at))]);
    assert_eq!(b.radio.usage(&mut b.chip), Usage::Listening);
}

#[test]
fn one_takes_the_place_of_another() {
    let mut b = Bench::new();
    b.listen();
    let at = b.clock.now(&mut b.chip) + 5_000 * US;
    let first = b.ask(stream(When::At(instant(at))));
    let second = b.ask(stream(When::Now));
    assert_eq!(
        b.answers(first),
        [Told::Refused(first, Refusal::Superseded)]
    );
    b.run(7_000);
    assert!(matches!(b.answers(second)[..], [Told::Sent(..)]));
    assert_eq!(b.sent().len(), 1);
}

#[test]
fn what_is_asked_for_during_a_transmission_follows_it() {
    let mut b = Bench::new();
    b.listen();
    let first = b.ask(stream(When::Now));
    b.run(500);
    let mpdu = [9; 5];
    let second = b.ask(RadioOp::Stream {
        mpdu: &mpdu,
        channel: Channel::LAST,
        when: When::Now,
        cca: Cca::Skip,
    });
    b.run(3_000);
    assert!(matches!(b.answers(first)[..], [Told::Sent(..)]));
    assert!(matches!(b.answers(second)[..], [Told::Sent(..)]));
    let sent = b.sent();
    assert_eq!((&sent[0].mpdu[..], sent[0].whole), (&MPDU[..], true));
    assert_eq!((&sent[1].mpdu[..], sent[1].channel), (&mpdu[..], 26));
}

#[test]
fn cancelling_stops_what_is_not_on_the_air() {
    // Armed, ramping up, on the air.
    for (us, goes_on) in [(0, false), (20, false), (300, true)] {
        let mut b = Bench::new();
        b.listen();
        let id = b.ask(stream(When::Now));
        b.run(us);
        let cancel = b.ask(RadioOp::Cancel);
        b.run(3_000);
        assert_eq!(b.answers(cancel), [Told::Done(cancel)]);
        let answers = b.answers(id);
        assert_eq!(answers.len(), 1, "{us}: {answers:?}");
        assert_eq!(matches!(answers[0], Told::Sent(..)), goes_on, "{us}");
        assert_eq!(
            b.sent().iter().filter(|s| s.whole).count(),
            usize::from(goes_on)
        );
        assert!(!b.is_strobe_on());
        assert_eq!(b.chip.0.borrow().state, State::Rx);
    }
}

#[test]
fn sleeping_ends_what_waits() {
    let mut b = Bench::new();
    b.listen();
    let slot = TxSlot(0);
    b.ask(RadioOp::Load { slot, mpdu: &MPDU });
    let bytes = &[1][..];
    let conditional = b.ask(RadioOp::Conditional {
        slot,
        condition: Condition { offset: 0, bytes },
        channel: CHANNEL,
        cca: Cca::Skip,
    });
    let at = b.clock.now(&mut b.chip) + 5_000 * US;
    let timed = b.ask(stream(When::At(instant(at))));
    let listen = b.submit(RadioOp::Listen {
        channel: Channel::LAST,
        head_bytes: 0,
    });
    let sleep = b.ask(RadioOp::Sleep);
    for id in [conditional, timed, listen] {
        assert_eq!(b.answers(id), [Told::Refused(id, Refusal::Superseded)]);
    }
    assert_eq!(b.answers(sleep), [Told::Done(sleep)]);
    assert_eq!(b.chip.0.borrow().state, State::Off);
    assert_eq!(b.radio.usage(&mut b.chip), Usage::Asleep);
    // It may send from its sleep, and goes back to it.
    let id = b.ask(stream(When::Now));
    b.run(3_000);
    assert!(matches!(b.answers(id)[..], [Told::Sent(..)]));
    assert_eq!(b.chip.0.borrow().state, State::Off);
}

#[test]
fn a_clear_channel_is_looked_at_before() {
    let mut b = Bench::new();
    b.listen();
    let offset = b.offset();
    let op = |when| RadioOp::Stream {
        mpdu: &MPDU,
        channel: CHANNEL,
        when,
        cca: Cca::Require,
    };
    let at = b.clock.now(&mut b.chip) + 5_000 * US;
    let timed = b.ask(op(When::At(instant(at))));
    b.run(8_000);
    // To the tick but for the event's own.
    let start = b.sent()[0].start - offset;
    assert!(start.abs_diff(at - 160 * US) <= 2, "{start} {at}");
    let Told::Sent(_, sfd) = b.answers(timed)[0] else {
        panic!("{:?}", b.told);
    };
    assert!(ticks(sfd).abs_diff(start + 160 * US) <= 2);
    b.chip.0.borrow_mut().busy = true;
    let busy = b.ask(op(When::Now));
    b.run(2_000);
    assert_eq!(b.answers(busy), [Told::Refused(busy, Refusal::ChannelBusy)]);
    assert_eq!(b.sent().len(), 1);
    assert_eq!(b.chip.0.borrow().state, State::Rx);
    // A frame that comes in is not left for a look.
    b.incoming(10, &MPDU, true);
    b.run(500);
    b.told.clear();
    let busy = b.ask(op(When::Now));
    b.run(1_000);
    assert_eq!(b.told[0], Told::Refused(busy, Refusal::ChannelBusy));
    assert!(matches!(b.told[1], Told::Frame { .. }));
}

#[test]
fn a_condition_that_is_met_sends() {
    let mut b = Bench::new();
    b.listen();
    let slot = TxSlot(0);
    let op = RadioOp::Conditional {
        slot,
        condition: Condition {
            offset: 2,
            bytes: &[7, 7],
        },
        channel: CHANNEL,
        cca: Cca::Skip,
    };
    let empty = b.ask(op);
    assert_eq!(b.answers(empty), [Told::Refused(empty, Refusal::Empty)]);
    b.ask(RadioOp::Load {
        slot,
        mpdu: &[1, 2, 3, 4],
    });
    let id = b.ask(op);
    // Another goes out meanwhile, and leaves what waits as it is.
    b.ask(stream(When::Now));
    b.run(2_000);
    b.incoming(10, &[7, 0, 0, 0, 0], true);
    b.run(1_500);
    assert_eq!(b.answers(id), []);
    b.incoming(10, &MPDU, true);
    b.run(3_000);
    assert!(matches!(b.answers(id)[..], [Told::Sent(..)]));
    assert_eq!(b.sent()[1].mpdu, [1, 2, 3, 4]);
    // The frame is reported as usual.
    assert_eq!(
        b.told
            .iter()
            .filter(|t| matches!(t, Told::Frame { .. }))
            .count(),
        2
    );
}

#[test]
fn a_head_is_told_before_the_end_and_may_be_left() {
    for frame_start in [22, 54] {
        let mut b = Bench::new();
        b.chip.0.borrow_mut().frame_start = frame_start * US;
        b.listen_head(5);
        let long = [[1, 2, 3, 4, 5, 6].as_slice(), &[9; 60]].concat();
        let (first, _) = b.incoming(10, &long, true);
        b.run(3_000);
        assert_eq!(b.told.len(), 2);
        assert!(matches!(&b.told[0], Told::Head(bytes, _) if *bytes == [1, 2, 3, 4, 5]));
        assert!(matches!(&b.told[1], Told::Frame { sfd, .. } if *sfd == instant(first)));
        b.told.clear();
        let (sfd, _) = b.incoming(10, &long, true);
        b.run_with(3_000, |b, told| {
            if let Told::Head(..) = told {
                let (channel, head_bytes) = (CHANNEL, 5);
                b.submit(RadioOp::Listen {
                    channel,
                    head_bytes,
                });
            }
        });
        let head = Told::Head(vec![1, 2, 3, 4, 5], instant(sfd));
        assert_eq!(b.told[0], head);
        assert!(matches!(b.told[1..], [Told::Done(_)]), "{:?}", b.told);
    }
}

#[test]
fn a_repeated_listen_costs_nothing() {
    let mut b = Bench::new();
    b.listen();
    b.chip.0.borrow_mut().log.clear();
    let (channel, head_bytes) = (CHANNEL, 0);
    let id = b.ask(RadioOp::Listen {
        channel,
        head_bytes,
    });
    assert_eq!(b.told, [Told::Done(id)]);
    let log = b.chip.0.borrow().log.clone();
    let is_task = |(at, _): &(u32, u32)| (0x4000_1000..0x4000_1100).contains(at);
    assert!(!log.iter().any(is_task), "{log:x?}");
    // But one that is to leave a frame does.
    b.told.clear();
    b.incoming(10, &[7; 60], true);
    b.run(500);
    b.ask(RadioOp::Listen {
        channel,
        head_bytes,
    });
    b.run(3_000);
    assert!(matches!(b.told[..], [Told::Done(_)]), "{:?}", b.told);
}

#[test]
fn only_what_was_asked_for_is_read_out() {
    let mut b = Bench::new();
    b.listen();
    b.ask(RadioOp::Readout { bytes: 3 });
    b.incoming(10, &MPDU, true);
    b.run(1_500);
    assert!(matches!(&b.told[1], Told::Frame { mpdu, .. } if *mpdu == [7; 3]));
}

fn node(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}

fn addressed(to: Option<NodeId>, sequence: u8, bytes: usize) -> FrameBuf {
    let from = node(9);
    FrameBuf::build(|w| {
        Header { sequence, to, from }.emit(w)?;
        w.bytes(&[5; 100][..bytes]).map(|_| ())
    })
    .unwrap()
}

fn own(b: &mut Bench) {
    let wants = Wants {
        address: Some(node(3)),
        ..Wants::of(&[])
    };
    b.radio.take_on(&wants);
}

#[test]
fn the_driver_acknowledges_where_it_may() {
    let mut b = Bench::new();
    own(&mut b);
    b.listen();
    let offset = b.offset();
    let frame = addressed(Some(node(3)), 42, 10);
    b.incoming(10, &frame, true);
    b.run(2_000);
    assert_eq!(b.sent(), [], "withheld");
    b.ask(RadioOp::Answer(Answering::Clear));
    let (_, end) = b.incoming(10, &frame, true);
    b.run(2_500);
    let sent = b.sent();
    let congestion = Congestion::Clear;
    let sequence = 42;
    let ack = Ack {
        sequence,
        congestion,
    };
    assert_eq!(sent[0].mpdu, ack.bytes());
    assert_eq!(sent[0].start - offset, end + 192 * US);
    // Those of others, and those for all, are not answered.
    for to in [Some(node(4)), None] {
        b.incoming(10, &addressed(to, 43, 10), true);
        b.run(2_500);
    }
    assert_eq!(b.sent().len(), 1);
    // Nothing is reported about it: no operation asked for it.
    assert!(!b.told.iter().any(|told| matches!(told, Told::Sent(..))));
}

#[test]
fn an_acknowledgement_that_the_engine_asks_for() {
    let mut b = Bench::new();
    b.listen();
    let empty = b.ask(RadioOp::Acknowledge { mpdu: &[2, 0, 1] });
    assert_eq!(b.answers(empty), [Told::Refused(empty, Refusal::Empty)]);
    let offset = b.offset();
    let (_, end) = b.incoming(10, &MPDU, true);
    b.run_with(2_500, |b, told| {
        if let Told::Frame { .. } = told {
            b.submit(RadioOp::Acknowledge { mpdu: &[2, 0, 1] });
        }
    });
    assert_eq!(b.sent()[0].start - offset, end + 192 * US);
    assert_eq!(b.sent()[0].mpdu, [2, 0, 1]);
    let late = b.ask(RadioOp::Acknowledge { mpdu: &[2, 0, 1] });
    assert!(matches!(
        b.answers(late)[..],
        [Told::Refused(_, Refusal::Late { .. })]
    ));
}

#[test]
fn others_frames_are_left_at_their_address() {
    let mut b = Bench::new();
    own(&mut b);
    b.listen();
    b.ask(RadioOp::Hear(Hear::Addressed));
    // What is set holds from the next time that the receiver is turned on.
    let channel = CHANNEL;
    b.ask(RadioOp::Listen {
        channel,
        head_bytes: 0,
    });
    b.run(100);
    b.told.clear();
    b.incoming(10, &addressed(Some(node(4)), 1, 90), true);
    b.run(160 + 32 * 20);
    let ready = b.chip.0.borrow().state;
    assert!(matches!(ready, State::Rx | State::RxRampUp(_)), "{ready:?}");
    b.run(5_000);
    assert_eq!(b.told, []);
    for to in [Some(node(3)), None] {
        b.incoming(10, &addressed(to, 1, 10), true);
        b.run(2_500);
    }
    assert_eq!(b.told.len(), 2);
    // An acknowledgement is of the frame that was sent last, or it is another's.
    let ask = addressed(Some(node(8)), 77, 4);
    b.ask(RadioOp::Stream {
        mpdu: &ask,
        channel,
        when: When::Now,
        cca: Cca::Skip,
    });
    b.run(2_000);
    b.told.clear();
    for sequence in [76, 77] {
        let congestion = Congestion::Clear;
        let ack = Ack {
            sequence,
            congestion,
        };
        b.incoming(10, &ack.bytes(), true);
        b.run(1_000);
    }
    assert!(
        matches!(&b.told[..], [Told::Frame { mpdu, .. }] if mpdu[2] == 77),
        "{:?}",
        b.told
    );
}

#[test]
fn an_assessment_looks_until_the_channel_is_clear() {
    let mut b = Bench::new();
    b.listen();
    let sense = b.ask(RadioOp::Sense);
    assert_eq!(b.answers(sense), [Told::Sensed(sense, -60.0)]);
    let assessment = Assessment {
        samples: 100,
        between: Duration::from_micros(200),
        clear: Dbm(-80.0),
    };
    let id = b.ask(RadioOp::Assess(assessment));
    b.run(1_000);
    assert_eq!(b.answers(id), []);
    b.chip.0.borrow_mut().rssi = 90;
    b.run(250);
    assert_eq!(b.answers(id), [Told::Sensed(id, -90.0)]);
    // The last sample is reported, clear or not.
    b.chip.0.borrow_mut().rssi = 50;
    let samples = 3;
    let few = b.ask(RadioOp::Assess(Assessment {
        samples,
        ..assessment
    }));
    b.run(350);
    assert_eq!(b.answers(few), []);
    b.run(100);
    assert_eq!(b.answers(few), [Told::Sensed(few, -50.0)]);
}

#[test]
fn a_compare_that_is_missed_loses_no_operation() {
    let mut b = Bench::new();
    b.listen();
    b.chip.0.borrow_mut().loses_compares = true;
    let at = b.clock.now(&mut b.chip) + 500 * US;
    let ids = [
        b.ask(stream(When::Now)),
        b.ask(stream(When::At(instant(at)))),
    ];
    // The alarm of the node would come by another compare: here time alone does.
    b.run(10_000);
    for id in ids {
        assert_eq!(b.answers(id).len(), 1, "{:?}", b.told);
    }
    assert!(!b.is_strobe_on());
}

#[test]
fn what_the_radio_does_not_do_is_refused() {
    let mut b = Bench::new();
    let preamble = b.ask(RadioOp::Preamble { bytes: 8 });
    assert_eq!(
        b.answers(preamble),
        [Told::Refused(preamble, Refusal::NoSuch)]
    );
    let slot = TxSlot(0);
    for mpdu in [&[][..], &[0; 126]] {
        let id = b.ask(RadioOp::Load { slot, mpdu });
        assert_eq!(b.answers(id), [Told::Refused(id, Refusal::BadLength)]);
    }
    let mpdu = &[0; 4][..];
    let id = b.ask(RadioOp::Load {
        slot: TxSlot(1),
        mpdu,
    });
    assert_eq!(b.answers(id), [Told::Refused(id, Refusal::NoSuch)]);
    assert!(!CAPS.abilities.has(RadioOp::Preamble { bytes: 8 }.needs()));
}
