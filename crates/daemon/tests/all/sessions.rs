//! Sessions and plans as jobs: what comes is kept and reported, over a cancel and over the end of the daemon.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use thalweg_daemon::Daemon;
use thalweg_simnet::networks::Gauge;
use thalweg_units::NodeId;
use thalweg_wire::seal::frame::Sealing;

use crate::client::{
    self, config, daemon, delete, get, network_that_is, post, until, Events, SEED,
};

/// What node `node` tells in `bytes` bytes.
fn told_by(node: u64, bytes: usize) -> Vec<u8> {
    let gauge = Gauge::new(SEED, NodeId::new(node as u16).unwrap());
    let packets = (0..bytes.div_ceil(64) as u32).map(|sequence| gauge.packet(sequence));
    let mut told = packets.collect::<String>().into_bytes();
    told.truncate(bytes);
    told
}

/// Every object of the store is what its node sent, from the beginning or where the one before ended; how many bytes
/// came of each node.
fn whole_objects(to: std::net::SocketAddr) -> BTreeMap<u64, usize> {
    let objects = get(to, "/api/objects").json()["objects"].clone();
    let (mut told_yet, mut came) = (BTreeMap::new(), BTreeMap::new());
    for object in objects.as_array().unwrap().iter().rev() {
        assert_eq!(object["protocol"], "rcrt");
        let node = object["from"].as_u64().unwrap();
        let content = get(to, &format!("/api/objects/{}/content", object["id"])).body;
        let before: &mut usize = told_yet.entry(node).or_default();
        let goes_on = told_by(node, *before + content.len())[*before..] == content;
        if !goes_on {
            *before = 0;
        }
        let begins = told_by(node, content.len()) == content;
        assert!(goes_on || begins, "object {} of node {node}", object["id"]);
        *before += content.len();
        *came.entry(node).or_default() += content.len();
    }
    came
}

#[test]
fn a_session_is_watched_to_its_end_and_what_came_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 500.0);
    let to = daemon.address();
    let mut events = Events::of(to);
    let asked = post(
        to,
        "{\"kind\": \"session\", \"sources\": [17, 4, 6], \"policy\": \"weighted:17=3\", \"demand\": 4,
          \"demands\": {\"6\": 2}, \"duration_s\": 240}",
    );
    assert_eq!(asked.status, 201, "{}", asked.text());
    let job = asked.json();
    assert_eq!(job["sources"], serde_json::json!([4, 6, 17]));
    assert_eq!(
        (&job["kind"], &job["demands"]["6"]),
        (&"session".into(), &2.0.into())
    );
    let id = job["id"].as_i64().unwrap();
    let page = get(to, &format!("/jobs/{id}")).text();
    assert!(
        page.contains("packets/s") && !page.contains(">-0"),
        "{page}"
    );
    let rates = events.next("rates");
    assert_eq!(
        (&rates["job"], rates["sources"].as_array().unwrap().len()),
        (&id.into(), 3)
    );

    let done = until(to, id, |job| job["ended_at"].is_string());
    assert_eq!(done["state"], "done", "{done}");
    let outcome = &done["outcome"];
    assert!(outcome["duration_s"].as_f64() >= Some(239.0), "{outcome}");
    let samples = get(to, &format!("/api/jobs/{id}/rates")).json()["samples"].clone();
    let samples = samples.as_array().unwrap();
    assert!(samples.len() > 80, "{}", samples.len());
    let last = &samples[samples.len() - 1]["sources"];
    assert_eq!(*last, {
        let sources = outcome["sources"]
            .as_array()
            .unwrap()
            .iter()
            .zip(last.as_array().unwrap());
        let with_rate = sources.map(|(source, last)| {
            let mut source = source.clone();
            source["rate"] = last["rate"].clone();
            source
        });
        Value::Array(with_rate.collect())
    });
    // The sink gives by weights.
    let rate = |k: usize| last[k]["rate"].as_f64().unwrap();
    assert!((rate(2) / rate(0) - 3.0).abs() < 0.05, "{last}");

    let came = whole_objects(to);
    let bytes = |k: usize| outcome["sources"][k]["bytes"].as_u64().unwrap() as usize;
    assert_eq!(
        came,
        BTreeMap::from([(4, bytes(0)), (6, bytes(1)), (17, bytes(2))])
    );
    assert!(bytes(0) > 10_000, "{outcome}");

    let page = get(to, &format!("/jobs/{id}?node=17")).text();
    for part in ["<svg", "node 17", "packets per second", "Objects"] {
        assert!(page.contains(part), "{part}");
    }
    let packed = crate::pages::packed(page.as_bytes());
    assert!(packed < crate::pages::MOST / 2, "{packed}");
    assert_eq!(get(to, "/api/jobs/99/rates").status, 404);
}

#[test]
fn a_session_in_a_secured_network_comes_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let secured = network_that_is(Sealing::Sealed, 500.0);
    let daemon = Daemon::start(&config(dir.path()), secured).unwrap();
    let to = daemon.address();
    let asked = post(
        to,
        "{\"kind\": \"session\", \"sources\": [4, 6], \"policy\": \"fair\", \"duration_s\": 200}",
    );
    let id = asked.json()["id"].as_i64().unwrap();
    let done = until(to, id, |job| job["ended_at"].is_string());
    assert_eq!(done["state"], "done", "{done}");
    let came = whole_objects(to);
    assert!(
        came.len() == 2 && came.values().all(|bytes| *bytes > 1_000),
        "{came:?}"
    );
    let objects = get(to, "/api/objects").json()["objects"].clone();
    let objects = objects.as_array().unwrap();
    assert!(
        objects.iter().all(|object| object["sealed"] == true),
        "{objects:?}"
    );
}

#[test]
fn a_session_that_is_cancelled_or_interrupted_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let first = daemon(dir.path(), 500.0);
    let to = first.address();
    let ask = |to| {
        let asked = post(
            to,
            "{\"kind\": \"session\", \"sources\": \"all\", \"policy\": \"fair\"}",
        );
        asked.json()["id"].as_i64().unwrap()
    };
    let packets = |to, id: i64| {
        let end = Instant::now() + client::PATIENCE;
        loop {
            let samples = get(to, &format!("/api/jobs/{id}/rates")).json()["samples"].clone();
            let last = samples
                .as_array()
                .unwrap()
                .last()
                .cloned()
                .unwrap_or_default();
            let sources = last["sources"].as_array().cloned().unwrap_or_default();
            let all: u64 = sources.iter().filter_map(|s| s["packets"].as_u64()).sum();
            if all > 100 {
                return all;
            }
            assert!(Instant::now() < end, "{last}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let id = ask(to);
    let before = packets(to, id);
    first.stop();

    let second = daemon(dir.path(), 500.0);
    let to = second.address();
    let kept: usize = whole_objects(to).values().sum();
    assert!(
        kept as u64 >= before * 64,
        "{kept} bytes of {before} packets"
    );
    // It goes on, and counts on.
    until(to, id, |job| job["state"] == "running");
    let end = Instant::now() + client::PATIENCE;
    while packets(to, id) < before + 100 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(delete(to, &format!("/api/jobs/{id}")).status, 202);
    let ended = until(to, id, |job| job["ended_at"].is_string());
    assert_eq!(
        (&ended["state"], &ended["error"]),
        (&"cancelled".into(), &Value::Null)
    );
    let bytes: usize = whole_objects(to).values().sum();
    assert_eq!(ended["outcome"]["bytes"].as_u64(), Some(bytes as u64));
}

#[test]
fn a_plan_is_kept_and_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 500.0);
    let to = daemon.address();
    let asked = post(to, "{\"kind\": \"plan\", \"from\": 17}").json();
    let id = asked["id"].as_i64().unwrap();
    assert_eq!(
        (&asked["kind"], &asked["from"]),
        (&"plan".into(), &17.into())
    );
    let done = until(to, id, |job| job["ended_at"].is_string());
    assert_eq!(
        (&done["state"], &done["object"]),
        (&"done".into(), &Value::Null),
        "{done}"
    );
    let plan = &done["outcome"];
    assert_eq!(
        (&plan["source"], &plan["testbed"]),
        (&17.into(), &"floor21".into())
    );
    let path = plan["paths"][0].as_array().unwrap();
    assert_eq!(
        (&path[0], path.len() as u64),
        (&17.into(), plan["hops"].as_u64().unwrap() + 1)
    );
    assert!(
        plan["prediction"]["goodput_kbps"].as_f64() > Some(50.0),
        "{plan}"
    );
    assert!(plan["backups"]["others"].is_array() && plan["stages"].is_array());
    assert_eq!(
        get(to, "/api/objects").json()["objects"],
        serde_json::json!([])
    );
    // The map has the route's legend, and its page outlives the daemon.
    let is_drawn = |to| {
        let page = get(to, &format!("/jobs/{id}")).text();
        page.contains("has the object") && page.contains("Backup relays")
    };
    assert!(is_drawn(to));
    daemon.stop();
    let again = client::daemon(dir.path(), 500.0);
    assert!(is_drawn(again.address()));
}

#[test]
fn what_cannot_be_a_plan_or_a_session_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 500.0);
    let to = daemon.address();
    for (body, part) in [
        ("{\"kind\": \"plan\"}", "expected a node"),
        (
            "{\"kind\": \"fetch\", \"from\": -1}",
            "from: expected a node",
        ),
        ("{\"kind\": \"plan\", \"from\": 999}", "has no node 999"),
        ("{\"kind\": \"session\"}", "list of nodes"),
        ("{\"kind\": \"session\", \"sources\": []}", "list of nodes"),
        (
            "{\"kind\": \"session\", \"sources\": \"some\"}",
            "list of nodes",
        ),
        (
            "{\"kind\": \"session\", \"sources\": [4, 4]}",
            "named twice",
        ),
        (
            "{\"kind\": \"session\", \"sources\": [999]}",
            "has no node 999",
        ),
        ("{\"kind\": \"session\", \"sources\": [1]}", "base station"),
        ("{\"kind\": \"session\", \"from\": 4}", "has sources"),
        (
            "{\"kind\": \"session\", \"sources\": [4], \"policy\": \"x\"}",
            "demand-limited",
        ),
        (
            "{\"kind\": \"session\", \"sources\": [4], \"demand\": -1}",
            "a demand",
        ),
        (
            "{\"kind\": \"session\", \"sources\": [4], \"duration_s\": 1e12}",
            "duration_s",
        ),
        (
            "{\"kind\": \"fetch\", \"from\": 4, \"policy\": \"fair\"}",
            "a session's",
        ),
    ] {
        let refused = post(to, body);
        assert_eq!(refused.status, 422, "{body}: {}", refused.text());
        let why = refused.json()["error"].to_string();
        assert!(why.contains(part), "{body}: {why}");
    }
    assert_eq!(get(to, "/api/jobs").json()["jobs"], serde_json::json!([]));
    assert_eq!(get(to, "/jobs/1").status, 404);
}
