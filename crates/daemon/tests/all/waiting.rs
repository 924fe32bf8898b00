//! Jobs that find no way to their node: they wait for links while other jobs go on, and their patience has an end.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{json, Value};
use thalweg_daemon::config::Config;
use thalweg_daemon::Daemon;
use thalweg_simnet::networks::Simulated;
use thalweg_testbeds::{Site, Testbed};

use super::client::{config, delete, get, post, until, SEED};

/// Three in a row, the last so far away.
fn row(last_m: u32) -> Simulated {
    let text = format!(
        "name = \"row\"\nsink = 1\nnodes = [{{ id = 1, x_m = 0, y_m = 0 }}, {{ id = 2, x_m = 16, y_m = 0 }}, \
         {{ id = 3, x_m = {last_m}, y_m = 0 }}]\n"
    );
    let testbed = Testbed::from_toml(&text, "row").unwrap();
    Simulated::new(Site::new(testbed, SEED), 500.0, 2_000).unwrap()
}

fn patient(data: &Path, patience: &str) -> Config {
    let parsed = Config::parse(&format!("[transfers]\npatience = \"{patience}\"")).unwrap();
    let mut config = config(data);
    config.transfers.patience = parsed.transfers.patience;
    config
}

fn fetch(to: SocketAddr, node: u16) -> i64 {
    let job = post(to, &json!({"kind": "fetch", "from": node}).to_string());
    assert_eq!(job.status, 201, "{}", job.text());
    job.json()["id"].as_i64().unwrap()
}

fn waits_for_links(job: &Value) -> bool {
    let why = job["waits"].as_str();
    why.is_some_and(|why| why.contains("no route") && why.contains("links are measured again in"))
}

#[test]
fn a_job_without_links_waits_while_others_go_on_and_is_tried_when_there_are_some() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&patient(dir.path(), "1day"), row(5_000)).unwrap();
    let to = daemon.address();
    let far = fetch(to, 3);
    let job = until(to, far, waits_for_links);
    assert_eq!(job["state"], "queued", "{job}");
    let near = fetch(to, 2);
    until(to, near, |job| job["state"] == "done");
    let job = until(to, far, waits_for_links);
    assert!(
        job["waits"].as_str().unwrap().ends_with("are over"),
        "{job}"
    );
    let log = get(to, "/api/log").json().to_string();
    assert!(log.contains("links are measured again in"), "{log}");
    let other = fetch(to, 3);
    until(to, other, waits_for_links);
    assert_eq!(delete(to, &format!("/api/jobs/{other}")).status, 200);
    until(to, other, |job| job["state"] == "cancelled");
    daemon.stop();

    // Somebody has brought it nearer.
    let daemon = Daemon::start(&patient(dir.path(), "1day"), row(32)).unwrap();
    let done = until(daemon.address(), far, |job| job["state"] == "done");
    assert!(done["waits"].is_null(), "{done}");
}

#[test]
fn a_job_without_links_fails_when_its_patience_is_over() {
    let dir = tempfile::tempdir().unwrap();
    for (patience, tells) in [("0s", ""), ("5s", "links were measured again for")] {
        let daemon = Daemon::start(&patient(dir.path(), patience), row(5_000)).unwrap();
        let to = daemon.address();
        let job = until(to, fetch(to, 3), |job| job["ended_at"].is_string());
        let why = job["error"].as_str().unwrap();
        assert_eq!(job["state"], "failed", "{job}");
        assert!(why.contains("no route") && why.contains(tells), "{why}");
        daemon.stop();
    }
}
