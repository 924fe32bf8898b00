//! `thalweg basestation` and `thalweg collect --port`, as a user runs them: two processes and a pseudo-terminal.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::station::Station;
use serde_json::Value;
use thalweg_simnet::collect::Object;
use thalweg_units::NodeId;

fn thalweg(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("thalweg"));
    command.current_dir(folder).args(args);
    command
}

const COLLECT: [&str; 9] = [
    "collect",
    "--testbed",
    "line5",
    "--port",
    "station",
    "--from",
    "5",
    "--bytes",
    "9000",
];

/// The one object that was stored, as `output` tells it.
fn stored(folder: &Path, output: &Output) -> Vec<u8> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["verified"], &report["source"]),
        (&true.into(), &5.into())
    );
    for key in [
        "goodput_kbps",
        "survey_s",
        "cold_s",
        "predicted",
        "survey",
        "energy_j",
    ] {
        assert!(report.get(key).is_some(), "{key} is missing");
    }
    assert_eq!(
        report["energy_j"],
        Value::Null,
        "nobody tells it over a line"
    );
    fs::read(folder.join(report["stored"]["path"].as_str().unwrap())).unwrap()
}

#[test]
fn an_object_is_collected_over_the_line_and_a_killed_base_station_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let sent = Object::Random { bytes: 9_000 }.of(1, NodeId::new(5).unwrap());
    let args = [&COLLECT[..], &["--json", "--quiet"]].concat();
    let station = Station::start(dir.path(), "line5", "20", "9000");
    let output = thalweg(dir.path(), &args).output().unwrap();
    assert_eq!(stored(dir.path(), &output), &sent[..]);
    drop(station);

    // Killed in the middle, and started again: another pseudo-terminal behind the same link.
    fs::remove_dir_all(dir.path().join("thalweg-data")).unwrap();
    let station = Station::start(dir.path(), "line5", "1", "9000");
    let running = thalweg(dir.path(), &args)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    drop(station);
    let _station = Station::start(dir.path(), "line5", "20", "9000");
    let output = running.wait_with_output().unwrap();
    assert_eq!(stored(dir.path(), &output), &sent[..]);
}

#[test]
fn ports_that_are_none_end_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let mica =
        "name = \"m\"\nboard = \"mica2\"\n[building]\nnodes = 4\nlength_m = 20\nwidth_m = 9\n";
    fs::write(dir.path().join("mica.toml"), mica).unwrap();
    let sealed = "name = \"s\"\nboard = \"nrf52840\"\nsecurity = \"require\"\n[building]\nnodes = 4\nlength_m = 20\nwidth_m = 9\n";
    fs::write(dir.path().join("sealed.toml"), sealed).unwrap();
    fs::create_dir(dir.path().join("images")).unwrap();
    for image in ["mote.elf", "station.elf"] {
        fs::write(dir.path().join("images").join(image), "no program").unwrap();
    }
    let cases = [
        (
            &["collect", "--testbed", "pair", "--port", "tcp:nowhere"][..],
            2,
            "--port: wanted tcp:HOST:PORT",
        ),
        (&["collect", "--port", "x", "--file", "y"], 2, "--file"),
        (
            &[
                "collect",
                "--port",
                "x",
                "--testbed",
                "office12",
                "--protocol",
                "lpht",
            ],
            2,
            "not for --protocol lpht",
        ),
        (&["collect", "--baud", "9600"], 2, "--port"),
        (&["collect", "--port", "x"], 2, "--testbed"),
        (&["gateway", "--port", "x"], 2, "--testbed"),
        (&["basestation", "--line", "usb"], 2, "--emulated"),
        (
            &["basestation", "--emulated", ".", "--testbed", "indriya"],
            2,
            "only chips nRF52840 are emulated",
        ),
        (
            &["basestation", "--testbed", "motes20", "--emulated", "."],
            2,
            "mote.elf: No such file",
        ),
        (
            &[
                "basestation",
                "--testbed",
                "motes20",
                "--emulated",
                "images",
            ],
            2,
            "expected a 32-bit little-endian ELF file",
        ),
        (
            &["basestation", "--testbed", "mica.toml"],
            2,
            "board mica2: ",
        ),
        (&["basestation", "--testbed", "sealed.toml"], 2, "no `keys`"),
        (
            &[
                "firmware",
                "--node",
                "1",
                "--testbed",
                "sealed.toml",
                "--out",
                "n.hex",
            ],
            2,
            "no `keys`",
        ),
        (
            &["basestation", "--testbed", "line5", "--to", "77"],
            2,
            "77",
        ),
        (
            &["basestation", "--testbed", "line5", "--speed", "0"],
            2,
            "0.01",
        ),
        (
            &["basestation", "--testbed", "line5", "--link", "."],
            2,
            "no symbolic link",
        ),
        (
            &["basestation", "--testbed", "line5", "--tcp", "nowhere"],
            2,
            "--tcp",
        ),
    ];
    for (args, status, text) in cases {
        let output = thalweg(dir.path(), args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {stderr}");
        assert!(
            stderr.contains(text) && stderr.lines().count() == 1,
            "{args:?}: {stderr}"
        );
    }
}
