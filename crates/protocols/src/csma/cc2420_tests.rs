//! Timed scripts of TinyOS 1.x on the CC2420: what it does about busy channels, frames that come in,
//! missing acknowledgements, and acknowledgements by software.

extern crate std;
use super::tests::{frame, mac, next, refused, sent, wants, T0};
use super::*;
use thalweg_engine::BoardTiming;

const JIFFY_NS: u64 = 30_518;
const UNIT_NS: u64 = 10 * JIFFY_NS;

fn done(op: thalweg_engine::OpId) -> RadioEvent<'static> {
    RadioEvent::Done { op }
}
/// Lets the first backoff end and the frame be copied; when it is asked to be sent.
fn loads(mac: &mut Mac) -> Instant {
    let (at, ops) = next(mac);
    assert_eq!(ops, [ops::LOAD]);
    mac.handle_radio(at, &done(ops::LOAD));
    assert_eq!(wants(mac), [ops::DATA]);
    at
}
fn comes(mac: &mut Mac, at: Instant) {
    let event = RadioEvent::Frame {
        mpdu: &[7; 20],
        sfd: at,
        end: at,
        rssi: Dbm(-60.0),
        lqi: 107,
    };
    assert_eq!(mac.handle_radio(at, &event), None);
}

#[test]
fn after_eight_busy_samples_the_frame_is_copied_again_and_it_never_gives_up() {
    let mut mac = mac(Config::TINYOS_CC2420);
    mac.offer(T0, &frame(), Some(1));
    let mut at = loads(&mut mac);
    for _ in 0..3 {
        for look in 1..=8 {
            assert_eq!(mac.handle_radio(at, &refused()), None);
            if look < 8 {
                assert!(mac.poll_timeout().unwrap().since(at).as_nanos() <= 64 * UNIT_NS);
                let ops;
                (at, ops) = next(&mut mac);
                assert_eq!(ops, [ops::DATA]);
            }
        }
        assert_eq!(wants(&mut mac), [ops::LOAD]);
        mac.handle_radio(at, &done(ops::LOAD));
        assert_eq!(wants(&mut mac), [ops::DATA]);
    }
}

#[test]
fn a_frame_that_comes_in_during_a_backoff_puts_it_off() {
    let (mut least, mut most) = (u64::MAX, 0);
    let mut mac = mac(Config::TINYOS_CC2420);
    for _ in 0..2_000 {
        mac.offer(T0, &frame(), Some(1));
        // While the frame is worked on, nothing is counted down.
        let end = mac.poll_timeout();
        comes(&mut mac, T0);
        assert_eq!(mac.poll_timeout(), end);
        let at = T0 + Config::TINYOS_CC2420.tasks();
        comes(&mut mac, at);
        let wait = mac.poll_timeout().unwrap().since(at).as_nanos() - 75 * JIFFY_NS;
        (least, most) = (least.min(wait / UNIT_NS), most.max(wait / UNIT_NS));
        mac.withdraw();
    }
    assert_eq!((least, most), (1, 64));
}

#[test]
fn each_of_four_retransmissions_waits_5_to_36_ms_more() {
    let mut mac = mac(Config::TINYOS_CC2420);
    mac.offer(T0, &frame(), Some(1));
    for attempt in 0..=4 {
        let at = loads(&mut mac);
        mac.handle_radio(at, &sent());
        let give_up = mac.poll_timeout().unwrap();
        assert_eq!(give_up.since(at).as_nanos(), 75 * JIFFY_NS);
        let outcome = mac.handle_timeout(give_up);
        assert_eq!(outcome, (attempt == 4).then_some(Outcome::NoAck));
        if attempt < 4 {
            let wait = mac.poll_timeout().unwrap().since(give_up);
            let wait_ms = wait.as_secs_f64() * 1e3;
            assert!((5.3..36.0 + 4.9).contains(&wait_ms), "{wait_ms}");
        }
    }
}

#[test]
fn software_reads_loads_and_sends_an_acknowledgement_and_then_loads_its_own_frame_again() {
    let timing = BoardTiming {
        load_byte: Duration::from_micros(14),
        ..BoardTiming::IDEAL
    };
    let config = Config::TINYOS_CC2420.with_software_acks(&timing).unwrap();
    assert!(Config::MICA2.with_software_acks(&timing).is_none());
    let mut mac = mac(config);
    mac.offer(T0, &frame(), Some(1));
    // Its own frame waits in the radio when another comes in.
    let at = loads(&mut mac);
    mac.handle_radio(at, &refused());
    comes(&mut mac, at);
    mac.acknowledge(at, 4, Congestion::Clear, 95);
    let (read, ops) = next(&mut mac);
    assert_eq!(read.since(at), Duration::from_micros(14 * 95));
    assert_eq!(ops, [ops::ACK_LOAD]);
    mac.handle_radio(read, &done(ops::ACK_LOAD));
    let Some(Request {
        op: RadioOp::Transmit { cca, .. },
        ..
    }) = mac.poll_radio()
    else {
        panic!("no acknowledgement");
    };
    assert_eq!(cca, Cca::Skip);
    let op = ops::ACK;
    mac.handle_radio(read, &RadioEvent::Sent { op, sfd: read });
    assert!(wants(&mut mac).is_empty());
    let at = loads(&mut mac);
    mac.handle_radio(at, &sent());
    let give_up = mac.poll_timeout().unwrap();
    assert_eq!(give_up.since(at).as_nanos(), 150 * JIFFY_NS);
}

#[test]
fn a_frame_that_is_being_copied_makes_way_for_an_acknowledgement() {
    let config = Config::TINYOS_CC2420.with_software_acks(&BoardTiming::IDEAL);
    let mut mac = mac(config.unwrap());
    mac.offer(T0, &frame(), Some(1));
    let (at, ops) = next(&mut mac);
    assert_eq!(ops, [ops::LOAD]);
    mac.acknowledge(at, 4, Congestion::Clear, 95);
    mac.handle_radio(at, &done(ops::LOAD));
    let (read, ops) = next(&mut mac);
    assert_eq!(ops, [ops::ACK_LOAD]);
    mac.handle_radio(read, &done(ops::ACK_LOAD));
    assert_eq!(wants(&mut mac), [ops::ACK]);
    let op = ops::ACK;
    mac.handle_radio(read, &RadioEvent::Sent { op, sfd: read });
    assert!(loads(&mut mac) > read);
}
