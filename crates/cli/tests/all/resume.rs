//! `run` and `reproduce` after `kill -9`: what was done is taken, and the results are those of a run in one go.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

const MINE: &str = "
id = 'mine'
title = 'P3 and PIP on a line'
[run]
kind = 'transfers'
testbed = 'line5'
routes = 2
packets = 500
protocols = ['p3', 'pip']
route = { min_hops = 1, max_hops = 4, min_paths = 1, floors = 'any' }
[[metric]]
name = 'goodput_mean'
of = 'goodput_kbps'
stat = 'mean'
by = ['protocol']
";

fn thalweg(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.current_dir(folder).args(args);
    command
}

fn output(folder: &Path, args: &[&str]) -> (String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = thalweg(folder, args).output().unwrap();
    let errors = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(0), "{errors}");
    (String::from_utf8(stdout).unwrap(), errors)
}

/// The seeds that are kept whole in `folder`. On a busy machine there are files of single settings as well, which took long.
fn kept(folder: &Path) -> BTreeSet<u64> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let seed = |file: fs::DirEntry| {
        let name = file.file_name().to_string_lossy().into_owned();
        let (_, seed) = name.strip_suffix(".json")?.split_once('-')?;
        seed.parse().ok()
    };
    files.filter_map(seed).collect()
}

#[test]
fn a_killed_run_goes_on_with_the_seeds_that_are_left() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine.toml"), MINE).unwrap();
    // So many seeds that the first process cannot end before it is killed.
    let long = ["run", "mine.toml", "--seeds", "1..10000", "--jobs", "1"];
    let runs = dir.path().join("thalweg-data/runs");
    let mut child = thalweg(dir.path(), &long);
    let mut child = child
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..600 {
        if kept(&runs).len() >= 3 {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(kept(&runs).len() >= 3);
    // Seeds are kept from the first second on; those before it are done again.
    let last = kept(&runs).last().copied().unwrap();
    let seeds = format!("{}..{}", last - 2, last + 1);
    let args = ["run", "mine.toml", "--seeds", &seeds, "--json"];
    let (first, told) = output(dir.path(), &args);
    let taken = |seeds: u64| format!("mine: {seeds} of 4 seeds taken from an earlier run");
    assert!((1..=3).any(|n| told.contains(&taken(n))), "{told}");
    // What this command took is gone, and what it did not ask for stays.
    let left = kept(&runs);
    let (again, told) = output(dir.path(), &args);
    assert!(!told.contains("taken") && first == again && kept(&runs) == left);
}
