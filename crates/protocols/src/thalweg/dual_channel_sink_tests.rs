//! Tests of `dual_channel_sink.rs`.

use super::*;
use crate::pipeline::Adaptation;
use crate::thalweg::testing::{self, beat, channel, CYCLE};
use crate::thalweg::ChainRole;

/// Two hops whose sink hears the odd group on 25, and the even one on `last_even`.
fn route(last_even: Option<u8>) -> Route {
    let mut route = testing::route(&[26, 20, 25]);
    route.last_even = last_even.map(channel);
    route
}
fn sink() -> DualChannelSink {
    DualChannelSink::new(&route(Some(15)), &beat()).unwrap()
}

#[test]
fn one_channel_for_both_groups_needs_no_turns() {
    assert_eq!(DualChannelSink::new(&route(None), &beat()), None);
    let mut chain = ChainRole::new(&route(None), (1, Group::Even), &beat(), None);
    let before = chain;
    chain.follow_note(&[MOVED_BIT | MOVED_BIT << 1]);
    assert_eq!(chain, before);
}

#[test]
fn it_turns_with_the_cycles_and_takes_the_beat_from_packets() {
    let mut sink = sink();
    // The first packet comes from stage 1 a cycle after the start.
    let mut sfd = beat().start + CYCLE;
    for packet in 0..20 {
        let expected = channel([25, 15][packet % 2]);
        assert_eq!(sink.listening(), expected, "packet {packet}");
        // All come a little late, and one in three is lost.
        let is_lost = packet % 3 == 0;
        if !is_lost {
            let begun = sfd + Duration::from_micros(30);
            sink.on_reception(Reception::Neighbour, begun);
            sink.on_reception(Reception::Packet, begun);
        }
        let turns = sink.next().unwrap();
        // A request's second copy follows the first by more than a millisecond.
        let within = match is_lost {
            true => Duration::from_micros(400)..Duration::from_micros(800),
            false => CYCLE - Duration::from_micros(400)..CYCLE,
        };
        assert!(within.contains(&turns.since(sfd)), "packet {packet}");
        assert_eq!(sink.advance(turns), Retune::Now);
        sfd += CYCLE;
    }
}

#[test]
fn in_silence_it_stays_where_it_heard_something_and_turns_slowly() {
    let mut sink = sink();
    sink.on_reception(Reception::Neighbour, beat().start + CYCLE);
    for _ in 0..QUIET + 2 {
        let turns = sink.next().unwrap();
        let _ = sink.advance(turns);
    }
    assert_eq!(sink.listening(), channel(25));
    let turns = sink.next().unwrap();
    assert_eq!(sink.advance(turns), Retune::Now);
    assert_eq!(sink.listening(), channel(15));
    assert_eq!(sink.next(), Some(turns + beat().silence));
}

#[test]
fn the_other_copy_of_a_request_comes_on_the_other_channel() {
    let mut sink = sink();
    sink.round_after(0, None);
    assert_eq!(sink.next(), None, "nothing is missing");
    let sfd = beat().start + CYCLE * 100;
    sink.expect_copy(sfd);
    assert_eq!(sink.next(), Some(sfd.saturating_sub(beat().ahead)));
    assert_eq!(sink.advance(sfd), Retune::Now);
    assert_eq!((sink.listening(), sink.next()), (channel(15), None));
}

#[test]
fn the_first_packet_of_a_round_comes_of_the_group_whose_turn_it_is() {
    for (round, first) in [(0, 15), (1, 25), (2, 15)] {
        let mut sink = sink();
        let due = beat().start + CYCLE * 100;
        sink.round_after(round, Some(due));
        let _ = sink.advance(sink.next().unwrap());
        assert_eq!(sink.listening(), channel(first), "after round {round}");
    }
}

#[test]
fn a_group_that_falls_silent_goes_on_the_others_channel() {
    for (group, on, moved) in [
        (Group::Odd, 25, 2 * MOVED_BIT),
        (Group::Even, 15, MOVED_BIT),
    ] {
        let mut sink = sink();
        assert!(sink.move_other(group));
        assert_eq!((sink.listening(), sink.moved_bits()), (channel(on), moved));
        assert_eq!(sink.next(), None, "there is one channel now");
        assert!(!sink.move_other(group), "once is enough");
    }
}

#[test]
fn relays_of_the_last_stage_follow_the_note() {
    let of = |group| ChainRole::new(&route(Some(15)), (1, group), &beat(), None);
    let sends_on = |chain: &ChainRole| chain.channel(2, Instant::ZERO).number();
    let after = |group, said: u8| {
        let mut chain = of(group);
        let _ = chain.on_nack(&[said], Instant::ZERO);
        assert_eq!(chain.listening(), of(group).listening());
        sends_on(&chain)
    };
    let both = [Group::Odd, Group::Even];
    assert_eq!(both.map(|group| sends_on(&of(group))), [25, 15]);
    assert_eq!(both.map(|group| after(group, MOVED_BIT)), [15, 15]);
    assert_eq!(both.map(|group| after(group, MOVED_BIT << 1)), [25, 25]);
    // Verdicts alone move no group.
    assert_eq!(both.map(|group| after(group, 0x1f)), [25, 15]);
}
