//! Objects over streams, FastForward's way, as a user runs them on small networks.

use std::fs;

use serde_json::Value;

use super::collect::{objects, run, thalweg};

#[test]
fn an_object_streams_over_nodes_with_two_radios() {
    let dir = tempfile::tempdir().unwrap();
    let args =
        "collect --testbed office12 --protocol fastforward --bytes 5000 --loss 3-1:0.2 --json";
    let args: Vec<&str> = args.split(' ').collect();
    let first = run(dir.path(), &args);
    let report: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(
        (&report["verified"], &report["bytes"]),
        (&true.into(), &5000.into())
    );
    for key in [
        "goodput_kbps",
        "throughput_kbps",
        "energy_j",
        "network_energy_j",
        "cold_goodput_kbps",
        "path",
        "stream",
        "survey",
    ] {
        assert!(report.get(key).is_some(), "{key} is missing");
    }
    let survey = &report["survey"];
    for band in ["ghz2_4", "mhz900"] {
        let measuring = survey[band]["measuring_s"].as_f64().unwrap();
        assert!(
            measuring > 10.0 && survey[band]["links"].as_u64() > Some(20),
            "{survey}"
        );
    }
    for key in ["retransmissions", "withheld", "queue_peak", "queue_mean"] {
        assert!(
            report["stream"]["links"][0].get(key).is_some(),
            "{key} is missing"
        );
    }
    assert_eq!(objects(dir.path()).len(), 1);
    let again = run(dir.path(), &args);
    assert_eq!(again.stdout, first.stdout);
    // Another protocol moves the same object.
    let from = report["source"].to_string();
    let other = "collect --testbed office12 --protocol lpht --bytes 5000 --from";
    let other: Vec<&str> = other.split(' ').chain([from.as_str()]).collect();
    run(dir.path(), &other);
    assert_eq!(objects(dir.path()).len(), 1);
}

#[test]
fn every_node_is_emptied_over_streams() {
    let dir = tempfile::tempdir().unwrap();
    for protocol in ["fastforward", "lpht"] {
        let args = format!("collect --testbed office12 --protocol {protocol} --bytes 2000");
        let args = format!("{args} --all-nodes --json --out {protocol}");
        let args: Vec<&str> = args.split(' ').collect();
        let first = run(dir.path(), &args).stdout;
        let report: Value = serde_json::from_slice(&first).unwrap();
        assert_eq!(report["objects"], 11, "{protocol}: {report}");
        // All is done: what is printed comes from the store.
        assert_eq!(run(dir.path(), &args).stdout, first);
    }
}

#[test]
fn a_stream_shows_its_frames_and_why_it_repeated_them() {
    let dir = tempfile::tempdir().unwrap();
    let args =
        "collect --testbed office12 --from 12 --protocol fastforward --bytes 60000 --loss 3-1:0.3";
    let plain: Vec<&str> = args.split(' ').collect();
    let without = String::from_utf8(run(dir.path(), &plain).stdout).unwrap();
    let watched = [&plain[..], &["--explain=map.svg", "--pcap", "air.pcapng"]].concat();
    let with = String::from_utf8(run(dir.path(), &watched).stdout).unwrap();
    assert!(with.starts_with(&without), "the result is the same: {with}");
    assert!(
        with.contains("frames link by link") && with.contains("queue full"),
        "{with}"
    );
    let svg = fs::read_to_string(dir.path().join("map.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("queue, packets"));
    assert!(fs::metadata(dir.path().join("air.pcapng")).unwrap().len() > 2 * 20_000);
    let json = run(dir.path(), &[&plain[..], &["--explain", "--json"]].concat());
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    let (link, counted) = (
        &report["explain"]["links"][1],
        &report["stream"]["links"][1],
    );
    // Almost all that is repeated was injected; the rest is fading.
    let number = |value: &Value| value.as_f64().unwrap();
    let (injected, repeated) = (
        number(&link["failed"]["external"]),
        number(&counted["retransmissions"]),
    );
    assert!(
        injected <= repeated && injected > 0.9 * repeated,
        "{injected} of {repeated}"
    );
}

#[test]
fn streams_say_what_they_are_not_for() {
    let dir = tempfile::tempdir().unwrap();
    for (args, wanted) in [
        ("collect --protocol fastforward", "two radios"),
        (
            "collect --testbed office12 --protocol fastforward --all-nodes --to 99",
            "no node 99",
        ),
        (
            "collect --testbed office12 --protocol lpht --loss 1-2",
            "expected FROM-TO:SHARE",
        ),
        (
            "collect --testbed office12 --protocol fastforward --from 99",
            "no node 99",
        ),
        (
            "collect --testbed office12 --protocol fastforward --from 1 --to 1",
            "both source and sink",
        ),
        (
            "collect --testbed office12 --protocol fastforward --bytes 9M",
            "at most 7274274",
        ),
        ("collect --testbed pair --protocol lpht", "two radios"),
        (
            "collect --testbed office12 --protocol fastforward --paths 2",
            "--paths is not for --protocol fastforward",
        ),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let output = thalweg(dir.path(), &args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(wanted), "{args:?}: {stderr}");
    }
}
