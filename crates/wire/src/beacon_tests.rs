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
        steps in 1u16..,
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
fn an_interval_that_cannot_be_told_is_refused() {
    assert_eq!(steps(Duration::from_millis(100)), Ok(1000));
    assert_eq!(steps(Duration::from_micros(150)), Err(WireError::Malformed));
    assert_eq!(steps(Duration::from_secs(7)), Err(WireError::Malformed));
}
