//! Tests of `fetched.rs`.

use super::*;

#[test]
fn a_round_stands_beside_a_whole_number() {
    assert_eq!(rounds(Some(1.0), 1), " of about 1");
    assert_eq!(rounds(Some(2.0004), 2), " of about 2");
    assert_eq!(rounds(Some(1.2), 2), " of about 2");
    assert_eq!(
        rounds(Some(1.0), 3),
        " 1 expected: links lose more than was measured"
    );
    assert_eq!(rounds(None, 3), "");
}

#[test]
fn a_try_says_its_route_and_its_end() {
    let one = serde_json::json!({ "protocol": "thalweg", "hops": 3, "paths": [[1, 2]], "failure": "<nothing>" });
    assert_eq!(
        tried(&one).into_string(),
        "thalweg, 3 hops, 1 path: &lt;nothing&gt;"
    );
    assert_eq!(
        tried(&serde_json::json!({})).into_string(),
        ", 0 hops, 0 paths: whole"
    );
}
