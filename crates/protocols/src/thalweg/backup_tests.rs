//! Tests of `backup.rs`.

use super::super::report::{LONG_PROBE, PROBE};
use super::*;
use crate::thalweg::testing::{beat, route, CYCLE};
use crate::thalweg::Early;
use thalweg_wire::pipeline::Group;

fn backup() -> BackupRelay {
    let chain = ChainRole::new(&route(&[26, 20, 25, 15]), (1, Group::Even), &beat(), None);
    BackupRelay::new((chain, Probe::None), &beat(), None)
}

/// Hears packets, and the relay sends on those that `sends_on` says; how many until it takes part.
fn packets(backup: &mut BackupRelay, sends_on: impl Fn(u32) -> bool) -> Option<u32> {
    for packet in 0..200 {
        let sfd = Instant::from_nanos(50_000_000) + CYCLE * (2 * u64::from(packet));
        let _ = backup.advance(sfd);
        if backup.takes_part() {
            return Some(packet);
        }
        if backup.listening() == Some(backup.chain.fixed.channels.of(1)) {
            backup.on_reception(Reception::Packet, sfd);
        }
        let _ = backup.advance(sfd + CYCLE);
        let after = Some(backup.chain.fixed.channels.of(2));
        if backup.listening() == after && sends_on(packet) {
            backup.on_reception(Reception::Peer, sfd + CYCLE);
        }
    }
    None
}

#[test]
fn a_relay_that_works_is_watched_for_a_sixteenth_of_the_time() {
    let mut backup = backup();
    assert_eq!(packets(&mut backup, |_| true), None);
    let mut awake = 0;
    for cycle in 400..1_400u64 {
        let at = Instant::from_nanos(50_000_000) + CYCLE * cycle;
        let _ = backup.advance(at);
        awake += u32::from(backup.listening().is_some());
        if cycle % 2 == 0 && backup.listening() == Some(backup.chain.fixed.channels.of(1)) {
            backup.on_reception(Reception::Packet, at);
        }
        if let State::After(_) = backup.state {
            backup.on_reception(Reception::Peer, at);
        }
    }
    assert!((50..80).contains(&awake), "{awake}");
}

#[test]
fn a_relay_that_dies_is_replaced_within_a_rest_and_a_few_packets() {
    let dead_from = 60;
    let then = packets(&mut backup(), |packet| packet < dead_from);
    let most = dead_from + REST as u32 / 2 + u32::from(SENT_ON + MISSED);
    assert!(
        then.is_some_and(|then| (dead_from + 3..=most).contains(&then)),
        "{then:?}"
    );
}

#[test]
fn one_packet_in_ten_that_is_lost_on_the_way_to_the_relay_is_no_reason() {
    assert_eq!(packets(&mut backup(), |packet| packet % 10 != 3), None);
}

/// One that waits for a verdict, from then on.
fn awaiting() -> (BackupRelay, Instant) {
    let early = Early {
        first: CYCLE * 30,
        each: CYCLE * 20,
    };
    let channels = route(&[26, 20, 25, 15]);
    let chain = ChainRole::new(&channels, (1, Group::Even), &beat(), Some(early));
    let mut backup = BackupRelay::new((chain, Probe::First), &beat(), None);
    let mut now = beat().start;
    while !matches!(backup.state, State::Verdict(_)) {
        if backup.state == State::Before {
            backup.on_reception(Reception::Packet, now);
        }
        let _ = backup.advance(now + CYCLE);
        backup.on_reception(Reception::Peer, now + CYCLE);
        now += CYCLE * 2;
        let _ = backup.advance(now);
    }
    assert_eq!(backup.listening(), Some(backup.chain.fixed.channels.of(1)));
    assert_eq!(now, beat().start + CYCLE * (u64::from(PROBE) + 2));
    (backup, now)
}

#[test]
fn without_a_verdict_a_packet_after_the_probe_is_one() {
    let (mut backup, now) = awaiting();
    let leaves = backup.leaves().unwrap().0;
    assert!(leaves > now && leaves < beat().start + CYCLE * 50);
    // The probe's last.
    backup.on_reception(Reception::Packet, now + CYCLE);
    let _ = backup.advance(now + CYCLE);
    assert!(matches!(backup.state, State::Verdict(_)));
    let next = now + CYCLE * 5;
    backup.on_reception(Reception::Packet, next);
    let _ = backup.advance(next);
    assert_eq!(backup.state, State::Rest(next + CYCLE * REST));
    assert_eq!(backup.leaves(), None);
}

#[test]
fn before_its_first_rest_it_waits_for_the_verdict_on_the_probe() {
    use Verdict::{Abort, Good, Inconclusive, UseAlternate};
    let after = |odd: Verdict, even: Verdict| {
        let (mut backup, now) = awaiting();
        let _ = backup.on_nack(&[0x10 | odd as u8 | (even as u8) << 2], now);
        (backup, now)
    };
    let (backup, now) = after(Good, Good);
    assert_eq!(backup.state, State::Rest(now + CYCLE * REST));
    let (backup, now) = after(Good, Abort);
    let leaves = Some((now + beat().silence, End::NotCalled));
    assert_eq!(backup.leaves(), leaves);
    for verdicts in [(Good, Inconclusive), (UseAlternate, Good)] {
        let (mut backup, now) = after(verdicts.0, verdicts.1);
        assert_eq!(backup.state, State::Before);
        let _ = backup.advance(now + CYCLE * WINDOW);
        let probe = match verdicts {
            (Good, Inconclusive) => LONG_PROBE,
            _ => PROBE,
        };
        let is_over = probe < WINDOW as u16;
        assert_eq!(
            matches!(backup.state, State::Verdict(_)),
            is_over,
            "another follows"
        );
        let _ = backup.advance(now + CYCLE * u64::from(LONG_PROBE));
        assert!(matches!(backup.state, State::Verdict(_)), "another follows");
        let then = now + CYCLE * 200;
        let _ = backup.advance(then);
        let leaves = Some((then, End::NotCalled));
        assert_eq!(backup.leaves(), leaves, "no verdict");
    }
}

#[test]
fn a_backup_that_hears_nothing_rests_and_opens_another_window() {
    let mut backup = backup();
    let mut windows = 0;
    let mut was_awake = true;
    for cycle in 0..600u64 {
        let _ = backup.advance(Instant::from_nanos(50_000_000) + CYCLE * cycle);
        let is_awake = backup.listening().is_some();
        windows += u32::from(is_awake && !was_awake);
        was_awake = is_awake;
    }
    assert!((3..7).contains(&windows), "{windows}");
    assert!(!backup.takes_part());
}
