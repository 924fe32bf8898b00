//! Tests of `threshold.rs`.

use super::*;
use thalweg_units::NodeId;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Channels, Scheme};

fn fed(lost_every: u64, packets: u64) -> Threshold {
    let mut threshold = Threshold::new(Percent::new(95).unwrap());
    for k in 0..packets {
        threshold.begun(u32::from(k % lost_every != 0));
    }
    threshold
}

#[test]
fn a_good_relay_speaks_and_a_bad_one_does_not() {
    assert!(fed(21, 210).speaks());
    assert!(!fed(15, 210).speaks());
    assert!(fed(2, 15).speaks(), "too few packets to judge");
}

#[test]
fn patience_ends() {
    let mut bad = fed(2, 200);
    assert!(!bad.speaks());
    bad.round = 1;
    assert!(bad.speaks(), "50 % is enough once the threshold is 47 %");
}

#[test]
fn a_relay_that_is_alone_speaks_in_any_case() {
    let id = |n: u16| NodeId::new(n).unwrap();
    let channels = Channels::new(&[Channel::LAST; 4]).unwrap();
    for (paths, silent) in [(1, false), (2, false), (4, true)] {
        let mut route = Route::new(1, id(0), id(99), Scheme::P3, channels);
        route.threshold = Percent::new(95);
        for (node, stage) in (1..).zip((1..3).flat_map(|stage| [stage; 4].into_iter().take(paths)))
        {
            let group = [Group::Odd, Group::Even][usize::from(node % 2)];
            let node = id(node);
            route.add(Member { node, stage, group }).unwrap();
        }
        for member in route.members() {
            let role = route.role_of(member.node).unwrap();
            let expected = silent && member.stage == 2;
            assert_eq!(may_be_silent(&route, role), expected, "{paths} paths");
        }
        assert!(!may_be_silent(&route, Role::Source));
    }
}
