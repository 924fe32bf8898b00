//! Every command in the pages is one: those that end soon are run, of the others it is checked whether they are
//! understood, and whether what they name is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages below `folder`.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            pages(&path, found);
        } else if name.ends_with(".md") && name != "CHANGELOG.md" {
            found.push(path);
        }
    }
}

/// What stands behind `thalweg` on its own line or between two backticks, without a remark after spaces.
fn commands(page: &str) -> Vec<String> {
    let line = |line: &str| {
        let line = line.trim_start().trim_start_matches("$ ");
        let command = line.strip_prefix("thalweg ")?;
        let end = command.find("  ").unwrap_or(command.len());
        Some(
            command[..end]
                .split(" #")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned(),
        )
    };
    let lines = page.lines().filter_map(line);
    let quoted = page.split('`').skip(1).step_by(2);
    let quoted = quoted.filter_map(|code| {
        Some(
            code.strip_prefix("thalweg ")?
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        )
    });
    lines
        .chain(quoted)
        .filter(|command| !command.contains('`'))
        .collect()
}

fn has_place(command: &str) -> bool {
    command.split([' ', '=']).any(|word| PLACES.contains(&word))
}

fn all() -> BTreeSet<String> {
    let mut found = Vec::new();
    pages(&root(), &mut found);
    assert!(found.len() > 20, "{}", found.len());
    // As the first of sixteen tasks finds it.
    let task = "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT";
    let read = |path: &PathBuf| commands(&fs::read_to_string(path).unwrap().replace(task, "1/16"));
    found.iter().flat_map(read).collect()
}

/// Files that pages speak of.
fn files(folder: &Path) {
    let links = "src,dst,channel,prr,rssi_dbm\n1,2,26,0.99,-70\n2,1,26,0.99,-70\n\
                 2,3,26,0.99,-71\n3,2,26,0.98,-71\n1,3,26,0.97,-75\n3,1,26,0.97,-75\n";
    for name in ["mysite.csv", "links.csv", "measured.csv"] {
        fs::write(folder.join(name), links).unwrap();
    }
    // What a file is, its content says.
    fs::write(folder.join("links.xlsx"), "gain 1 2 -70\ngain 2 1 -71\n").unwrap();
    for name in ["mysite.toml", "mine.toml", "site.toml"] {
        fs::copy(root().join("testbeds/line5.toml"), folder.join(name)).unwrap();
    }
    let links = root().join("docs/examples/bridge.csv");
    fs::copy(links, folder.join("bridge.csv")).unwrap();
    let board = root().join("boards/telosb-contiki.toml");
    fs::copy(board, folder.join("myboard.toml")).unwrap();
    fs::write(folder.join("photo.jpg"), [7; 3000]).unwrap();
    let reboot = "[[incident]]\nat = \"20 s\"\nwhat = \"dies\"\nnode = 12\n\
                  [[incident]]\nat = \"60 s\"\nwhat = \"starts\"\nnode = 12\n";
    fs::write(folder.join("reboot.toml"), reboot).unwrap();
}

/// What a page leaves for its reader to fill in.
const PLACES: [&str; 10] = [
    "N", "FILE", "TRACE", "COMMAND", "NAME", "DIR", "ID", "SHELL", "PAPER", "...",
];

#[test]
fn commands_that_end_soon_run() {
    let dir = tempfile::tempdir().unwrap();
    files(dir.path());
    let soon = [
        "collect",
        "plan",
        "testbed",
        "timeline",
        "protocols",
        "objects",
        "experiment",
        "completions",
    ];
    let mut run = 0;
    for command in all() {
        let words: Vec<&str> = command.split(' ').collect();
        let is_client = words[0] == "jobs" || words.contains(&"--gateway");
        // Behind a port or a gateway there is nothing here, and sweeps take long: only the arguments are checked.
        if (is_client || words[0] == "sweep") && !has_place(&command) {
            let mut ask = Command::cargo_bin("thalweg").unwrap();
            ask.args(&words).arg("--help").assert().success();
            continue;
        }
        // Of a whole building it takes minutes, and so does a survey of 139 nodes in two bands.
        let is_long = words
            .iter()
            .any(|w| ["--all-nodes", "indriya-opal", "--port"].contains(w));
        if !soon.contains(&words[0]) || has_place(&command) || is_long {
            continue;
        }
        let out = Command::cargo_bin("thalweg")
            .unwrap()
            .current_dir(dir.path())
            .args(&words)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "thalweg {command}: {stderr}");
        run += 1;
    }
    assert!(run >= 12, "{run}");
}

#[test]
fn experiments_and_papers_that_pages_name_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let succeeds = |args: &[&str]| {
        let mut command = Command::cargo_bin("thalweg").unwrap();
        command
            .current_dir(dir.path())
            .args(args)
            .output()
            .unwrap()
            .status
            .success()
    };
    let listed = Command::cargo_bin("thalweg")
        .unwrap()
        .args(["experiment", "list", "--json"])
        .output()
        .unwrap();
    let list = String::from_utf8(listed.stdout).unwrap();
    let mut named = 0;
    for command in all() {
        let words: Vec<&str> = command.split(' ').collect();
        let [verb @ ("run" | "reproduce"), names @ ..] = &words[..] else {
            continue;
        };
        let options = names.iter().position(|word| word.starts_with('-'));
        for name in &names[..options.unwrap_or(names.len())] {
            let is_file = name.ends_with(".toml") || PLACES.contains(name);
            if is_file || *name == "bench.w1" {
                continue;
            }
            let is_paper = *verb == "reproduce" && list.contains(&format!("\"{name}."));
            let there = is_paper || list.contains(&format!("\"{name}\""));
            assert!(there, "thalweg {command}: {name}");
            named += 1;
        }
        // An unknown option is reported before the name of an experiment.
        let mut args = words.clone();
        args.truncate(1);
        args.extend(options.map_or(&[][..], |at| &words[at + 1..]));
        args.push("--help");
        assert!(has_place(&command) || succeeds(&args), "thalweg {command}");
    }
    assert!(named >= 12, "{named}");
}
