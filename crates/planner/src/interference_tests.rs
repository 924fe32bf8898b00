//! Channels used again, and neighbouring channels.

use super::*;
use crate::link_model::LinkModel;
use crate::links::LinkQualities;
use crate::predict::both_ways;
use thalweg_units::{Channel, ChannelSet, Dbm};

/// A line 0..=5 of strong hops on all channels, where stage 4 is also heard at stage 1.
fn line(heard: f64) -> LinkQualities {
    let mut links = LinkQualities::new(6);
    for channel in Channel::all() {
        for a in 0..5 {
            for (from, to) in [(a, a + 1), (a + 1, a)] {
                let rssi = Some(Dbm(-80.0));
                links.record(from, to, channel, 10, 10, rssi).unwrap();
            }
        }
        let rssi = Some(Dbm(heard));
        links.record(4, 1, channel, 10, 10, rssi).unwrap();
    }
    links
}

fn delivered(heard: f64, numbers: &[u8]) -> f64 {
    let links = line(heard);
    let expected = Expected::new(&links, ChannelSet::ALL, &LinkModel::UNKNOWN);
    let channels: Vec<Channel> = numbers.iter().map(|&n| Channel::new(n).unwrap()).collect();
    let stages: Stages = (0..6).map(|node| vec![node]).collect();
    let layout = Layout::new(
        &expected,
        std::slice::from_ref(&stages),
        channels[..].into(),
    );
    both_ways(&layout, 0, &stages).0.end
}

#[test]
fn a_channel_used_again_is_heard_four_stages_on() {
    // Stage 4 sends to stage 5 on the channel on which stage 1 receives, in the same cycle.
    let [quiet, loud] = [-100.0, -80.0].map(|heard| delivered(heard, &[26, 15, 20, 25, 26, 15]));
    assert!(quiet > 0.99 && loud < 0.5, "{quiet} {loud}");
    assert!(delivered(-80.0, &[26, 15, 20, 25, 26, 17]) > 0.99);
}

#[test]
fn loud_neighbours_leak_into_the_channel_beside() {
    let [quiet, loud] = [-60.0, -40.0].map(|heard| delivered(heard, &[11, 26, 20, 15, 11, 25]));
    assert!(quiet > 0.99 && loud < 0.9, "{quiet} {loud}");
}
