//! One node's part in a train.

use super::*;
use std::vec::Vec;
use thalweg_engine::{RadioOp, Refusal};

const MS: fn(u64) -> Duration = Duration::from_millis;
const TELOSB: BoardTiming = BoardTiming {
    forward_software: Duration::from_micros(89),
    ..BoardTiming::IDEAL
};

fn train() -> Train {
    Train::new(Channel::LAST, &TELOSB)
}

/// What a frame that is asked for says, and when it is to go.
fn asked(train: &mut Train) -> Option<(Rouse, When)> {
    match train.poll_radio()?.op {
        RadioOp::Stream { mpdu, when, .. } => Some((Rouse::parse(mpdu).unwrap(), when)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_train_goes_on_by_its_clock_where_nobody_answers_and_ends() {
    let (mut train, mut now) = (train(), Instant::ZERO);
    train.begin(now, MS(1), slots(0, &TELOSB));
    let mut lefts = Vec::new();
    while train.is_on() {
        if let Some((rouse, when)) = asked(&mut train) {
            lefts.push(rouse.left);
            let When::At(sfd) = when else {
                panic!("{when:?}")
            };
            assert!(sfd >= now + TELOSB.turnaround + SFD_OFFSET);
            now = sfd + air_time(BYTES).saturating_sub(SFD_OFFSET);
            train.handle_radio(now, &RadioEvent::Sent { op: OP, sfd });
        } else {
            now = train.poll_timeout().unwrap();
            train.handle_timeout(now);
        }
    }
    let all = slots(0, &TELOSB);
    // The second slot of each flood is for hearing whoever is awake.
    let expected: Vec<u16> = (0..all)
        .rev()
        .filter(|left| left % FLOOD != FLOOD - 2)
        .collect();
    assert!(lefts == expected, "{:?}", &lefts[..60]);
    let length = now.since(Instant::ZERO);
    assert!(
        length > LENGTH.saturating_sub(MS(20)) && length < LENGTH,
        "{length}"
    );
}

#[test]
fn a_frame_that_lies_about_its_place_keeps_no_node_busy() {
    let (mut train, mut now) = (train(), Instant::ZERO);
    let all = slots(0, &TELOSB);
    train.begin(now, MS(1), all);
    // Where it listens it hears a frame of its own train that says it is eight slots later; until then it goes by its clock.
    let (mut heard, mut refused) = (false, Vec::new());
    while train.is_on() {
        let Some((rouse, when)) = asked(&mut train) else {
            let left = all - 10;
            if !std::mem::replace(&mut heard, true) {
                train.take(now, Rouse { train: 1, left }, now);
            }
            now = train.poll_timeout().unwrap();
            train.handle_timeout(now);
            continue;
        };
        match when {
            When::At(sfd) => {
                now = sfd + air_time(BYTES).saturating_sub(SFD_OFFSET);
                train.handle_radio(now, &RadioEvent::Sent { op: OP, sfd });
            }
            // All that is due before what it heard would be is refused, at one instant.
            When::AfterRx(gap) if gap < slot(&TELOSB) * 7 => {
                refused.push(rouse.left);
                assert!(refused.len() < 20, "{refused:?}");
                let why = Refusal::Late { by: MS(5) };
                train.handle_radio(now, &RadioEvent::Refused { op: OP, why });
            }
            When::AfterRx(_) | When::Now => break,
        }
    }
    assert!(refused.len() > 3, "{refused:?}");
    assert!(refused.windows(2).all(|pair| pair[0] > pair[1]));
}

#[test]
fn who_hears_a_frame_sends_in_all_slots_after_it_until_the_flood_ends() {
    let mut train = train();
    let sfd = Instant::ZERO + MS(100);
    let left = 10 * FLOOD + FLOOD - 4;
    let end = |sfd| sfd + air_time(BYTES).saturating_sub(SFD_OFFSET);
    train.take(end(sfd), Rouse { train: 9, left }, sfd);
    let mut now = end(sfd);
    for k in 1..=FLOOD - 4 {
        let (rouse, when) = asked(&mut train).unwrap();
        assert_eq!(
            rouse,
            Rouse {
                train: 9,
                left: left - k
            }
        );
        let gap = (slot(&TELOSB) * u64::from(k)).saturating_sub(air_time(BYTES));
        assert_eq!(when, When::AfterRx(gap));
        let sent = sfd + slot(&TELOSB) * u64::from(k);
        assert!(now < sent);
        now = end(sent);
        train.handle_radio(now, &RadioEvent::Sent { op: OP, sfd: sent });
    }
    // Of the next flood it hears nothing for a while, and then does without.
    let mut waits = 0;
    while !train.wants_radio() {
        now = train.poll_timeout().unwrap();
        train.handle_timeout(now);
        waits += 1;
    }
    assert_eq!(waits, PATIENCE);
    assert!(matches!(asked(&mut train), Some((_, When::At(_)))));
}

#[test]
fn refusals_end_no_train_early_and_hold_none_up() {
    let (mut train, mut now, mut refused) = (train(), Instant::ZERO, 0);
    train.begin(now, MS(1), slots(0, &TELOSB));
    while train.is_on() {
        if asked(&mut train).is_some() {
            refused += 1;
            let why = Refusal::Late { by: MS(1) };
            train.handle_radio(now, &RadioEvent::Refused { op: OP, why });
            now += slot(&TELOSB);
        } else {
            now = now.max(train.poll_timeout().unwrap());
            train.handle_timeout(now);
        }
    }
    assert!(refused > 1_000 && refused < 4_000, "{refused}");
}

#[test]
fn a_frame_of_a_train_longer_than_any_is_none() {
    let mut train = train();
    let left = slots(60, &TELOSB) + 1;
    train.take(
        Instant::ZERO + MS(1),
        Rouse { train: 1, left },
        Instant::ZERO,
    );
    assert!(!train.is_on());
    assert_eq!(slots(255, &TELOSB), slots(60, &TELOSB));
}

#[test]
fn nodes_sample_at_phases_of_their_own() {
    let phases: Vec<u64> = (1..200u16)
        .map(|n| phase(NodeId::new(n).unwrap()).as_micros() / 1_000)
        .collect();
    for part in 0..6 {
        let here = phases.iter().filter(|p| **p / 50 == part).count();
        assert!((20..50).contains(&here), "{here} in part {part}");
    }
}
