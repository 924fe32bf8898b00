use super::*;

const SMALL: &str = r#"
seed = 7
nodes = 3
board = "telosb"
idle = "listens"
foreign_traffic = 0.0
link = [{ a = 1, b = 2, dbm = -60.0 }, { a = 2, b = 3, dbm = -60.0 }]
step = [{ fetch = { from = 3, bytes = 500 } }, { survey = {} }, { pause = { ms = 100 } }]
fade = [{ at_ms = 5, for_ms = 10, a = 1, b = 2 }]
strike = [
    { at_ms = 1000, node = 2, what = { reboot = { for_ms = 300 } } },
    { at_ms = 1100, node = 1, what = { frames = { count = 2, each = { flip = { bit = 90 } } } } },
    { at_ms = 1200, node = 1, what = { outsider = { forge = { kind = 24, at = 1, to = 255 } } } },
]
"#;

#[test]
fn what_was_written_is_read_back() {
    let script = Script::parse(SMALL).unwrap();
    assert_eq!((script.calm_ms(), script.has_outsider()), (1_300, true));
    assert_eq!(Script::parse(&script.to_text()).unwrap(), script);
}

#[test]
fn what_cannot_be_run_is_one_line() {
    for (from, to, said) in [
        ("nodes = 3", "nodes = 1", "expected 2 to 16"),
        ("telosb", "nonesuch", "no board"),
        ("telosb", "mica2", "carries no pipelines"),
        ("nodes = 3", "nodes = \"a\"", "line 3"),
        ("seed = 7", "sed = 7", "unknown field `sed`"),
        (
            "from = 3",
            "from = 1",
            "expected one of the nodes 2 to 3, not 1",
        ),
        ("bytes = 500", "bytes = 0", "expected 1 to 1048576"),
        ("b = 3", "b = 9", "not 2 and 9"),
        ("dbm = -60.0", "dbm = nan", "expected -120 to 0"),
        ("foreign_traffic = 0.0", "foreign_traffic = 2.0", "0 to 0.9"),
        (
            "node = 2, what",
            "node = 0, what",
            "expected one of the nodes 1 to 3, not 0",
        ),
        (
            "reboot = { for_ms = 300 }",
            "jammed = { for_ms = 3, channel = 9 }",
            "11",
        ),
        ("for_ms = 300", "for_ms = 9000000000", "at most"),
        ("ms = 100", "ms = 9000000000", "at most"),
    ] {
        assert!(SMALL.contains(from), "{from}");
        let why = Script::parse(&SMALL.replacen(from, to, 1))
            .unwrap_err()
            .to_string();
        assert!(why.contains(said) && !why.contains('\n'), "{to}: {why}");
    }
}

#[test]
fn nothing_excuses_a_panic_and_only_an_outsider_an_object_that_does_not_come() {
    let outsider = Script::parse(SMALL).unwrap();
    let mut flips = outsider.clone();
    flips.strikes.pop();
    let mut plain = flips.clone();
    plain.strikes.pop();
    let excused = |kind| [&outsider, &flips, &plain].map(|script| script.excuses(kind));
    assert_eq!(excused(BreachKind::Unordered), [true, true, false]);
    assert_eq!(excused(BreachKind::Undelivered), [true, false, false]);
    assert_eq!(excused(BreachKind::Stuck), [false; 3]);
    let keyed = Script {
        security: Security::Keys,
        ..outsider
    };
    assert!(!keyed.excuses(BreachKind::Unordered));
}
