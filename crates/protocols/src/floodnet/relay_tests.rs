//! What a relay of a flood does first.

use super::*;
use crate::glossy::test_support::{id, MOTE};
use thalweg_units::Dbm;
use thalweg_wire::flood::{Course, Ntx, Repr};

#[test]
fn a_frame_is_handed_out_to_be_sent_on_before_its_content_is_read() {
    let mut node = Floodnet::<32, 0>::new(id(1), Config::default(), MOTE);
    assert!(node.poll_radio().is_some(), "it listens");
    let mut content = [0x5a; 8];
    content[0] = 0;
    let flood = Repr {
        sequence: 1,
        initiator: id(0),
        course: Course::Outwards(Ntx::THREE),
        relay: 0,
        content: &content,
    };
    let frame = FrameBuf::build(|w| flood.emit(w)).unwrap();
    let [sfd, end] = [1_000_000, 2_000_000].map(Instant::from_nanos);
    let (rssi, lqi) = (Dbm(-60.0), 100);
    let event = RadioEvent::Frame {
        mpdu: &frame,
        sfd,
        end,
        rssi,
        lqi,
    };
    node.handle_radio(end, RadioId(0), event);
    assert!(node.poll_radio().is_some(), "it sends on");
    assert_eq!(node.poll_event(), None);
    // The time-out is due at once.
    assert_eq!(node.poll_timeout(), Some(end));
    node.handle_timeout(end);
    assert!(matches!(node.poll_event(), Some(Event::Flooded { .. })));
    assert_eq!(node.payload(), &content[1..]);
    assert!(node.poll_timeout().is_some_and(|due| due > end));
}
