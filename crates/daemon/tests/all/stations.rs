//! Several stations: each has its own queue, survey and nodes; one that is out of reach stops no other.

use std::sync::atomic::AtomicU32;
use std::sync::Arc;

use super::client::{config, delete, get, network, post, send, until, BYTES, PATIENCE, SEED};
use super::Away;
use serde_json::json;
use thalweg_daemon::config::{Config, NetworkConfig};
use thalweg_daemon::{Daemon, StartError, Station};
use thalweg_simnet::networks::{record, Simulated};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, NodeId};

fn named(name: &str) -> NetworkConfig {
    NetworkConfig {
        name: Some(name.to_owned()),
        ..NetworkConfig::default()
    }
}

/// A small building of another seed than [`network`]'s, on other channels than most.
fn other() -> Station {
    let channels = [11, 12, 13, 17].map(|c| Channel::new(c).unwrap());
    let control = Channel::new(17).unwrap();
    let config = NetworkConfig {
        channels: Some(channels.to_vec()),
        control: Some(control),
        ..named("south")
    };
    let testbed = Testbed::load("floor21").unwrap();
    let testbed = testbed.flooding_on(control).unwrap();
    let network = Simulated::new(Site::new(testbed, SEED + 1), 500.0, BYTES);
    Station::new(&config, network.unwrap())
}

#[test]
fn stations_have_queues_nodes_and_channels_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let stations = vec![Station::new(&named("north"), network(500.0)), other()];
    let daemon = Daemon::start_all(&config(dir.path()), stations).unwrap();
    let to = daemon.address();
    // Nobody can mean one of two without naming it.
    let fetch = json!({"kind": "fetch", "from": 17});
    for path in ["/api/network", "/api/nodes", "/api/nodes/17"] {
        let refused = get(to, path);
        assert_eq!(refused.status, 422, "{path}");
        let said = refused.json()["error"].to_string();
        assert!(said.contains("north, south"), "{said}");
    }
    assert_eq!(post(to, &fetch.to_string()).status, 422);
    let nowhere = json!({"kind": "survey", "station": "west"});
    assert_eq!(post(to, &nowhere.to_string()).status, 422);
    assert_eq!(get(to, "/api/jobs?station=west").status, 422);
    for path in ["/?station=west", "/nodes/17?station=west"] {
        assert_eq!(get(to, path).status, 404, "{path}");
    }

    // Both have a node 17, which is not the same.
    let asked = ["north", "south"].map(|station| {
        let fetch = json!({"kind": "fetch", "from": 17, "station": station});
        let job = post(to, &fetch.to_string()).json();
        assert_eq!(job["station"], station);
        (station, job["id"].as_i64().unwrap())
    });
    let mut brought = Vec::new();
    for (seed, (station, id)) in [SEED, SEED + 1].into_iter().zip(asked) {
        let done = until(to, id, |job| job["ended_at"].is_string());
        assert_eq!(done["state"], "done", "{done}");
        let content = get(to, &format!("/api/objects/{}/content", done["object"]));
        let node = NodeId::new(17).unwrap();
        assert_eq!(content.body[..], record(seed, node, BYTES as usize)[..]);
        let object = get(to, &format!("/api/objects/{}", done["object"])).json();
        assert_eq!(
            (&object["network"], &object["from"]),
            (&station.into(), &17.into())
        );
        let node = get(to, &format!("/api/nodes/17?station={station}")).json();
        assert_eq!(node["node"]["object"], done["object"]);
        assert_eq!(node["node"]["station"], station);
        let jobs = get(to, &format!("/api/jobs?station={station}")).json();
        assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1);
        brought.push(done["object"].clone());
        let page = get(to, &format!("/map?station={station}")).text();
        assert!(page.contains(&format!("/nodes/17?station={station}")));
        let page = get(to, &format!("/nodes/17?station={station}")).text();
        assert!(page.contains(&format!("Node 17 of {station}")));
        assert!(page.contains(&format!("value=\"{station}:17\" selected")));
    }
    assert_ne!(brought[0], brought[1]);
    assert_eq!(
        get(to, "/api/jobs").json()["jobs"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let all = get(to, "/api/stations").json();
    let of = |n: usize| &all["stations"][n];
    assert_eq!(
        (&of(0)["name"], &of(1)["name"]),
        (&"north".into(), &"south".into())
    );
    // It was measured on its own channels.
    let channel = of(1)["survey"]["channel"].as_u64().unwrap();
    assert!([11, 12, 13, 17].contains(&channel), "{channel}");
    let links = get(to, "/api/nodes/17?station=south").json();
    for link in links["links"].as_array().unwrap() {
        let channel = link["channel"].as_u64().unwrap();
        assert!([11, 12, 13, 17].contains(&channel), "{link}");
    }
    let metrics = get(to, "/metrics").text();
    for line in [
        "thalweg_jobs{station=\"south\",state=\"done\"} 1",
        "thalweg_line_up{station=\"north\"} 1",
        "thalweg_objects 2",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let form = "POST /transfers HTTP/1.1\nContent-Type: application/x-www-form-urlencoded";
    assert_eq!(send(to, form, "what=south%3Asurvey").status, 303);
    assert_eq!(send(to, form, "what=survey").status, 422);
    let page = get(to, "/transfers").text();
    let option = "<option value=\"south:17\">node 17 of south</option>";
    assert!(page.contains(option), "{page}");
    assert!(page.contains("north: object of <a href=\"/nodes/17?station=north\">"));
}

#[test]
fn a_station_whose_line_is_down_stops_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let away = Away {
        network: network(500.0),
        left: Arc::new(AtomicU32::new(u32::MAX)),
    };
    let stations = vec![Station::new(&named("north"), away), other()];
    let daemon = Daemon::start_all(&config(dir.path()), stations).unwrap();
    let to = daemon.address();
    let survey = |station: &str| {
        let asked = post(
            to,
            &json!({"kind": "survey", "station": station}).to_string(),
        );
        asked.json()["id"].as_i64().unwrap()
    };
    let (waits, runs) = (survey("north"), survey("south"));
    until(to, runs, |job| job["state"] == "done");
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        let health = get(to, "/healthz").json();
        if health["status"] == "degraded" {
            assert_eq!(health["stations"]["north"]["down"], "no such port");
            assert_eq!(health["stations"]["south"], "up");
            break;
        }
        assert!(std::time::Instant::now() < end, "{health}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let waiting = get(to, &format!("/api/jobs/{waits}")).json();
    assert_eq!(waiting["state"], "queued");
    let page = get(to, "/?station=south").text();
    assert!(
        page.contains("The base station of north is out of reach"),
        "{page}"
    );
    assert_eq!(
        delete(to, &format!("/api/jobs/{waits}")).json()["state"],
        "cancelled"
    );
}

#[test]
fn stations_that_cannot_be_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let start = |stations| Daemon::start_all(&config(dir.path()), stations).err();
    let station = |of: &NetworkConfig| Station::new(of, network(500.0));
    let twice = start(vec![station(&named("a")), station(&named("a"))]);
    assert!(matches!(twice, Some(StartError::Stations(_))));
    assert!(matches!(start(Vec::new()), Some(StartError::Stations(_))));
    let [offered, other] = [20, 11].map(|c| Channel::new(c).unwrap());
    let elsewhere = NetworkConfig {
        channels: Some(vec![other]),
        ..named("a")
    };
    let mut testbed = Testbed::load("floor21").unwrap();
    testbed.channels = [offered].into_iter().collect();
    let network = Simulated::new(Site::new(testbed, SEED), 500.0, BYTES).unwrap();
    let refused = start(vec![Station::new(&elsewhere, network)]).unwrap();
    let refused = refused.to_string();
    assert!(refused.contains("channel 11 is not available"), "{refused}");
    let file = dir.path().join("gateway.toml");
    let text =
        "[[station]]\nname = \"a\"\nchannels = [15]\n[[station]]\nname = \"b\"\nchannels = [20]\n";
    std::fs::write(&file, text).unwrap();
    let why = Config::read(&file).unwrap_err().to_string();
    assert!(why.contains("\"a\" and \"b\" both use channel 26"), "{why}");
}
