//! Tests of `linkprobe/mod.rs`.

use super::*;
use std::vec::Vec;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

fn measure(n: u16, channels: ChannelSet) -> Measure<256> {
    let nodes = NodeList::range(0, n).unwrap();
    Measure::new(nodes, channels, 10, Duration::from_millis(100)).unwrap()
}

#[test]
fn a_hundred_nodes_take_101_seconds() {
    // P3, section IV-D1: T_o = 10 ms, IPI = 100 ms, N_b = 10.
    let one = ChannelSet::EMPTY.with(Channel::LAST);
    let total = measure(100, one).total_time(Duration::from_millis(10));
    assert_eq!(total, Duration::from_secs(101));
    let two = one.with(Channel::FIRST);
    let total = measure(100, two).total_time(Duration::from_millis(10));
    assert_eq!(total, Duration::from_secs(201));
}

#[test]
fn impossible_orders_cannot_be_made() {
    let nodes = || NodeList::<4>::range(0, 2).unwrap();
    let ms = Duration::from_millis;
    let (all, none) = (ChannelSet::ALL, ChannelSet::EMPTY);
    let new = Measure::new;
    let nobody = new(NodeList::<4>::EMPTY, all, 1, ms(10));
    assert_eq!(nobody, Err(MeasureError::NoNodes));
    assert_eq!(new(nodes(), none, 1, ms(10)), Err(MeasureError::NoChannels));
    assert_eq!(new(nodes(), all, 0, ms(10)), Err(MeasureError::NoBeacons));
    assert_eq!(new(nodes(), all, 1, ms(9)), Err(MeasureError::Interval));
    assert_eq!(new(nodes(), all, 1, ms(6600)), Err(MeasureError::Interval));
    assert!(new(nodes(), all, 1, ms(10)).is_ok());
}

#[test]
fn every_beacon_falls_into_the_time_its_channel_is_listened_to() {
    let two = ChannelSet::EMPTY.with(Channel::FIRST).with(Channel::LAST);
    let announce = measure(3, two).announce(Campaign::new(3), id(1));
    let reference = Instant::from_nanos(7_000_000_000);
    let (control, lead) = (Duration::from_millis(10), Duration::from_millis(1));
    let steps = |me| {
        let mut turn = BeaconTurn::new(announce, reference, id(me), control, lead);
        let mut steps = Vec::new();
        while let Some((due, _)) = turn.peek() {
            assert_eq!(turn.step(due.saturating_sub(Duration::from_nanos(1))), None);
            steps.push((due, turn.step(due).unwrap()));
        }
        steps
    };
    let (beaconer, listener) = (steps(1), steps(2));
    assert_eq!((beaconer.len(), listener.len()), (2 + 20, 2 + 2));
    assert_eq!(beaconer[0], (reference + control, Step::Leave));
    assert_eq!(beaconer.last(), listener.last());
    let end = reference + control + Duration::from_secs(2);
    assert!(listener.last().unwrap().0 < end);
    for (_, step) in &beaconer {
        if let Step::Beacon { channel, sfd, .. } = step {
            let at = listener.iter().rposition(|(due, _)| due <= sfd).unwrap();
            assert_eq!(listener[at].1, Step::Tune(*channel));
            let begin = sfd.saturating_sub(thalweg_wire::phy::SFD_OFFSET);
            let end = begin + thalweg_wire::phy::air_time(125);
            assert!(listener[at + 1].0 >= end, "the next step cuts it off");
        }
    }
}
