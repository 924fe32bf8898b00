//! Nodes whose links are on channels that floods do not use.

use super::bench::{id, net, object, Watched, MS};
use crate::linkprobe::NodeList;
use crate::mote::company::{Company, ALONE};
use crate::mote::{Command, Event};
use crate::pipeline;
use crate::sweep::{Sweep, SLOT};
use std::boxed::Box;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::RadioEvent;
use thalweg_units::{Channel, Duration};
use thalweg_wire::hop::{Calls, HopRoute, MAX_PAYLOAD};
use thalweg_wire::route::ObjectRange;
use thalweg_wire::FrameBuf;

/// Where the hops of a row of four work: floods are on the last channel, and do not cross the second hop.
const HOPS: [u8; 3] = [26, 20, 25];

fn channel(number: u8) -> Channel {
    Channel::new(number).unwrap()
}

fn row() -> Net<Watched> {
    let links = |air: Air<'_>| {
        let (near, far) = (air.from.min(air.to), air.from.max(air.to));
        match far - near == 1 && air.channel == channel(HOPS[near]) {
            true => Fate::Heard,
            false => Fate::Silent,
        }
    };
    net(4, Box::new(links))
}

/// Has node 0 survey the row.
fn survey(net: &mut Net<Watched>) {
    let nodes = NodeList::of((0..4).map(id)).unwrap();
    let channels = HOPS.map(channel).into_iter().collect();
    let sweep = Sweep::new(nodes, channels, 2, (SLOT, MS(900)), -86).unwrap();
    net.command(0, Command::Sweep(sweep));
    net.run_for(Duration::from_secs(10));
    net.take_events();
}

/// Fetches the object of node 3; whether it came.
fn fetch(net: &mut Net<Watched>, transfer: u16, calls: Calls) -> bool {
    let channels = [11, HOPS[2], HOPS[1], HOPS[0]].map(channel);
    let nodes: Vec<_> = [3, 2, 1, 0].map(id).into_iter().zip(channels).collect();
    let mut route = HopRoute::new(transfer, &nodes, ObjectRange::ALL, MAX_PAYLOAD).unwrap();
    route.calls = calls;
    net.command(0, Command::FetchHops(route));
    net.run_for(Duration::from_secs(40));
    let whole = Event::Pipeline(pipeline::Event::Finished(pipeline::End::Complete));
    let events = net.take_events();
    events
        .iter()
        .any(|(_, node, event)| *node == 0 && *event == whole)
}

#[test]
fn who_hears_nobody_looks_until_it_is_found_and_is_called_there() {
    let mut net = row();
    survey(&mut net);
    let keeps = |net: &Net<Watched>, node: usize, on: u8| match net.engine(node).mote.company {
        Company::Found => false,
        Company::Sought { kept, .. } => {
            kept.is_some_and(|(kept, left)| kept == channel(on) && left > 0)
        }
    };
    net.run_for(ALONE * 2);
    assert!([0, 1]
        .iter()
        .all(|n| net.engine(*n).mote.company == Company::Found));
    let surveys = (1..200).find(|_| {
        survey(&mut net);
        keeps(&net, 2, HOPS[1]) && keeps(&net, 3, HOPS[2])
    });
    assert!(surveys.is_some(), "they are never found");
    assert!(!fetch(&mut net, 1, Calls::Control));
    survey(&mut net);
    assert!(fetch(&mut net, 2, Calls::Everywhere));
    let object = object(3);
    let received = &net.engine(0).mote.pipeline().store().received;
    assert_eq!(received[..object.len()], object);
    // Whom floods reach is there to stay.
    net.run_for(ALONE * 3);
    assert!([0, 1]
        .iter()
        .all(|n| net.engine(*n).mote.floods.channel() == channel(HOPS[0])));
}

/// A node that restarted while others surveyed looks for them. It hears the muster of a session all the same.
#[test]
fn who_looks_for_others_hears_a_muster_whenever_it_comes() {
    for after in 0..40 {
        let mut net = net(2, Box::new(|_| Fate::Heard));
        net.run_for(ALONE + MS(5_000 + 97 * after));
        net.command(0, Command::Stop);
        let now = net.now();
        let sources = FrameBuf::from_slice(&[1, 0, 0, 2]).unwrap();
        net.engine_mut(0).mote.muster(now, sources);
        net.inject(0, RadioEvent::Corrupt { sfd: now });
        net.run_for(MS(3_000));
        assert!(net.engine(0).mote.is_mustered(), "it is out");
        assert!(net.engine(1).mote.is_mustered(), "{after}");
    }
}
