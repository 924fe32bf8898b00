//! Chains of forwarders on ideal links: order, losses, lateness, other traffic.

use super::*;
use std::boxed::Box;
use std::vec;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::{BoardTiming, Cca};
use thalweg_units::Channel;
use thalweg_wire::forward::HEADER_BYTES;

const TIMING: BoardTiming = BoardTiming {
    load_byte: Duration::from_micros(10),
    ..BoardTiming::IDEAL
};

/// An object whose packets of one byte are their numbers, and what was received of it.
#[derive(Debug, Default)]
struct Numbers {
    received: Vec<(u32, u8)>,
}
impl ObjectStore for Numbers {
    fn info(&self) -> crate::object::ObjectInfo {
        crate::object::NoObject.info()
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        into.iter_mut()
            .zip(offset..)
            .for_each(|(byte, at)| *byte = at as u8);
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), crate::object::NoRoom> {
        self.received.push((offset, bytes[0]));
        Ok(())
    }
}

fn id(n: usize) -> NodeId {
    NodeId::new(n as u16).unwrap()
}
fn ch(n: usize) -> Channel {
    Channel::new(11 + n as u8).unwrap()
}
fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// `hops` hops, a channel each, on links as `links` says.
fn chain(
    hops: usize,
    forwarding: Forwarding,
    links: impl FnMut(Air<'_>) -> Fate + 'static,
) -> Net<Forwarder<Numbers>> {
    let engines = (0..=hops + 1)
        .map(|n| Forwarder::new(id(n), Numbers::default()))
        .collect();
    let mut net = Net::new(engines, TIMING, links);
    for n in 0..=hops {
        let role = match n {
            0 => Role::End,
            n if n == hops => Role::End,
            _ => Role::Relay,
        };
        let config = Config {
            role,
            previous: [n.checked_sub(1).map(id), None],
            listen: ch(n.saturating_sub(1)),
            exits: Exits::One(ch(n)),
            forwarding,
            cca: Cca::Skip,
            hold: ms(100 + 10 * n as u64),
            payload_bytes: 1,
        };
        net.command(n, Command::Join(config));
    }
    net.run_for(ms(10));
    net
}
fn heard(_: Air<'_>) -> Fate {
    Fate::Heard
}
fn send(net: &mut Net<Forwarder<Numbers>>, packets: u16, interval: Duration) {
    let payload_bytes = 1;
    net.command(
        0,
        Command::Send {
            packets,
            payload_bytes,
            after: Duration::ZERO,
            interval,
        },
    );
}
/// The numbers that node `n` was handed, with when.
fn received(net: &mut Net<Forwarder<Numbers>>, node: usize) -> Vec<(u64, u16)> {
    let events = net.take_events().into_iter();
    events
        .filter_map(|(at, n, event)| match event {
            Event::Received { number, .. } if n == node => Some((at.as_nanos() / 1000, number)),
            _ => None,
        })
        .collect()
}
fn numbers(got: &[(u64, u16)]) -> Vec<u16> {
    got.iter().map(|g| g.1).collect()
}

#[test]
fn every_variant_delivers_everything_in_order() {
    for forwarding in [Forwarding::Copying, Forwarding::Conditional] {
        let mut net = chain(4, forwarding, heard);
        send(&mut net, 30, ms(3));
        net.run_until(at(1000));
        let got = received(&mut net, 4);
        assert_eq!(numbers(&got), (0..30).collect::<Vec<_>>(), "{forwarding:?}");
        let stored: Vec<_> = (0..30).map(|n| (n, n as u8)).collect();
        assert_eq!(net.engine(4).store().received, stored);
        assert_eq!(net.sent().len(), 4 * 30);
    }
    let mut net = chain(4, Forwarding::Resending, heard);
    send(&mut net, 30, ms(3));
    net.run_until(at(1000));
    assert_eq!(received(&mut net, 4).len(), 30);
}

#[test]
fn a_packet_goes_on_when_the_next_has_come_and_at_once() {
    let mut net = chain(2, Forwarding::Conditional, heard);
    send(&mut net, 2, ms(20));
    net.run_until(at(99));
    // The second packet began at 50 ms and a turnaround; the first follows it a turnaround later.
    let sent: Vec<_> = net.sent().iter().map(|s| (s.from, s.start)).collect();
    let air = thalweg_wire::phy::air_time(HEADER_BYTES + 1);
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[2], (1, sent[1].1 + air + TIMING.turnaround));
    // Nothing comes after the second: it is sent when it has waited long enough.
    net.run_until(at(300));
    assert_eq!(numbers(&received(&mut net, 2)), [0, 1]);
    let waited = net.sent()[3].start.since(net.sent()[2].start);
    assert!(waited > ms(110) && waited < ms(113));
}

#[test]
fn lost_and_corrupt_packets_delay_nothing_else() {
    for fate in [Fate::Silent, Fate::Corrupted] {
        let links = move |air: Air<'_>| match (air.from, air.to, air.mpdu[2]) {
            (0, 1, 5 | 6) | (1, 2, 11) => fate,
            _ => Fate::Heard,
        };
        let mut net = chain(3, Forwarding::Conditional, links);
        send(&mut net, 20, ms(3));
        net.run_until(at(600));
        let expected: Vec<u16> = (0..20).filter(|n| ![5, 6, 11].contains(n)).collect();
        assert_eq!(numbers(&received(&mut net, 3)), expected, "{fate:?}");
    }
}

#[test]
fn packets_of_others_set_nothing_off_and_are_not_taken() {
    let mut net = chain(2, Forwarding::Conditional, heard);
    let other = Config {
        role: Role::End,
        previous: [None; 2],
        listen: ch(0),
        exits: Exits::One(ch(0)),
        forwarding: Forwarding::Copying,
        cca: Cca::Skip,
        hold: ms(100),
        payload_bytes: 1,
    };
    net.command(3, Command::Join(other));
    send(&mut net, 1, ms(3));
    net.run_until(at(20));
    let all_but_route = Command::Send {
        packets: 5,
        payload_bytes: 40,
        after: ms(1),
        interval: ms(5),
    };
    net.command(3, all_but_route);
    net.run_until(at(60));
    assert_eq!(net.sent().iter().filter(|s| s.from == 1).count(), 0);
    net.run_until(at(200));
    assert_eq!(numbers(&received(&mut net, 2)), [0]);
}

#[test]
fn a_relay_that_is_overrun_says_what_it_dropped_and_keeps_the_order() {
    let mut net = chain(2, Forwarding::Copying, heard);
    // A frame of 125 bytes takes longer to load and send on than to receive.
    let payload_bytes = 117;
    let interval = Duration::from_micros(4600);
    let packets = 40;
    net.command(
        0,
        Command::Send {
            packets,
            payload_bytes,
            after: Duration::ZERO,
            interval,
        },
    );
    net.run_until(at(600));
    let events = net.take_events();
    let mut last = None;
    let (mut got, mut dropped) = (0, 0);
    for (_, n, event) in events {
        match event {
            Event::Received { number, .. } if n == 2 => {
                assert!(last.is_none_or(|l| l < number), "in order, no duplicate");
                last = Some(number);
                got += 1;
            }
            Event::Dropped { why, .. } => {
                assert_eq!((n, why), (1, Drop::QueueFull));
                dropped += 1;
            }
            _ => {}
        }
    }
    assert!(got < 40 && got > 10);
    // The others met a relay that was sending.
    assert!(got + dropped <= 40);
}

#[test]
fn armed_nodes_pass_a_notification_on_at_once() {
    let mut net = chain(4, Forwarding::Conditional, heard);
    for n in 1..4 {
        net.command(n, Command::Arm { payload_bytes: 1 });
    }
    net.run_for(ms(5));
    send(&mut net, 1, ms(1));
    net.run_for(ms(10));
    assert_eq!(net.sent().len(), 4);
    assert_eq!(received(&mut net, 4).len(), 1);
}

#[test]
fn two_exits_take_turns() {
    assert_eq!(Exits::Two(ch(1), ch(2)).of(6), ch(1));
    assert_eq!(Exits::Two(ch(1), ch(2)).of(7), ch(2));
    assert_eq!(Exits::One(ch(3)).of(7), ch(3));
}

#[test]
fn nonsense_from_the_radio_changes_nothing() {
    use thalweg_engine::{OpId, Refusal};
    let mut net = chain(2, Forwarding::Conditional, heard);
    send(&mut net, 4, ms(5));
    for k in 0..40u16 {
        net.run_for(ms(1));
        let mpdu: Box<[u8]> = vec![k as u8; usize::from(k)].into();
        let (sfd, end) = (net.now(), net.now());
        let rssi = thalweg_units::Dbm(-50.0);
        let lqi = 100;
        for n in 0..3 {
            let (op, why) = (OpId(9000 + k), Refusal::Superseded);
            net.inject(n, RadioEvent::Refused { op, why });
            net.inject(n, RadioEvent::Corrupt { sfd });
            net.inject(
                n,
                RadioEvent::Frame {
                    mpdu: &mpdu,
                    sfd,
                    end,
                    rssi,
                    lqi,
                },
            );
        }
    }
    net.run_until(at(400));
    assert_eq!(numbers(&received(&mut net, 2)), [0, 1, 2, 3]);
}
