//! Bad input: one line on standard error, the right status, nothing on standard output, nothing
//! left behind.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn thalweg(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("thalweg").unwrap();
    command.current_dir(folder);
    command
}

/// Runs `args` in an empty folder: status `code`, one line that contains `part`.
fn refused(code: i32, args: &[&str], part: &str) {
    let dir = tempfile::tempdir().unwrap();
    refused_in(dir.path(), code, args, part);
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        0,
        "{args:?} left something behind"
    );
}

fn refused_in(folder: &Path, code: i32, args: &[&str], part: &str) {
    let one_line = predicate::function(|text: &str| {
        text.starts_with("thalweg: error: ")
            && text.ends_with('\n')
            && text.lines().count() == 1
            && !text.contains("panicked")
            && !text.contains("os error")
    });
    thalweg(folder)
        .args(args)
        .assert()
        .code(code)
        .stdout("")
        .stderr(one_line.and(contains(part)));
}

#[test]
fn what_was_typed_cannot_be_used() {
    let cases: &[(&[&str], &str)] = &[
        (&["bogus"], "unrecognized subcommand 'bogus'"),
        (
            &["reproduse"],
            "tip: a similar subcommand exists: 'reproduce'",
        ),
        (
            &["collect", "--chanels", "15"],
            "tip: a similar argument exists: '--channels'",
        ),
        (&["collect", "extra"], "unexpected argument 'extra'"),
        (
            &["timeline", "--forwarding", "fastforward", "--one-channel"],
            "--one-channel is not for streams",
        ),
        (
            &[
                "timeline",
                "--forwarding",
                "fastforward",
                "--testbed",
                "ring12",
            ],
            "two radios",
        ),
        (
            &["timeline", "--forwarding", "fastforward", "--hops", "12"],
            "office12 has 12 nodes",
        ),
        (
            &["collect", "--channels", "27"],
            "a channel is a whole number from 11 to 26",
        ),
        (
            &["collect", "--channels", "10"],
            "a channel is a whole number from 11 to 26",
        ),
        (
            &["collect", "--channels", "15,,20"],
            "a channel is a whole number from 11 to 26",
        ),
        (
            &["collect", "--channels", "15,15"],
            "channel 15 stands there twice",
        ),
        (&["collect", "--channels", "20-15"], "runs backwards"),
        (&["collect", "--channels"], "a value is required"),
        (&["collect", "--payload", "0"], "1 to 118"),
        (&["collect", "--payload", "119"], "1 to 118"),
        (&["collect", "--from", "65535"], "0 to 65533"),
        (
            &["collect", "--from", "x"],
            "--from x: indriya has no node of this name",
        ),
        (&["collect", "--to=-1"], "0 to 65533"),
        (&["collect", "--bytes", "0"], "whole number of bytes"),
        (&["collect", "--bytes", "NaN"], "whole number of bytes"),
        (
            &["collect", "--bytes", "99999999999"],
            "whole number of bytes",
        ),
        (&["collect", "--seed", "x"], "--seed"),
        (&["collect", "--seed", "18446744073709551616"], "--seed"),
        (&["collect", "--paths", "0"], "--paths"),
        (&["collect", "--hops", "256"], "--hops"),
        (
            &["collect", "--protocol", "tcp"],
            "possible values: p3, pip",
        ),
        (&["collect", "--testbed", ""], "--testbed"),
        (
            &["collect", "--file", "a", "--bytes", "1"],
            "cannot be used with",
        ),
        (
            &["collect", "--all-nodes", "--from", "3"],
            "cannot be used with",
        ),
        (
            &["collect", "--all-nodes", "--pcap", "a"],
            "cannot be used with",
        ),
        (
            &["collect", "--from", "3,4"],
            "more than one source is not for --protocol thalweg",
        ),
        (
            &["collect", "--demand", "2"],
            "--demand is not for --protocol thalweg",
        ),
        (
            &["collect", "--policy", "fair"],
            "--policy is not for --protocol thalweg",
        ),
        (&["collect", "--protocol", "rcrt"], "--from 3,7,12"),
        (
            &[
                "collect",
                "--protocol",
                "rcrt",
                "--all-nodes",
                "--policy",
                "greedy",
            ],
            "fair, demand-proportional, demand-limited, weighted, priority",
        ),
        (
            &[
                "collect",
                "--protocol",
                "rcrt",
                "--all-nodes",
                "--demand",
                "-1",
            ],
            "from 0.01 to 100 packets per second",
        ),
        (
            &[
                "collect",
                "--protocol",
                "rcrt",
                "--from",
                "3",
                "--hops",
                "2",
            ],
            "--hops is not for --protocol rcrt",
        ),
        (
            &[
                "collect",
                "--protocol",
                "rcrt",
                "--from",
                "3",
                "--scenario",
                "none.toml",
            ],
            "none.toml: cannot be read",
        ),
        (
            &[
                "collect",
                "--protocol",
                "rcrt",
                "--from",
                "3",
                "--testbed",
                "office12",
            ],
            "rcrt needs a CC2420",
        ),
        (
            &["collect", "--seed", "1", "--seed", "2"],
            "cannot be used multiple times",
        ),
        (
            &["collect", "--protocol", "rcrt", "--idle", "1day"],
            "--idle is not for --protocol rcrt",
        ),
        (
            &["collect", "--protocol", "p3", "--patience", "1h"],
            "--patience is not for --protocol p3",
        ),
        (
            &[
                "collect",
                "--testbed",
                "floor21",
                "--idle",
                "1day",
                "--all-nodes",
                "--to",
                "1",
                "--to",
                "2",
            ],
            "several base stations rouse no network yet",
        ),
        (
            &["collect", "--file", "missing.bin"],
            "missing.bin: cannot be read",
        ),
        (&["collect", "--file", "."], ".: cannot be read"),
        (&["collect", "--file", "/dev/null"], "/dev/null: is empty"),
        (
            &["collect", "--file", "/dev/zero"],
            "/dev/zero: is larger than 64 MiB",
        ),
        (&["collect", "--pcap", "."], ".: is a folder"),
        (&["collect", "--pcap", "none/.."], "is no file name"),
        (&["collect", "--testbed", "nope"], "nope: no such testbed"),
        (
            &["collect", "--testbed", "pair", "--from", "9"],
            "pair: has no node 9",
        ),
        (
            &["collect", "--testbed", "pair", "--to", "9"],
            "pair: has no node 9",
        ),
        (
            &["collect", "--testbed", "pair", "--from", "1"],
            "both source and sink",
        ),
        (
            &[
                "collect",
                "--testbed",
                "office12",
                "--protocol",
                "fastforward",
                "--bytes",
                "9M",
            ],
            "at most 7274274 can be sent so",
        ),
        (
            &["collect", "--testbed", "pair", "--bytes", "5M", "--explain"],
            "an object of at most 1933312 bytes",
        ),
        (
            &["collect", "--testbed", "pair", "--all-nodes", "--to", "9"],
            "pair: has no node 9",
        ),
        (
            &["collect", "--testbed", "pair", "--to", "1,2"],
            "one object has one base station: name one node with --to, or ask for --all-nodes",
        ),
        (
            &[
                "collect",
                "--testbed",
                "office12",
                "--protocol",
                "lpht",
                "--all-nodes",
                "--to",
                "1,2",
            ],
            "more than one base station is not for --protocol lpht",
        ),
        (
            &[
                "collect",
                "--testbed",
                "office12",
                "--protocol",
                "lpht",
                "--payload",
                "118",
            ],
            "--payload: a packet of lpht holds 1 to",
        ),
        (
            &["plan", "--testbed", "nope.csv"],
            "nope.csv: no such testbed",
        ),
        (
            &["plan", "--testbed", "pair", "--from", "9"],
            "pair: has no node 9",
        ),
        (
            &["plan", "--testbed", "pair", "--from", "1"],
            "node 1 is both source and sink",
        ),
        (&["testbed", "show", "nope"], "nope: no such testbed"),
        (
            &["run"],
            "required arguments were not provided: <EXPERIMENT|FILE>",
        ),
        (&["run", "p3.fig5", "--seeds", "10..1"], "run backwards"),
        (&["run", "p3.fig5", "--seeds", "1-3"], "seeds are A..B"),
    ];
    for (args, part) in cases {
        refused(2, args, part);
    }
}

#[test]
fn what_the_network_cannot_do_is_bad_input_after_the_survey() {
    let dir = tempfile::tempdir().unwrap();
    thalweg(dir.path())
        .args(["collect", "--testbed", "pair", "--hops", "3"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains(
            "error: no path of exactly 3 hops from node 2 to node 1",
        ));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// Runs on a file `links.csv` with this text.
fn refused_links(text: &str, args: &[&str], part: &str) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("links.csv"), text).unwrap();
    refused_in(dir.path(), 2, args, part);
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "{args:?} left something behind"
    );
}

#[test]
fn a_table_of_links_that_cannot_be_names_its_line() {
    let collect = ["collect", "--testbed", "links.csv"];
    let plan = ["plan", "--testbed", "links.csv"];
    for args in [&collect[..], &plan[..]] {
        for (rows, part) in [
            ("", "links.csv"),
            ("1,2,26,NaN\n", "links.csv: no row with a reading"),
            ("1,2,26,inf\n", "links.csv, line 2: prr"),
            ("1,2,26,1.5\n", "links.csv, line 2: prr"),
            ("1,2,27,1\n", "links.csv, line 2: channel"),
            ("1,2,26,1\n1,x,26,1\n", "links.csv, line 3"),
        ] {
            refused_links(&format!("src,dst,channel,prr\n{rows}"), args, part);
        }
    }
}

#[test]
fn an_unheard_source_is_bad_input() {
    let text =
        "src,dst,channel,prr,rssi_dbm\n1,2,26,1,-60\n2,1,26,1,-60\n3,4,26,1,-60\n4,3,26,1,-60\n";
    refused_links(
        text,
        &["plan", "--testbed", "links.csv", "--from", "4"],
        "no route from node 4 to node 1",
    );
}

#[test]
fn a_file_name_with_line_breaks_stays_one_line() {
    refused(
        2,
        &["collect", "--file", "no\nsuch\u{1b}[31m\nfile"],
        "no such",
    );
}

#[test]
fn a_file_in_the_place_of_the_store_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("data"), "mine").unwrap();
    refused_in(
        dir.path(),
        2,
        &["collect", "--out", "data"],
        "data: is not a folder",
    );
    assert_eq!(fs::read(dir.path().join("data")).unwrap(), b"mine");
}

#[test]
fn a_capture_that_cannot_be_written_is_one_line() {
    refused(
        1,
        &["collect", "--pcap", "no/such/folder/air.pcapng"],
        "air.pcapng: cannot write",
    );
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("thalweg"))
        .args(["collect", "--help"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_full_standard_output_is_one_line() {
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("thalweg"))
        .arg("--help")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        line,
        "thalweg: error: standard output: cannot write: No space left on device\n"
    );
}

/// Names of files that options may not take, and bytes that must still be there.
#[test]
fn outputs_take_no_place_of_inputs_of_the_store_or_of_strangers_files() {
    let dir = tempfile::tempdir().unwrap();
    let links = "src,dst,channel,prr\n1,2,15,0.9\n2,1,15,0.9\n";
    fs::write(dir.path().join("links.csv"), links).unwrap();
    fs::write(dir.path().join("photo.jpg"), "a photo").unwrap();
    fs::create_dir(dir.path().join("mine")).unwrap();
    fs::write(dir.path().join("mine/rows.csv"), "a,b\n").unwrap();
    let small = ["collect", "--testbed", "line5", "--bytes", "1000"];
    thalweg(dir.path()).args(small).assert().success();
    let before = fs::read(dir.path().join("thalweg-data/thalweg.db")).unwrap();
    let input = "is what this command reads";
    let cases: &[(&[&str], &str)] = &[
        (
            &[
                "testbed",
                "show",
                "links.csv",
                "--svg",
                "links.csv",
                "--force",
            ],
            input,
        ),
        (
            &["plan", "--testbed", "links.csv", "--svg", "./links.csv"],
            input,
        ),
        (
            &["collect", "--testbed", "links.csv", "--pcap", "links.csv"],
            input,
        ),
        (
            &[
                "collect",
                "--file",
                "photo.jpg",
                "--pcap",
                "photo.jpg",
                "--force",
            ],
            input,
        ),
        (
            &["collect", "--file", "photo.jpg", "--explain=photo.jpg"],
            input,
        ),
        (
            &["collect", "--pcap", "thalweg-data/thalweg.db", "--force"],
            "is kept by the store",
        ),
        (
            &["collect", "--pcap", "thalweg-data/objects/x.bin"],
            "is kept by the store",
        ),
        (
            &["testbed", "show", "line5", "--svg", "photo.jpg"],
            "or say --force",
        ),
        (&["timeline", "--svg", "photo.jpg"], "or say --force"),
        (
            &["run", "p3.fig5", "--out", "mine"],
            "holds no earlier results",
        ),
    ];
    for (args, part) in cases {
        refused_in(dir.path(), 2, args, part);
    }
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert_eq!(read("links.csv"), links.as_bytes());
    assert_eq!(read("photo.jpg"), b"a photo");
    assert_eq!(read("thalweg-data/thalweg.db"), before);
    let forced = ["testbed", "show", "line5", "--svg", "photo.jpg", "--force"];
    thalweg(dir.path()).args(forced).assert().success();
    let again = ["testbed", "show", "line5", "--svg", "photo.jpg"];
    thalweg(dir.path()).args(again).assert().success();
}

#[test]
fn a_store_that_cannot_be_written_is_told_before_the_transfer() {
    // Nobody, not even root, makes a folder there.
    let args = ["collect", "--testbed", "line5", "--out", "/proc/thalweg"];
    let dir = tempfile::tempdir().unwrap();
    thalweg(dir.path())
        .args(args)
        .assert()
        .code(1)
        .stdout("")
        .stderr(contains("cannot write").and(contains("measuring").not()));
}

#[test]
fn times_are_times_and_only_traces_are_played() {
    refused(2, &["collect", "--age", "5x"], "a time such as 90s, 15min");
    refused(2, &["collect", "--age", "99years"], "at most ten years");
    refused(2, &["collect", "--at", "1h"], "there is nothing to play");
    let rcrt = ["collect", "--protocol", "rcrt", "--testbed", "rcrt40"];
    refused(
        2,
        &[&rcrt[..], &["--all-nodes", "--age", "1h"]].concat(),
        "--age is not for",
    );
}
