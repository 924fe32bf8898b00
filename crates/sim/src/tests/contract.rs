use super::*;
use Order::{Cancel, Listen, ListenFor, Load, OtherRadio, Sleep, Stream, Timeout, Transmit};

fn now(mpdu: &[u8]) -> Order {
    say(mpdu, When::Now)
}

#[test]
fn a_frame_arrives_head_first_and_is_stamped_by_its_sfd() {
    let mut net = net(2);
    net.command(1, ListenFor(26, 2));
    run(&mut net, 1000);
    net.command(0, now(&[1, 2, 3]));
    run(&mut net, 5000);
    // Turnaround to 1192; SFD ends 160 later; eleven bytes on the air.
    let sfd = local(1352);
    assert_eq!(answer(&net, 1, 0), (192, Seen::Done));
    assert_eq!(answer(&net, 0, 0), (1544, Seen::Sent { sfd }));
    let frame = Seen::Frame {
        mpdu: vec![1, 2, 3],
        sfd,
        end: local(1544),
    };
    assert_eq!(
        heard(&net, 1),
        [
            (
                1448,
                Seen::Head {
                    bytes: vec![1, 2],
                    sfd
                }
            ),
            (1544, frame)
        ]
    );
}

#[test]
fn each_refusal_has_its_reason() {
    let mut net = net(1);
    run(&mut net, 1000);
    let after = When::AfterRx(us(1000));
    let orders = [
        (Transmit(0, When::Now, Cca::Skip), Refusal::Empty),
        (say(&[1], after), Refusal::Empty),
        (say(&[], When::Now), Refusal::BadLength),
        (say(&[0; 126], When::Now), Refusal::BadLength),
        (Load(0, vec![]), Refusal::BadLength),
        (Load(1, vec![1]), Refusal::NoSuch),
        (Transmit(1, When::Now, Cca::Skip), Refusal::NoSuch),
        (OtherRadio, Refusal::NoSuch),
        // The SFD would have to end at 1351, and can at 1000 + 192 + 160.
        (
            say(&[1], When::At(local(1351))),
            Refusal::Late { by: us(1) },
        ),
    ];
    for (op, (order, why)) in orders.into_iter().enumerate() {
        net.command(0, order);
        run(&mut net, 1000);
        assert_eq!(answer(&net, 0, op as u16), (1000, Seen::Refused(why)));
    }
    net.command(0, say(&[1], When::At(local(1352))));
    run(&mut net, 3000);
    assert_eq!(answer(&net, 0, 9).1, Seen::Sent { sfd: local(1352) });
}

#[test]
fn a_busy_channel_refuses_at_the_strobe() {
    let mut net = net(2);
    net.command(1, Listen(26));
    run(&mut net, 1000);
    net.command(0, now(&[7; 100]));
    net.command(1, Stream(vec![1], When::At(local(2000)), Cca::Require));
    net.command(1, Timeout(local(2500)));
    run(&mut net, 9000);
    // Strobe at 2000 - 160 - 192; the receiver goes on with the frame.
    assert_eq!(
        answer(&net, 1, 1),
        (1648, Seen::Refused(Refusal::ChannelBusy))
    );
    assert!(matches!(
        &heard(&net, 1)[..],
        [(2500, Seen::Timeout), (_, Seen::Frame { .. })]
    ));
    net.command(1, Stream(vec![1], When::Now, Cca::Require));
    run(&mut net, 12_000);
    assert!(matches!(answer(&net, 1, 2).1, Seen::Sent { .. }));
}

#[test]
fn loading_costs_bus_time_and_a_loaded_frame_can_be_sent_twice() {
    let timing = BoardTiming {
        load_base: us(5),
        load_byte: us(10),
        ..BoardTiming::IDEAL
    };
    let mut net = net_on(boards::exact(timing), 1);
    net.command(0, Load(0, vec![5; 10]));
    net.command(0, Transmit(0, When::Now, Cca::Skip));
    run(&mut net, 5000);
    net.command(0, Transmit(0, When::Now, Cca::Skip));
    net.command(0, Stream(vec![1; 20], When::At(local(9000)), Cca::Skip));
    run(&mut net, 10_000);
    net.command(0, Transmit(0, When::Now, Cca::Skip));
    run(&mut net, 20_000);
    assert_eq!(answer(&net, 0, 0), (105, Seen::Done));
    // The strobe waits for the bus.
    assert_eq!(
        answer(&net, 0, 1).1,
        Seen::Sent {
            sfd: local(105 + 192 + 160)
        }
    );
    // The third superseded the second, and its frame is what is sent last.
    assert_eq!(
        answer(&net, 0, 2),
        (5000, Seen::Refused(Refusal::Superseded))
    );
    assert_eq!(
        answer(&net, 0, 3),
        (9000 - 160 + 28 * 32, Seen::Sent { sfd: local(9000) })
    );
    assert_eq!(answer(&net, 0, 4).0, 10_000 + 192 + 28 * 32);
    assert_eq!(net.stats().air_frames, 3);
}

#[test]
fn a_stream_has_no_bus_time_in_front() {
    let timing = BoardTiming {
        load_byte: us(17),
        ..BoardTiming::IDEAL
    };
    let mut net = net_on(boards::exact(timing), 1);
    net.command(0, now(&[1; 125]));
    run(&mut net, 300);
    // It is on the bus from its strobe on.
    net.command(0, Load(0, vec![5; 10]));
    run(&mut net, 9000);
    assert_eq!(answer(&net, 0, 0).1, Seen::Sent { sfd: local(352) });
    assert_eq!(answer(&net, 0, 1), ((125 + 10) * 17, Seen::Done));
}

#[test]
fn a_relay_answers_a_fixed_gap_after_the_last_byte_to_the_nanosecond() {
    let mut net = net(2);
    net.command(1, Listen(26));
    net.engine_mut(1).on_frame = vec![say(&[2; 20], When::AfterRx(Duration::from_nanos(281_007)))];
    net.command(0, Listen(26));
    run(&mut net, 1000);
    net.command(0, now(&[1; 20]));
    run(&mut net, 9000);
    // The first frame ends at 1192 + 28 * 32 = 2088.
    let sfd = Instant::from_nanos(2_088_000 + 281_007 + 160_000);
    assert_eq!(answer(&net, 1, 1).1, Seen::Sent { sfd });
    assert!(matches!(heard(&net, 0)[0].1, Seen::Frame { sfd: s, .. } if s == sfd));
}

#[test]
fn a_gap_shorter_than_turnaround_and_handler_is_late() {
    let timing = BoardTiming {
        event_latency: us(10),
        ..BoardTiming::IDEAL
    };
    for (gap, by) in [(202, None), (201, Some(us(1)))] {
        let mut net = net_on(boards::exact(timing), 2);
        net.command(1, Listen(26));
        net.engine_mut(1).on_frame = vec![say(&[2; 20], When::AfterRx(us(gap)))];
        run(&mut net, 1000);
        net.command(0, now(&[1; 20]));
        run(&mut net, 9000);
        match by {
            None => assert!(matches!(answer(&net, 1, 1).1, Seen::Sent { .. })),
            Some(by) => {
                assert_eq!(
                    answer(&net, 1, 1),
                    (2098, Seen::Refused(Refusal::Late { by }))
                );
            }
        }
    }
}

#[test]
fn listening_during_a_transmission_holds_after_it() {
    let mut net = net(2);
    run(&mut net, 1000);
    net.command(0, now(&[1; 100]));
    run(&mut net, 2000);
    net.command(0, Listen(26));
    // The frame ends at 1192 + 108 * 32 = 4648; the receiver is on at 4840.
    run(&mut net, 4648);
    assert_eq!(answer(&net, 0, 1), (2000, Seen::Done));
    net.command(1, now(&[2; 10]));
    run(&mut net, 9000);
    assert!(matches!(heard(&net, 0)[..], [(_, Seen::Frame { .. })]));
}

#[test]
fn two_preamble_symbols_are_enough_to_hear_a_frame() {
    for (listen_at, heard_of) in [(1192 + 96 - 192, 1), (1192 + 97 - 192, 0)] {
        let mut net = net(2);
        net.command(0, say(&[2; 10], When::At(local(1192 + 160))));
        run(&mut net, listen_at);
        net.command(1, Listen(26));
        run(&mut net, 9000);
        assert_eq!(heard(&net, 1).len(), heard_of, "{listen_at}");
    }
}

#[test]
fn listening_again_aborts_a_reception() {
    let mut net = net(2);
    net.command(1, ListenFor(26, 3));
    net.engine_mut(1).on_head = vec![Listen(26)];
    run(&mut net, 1000);
    net.command(0, now(&[1; 100]));
    run(&mut net, 9000);
    assert!(matches!(heard(&net, 1)[..], [(_, Seen::Head { .. })]));
    // Ready again long before the aborted frame's end, and again for a next frame.
    assert_eq!(answer(&net, 1, 1).0, 1192 + 32 * 9 + 192);
    net.command(0, now(&[1; 100]));
    run(&mut net, 18_000);
    assert!(matches!(heard(&net, 1)[..], [_, (_, Seen::Frame { .. })]));
}

#[test]
fn a_head_is_not_told_of_a_frame_that_was_given_up() {
    let timing = BoardTiming {
        event_latency: us(100),
        ..BoardTiming::IDEAL
    };
    for (give_up, heads) in [(false, 1), (true, 0)] {
        let mut net = net_on(boards::exact(timing), 2);
        net.command(1, ListenFor(26, 3));
        run(&mut net, 1000);
        net.command(0, now(&[1; 100]));
        // The head is complete at 1192 + 9 * 32 = 1480 and would be reported at 1580.
        run(&mut net, 1500);
        if give_up {
            net.command(1, Sleep);
        }
        run(&mut net, 9000);
        let seen = heard(&net, 1);
        assert_eq!(
            seen.iter()
                .filter(|s| matches!(s.1, Seen::Head { .. }))
                .count(),
            heads
        );
    }
}

#[test]
fn cancel_and_sleep_take_back_what_is_not_on_the_air() {
    for order in [Cancel, Sleep] {
        let mut net = net(2);
        net.command(1, Listen(26));
        net.command(0, Listen(26));
        run(&mut net, 1000);
        net.command(0, now(&[1; 10]));
        run(&mut net, 1191);
        net.command(0, order.clone());
        run(&mut net, 3000);
        assert_eq!(
            answer(&net, 0, 1),
            (1191, Seen::Refused(Refusal::Superseded))
        );
        assert_eq!(answer(&net, 0, 2), (1191, Seen::Done));
        assert_eq!(net.stats().air_frames, 0);
        // After a cancelled strobe the receiver comes back; asleep it does not.
        net.command(1, now(&[2; 10]));
        run(&mut net, 9000);
        assert_eq!(heard(&net, 0).len(), usize::from(order == Cancel));
    }
}

#[test]
fn what_is_on_the_air_goes_on() {
    for order in [Cancel, Sleep] {
        let mut net = net(2);
        net.command(1, Listen(26));
        run(&mut net, 1000);
        net.command(0, now(&[1; 10]));
        run(&mut net, 1192);
        net.command(0, order);
        run(&mut net, 9000);
        assert!(matches!(answer(&net, 0, 0).1, Seen::Sent { .. }));
        assert_eq!(answer(&net, 0, 1), (1192, Seen::Done));
        assert!(matches!(heard(&net, 1)[..], [(_, Seen::Frame { .. })]));
    }
}

#[test]
fn a_transmission_asked_for_during_another_follows_it() {
    let mut net = net(1);
    net.command(0, now(&[1; 10]));
    run(&mut net, 300);
    net.command(0, now(&[2; 10]));
    run(&mut net, 9000);
    assert_eq!(answer(&net, 0, 0).0, 192 + 18 * 32);
    assert_eq!(answer(&net, 0, 1).0, 2 * (192 + 18 * 32));
}

#[test]
fn waking_costs_time_once() {
    let timing = BoardTiming {
        wake: us(860),
        ..BoardTiming::IDEAL
    };
    let mut net = net_on(boards::exact(timing), 1);
    net.command(0, Listen(26));
    run(&mut net, 2000);
    net.command(0, Listen(26));
    net.command(0, Sleep);
    run(&mut net, 3000);
    // A transmission out of sleep pays it too, and an exact one wakes in time by itself.
    net.command(0, now(&[1]));
    net.command(0, say(&[1], When::At(local(20_000))));
    run(&mut net, 30_000);
    assert_eq!(answer(&net, 0, 0).0, 860 + 192);
    assert_eq!(answer(&net, 0, 1).0, 2192);
    assert_eq!(
        answer(&net, 0, 3),
        (3000, Seen::Refused(Refusal::Superseded))
    );
    assert_eq!(answer(&net, 0, 4).1, Seen::Sent { sfd: local(20_000) });
    let energy = net.energy(0);
    assert_eq!(energy.radio_idle, us(860) * 2);
    assert_eq!(energy.radio_calibrate, us(192) * 2);
    assert_eq!(energy.radio_transmit, us(9 * 32));
    assert_eq!(energy.radio_receive, us(2000 - 1052));
}
