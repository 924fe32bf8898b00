//! Any number of hops and paths, any payload, any object, links of any quality.

use super::bench::{draw, fetch, object, terms, Ladder, Reverse};
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_wire::route::{Hopping, Scheme};
use thalweg_wire::route::{PayloadSize, Percent};

/// What is drawn for case `n`.
fn case(n: u64) -> (Ladder, Scheme, TransferTerms, usize) {
    let d = |what, below| draw(what, &[n], below);
    let (hops, paths) = (1 + d("hops", 10) as usize, 1 + d("paths", 10) as usize);
    // Half of them ideal, the others down to links that lose half.
    let least_prr = [1.0, 1.0, 0.9, 0.5][d("quality", 4) as usize];
    let protocol = match d("protocol", 4) {
        0 => Scheme::Pip(Hopping::Fixed),
        1 => Scheme::Pip(Hopping::EveryCyclePair),
        _ => Scheme::P3,
    };
    let smallest = if protocol == Scheme::Pip(Hopping::EveryCyclePair) {
        32
    } else {
        1
    };
    let payload = (1 + d("payload", 118) as u8).max(smallest);
    let threshold = [None, Percent::new(50), Percent::new(95)][d("threshold", 3) as usize];
    let terms = TransferTerms {
        payload: PayloadSize::new(payload).unwrap(),
        threshold,
        ..terms()
    };
    // One packet, a few, a hundred.
    let most = usize::from(payload) * [1, 9, 120][d("size", 3) as usize];
    let bytes = 1 + d("bytes", most as u64) as usize;
    (
        Ladder {
            hops,
            paths,
            least_prr,
            seed: n,
            reverse: Reverse::Alive,
        },
        protocol,
        terms,
        bytes,
    )
}

#[test]
fn whatever_is_asked_for_ends_with_the_right_bytes_or_none() {
    let (mut good, mut arrived) = (0, 0);
    for n in 0..120 {
        let (ladder, protocol, terms, bytes) = case(n);
        let plan = ladder.plan();
        assert_eq!(
            (plan.hops, plan.path_count()),
            (ladder.hops, ladder.paths.min(plan.path_bound))
        );
        let mut session = ladder.session();
        let object = object(n, bytes);
        for _ in 0..2 {
            let outcome = fetch(&mut session, &plan, protocol, &terms, &object);
            if ladder.least_prr >= 0.9 && protocol == Scheme::P3 {
                good += 1;
                arrived += u32::from(outcome.verified);
            }
        }
    }
    // Of some thousand such ladders one in five hundred fails.
    assert!(good > 80 && arrived + 1 >= good, "{arrived} of {good}");
}

#[test]
fn every_number_of_hops_on_one_ideal_path() {
    for hops in 1..=10 {
        let ladder = Ladder {
            hops,
            paths: 1,
            least_prr: 1.0,
            seed: 5,
            reverse: Reverse::Alive,
        };
        let (plan, mut session) = (ladder.plan(), ladder.session());
        for (protocol, seed) in [
            (Scheme::P3, 1),
            (Scheme::Pip(Hopping::Fixed), 2),
            (Scheme::Pip(Hopping::EveryCyclePair), 3),
            (Scheme::PipCit, 4),
        ] {
            let outcome = fetch(
                &mut session,
                &plan,
                protocol,
                &terms(),
                &object(seed, 5_000),
            );
            assert!(outcome.verified, "{hops} hops: {outcome:?}");
            assert_eq!(outcome.active_nodes, hops as u32 + 1);
        }
    }
}

#[test]
fn every_number_of_paths() {
    for paths in 1..=10 {
        let ladder = Ladder {
            hops: 3,
            paths,
            least_prr: 0.95,
            seed: 9,
            reverse: Reverse::Alive,
        };
        let (plan, mut session) = (ladder.plan(), ladder.session());
        let outcome = fetch(&mut session, &plan, Scheme::P3, &terms(), &object(1, 9_000));
        assert!(outcome.verified, "{paths} paths: {outcome:?}");
        assert_eq!(outcome.paths, paths as u32);
    }
}
