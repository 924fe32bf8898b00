//! Tests of `hopping.rs`.

use super::*;
use thalweg_wire::route::Channels;

const CYCLE: Duration = Duration::from_micros(4_537);

fn hopper(hops: usize) -> Hopper {
    let four = [26, 20, 25, 15].map(|n| Channel::new(n).unwrap());
    let mut list: std::vec::Vec<_> = (0..=hops).map(|back| four[back % 4]).collect();
    list.reverse();
    let fixed = Fixed {
        channels: Channels::new(&list).unwrap(),
        stage: 2,
    };
    let beat = Beat {
        start: Instant::from_nanos(1_000_000_000),
        cycle: CYCLE,
        ahead: Duration::from_micros(400),
        silence: Duration::ZERO,
    };
    Hopper::new(fixed, &beat)
}

#[test]
fn a_packet_keeps_its_place_in_the_sequence_on_all_hops() {
    let hopper = hopper(4);
    for packet in 0..20u64 {
        let places = (1..=4u8).map(|k| {
            let cycle = 2 * packet + u64::from(k) - 1;
            let sequence = &hopper.sequence[..hopper.len];
            let base = hopper.fixed.channels.of(k);
            let base = sequence.iter().position(|c| *c == base).unwrap();
            let here = hopper.in_cycle(k, cycle);
            let here = sequence.iter().position(|c| *c == here).unwrap();
            (here + hopper.len - base) % hopper.len
        });
        assert!(places.clone().all(|p| p as u64 == packet % 4));
    }
}

#[test]
fn hops_less_than_eight_apart_never_share_a_channel() {
    let hopper = hopper(9);
    for cycle in 20..60u64 {
        // Stages that receive in this cycle: every second one.
        for k in (1..=9u8).filter(|k| (cycle + u64::from(*k)) % 2 == 1) {
            for other in (k + 1..=9).filter(|o| (o - k) % 2 == 0 && o - k < 8) {
                assert_ne!(hopper.in_cycle(k, cycle), hopper.in_cycle(other, cycle));
            }
        }
    }
}

#[test]
fn a_stage_listens_where_others_send_to_it() {
    let mut hopper = hopper(5);
    for cycle in 1..100u64 {
        let _ = hopper.advance(hopper.cycles.sfd_of(cycle));
        assert_eq!(hopper.listening(), Some(hopper.in_cycle(2, cycle)));
    }
}

#[test]
fn a_drifting_clock_follows_what_it_hears() {
    let mut hopper = hopper(3);
    let mut sfd = hopper.cycles.sfd_of(0);
    for k in 1..10_000u64 {
        sfd = sfd + CYCLE * 2 + Duration::from_nanos(700);
        hopper.on_reception(Reception::Packet, sfd);
        assert_eq!(hopper.cycles.at(sfd), 2 * k);
    }
    let symbol = Duration::from_micros(16);
    assert_eq!(hopper.align(sfd, Duration::ZERO), sfd);
    assert_eq!(hopper.align(sfd + symbol, symbol), sfd);
    assert_eq!(hopper.align(sfd + symbol, Duration::ZERO), sfd + CYCLE);
    assert_eq!(hopper.align(sfd.saturating_sub(CYCLE / 4), symbol), sfd);
    assert_eq!(hopper.cycles.at(hopper.cycles.sfd_of(5)), 5);
}
