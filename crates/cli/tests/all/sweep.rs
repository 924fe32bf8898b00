//! `thalweg sweep` on one folder: shards, several processes, kills, what is missing, what fails, and bad input.
//! A hundred thousand runs and ten kills: `.ci/sweep.py`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Closed forms: nothing is simulated. Two runs are a part.
const BOUNDS: &str = "
id = 'bounds'
title = 'Bounds'
cpu_s = 2.5
[run]
kind = 'forwarding'
testbed = 'ring12'
board = 'ideal'
hops = [1]
channels = ['one', 'per-hop']
forwarding = ['conditional']
measure = 'bounds'
[[metric]]
name = 'bound'
of = 'bound_kbps'
stat = 'mean'
unit = 'kbit/s'
by = ['channels']
";

/// P3 on a line, of which no network has two node-distinct paths.
const PATHS: &str = "
id = 'paths'
title = 'Paths'
cpu_s = 5.0
[run]
kind = 'transfers'
testbed = 'line5'
routes = 1
packets = 20
protocols = ['p3']
route = { min_hops = 1, min_paths = 1, floors = 'any' }
";

const SWEEP: [&str; 7] = [
    "sweep",
    "bounds.toml",
    "--over",
    "run.hops=1,2,3",
    "--seeds",
    "1..4",
    "--out",
];

fn thalweg(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.current_dir(folder).args(args);
    command
}

/// Status, standard output and standard error.
fn said(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = thalweg(folder, args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn succeeds(folder: &Path, args: &[&str]) -> String {
    let (status, stdout, stderr) = said(folder, args);
    assert_eq!(status, Some(0), "{args:?}: {stderr}");
    stdout
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bounds.toml"), BOUNDS).unwrap();
    fs::write(dir.path().join("paths.toml"), PATHS).unwrap();
    dir
}

/// Names and bytes of all files in `folder`.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| read(entry.unwrap())).collect()
}

#[test]
fn shards_and_several_processes_make_what_one_makes() {
    let dir = folder();
    let here = dir.path();
    let (mut one, mut more) = (SWEEP.to_vec(), SWEEP.to_vec());
    one.push("one");
    assert_eq!(
        succeeds(here, &one),
        "one: bounds at 3 points with 4 seeds: 8 of 8 parts\n"
    );
    let made = files(&here.join("one"));
    assert_eq!(made.len(), 8 + 1);
    more.extend(["shards", "--shard"]);
    for shard in ["3/3", "1/3", "2/3"] {
        more.push(shard);
        succeeds(here, &more);
        more.pop();
    }
    assert_eq!(files(&here.join("shards")), made);
    let mut several = SWEEP.to_vec();
    several.extend(["several", "--jobs", "1"]);
    let begin = |_| {
        let mut command = thalweg(here, &several);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    for mut process in (0..3).map(begin).collect::<Vec<_>>() {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(files(&here.join("several")), made);
}

#[test]
fn rows_have_their_point_and_seed() {
    let dir = folder();
    let points = "run.payload, run.hops\n40,2\n,3\n";
    fs::write(dir.path().join("points.csv"), points).unwrap();
    let args = "sweep bounds.toml --points points.csv --seeds 7 --out runs";
    succeeds(dir.path(), &args.split(' ').collect::<Vec<_>>());
    let made = files(&dir.path().join("runs"));
    let (_, part) = made
        .iter()
        .find(|(name, _)| name.ends_with(".csv"))
        .unwrap();
    let part = String::from_utf8(part.clone()).unwrap();
    let mut lines = part.lines();
    let heading = lines.next().unwrap();
    assert!(
        heading.starts_with("at.run.hops,at.run.payload,"),
        "{heading}"
    );
    assert!(heading.contains(",point,") && heading.contains(",seed"));
    let begins: Vec<String> = lines
        .map(|line| line.split(',').take(2).collect::<Vec<_>>().join(","))
        .collect();
    assert_eq!(begins, ["2,40", "2,40", "3,", "3,"]);
}

#[test]
fn what_is_missing_is_told_by_part_and_shard() {
    let dir = folder();
    let mut sweep = SWEEP.to_vec();
    sweep.extend(["runs", "--shard", "2/4"]);
    succeeds(dir.path(), &sweep);
    let status = ["sweep", "--status", "runs", "--shards", "4"];
    let text = succeeds(dir.path(), &status);
    assert!(
        text.starts_with("bounds at 3 points with 4 seeds: 2 of 8 parts; 10 runs to do"),
        "{text}"
    );
    assert!(text.contains("run.hops = 3"), "{text}");
    assert!(
        text.ends_with("shards of 4 with parts missing: 1,3,4\n"),
        "{text}"
    );
    let json = succeeds(dir.path(), &[&status[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["shards_missing"], serde_json::json!([1, 3, 4]));
    assert_eq!(json["missing"], serde_json::json!([0, 2, 3, 4, 6, 7]));
    assert_eq!((&json["done"], &json["parts"]), (&2.into(), &8.into()));
}

#[test]
fn a_point_that_fails_is_told_with_its_seed_and_leaves_the_others_of_its_part_alone() {
    let dir = folder();
    let cheap = PATHS.replace("cpu_s = 5.0", "cpu_s = 1.0");
    fs::write(dir.path().join("paths.toml"), cheap).unwrap();
    let args = "sweep paths.toml --over run.route.min_paths=2,1 --seeds 1..2 --out runs";
    let args: Vec<&str> = args.split(' ').collect();
    let there = "paths at 2 points with 2 seeds: 2 of 2 parts, 2 with points that failed";
    // A second run has nothing left to do, and reports the failures again.
    for _ in 0..2 {
        let (status, stdout, stderr) = said(dir.path(), &args);
        assert_eq!(status, Some(1), "{stderr}");
        assert_eq!(stdout, format!("runs: {there}\n"));
        for seed in [1, 2] {
            let place = format!("thalweg: seed {seed}, run.route.min_paths = 2: line5");
            assert!(stderr.contains(&place), "{stderr}");
        }
        let last = "thalweg: error: 2 runs failed; delete files that end in failed.csv to have them tried again\n";
        assert!(stderr.ends_with(last), "{stderr}");
    }
    let made = files(&dir.path().join("runs"));
    let names: Vec<&String> = made
        .keys()
        .filter(|name| name.ends_with(".failed.csv"))
        .collect();
    assert_eq!((made.len(), names.len()), (2 + 1, 2), "and no marks");
    let text = String::from_utf8(made[names[0]].clone()).unwrap();
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("line5, seed"))
            .count(),
        1,
        "{text}"
    );
    assert!(text.lines().count() > 2, "rows of the other point: {text}");
    let said = succeeds(dir.path(), &["sweep", "--status", "runs"]);
    assert!(
        said.starts_with(there) && said.matches("failed: seed ").count() == 2,
        "{said}"
    );
}

#[test]
fn a_part_that_was_emptied_is_made_again() {
    let dir = folder();
    let mut sweep = SWEEP.to_vec();
    sweep.push("runs");
    succeeds(dir.path(), &sweep);
    let made = files(&dir.path().join("runs"));
    let part = made.keys().find(|name| name.ends_with(".csv")).unwrap();
    fs::write(dir.path().join("runs").join(part), "").unwrap();
    let said = succeeds(dir.path(), &["sweep", "--status", "runs"]);
    assert!(said.contains("7 of 8 parts"), "{said}");
    succeeds(dir.path(), &sweep);
    assert_eq!(files(&dir.path().join("runs")), made);
}

/// With the feature or without: it is a feature of the library, which another package may have asked for.
#[test]
fn parts_are_parquet_where_the_program_can_write_it() {
    let dir = folder();
    let mut sweep = SWEEP.to_vec();
    sweep.extend(["runs", "--format", "parquet"]);
    let (status, stdout, stderr) = said(dir.path(), &sweep);
    if status == Some(2) {
        assert!(
            stderr.contains("built without the feature parquet"),
            "{stderr}"
        );
        assert!(!dir.path().join("runs").exists());
        return;
    }
    assert_eq!(
        stdout, "runs: bounds at 3 points with 4 seeds: 8 of 8 parts\n",
        "{stderr}"
    );
    let made = files(&dir.path().join("runs"));
    let parts: Vec<_> = made
        .iter()
        .filter(|(name, _)| name.ends_with(".parquet"))
        .collect();
    assert_eq!(parts.len(), 8);
    assert!(parts
        .iter()
        .all(|(_, bytes)| bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1")));
    let csv = SWEEP.iter().copied().chain(["csv"]).collect::<Vec<_>>();
    succeeds(dir.path(), &csv);
    let results = |folder| succeeds(dir.path(), &["sweep", "--results", folder]);
    assert_eq!(results("runs"), results("csv"));
}

#[test]
fn results_of_what_is_there_are_printed_at_each_point() {
    let dir = folder();
    let mut sweep = SWEEP.to_vec();
    sweep.push("runs");
    succeeds(dir.path(), &sweep);
    let text = succeeds(dir.path(), &["sweep", "--results", "runs"]);
    let line = "run.hops = 2 bound, kbit/s one 112.4 112.4 4";
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.lines().any(|found| words(found) == line), "{text}");
    let lines = succeeds(dir.path(), &["sweep", "--results", "runs", "--json"]);
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3 * 2, "points and ways to take channels");
    assert_eq!(lines[0]["point"]["run.hops"], 1);
    assert_eq!(
        (&lines[0]["metric"], &lines[0]["n"]),
        (&"bound".into(), &4.into())
    );
}

#[test]
fn an_experiment_without_metrics_has_rows_and_no_results() {
    let dir = folder();
    let args = "sweep paths.toml --over run.packets=20 --seeds 1 --out runs";
    succeeds(dir.path(), &args.split(' ').collect::<Vec<_>>());
    let said = succeeds(dir.path(), &["sweep", "--results", "runs"]);
    assert!(
        said.ends_with("no results: the experiment has no [[metric]], only rows\n"),
        "{said}"
    );
    let part = files(&dir.path().join("runs")).into_keys();
    for part in part.filter(|name| name.ends_with(".csv")) {
        fs::remove_file(dir.path().join("runs").join(part)).unwrap();
    }
    let said = succeeds(dir.path(), &["sweep", "--results", "runs"]);
    assert!(
        said.ends_with("no results: there are no rows yet\n"),
        "{said}"
    );
}

#[test]
fn bad_input_is_one_line_before_anything_runs() {
    let dir = folder();
    fs::write(dir.path().join("bad.csv"), "run.payload\n40\n400\n").unwrap();
    let long = (1..=1000)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let thousand = ["a", "b", "c"].map(|key| format!("run.{key}={long}"));
    let over = |values| vec!["bounds.toml", "--over", values];
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (
            over("run.paylod=4"),
            "run.paylod: unknown key; the nearest is payload",
        ),
        (over("run.payload=many"), "run.payload: "),
        (over("run.payload=400"), "run.payload: "),
        (over("payload=4"), "expected a key of [run]"),
        (over("run.payload=80..40"), "the range 80..40 is empty"),
        (over("run.payload=40..80"), "a range is drawn from"),
        (
            vec!["paths.toml", "--over", "run.testbed=nowhere"],
            "nowhere",
        ),
        (
            vec!["bounds.toml", "--seeds", "1..1000000000"],
            "more than 1000000 runs",
        ),
        (
            vec!["bounds.toml", "--seeds", "18446744073709551615"],
            "seeds are from 0 to 9223372036854775807",
        ),
        (
            vec!["bounds.toml", "--points", "bad.csv"],
            "run.payload = 400: ",
        ),
        (
            vec!["bounds.toml", "--points", "none.csv"],
            "--points none.csv: cannot read",
        ),
        (
            vec!["nothing"],
            "no experiment and no file is called \"nothing\"",
        ),
        (vec!["bounds.toml", "--shard", "0/4"], "such as 3/16"),
        (
            thousand
                .iter()
                .fold(vec!["bounds.toml"], |mut args, values| {
                    args.extend(["--over", values]);
                    args
                }),
            "more than 100000 points",
        ),
        (
            vec![
                "bounds.toml",
                "--over",
                "run.payload=4..80",
                "--random",
                "1000000000",
            ],
            "more than 100000 points",
        ),
    ];
    for (args, part) in cases {
        let args = [&["sweep", "--out", "runs"], &args[..]].concat();
        let (status, stdout, stderr) = said(dir.path(), &args);
        assert_eq!((status, &*stdout), (Some(2), ""), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
        assert!(stderr.contains(part), "{args:?}: {stderr}");
        assert!(!dir.path().join("runs").exists(), "{args:?}");
    }
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let dir = folder();
    let mut sweep = SWEEP.to_vec();
    sweep.push("runs");
    succeeds(dir.path(), &sweep);
    let changed = BOUNDS.replace("'ideal'", "'telosb-contiki'");
    fs::write(dir.path().join("bounds.toml"), changed).unwrap();
    let (status, _, stderr) = said(dir.path(), &sweep);
    assert_eq!(status, Some(2));
    let why = "holds parts of the experiment with other keys, files or losses; name another folder";
    assert!(stderr.contains(why), "{stderr}");
    let (status, _, stderr) = said(dir.path(), &["sweep", "--status", "."]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("holds no sweep"), "{stderr}");
}
