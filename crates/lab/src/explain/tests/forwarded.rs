//! Maps of packets that are forwarded with CIT.

use super::*;
use std::sync::Mutex;
use thalweg_sim::{Capture, CaptureError, Captured, Side};
use thalweg_wire::forward::Repr;

fn toy() -> Toy {
    Toy::new(&[1, 1], &[12, 15, 20, 25])
}

#[test]
fn each_hop_accounts_for_its_packets_and_a_faint_one_is_found() {
    let toy = toy();
    let map = toy.run(Protocol::Cit, |from, to, _| match (from, to) {
        (1, 2) => Some(HALF),
        _ => toy.near(from, to),
    });
    assert_eq!((map.hops, map.protocol.as_str()), (3, "cit"));
    at(&map, 2, SubGroup::All, Cause::Weak, 15);
    let hops = &map.first_round().unwrap().hops;
    // The object makes 61 packets of 117 bytes.
    assert_eq!((hops[0].entered, hops[0].lost.total()), (61, 0));
    assert_eq!(hops[2].lost.total(), 0);
    assert!(map.rounds.len() > 1 && map.requests.is_empty());
    assert!(map.nacks.iter().all(|hop| hop.entered > 0));
    let text = map.to_text();
    assert!(
        text.contains("round 2: ") && !text.contains("requests"),
        "{text}"
    );
}

#[test]
fn times_are_those_of_frames_on_the_air() {
    let toy = toy();
    let map = toy.run(Protocol::Cit, |from, to, _| toy.near(from, to));
    assert_eq!(map.rounds.len(), 1);
    assert_eq!(map.times.len(), 4);
    // Two slots of 4537 us; a frame of 125 bytes is 4256 us on the air.
    let [source, first, second, sink] = map.times[..] else {
        panic!()
    };
    assert!(map.times.iter().all(|t| t.period_us == 9074));
    for relay in [first, second] {
        assert!((4_200..=4_260).contains(&relay.transmit_us), "{relay:?}");
        assert!((4_200..=4_500).contains(&relay.receive_us), "{relay:?}");
        // A frame is written into the transmit buffer once.
        assert!((2_150..=2_400).contains(&relay.bus_us), "{relay:?}");
        assert!(relay.mcu_us >= relay.bus_us);
    }
    assert!(
        source.receive_us < 600 && sink.transmit_us == 0,
        "{source:?} {sink:?}"
    );
    assert!(map.to_text().contains("where the 9074 us of a packet go"));
}

/// Frames that a capture was given, and their ends.
#[derive(Default, Clone)]
struct Kept(Arc<Mutex<Vec<Frame>>>);
type Frame = (SimTime, Vec<u8>);

impl Capture for Kept {
    fn frame(&mut self, frame: &Captured<'_>) -> Result<(), CaptureError> {
        if let Side::Sent { .. } = frame.side {
            let mut kept = self.0.lock().unwrap();
            kept.push((frame.end, frame.mpdu.to_vec()));
        }
        Ok(())
    }
    fn flush(&mut self) -> Result<(), CaptureError> {
        Ok(())
    }
}

#[test]
fn a_capture_has_the_packets_in_the_sessions_time_and_goes_on_after_them() {
    let toy = toy();
    let mut session = toy.session(1, |from, to, _| toy.near(from, to));
    let kept = Kept::default();
    session
        .network()
        .capture(Some(Box::new(kept.clone())))
        .unwrap();
    session.settle().unwrap();
    let begin = session.network().now();
    let (plan, terms) = (toy.plan(), toy.terms());
    let mut quiet = |_| Continue(());
    session
        .fetch(&plan, Protocol::Cit, &terms, &mut quiet)
        .unwrap();
    let end = session.network().now();
    // And PIP's, from its wake-up on.
    session
        .fetch(&plan, Protocol::Pip, &terms, &mut quiet)
        .unwrap();
    let frames = kept.0.lock().unwrap();
    let cit: Vec<_> = frames
        .iter()
        .filter(|f| Repr::parse(&f.1).is_ok())
        .collect();
    // 61 packets over three hops.
    assert_eq!(cit.len(), 3 * 61);
    assert!(cit.iter().all(|f| f.0 > begin && f.0 <= end));
    assert!(frames
        .iter()
        .any(|f| f.0 > end && Head::parse(&f.1).is_ok()));
    assert!(frames.windows(2).all(|pair| pair[0].0 <= pair[1].0));
}
