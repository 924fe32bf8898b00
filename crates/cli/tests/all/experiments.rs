//! `experiment`, `run` and `reproduce` end to end, on experiments small enough for every test run.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

const LINE: &str = "
id = 'mine'
title = 'P3 and PIP on a line'
[run]
kind = 'transfers'
testbed = 'line5'
routes = 1
packets = 10
protocols = ['p3', 'pip']
route = { min_hops = 2, max_hops = 4, min_paths = 1, floors = 'any' }
[[metric]]
name = 'goodput_mean'
of = 'goodput_kbps'
stat = 'mean'
unit = 'kbit/s'
by = ['protocol']
[[figure]]
name = 'goodput'
title = 'Goodput'
x = { column = 'protocol', label = 'Protocol' }
y = { column = 'goodput_kbps', label = 'Goodput (kbit/s)' }
";

fn thalweg(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("thalweg").unwrap();
    let output = command.current_dir(folder).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn run_writes_rows_results_and_figures_the_same_each_time() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine.toml"), LINE).unwrap();
    let args = |out| {
        [
            "run",
            "mine.toml",
            "--seeds",
            "1..2",
            "--json",
            "--out",
            out,
        ]
    };
    let (status, first, _) = thalweg(dir.path(), &args("a"));
    assert_eq!(status, 0);
    assert_eq!(first.lines().count(), 2);
    let keys = [
        "id",
        "paper",
        "metric",
        "at",
        "value",
        "ci95",
        "n",
        "unit",
        "reference",
        "band",
        "judged",
        "within",
    ];
    for line in first.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let object = value.as_object().unwrap();
        assert!(
            object.len() == keys.len() && keys.iter().all(|k| object.contains_key(*k)),
            "{line}"
        );
        assert!(
            value["n"] == 2 && value["value"].as_f64().unwrap() > 0.0,
            "{line}"
        );
    }
    let (_, second, _) = thalweg(dir.path(), &args("b"));
    assert_eq!(first, second);
    for file in ["rows.csv", "rows.json", "results.json", "goodput.svg"] {
        let read = |folder: &str| fs::read(dir.path().join(folder).join(file)).unwrap();
        assert!(!read("a").is_empty() && read("a") == read("b"), "{file}");
    }
    let (_, table, _) = thalweg(dir.path(), &["run", "mine.toml", "--seeds", "1"]);
    assert!(
        table.contains("by protocol") && table.contains("goodput_mean, kbit/s"),
        "{table}"
    );
}

#[test]
fn experiments_are_listed_and_shown() {
    let dir = tempfile::tempdir().unwrap();
    let (status, list, _) = thalweg(dir.path(), &["experiment", "list"]);
    assert!(
        status == 0 && list.contains("p3.table1") && list.contains("p3.asym"),
        "{list}"
    );
    let (_, json, _) = thalweg(dir.path(), &["experiment", "list", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json.as_array().is_some_and(|a| a.len() >= 11));
    let (_, toml, _) = thalweg(dir.path(), &["experiment", "show", "p3.fig5"]);
    // What is shown is a file that can be run.
    fs::write(dir.path().join("copy.toml"), toml).unwrap();
    let (status, shown, _) = thalweg(dir.path(), &["experiment", "show", "copy.toml", "--json"]);
    assert!(status == 0 && shown.contains("\"transfers\""), "{shown}");
}

#[test]
fn reproduce_judges_and_reports() {
    let dir = tempfile::tempdir().unwrap();
    let reproduce = |what: &[&str]| {
        let args = [&["reproduce", "--quick", "--check"], what].concat();
        thalweg(dir.path(), &args)
    };
    let seed = ["ff.fig4b", "--seeds", "1", "--report", "page"];
    let (status, text, errors) = reproduce(&[&seed[..], &["--out", "rows"]].concat());
    assert!(
        text.contains("by protocol") && text.contains("yield") && text.contains("within"),
        "{text}"
    );
    // One seed misses some of the bands, and nothing excuses that.
    let missed = text.matches("; not excused").count();
    assert!(missed > 0, "{text}");
    assert_eq!(status, 1, "{errors}");
    let told = format!("{missed} that no written exception excuses: ff.fig4b: ");
    assert!(errors.contains(&told), "{errors}");
    // Bounds by arithmetic, which lie in their bands.
    let (status, text, errors) = reproduce(&["ff.bounds"]);
    assert!(text.contains("2 of 2 within"), "{text}");
    assert_eq!(
        (status, errors.contains("exception")),
        (0, false),
        "{errors}"
    );
    // Without `--check` a miss is no error.
    let kept = ["reproduce", "--rows", "rows", "ff.fig4b"];
    let (status, text, _) = thalweg(dir.path(), &kept);
    assert_eq!((status, text.matches("; not excused").count()), (0, missed));
    let page = fs::read_to_string(dir.path().join("page/index.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("ff.fig4b") && !page.contains("<script"));
}

#[test]
fn what_is_not_there_is_named_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bad.toml"), "id = 'x'\ntitle = 3\n").unwrap();
    fs::write(
        dir.path().join("wide.toml"),
        LINE.replace("routes = 1", "routes = 0"),
    )
    .unwrap();
    let column = LINE.replace("of = 'goodput_kbps'", "of = 'goodput'");
    fs::write(dir.path().join("column.toml"), column).unwrap();
    for (args, part) in [
        (&["run", "no-such"][..], "no-such"),
        (
            &["run", "column.toml"],
            "column.toml: line 13: metric \"goodput_mean\", of: no row has a column",
        ),
        (&["run", "bad.toml"], "bad.toml: line 2"),
        (&["run", "wide.toml"], "run.routes"),
        (&["experiment", "show", "no-such"], "experiment list"),
        (&["reproduce", "p9"], "p9"),
        (&["run", "p3.fig5", "--seeds", "5..1"], "backwards"),
        (&["run", "p3.fig5", "--routes", "0"], "--routes"),
        // What an experiment has no use for.
        (&["run", "p3.table1", "--explain"], "p3.table1: --explain"),
        (&["run", "p3.fig5", "--nodes", "40"], "p3.fig5: --nodes"),
        (&["run", "cit.pip", "--routes", "3"], "cit.pip: --routes"),
        (&["run", "ff.bounds", "--testbed", "pair"], "--testbed"),
        (&["run", "fusion.fig5_2", "--loss", "1-2:0.5"], "--loss"),
        (&["run", "p3.fig5", "--pcap", "air.pcapng"], "--pcap"),
        (
            &["run", "bench.w1", "--testbed", "pair"],
            "bench.w1: --testbed",
        ),
        (&["run", "bench.w1", "--out", "o"], "bench.w1: --out"),
        (&["run", "bench.w1", "--seeds", "1..2"], "one seed"),
    ] {
        let (status, out, errors) = thalweg(dir.path(), args);
        let one = errors.lines().count() == 1 && errors.starts_with("thalweg: error: ");
        assert!(
            status == 2 && out.is_empty() && one && errors.contains(part),
            "{args:?}: {errors}"
        );
    }
}

#[test]
fn a_chain_of_ones_own_and_its_timeline() {
    let dir = tempfile::tempdir().unwrap();
    let chain = "
id = 'chain'
title = 'Two hops'
[run]
kind = 'forwarding'
testbed = 'ring12'
hops = [2]
forwarding = ['copying', 'conditional']
packets = 50
[[metric]]
name = 'throughput'
of = 'raw_kbps'
stat = 'mean'
unit = 'kbit/s'
by = ['forwarding']
";
    fs::write(dir.path().join("chain.toml"), chain).unwrap();
    let (status, out, _) = thalweg(dir.path(), &["run", "chain.toml", "--seeds", "1", "--json"]);
    assert_eq!((status, out.lines().count()), (0, 2));
    let (status, out, _) = thalweg(dir.path(), &["timeline", "--svg", "t.svg"]);
    assert_eq!(status, 0);
    assert!(out.contains("copying, 117 payload bytes") && out.contains("relay 1  radio |R"));
    let svg = fs::read_to_string(dir.path().join("t.svg")).unwrap();
    assert!(svg.ends_with("</svg>\n") && svg.contains("conditional"));
    let json = [
        "timeline",
        "--json",
        "--hops",
        "1",
        "--forwarding",
        "copying",
    ];
    let (status, out, _) = thalweg(dir.path(), &json);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(status == 0 && value["bars"].as_array().unwrap().len() > 3);
    for (args, wanted) in [
        (["timeline", "--board", "none"], "none"),
        (["timeline", "--show", "3"], "--show 3"),
        (["timeline", "--testbed", "pair"], "2 hops need 3"),
    ] {
        let (status, _, error) = thalweg(dir.path(), &args);
        assert!(status == 2 && error.contains(wanted), "{error}");
    }
}

#[test]
fn run_explains_losses_and_takes_another_network() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine.toml"), LINE).unwrap();
    let (status, text, _) = thalweg(
        dir.path(),
        &[
            "run",
            "mine.toml",
            "--seeds",
            "1",
            "--explain",
            "--out",
            "o",
        ],
    );
    assert_eq!(status, 0, "{text}");
    for wanted in [
        "seed 1, route 1",
        "where packets were lost: P3",
        "p3: 1 transfer,",
        "pip: 1 transfer,",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let json = fs::read_to_string(dir.path().join("o/explain.json")).unwrap();
    let explained: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(explained["transfers"].as_array().unwrap().len(), 2);
    assert_eq!(explained["generator"], "thalweg");
    // In a network of two nodes there is no route of two hops.
    let (status, _, error) = thalweg(
        dir.path(),
        &["run", "mine.toml", "--seeds", "1", "--testbed", "pair"],
    );
    assert_eq!(status, 2);
    assert!(error.contains("pair, seed 1: no two nodes"), "{error}");
}

#[test]
fn the_transfers_that_are_explained_are_those_of_the_rows() {
    let dir = tempfile::tempdir().unwrap();
    let whole = LINE.replace("packets = 10\n", "packets = 100\n");
    for world in ["mishaps = ['relay-dies']", "change_db = [9.0]"] {
        let text = whole.replace("routes = 1", &format!("routes = 1\n{world}"));
        fs::write(dir.path().join("mine.toml"), text).unwrap();
        let run = ["run", "mine.toml", "--seeds", "1..3"];
        let out = ["--explain", "--force", "--out", "o"];
        let (status, _, error) = thalweg(dir.path(), &[&run[..], &out[..]].concat());
        assert_eq!(status, 0, "{error}");
        let parsed = |name: &str| -> serde_json::Value {
            let text = fs::read_to_string(dir.path().join("o").join(name)).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        let (rows, explained) = (parsed("rows.json"), parsed("explain.json"));
        let mut bad = 0;
        for map in explained["transfers"].as_array().unwrap() {
            let is_same = |row: &&serde_json::Value| {
                ["seed", "route", "protocol"]
                    .iter()
                    .all(|key| row[key] == map[key])
            };
            let row = rows.as_array().unwrap().iter().find(is_same).unwrap();
            let rounds = map["map"]["rounds"].as_array().unwrap();
            let last = rounds
                .iter()
                .flat_map(|round| round["hops"].as_array().unwrap());
            let last = last.filter(|hop| hop["stage"] == map["map"]["hops"]);
            let arrived: u64 = last.map(|hop| hop["arrived"].as_u64().unwrap()).sum();
            assert_eq!(arrived >= 100, row["verified"] == 1, "{world}: {row}");
            bad += u32::from(arrived < 100 || rounds.len() > 1);
        }
        assert!(bad > 0, "{world}: nothing to explain");
    }
}

#[test]
fn a_dead_relay_or_a_restarted_sink_ends_pip_and_shows_in_the_rows() {
    let dir = tempfile::tempdir().unwrap();
    let text = LINE.replace(
        "packets = 10",
        "packets = 100\nmishaps = ['none', 'relay-dies', 'sink-reboots', 'source-reboots']",
    );
    fs::write(dir.path().join("mine.toml"), text).unwrap();
    let (status, _, _) = thalweg(
        dir.path(),
        &["run", "mine.toml", "--seeds", "1", "--out", "o"],
    );
    assert_eq!(status, 0);
    let rows = fs::read_to_string(dir.path().join("o/rows.json")).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).unwrap();
    let row = |mishap: &str, protocol: &str| {
        let mut rows = rows.iter();
        let found = rows.find(|r| r["mishap"] == mishap && r["protocol"] == protocol);
        found.unwrap()
    };
    let verified = |mishap: &str, protocol: &str| row(mishap, protocol)["verified"] == 1;
    assert!(verified("none", "pip") && verified("none", "p3"));
    assert!(!verified("relay-dies", "pip"));
    for node in ["sink", "source"] {
        let mishap = format!("{node}-reboots");
        assert!(verified(&mishap, "p3") && !verified(&mishap, "pip"));
    }
    let why = row("sink-reboots", "pip")["failure"].as_str().unwrap();
    assert!(why.ends_with("restarted"), "{why}");
}

#[test]
fn rows_say_what_they_are_of_and_are_not_replaced_by_others() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("mine.toml", LINE);
    write("other.toml", &LINE.replace("'mine'", "'other'"));
    let run = |file: &str, more: &[&str]| {
        let args = ["run", file, "--seeds", "1", "--out", "o"];
        thalweg(dir.path(), &[&args[..], more].concat())
    };
    assert_eq!(run("mine.toml", &[]).0, 0);
    let read = |name: &str| -> serde_json::Value {
        let text = fs::read_to_string(dir.path().join("o").join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (rows, manifest) = (read("rows.json"), read("manifest.json"));
    assert_eq!(rows[0]["experiment"], "mine");
    assert_eq!(rows[0]["testbed"], "line5");
    assert_eq!(manifest["columns"]["goodput_kbps"], "kbit/s");
    assert_eq!(manifest["seeds"], serde_json::json!([1]));
    assert!(
        manifest["inputs"]["experiment mine"].is_string(),
        "{manifest}"
    );
    // Rows of the same run may be replaced, and others by force.
    assert_eq!(run("mine.toml", &[]).0, 0);
    for (file, more, of) in [
        ("other.toml", &[][..], "of the experiment \"mine\""),
        ("mine.toml", &["--routes", "2"], "of routes = 1"),
        ("mine.toml", &["--loss", "1-2:0.1"], "without losses"),
    ] {
        let (status, _, error) = run(file, more);
        assert!(status == 2 && error.contains(of), "{error}");
        assert_eq!(rows, read("rows.json"), "{of}");
    }
    assert_eq!(run("other.toml", &["--force"]).0, 0);
    assert_eq!(read("rows.json")[0]["experiment"], "other");
}

#[test]
fn fewer_seeds_say_whose_rows_they_replace() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine.toml"), LINE).unwrap();
    let run = |seeds: &str| {
        let args = ["run", "mine.toml", "--seeds", seeds, "--out", "o"];
        thalweg(dir.path(), &args).2
    };
    let gone = "--out o: rows of 1 of 2 seeds are gone";
    assert!(!run("1..2").contains("gone"));
    assert!(!run("1..2").contains("gone"), "the same again");
    let told = run("1");
    assert!(told.contains(gone), "{told}");
}

#[test]
fn routes_that_were_not_found_are_said_and_named_ones_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let run = |routes: &str, more: &[&str]| {
        let text = LINE.replace("routes = 1", &format!("routes = {routes}"));
        // A single value is a list of one.
        let text = text.replace(
            "packets = 10",
            "bytes = 1180\nchannels = [15, 20, 25, 26]\npayload = 118",
        );
        fs::write(dir.path().join("mine.toml"), text).unwrap();
        let args = ["run", "mine.toml", "--seeds", "1"];
        thalweg(dir.path(), &[&args[..], more].concat())
    };
    let (_, text, error) = run("30", &["--out", "o"]);
    let found = "seed 1: 12 of 30 routes were found (4 hops at most, 1 path)";
    assert!(text.contains(found), "{text}{error}");
    let rows = fs::read_to_string(dir.path().join("o/rows.json")).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).unwrap();
    let of = |row: &serde_json::Value| row["routes_found"] == 12 && row["routes_wanted"] == 30;
    assert!(rows.iter().all(of), "{rows:?}");
    // P3's plan of links that were measured on one channel predicts nothing.
    assert!(rows[0].get("predicted_kbps").is_none(), "{}", rows[0]);
    let (_, json, _) = run("30", &["--json"]);
    assert!(json.contains("\"routes_found\":12"), "{json}");
    let (status, text, _) = run("[[5, 1], [3, 1]]", &["--out", "n"]);
    assert!(status == 0 && !text.contains("were found"), "{text}");
    let rows = fs::read_to_string(dir.path().join("n/rows.json")).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).unwrap();
    let ends: Vec<_> = rows
        .iter()
        .map(|row| (row["source"].as_u64(), row["sink"].as_u64()))
        .collect();
    let (far, near) = ((Some(5), Some(1)), (Some(3), Some(1)));
    assert_eq!(ends, [far, far, near, near]);
    let (status, _, error) = run("[[5, 99]]", &[]);
    assert!(
        status == 2 && error.contains("there is no node 99"),
        "{error}"
    );
    let (status, _, error) = run("\"all\"", &[]);
    assert!(
        status == 2 && error.contains("as [[12, 1], [45, 1]]"),
        "{error}"
    );
}
