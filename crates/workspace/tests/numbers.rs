//! No number of a result is typed by hand into a page of `docs/`: it stands in a generated block, `<!--NAME-->` to
//! `<!--/NAME-->`, or between `<!--measured: COMMAND-->` and `<!--/measured-->` on a page that shows the command which prints it.
//!
//! What looks like a result is a number with a unit of results behind it (`UNITS`), or `N of M`. Code is left out, and so are pages
//! of history and the pages of results, which are generated as a whole.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const UNITS: [&str; 6] = ["kbit/s", "Mbit/s", "%", "packets/s", "uJ/B", "µJ"];

/// It tells what was tried, with its seeds and commits.
const HISTORY: &str = "dropped.md";

/// What looks like a result and is none: page, words of the line. Constants, formats, what a paper or a data sheet says, sums over them.
const NO_RESULTS: [(&str, &str); 36] = [
    ("beside-ns3.md", "250 kbit/s, unslotted CSMA/CA"),
    ("fastforward.md", "| without acknowledgements | 3904 "),
    ("fastforward.md", "| with (the ACK is 352 on the air) "),
    ("fastforward.md", "the 95.1 % that arrive over 11 hops"),
    ("fastforward.md", "the cost of 20 % loss"),
    ("fastforward.md", "| `pip`: CC2420 on an MSP430"),
    ("fastforward.md", "| `pip-opal`: AT86RF231"),
    (
        "fastforward.md",
        "The paper's 25 % are PIP's own publication",
    ),
    ("fastforward.md", "Between 44 % and FastForward's 76 %"),
    ("forwarding.md", "board exceeds it by up to 1.1 %"),
    ("forwarding.md", "CIT would have the paper's 109 kbit/s"),
    ("forwarding.md", "where the paper reports 97 %"),
    (
        "forwarding.md",
        "only the ends' copying limits, at 148 kbit/s",
    ),
    (
        "forwarding.md",
        "its implementations report (63 to 73 kbit/s)",
    ),
    ("line.md", "| probing | 13 |"),
    ("line.md", "| collecting | 16 |"),
    ("plan.md", "empty within 3 % of the time"),
    ("radio-model.md", "Glossy's 75 % for two equal senders"),
    ("radio-model.md", "Glossy: 75 % at 128 B"),
    ("radio-model.md", "Glossy: below 15 %"),
    ("radio-model.md", "frames in 4 % of the time"),
    ("radio-model.md", "The 4 % are fitted"),
    ("radio-model.md", "print the row of 4 %"),
    ("rcrt.md", "a step below 2 % is none"),
    ("rcrt.md", "IFRC begins at .02 packets/s"),
    ("rcrt.md", "by at least 10 %"),
    ("rcrt.md", "demands of .7 to 1.4 packets/s"),
    ("results.md", "The radio carries 220 kbit/s"),
    ("robustness.md", "less than 85 % is foreseen"),
    ("security.md", "4, of 116 bytes of payload"),
    ("security.md", "A MIC for each packet takes 4 of 121"),
    ("security.md", "4 of 121 bytes are 3.3 %"),
    ("store.md", "220.4 kbit/s on a CC2420"),
    ("python.md", "95 % interval"),
    ("sweeps.md", "95 % interval"),
    ("site/first-experiment.md", "95 % interval"),
];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The pages that people write, by name within `docs`.
fn pages() -> Vec<String> {
    let names = |folder: &str| {
        let entries = fs::read_dir(docs().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| name.ends_with(".md") && name != HISTORY);
        names
            .map(|name| format!("{folder}{name}"))
            .collect::<Vec<_>>()
    };
    [names(""), names("site/")].concat()
}

fn is_number(word: &str) -> bool {
    let sign = |c: char| c.is_ascii_digit() || ".,±+-".contains(c);
    word.contains(|c: char| c.is_ascii_digit()) && word.chars().all(sign)
}

/// Whether `line` has a number that looks like a result.
fn has_result(line: &str) -> bool {
    let signs = ['(', ')', '*', ';', ':', ',', '.', '|', '`'];
    let words = line.split_whitespace();
    let words: Vec<&str> = words.map(|word| word.trim_matches(signs)).collect();
    let next = |at: usize| words.get(at).copied().unwrap_or_default();
    let is_share = |at: usize| next(at + 1) == "of" && is_number(next(at + 2));
    let is_result = |at: usize| UNITS.contains(&next(at + 1)) || is_share(at);
    (0..words.len()).any(|at| is_number(words[at]) && is_result(at))
}

/// The name of the block that `line` begins.
fn begins(line: &str) -> Option<&str> {
    let name = line.strip_prefix("<!--")?.strip_suffix("-->")?;
    (!name.starts_with('/')).then_some(name)
}

/// The lines of `page` outside blocks and code that have a result.
fn typed(page: &str) -> Vec<&str> {
    let (mut fenced, mut block) = (false, false);
    let mut found = Vec::new();
    for line in page.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if begins(line).is_some() || line.starts_with("<!--/") {
            block = begins(line).is_some();
        } else if !fence && !fenced && !block && !line.starts_with("    ") && has_result(line) {
            found.push(line);
        }
    }
    found
}

#[test]
fn no_result_is_typed_by_hand() {
    let mut wrong = String::new();
    for page in pages() {
        let text = fs::read_to_string(docs().join(&page)).unwrap();
        let listed = |line: &str| {
            let mut of_page = NO_RESULTS.iter().filter(|(of, _)| *of == page);
            of_page.any(|(_, words)| line.contains(words))
        };
        for line in typed(&text).into_iter().filter(|line| !listed(line)) {
            let _ = writeln!(wrong, "{page}: {line}");
        }
    }
    assert!(
        wrong.is_empty(),
        "generate them (docs/results/tables.toml), say what prints them (<!--measured: COMMAND-->), or leave them out:\n{wrong}"
    );
}

#[test]
fn what_is_listed_is_there() {
    for (page, words) in NO_RESULTS {
        let text = fs::read_to_string(docs().join(page)).unwrap();
        let is_there = typed(&text).iter().any(|line| line.contains(words));
        assert!(is_there, "{page}: no line that needs {words:?}");
    }
}

#[test]
fn a_page_shows_what_printed_its_numbers() {
    for page in pages() {
        let text = fs::read_to_string(docs().join(&page)).unwrap();
        let shown = text.lines().filter(|line| !line.starts_with("<!--"));
        let shown = shown.collect::<Vec<_>>().join("\n");
        for command in text.lines().filter_map(begins) {
            if let Some(command) = command.strip_prefix("measured: ") {
                assert!(shown.contains(command), "{page}: no `{command}`");
            }
        }
    }
}

#[test]
fn results_are_told_from_other_numbers() {
    assert!(has_result("it brings 164.8 kbit/s over six hops"));
    assert!(has_result("| PIP's zeros | 48 % | 52 % |"));
    assert!(has_result("312 of 428 lay in it"));
    assert!(!has_result("seeds 21 to 25, 59,000 bytes, one of them"));
    let page = "<!--speed-->\n| 40 % |\n<!--/speed-->\n\n    12 % in code\n\nand 41 %\n";
    assert_eq!(typed(page), ["and 41 %"]);
}
