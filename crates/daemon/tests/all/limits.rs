//! Limits of windows: nodes with low batteries, or that have spent their share, are left alone; stations take turns.

use std::net::SocketAddr;
use std::time::Instant;

use serde_json::{json, Value};
use thalweg_daemon::config::{Config, NetworkConfig};
use thalweg_daemon::{Daemon, Station};
use thalweg_simnet::networks::Simulated;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{BatteryLevel, NodeId};

use super::client::{config, get, network, post, until, BYTES, PATIENCE, SEED};

/// A floor of 21 nodes whose batteries have `volts`.
fn powered(volts: &str) -> Simulated {
    let text = format!(
        "name = \"floor21\"\nsink = 1\n[battery]\ncapacity_mah = [2000, 2600]\nvolts = {volts}\n\
         [building]\nnodes = 21\nlength_m = 30.0\nwidth_m = 30.0\n"
    );
    let testbed = Testbed::from_toml(&text, "floor21").unwrap();
    Simulated::new(Site::new(testbed, SEED), 500.0, BYTES).unwrap()
}

fn asked(to: SocketAddr, wish: &Value) -> i64 {
    let job = post(to, &wish.to_string());
    assert_eq!(job.status, 201, "{}", job.text());
    job.json()["id"].as_i64().unwrap()
}

fn nodes(to: SocketAddr) -> Vec<Value> {
    let told = get(to, "/api/nodes").json();
    told["nodes"].as_array().unwrap().clone()
}

/// The nodes of a plan's routes, and of all that stands in backup.
fn planned(outcome: &Value) -> Vec<u64> {
    let mut all = Vec::new();
    let mut left = vec![&outcome["paths"], &outcome["backups"]];
    while let Some(value) = left.pop() {
        match value {
            Value::Number(node) => all.extend(node.as_u64()),
            Value::Array(values) => left.extend(values),
            Value::Object(of) => {
                let nodes = of.iter().filter(|(key, _)| *key != "hops");
                left.extend(nodes.map(|(_, value)| value));
            }
            _ => {}
        }
    }
    all
}

#[test]
fn a_node_with_a_low_battery_is_neither_source_nor_relay_until_it_has_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.transfers.least_battery_v = Some(BatteryLevel::of_millivolts(2_500));
    let daemon = Daemon::start(&config, powered("[2.4, 3.0]")).unwrap();
    let to = daemon.address();
    let survey = asked(to, &json!({"kind": "survey"}));
    until(to, survey, |job| job["state"] == "done");
    let known = nodes(to);
    let volts = |node: &Value| node["health"]["battery_v"].as_f64();
    assert_eq!(volts(&known[0]), None, "the base station has mains");
    let told = known.iter().filter(|node| volts(node).is_some()).count();
    assert!(told >= 18, "{told} of 20 told of their batteries");
    let low = |node: &&Value| volts(node).is_some_and(|v| v < 2.5);
    let (low, fit): (Vec<&Value>, Vec<&Value>) = known[1..].iter().partition(low);
    assert!(!low.is_empty() && low.len() < 10, "{} are low", low.len());
    for node in &fit {
        assert!(node["health"]["left_alone"].is_null(), "{node}");
    }
    let (poor, rich) = (&low[0]["id"], &fit[fit.len() - 1]["id"]);
    let said = format!("is at {:.2} V, below 2.50 V", volts(low[0]).unwrap());
    let health = &low[0]["health"];
    assert_eq!(health["left_alone"], said);
    assert!(health["seen_at"].is_string() && health["battery_at"].is_string());

    // Its job waits, and says why; others overtake it, over others.
    let waits = asked(to, &json!({"kind": "fetch", "from": poor, "priority": 9}));
    let session = json!({"kind": "session", "sources": [poor, rich], "duration_s": 60});
    let session = asked(to, &session);
    let runs = asked(to, &json!({"kind": "fetch", "from": rich}));
    until(to, runs, |job| job["state"] == "done");
    for id in [waits, session] {
        let job = get(to, &format!("/api/jobs/{id}")).json();
        assert_eq!(
            (&job["state"], job["phase"].is_null()),
            (&"queued".into(), true)
        );
        assert_eq!(job["waits"], format!("waits: node {poor} {said}"));
    }
    let plan = asked(to, &json!({"kind": "plan", "from": rich}));
    let plan = until(to, plan, |job| job["state"] == "done");
    let through = planned(&plan["outcome"]);
    assert!(through.contains(&rich.as_u64().unwrap()));
    for node in &low {
        assert!(!through.contains(&node["id"].as_u64().unwrap()), "{plan}");
    }
    let page = get(to, &format!("/jobs/{session}")).text();
    assert!(
        page.contains(&format!("It waits: node {poor} {said}.")),
        "{page}"
    );
    let page = get(to, "/transfers").text();
    assert!(
        page.contains(&format!("waits: node {poor} {said}")),
        "{page}"
    );
    assert!(page.contains("Limits: nodes from 2.50 V on."), "{page}");
    let page = get(to, &format!("/nodes/{poor}")).text();
    assert!(
        page.contains("<dt>Battery</dt>") && page.contains(&said),
        "{page}"
    );
    let metrics = get(to, "/metrics").text();
    for line in [
        format!(
            "thalweg_node_battery_volts{{node=\"{poor}\"}} {}",
            health["battery_v"]
        ),
        format!("thalweg_node_left_alone{{node=\"{poor}\"}} 1"),
    ] {
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    daemon.stop();

    // Its battery is changed, and nobody says so: the survey that is due finds out.
    config.transfers.resurvey_after_h = 0.0;
    let daemon = Daemon::start(&config, powered("3.0")).unwrap();
    let to = daemon.address();
    let done = until(to, waits, |job| job["state"] == "done");
    assert!(done["waits"].is_null());
    let log = get(to, "/api/log").json().to_string();
    assert!(
        log.contains("jobs wait for batteries: they are measured again"),
        "{log}"
    );
}

#[test]
fn a_job_that_has_no_route_without_those_that_are_left_alone_waits_for_them() {
    let node = |x_m: u32| {
        format!(
            "[[nodes]]\nid = {}\nx_m = {x_m}.0\ny_m = 0.0\n",
            x_m / 16 + 1
        )
    };
    let nodes: String = (0..5).map(|n| node(16 * n)).collect();
    let battery = "[battery]\ncapacity_mah = 2500\nvolts = [2.4, 3.0]\n";
    let text = format!("name = \"row\"\nsink = 1\n{nodes}{battery}");
    let testbed = Testbed::from_toml(&text, "row").unwrap();
    // Of some seed all on the way have less than the far end.
    let level = |seed: u64, node: u16| {
        let node = NodeId::new(node).unwrap();
        testbed.batteries.unwrap().of(seed, node).level_after(0.0)
    };
    let highest = |seed: u64| (2..5).map(|node| level(seed, node)).max().unwrap();
    let low_on_the_way =
        |seed: &u64| highest(*seed).millivolts() + 50 < level(*seed, 5).millivolts();
    let seed = (1..100).find(low_on_the_way).unwrap();
    let row = || Simulated::new(Site::new(testbed.clone(), seed), 500.0, 2_000).unwrap();

    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    let least = highest(seed).millivolts() + 20;
    config.transfers.least_battery_v = Some(BatteryLevel::of_millivolts(least));
    let daemon = Daemon::start(&config, row()).unwrap();
    let to = daemon.address();
    let id = asked(to, &json!({"kind": "fetch", "from": 5}));
    let job = until(to, id, |job| {
        job["waits"].is_string() || job["ended_at"].is_string()
    });
    let why = job["waits"].as_str().unwrap_or_default();
    assert!(why.contains("no route without nodes"), "seed {seed}: {job}");
    daemon.stop();
    config.transfers.least_battery_v = None;
    let daemon = Daemon::start(&config, row()).unwrap();
    until(daemon.address(), id, |job| job["state"] == "done");
}

#[test]
fn a_node_that_has_spent_its_share_rests_until_it_has_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.transfers.energy_j_per_day = Some(0.05);
    let daemon = Daemon::start(&config, network(500.0)).unwrap();
    let to = daemon.address();
    // The survey before it costs each node more than that.
    let fetch = asked(to, &json!({"kind": "fetch", "from": 17}));
    until(to, fetch, |job| {
        let why = job["waits"].as_str();
        why.is_some_and(|why| why.contains("J today"))
    });
    let spent = |to| {
        let of = &nodes(to)[16];
        of["health"]["energy_today_j"].as_f64().unwrap()
    };
    let before = spent(to);
    assert!(before > 0.05 && before < 10.0, "{before} J");
    let page = get(to, "/nodes/17").text();
    assert!(
        page.contains("<td>today</td>") && page.contains("Energy today"),
        "{page}"
    );
    daemon.stop();

    config.transfers.energy_j_per_day = Some(100.0);
    let daemon = Daemon::start(&config, network(500.0)).unwrap();
    let to = daemon.address();
    until(to, fetch, |job| job["state"] == "done");
    let after = spent(to);
    assert!(after > before, "{before} J, and {after} J later");
    // A minute's session with its receiver on: 3.9 J at 65 mW.
    let session = json!({"kind": "session", "sources": [17], "duration_s": 60});
    let session = asked(to, &session);
    until(to, session, |job| job["state"] == "done");
    let later = spent(to);
    assert!(
        (3.0..6.0).contains(&(later - after)),
        "{after} J, then {later} J"
    );
    let metrics = get(to, "/metrics").text();
    let line = format!("thalweg_node_energy_today_joules{{node=\"17\"}} {before:.0}");
    assert!(metrics.contains(&line[..line.len() - 1]), "{metrics}");
}

#[test]
fn so_many_stations_of_a_building_are_at_work_at_once_and_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let mut config: Config = config(dir.path());
    config.transfers.at_most = Some(1);
    let station = |name: &str, building: Option<&str>| {
        let of = NetworkConfig {
            name: Some(name.to_owned()),
            building: building.map(str::to_owned),
            ..NetworkConfig::default()
        };
        Station::new(&of, network(20.0))
    };
    let stations = vec![
        station("north", Some("mill")),
        station("south", Some("mill")),
        station("far", None),
    ];
    let daemon = Daemon::start_all(&config, stations).unwrap();
    let to = daemon.address();
    let mut jobs = Vec::new();
    for station in ["north", "south", "north", "north", "far"] {
        let wish = json!({"kind": "survey", "station": station});
        jobs.push(asked(to, &wish));
    }
    let (mut turned_away, mut order) = (false, Vec::new());
    let end = Instant::now() + PATIENCE;
    while order.len() < jobs.len() {
        assert!(Instant::now() < end, "{order:?}");
        let all = get(to, "/api/jobs").json();
        let all = all["jobs"].as_array().unwrap();
        let mill = |job: &&Value| job["state"] == "running" && job["station"] != "far";
        assert!(all.iter().filter(mill).count() <= 1, "{all:?}");
        let waits = |job: &Value| {
            job["waits"]
                .as_str()
                .is_some_and(|w| w.contains("at most 1"))
        };
        turned_away |= all.iter().any(waits);
        for job in all.iter().filter(|job| job["state"] == "done") {
            let id = job["id"].as_i64().unwrap();
            if !order.contains(&id) {
                order.push(id);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(turned_away, "nobody waited");
    let place = |id: i64| order.iter().position(|of| *of == id).unwrap();
    assert!(
        place(jobs[1]) < place(jobs[3]),
        "south waited for all of north: {order:?}"
    );
}
