//! `plan --lifetime` and `plan --base-stations`.

use std::fs;

use crate::networks::{done, json, row, run};

/// A row of nodes with names, the base station at one end.
fn named_row() -> String {
    let mut text = String::from("src,dst,channel,prr\n");
    let names = ["gate", "pier", "shed", "barn", "mill", "lock"];
    for two in names.windows(2) {
        for channel in [15, 20, 25, 26] {
            for (from, to) in [(two[0], two[1]), (two[1], two[0])] {
                text.push_str(&format!("{from},{to},{channel},1.0\n"));
            }
        }
    }
    text
}

#[test]
fn days_until_batteries_are_empty() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("row.csv"), named_row()).unwrap();
    let plan = "plan --testbed row.csv --to 1 --lifetime --every 6h --bytes 64k --mah 2400";
    let text = done(dir.path(), &format!("{plan} --svg days.svg"));
    for part in [
        "64000 bytes of each of 5 nodes every 6h, thalweg",
        "sink 1 (gate), as --to says",
        "idle nodes rest and sample the channel: 0.34 mW",
        "Not counted: transfers tried again",
        "2 (pier)",
    ] {
        assert!(text.replace('\n', " ").contains(part), "{part}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let svg = fs::read_to_string(dir.path().join("days.svg")).unwrap();
    assert!(svg.contains("days until batteries are empty") && svg.contains("1 (gate)"));

    let life = json(dir.path(), &format!("{plan} --idle-uw 100 --json"));
    let first = &life["nodes"][0];
    assert_eq!(
        (&first["label"], &first["hops"]),
        (&"pier".into(), &1.into())
    );
    assert_eq!(first["helps"], 4);
    assert_eq!(life["milestones"][0]["days"], first["days"]);
    assert_eq!(life["milestones"][0]["cut_off"], 4, "{life}");
    assert!(first["days"].as_f64().unwrap() > 20.0, "{life}");
    assert_eq!(life["idle"], "given");
}

#[test]
fn where_base_stations_stand_best() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("row.csv"), row(9, 1.0, 0.0)).unwrap();
    let plan = "plan --testbed row.csv --to 1 --base-stations 2";
    let text = done(dir.path(), &format!("{plan} --svg stations.svg"));
    for part in [
        "as it is",
        "the best 2",
        "8 of 8",
        "7 of 7",
        "Not counted: surveys",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let svg = fs::read_to_string(dir.path().join("stations.svg")).unwrap();
    assert!(svg.contains("base stations at"), "{svg}");
    let stations = json(dir.path(), &format!("{plan} --json"));
    let at = |choice: usize| -> Vec<u64> {
        let stations = stations["choices"][choice]["stations"].as_array().unwrap();
        stations
            .iter()
            .map(|s| s["node"].as_u64().unwrap())
            .collect()
    };
    assert_eq!((at(0), at(1)), (vec![1], vec![5]));
    let two = at(2);
    assert!(
        (2..=3).contains(&two[0]) && (7..=8).contains(&two[1]),
        "{two:?}"
    );
    let number = |choice: usize, key: &str| stations["choices"][choice][key].as_f64().unwrap();
    for key in ["mean_hops", "time_s", "energy_j"] {
        assert!(number(2, key) < number(1, key), "{key}: {stations}");
        assert!(number(1, key) <= number(0, key), "{key}: {stations}");
    }
}

#[test]
fn nonsense_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let cases = [
        ("plan --lifetime", "--every <TIME>"),
        ("plan --every 6h", "--lifetime"),
        (
            "plan --lifetime --every 6h --mah 0",
            "milliampere-hours from 1",
        ),
        (
            "plan --lifetime --every 6h --mah nan",
            "milliampere-hours from 1",
        ),
        ("plan --lifetime --every 6x --mah 9", "a time such as 90s"),
        (
            "plan --lifetime --every 6h --mah 9 --idle-uw=-1",
            "microwatts from 0",
        ),
        (
            "plan --lifetime --every 6h --mah 9 --from 3",
            "cannot be used with",
        ),
        (
            "plan --lifetime --every 6h --mah 9 --base-stations 2",
            "cannot be used with",
        ),
        (
            "plan --testbed line5 --lifetime --every 0s --mah 9",
            "--every: a survey and a round take",
        ),
        (
            "plan --testbed line5 --base-stations 0",
            "0 is not in 1..=8",
        ),
        (
            "plan --testbed line5 --base-stations 5",
            "--base-stations: line5 has 5 nodes; give at most 4",
        ),
    ];
    for (args, part) in cases {
        let (status, out, err) = run(dir.path(), args, "");
        assert_eq!((status, out.as_str()), (Some(2), ""), "{args}: {err}");
        assert!(err.contains(part), "{args}: {err}");
    }
}
