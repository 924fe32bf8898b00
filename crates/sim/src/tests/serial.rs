//! Boards whose software does one thing at a time, and conditional transmissions, to the microsecond.

use super::Order::{Cancel, Listen, Load, Readout, Sleep, Stream, Transmit, Upon};
use super::{answer, at, heard, local, net, net_on, run, Puppet, Seen};
use crate::{boards, Activity, Board, Costs, Fault, Network, PreCopy, Software};
use std::sync::{Arc, Mutex};
use thalweg_engine::{BoardTiming, Cca, Condition, Refusal, When};
use thalweg_units::Duration;

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// A perfect clock and round costs: read 30 + 2 a byte, write 10 a byte, strobe 100, operating
/// system 500, interrupt entry 10, condition 40, channel change 60.
pub(super) fn slow() -> Board {
    boards::exact(BoardTiming {
        load_byte: us(10),
        event_latency: us(10),
        software: Software::Serial(Costs {
            strobe: us(100),
            read_base: us(30),
            read_byte: us(2),
            os: us(500),
            condition: us(40),
            retune: us(60),
            cca_settle: us(128),
            rx_fifo_bytes: 128,
            precopy: PreCopy::Yes,
            ..Costs::NOTHING
        }),
        ..BoardTiming::IDEAL
    })
}
pub(super) fn on(costs: impl Fn(&mut Costs)) -> Board {
    let mut board = slow();
    if let Software::Serial(c) = &mut board.timing.software {
        costs(c);
    }
    board
}
/// Air time of a frame of `bytes`.
pub(super) fn air(bytes: u64) -> u64 {
    32 * (bytes + 8)
}
pub(super) fn go() -> super::Order {
    Transmit(0, When::Now, Cca::Skip)
}
/// When node `n` began to send its operation `op`, in microseconds.
pub(super) fn began(net: &Network<Puppet>, n: usize, op: u16) -> u64 {
    match answer(net, n, op).1 {
        Seen::Sent { sfd } => sfd.as_nanos() / 1000 - 160,
        other => panic!("{other:?}"),
    }
}

#[test]
fn operations_take_their_time_one_after_the_other() {
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    run(&mut net, 1000);
    net.command(0, Load(0, vec![1; 20]));
    net.command(0, go());
    net.command(0, go());
    run(&mut net, 9000);
    assert_eq!(answer(&net, 0, 1), (1200, Seen::Done));
    let first = 1000 + 200 + 100 + 192;
    // The second strobe superseded the first, whose turnaround had begun.
    assert_eq!(answer(&net, 0, 2).1, Seen::Refused(Refusal::Superseded));
    assert_eq!(began(&net, 0, 3), first + 100);
    // Interrupt, read, operating system.
    let end = first + 100 + air(20);
    assert_eq!(heard(&net, 1)[0].0, end + 10 + 30 + 40 + 500);
}

#[test]
fn a_pending_frame_goes_out_from_the_interrupt_and_the_reception_is_read_after_it() {
    let mut net = net_on(slow(), 3);
    for n in 0..3 {
        net.command(n, Listen(26));
    }
    net.command(1, Load(0, vec![9; 50]));
    net.command(1, Upon(vec![1, 2], 26));
    run(&mut net, 2000);
    net.command(0, Load(0, vec![1, 3, 0]));
    net.command(0, go());
    run(&mut net, 6000);
    assert_eq!(net.stats().air_frames, 1, "another beginning");
    net.command(0, Load(0, vec![1, 2, 0]));
    net.command(0, go());
    run(&mut net, 20_000);
    let end = began(&net, 0, 4) + air(3);
    assert_eq!(began(&net, 1, 2), end + 10 + 40 + 100 + 192);
    assert!(matches!(&heard(&net, 1)[1], (t, Seen::Frame { mpdu, .. })
        if *mpdu == [1, 2, 0] && *t == end + 10 + 40 + 100 + 30 + 6 + 500));
}

#[test]
fn another_channel_costs_its_change_both_ways() {
    let mut net = net_on(slow(), 3);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(2, Listen(15));
    net.command(1, Load(0, vec![9; 50]));
    net.command(1, Upon(vec![1], 15));
    run(&mut net, 2000);
    net.command(0, Load(0, vec![1; 3]));
    net.command(0, go());
    run(&mut net, 20_000);
    let end = began(&net, 0, 2) + air(3);
    let sent = began(&net, 1, 2);
    assert_eq!(sent, end + 10 + 40 + 60 + 100 + 192);
    assert!(matches!(&heard(&net, 2)[0].1, Seen::Frame { mpdu, .. } if mpdu.len() == 50));
    // Deaf until the channel is changed back and the receiver has turned.
    for (later, frames) in [(-1, 1), (0, 2)] {
        let mut net = net_on(slow(), 3);
        net.command(0, Listen(26));
        net.command(1, Listen(26));
        net.command(1, Load(0, vec![9; 50]));
        net.command(1, Upon(vec![1], 15));
        run(&mut net, 2000);
        net.command(0, Load(0, vec![1; 3]));
        net.command(0, go());
        run(&mut net, 3000);
        let back = (sent + air(50) + 60 + 192) as i64;
        // Two symbols of the preamble may be missed.
        run(&mut net, (back + later * 100 - 292) as u64);
        net.command(0, go());
        run(&mut net, 20_000);
        assert_eq!(heard(&net, 1).len(), frames, "{later}");
    }
}

#[test]
fn a_frame_sent_in_between_overwrites_and_the_pending_one_is_written_again() {
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(1, Load(0, vec![9; 50]));
    net.command(1, Upon(vec![1], 26));
    run(&mut net, 2000);
    net.command(1, Load(0, vec![7; 20]));
    net.command(1, go());
    run(&mut net, 10_000);
    assert!(matches!(&heard(&net, 0)[0].1, Seen::Frame { mpdu, .. } if *mpdu == [7; 20]));
    net.command(0, Load(0, vec![1; 3]));
    net.command(0, go());
    run(&mut net, 20_000);
    assert!(matches!(&heard(&net, 0)[1].1, Seen::Frame { mpdu, .. } if *mpdu == [9; 50]));
    assert_eq!(began(&net, 1, 2), began(&net, 0, 2) + air(3) + 342);
    // The condition met while the frame is being written again: as soon as it is written.
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(1, Load(0, vec![9; 125]));
    net.command(1, Upon(vec![1], 26));
    net.command(0, Load(0, vec![1; 3]));
    run(&mut net, 2000);
    net.command(1, Load(0, vec![7; 20]));
    net.command(1, go());
    let free = 2000 + 200 + 100 + 192 + air(20);
    run(&mut net, free);
    net.command(0, go());
    run(&mut net, 20_000);
    let end = began(&net, 0, 2) + air(3);
    assert!(end > free && end < free + 1250);
    // Writing was interrupted for a look at the frame.
    assert_eq!(began(&net, 1, 2), free + 1250 + 50 + 100 + 192);
}

#[test]
fn a_copy_waits_until_what_is_asked_for_is_sent() {
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    run(&mut net, 1000);
    net.command(0, Load(0, vec![1; 20]));
    net.command(0, go());
    net.command(0, Load(0, vec![2; 30]));
    net.command(0, go());
    run(&mut net, 20_000);
    let end = 1000 + 200 + 100 + 192 + air(20);
    assert_eq!(began(&net, 0, 2), 1492);
    assert_eq!(answer(&net, 0, 3), (end + 300, Seen::Done));
    assert_eq!(began(&net, 0, 4), end + 300 + 100 + 192);
    // One that is armed for later, too.
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(0, Load(0, vec![1; 20]));
    net.command(0, Transmit(0, When::At(local(5000)), Cca::Skip));
    net.command(0, Load(0, vec![2; 30]));
    run(&mut net, 20_000);
    assert_eq!(
        answer(&net, 0, 3),
        (began(&net, 0, 2) + air(20) + 300, Seen::Done)
    );
    // Not where it is for another transmission, which takes the armed one's place.
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    run(&mut net, 1000);
    net.command(0, Load(0, vec![1; 20]));
    net.command(0, Transmit(0, When::At(local(5000)), Cca::Skip));
    net.command(0, Stream(vec![2; 30], When::At(local(5000)), Cca::Skip));
    run(&mut net, 20_000);
    assert_eq!(
        answer(&net, 0, 2),
        (1200 + 100, Seen::Refused(Refusal::Superseded))
    );
    assert_eq!(began(&net, 0, 3), 5000 - 160);
    let frames = heard(&net, 1);
    assert!(matches!(&frames[..], [(_, Seen::Frame { mpdu, .. })] if *mpdu == [2; 30]));
    // One that finds its channel busy, until it is refused.
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(0, Load(0, vec![1; 20]));
    net.command(1, Load(0, vec![3; 100]));
    net.command(1, go());
    run(&mut net, 1000 + 100 + 192 + 1000);
    net.command(0, Transmit(0, When::Now, Cca::Require));
    net.command(0, Load(0, vec![2; 30]));
    run(&mut net, 20_000);
    let (at, why) = answer(&net, 0, 2);
    assert_eq!(why, Seen::Refused(Refusal::ChannelBusy));
    assert_eq!(answer(&net, 0, 3), (at + 300, Seen::Done));
}

#[test]
fn a_pending_frame_that_is_being_overwritten_waits_until_it_is_written_again() {
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(1, Load(0, vec![9; 50]));
    net.command(1, Upon(vec![1], 26));
    net.command(0, Load(0, vec![1; 3]));
    run(&mut net, 2000);
    net.command(0, go());
    let end = 2000 + 100 + 192 + air(3);
    // A frame of 100 bytes is half written when the condition is met.
    run(&mut net, end - 500);
    net.command(1, Load(0, vec![7; 100]));
    net.command(1, go());
    run(&mut net, 20_000);
    let told = heard(&net, 0);
    let frames: Vec<_> = told
        .iter()
        .filter_map(|(_, seen)| match seen {
            Seen::Frame { mpdu, .. } => Some((mpdu.len(), mpdu[0])),
            _ => None,
        })
        .collect();
    assert_eq!(frames, [(100, 7), (50, 9)]);
    // Writing was interrupted for a look; reading what came in and passing it up is next in turn.
    let written = end - 500 + 1000 + 50;
    assert_eq!(began(&net, 1, 4), written + 100 + 192);
    let free = began(&net, 1, 4) + air(100);
    assert_eq!(began(&net, 1, 2), free + 500 + 100 + 192);
}

#[test]
fn a_driver_that_does_not_copy_ahead_is_slower() {
    let mut net = net_on(on(|c| c.precopy = PreCopy::No), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(1, Load(0, vec![9; 50]));
    net.command(1, Upon(vec![1], 26));
    run(&mut net, 2000);
    net.command(0, Load(0, vec![1; 3]));
    net.command(0, go());
    run(&mut net, 20_000);
    let end = began(&net, 0, 2) + air(3);
    // The reception is read and passed up first.
    let read = 30 + 6 + 500;
    assert_eq!(began(&net, 1, 2), end + 10 + 40 + read + 500 + 100 + 192);
}

#[test]
fn cancelled_and_superseded_frames_stay() {
    for order in [Cancel, Sleep, Upon(vec![2], 26)] {
        let mut net = net_on(slow(), 2);
        net.command(0, Listen(26));
        net.command(1, Listen(26));
        net.command(1, Upon(vec![1], 26));
        net.command(1, Load(0, vec![9; 50]));
        net.command(1, Upon(vec![1], 26));
        net.command(1, Upon(vec![0; Condition::MAX_BYTES + 1], 26));
        run(&mut net, 2000);
        net.command(1, order);
        run(&mut net, 3000);
        net.command(0, Load(0, vec![1; 3]));
        net.command(0, go());
        run(&mut net, 20_000);
        assert_eq!(answer(&net, 1, 1).1, Seen::Refused(Refusal::Empty));
        assert_eq!(
            answer(&net, 1, 3),
            (2000, Seen::Refused(Refusal::Superseded))
        );
        assert_eq!(answer(&net, 1, 4).1, Seen::Refused(Refusal::BadLength));
        assert_eq!(net.stats().air_frames, 1);
    }
}

#[test]
fn what_is_not_wanted_is_not_read() {
    for board in [slow(), boards::exact(BoardTiming::IDEAL)] {
        let mut net = net_on(board, 2);
        net.command(0, Listen(26));
        net.command(1, Listen(26));
        net.command(1, Readout(2));
        net.command(0, Load(0, vec![1; 100]));
        net.command(0, go());
        run(&mut net, 20_000);
        let Seen::Frame { mpdu, .. } = &heard(&net, 1)[0].1 else {
            panic!()
        };
        assert_eq!(*mpdu, [1; 2]);
    }
    // Nothing of it: reported all the same, after interrupt and operating system.
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(1, Readout(0));
    net.command(0, Load(0, vec![1; 100]));
    net.command(0, go());
    run(&mut net, 20_000);
    let end = began(&net, 0, 2) + air(100);
    assert!(matches!(&heard(&net, 1)[0], (t, Seen::Frame { mpdu, .. })
        if mpdu.is_empty() && *t == end + 10 + 500));
}

#[test]
fn a_receive_buffer_overflows_when_software_does_not_come_to_it() {
    // 125 bytes take 4030 us to read; the next frame is whole 4548 us after the first.
    for (read, frames, overflows) in [(us(32), 2, 0), (us(60), 1, 1)] {
        let mut net = net_on(on(|c| c.read_byte = read), 2);
        net.command(0, Listen(26));
        net.command(1, Listen(26));
        net.command(0, Load(0, vec![1; 125]));
        net.command(0, go());
        run(&mut net, 1250 + 100 + 192 + 4256);
        net.command(0, go());
        run(&mut net, 60_000);
        let good = |s: &&(u64, Seen)| matches!(s.1, Seen::Frame { .. });
        assert_eq!(heard(&net, 1).iter().filter(good).count(), frames);
        assert_eq!(net.stats().overflows, overflows);
    }
}

#[test]
fn a_look_at_the_channel_waits_for_the_receiver() {
    let mut net = net_on(slow(), 1);
    net.command(0, Listen(26));
    run(&mut net, 1000);
    net.command(0, Load(0, vec![1; 10]));
    net.command(0, Transmit(0, When::Now, Cca::Require));
    run(&mut net, 5000);
    // The receiver was on while the frame was copied: no wait.
    assert_eq!(began(&net, 0, 2), 1000 + 100 + 100 + 192);
    let end = 1392 + air(10);
    run(&mut net, end);
    let mut again = net_on(slow(), 1);
    for order in [Listen(26), Load(0, vec![1; 10])] {
        again.command(0, order);
    }
    run(&mut again, 1100);
    again.command(0, go());
    run(&mut again, end);
    again.command(0, Transmit(0, When::Now, Cca::Require));
    run(&mut again, 9000);
    assert_eq!(began(&again, 0, 3), end + 192 + 128 + 192);
}

#[test]
fn boards_that_overlap_send_pending_frames_too() {
    let timing = BoardTiming {
        forward_software: us(89),
        event_latency: us(10),
        ..BoardTiming::IDEAL
    };
    let mut net = net_on(boards::exact(timing), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(1, Load(0, vec![9; 50]));
    net.command(1, Upon(vec![1], 15));
    run(&mut net, 2000);
    net.command(0, Load(0, vec![1; 3]));
    net.command(0, go());
    run(&mut net, 20_000);
    assert_eq!(began(&net, 1, 2), began(&net, 0, 2) + air(3) + 89 + 192);
}

#[test]
fn a_dead_node_goes_on_where_it_stopped() {
    let mut net = net_on(slow(), 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    run(&mut net, 1000);
    net.command(0, Load(0, vec![1; 20]));
    net.command(0, go());
    net.fault_at(at(1150), 0, Fault::Dead);
    net.fault_at(at(8000), 0, Fault::Healthy);
    run(&mut net, 20_000);
    assert_eq!(answer(&net, 0, 1), (8000, Seen::Done));
    assert_eq!(began(&net, 0, 2), 8000 + 100 + 192);
    assert_eq!(heard(&net, 1).len(), 1);
    assert!(net.is_clean());
}

#[test]
fn spans_show_radio_bus_and_microcontroller() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut net = net_on(slow(), 2);
    let hook = seen.clone();
    net.spans(Some(Box::new(move |s| {
        let us = |t: thalweg_units::SimTime| t.as_nanos() / 1000;
        hook.lock()
            .unwrap()
            .push((s.node, us(s.from), us(s.until), s.activity));
    })));
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    run(&mut net, 1000);
    net.command(0, Load(0, vec![1; 20]));
    net.command(0, go());
    run(&mut net, 9000);
    let end = 1492 + air(20);
    let expected = [
        (0, 0, 192, Activity::Calibrate),
        (1, 0, 192, Activity::Calibrate),
        (0, 1000, 1200, Activity::Load),
        (0, 1200, 1300, Activity::Strobe),
        (0, 1300, 1492, Activity::Calibrate),
        (0, 1492, end, Activity::Transmit),
        (0, end, end + 192, Activity::Calibrate),
        (1, 1492, end, Activity::Receive),
        (1, end, end + 10, Activity::Interrupt),
        (1, end + 10, end + 80, Activity::Read),
        (1, end + 80, end + 580, Activity::Os),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!(net.energy(1).mcu_active, us(580));
    // Nothing waits.
    assert_eq!(net.local_now(0), local(9000));
}

#[test]
fn an_ideal_board_answers_as_one_that_overlaps() {
    let ideal = boards::exact(BoardTiming {
        software: Software::Serial(Costs::NOTHING),
        ..BoardTiming::IDEAL
    });
    let script = |net: &mut Network<Puppet>| {
        net.command(0, Listen(26));
        net.command(1, Listen(26));
        run(net, 1000);
        net.command(1, Load(0, vec![9; 50]));
        net.command(1, Upon(vec![1], 15));
        net.command(0, Load(0, vec![1; 3]));
        net.command(0, go());
        run(net, 20_000);
        (0..2)
            .map(|n| net.engine(n).seen.clone())
            .collect::<Vec<_>>()
    };
    let (mut a, mut b) = (net_on(ideal, 2), net(2));
    assert_eq!(script(&mut a), script(&mut b));
}
