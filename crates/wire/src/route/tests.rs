extern crate std;
use super::*;
use crate::seal::frame::Sealing;
use crate::FrameBuf;
use core::num::NonZeroU16;
use proptest::prelude::*;
use std::vec::Vec;
use thalweg_units::Channel;

fn node(address: u16) -> NodeId {
    NodeId::new(address).unwrap()
}

fn routes() -> impl Strategy<Value = Route> {
    let scheme = prop_oneof![
        Just(Scheme::P3),
        Just(Scheme::Pip(Hopping::Fixed)),
        Just(Scheme::Pip(Hopping::EveryCyclePair)),
        Just(Scheme::PipCit),
        Just(Scheme::Thalweg),
    ];
    let channels = proptest::collection::vec(0..16usize, 2..=11);
    let threshold = proptest::option::of(0..=100u8);
    let members = proptest::collection::vec((1..=9u8, any::<bool>()), 0..=MAX_MEMBERS);
    let numbers = (
        any::<u16>(),
        1..=118u8,
        any::<u16>(),
        1..=u32::MAX,
        any::<u32>(),
    );
    let options = (any::<bool>(), proptest::option::of(1..=60u8));
    (scheme, channels, threshold, members, numbers, options).prop_map(
        |(scheme, channels, threshold, members, numbers, (slim, run))| {
            let (transfer, payload, deadline_s, offset, len) = numbers;
            let channels: Vec<_> = channels.into_iter().map(Channel::from_index).collect();
            let channels = Channels::new(&channels).unwrap();
            let mut route = Route::new(transfer, node(0), node(65_000), scheme, channels);
            route.payload = PayloadSize::new(payload).unwrap();
            route.threshold = threshold.and_then(Percent::new);
            if scheme == Scheme::P3 && slim {
                route.format = Format::Slim;
                route.payload = PayloadSize::of_format(payload + 3, Format::Slim).unwrap();
            }
            if scheme == Scheme::Thalweg {
                route.format = Format::Slim;
                if slim {
                    route.progress = Progress::Kept;
                }
                if run.is_some() {
                    route.probe = Probe::First;
                    if slim {
                        route.sealing = Sealing::Sealed;
                    }
                }
                route.phase = Phase::new(payload).unwrap();
                route.expected = NonZeroU16::new(deadline_s);
                let last = Channel::from_index(usize::from(payload));
                let is_another = last != channels.of(channels.hops());
                route.last_even = Some(last).filter(|_| is_another && channels.hops() > 1);
            }
            route.deadline_s = deadline_s;
            if slim || scheme != Scheme::Thalweg {
                route.range = ObjectRange { offset, len };
            }
            // Those that stand by take the room of others.
            let most = if scheme == Scheme::Thalweg {
                90
            } else {
                MAX_MEMBERS
            };
            for (i, (stage, even)) in members.into_iter().take(most).enumerate() {
                let group = if even { Group::Even } else { Group::Odd };
                if stage < channels.hops() {
                    route
                        .add(Member {
                            node: node(300 + i as u16),
                            stage,
                            group,
                        })
                        .unwrap();
                    if scheme == Scheme::Thalweg && i % 9 == 0 {
                        let beside = |first: u16| Member {
                            node: node(first + i as u16),
                            stage,
                            group,
                        };
                        route.add_backup(beside(3000)).unwrap();
                        if i % 2 == 0 {
                            route.add_alternate(beside(4000)).unwrap();
                        }
                    }
                }
            }
            route
        },
    )
}

fn segments(route: &Route) -> Vec<FrameBuf> {
    (0..route.segments())
        .map(|i| {
            FrameBuf::build(|w| {
                route.segment(
                    i,
                    WakeUpTurn::First,
                    Duration::from_millis(40 + i as u64),
                    w,
                )
            })
            .unwrap()
        })
        .collect()
}

fn channels(hops: usize) -> Channels {
    let list: Vec<_> = (0..=hops).map(Channel::from_index).collect();
    Channels::new(&list).unwrap()
}

#[test]
fn a_full_frame_holds_no_slim_payload() {
    let mut route = Route::new(1, node(1), node(2), Scheme::P3, channels(3));
    route.payload = PayloadSize::max_of(Format::Slim);
    let refused = FrameBuf::build(|w| route.segment(0, WakeUpTurn::First, Duration::ZERO, w));
    assert_eq!(refused.err(), Some(WireError::Malformed));
    route.format = Format::Slim;
    assert!(FrameBuf::build(|w| route.segment(0, WakeUpTurn::First, Duration::ZERO, w)).is_ok());
}

#[test]
fn the_largest_route_fits_three_floods() {
    let mut route = Route::new(1, node(1), node(2), Scheme::P3, channels(10));
    route.threshold = Percent::new(95);
    for i in 0..MAX_MEMBERS as u16 {
        let (stage, group) = (1 + (i % 9) as u8, Group::Even);
        route
            .add(Member {
                node: node(10 + i),
                stage,
                group,
            })
            .unwrap();
    }
    let more = Member {
        node: node(999),
        stage: 1,
        group: Group::Odd,
    };
    assert_eq!(route.add(more), Err(WireError::NoRoom));
    assert_eq!(route.segments(), MAX_SEGMENTS);
    assert!(segments(&route)
        .iter()
        .all(|s| s.len() <= MAX_SEGMENT_BYTES));
}

#[test]
fn a_usual_route_of_four_hops_and_six_paths_fits_one() {
    let mut route = Route::new(1, node(1), node(2), Scheme::P3, channels(4));
    for i in 0..18u16 {
        let group = if i % 2 == 0 { Group::Odd } else { Group::Even };
        route
            .add(Member {
                node: node(10 + i),
                stage: 1 + (i / 6) as u8,
                group,
            })
            .unwrap();
    }
    assert_eq!(route.segments(), 1);
    assert_eq!(route.groups(), Groups::Two);
    assert_eq!(route.role_of(node(1)), Some(Role::Source));
    assert_eq!(route.role_of(node(2)), Some(Role::Destination));
    assert_eq!(
        route.role_of(node(17)),
        Some(Role::Relay {
            stage: 2,
            group: Group::Even
        })
    );
    assert_eq!(route.role_of(node(3)), None);
    let twice = Member {
        node: node(17),
        stage: 1,
        group: Group::Odd,
    };
    assert_eq!(route.add(twice), Err(WireError::Malformed));
    let outside = Member {
        node: node(500),
        stage: 4,
        group: Group::Odd,
    };
    assert_eq!(route.add(outside), Err(WireError::Malformed));
}

/// P3, section IV-D2: identity, hop-length and reception channel for every node.
#[test]
fn p3_as_published_tells_every_node_by_itself() {
    let mut route = Route::new(1, node(1), node(2), Scheme::P3, channels(3));
    for (n, stage, group) in [(0x0403, 1, Group::Even), (5, 2, Group::Odd)] {
        let member = Member {
            node: node(n),
            stage,
            group,
        };
        route.add(member).unwrap();
    }
    let whole = segments(&route).remove(0);
    let told = [1, 0, 0, 11, 2, 0, 3, 14, 3, 4, 0x11, 12, 5, 0, 2, 13];
    assert_eq!(whole[whole.len() - 16..], told);
    let mut assembler = Assembler::EMPTY;
    let mut wrong = whole;
    for (at, value) in [(2, 2), (7, 3), (10, 4)] {
        // The source's stage, the sink's channel, and a relay's stage: none there, or another's.
        let at = wrong.len() - 16 + at;
        let before = core::mem::replace(&mut wrong[at], value);
        assembler.push(&wrong).unwrap();
        assert_eq!(assembler.route().ok(), None);
        wrong[at] = before;
    }
    assembler.push(&wrong).unwrap();
    assert_eq!(assembler.route().ok(), Some(route));
    assert_eq!(route.control(), Control::Published);
    route.format = Format::Slim;
    assert_eq!(route.control(), Control::Compact);
    // With more than a few relays that is shorter.
    for n in 6..16 {
        let (stage, group) = (1 + n as u8 % 2, Group::Odd);
        let member = Member {
            node: node(n),
            stage,
            group,
        };
        route.add(member).unwrap();
    }
    let compact = route.segment_bytes();
    route.format = Format::Full;
    assert!(compact < route.segment_bytes());
}

#[test]
fn the_sink_may_hear_the_even_group_on_another_channel() {
    let mut route = Route::new(1, node(1), node(2), Scheme::Thalweg, channels(3));
    let last = |route: &Route| [Group::Odd, Group::Even].map(|g| route.channels_of(g).of(3));
    route.format = Format::Slim;
    let c_h = Channel::from_index(3);
    assert_eq!(last(&route), [c_h; 2]);
    route.last_even = Some(Channel::LAST);
    assert_eq!(last(&route), [c_h, Channel::LAST]);
    for group in [Group::Odd, Group::Even] {
        let before = &route.channels.as_slice()[..3];
        assert_eq!(&route.channels_of(group).as_slice()[..3], before);
    }
    let decoded = |route: &Route| {
        let mut assembler = Assembler::EMPTY;
        assembler.push(&segments(route)[0]).unwrap();
        assembler.route().ok()
    };
    assert_eq!(decoded(&route), Some(route));
    // One that is no other, and one hop, has none.
    route.last_even = Some(c_h);
    assert_eq!(decoded(&route), None);
    let mut direct = Route::new(1, node(1), node(2), Scheme::Thalweg, channels(1));
    direct.last_even = Some(Channel::LAST);
    assert_eq!(decoded(&direct), None);
}

/// How many bytes the wake-up of a lean route of `hops` takes, each relay of which has others, and its members.
fn packed(hops: u8, backups: u16, first: u16) -> Route {
    let mut route = Route::new(
        1,
        node(first),
        node(first + 1),
        Scheme::Thalweg,
        channels(hops.into()),
    );
    route.format = Format::Slim;
    let places = (1..hops).flat_map(|stage| [(stage, Group::Even), (stage, Group::Odd)]);
    for (n, (stage, group)) in places.enumerate() {
        let member = |of: u16| Member {
            node: node(first + 2 + 20 * of + n as u16),
            stage,
            group,
        };
        route.add(member(0)).unwrap();
        // In any order.
        route.add_alternate(member(1)).unwrap();
        (2..=backups).for_each(|of| route.add_backup(member(of)).unwrap());
    }
    route
}

#[test]
fn a_route_of_thalweg_is_told_bit_by_bit() {
    // Terms of 8 B; 5 channels of 4 bits; 2 addresses, and of each of 6 places 3, of 6 bits, and 3 + 3 bits.
    assert_eq!(
        packed(4, 2, 1).encoded_len(),
        8 + (20 + 12 + 6 * (18 + 6_usize)).div_ceil(8)
    );
    // Of 16 bits.
    let long = packed(4, 2, 40_000);
    assert_eq!(
        long.encoded_len(),
        8 + (20 + 32 + 6 * (48 + 6_usize)).div_ceil(8)
    );
    let mut part = packed(4, 2, 1);
    let whole = part.encoded_len();
    part.range.offset = 7;
    assert_eq!(part.encoded_len(), whole + 8);
    assert_eq!(packed(1, 0, 1).segment_bytes(), LEAST_SEGMENT_BYTES);
    assert_eq!(packed(10, 3, 1).segments(), 1);
}

#[test]
fn of_each_part_a_packed_route_has_one_encoding() {
    let route = packed(3, 2, 1);
    let whole = segments(&route).remove(0);
    let decoded = |whole: &[u8]| {
        let mut assembler = Assembler::EMPTY;
        assembler.push(whole).unwrap();
        assembler.route().ok()
    };
    assert_eq!(decoded(&whole), Some(route));
    let stages = |part: &[Member]| part.iter().map(|m| (m.stage, m.group)).collect::<Vec<_>>();
    for part in [route.members(), route.backup_relays(), route.alternates()] {
        let sorted = [
            (1, Group::Odd),
            (1, Group::Even),
            (2, Group::Odd),
            (2, Group::Even),
        ];
        assert_eq!(stages(part), sorted);
    }
    let (terms, options) = (whole.len() - route.encoded_len(), 7);
    let with = |at: usize, byte: u8| {
        let mut other = whole;
        other[at] = byte;
        decoded(&other)
    };
    // A range that is the whole, longer addresses than there are, and bits behind the end.
    let told = whole[terms + options];
    assert_eq!(with(terms + options, told | 0x20), None);
    assert_eq!(with(terms + options, told + 1), None);
    let last = whole.len() - 1;
    assert_eq!(with(last, whole[last] | 0x80), None);
    let mut longer = whole.to_vec();
    longer.push(0);
    assert_eq!(decoded(&longer), None);
}

#[test]
fn a_stage_without_one_group_makes_one_group_of_all() {
    let mut route = Route::new(1, node(1), node(2), Scheme::P3, channels(3));
    for (n, stage, group) in [(3, 1, Group::Odd), (4, 2, Group::Odd), (5, 1, Group::Even)] {
        route
            .add(Member {
                node: node(n),
                stage,
                group,
            })
            .unwrap();
    }
    assert_eq!(route.groups(), Groups::One);
    route
        .add(Member {
            node: node(6),
            stage: 2,
            group: Group::Even,
        })
        .unwrap();
    assert_eq!(route.groups(), Groups::Two);
}

#[test]
fn ranges_end_with_the_object() {
    assert_eq!(ObjectRange::ALL.within(59_000), 59_000);
    assert_eq!(
        ObjectRange {
            offset: 100,
            len: 50
        }
        .within(120),
        20
    );
    assert_eq!(
        ObjectRange {
            offset: 100,
            len: 50
        }
        .within(90),
        0
    );
}

proptest! {
    #[test]
    fn routes_round_trip_in_any_order(route in routes(), backwards: bool) {
        let mut parts = segments(&route);
        if backwards {
            parts.reverse();
        }
        let mut assembler = Assembler::EMPTY;
        for (i, part) in parts.iter().enumerate() {
            prop_assert_eq!(assembler.route().ok(), None);
            let told = assembler.push(part).unwrap();
            prop_assert_eq!(told.transfer, route.transfer);
            let index = if backwards { parts.len() - 1 - i } else { i } as u64;
            prop_assert_eq!(told.until_start, Duration::from_millis(40 + index));
        }
        prop_assert_eq!(assembler.route().ok(), Some(route));
    }

    #[test]
    fn another_transfer_begins_anew(one in routes(), mut other in routes()) {
        other.transfer = one.transfer.wrapping_add(1);
        let mut assembler = Assembler::EMPTY;
        assembler.push(&segments(&one)[0]).unwrap();
        for part in segments(&other) {
            assembler.push(&part).unwrap();
        }
        prop_assert_eq!(assembler.route().ok(), Some(other));
    }

    #[test]
    fn any_bytes_assemble_or_not(
        parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..=118), 0..6),
        count in 1..=3u8,
    ) {
        let mut assembler = Assembler::EMPTY;
        for (i, mut part) in parts.into_iter().enumerate() {
            if let [kind, _, _, place, ..] = &mut part[..] {
                (*kind, *place) = (SEGMENT_KIND, (i as u8 % count) << 4 | count);
            }
            let _ = assembler.push(&part);
            if let Ok(route) = assembler.route() {
                prop_assert!(route.members().len() <= MAX_MEMBERS);
            }
        }
    }
}

#[test]
fn a_phase_is_less_than_a_period_and_tells_it_to_the_step() {
    assert_eq!(Phase::new(Phase::STEPS), None);
    for ms in (0..3_000).step_by(2) {
        let phase = Phase::after(Duration::from_millis(ms));
        assert_eq!(phase.time(), Duration::from_millis(ms % 500));
        let about = Phase::after(Duration::from_micros(ms * 1_000 + 999));
        assert_eq!(about, phase);
    }
}

#[test]
fn segments_that_are_none_are_refused() {
    let mut route = Route::new(0x0201, node(1), node(2), Scheme::P3, channels(3));
    let build = |route: &Route, index, turn, start| {
        FrameBuf::build(|w| route.segment(index, turn, start, w))
    };
    let later = build(&route, 0, WakeUpTurn::Later, Duration::from_micros(40_001)).unwrap();
    assert_eq!(&later[..6], [SEGMENT_KIND, 1, 2, LATER_BIT | 1, 41, 0]);
    let mut assembler = Assembler::EMPTY;
    let told = assembler.push(&later).unwrap();
    assert_eq!(
        (told.turn, told.index, told.transfer),
        (WakeUpTurn::Later, 0, 0x0201)
    );
    let whole = assembler.route().ok();
    assert_eq!(whole, Some(route));
    // Kind; a place behind the last; of none; of more than three.
    for (at, byte) in [(0, SEGMENT_KIND + 1), (3, 0x11), (3, 0), (3, 4), (3, 0x34)] {
        let mut bad = later;
        bad[at] = byte;
        assert_eq!(
            assembler.push(&bad),
            Err(WireError::Malformed),
            "{at} {byte}"
        );
    }
    let long = [&later[..6], &[0; CHUNK + 1]].concat();
    assert_eq!(assembler.push(&long), Err(WireError::Malformed));
    assert_eq!(assembler.push(&later[..5]), Err(WireError::Truncated));
    assert_eq!(assembler.route().ok(), whole, "nothing has changed");
    let first = WakeUpTurn::First;
    let malformed = Err(WireError::Malformed);
    assert_eq!(build(&route, 1, first, Duration::ZERO), malformed);
    assert!(build(&route, 0, first, Duration::from_millis(65_535)).is_ok());
    assert_eq!(
        build(&route, 0, first, Duration::from_millis(65_536)),
        malformed
    );
    route.sink = route.source;
    assert_eq!(build(&route, 0, first, Duration::ZERO), malformed);
    assert_eq!(
        (Percent::new(100).map(Percent::get), Percent::new(101)),
        (Some(100), None)
    );
    for (bytes, full, slim) in [
        (0, false, false),
        (1, true, true),
        (118, true, true),
        (119, false, true),
        (122, false, false),
    ] {
        let fits = [Format::Full, Format::Slim]
            .map(|format| PayloadSize::of_format(bytes, format).is_some());
        assert_eq!(fits, [full, slim], "{bytes}");
    }
    assert_eq!(Channels::new(&[Channel::LAST]), None);
    assert_eq!(Channels::new(&[Channel::LAST; MAX_STAGES + 1]), None);
    assert!(Channels::new(&[Channel::LAST; MAX_STAGES]).is_some());
}
