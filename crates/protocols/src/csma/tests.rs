//! Timed scripts: backoffs, acknowledgements, retransmissions, priority, freezing.

use super::*;

const T0: Instant = Instant::ZERO;

fn frame() -> FrameBuf {
    FrameBuf::from_slice(&[7; 20]).unwrap()
}
fn mac(config: Config) -> Mac {
    Mac::new(config, Channel::LAST, 3)
}
/// The kinds of operations that it wants now.
fn wants(mac: &mut Mac) -> Vec<OpId> {
    core::iter::from_fn(|| mac.poll_radio().map(|request| request.id)).collect()
}
/// Lets its backoff end; the operations that it asks for then, and when.
fn next(mac: &mut Mac) -> (Instant, Vec<OpId>) {
    let at = mac.poll_timeout().unwrap();
    assert_eq!(mac.handle_timeout(at), None);
    (at, wants(mac))
}
fn sensed(power: f64, activity: Activity) -> RadioEvent<'static> {
    RadioEvent::Sensed {
        op: ops::SENSE,
        power: Dbm(power),
        activity,
    }
}
fn sent() -> RadioEvent<'static> {
    RadioEvent::Sent {
        op: ops::DATA,
        sfd: T0,
    }
}
extern crate std;
use std::vec::Vec;

#[test]
fn b_mac_senses_sends_waits_and_tries_four_times() {
    let mut mac = mac(Config::MICA2);
    mac.offer(T0, &frame(), Some(9));
    for attempt in 0..4 {
        let (at, ops) = next(&mut mac);
        assert_eq!(ops, [ops::SENSE]);
        assert_eq!(mac.handle_radio(at, &sensed(-105.0, Activity::Idle)), None);
        assert_eq!(wants(&mut mac), [ops::DATA]);
        assert_eq!(mac.handle_radio(at, &sent()), None);
        let give_up = mac.poll_timeout().unwrap();
        assert_eq!(give_up, at + Config::MICA2.ack_wait);
        let outcome = mac.handle_timeout(give_up);
        assert_eq!(outcome, (attempt == 3).then_some(Outcome::NoAck));
    }
    assert!(mac.is_idle());
    assert_eq!(mac.sent(), 4);
}

#[test]
fn only_the_right_acknowledgement_counts_and_its_bit_is_told() {
    let mut mac = mac(Config::IEEE_802_15_4);
    mac.offer(T0, &frame(), Some(9));
    let (at, ops) = next(&mut mac);
    assert_eq!(ops, [ops::DATA]);
    mac.handle_radio(at, &sent());
    let hear = |mac: &mut Mac, sequence| {
        let ack = Ack {
            sequence,
            congestion: Congestion::Congested,
        };
        let event = RadioEvent::Frame {
            mpdu: &ack.bytes(),
            sfd: at,
            end: at,
            rssi: Dbm(-60.0),
            lqi: 0,
        };
        mac.handle_radio(at, &event)
    };
    assert_eq!(hear(&mut mac, 8), None);
    let got = Outcome::Acknowledged(Congestion::Congested);
    assert_eq!(hear(&mut mac, 9), Some(got));
    assert_eq!(hear(&mut mac, 9), None);
}

#[test]
fn the_standard_gives_up_after_four_backoffs_and_others_do_not() {
    for (config, limit) in [(Config::IEEE_802_15_4, 5), (Config::TINYOS_CC2420, 50)] {
        let mut mac = mac(config);
        mac.offer(T0, &frame(), Some(1));
        let (mut busy, mut outcome) = (0, None);
        while outcome.is_none() && busy < 50 {
            let (at, ops) = next(&mut mac);
            let at = if ops == [ops::LOAD] {
                mac.handle_radio(at, &RadioEvent::Done { op: ops::LOAD });
                assert_eq!(wants(&mut mac), [ops::DATA]);
                at
            } else {
                at
            };
            let why = Refusal::ChannelBusy;
            let op = ops::DATA;
            outcome = mac.handle_radio(at, &RadioEvent::Refused { op, why });
            busy += 1;
        }
        assert_eq!(busy, limit);
        assert_eq!(outcome.is_some(), limit == 5);
    }
}

#[test]
fn windows_are_those_of_the_schemes_and_a_quarter_with_priority() {
    for (config, unit_ns, least, most) in [
        (Config::MICA2, 416_664, 1, 32),
        (Config::IEEE_802_15_4, 320_000, 0, 7),
        (Config::TINYOS_CC2420, 320_000, 1, 16),
    ] {
        for (priority, quarter) in [(Priority::Normal, 1), (Priority::High, 4)] {
            let mut mac = mac(config);
            mac.set_priority(priority);
            let (mut low, mut high) = (u64::MAX, 0);
            for _ in 0..2_000 {
                mac.offer(T0, &frame(), None);
                let slots = mac.poll_timeout().unwrap().as_nanos() / unit_ns;
                (low, high) = (low.min(slots), high.max(slots));
                mac.withdraw();
            }
            let count = (most - least + 1) / quarter;
            assert_eq!((low, high), (least, least + count - 1), "{priority:?}");
        }
    }
}

#[test]
fn b_mac_stops_counting_while_something_is_received() {
    let mut mac = mac(Config::MICA2);
    mac.offer(T0, &frame(), None);
    let end = mac.poll_timeout().unwrap();
    let (at, ops) = next(&mut mac);
    assert_eq!((at, ops), (end, [ops::SENSE].to_vec()));
    // Half of the backoff had passed when the reception began.
    let half = end.since(T0) / 2;
    let activity = Activity::Receiving { since: T0 + half };
    mac.handle_radio(end, &sensed(-60.0, activity));
    let over = end + Duration::from_millis(10);
    mac.handle_radio(over, &RadioEvent::Corrupt { sfd: over });
    wants(&mut mac);
    let left = mac.poll_timeout().unwrap().since(over);
    assert!(left >= half && left <= half + Duration::from_nanos(1));
}

#[test]
fn holding_deferring_and_acknowledging_keep_it_off_the_air() {
    let mut mac = mac(Config::MICA2);
    mac.offer(T0, &frame(), Some(1));
    mac.hold();
    assert_eq!(mac.poll_timeout(), None);
    let later = T0 + Duration::from_secs(1);
    mac.release(later);
    assert!(mac.poll_timeout().unwrap() > later);
    let pause = later + Duration::from_millis(40);
    mac.defer(pause);
    assert!(mac.poll_timeout().unwrap() > pause);
    mac.acknowledge(4, Congestion::Clear);
    assert_eq!(wants(&mut mac), [ops::ACK]);
    let (at, ops) = next(&mut mac);
    assert!(ops.is_empty() && mac.poll_timeout().unwrap() > at);
    mac.handle_radio(
        at,
        &RadioEvent::Sent {
            op: ops::ACK,
            sfd: at,
        },
    );
    assert_eq!(next(&mut mac).1, [ops::SENSE]);
}
