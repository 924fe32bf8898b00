//! Tests of `ledger.rs`.

use super::*;
use std::vec::Vec;
use thalweg_wire::seal::frame::Sealing;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

fn asked<const N: usize>(ledger: &mut Ledger<N>) -> Vec<(u16, u8, u8)> {
    ledger
        .next_round(Sealing::Open)
        .map_or(Vec::new(), |round| {
            assert!(round.slots <= MAX_SLOTS && round.len <= Assignment::MAX);
            let all = round.assignments();
            all.map(|a| (a.node.get(), a.first, a.count)).collect()
        })
}

#[test]
fn asks_for_the_first_frame_then_for_what_is_missing() {
    let mut ledger = Ledger::<8>::new(NodeList::range(0, 3).unwrap(), 2);
    assert_eq!(asked(&mut ledger), [(0, 0, 1), (1, 0, 1), (2, 0, 1)]);
    assert!(ledger.accept(id(0), 0, 1));
    assert!(ledger.accept(id(1), 0, 5));
    assert!(!ledger.accept(id(1), 0, 5), "the same frame twice");
    assert!(!ledger.accept(id(1), 1, 6), "another number of frames");
    assert!(!ledger.accept(id(9), 0, 1), "not asked");
    assert_eq!(asked(&mut ledger), [(1, 1, 4), (2, 0, 1)]);
    assert!(ledger.accept(id(1), 2, 5));
    assert_eq!(ledger.poll_missing(), None);
    assert_eq!(asked(&mut ledger), [(1, 1, 1)]);
    let silent = Missing {
        node: id(2),
        received: 0,
        frames: None,
    };
    assert_eq!(ledger.poll_missing(), Some(silent));
    assert_eq!(ledger.poll_missing(), None);
    for frame in [1, 3, 4] {
        assert!(ledger.accept(id(1), frame, 5));
    }
    assert_eq!(asked(&mut ledger), []);
    assert_eq!((ledger.complete, ledger.given_up()), (2, 1));
}

#[test]
fn everyone_is_asked_in_turn_and_silence_ends() {
    let mut ledger = Ledger::<256>::new(NodeList::range(0, 256).unwrap(), 3);
    let (mut rounds, mut times) = (0, [0; 256]);
    loop {
        let round = asked(&mut ledger);
        if round.is_empty() {
            break;
        }
        rounds += 1;
        (round.iter()).for_each(|(n, _, _)| times[usize::from(*n)] += 1);
        while ledger.poll_missing().is_some() {}
    }
    assert!(times.iter().all(|t| *t == 3), "{times:?}");
    assert!(rounds <= 3 * 256usize.div_ceil(Assignment::MAX), "{rounds}");
    assert_eq!(ledger.given_up(), 256);
}

#[test]
fn an_answer_makes_up_for_earlier_silence() {
    let mut ledger = Ledger::<1>::new(NodeList::range(0, 1).unwrap(), 2);
    for frame in 0..5 {
        assert_eq!(asked(&mut ledger).len(), 1);
        assert_eq!(asked(&mut ledger).len(), 1, "one silent round is forgiven");
        assert!(ledger.accept(id(0), frame, 9));
    }
    assert_eq!((asked(&mut ledger).len(), asked(&mut ledger).len()), (1, 1));
    assert_eq!((asked(&mut ledger).len(), ledger.given_up()), (0, 1));
}

#[test]
fn a_full_report_of_64_frames_is_collected() {
    let mut ledger = Ledger::<1>::new(NodeList::range(0, 1).unwrap(), 2);
    assert_eq!(asked(&mut ledger), [(0, 0, 1)]);
    assert!(ledger.accept(id(0), 0, MAX_FRAMES));
    for (first, count) in [(1, 32), (33, 31)] {
        assert_eq!(asked(&mut ledger), [(0, first, count)]);
        for frame in first..first + count {
            assert!(ledger.accept(id(0), frame, MAX_FRAMES));
        }
    }
    assert_eq!(asked(&mut ledger), []);
    assert_eq!(ledger.complete, 1);
}
