//! Functions are at most 60 lines long, blank ones left out, and files 600; files past 400 are listed with the reason.
//!
//! The source is read as text that `rustfmt` has laid out: an item ends with the brace that stands below its first word. Tests are
//! left out.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a function, blank ones left out.
const FUNCTION: usize = 60;

/// The most lines of a file.
const FILE: usize = 600;

/// Longer files are listed.
const LISTED: usize = 400;

/// Longer functions: file, name, how long they may be. The first is one table. The other two are run for every frame, and
/// their parts borrow different fields.
const LONG_FUNCTIONS: [(&str, &str, usize); 2] = [
    ("medium/src/medium/lock.rs", "arrive_everywhere", 70),
    ("sim/src/world.rs", "deliver", 68),
];

/// Why files past 400 lines stay whole, and which they are.
const LONG_FILES: [(&str, &[&str]); 4] = [
    (
        "one state machine, whose states and transitions are read together",
        &[
            "protocols/src/glossy/flood.rs",
            "protocols/src/mote/mod.rs",
            "protocols/src/floodnet/mod.rs",
            "protocols/src/floodnet/sweeps.rs",
            "protocols/src/floodnet/sink.rs",
            "protocols/src/fastforward/mod.rs",
            "protocols/src/rcrt/sink/mod.rs",
            "protocols/src/csma/mod.rs",
            "protocols/src/pipeline/destination.rs",
            "protocols/src/pipeline/source.rs",
            "protocols/src/pipeline/hop/mod.rs",
            "protocols/src/burst/mod.rs",
            "protocols/src/stack/lower.rs",
            "host/src/collector/mod.rs",
            "host/src/transfer/pipeline.rs",
            "host/src/store/jobs.rs",
            "cli/src/client/collect.rs",
        ],
    ),
    (
        "one chip or one air: registers, states and times as a data sheet or a paper has them in one place",
        &[
            "nrf52840/src/radio/mod.rs",
            "nrf52840/src/radio/transmit.rs",
            "nrf52840/src/registers.rs",
            "emulator/src/soc/mod.rs",
            "emulator/src/soc/radio.rs",
            "emulator/src/core/mod.rs",
            "emulator/src/core/system.rs",
            "emulator/src/world.rs",
            "medium/src/ether/mod.rs",
            "sim/src/rules/flight.rs",
            "sim/src/rules/software.rs",
            "sim/src/world.rs",
            "sim/src/network.rs",
            "sim/src/radio.rs",
        ],
    ),
    (
        "a table of facts: keys of a file, frames of a format, the contract, what a row has",
        &[
            "engine/src/radio.rs",
            "wire/src/rcrt.rs",
            "wire/src/host/frame.rs",
            "sim/src/board/file.rs",
            "testbeds/src/file.rs",
            "testbeds/src/rows.rs",
            "fault/src/script.rs",
            "lab/src/experiment/keys.rs",
            "lab/src/experiment/spec.rs",
            "lab/src/experiment/rcrt/mod.rs",
            "lab/src/experiment/rcrt/rows.rs",
            "lab/src/results/metric.rs",
            "thalweg/src/lab.rs",
        ],
    ),
    (
        "one search or one network with its parts",
        &[
            "planner/src/chains.rs",
            "planner/src/hop_route.rs",
            "planner/src/route.rs",
            "simnet/src/motes.rs",
            "lab/src/experiment/transfers/draw.rs",
            "lab/src/experiment/transfers/fetch.rs",
            "daemon/src/station_state.rs",
            "daemon/src/http/api.rs",
            "daemon/src/page/map.rs",
            "daemon/src/engine/waves.rs",
        ],
    ),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources below `folder` that are no tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !["tests", "target"].contains(&name) && !path.is_symlink() {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Where the item that begins with the line `at` ends.
fn end_of(lines: &[&str], at: usize) -> usize {
    let first = lines[at];
    let indent = &first[..first.len() - first.trim_start().len()];
    let opens = (at..lines.len()).find(|n| lines[*n].ends_with('{'));
    let ends = |n: usize| {
        let line = lines[n];
        let is_bare = line.ends_with(';') && opens.is_none_or(|opens| n < opens);
        let is_short = n == at && line.ends_with('}') && line.contains('{');
        line.strip_prefix(indent) == Some("}") || is_bare || is_short
    };
    (at..lines.len()).find(|n| ends(*n)).unwrap_or(at)
}

/// `text` without what is compiled for tests alone.
fn without_tests(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < lines.len() {
        if lines[at].trim_start() == "#[cfg(test)]" {
            at = end_of(&lines, (at + 1).min(lines.len() - 1)) + 1;
        } else {
            kept.push(lines[at]);
            at += 1;
        }
    }
    kept
}

/// The name of the function that begins with `line`.
fn function(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let before = words.by_ref().take_while(|word| *word != "fn");
    let known =
        |word: &str| ["const", "async", "unsafe"].contains(&word) || word.starts_with("pub");
    let is_item = before
        .into_iter()
        .all(|word| known(word) || word.starts_with("super"));
    let name = words.next()?;
    let end = name.find(['(', '<']).unwrap_or(name.len());
    is_item.then_some(&name[..end])
}

/// Each file by its path below `crates`, with its lines.
fn files() -> Vec<(String, Vec<String>)> {
    let files = sources(&crates()).into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(crates()).unwrap().to_str().unwrap();
        let lines = without_tests(&text).into_iter().map(str::to_owned);
        (name.to_owned(), lines.collect())
    });
    files.collect()
}

#[test]
fn functions_are_short() {
    let mut long = String::new();
    let mut seen = 0;
    for (file, lines) in files() {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(name) = function(line) else { continue };
            let of_it = &lines[at..=end_of(&lines, at)];
            let count = of_it.iter().filter(|line| !line.trim().is_empty()).count();
            let listed = LONG_FUNCTIONS
                .iter()
                .find(|(f, n, _)| *f == file && *n == name);
            seen += 1;
            if count > listed.map_or(FUNCTION, |(.., most)| *most) {
                let _ = writeln!(long, "{file}:{}: {name} has {count} lines", at + 1);
            }
        }
    }
    assert!(seen > 4000, "{seen} functions were found");
    assert!(long.is_empty(), "more than {FUNCTION} lines:\n{long}");
}

#[test]
fn long_files_are_listed() {
    let mut long = String::new();
    for (file, lines) in files() {
        let listed = LONG_FILES
            .iter()
            .any(|(_, files)| files.contains(&file.as_str()));
        let most = if listed { FILE } else { LISTED };
        if lines.len() > most {
            let _ = writeln!(long, "{file}: {} lines, {most} at most", lines.len());
        }
    }
    assert!(
        long.is_empty(),
        "split them by meaning, or list them with the reason:\n{long}"
    );
    for file in LONG_FILES.iter().flat_map(|(_, files)| *files) {
        assert!(crates().join(file).exists(), "no {file}");
    }
}
