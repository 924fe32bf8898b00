//! Chains of known links, and rounds.

use super::holders::chain;
use super::*;

/// Senders and receivers that are independent, and do not beat.
fn hop(links: &[(usize, usize, f64)]) -> impl Fn(usize, &[usize], usize) -> f64 + '_ {
    move |_, senders, to| {
        let heard = |(a, b, _): &&(usize, usize, f64)| *b == to && senders.contains(a);
        let missed = links.iter().filter(heard);
        1.0 - missed.map(|(_, _, prr)| 1.0 - prr).product::<f64>()
    }
}

#[test]
fn a_single_path_multiplies() {
    let links = [(0, 1, 0.9), (1, 2, 0.8)];
    let chain = chain(&[vec![0], vec![1], vec![2]], hop(&links));
    assert!((chain.end - 0.72).abs() < 1e-12);
    assert!((chain.hops[1] - 0.8).abs() < 1e-12);
    assert!((chain.relayed - 0.9).abs() < 1e-12);
}

#[test]
fn a_chain_that_does_not_join_is_dead() {
    // 1 gets the packet, 2 has the link onward.
    let links = [(0, 1, 1.0), (2, 3, 1.0)];
    let chain = chain(&[vec![0], vec![1, 2], vec![3]], hop(&links));
    assert_eq!(chain.hops, [1.0, 0.0]);
    assert_eq!(chain.end, 0.0);
}

#[test]
fn two_ways_are_followed_set_by_set() {
    let links = [(0, 1, 0.5), (0, 2, 0.5), (1, 3, 1.0), (2, 3, 1.0)];
    let chain = chain(&[vec![0], vec![1, 2], vec![3]], hop(&links));
    assert!((chain.end - 0.75).abs() < 1e-12, "{}", chain.end);
}

#[test]
fn many_members_are_close_to_few() {
    let links: Vec<(usize, usize, f64)> =
        (0..10).flat_map(|a| [(20, a, 0.6), (a, 21, 0.3)]).collect();
    let run = |n: usize| chain(&[vec![20], (0..n).collect(), vec![21]], hop(&links)).end;
    let closed = |n: i32| 1.0 - (1.0f64 - 0.6 * 0.3).powi(n);
    assert!((run(8) - closed(8)).abs() < 0.02);
    assert!((run(9) - closed(9)).abs() < 0.02);
}

#[test]
fn rounds_of_sure_and_of_lossy_packets() {
    assert_eq!(expected_rounds(500.0, 1.0), 1.0);
    assert!((expected_rounds(1.0, 0.5) - 2.0).abs() < 1e-6);
    let rounds = expected_rounds(500.0, 0.92);
    assert!((3.0..3.6).contains(&rounds), "{rounds}");
    assert!(expected_rounds(10.0, 0.0).is_infinite());
    let [few, fewer] = [1.001e-3, 0.999e-3].map(|p| expected_rounds(500.0, p));
    assert!((few / fewer - 1.0).abs() < 0.01, "{few} {fewer}");
    assert!(expected_rounds(500.0, 1e-12) > 1e12);
}
