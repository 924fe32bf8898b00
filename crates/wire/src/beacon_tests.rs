//! Tests of `beacon.rs`.

use super::*;
use crate::flood::HEADER_BYTES;
use crate::FrameBuf;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_beacon_round_trips_with_any_filler(
        id in 0..=NodeId::MAX.get(), campaign: u8, channel in 0..16usize, number: u8,
        bytes in 0..=phy::MAX_MPDU,
    ) {
        let beacon = Beacon {
            from: NodeId::new(id).unwrap(),
            campaign: Campaign::new(campaign),
            channel: Channel::from_index(channel),
            number,
        };
        let frame = FrameBuf::build(|w| beacon.emit(w, bytes)).unwrap();
        prop_assert_eq!(frame.len(), bytes.max(7));
        prop_assert_eq!(Beacon::parse(&frame), Ok(beacon));
    }

    #[test]
    fn an_announcement_round_trips(
        id in 0..=NodeId::MAX.get(), campaign: u8, bits in 1u16.., beacons in 1u8..,
        steps in 1u16..=1_000,
    ) {
        let announce = Announce {
            campaign: Campaign::new(campaign),
            node: NodeId::new(id).unwrap(),
            channels: ChannelSet::from_bits(bits),
            beacons,
            interval: TIME_STEP * u64::from(steps),
        };
        let content = FrameBuf::build(|w| announce.emit(w)).unwrap();
        prop_assert_eq!(Announce::parse(&content), Ok(announce));
        prop_assert_eq!(content.len() + HEADER_BYTES, 15);
    }

    #[test]
    fn any_bytes_are_parsed_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..=130),
    ) {
        let _ = Beacon::parse(&bytes);
        if let Ok(announce) = Announce::parse(&bytes) {
            let content = FrameBuf::build(|w| announce.emit(w)).unwrap();
            // Whether it is sealed is no matter of the announcement.
            prop_assert_eq!(content[0], bytes[0] & !0x08);
            prop_assert_eq!(&content[1..], &bytes[1..]);
        }
    }
}

#[test]
fn a_turn_longer_than_any_node_waits_is_refused() {
    let with = |steps: u64| {
        let announce = Announce {
            campaign: Campaign::new(1),
            node: NodeId::new(3).unwrap(),
            channels: ChannelSet::from_bits(0xf),
            beacons: 250,
            interval: TIME_STEP * steps,
        };
        (announce.turn(), FrameBuf::build(|w| announce.emit(w)))
    };
    let (turn, longest) = with(6_000);
    let mut longest = longest.unwrap();
    assert_eq!(turn, MAX_TURN);
    assert!(Announce::parse(&longest).is_ok());
    assert_eq!(with(6_001).1, Err(WireError::Malformed));
    // The last byte is the interval's higher one.
    *longest.last_mut().unwrap() += 1;
    assert_eq!(Announce::parse(&longest), Err(WireError::Malformed));
}

#[test]
fn an_interval_that_cannot_be_told_is_refused() {
    assert_eq!(steps(Duration::from_millis(100)), Ok(1000));
    assert_eq!(steps(Duration::from_micros(150)), Err(WireError::Malformed));
    assert_eq!(steps(Duration::from_secs(7)), Err(WireError::Malformed));
}

#[test]
fn beacons_and_announcements_that_are_none_are_refused() {
    // Frame control, number, dispatch, sender, campaign and channel.
    let beacon = [0x01, 0x20, 7, dispatch::BEACON, 9, 0, 0x3f];
    assert!(Beacon::parse(&beacon).is_ok());
    for (at, byte) in [(0, 0x41), (1, 0x88), (3, dispatch::FLOOD), (5, 0xff)] {
        let mut bad = beacon;
        bad[at] = byte;
        bad[4] = 0xff;
        assert_eq!(Beacon::parse(&bad), Err(WireError::Malformed), "{at}");
    }
    // Campaign and kind, node, channels, beacons, interval.
    let announce = [0x31, 9, 0, 1, 0, 1, 1, 0];
    assert!(Announce::parse(&announce).is_ok());
    for (at, byte) in [(0, 0x32), (0, 0x3f), (3, 0), (5, 0), (6, 0)] {
        let mut bad = announce;
        bad[at] = byte;
        assert_eq!(Announce::parse(&bad), Err(WireError::Malformed), "{at}");
    }
    let longer = [0x31, 9, 0, 1, 0, 1, 1, 0, 0];
    assert_eq!(Announce::parse(&longer), Err(WireError::Malformed));
    for short in 0..announce.len() {
        let parsed = Announce::parse(&announce[..short]);
        assert_eq!(parsed, Err(WireError::Truncated), "{short}");
    }
    for short in 0..beacon.len() {
        let parsed = Beacon::parse(&beacon[..short]);
        assert_eq!(parsed, Err(WireError::Truncated), "{short}");
    }
}
