//! Frames that no node of this network sends, and answers that no radio gives.

use super::bench::{across, id, ideal, Order, Watched};
use crate::mote::Command;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::vec;
use std::vec::Vec;
use thalweg_engine::harness::Net;
use thalweg_engine::{drain, Engine, OpId, RadioEvent, RadioId, Refusal, Request};
use thalweg_units::{Dbm, Duration, Instant};

/// Frames of a whole transfer, to be sent again with something wrong.
fn real_frames() -> Vec<Vec<u8>> {
    let mut net: Net<Watched> = super::bench::grid(ideal());
    net.command(4, Command::Fetch(across(1)));
    net.run_for(Duration::from_millis(400));
    net.sent().iter().map(|f| f.mpdu.clone()).collect()
}

#[derive(Debug, Clone)]
enum Happening {
    Noise(Vec<u8>),
    Again {
        which: usize,
        at: usize,
        flip: u8,
        cut: usize,
    },
    Head(Vec<u8>),
    Corrupt,
    Answer {
        op: u16,
        kind: u8,
    },
    Timeout,
    Stop,
    Fetch,
}

fn happening() -> impl Strategy<Value = Happening> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..127);
    prop_oneof![
        2 => bytes().prop_map(Happening::Noise),
        6 => (any::<usize>(), any::<usize>(), any::<u8>(), 0..140usize)
            .prop_map(|(which, at, flip, cut)| Happening::Again { which, at, flip, cut }),
        1 => prop::collection::vec(any::<u8>(), 0..5).prop_map(Happening::Head),
        1 => Just(Happening::Corrupt),
        2 => (any::<u16>(), any::<u8>()).prop_map(|(op, kind)| Happening::Answer { op, kind }),
        4 => Just(Happening::Timeout),
        1 => Just(Happening::Stop),
        1 => Just(Happening::Fetch),
    ]
}

fn settle(node: &mut Watched, ops: &mut Vec<OpId>) -> Option<Instant> {
    drain(
        node,
        &mut (|request: Request<'_>| ops.push(request.id), |_| ()),
    )
    .expect("no livelock")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_heard_makes_a_node_fall(
        who in 0..12usize,
        story in prop::collection::vec((happening(), 0..30_000u64), 1..60),
        late in any::<bool>(),
    ) {
        let frames = real_frames_once();
        let mut node = Watched::new(who);
        let mut ops = vec![];
        let mut now = if late { Instant::MAX.saturating_sub(Duration::from_secs(10)) } else { Instant::ZERO };
        let mut timeout = settle(&mut node, &mut ops);
        for (what, us) in story {
            now += Duration::from_micros(us);
            let sfd = now.saturating_sub(Duration::from_millis(4));
            let frame = |mpdu: &[u8], node: &mut Watched| {
                let (rssi, lqi) = (Dbm(-70.0), 100);
                node.handle_radio(now, RadioId(0), RadioEvent::Frame { mpdu, sfd, end: now, rssi, lqi });
            };
            match what {
                Happening::Noise(bytes) => frame(&bytes, &mut node),
                Happening::Again { which, at, flip, cut } => {
                    let mut bytes = frames[which % frames.len()].clone();
                    let at = at % bytes.len();
                    bytes[at] ^= flip;
                    bytes.truncate(cut.max(1));
                    frame(&bytes, &mut node);
                }
                Happening::Head(bytes) => {
                    node.handle_radio(now, RadioId(0), RadioEvent::Head { bytes: &bytes, sfd });
                }
                Happening::Corrupt => node.handle_radio(now, RadioId(0), RadioEvent::Corrupt { sfd }),
                Happening::Answer { op, kind } => {
                    // Mostly to something that was asked for.
                    let asked = ops.get(usize::from(op) % (ops.len() + 1)).copied();
                    let op = asked.unwrap_or(OpId(op));
                    let event = match kind % 4 {
                        0 => RadioEvent::Done { op },
                        1 => RadioEvent::Sent { op, sfd },
                        2 => RadioEvent::Refused { op, why: Refusal::Late { by: Duration::from_micros(us) } },
                        _ => RadioEvent::Refused { op, why: Refusal::Superseded },
                    };
                    node.handle_radio(now, RadioId(0), event);
                }
                Happening::Timeout => {
                    if let Some(at) = timeout {
                        now = now.max(at.min(now + Duration::from_secs(5)));
                        if at <= now {
                            node.handle_timeout(now);
                        }
                    }
                }
                Happening::Stop => node.handle_command(now, Order::Stop),
                Happening::Fetch => {
                    let mut route = across(3);
                    (route.sink, route.source) = (id(who), id((who + 1) % 12));
                    node.handle_command(now, Command::Fetch(route));
                }
            }
            timeout = settle(&mut node, &mut ops);
        }
    }
}

fn real_frames_once() -> &'static [Vec<u8>] {
    static FRAMES: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    FRAMES.get_or_init(real_frames)
}
