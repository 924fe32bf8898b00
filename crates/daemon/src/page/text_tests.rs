//! Tests of `text.rs`.

use super::*;

#[test]
fn times_say_their_zone_and_are_no_markup() {
    let shown = when("2026-11-23T05:13:15Z").into_string();
    assert!(
        shown.contains("datetime=\"2026-11-23T05:13:15Z\">2026-11-23 05:13 UTC</time>"),
        "{shown}"
    );
    assert!(when_exactly("2026-11-23T05:13:15Z")
        .into_string()
        .contains("05:13:15 UTC"));
    assert!(!when("<b>\"").into_string().contains("<b>"));
}

#[test]
fn times_of_the_store_are_seconds() {
    let times = [
        ("1970-01-01T00:00:00Z", 0),
        ("2000-02-29T23:59:59Z", 951_868_799),
        ("2026-11-23T05:13:15Z", 1_795_410_795),
    ];
    for (text, seconds) in times {
        assert_eq!(seconds_of(text), Some(seconds), "{text}");
    }
    assert_eq!(seconds_of("soon"), None);
}

#[test]
fn values_are_short() {
    let times = [3.21, 59.6, 600.0, 8_000.0, 1e6].map(seconds);
    assert_eq!(times, ["3.2 s", "60 s", "10 min", "2 h", "12 days"]);
    assert_eq!(
        [999, 59_000, 12_000_000].map(bytes),
        ["999 B", "59.0 kB", "12.0 MB"]
    );
}
