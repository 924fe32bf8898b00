//! Waves: a network of several base stations brings several objects at once.

use serde_json::Value;
use thalweg_daemon::Daemon;
use thalweg_simnet::networks::Simulated;
use thalweg_units::NodeId;
use thalweg_wire::seal::frame::Sealing;

use super::client::{config, delete, get, network, network_that_is, post, until, Events};
use super::whole;

/// The base stations of the small building.
const TO: [u16; 2] = [1, 20];

fn two_stations(speed: f64) -> Simulated {
    let to = TO.map(|id| NodeId::new(id).unwrap());
    network(speed).to(&to).unwrap()
}

/// Every job of group `id`, once all have ended.
fn ended(to: std::net::SocketAddr, group: i64) -> Vec<Value> {
    let jobs = get(to, &format!("/api/jobs?group={group}")).json();
    let jobs = jobs["jobs"].as_array().unwrap().clone();
    let is_over = |job: &Value| job["state"] != "queued" && job["state"] != "running";
    let of = |job: &Value| until(to, job["id"].as_i64().unwrap(), is_over);
    jobs.iter().map(of).collect()
}

#[test]
fn all_nodes_come_in_waves_into_both_base_stations() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&config(dir.path()), two_stations(50.0)).unwrap();
    let to = daemon.address();
    let asked = post(to, "{\"kind\": \"fetch\", \"from\": \"all\"}").json();
    assert_eq!(asked["jobs"].as_array().unwrap().len(), 19, "{asked}");
    let jobs = ended(to, asked["group"].as_i64().unwrap());
    let (mut sinks, mut at_once) = ([0, 0], 0);
    for job in &jobs {
        assert_eq!(job["state"], "done", "{job}");
        let object = get(to, &format!("/api/objects/{}/content", job["object"]));
        let from = job["from"].as_u64().unwrap() as u16;
        assert_eq!(
            object.body[..],
            whole(from)[..],
            "the object of node {from}"
        );
        let beside = job["outcome"]["beside"].as_array().map_or(0, Vec::len);
        at_once += usize::from(beside > 0);
        let sink = TO.iter().position(|id| job["outcome"]["sink"] == *id);
        sinks[sink.unwrap()] += 1;
        assert!(job["expected"]["goodput_kbps"].as_f64().unwrap() > 0.0);
        let page = get(to, &format!("/jobs/{}", job["id"])).text();
        assert!(page.contains("Tries"), "{page}");
    }
    assert!(
        at_once >= 8 && sinks[1] >= 4,
        "{at_once} at once, {sinks:?}"
    );
    let all = get(to, "/api/objects").json();
    assert_eq!(all["objects"].as_array().unwrap().len(), 19, "none twice");
}

#[test]
fn a_single_object_goes_to_the_base_station_that_is_the_fastest() {
    goes_to_the_fastest(two_stations(50.0), Sealing::Open);
}

#[test]
fn so_does_one_of_a_secured_network_and_it_comes_sealed() {
    let to = TO.map(|id| NodeId::new(id).unwrap());
    let secured = network_that_is(Sealing::Sealed, 50.0).to(&to).unwrap();
    goes_to_the_fastest(secured, Sealing::Sealed);
}

fn goes_to_the_fastest(network: Simulated, sealing: Sealing) {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&config(dir.path()), network).unwrap();
    let to = daemon.address();
    let ask = |kind: &str, from: u16| {
        let wish = format!("{{\"kind\": \"{kind}\", \"from\": {from}}}");
        let asked = post(to, &wish).json();
        until(to, asked["id"].as_i64().unwrap(), |job| {
            job["state"] == "done"
        })
    };
    // Beside the one, and beside the other; the farthest from both.
    for (from, sink) in [(2, Some(1)), (19, Some(20)), (6, None)] {
        let fetched = ask("fetch", from);
        let planned = ask("plan", from);
        assert_eq!(
            fetched["outcome"]["sink"], planned["outcome"]["sink"],
            "node {from}"
        );
        if let Some(sink) = sink {
            assert_eq!(fetched["outcome"]["sink"], sink, "node {from}");
        }
        let object = get(to, &format!("/api/objects/{}/content", fetched["object"]));
        assert_eq!(object.body[..], whole(from)[..], "node {from}");
        let is_sealed = fetched["outcome"]["sealed"] == true;
        assert_eq!(is_sealed, sealing == Sealing::Sealed, "node {from}");
        // No route leads over the other base station.
        let paths = fetched["outcome"]["tries"][0]["paths"].as_array().unwrap();
        for path in paths {
            let path = path.as_array().unwrap();
            let stations = path.iter().filter(|node| TO.iter().any(|id| **node == *id));
            assert_eq!(stations.count(), 1, "{path:?}");
        }
    }
}

#[test]
fn of_a_wave_one_is_cancelled_and_the_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&config(dir.path()), two_stations(1.0)).unwrap();
    let to = daemon.address();
    let mut events = Events::of(to);
    let asked = post(to, "{\"kind\": \"survey\"}").json();
    until(to, asked["id"].as_i64().unwrap(), |job| {
        job["state"] == "done"
    });
    let asked = post(to, "{\"kind\": \"fetch\", \"from\": \"all\"}").json();
    let group = asked["group"].as_i64().unwrap();
    let running = || {
        let jobs = get(to, "/api/jobs").json();
        let jobs = jobs["jobs"].as_array().unwrap().clone();
        let is_running = |job: &Value| job["state"] == "running";
        jobs.into_iter().filter(is_running).collect::<Vec<_>>()
    };
    let both = loop {
        events.next("job");
        let both = running();
        if both.len() == 2 {
            break both;
        }
    };
    let [one, other] = [&both[0], &both[1]].map(|job| job["id"].as_i64().unwrap());
    assert_eq!(
        get(to, "/api/groups").json()["groups"][0]["states"]["running"],
        2
    );
    for page in ["/", "/transfers", "/map"] {
        let text = get(to, page).text();
        for id in [one, other] {
            assert!(text.contains(&format!("/jobs/{id}")), "{page}: {text}");
        }
    }
    assert_eq!(delete(to, &format!("/api/jobs/{one}")).status, 202);
    until(to, one, |job| job["state"] == "cancelled");
    until(to, other, |job| job["state"] == "done");
    assert_eq!(delete(to, &format!("/api/groups/{group}")).status, 200);
    let jobs = ended(to, group);
    let cancelled = jobs
        .iter()
        .filter(|job| job["state"] == "cancelled")
        .count();
    assert!(cancelled >= 15, "{cancelled}");
}

#[test]
fn a_wave_that_the_daemons_end_interrupts_begins_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start(&config(dir.path()), two_stations(1.0)).unwrap();
    let asked = post(daemon.address(), "{\"kind\": \"fetch\", \"from\": \"all\"}").json();
    let group = asked["group"].as_i64().unwrap();
    for ends in 0..2 {
        let to = daemon.address();
        let mut events = Events::of(to);
        while get(to, &format!("/api/groups/{group}")).json()["states"]["running"] != 2 {
            events.next("job");
        }
        daemon.stop();
        let speed = [1.0, 50.0][ends];
        daemon = Daemon::start(&config(dir.path()), two_stations(speed)).unwrap();
    }
    let to = daemon.address();
    let jobs = ended(to, group);
    assert!(jobs.iter().all(|job| job["state"] == "done"), "{jobs:?}");
    let all = get(to, "/api/objects").json();
    assert_eq!(all["objects"].as_array().unwrap().len(), 19, "{all}");
}
