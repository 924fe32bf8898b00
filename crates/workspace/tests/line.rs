//! What a line's page says of its bytes, held against the code that writes them.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

/// The rows below `heading` of the page: their cells.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let part = page.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let part = part.split("\n## ").next().unwrap();
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    let rows = part.lines().filter(|line| line.starts_with('|'));
    rows.map(cells).collect()
}

/// The numbers in the second column of `rows`, in `radix`.
fn told(rows: &[Vec<String>], radix: u32) -> BTreeSet<u8> {
    let number = |row: &Vec<String>| u8::from_str_radix(row.get(2)?, radix).ok();
    rows.iter().filter_map(number).collect()
}

/// The value of `const NAME: u8` in `line`, where it is one.
fn constant(line: &str) -> Option<(&str, u8)> {
    let (name, value) = line.strip_prefix("const ")?.split_once(": u8 = ")?;
    let value = value.strip_suffix(';')?;
    let parsed = match value.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16),
        None => value.parse(),
    };
    Some((name, parsed.ok()?))
}

/// The constants of `code` from `first` to `last`, in its order.
fn constants(code: &str, first: &str, last: &str) -> BTreeSet<u8> {
    let all: Vec<(&str, u8)> = code.lines().filter_map(constant).collect();
    let at = |of: &str| all.iter().position(|(name, _)| *name == of).unwrap();
    all[at(first)..=at(last)].iter().map(|(_, n)| *n).collect()
}

/// How many reasons the list `name` of `code` has.
fn reasons(code: &str, name: &str) -> usize {
    let list = code.split(&format!("const {name}: [")).nth(1).unwrap();
    let length = list.split("; ").nth(1).unwrap().split(']').next();
    length.unwrap().parse().unwrap()
}

#[test]
fn frames_messages_orders_and_events_have_a_row_each() {
    let page = read("docs/line.md");
    let frame = read("crates/wire/src/host/frame.rs");
    let message = read("crates/wire/src/host/message.rs");
    let mote = read("crates/protocols/src/mote/host.rs");
    let station = read("crates/protocols/src/line/station.rs");
    let frames = rows(&page, "Bytes");
    let frames: Vec<_> = (frames.iter().skip_while(|row| row[1] != "frame").cloned())
        .take_while(|row| row[1] != "field")
        .collect();
    assert_eq!(told(&frames, 10), constants(&frame, "HELLO", "AGAIN"));
    let messages = rows(&page, "Messages");
    let of_messages = constants(&message, "ORDER", "TIME_TOLD");
    assert_eq!(told(&messages, 10), of_messages);
    let mut orders = constants(&mote, "MEASURE", "FETCH_HOPS");
    orders.extend(constants(&station, "SESSION", "SEND"));
    assert_eq!(told(&rows(&page, "Orders"), 10), orders);
    let mut events = constants(&mote, "FLOODED", "COUNTED");
    events.extend(constants(&station, "HANDED", "NOT_BEGUN"));
    assert_eq!(told(&rows(&page, "Events"), 16), events);
    let version = frame.split("VERSION: Version = Version(").nth(1).unwrap();
    let version = version.split(')').next().unwrap();
    assert!(page.contains(&format!("The version is {version};")));
}

#[test]
fn every_reason_has_its_number() {
    let page = read("docs/line.md");
    let mote = read("crates/protocols/src/mote/host.rs");
    let station = read("crates/protocols/src/line/station.rs");
    let events = rows(&page, "Events");
    for (event, code, list) in [
        ("22", &mote, "REASONS"),
        ("30", &mote, "SETUP_ERRORS"),
        ("35", &mote, "ENDS"),
        ("36", &mote, "GROUPS"),
        ("36", &mote, "CHAINS"),
        ("43", &station, "REASONS"),
    ] {
        let row = events
            .iter()
            .find(|row| row.get(2).is_some_and(|n| n == event));
        let words = row.unwrap()[3].split([' ', ',', ':']);
        let last = words.filter_map(|word| word.parse::<usize>().ok()).max();
        assert_eq!(last.map(|n| n + 1), Some(reasons(code, list)), "{event}");
    }
}
