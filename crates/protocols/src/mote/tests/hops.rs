//! Transfers hop by hop along a row, whatever its links lose.

use super::bench::{draw, id, net, object, Watched, MS};
use crate::floodnet;
use crate::linkprobe::NodeList;
use crate::mote::{Command, Event, Refused};
use crate::pipeline;
use crate::sweep::{Sweep, SLOT};
use std::boxed::Box;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::RadioEvent;
use thalweg_units::{Channel, Dbm, Duration};
use thalweg_wire::hop::{Frame, HopRoute, Subject, MAX_PAYLOAD};
use thalweg_wire::route::ObjectRange;

/// From the last node of a row of `nodes` to node 0, on `channels` channels.
fn route(transfer: u16, nodes: usize, channels: usize, range: ObjectRange) -> HopRoute {
    let list = [15, 20, 25, 26].map(|c| Channel::new(c).unwrap());
    let nodes: Vec<_> = (0..nodes)
        .map(|at| (id(nodes - 1 - at), list[at % channels]))
        .collect();
    HopRoute::new(transfer, &nodes, range, MAX_PAYLOAD).unwrap()
}

/// Neighbours of a row lose `percent` of all frames, and nobody else hears anything.
fn row(nodes: usize, percent: u64, seed: u64) -> Net<Watched> {
    let links = move |air: Air<'_>| {
        let lost = draw(&[seed, air.number as u64, air.to as u64]) % 100 < percent;
        match air.from.abs_diff(air.to) == 1 && !lost {
            true => Fate::Heard,
            false => Fate::Silent,
        }
    };
    net(nodes, Box::new(links))
}

/// Runs until the sink's part is over, at most `limit`; what it reports.
fn run(net: &mut Net<Watched>, limit: Duration) -> Option<(pipeline::Complete, pipeline::End)> {
    let until = net.now() + limit;
    let mut complete = None;
    while net.now() < until {
        net.run_for(MS(10));
        for (_, node, event) in net.take_events() {
            match event {
                Event::Pipeline(pipeline::Event::Complete(c)) if node == 0 => complete = Some(c),
                Event::Pipeline(pipeline::Event::Finished(end)) if node == 0 => {
                    return complete.map(|c| (c, end));
                }
                _ => {}
            }
        }
    }
    None
}

fn received(net: &Net<Watched>, len: u32) -> &[u8] {
    &net.engine(0).mote.pipeline().store().received[..len as usize]
}

#[test]
fn an_object_arrives_over_links_that_lose_half_of_all_frames() {
    for (nodes, percent, seed) in [(2, 50, 1), (5, 50, 2), (12, 30, 3), (9, 60, 4), (32, 20, 5)] {
        let mut net = row(nodes, percent, seed);
        net.command(0, Command::FetchHops(route(1, nodes, 4, ObjectRange::ALL)));
        let before = net.now();
        let (complete, end) = run(&mut net, Duration::from_secs(120)).unwrap_or_else(|| {
            panic!("{nodes} nodes, {percent} %");
        });
        assert_eq!(end, pipeline::End::Complete);
        assert_eq!(received(&net, complete.len), object(nodes - 1));
        assert_eq!(complete.digest, [object(nodes - 1)[0]; 8]);
        // All are back on the control channel soon.
        net.run_for(MS(2_500));
        assert!((0..nodes).all(|n| net.engine(n).mote.is_idle()), "{nodes}");
        let took = net.now().since(before);
        assert!(
            took < Duration::from_secs(12 + nodes as u64),
            "{nodes}: {took}"
        );
    }
}

#[test]
fn a_range_arrives_and_the_next_transfer_finds_every_node() {
    let mut net = row(4, 20, 9);
    let ranges = [(0, 700), (700, 900), (1_600, 5_000)];
    let mut all = Vec::new();
    for (at, (offset, len)) in ranges.into_iter().enumerate() {
        let range = ObjectRange { offset, len };
        net.command(0, Command::FetchHops(route(at as u16, 4, 3, range)));
        let (complete, _) = run(&mut net, Duration::from_secs(20)).unwrap();
        all.extend_from_slice(received(&net, complete.len));
    }
    assert_eq!(all, object(3));
}

/// All packets but the first are as long as the route says.
#[test]
fn packets_of_another_length_are_no_part_of_an_object() {
    let mut net = row(2, 0, 1);
    net.command(0, Command::FetchHops(route(1, 2, 4, ObjectRange::ALL)));
    for number in 0..400 {
        let short = Frame::Data {
            transfer: 1,
            by: 0,
            number: number % 40,
            payload: &[0xee; 5],
        };
        let mpdu = &short.frame().unwrap();
        let (sfd, rssi) = (net.now(), Dbm(-60.0));
        let end = sfd;
        let event = RadioEvent::Frame {
            mpdu,
            sfd,
            end,
            rssi,
            lqi: 100,
        };
        net.inject(0, event);
        net.run_for(Duration::from_micros(700));
    }
    let (complete, end) = run(&mut net, Duration::from_secs(20)).unwrap();
    assert_eq!(end, pipeline::End::Complete);
    assert_eq!(received(&net, complete.len), object(1));
}

/// A relay that goes off in the middle: the sink has the beginning, in order, and all are free again.
#[test]
fn what_arrived_before_a_relay_failed_is_kept() {
    let off = MS(400);
    let links = move |air: Air<'_>| {
        let is_off = air.start > thalweg_units::Instant::ZERO + off;
        match air.from.abs_diff(air.to) == 1 && !(is_off && (air.from == 2 || air.to == 2)) {
            true => Fate::Heard,
            false => Fate::Silent,
        }
    };
    let mut net = net(5, Box::new(links));
    net.command(0, Command::FetchHops(route(1, 5, 4, ObjectRange::ALL)));
    let (complete, end) = run(&mut net, Duration::from_secs(60)).unwrap();
    assert_eq!(end, pipeline::End::TimedOut);
    let whole = object(4);
    assert!(complete.len > 0 && complete.len < whole.len() as u32);
    assert_eq!(complete.len % u32::from(MAX_PAYLOAD), 0);
    assert_eq!(
        received(&net, complete.len),
        &whole[..complete.len as usize]
    );
    net.run_for(Duration::from_secs(9));
    assert!((0..5).all(|n| net.engine(n).mote.is_idle()));
}

#[test]
fn nobody_there_ends_and_another_sink_is_refused() {
    let mut net = row(3, 100, 1);
    net.command(0, Command::FetchHops(route(1, 3, 4, ObjectRange::ALL)));
    net.run_for(Duration::from_secs(45));
    assert!(net.engine(0).mote.is_idle());
    net.take_events();
    net.command(1, Command::FetchHops(route(2, 3, 4, ObjectRange::ALL)));
    let refused = |event: &Event| *event == Event::Refused(Refused::NotSink);
    assert!(net.take_events().iter().any(|(_, _, event)| refused(event)));
}

/// A node whose flooded report was lost is asked for it hop by hop.
#[test]
fn a_report_of_a_sweep_is_fetched() {
    let mut net = row(5, 10, 3);
    let nodes = NodeList::of((0..5).map(id)).unwrap();
    let channels = [15, 26].map(|c| Channel::new(c).unwrap());
    let channels = channels.into_iter().collect();
    let sweep = Sweep::new(nodes, channels, 2, (SLOT, MS(200)), -86).unwrap();
    net.command(0, Command::Sweep(sweep));
    net.run_for(Duration::from_secs(20));
    net.take_events();
    let mut asked = route(3, 5, 3, ObjectRange::ALL);
    asked.subject = Subject::Report;
    net.command(0, Command::FetchHops(asked));
    net.run_for(Duration::from_secs(3));
    let links: Vec<_> = (net.take_events().into_iter())
        .filter_map(|(_, node, event)| match event {
            Event::Floods(floodnet::Event::Link(link)) if node == 0 => Some(link),
            _ => None,
        })
        .collect();
    assert!(links.len() >= 2, "{links:?}");
    assert!(links
        .iter()
        .all(|link| link.to == id(4) && link.from == id(3)));
    net.run_for(Duration::from_secs(1));
    assert!((0..5).all(|n| net.engine(n).mote.is_idle()));
}

/// With one channel for all, neighbours collide, and everything arrives all the same.
#[test]
fn one_channel_is_enough() {
    let mut net = row(5, 10, 6);
    net.command(0, Command::FetchHops(route(1, 5, 1, ObjectRange::ALL)));
    let (complete, end) = run(&mut net, Duration::from_secs(60)).unwrap();
    assert_eq!(end, pipeline::End::Complete);
    assert_eq!(received(&net, complete.len), object(4));
}
