//! Tests of `setup.rs`: Thalweg's specification has the times of the schedules that are set up.

use super::*;
use core::num::NonZeroU16;
use std::format;
use std::string::String;
use std::vec::Vec;
use thalweg_wire::pipeline::{Format, MAX_PACKETS};
use thalweg_wire::route::{Channels, Member, PayloadSize};

const TELOSB: BoardTiming = BoardTiming {
    forward_software: Duration::from_micros(89),
    ..BoardTiming::IDEAL
};

fn id(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

/// A probed route of four hops with a relay at each place.
fn probed() -> Route {
    let channels = Channels::new(&[11, 15, 20, 25, 26].map(|n| Channel::new(n).unwrap())).unwrap();
    let mut route = Route::new(1, id(1), id(2), Scheme::Thalweg, channels);
    let places = (1..4).flat_map(|stage| [Group::Odd, Group::Even].map(|group| (stage, group)));
    for (number, (stage, group)) in (3..).zip(places) {
        let node = id(number);
        route.add(Member { node, stage, group }).unwrap();
    }
    route.probe = Probe::First;
    route.format = Format::Slim;
    route.payload = PayloadSize::max_of(route.format);
    route.expected = NonZeroU16::new(488);
    route
}

/// In milliseconds, as the page rounds it.
fn ms(time: Duration) -> String {
    let us = time.as_micros();
    match us {
        0..1_000 => format!(".{:02} ms", (us + 5) / 10),
        1_000..10_000 => format!("{}.{} ms", (us + 50) / 1_000, (us + 50) % 1_000 / 100),
        10_000.. => format!("{} ms", (us + 500) / 1_000),
    }
}

#[test]
fn the_specification_of_thalweg_has_its_schedules_times() {
    let words = include_str!("../thalweg/README.md").split_whitespace();
    let page = words.collect::<Vec<_>>().join(" ");
    let route = probed();
    let Setup {
        session, cadence, ..
    } = setup(&route, id(2), Instant::ZERO, &TELOSB).unwrap();
    let beat = cadence.beat(&session);
    let follows = thalweg::follow_ups(&route, &session, &cadence);
    let early = follows.early.unwrap();
    let answer = cadence.answer_begins_within(MAX_PACKETS);
    let probe = beat.cycle * (u64::from(thalweg::PROBE) + 4 - 1);
    let waits = [
        ("first symbol sent: ", cadence.gap()),
        ("with the longest NACK, ", beat.silence),
        (
            "(H + F - 1) tau_n, ",
            cadence.exchange(cadence.nack_bytes(2), 2),
        ),
        ("(H + 1) tau_n + gap, ", cadence.pause()),
        ("a NACK in a pause | ", cadence.pause()),
        ("F <= 4: ", answer),
        ("after the third, ", answer * 3),
        ("after COMPLETE a release | 3 S, ", beat.silence * 3),
        ("(15 + H) T_c, ", probe),
        ("a long one ", beat.cycle * u64::from(thalweg::LONG_PROBE)),
        ("a release and 4 ms (", early.first),
        ("its exchange (", early.each),
        ("at most 106 cycles, ", beat.cycle * 106),
    ];
    for (before, time) in waits {
        let says = format!("{before}{}", ms(time));
        assert!(page.contains(&says), "the page lacks `{says}`");
    }
    let patience = session.policy.inactivity + BackupRelay::patience(&beat);
    assert_eq!(patience, beat.silence * 4 + beat.cycle * 228);
}
