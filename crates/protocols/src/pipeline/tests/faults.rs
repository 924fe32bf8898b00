//! One thing breaks: a control frame, a relay, the destination, the source, a clock.

use super::bench::{ideal, object, p3, pip, start, thalweg, Layout, Memory, TELOSB};
use crate::mote;
use crate::pipeline::{Command, End, Event, GiveUp, Session, SetupError};
use std::vec::Vec;
use thalweg_engine::harness::Fate;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::pipeline::{Format, Group, Head, Header, Kind, Purpose, Request};
use thalweg_wire::route::{ObjectRange, Role};
use thalweg_wire::Reader;

fn is_control(mpdu: &[u8]) -> bool {
    Head::parse(mpdu).is_ok_and(|h| h.kind != Kind::Data)
}

fn request(mpdu: &[u8]) -> Option<Request> {
    let mut r = Reader::new(mpdu);
    let header = Header::parse(&mut r)
        .ok()
        .filter(|h| h.head.kind == Kind::Request);
    header.and_then(|_| Request::parse(&mut r).ok())
}

/// All transmissions of control frames in a run over ideal links, by their number on the air.
fn control_frames(layout: &Layout, object: &Memory) -> Vec<usize> {
    let mut net = layout.net(object, TELOSB, ideal);
    let outcome = layout.run(&mut net, 10);
    outcome.assert_whole(&net, object);
    let control = net
        .sent()
        .iter()
        .enumerate()
        .filter(|(_, f)| is_control(&f.mpdu));
    control.map(|(i, _)| i).collect()
}

/// The destination asked another node, whose call was changed on its way: node 0 took it for its own.
#[test]
fn a_node_that_was_not_asked_delivers_nothing_in_the_name_of_another() {
    for layout in [p3(3, 4), pip(1), thalweg(2)] {
        let object = object(5 * 118 - 3);
        let mut net = layout.net(&object, TELOSB, ideal);
        let mut asked = layout.clone();
        asked.route.source = NodeId::new(0x0701).unwrap();
        let last = layout.last();
        net.command(last, Command::Stop);
        let part = asked.part(last, start(), &TELOSB);
        net.command(last, Command::Start(part));
        let outcome = layout.run(&mut net, 10);
        let (_, complete) = outcome.complete().unwrap();
        assert_ne!(complete.digest, object.digest);
    }
}

#[test]
fn any_control_frame_may_be_lost() {
    for layout in [p3(3, 4), p3(1, 1), p3(2, 2), pip(3), pip(1)] {
        let object = object(5 * 118 - 3);
        let frames = control_frames(&layout, &object);
        assert!(frames.len() > 2);
        for lost in frames {
            let mut net = layout.net(&object, TELOSB, move |air| {
                if air.number == lost {
                    Fate::Silent
                } else {
                    Fate::Heard
                }
            });
            let outcome = layout.run(&mut net, 10);
            outcome.assert_whole(&net, &object);
            assert_eq!(outcome.end(0), Some(End::Complete), "frame {lost}");
            for n in 1..=layout.last() {
                let end = outcome.end(n);
                assert!(
                    end.is_some() && end != Some(End::Stopped),
                    "node {n}: {end:?}"
                );
            }
        }
    }
}

#[test]
fn a_relay_may_die_in_the_middle() {
    for dead in 1..=12 {
        let layout = p3(4, 4);
        let object = object(200 * 118);
        let mut net = layout.net(&object, TELOSB, ideal);
        net.run_for(Duration::from_millis(400));
        net.command(dead, Command::Stop);
        let outcome = layout.run(&mut net, 30);
        outcome.assert_whole(&net, &object);
        assert_eq!(outcome.end(0), Some(End::Complete));
        assert_eq!(outcome.end(dead), Some(End::Stopped));
    }
}

#[test]
fn half_of_the_packets_find_the_other_group_when_one_dies() {
    for dead in [Group::Odd, Group::Even] {
        let layout = p3(3, 4);
        let object = object(100 * 118);
        let in_dead = |s: &Session| matches!(s.role, Role::Relay { group, .. } if group == dead);
        let nodes = 0..=layout.last();
        let dead: Vec<bool> = nodes.map(|n| in_dead(&layout.session(n))).collect();
        let mut net = layout.net(&object, TELOSB, move |air| {
            if dead[air.from] || dead[air.to] {
                Fate::Silent
            } else {
                Fate::Heard
            }
        });
        let outcome = layout.run(&mut net, 30);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!(complete.first_round, 50);
        assert!(complete.rounds <= 9, "{} rounds", complete.rounds);
    }
}

#[test]
fn without_a_destination_the_source_ends() {
    for (layout, end) in [(p3(3, 4), End::TimedOut), (pip(3), End::GaveUp)] {
        let object = object(1_000);
        let last = layout.last();
        let mut net = layout.net(&object, TELOSB, move |air| {
            if air.from == last || air.to == last {
                Fate::Silent
            } else {
                Fate::Heard
            }
        });
        let outcome = layout.run(&mut net, 20);
        assert_eq!(outcome.end(0), Some(end));
        assert!(outcome.complete().is_none());
        assert!((1..last).all(|n| outcome.end(n) == Some(End::Released)));
        assert_eq!(outcome.end(last), Some(End::TimedOut));
        let asked = net.engine(0).stats().unanswered;
        if layout.session(0).policy.give_up == GiveUp::AfterTries(5) {
            assert_eq!(asked, 5);
        } else {
            assert!(asked > 20, "{asked}");
        }
    }
}

#[test]
fn without_a_reverse_link_pip_gives_up_and_p3_does_not_need_it() {
    let object = object(50 * 118);
    // Nothing gets from node 1 to the source.
    let links = |air: thalweg_engine::harness::Air<'_>| {
        if air.from == 1 && air.to == 0 {
            Fate::Silent
        } else {
            Fate::Heard
        }
    };
    let mut net = pip(3).net(&object, TELOSB, links);
    let outcome = pip(3).run(&mut net, 20);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    let mut net = p3(3, 6).net(&object, TELOSB, links);
    let outcome = p3(3, 6).run(&mut net, 20);
    assert_eq!(outcome.assert_whole(&net, &object).rounds, 1);
    assert_eq!(outcome.end(0), Some(End::Complete));
}

#[test]
fn without_a_source_everyone_leaves() {
    let layout = p3(3, 4);
    let mut net = layout.net(&object(1_000), TELOSB, ideal);
    net.command(0, Command::Stop);
    let outcome = layout.run(&mut net, 20);
    assert!((1..=layout.last()).all(|n| outcome.end(n) == Some(End::TimedOut)));
}

#[test]
fn the_deadline_ends_a_transfer_that_never_would() {
    let mut layout = p3(2, 4);
    layout.route.deadline_s = 2;
    // Data never arrives, control frames do.
    let mut net = layout.net(&object(500), TELOSB, |air| {
        if is_control(air.mpdu) {
            Fate::Heard
        } else {
            Fate::Corrupted
        }
    });
    let outcome = layout.run(&mut net, 20);
    assert_eq!(outcome.end(0), Some(End::TimedOut));
    assert_eq!(outcome.end(layout.last()), Some(End::Released));
    let (at, _) = outcome.of(0).last().unwrap();
    assert!(at.since(start()) < Duration::from_millis(2_100), "{at}");
}

#[test]
fn objects_of_one_byte_and_of_none_and_parts_of_objects() {
    for layout in [p3(3, 4), pip(2), p3(1, 1)] {
        for len in [0, 1, 117, 118, 119] {
            let object = object(len);
            let mut net = layout.net(&object, TELOSB, ideal);
            let outcome = layout.run(&mut net, 10);
            outcome.assert_whole(&net, &object);
            assert_eq!(outcome.end(0), Some(End::Complete));
        }
    }
    let mut layout = p3(2, 2);
    layout.route.range = ObjectRange {
        offset: 100,
        len: 250,
    };
    let object = object(1_000);
    let mut net = layout.net(&object, TELOSB, ideal);
    let outcome = layout.run(&mut net, 10);
    let (_, complete) = outcome.complete().unwrap();
    assert_eq!(
        (complete.len, complete.object_len, complete.packets),
        (250, 1_000, 3)
    );
    assert_eq!(
        net.engine(layout.last()).store().bytes[..250],
        object.bytes[100..350]
    );
}

#[test]
fn too_much_and_too_many_are_refused() {
    let layout = p3(2, 2).payload(1);
    let mut net = layout.net(&object(16_385), TELOSB, ideal);
    let outcome = layout.run(&mut net, 10);
    let first = outcome.of(0).next().map(|(_, e)| e);
    assert_eq!(first, Some(Event::Refused(SetupError::TooManyPackets)));
    assert_eq!(outcome.end(layout.last()), Some(End::TimedOut));

    let layout = pip(2);
    let mut net = layout.net(&object(100), TELOSB, ideal);
    net.command(0, Command::Start(layout.part(0, start(), &TELOSB)));
    let told: Vec<_> = net.take_events();
    assert_eq!(told[0].2, Event::Refused(SetupError::Busy));
    let nowhere = mote::setup(&layout.route, NodeId::new(77).unwrap(), start(), &TELOSB);
    assert!(nowhere.is_none());
}

#[test]
fn a_late_start_is_made_up_for() {
    let layout = p3(3, 4);
    let object = object(20 * 118);
    let mut net = layout.net(&object, TELOSB, ideal);
    // The source gets its order only 300 ms after the transfer should have begun.
    net.command(0, Command::Stop);
    net.run_for(Duration::from_millis(350));
    net.command(0, Command::Start(layout.part(0, start(), &TELOSB)));
    let outcome = layout.run(&mut net, 10);
    assert_eq!(outcome.assert_whole(&net, &object).rounds, 1);
}

#[test]
fn a_second_transfer_follows_the_first() {
    let mut layout = p3(3, 4);
    let first = object(3_000);
    let mut net = layout.net(&first, TELOSB, ideal);
    layout.run(&mut net, 10).assert_whole(&net, &first);
    layout.route.transfer += 1;
    for n in 0..=layout.last() {
        let begin = net.now() + Duration::from_millis(20);
        net.command(n, Command::Start(layout.part(n, begin, &TELOSB)));
    }
    let outcome = layout.run(&mut net, 10);
    outcome.assert_whole(&net, &first);
    assert!(outcome.complete().unwrap().0 > start() + Duration::from_millis(200));
}

#[test]
fn a_request_that_drowns_the_last_packet_does_so_only_once() {
    // As long as data, a request would be over before the last packet reaches the last stage.
    let mut layout = p3(5, 4);
    layout.route.format = Format::Slim;
    let object = object(30 * 118);
    let last = layout.last();
    let mut asked = None;
    // The destination hears the source's requests, and nothing else meanwhile.
    let mut net = layout.net(&object, TELOSB, move |air| {
        if air.from == 0 && request(air.mpdu).is_some() {
            asked = Some(air.start);
        }
        let drowned = |asked: Instant| {
            asked.since(air.start) < Duration::from_millis(4)
                && air.start.since(asked) < Duration::from_millis(1)
        };
        match asked {
            Some(asked) if air.to == last && air.mpdu.len() > 100 && drowned(asked) => {
                Fate::Corrupted
            }
            _ => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 20);
    let complete = outcome.assert_whole(&net, &object);
    assert!((2..=4).contains(&complete.rounds), "{}", complete.rounds);
}

#[test]
fn whoever_misses_the_release_leaves_soon_after_the_end() {
    let layout = p3(3, 4);
    let object = object(20 * 118);
    let mut net = layout.net(&object, TELOSB, |air| match request(air.mpdu) {
        Some(request) if request.purpose == Purpose::Release => Fate::Silent,
        _ => Fate::Heard,
    });
    let outcome = layout.run(&mut net, 10);
    let (complete, _) = outcome.complete().unwrap();
    for n in 1..=layout.last() {
        let (at, event) = outcome.of(n).last().unwrap();
        let end = if n == layout.last() {
            End::Complete
        } else {
            End::Released
        };
        assert_eq!(event, Event::Finished(end));
        assert!(
            at.since(complete) < Duration::from_millis(1_100),
            "node {n} at {at}"
        );
    }
}

/// One packet never arrives, and each request is answered: what brings nothing for longer than two probes take is in vain.
#[test]
fn a_source_whose_packets_bring_nothing_gives_up_although_it_is_answered() {
    let layout = thalweg(3);
    let last = layout.last();
    let mut net = layout.net(&object(20 * 118), TELOSB, move |air| {
        let header = Header::parse(&mut Reader::new(air.mpdu));
        let is_first = header.is_ok_and(|h| h.head.kind == Kind::Data && h.number == 0);
        match is_first && air.to == last {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 30);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    let stats = net.engine(0).stats();
    // The first round, and rounds of one packet.
    assert_eq!((stats.data_sent, stats.unanswered), (20 + 33, 0));
}
