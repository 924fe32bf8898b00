//! Path probes, at a source and its destination.

use super::*;
use crate::pipeline::Session;
use crate::thalweg::report::LONG_PROBE;
use thalweg_units::Duration;
use thalweg_wire::route::Channels;

/// A source and a destination of a transfer of 500 packets.
struct Pair {
    both: [PathProbe; 2],
    round: u16,
    missing: u16,
    /// The most that can have been sent in each round.
    sent: u16,
}

fn pair(alternates: [bool; 2], progress: Progress) -> Pair {
    let channels = Channels::new(&[26, 20].map(|n| Channel::new(n).unwrap())).unwrap();
    let beat = Beat {
        start: Instant::ZERO,
        cycle: Duration::from_micros(4_537),
        ahead: Duration::ZERO,
        silence: Duration::from_millis(40),
    };
    let probe = |stage| PathProbe::new(Fixed { channels, stage }, progress, alternates, &beat);
    Pair {
        both: [0, 1].map(probe),
        round: 0,
        missing: 500,
        sent: u16::MAX,
    }
}

impl Pair {
    /// A round that brings so many packets of each group, and the report on it; how long the next probe is.
    fn brings(&mut self, received: [u16; 2]) -> Option<u16> {
        self.brings_after(0, received)
    }
    /// The same where so many received before.
    fn brings_after(&mut self, before: u16, received: [u16; 2]) -> Option<u16> {
        let [source, destination] = &mut self.both;
        // Those of both come as evenly as they can.
        let most = received[0].max(received[1]).max(1);
        for n in 0..most {
            for (group, received) in [Group::Odd, Group::Even].into_iter().zip(received) {
                let until = |n: u16| u32::from(n) * u32::from(received) / u32::from(most);
                (until(n)..until(n + 1)).for_each(|_| destination.on_packet(group));
            }
        }
        self.missing -= before + received.iter().sum::<u16>();
        let (missing, received) = (self.missing, 500_u16.saturating_sub(self.missing));
        let sent = self.sent;
        let tally = Tally {
            received,
            missing,
            sent,
        };
        destination.on_round_end(self.round, Some(tally));
        let mut note = [0];
        destination.write_note(&mut note, None);
        let _ = source.on_nack(&note, Instant::ZERO);
        self.round += 1;
        let next = [&*source, destination].map(|one| one.stops_after(self.round, 500));
        assert_eq!(next[0], next[1], "both know the same");
        for group in [Group::Odd, Group::Even] {
            assert_eq!(source.calls(group), destination.calls(group));
        }
        assert_eq!(source.gives_up(), destination.gives_up());
        next[0]
    }
    fn calls(&self) -> [bool; 2] {
        [Group::Odd, Group::Even].map(|group| self.both[0].calls(group))
    }
}

#[test]
fn good_chains_are_probed_once() {
    let mut pair = pair([true; 2], Progress::Fresh);
    assert!(pair.both[0].stops_after(0, 500).is_some());
    assert_eq!(pair.both[0].stops_after(0, WORTH - 1), None);
    assert_eq!(pair.brings([8, 8]), None);
    assert!(pair.calls() == [false; 2] && !pair.both[0].gives_up());
}

#[test]
fn a_chain_that_loses_some_gets_a_longer_probe_and_a_request_for_counts() {
    let mut good = pair([true; 2], Progress::Fresh);
    assert_eq!(good.both[0].request_purpose(0), Purpose::Count);
    assert_eq!(good.brings([8, 7]), Some(LONG_PROBE));
    assert_eq!(good.both[0].request_purpose(1), Purpose::Count);
    assert_eq!(good.brings([15, 14]), None);
    assert!(good.calls() == [false; 2] && !good.both[0].gives_up());
    assert_eq!(
        good.both[0].request_purpose(2),
        Purpose::Count,
        "it may end the transfer"
    );
    let mut bad = pair([true; 2], Progress::Fresh);
    assert_eq!(bad.brings([6, 8]), Some(LONG_PROBE));
    assert_eq!(bad.brings([12, 16]), Some(PROBE));
    assert_eq!(bad.calls(), [true, false]);
    assert_eq!(
        bad.both[0].request_purpose(2),
        Purpose::Report,
        "relay and alternate relay count apart"
    );
}

#[test]
fn chains_that_get_bad_later_end_the_transfer_where_much_is_left() {
    let after_probe = || {
        let mut pair = pair([true; 2], Progress::Fresh);
        pair.brings([8, 8]);
        pair
    };
    // With 155 of 484 lost, 69 more are lost until all are there, and five exchanges are needed.
    let mut bearable = after_probe();
    assert_eq!(bearable.brings([87, 242]), None);
    assert!(!bearable.both[0].gives_up() && bearable.both[1].degraded() == [None; 2]);
    let mut bad = after_probe();
    assert_eq!(bad.brings([86, 242]), None);
    assert!(bad.both[0].gives_up());
    assert_eq!(bad.both[1].degraded(), [Some(Chain::Planned), None]);
    // A twelfth of a long one is lost: a burst that is over, more likely than not.
    let mut long = after_probe();
    long.missing = 15_000;
    long.brings([6_300, 7_500]);
    assert!(!long.both[0].gives_up());
    // Too little is left after a round that brought most to be worth a restart.
    let mut few = after_probe();
    few.brings([242, 182]);
    few.brings([0, 5]);
    assert!(!few.both[0].gives_up());
}

#[test]
fn a_group_that_fell_silent_ends_the_transfer_where_the_rest_takes_long() {
    let tail = |sole_group: u16, lost: u16| {
        let mut pair = pair([true; 2], Progress::Fresh);
        pair.brings([8, 8]);
        let received = 484 - lost - sole_group;
        for n in 0..received {
            pair.both[1].on_packet(Session::first_of_two(n));
        }
        pair.brings_after(received, [0, sole_group]);
        (pair.both[0].gives_up(), pair.both[1].degraded())
    };
    let silent = [Some(Chain::Planned), None];
    assert_eq!(tail(SOLE_RUN, 80), (true, silent));
    assert_eq!(tail(100, 100), (true, silent));
    // It lost as many, and is not silent.
    assert_eq!(tail(SOLE_RUN - 1, 80), (false, [None; 2]));
    assert_eq!(tail(SOLE_RUN, 40), (false, [None; 2]));
}

#[test]
fn a_source_that_heard_a_part_of_a_nack_sends_little_and_loses_nothing() {
    let gives_up = |sent: u16| {
        let mut pair = pair([true; 2], Progress::Fresh);
        pair.brings([8, 8]);
        pair.sent = sent;
        pair.brings([35, 35]);
        pair.both[0].gives_up()
    };
    assert!(gives_up(u16::MAX) && !gives_up(72));
}

#[test]
fn an_alternate_chain_that_loses_a_little_is_not_kept_where_thousands_are_missing() {
    let gives_up = |missing: u16| {
        let mut pair = pair([true; 2], Progress::Fresh);
        pair.missing = missing;
        assert_eq!(pair.brings([8, 4]), Some(PROBE));
        assert_eq!(pair.brings([8, 7]), Some(LONG_PROBE));
        assert_eq!(pair.brings([16, 13]), None);
        pair.both[0].gives_up()
    };
    assert!(gives_up(5_000) && !gives_up(500));
}

#[test]
fn a_degraded_group_calls_its_alternates_once_and_then_gives_up() {
    let mut pair = pair([true; 2], Progress::Fresh);
    assert_eq!(pair.brings([8, 4]), Some(PROBE));
    assert_eq!(pair.both[1].degraded(), [None, Some(Chain::Planned)]);
    assert_eq!(pair.calls(), [false, true]);
    assert_eq!(pair.brings([8, 0]), None);
    assert_eq!(pair.both[1].degraded(), [None, Some(Chain::Alternate)]);
    assert!(pair.both[0].gives_up());
}

#[test]
fn the_better_of_two_bad_chains_is_kept_where_it_is_worth_it() {
    let mut pair = pair([true; 2], Progress::Fresh);
    assert_eq!(pair.brings([8, 6]), Some(LONG_PROBE));
    assert_eq!(pair.brings([16, 13]), Some(PROBE));
    assert_eq!(pair.calls(), [false, true]);
    assert_eq!(pair.brings([8, 1]), Some(PROBE));
    assert!(pair.calls() == [false; 2] && !pair.both[0].gives_up());
    assert_eq!(pair.brings([8, 6]), None);
    assert!(pair.calls() == [false; 2] && !pair.both[0].gives_up());
}

#[test]
fn without_an_alternate_it_gives_up_at_once_unless_little_is_left() {
    let mut many = pair([true, false], Progress::Fresh);
    assert_eq!(many.brings([8, 0]), None);
    assert!(many.both[0].gives_up() && !many.both[0].calls(Group::Even));
    let mut few = pair([true, false], Progress::Fresh);
    few.missing = 160;
    assert_eq!(few.brings([8, 4]), None);
    assert!(!few.both[0].gives_up());
}

#[test]
fn nothing_is_judged_before_packets_were_sent_nor_where_few_are_missing() {
    let mut kept = pair([false; 2], Progress::Kept);
    assert_eq!(kept.both[0].request_purpose(0), Purpose::Report);
    assert_eq!(kept.brings([0, 0]), Some(PROBE));
    assert!(!kept.both[0].gives_up());
    kept.brings([8, 0]);
    assert!(kept.both[0].gives_up());
    let mut few = pair([false; 2], Progress::Kept);
    few.missing = WORTH - 1;
    few.brings([0, 0]);
    few.brings([8, 0]);
    assert!(!few.both[0].gives_up());
}
