//! Tests of `topics.rs`.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[test]
fn a_plain_name_stays_as_it_is() {
    let node = NodeId::new(7).unwrap();
    let topics = Topics::new("thalweg", "floor21");
    assert_eq!(topics.objects(node), "thalweg/floor21/objects/7");
    assert_eq!(topics.node(node), "thalweg/floor21/nodes/7");
    assert_eq!(status("thalweg"), "thalweg/status");
    let odd = Topics::new("a/b", "x/+\u{e9}#");
    assert_eq!(odd.under("line"), "a/b/x%2f%2b%c3%a9%23/line");
    assert_eq!(Topics::new("a", "").under("line"), "a/%/line");
    assert_eq!(client("a").len(), 23);
    assert_ne!(client("a"), client("b"));
    assert_ne!(topics.device(node), odd.device(node));
}

#[test]
fn a_button_is_known_by_its_topic_alone() {
    let topics = Topics::new("a", "b");
    let node = NodeId::new(7).unwrap();
    assert_eq!(topics.pressed(&topics.measure()), Some(Press::Measure));
    assert_eq!(
        topics.pressed(&topics.fetch(node)),
        Some(Press::Fetch(node))
    );
    for other in [
        "a/b/nodes/x/fetch",
        "a/b/nodes/99999/fetch",
        "a/b/nodes/7",
        "a/c/measure",
        "a/b/measure/7",
        "",
    ] {
        assert_eq!(topics.pressed(other), None, "{other}");
    }
    assert_eq!(topics.presses(), ["a/b/measure", "a/b/nodes/+/fetch"]);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), ..ProptestConfig::default() })]

    #[test]
    fn any_name_is_one_short_segment_of_its_own(a in any::<String>(), b in ".{0,200}") {
        for name in [&a, &b] {
            let text = segment(name);
            prop_assert!((1..=LONGEST).contains(&text.len()));
            let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.%".contains(c);
            prop_assert!(text.chars().all(is_part), "{text}");
        }
        prop_assert_eq!(segment(&a) == segment(&b), a == b);
    }
}
