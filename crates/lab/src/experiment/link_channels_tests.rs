//! Tests of `link_channels.rs`.

use super::*;
use thalweg_units::Dbm;

#[test]
fn the_tree_takes_fewest_transmissions_and_any_parent_among_equals() {
    let mut links = LinkQualities::new(5);
    let mut link = |a, b, received| {
        for (x, y) in [(a, b), (b, a)] {
            links
                .record(x, y, Channel::LAST, received, 10, Some(Dbm(-80.0)))
                .unwrap();
        }
    };
    // Node 3 can go through 1 or 2; 4 has a poor direct link and a good way round.
    link(0, 1, 10);
    link(0, 2, 10);
    link(1, 3, 10);
    link(2, 3, 10);
    link(0, 4, 6);
    link(2, 4, 10);
    let mut parents = std::collections::BTreeSet::new();
    for seed in 0..32 {
        let mut rng = stream(seed, "tree", &[]);
        let tree = collection_tree(&links, Channel::LAST, 0, &mut rng);
        assert_eq!((tree[0], tree[1], tree[3]), ((1, 0), (2, 0), (4, 2)));
        parents.insert(tree[2]);
    }
    assert_eq!(parents.into_iter().collect::<Vec<_>>(), [(3, 1), (3, 2)]);
}
