//! The daemon over a real socket: jobs, objects, events, who may ask, what outlives it.
#![allow(clippy::unwrap_used)]

mod altered;
mod broker;
mod client;
mod disk;
mod groups;
mod limits;
mod pages;
mod sessions;
mod stations;
mod strangers;
mod waiting;
mod waves;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;

use client::{config, daemon, delete, get, network, post, send, until, Events, SEED};
use thalweg_daemon::{Daemon, StartError};
use thalweg_host::connector::{Connector, Facts};
use thalweg_host::network::NetworkFault;
use thalweg_host::registry::Pipelined;
use thalweg_simnet::networks::{record, Simulated};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::NodeId;

fn whole(from: u16) -> Arc<[u8]> {
    record(SEED, NodeId::new(from).unwrap(), client::BYTES as usize)
}

#[test]
fn an_object_is_asked_for_watched_and_downloaded() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 1.0);
    let to = daemon.address();
    let mut events = Events::of(to);
    let asked = post(to, "{\"kind\": \"fetch\", \"from\": 17}");
    assert_eq!(asked.status, 201, "{}", asked.text());
    let job = asked.json();
    let id = job["id"].as_i64().unwrap();
    assert_eq!(asked.header("location"), Some(&*format!("/api/jobs/{id}")));
    assert_eq!(job["kind"], "fetch");
    assert_eq!(job["from"], 17);
    assert_eq!(
        (&job["state"], job["progress"].as_f64()),
        (&"queued".into(), Some(0.0))
    );

    let (mut last, mut steps) = (0.0, 0);
    let end = loop {
        let job = events.next("job");
        let progress = job["progress"].as_f64().unwrap();
        assert!(progress >= last, "{job}");
        steps += u32::from(progress > last);
        last = progress;
        if job["state"] != "running" && job["state"] != "queued" {
            break job;
        }
    };
    assert_eq!(end["state"], "done", "{end}");
    assert_eq!(last, 1.0);
    // The daemon reports progress at most five times a second, so this one may be late.
    assert!(steps > 2, "{steps} steps");
    let course = end["outcome"]["course"].as_array().unwrap();
    assert!(course.len() > 1, "{course:?}");
    for key in ["time_s", "goodput_kbps"] {
        assert!(end["expected"][key].as_f64().unwrap() > 0.0, "{end}");
    }
    assert_eq!(end["outcome"]["source"], 17);

    let object = end["object"].as_i64().unwrap();
    let content = format!("/api/objects/{object}/content");
    let whole = whole(17);
    let answer = get(to, &content);
    assert_eq!(answer.body[..], whole[..]);
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(answer
        .header("content-disposition")
        .unwrap()
        .starts_with("attachment"));
    let tag = answer.header("etag").unwrap().to_owned();
    let part = |range: &str| {
        send(
            to,
            &format!("GET {content} HTTP/1.1\nRange: bytes={range}"),
            "",
        )
    };
    let middle = part("100-299");
    assert_eq!((middle.status, &middle.body[..]), (206, &whole[100..300]));
    let of = format!("bytes 100-299/{}", whole.len());
    assert_eq!(middle.header("content-range"), Some(&*of));
    assert_eq!(part("-5").body[..], whole[whole.len() - 5..]);
    let beyond = part("999999-");
    assert_eq!(beyond.status, 416);
    assert!(beyond.json()["error"].is_string(), "{}", beyond.text());
    let head = send(to, &format!("HEAD {content} HTTP/1.1"), "");
    assert_eq!(
        head.header("content-length"),
        Some(&*whole.len().to_string())
    );
    assert!(head.body.is_empty());

    let told = get(to, &format!("/api/objects/{object}")).json();
    assert_eq!(format!("\"{}\"", told["sha256"].as_str().unwrap()), tag);
    let all = get(to, "/api/objects").json();
    assert_eq!(all["objects"].as_array().unwrap().len(), 1);
    assert_eq!(all["objects"][0], told);
    let network = get(to, "/api/network").json();
    assert_eq!(
        (&network["name"], &network["nodes"]),
        (&"floor21".into(), &21.into())
    );
    assert!(
        network["survey"]["links"].as_u64().unwrap() > 20,
        "{network}"
    );
    let node = get(to, "/api/nodes/17").json();
    assert_eq!(node["node"]["object"], object);
    assert!(!node["links"].as_array().unwrap().is_empty());
    let metrics = get(to, "/metrics").text();
    for line in [
        "thalweg_jobs{state=\"done\"} 1",
        "thalweg_objects 1",
        "thalweg_line_up 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    metrics_are_named_as_prometheus_wants_and_the_dashboard_knows_them(&metrics);
    // What is known already is not measured again.
    let id = post(to, "{\"kind\": \"fetch\", \"from\": 4}").json()["id"]
        .as_i64()
        .unwrap();
    until(to, id, |job| job["state"] == "done");
    let log = get(to, "/api/log").json().to_string();
    assert_eq!(log.matches("links measured").count(), 1, "{log}");
}

/// By the rules of `promtool check metrics`.
fn metrics_are_named_as_prometheus_wants_and_the_dashboard_knows_them(metrics: &str) {
    assert!(!metrics.contains(" -0\n"), "nothing is below zero");
    for line in metrics.lines().filter_map(|l| l.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
        assert!(metrics.contains(&format!("# HELP {name} ")), "{name}");
    }
    let dashboard = include_str!("../../../../docs/examples/grafana.json");
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let names = dashboard.match_indices("thalweg_").map(|(at, _)| {
        let rest = &dashboard[at..];
        &rest[..rest.find(|c| !is_name(c)).unwrap()]
    });
    let names: std::collections::BTreeSet<&str> = names.collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(metrics.contains(&format!("# TYPE {name} ")), "{name}");
    }
}

#[test]
fn a_cancelled_job_ends() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 1.0);
    let to = daemon.address();
    let asked = post(to, "{\"kind\": \"fetch\", \"from\": [17, 4]}").json();
    let ids: Vec<i64> = asked["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["id"].as_i64().unwrap())
        .collect();
    until(to, ids[0], |job| job["state"] == "running");
    let queued = delete(to, &format!("/api/jobs/{}", ids[1]));
    assert_eq!(
        (queued.status, &queued.json()["state"]),
        (200, &"cancelled".into())
    );
    assert_eq!(delete(to, &format!("/api/jobs/{}", ids[0])).status, 202);
    let ended = until(to, ids[0], |job| job["state"] != "running");
    assert_eq!(
        (&ended["state"], &ended["object"]),
        (&"cancelled".into(), &serde_json::Value::Null)
    );
    assert_eq!(delete(to, &format!("/api/jobs/{}", ids[0])).status, 409);
    assert_eq!(delete(to, "/api/jobs/999").status, 404);
    let survey = post(to, "{\"kind\": \"survey\", \"priority\": 3}").json();
    assert_eq!(
        (&survey["kind"], &survey["priority"]),
        (&"survey".into(), &3.into())
    );
}

#[test]
fn a_daemon_that_begins_again_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let slow = daemon(dir.path(), 1.0);
    let to = slow.address();
    let asked = post(to, "{\"kind\": \"fetch\", \"from\": [4, 17]}").json();
    let first = asked["jobs"][0]["id"].as_i64().unwrap();
    until(to, first, |job| {
        job["state"] == "running" && job["progress"].as_f64() > Some(0.0)
    });
    let second = Daemon::start(&config(dir.path()), network(1.0));
    assert!(
        matches!(second.err(), Some(StartError::Store(_))),
        "one daemon has a folder"
    );
    slow.stop();

    let quick = daemon(dir.path(), 500.0);
    let to = quick.address();
    for (id, from) in [(first, 4), (first + 1, 17)] {
        let done = until(to, id, |job| job["state"] == "done");
        let content = format!("/api/objects/{}/content", done["object"]);
        assert_eq!(get(to, &content).body[..], whole(from)[..]);
    }
    drop(quick);
    // Links are known still, and so is all that was.
    let again = daemon(dir.path(), 1.0);
    let to = again.address();
    assert!(
        get(to, "/api/network").json()["survey"]["age_s"]
            .as_i64()
            .unwrap()
            >= 0
    );
    assert_eq!(
        get(to, "/api/jobs").json()["jobs"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

/// A network whose base station is out of reach at first.
struct Away {
    network: Simulated,
    left: Arc<AtomicU32>,
}

impl Connector for Away {
    type Network = <Simulated as Connector>::Network;
    fn facts(&self) -> Facts {
        self.network.facts()
    }
    fn open(&mut self) -> Result<Self::Network, NetworkFault> {
        let less = |left: u32| left.checked_sub(1);
        match self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        {
            Ok(_) => Err(NetworkFault::Broken("no such port".into())),
            Err(_) => self.network.open(),
        }
    }
}

#[test]
fn jobs_wait_for_a_base_station_that_is_away() {
    let dir = tempfile::tempdir().unwrap();
    let left = Arc::new(AtomicU32::new(u32::MAX));
    let away = Away {
        network: network(500.0),
        left: left.clone(),
    };
    let daemon = Daemon::start(&config(dir.path()), away).unwrap();
    let to = daemon.address();
    let survey = || {
        let job = post(to, "{\"kind\": \"survey\"}").json();
        job["id"].as_i64().unwrap()
    };
    let first = survey();
    let end = std::time::Instant::now() + client::PATIENCE;
    while get(to, "/healthz").json()["status"] != "degraded" {
        assert!(std::time::Instant::now() < end);
        std::thread::sleep(Duration::from_millis(20));
    }
    let line = &get(to, "/api/network").json()["line"];
    assert_eq!(line["down"], "no such port");
    assert!(get(to, "/").text().contains("out of reach: no such port"));
    // Whoever asks for something has it tried at once, and nobody waits longer for that.
    let tried = || u32::MAX - left.load(Ordering::SeqCst);
    let before = tried();
    let others: Vec<i64> = (0..6).map(|_| survey()).collect();
    while tried() == before {
        assert!(std::time::Instant::now() < end, "{before}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let jobs = get(to, "/api/jobs").json();
    for job in jobs["jobs"].as_array().unwrap() {
        assert_eq!(job["state"], "queued", "{job}");
    }
    for id in others {
        assert_eq!(delete(to, &format!("/api/jobs/{id}")).status, 200);
    }
    left.store(0, Ordering::SeqCst);
    let back = std::time::Instant::now();
    until(to, first, |job| job["state"] == "done");
    assert!(
        back.elapsed() < Duration::from_secs(12),
        "{:?}",
        back.elapsed()
    );
    assert_eq!(get(to, "/healthz").json()["status"], "ok");
}

#[test]
fn a_survey_after_a_cancelled_transfer_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    // Its survey begins with one flood: a relay that waits for packets yet is missing from it.
    config.transfers.protocol = Pipelined::named("p3-best").unwrap();
    // Long enough to be cancelled under way, also where this machine is busy.
    let site = Site::new(Testbed::load("floor21").unwrap(), SEED);
    let network = Simulated::new(site, 10.0, 200_000).unwrap();
    let daemon = Daemon::start(&config, network).unwrap();
    let to = daemon.address();
    let id = |asked: client::Answer| asked.json()["id"].as_i64().unwrap();
    let fetch = id(post(to, "{\"kind\": \"fetch\", \"from\": 17}"));
    until(to, fetch, |job| job["received"].as_u64() > Some(10));
    let cancelled = delete(to, &format!("/api/jobs/{fetch}"));
    assert_eq!(cancelled.status, 202, "{}", cancelled.text());
    let survey = id(post(to, "{\"kind\": \"survey\"}"));
    let done = until(to, survey, |job| job["ended_at"].is_string());
    assert_eq!(done["outcome"]["missing"], serde_json::json!([]), "{done}");
    let ended = get(to, &format!("/api/jobs/{fetch}")).json();
    assert_eq!(ended["state"], "cancelled");
}

#[test]
fn an_object_of_two_transfers_is_one_object() {
    let dir = tempfile::tempdir().unwrap();
    let site = Site::new(Testbed::load("pair").unwrap(), SEED);
    let mut nodes = site.testbed.nodes.iter().map(|node| node.id);
    let source = nodes.find(|id| *id != site.testbed.sink).unwrap();
    // A transfer carries 1,933,312.
    let bytes = 2_000_000;
    let network = Simulated::new(site, 1_000.0, bytes).unwrap();
    let daemon = Daemon::start(&config(dir.path()), network).unwrap();
    let to = daemon.address();
    let job = post(to, &format!("{{\"kind\": \"fetch\", \"from\": {source}}}")).json();
    let job = until(to, job["id"].as_i64().unwrap(), |job| {
        job["ended_at"].is_string()
    });
    assert_eq!(job["state"], "done", "{job}");
    let object = get(to, &format!("/api/objects/{}/content", job["object"])).body;
    assert!(
        object == record(SEED, source, bytes as usize)[..],
        "other bytes"
    );
    let log = get(to, "/api/log").text();
    assert!(log.contains("part 2 of 2"), "{log}");
}

#[test]
fn jobs_wait_for_their_window() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gateway.toml");
    // Whatever the time is, it is not in this one.
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let hour = since.unwrap().as_secs() / 3_600 % 24;
    let text = |from: u64, to: u64| {
        format!(
            "listen = \"127.0.0.1:0\"\n[transfers]\nwindows = [\"{:02}:00-{:02}:00\"]",
            from % 24,
            to % 24
        )
    };
    for (windows, waits) in [
        (text(hour + 12, hour + 13), true),
        (text(hour, hour + 2), false),
    ] {
        std::fs::write(&file, windows).unwrap();
        let mut config = thalweg_daemon::config::Config::read(&file).unwrap();
        config.data = dir.path().join(format!("data-{waits}"));
        let daemon = Daemon::start(&config, network(500.0)).unwrap();
        let to = daemon.address();
        let id = post(to, "{\"kind\": \"survey\"}").json()["id"]
            .as_i64()
            .unwrap();
        match waits {
            true => {
                std::thread::sleep(Duration::from_millis(1_500));
                assert_eq!(
                    get(to, &format!("/api/jobs/{id}")).json()["state"],
                    "queued"
                );
                assert!(get(to, "/").text().contains("waits for its window"));
                assert!(get(to, "/transfers").text().contains("it opens in"));
                let page = get(to, &format!("/jobs/{id}")).text();
                assert!(page.contains("which opens at"), "{page}");
            }
            false => drop(until(to, id, |job| job["state"] == "done")),
        }
    }
}

#[test]
fn idle_stations_measure_old_links_again_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.transfers.resurvey_after_h = 0.0;
    config.transfers.survey_when_idle = true;
    let daemon = Daemon::start(&config, network(500.0)).unwrap();
    let to = daemon.address();
    let jobs = || {
        get(to, "/api/jobs").json()["jobs"]
            .as_array()
            .unwrap()
            .len()
    };
    std::thread::sleep(Duration::from_millis(1_200));
    assert_eq!(jobs(), 0, "nobody knows them yet: somebody has to ask");
    let asked = post(to, "{\"kind\": \"survey\"}").json();
    let first = asked["id"].as_i64().unwrap();
    until(to, first, |job| job["state"] == "done");
    let end = std::time::Instant::now() + client::PATIENCE;
    while jobs() < 2 {
        assert!(std::time::Instant::now() < end);
        std::thread::sleep(Duration::from_millis(50));
    }
    let second = until(to, first + 1, |job| job["state"] == "done");
    assert_eq!(
        (&second["kind"], &second["priority"]),
        (&"survey".into(), &(-128).into())
    );
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(jobs(), 2, "once in a period");
}
