//! The main job as a user runs it, on small networks: what is printed, what is stored, what a kill
//! and a full disk leave.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

pub(super) fn thalweg(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("thalweg"));
    command.current_dir(folder).args(args);
    command
}

pub(super) fn run(folder: &Path, args: &[&str]) -> Output {
    let output = thalweg(folder, args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    output
}

pub(super) fn objects(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("thalweg-data/objects")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn json_is_one_object_with_the_promised_keys_and_the_same_again() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["collect", "--testbed", "pair", "--bytes", "2000", "--json"];
    let first = run(dir.path(), &args);
    let text = String::from_utf8(first.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 1);
    let report: Value = serde_json::from_str(&text).unwrap();
    for outcome in [&report, &report["baseline"]] {
        for key in "protocol testbed source sink bytes verified goodput_kbps utilisation rounds \
                    first_round_reliability active_nodes hops paths energy_j network_energy_j duration_s \
                    survey_s cold_s cold_goodput_kbps seed"
            .split_whitespace()
        {
            assert!(outcome.get(key).is_some(), "{key} is missing");
        }
    }
    assert_eq!(report["verified"], true);
    assert_eq!(report["bytes"], 2000);
    assert_eq!(objects(dir.path()).len(), 1);
    // The expected time is printed before the transfer begins, even without a terminal.
    let told = String::from_utf8(first.stderr).unwrap();
    let begins = told.find("waking up").unwrap();
    let (before, _) = told.split_at(begins);
    assert!(before.contains("1 path of 1 hop, about"), "{told}");
    assert!(before.contains(" s expected\n"), "{told}");
    let again = run(dir.path(), &args);
    assert_eq!(again.stdout, first.stdout);
    assert!(String::from_utf8(again.stderr)
        .unwrap()
        .contains("had the same object already"));
}

#[test]
fn a_secured_network_brings_a_sealed_object_and_refuses_what_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let here = [
        "collect",
        "--testbed",
        "line5",
        "--bytes",
        "2000",
        "--secure",
    ];
    let with = |more: &[&str]| {
        thalweg(dir.path(), &[&here[..], more].concat())
            .output()
            .unwrap()
    };
    let text = String::from_utf8(run(dir.path(), &here).stdout).unwrap();
    assert!(text.contains("2000 bytes, whole, sealed\nsha256"), "{text}");
    let report: Value = serde_json::from_slice(&with(&["--json"]).stdout).unwrap();
    assert_eq!(
        (&report["sealed"], &report["verified"]),
        (&true.into(), &true.into())
    );
    assert_eq!(report["baseline"], Value::Null);
    let all = String::from_utf8(with(&["--all-nodes"]).stdout).unwrap();
    assert_eq!(all.matches("whole, sealed").count(), 4, "{all}");
    let all = with(&["--protocol", "rcrt", "--all-nodes"]).stdout;
    let all = String::from_utf8(all).unwrap();
    assert_eq!(all.matches("whole, sealed").count(), 4, "{all}");
    for more in [
        &["--protocol", "p3"][..],
        &["--protocol", "pip"],
        &["--protocol", "rcrt-published", "--all-nodes"],
        &["--protocol", "p3-best"],
        &["--gateway", "http://127.0.0.1:1"],
    ] {
        let refused = with(more);
        assert_eq!(refused.status.code(), Some(2), "{more:?}: {refused:?}");
        assert_eq!(
            String::from_utf8(refused.stderr).unwrap().lines().count(),
            1,
            "{more:?}"
        );
    }
}

#[test]
fn losses_are_explained_where_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let plain = ["collect", "--testbed", "pair", "--bytes", "2000"];
    let without = run(dir.path(), &plain);
    let with = run(dir.path(), &[&plain[..], &["--explain=map.svg"]].concat());
    let (without, with) = (
        String::from_utf8(without.stdout).unwrap(),
        String::from_utf8(with.stdout).unwrap(),
    );
    assert!(with.starts_with(&without), "the result is the same");
    assert!(with.contains("where packets were lost: THALWEG"), "{with}");
    let svg = fs::read_to_string(dir.path().join("map.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("packets arrived"));
    let json = run(dir.path(), &[&plain[..], &["--explain", "--json"]].concat());
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    let hop = &report["explain"][0]["rounds"][0]["hops"][0];
    let count = |key: &str| hop[key].as_u64().unwrap();
    let lost: u64 = (hop["lost"].as_object().unwrap().values())
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert_eq!(count("entered"), count("arrived") + lost);
    assert_eq!(report["explain"][1]["protocol"], "pip");
}

#[test]
fn a_file_arrives_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3001u32).map(|i| ((i * i) >> 3) as u8).collect();
    fs::write(dir.path().join("photo.jpg"), &bytes).unwrap();
    let output = run(
        dir.path(),
        &[
            "collect",
            "--testbed",
            "line5",
            "--file",
            "photo.jpg",
            "--pcap",
            "air.pcapng",
        ],
    );
    assert!(String::from_utf8(output.stdout)
        .unwrap()
        .contains("3001 bytes, whole"));
    assert_eq!(fs::read(&objects(dir.path())[0]).unwrap(), bytes);
    assert!(fs::metadata(dir.path().join("air.pcapng")).unwrap().len() > 3001);
}

#[test]
fn an_object_that_exists_with_other_bytes_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["collect", "--testbed", "pair", "--bytes", "500"];
    run(dir.path(), &args);
    let path = &objects(dir.path())[0];
    fs::write(path, "mine").unwrap();
    let output = thalweg(dir.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr
        .lines()
        .last()
        .unwrap()
        .contains("exists already and holds other bytes"));
    assert_eq!(fs::read(path).unwrap(), b"mine");
}

#[test]
fn a_full_disk_under_the_capture_is_one_line_and_nothing_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["collect", "--testbed", "pair", "--pcap", "/dev/full"];
    let output = thalweg(dir.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let errors: Vec<&str> = stderr
        .lines()
        .filter(|line| line.contains("error"))
        .collect();
    assert_eq!(
        errors,
        ["thalweg: error: /dev/full: cannot write: No space left on device"]
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_campaign_that_was_killed_goes_on_and_ends_the_same() {
    let args = [
        "collect",
        "--testbed",
        "line5",
        "--bytes",
        "40000",
        "--all-nodes",
        "--json",
    ];
    let whole = tempfile::tempdir().unwrap();
    let expected = run(whole.path(), &args).stdout;
    let summary: Value = serde_json::from_slice(&expected).unwrap();
    assert_eq!(summary["objects"], 4);

    let killed = tempfile::tempdir().unwrap();
    for delay in [20, 40, 60, 80] {
        let mut child = thalweg(killed.path(), &args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(run(killed.path(), &args).stdout, expected);
    let again = run(killed.path(), &args);
    assert_eq!(again.stdout, expected);
    assert_eq!(objects(killed.path()).len(), 4);
}

#[test]
fn a_network_is_emptied_into_two_base_stations_at_once() {
    let args = "collect --testbed ring12 --protocol p3 --bytes 2000 --all-nodes --to 1,7 --json";
    let args: Vec<&str> = args.split(' ').collect();
    let dir = tempfile::tempdir().unwrap();
    let first = run(dir.path(), &args);
    let told = String::from_utf8(first.stderr).unwrap();
    let at_once = told.matches(": 2 transfers").count();
    assert!(at_once > 0, "{told}");
    for station in ["to 1: ", "to 7: "] {
        assert!(told.contains(station), "{station}: {told}");
    }
    let summary: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(summary["objects"], 10);
    // Others were on the air meanwhile.
    assert_eq!(summary["energy_j"], Value::Null);
    assert_eq!(objects(dir.path()).len(), 10);
    // All are there: nothing is left to do.
    let again = run(dir.path(), &args);
    assert_eq!(again.stdout, first.stdout);
    assert!(again.stderr.is_empty());
}

#[test]
fn plan_writes_its_pictures_and_testbed_its_map() {
    let dir = tempfile::tempdir().unwrap();
    run(
        dir.path(),
        &["plan", "--testbed", "line5", "--svg", "p.svg"],
    );
    run(dir.path(), &["testbed", "show", "line5", "--svg", "m.svg"]);
    for (file, begin) in [("p.svg", "<svg"), ("m.svg", "<svg")] {
        assert!(
            fs::read_to_string(dir.path().join(file))
                .unwrap()
                .starts_with(begin),
            "{file}"
        );
    }
    let plan = run(
        dir.path(),
        &["plan", "--testbed", "line5", "--from", "5", "--json"],
    )
    .stdout;
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    assert_eq!(
        (&plan["source"], &plan["sink"]),
        (&Value::from(5), &Value::from(1))
    );
}

/// What goes over one radio's routes loses what it is told to lose, and brings all of it.
#[test]
fn losses_on_a_link_cost_rounds_and_no_object() {
    let protocols = "p3 pip pip-hopping pip-cit p3-planned p3-slim p3-best";
    for protocol in protocols.split(' ') {
        let dir = tempfile::tempdir().unwrap();
        let plain = ["collect", "--testbed", "pair", "--bytes", "9000", "--json"];
        let plain = [&plain[..], &["--protocol", protocol]].concat();
        let told = |args: &[&str]| -> Value {
            serde_json::from_slice(&run(dir.path(), args).stdout).unwrap()
        };
        let (without, with) = (
            told(&plain),
            told(&[&plain[..], &["--loss", "2-1:0.3"]].concat()),
        );
        assert_eq!(with["verified"], true, "{protocol}");
        // The same survey, the same plan, and what the link loses to repair.
        assert_eq!(with["survey"], without["survey"], "{protocol}");
        assert_eq!(with["predicted"], without["predicted"], "{protocol}");
        let time = |report: &Value| report["duration_s"].as_f64().unwrap();
        assert!(time(&with) > 1.15 * time(&without), "{protocol}: {with}");
    }
}

#[test]
fn a_network_that_has_idled_is_roused_first() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["collect", "--testbed", "line5", "--idle", "7days"];
    let text = String::from_utf8(run(dir.path(), &args).stdout).unwrap();
    let line = "nodes rested for 7 days (208.31 J each), roused in 2.0 s";
    assert!(text.contains(line), "{text}");
    let told = run(dir.path(), &[&args[..], &["--json"]].concat()).stdout;
    let report: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(report["verified"], true);
    assert_eq!(report["survey"]["idle"]["rested_s"], 604_800.0);
    assert!(report["cold_s"].as_f64().unwrap() < 15.0, "{report}");
}

/// Names may have the sign that stands between them.
#[test]
fn losses_take_names_as_other_options_do() {
    let dir = tempfile::tempdir().unwrap();
    let links = "src,dst,channel,prr\npier-3,gate,26,1\ngate,pier-3,26,1\n";
    fs::write(dir.path().join("names.csv"), links).unwrap();
    let told = |loss: &str| {
        let args = [
            "collect",
            "--testbed",
            "names.csv",
            "--to",
            "gate",
            "--json",
            "--loss",
            loss,
        ];
        let output = thalweg(dir.path(), &args).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let named = told("pier-3-gate:0.3");
    assert_eq!(named.0, Some(0), "{}", named.1);
    assert_eq!(named, told("1-2:0.3"));
    assert_ne!(named, told("pier-3-gate:0"));
    for (loss, why) in [
        ("pier-3-barn:0.3", "--loss barn: "),
        ("barn-gate:0.3", "--loss barn: "),
        ("gate-gate:0.3", "no link to itself"),
        ("gate:0.3", "FROM-TO:SHARE"),
        ("pier-3-gate:1", "FROM-TO:SHARE"),
    ] {
        let (status, told) = told(loss);
        assert!(status == Some(2) && told.contains(why), "{loss}: {told}");
    }
}

#[test]
fn losses_are_on_links_that_are_there() {
    let dir = tempfile::tempdir().unwrap();
    for (args, wanted) in [
        ("collect --testbed pair --loss 1-7:0.2", "no node 7"),
        (
            "collect --testbed office12 --protocol fastforward --loss 1-99:0.2",
            "no node 99",
        ),
        (
            "collect --testbed links.csv --loss 1-3:0.2",
            "does not hear node 1",
        ),
        ("run p3.sizes --testbed pair --loss 9-1:0.2", "no node 9"),
        ("run p3.sizes --loss 3-4:2", "a share from 0 to 0.99"),
        ("run p3.sizes --loss gate-barn:0.2", "where --testbed gives"),
    ] {
        fs::write(
            dir.path().join("links.csv"),
            "src,dst,channel,prr\n1,2,26,1\n2,1,26,1\n2,3,26,1\n",
        )
        .unwrap();
        let args: Vec<&str> = args.split(' ').collect();
        let output = thalweg(dir.path(), &args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(wanted), "{args:?}: {stderr}");
    }
}

#[test]
fn files_of_many_nodes_at_once_are_stored_and_what_died_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let dies = "[[incident]]\nat = \"40 s\"\nwhat = \"dies\"\nnode = 5\n";
    fs::write(dir.path().join("dies.toml"), dies).unwrap();
    let mut args = vec!["collect", "--protocol", "rcrt", "--testbed", "line5"];
    args.extend(["--from", "3,4,5", "--bytes", "6000", "--json"]);
    let report = |output: &Output| -> Value {
        serde_json::from_str(&String::from_utf8_lossy(&output.stdout)).unwrap()
    };
    let whole = report(&run(dir.path(), &args));
    assert_eq!(
        (&whole["whole"], &whole["bytes"]),
        (&3.into(), &18_000.into())
    );
    assert_eq!(whole["stored"].as_array().unwrap().len(), 3);
    assert_eq!(objects(dir.path()).len(), 3);
    for key in "goodput_kbps packets_per_s rate rates repaired_share feedbacks verified".split(' ')
    {
        assert!(whole["nodes"][2].get(key).is_some(), "{key} is missing");
    }
    args.extend(["--scenario", "dies.toml"]);
    let output = thalweg(dir.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(stderr.contains("1 of 3 objects did not arrive"), "{stderr}");
    let partial = report(&output);
    let why = partial["nodes"][2]["failure"].as_str().unwrap();
    assert!(why.contains("of 6000 bytes came in"), "{why}");
    assert_eq!(partial["nodes"][1]["verified"], true);
}

#[test]
fn a_plan_is_that_of_the_protocol_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let plan = |args: &str| {
        let args: Vec<&str> = args.split(' ').collect();
        let out = thalweg(dir.path(), &args).output().unwrap();
        assert!(out.status.success(), "{args:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    // PIP goes over one path, and slim packets hold three bytes more.
    let pip = plan("plan --testbed line5 --protocol pip");
    assert!(
        pip.contains("one path of 4 hops") && !pip.contains("odd group"),
        "{pip}"
    );
    let slim = plan("plan --testbed line5 --protocol p3-slim");
    assert!(
        slim.contains("488 packets of 121 bytes") && slim.contains("P3-SLIM"),
        "{slim}"
    );
    let p3 = plan("plan --testbed line5 --protocol p3");
    assert!(p3.contains("500 packets of 118 bytes"), "{p3}");
    // The old name, and everything that the help offers.
    let planned = "p3 pip pip-hopping pip-cit p3-planned p3-slim p3-best";
    for name in planned.split(' ') {
        let args = format!("plan --links line5 --protocol {name} --json");
        let json: Value = serde_json::from_str(&plan(&args)).unwrap();
        assert_eq!(json["protocol"], name);
    }
    let help = plan("plan --help");
    assert!(!help.contains("fastforward:"), "{help}");
}

#[test]
fn an_object_larger_than_a_transfer_goes_in_parts_and_is_one_again() {
    let dir = tempfile::tempdir().unwrap();
    // The last packets of the largest slim transfer once found no room; 88 bytes more are another part.
    let file: Vec<u8> = (0..1_933_400u32)
        .map(|k| (k.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    fs::write(dir.path().join("big.bin"), &file).unwrap();
    let args = "collect --testbed pair --protocol p3-best --file big.bin --json";
    let out = thalweg(dir.path(), &args.split(' ').collect::<Vec<_>>())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        (&report["parts"], &report["attempts"]),
        (&2.into(), &2.into()),
        "{report}"
    );
    assert_eq!(report["protocol"], "p3-best");
    let stored = report["stored"]["path"].as_str().unwrap();
    assert!(fs::read(dir.path().join(stored)).unwrap() == file);
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(told.contains("part 2 of 2"), "{told}");
}

#[test]
fn what_a_link_loses_by_itself_is_not_put_down_to_foreign_traffic() {
    let dir = tempfile::tempdir().unwrap();
    let explain = |testbed: &str| {
        let args = [
            "--from",
            "3",
            "--to",
            "1",
            "--bytes",
            "5000",
            "--protocol",
            "pip",
        ];
        let lossy = [
            "collect",
            "--loss",
            "2-1:0.3",
            "--explain",
            "--testbed",
            testbed,
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        let output = command
            .current_dir(dir.path())
            .args(lossy)
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    // A bench without Wi-Fi or bursts.
    let text = explain("line5");
    assert!(
        text.contains("link's own loss") && !text.contains("Wi-Fi"),
        "{text}"
    );
}
