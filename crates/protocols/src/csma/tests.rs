//! Timed scripts: backoffs, acknowledgements, retransmissions, priority, freezing.

use super::*;
use thalweg_engine::OpId;

pub(super) const T0: Instant = Instant::ZERO;

pub(super) fn frame() -> FrameBuf {
    FrameBuf::from_slice(&[7; 20]).unwrap()
}
pub(super) fn mac(config: Config) -> Mac {
    Mac::new(config, Channel::LAST, 3)
}
/// The kinds of operations that it wants now.
pub(super) fn wants(mac: &mut Mac) -> Vec<OpId> {
    core::iter::from_fn(|| mac.poll_radio().map(|request| request.id)).collect()
}
/// Lets its backoff end; the operations that it asks for then, and when.
pub(super) fn next(mac: &mut Mac) -> (Instant, Vec<OpId>) {
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
pub(super) fn sent() -> RadioEvent<'static> {
    RadioEvent::Sent {
        op: ops::DATA,
        sfd: T0,
    }
}
pub(super) fn refused() -> RadioEvent<'static> {
    RadioEvent::Refused {
        op: ops::DATA,
        why: Refusal::ChannelBusy,
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
        // Turned back to receiving, it samples the channel.
        assert_eq!(wants(&mut mac), [ops::FLOOR]);
    }
    assert!(mac.is_idle());
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
fn the_standard_gives_up_after_four_backoffs() {
    let mut mac = mac(Config::IEEE_802_15_4);
    mac.offer(T0, &frame(), Some(1));
    for busy in 1..=5 {
        let (at, ops) = next(&mut mac);
        assert_eq!(ops, [ops::DATA]);
        let outcome = mac.handle_radio(at, &refused());
        assert_eq!(outcome, (busy == 5).then_some(Outcome::ChannelBusy));
    }
}

#[test]
fn windows_are_those_of_the_schemes_and_a_quarter_with_priority() {
    for (config, unit_ns, least, most) in [
        (Config::MICA2, 416_664, 1, 32),
        (Config::IEEE_802_15_4, 320_000, 0, 7),
        (Config::TINYOS_CC2420, 305_180, 1, 16),
    ] {
        for (priority, quarter) in [(Priority::Normal, 1), (Priority::High, 4)] {
            let mut mac = mac(config);
            mac.set_priority(priority);
            let (mut low, mut high) = (u64::MAX, 0);
            for _ in 0..2_000 {
                mac.offer(T0, &frame(), None);
                let end = mac.poll_timeout().unwrap().saturating_sub(config.tasks());
                let slots = end.as_nanos() / unit_ns;
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
fn five_samples_decide() {
    let found = |power, activity| {
        let mut mac = mac(Config::MICA2);
        mac.offer(T0, &frame(), None);
        let at = mac.poll_timeout().unwrap();
        mac.handle_timeout(at);
        let clear = mac.floor.clear();
        let RadioOp::Assess(asked) = mac.poll_radio().unwrap().op else {
            panic!("it assesses the channel");
        };
        let expected = Assessment {
            samples: 5,
            between: Duration::from_micros(217),
            clear,
        };
        assert_eq!(asked, expected);
        let at = at + Duration::from_micros(4 * 217);
        mac.handle_radio(at, &sensed(clear.0 + power, activity));
        (mac, at)
    };
    let (mut mac, _) = found(0.0, Activity::Idle);
    assert_eq!(wants(&mut mac), [ops::DATA]);

    let Scheme::BMac(b) = Config::MICA2.scheme else {
        panic!("it is B-MAC")
    };
    let unit = b.windows.unit;
    let congestion = unit..=unit * u64::from(b.windows.congestion);
    let (mut mac, at) = found(0.1, Activity::Idle);
    assert!(wants(&mut mac).is_empty());
    assert!(congestion.contains(&mac.poll_timeout().unwrap().since(at)));

    // A preamble between two samples: as busy, once that frame is over.
    let since = at.saturating_sub(Duration::from_micros(100));
    let (mut mac, at) = found(0.1, Activity::Receiving { since });
    let over = at + Duration::from_millis(23);
    mac.handle_radio(over, &RadioEvent::Corrupt { sfd: since });
    assert!(wants(&mut mac).is_empty());
    assert!(congestion.contains(&mac.poll_timeout().unwrap().since(over)));
}

#[test]
fn a_radio_that_cannot_assess_ends_the_frame_and_one_that_was_interrupted_tries_again() {
    for (why, ends) in [(Refusal::NoSuch, true), (Refusal::Superseded, false)] {
        let mut mac = mac(Config::MICA2);
        mac.offer(T0, &frame(), None);
        let (at, ops) = next(&mut mac);
        assert_eq!(ops, [ops::SENSE]);
        let op = ops::SENSE;
        let outcome = mac.handle_radio(at, &RadioEvent::Refused { op, why });
        assert_eq!(outcome, ends.then_some(Outcome::ChannelBusy));
        assert_eq!(mac.is_idle(), ends);
    }
}

#[test]
fn the_floor_is_sampled_on_time_and_only_where_nothing_is_received() {
    let mut mac = mac(Config::MICA2);
    mac.start(T0);
    let carrier = mac.carrier();
    let sample = |mac: &mut Mac, activity| {
        let (at, ops) = next(mac);
        assert_eq!(ops, [ops::FLOOR]);
        let op = ops::FLOOR;
        let power = Dbm(-104.0);
        mac.handle_radio(
            at,
            &RadioEvent::Sensed {
                op,
                power,
                activity,
            },
        );
        at
    };
    let at = sample(&mut mac, Activity::Receiving { since: T0 });
    assert_eq!(at, T0 + Duration::from_millis(128));
    assert_eq!(mac.carrier(), carrier);
    for _ in 0..5 {
        sample(&mut mac, Activity::Idle);
    }
    assert!(mac.carrier().0 < carrier.0);
    mac.stop();
    assert_eq!(mac.poll_timeout(), None);
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
    mac.acknowledge(pause, 4, Congestion::Congested, 20);
    let request = mac.poll_radio().unwrap();
    let mpdu = &[0x12, 0, 4];
    let acknowledge = RadioOp::Acknowledge { mpdu };
    assert_eq!((request.id, request.op), (ops::ACK, acknowledge));
    assert_eq!(wants(&mut mac), []);
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

/// Low-power listening every 85 ms, begun and asleep; when it wakes for the first time.
fn sleeper() -> (Mac, Instant) {
    let config = Config::MICA2.with_lpl(Duration::from_millis(85)).unwrap();
    let mut mac = mac(config);
    mac.start(T0);
    assert_eq!(wants(&mut mac), [ops::PREAMBLE, ops::SLEEP]);
    let wake = mac.poll_timeout().unwrap();
    assert!(wake > T0 && wake <= T0 + Duration::from_millis(85));
    (mac, wake)
}
fn is_on(mac: &mut Mac, at: Instant) {
    assert_eq!(
        mac.handle_radio(at, &RadioEvent::Done { op: ops::WAKE }),
        None
    );
}
fn sampled(power: f64) -> RadioEvent<'static> {
    RadioEvent::Sensed {
        op: ops::LPL_SAMPLE,
        power: Dbm(power),
        activity: Activity::Idle,
    }
}

#[test]
fn preambles_outlast_the_gap_between_samples_as_the_modes_of_tinyos_do() {
    let byte = 416_664;
    for (interval_ms, bytes) in [
        (20, 94),
        (85, 250),
        (135, 371),
        (185, 490),
        (485, 1212),
        (1085, 2654),
    ] {
        let interval = Duration::from_millis(interval_ms);
        let lpl = Config::MICA2.with_lpl(interval).unwrap().lpl.unwrap();
        assert!(lpl.preamble_bytes.abs_diff(bytes) <= 3, "{interval_ms}");
        let gap = interval + Duration::from_micros(2450) + lpl.look;
        assert!(u64::from(lpl.preamble_bytes) * byte > gap.as_nanos() + 8 * byte);
    }
    assert_eq!(Config::IEEE_802_15_4.with_lpl(Duration::ZERO), None);
}

#[test]
fn a_quiet_channel_sends_a_sleeper_back_and_a_busy_one_keeps_it_for_a_time() {
    let (mut mac, mut at) = sleeper();
    for _ in 0..3 {
        assert_eq!(next(&mut mac), (at, [ops::WAKE].to_vec()));
        is_on(&mut mac, at);
        let (look, ops) = next(&mut mac);
        assert_eq!(
            (look.since(at).as_micros(), ops),
            (350, [ops::LPL_SAMPLE].to_vec())
        );
        mac.handle_radio(look, &sampled(-105.0));
        assert_eq!(wants(&mut mac), [ops::SLEEP]);
        at = mac.poll_timeout().unwrap();
        assert_eq!(at.since(look), Duration::from_millis(85));
    }
    assert_eq!(next(&mut mac).1, [ops::WAKE]);
    is_on(&mut mac, at);
    let patience = mac.config.lpl.unwrap().patience;
    let mut looks = 0;
    let end = loop {
        let (now, ops) = next(&mut mac);
        if ops == [ops::SLEEP] {
            break now;
        }
        assert_eq!(ops, [ops::LPL_SAMPLE]);
        looks += 1;
        // One reading may be noise, three are a sender.
        mac.handle_radio(now, &sampled(-60.0));
        for _ in 0..2 {
            assert_eq!(wants(&mut mac), [ops::LPL_SAMPLE]);
            mac.handle_radio(now, &sampled(-60.0));
        }
        assert_eq!(wants(&mut mac), []);
    };
    assert_eq!(end.since(at), patience);
    assert!(looks > 20);
    // An answer that does not come is not waited for either.
    let (at, _) = next(&mut mac);
    is_on(&mut mac, at);
    assert_eq!(next(&mut mac).1, [ops::LPL_SAMPLE]);
    assert_eq!(next(&mut mac), (at + patience, [ops::SLEEP].to_vec()));
}

#[test]
fn a_frame_wakes_the_radio_and_gives_up_where_that_fails() {
    let (mut mac, _) = sleeper();
    mac.offer(T0, &frame(), Some(9));
    assert_eq!(wants(&mut mac), [ops::WAKE]);
    is_on(&mut mac, T0 + Duration::from_millis(2));
    // Backoff, carrier sense, the frame; then the radio stays on for the acknowledgement.
    let (at, ops) = next(&mut mac);
    assert_eq!(ops, [ops::SENSE]);
    mac.handle_radio(at, &sensed(-105.0, Activity::Idle));
    assert_eq!(wants(&mut mac), [ops::DATA]);
    assert_eq!(mac.poll_timeout(), None);
    mac.handle_radio(at, &sent());
    let give_up = mac.poll_timeout().unwrap();
    assert_eq!(give_up, at + Config::MICA2.ack_wait);
    let (mut mac, _) = sleeper();
    mac.offer(T0, &frame(), Some(9));
    let mut outcome = None;
    for _ in 0..20 {
        let at = mac.poll_timeout().unwrap();
        outcome = outcome.or(mac.handle_timeout(at));
        wants(&mut mac);
    }
    assert_eq!(outcome, Some(Outcome::NoAck));
    // Switched off it wants nothing any more.
    mac.stop();
    assert_eq!(wants(&mut mac), [ops::SLEEP]);
    assert_eq!(mac.poll_timeout(), None);
}

#[test]
fn a_sleeper_that_receives_at_last_stays_for_the_frame() {
    let (mut mac, _) = sleeper();
    let (on, _) = next(&mut mac);
    is_on(&mut mac, on);
    let patience = mac.config.lpl.unwrap().patience;
    let since = on + patience.saturating_sub(Duration::from_millis(10));
    let mut end = on;
    while end <= on + patience {
        let (now, ops) = next(&mut mac);
        assert_eq!(ops, [ops::LPL_SAMPLE]);
        let activity = if now >= since {
            Activity::Receiving { since }
        } else {
            Activity::Idle
        };
        let op = ops::LPL_SAMPLE;
        let power = Dbm(-60.0);
        let event = RadioEvent::Sensed {
            op,
            power,
            activity,
        };
        mac.handle_radio(now, &event);
        while wants(&mut mac) == [ops::LPL_SAMPLE] {
            mac.handle_radio(now, &event);
        }
        end = now;
    }
    // What follows the frame may be for it as well: it samples once more, and sleeps.
    mac.handle_radio(end, &RadioEvent::Corrupt { sfd: end });
    assert_eq!(wants(&mut mac), []);
    let (look, ops) = next(&mut mac);
    assert_eq!(
        (look.since(end), ops),
        (mac.config.lpl.unwrap().linger, [ops::LPL_SAMPLE].to_vec())
    );
    mac.handle_radio(look, &sampled(-105.0));
    assert_eq!(wants(&mut mac), [ops::SLEEP]);
}
