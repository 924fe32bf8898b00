//! Links as people have them: read as they are wherever a network is named, and turned into a CSV.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// Status, standard output and standard error.
fn run(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::cargo_bin("thalweg").unwrap();
    let output = command.current_dir(dir).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code();
    (code, text(output.stdout), text(output.stderr))
}

fn done(dir: &Path, args: &[&str]) -> String {
    let (status, out, err) = run(dir, args);
    assert_eq!(status, Some(0), "{args:?}: {err}");
    out
}

const GAINS: &str =
    "gain 1 2 -61.4\ngain 2 1 -62\ngain 2 3 -70.2\ngain 3 2 -71\nnoise 1 -105.3 5.4\n";

#[test]
fn an_imported_file_is_the_same_network() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("gains.txt"), GAINS).unwrap();
    let out = done(
        dir.path(),
        &["testbed", "import", "gains.txt", "-o", "links.csv"],
    );
    for part in [
        "gains.txt: TOSSIM gains\n3 nodes, 4 directed links, all sixteen channels\n",
        "note: a gain is the level at the receiver of a frame sent at 0 dBm\n",
        "4 links have no reception ratio: they got the share of 127-byte frames\nthat telosb receives",
        "Written to links.csv; `thalweg testbed show links.csv` has more.\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let table = fs::read_to_string(dir.path().join("links.csv")).unwrap();
    let head = "# Links of gains.txt, TOSSIM gains, read by thalweg.\n# a gain is the level";
    assert!(table.starts_with(head), "{table}");
    assert!(
        table.ends_with(
            "src,dst,channel,prr,rssi_dbm\n1,2,,1,-61.4\n2,1,,1,-62\n2,3,,1,-70.2\n3,2,,1,-71\n"
        ),
        "{table}"
    );
    let shown = |file: &str| -> Value {
        let shown = done(dir.path(), &["testbed", "show", file, "--json"]);
        serde_json::from_str::<Value>(&shown).unwrap()["channels"].clone()
    };
    assert_eq!(shown("gains.txt"), shown("links.csv"));
    // Its own file is replaced, and no other.
    done(
        dir.path(),
        &["testbed", "import", "gains.txt", "-o", "links.csv"],
    );
    fs::write(dir.path().join("links.csv"), "mine").unwrap();
    let (status, _, err) = run(
        dir.path(),
        &["testbed", "import", "gains.txt", "-o", "links.csv"],
    );
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("--force"), "{err}");
}

#[test]
fn without_a_file_the_table_goes_to_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("gains.txt"), GAINS).unwrap();
    let (status, out, err) = run(dir.path(), &["testbed", "import", "gains.txt"]);
    assert_eq!(status, Some(0));
    assert!(
        out.ends_with("3,2,,1,-71\n") && out.starts_with("# Links of"),
        "{out}"
    );
    assert!(err.starts_with("gains.txt: TOSSIM gains\n"), "{err}");
    let out = done(dir.path(), &["testbed", "import", "gains.txt", "--json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&json["format"], &json["links"]),
        (&"TOSSIM gains".into(), &4.into())
    );
    assert!(json["output"].is_null() && json["assumed"].as_array().unwrap().len() == 3);
}

#[test]
fn labels_stand_beside_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let map = r#"{"nodes":[{"ieeeAddr":"0x01","friendlyName":"Hub"},{"ieeeAddr":"0x02","friendlyName":"Küche"}],
        "links":[{"source":{"ieeeAddr":"0x01"},"target":{"ieeeAddr":"0x02"},"lqi":120},
        {"source":{"ieeeAddr":"0x02"},"target":{"ieeeAddr":"0x01"},"lqi":120}]}"#;
    fs::write(dir.path().join("map.json"), map).unwrap();
    done(
        dir.path(),
        &["testbed", "import", "map.json", "-o", "map.csv"],
    );
    for file in ["map.json", "map.csv"] {
        let shown = done(dir.path(), &["testbed", "show", file, "--svg", "m.svg"]);
        assert!(
            shown.contains("2 telosb nodes, sink 1 (Hub), which"),
            "{shown}"
        );
        assert!(
            shown.contains("node  label\n----  -----\n   1  Hub\n   2  Küche\n"),
            "{shown}"
        );
        assert!(shown.contains("  11-26      2"), "{shown}");
        let svg = fs::read_to_string(dir.path().join("m.svg")).unwrap();
        assert!(svg.contains("node 2 (Küche): 1 hops"), "{file}");
        let shown = done(dir.path(), &["testbed", "show", file, "--json"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["labels"][1]["label"], "Küche");
    }
    let out = done(dir.path(), &["plan", "--testbed", "map.json"]);
    assert!(out.contains("sink 1 (Hub), which"), "{out}");
    assert!(out.contains("source 2 (Küche), a far node"), "{out}");
    // In a testbed of one's own.
    let toml = "name = \"barn\"\n[[nodes]]\nid = 4\nlabel = \"gate\"\nx_m = 0.0\ny_m = 0.0\n[[nodes]]\nid = 7\nx_m = 5.0\ny_m = 0.0\n";
    fs::write(dir.path().join("barn.toml"), toml).unwrap();
    let shown = done(dir.path(), &["testbed", "show", "barn.toml"]);
    assert!(
        shown.contains("sink 4 (gate), the testbed's first node"),
        "{shown}"
    );
}

#[test]
fn what_cannot_be_read_is_named_where_a_network_is_expected() {
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8], &str); 5] = [
        (
            "links.xlsx",
            b"PK\x03\x04",
            "links.xlsx: the spreadsheet is damaged or cut short",
        ),
        (
            "old.xls",
            b"\xd0\xcf\x11\xe0\xa1",
            "old.xls: a spreadsheet of old (XLS): save it as XLSX or CSV",
        ),
        (
            "a.log",
            b"[INFO: Link Stats] num packets: tx=9 ack=8 rx=9 to=0012.4b00.0000.0002\n",
            "a Contiki-NG log",
        ),
        (
            "links.txt",
            b"src dst prr\n1 2 0.9\n",
            "links.txt: neither a testbed's TOML nor links that can be read; expected",
        ),
        (
            "sim.csc",
            b"<simconf/>",
            "a Cooja simulation whose radio medium (none) has no edges",
        ),
    ];
    for (name, bytes, expected) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
        for args in [
            &["testbed", "show", name][..],
            &["plan", "--testbed", name],
            &["testbed", "import", name],
        ] {
            let (status, _, err) = run(dir.path(), args);
            assert_eq!(status, Some(2), "{err}");
            assert!(
                err.contains(expected) && err.lines().count() == 1,
                "{args:?}: {err}"
            );
        }
    }
}

#[test]
fn lists_and_summaries_fit_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["testbed", "list"][..],
        &["testbed", "show", "indriya-opal"],
        &["testbed", "show", "quiet100"],
    ] {
        let out = done(dir.path(), args);
        let widest = out.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{out}");
    }
}
