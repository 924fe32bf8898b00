//! What happens where the store cannot be written, or its disk is almost full; and deleting objects.

use super::client::{config, daemon, delete, get, network, post, send, until, PATIENCE};
use rusqlite::Connection;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use thalweg_daemon::Daemon;
use thalweg_host::store::DATABASE;

const FETCH: &str = "{\"kind\": \"fetch\", \"from\": 4}";

fn id_of(to: SocketAddr, body: &str) -> i64 {
    let answer = post(to, body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["id"].as_i64().unwrap()
}

/// Waits until `/healthz` says `status`; gives all of it.
fn health(to: SocketAddr, status: &str) -> serde_json::Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let health = get(to, "/healthz").json();
        if health["status"] == status {
            return health;
        }
        assert!(Instant::now() < end, "wanted {status}: {health}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_end_that_the_store_refuses_is_told_and_written_later() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 40.0);
    let to = daemon.address();
    let id = id_of(to, FETCH);
    // A full disk refuses what a job ends with.
    let disk = Connection::open(dir.path().join(DATABASE)).unwrap();
    disk.busy_timeout(PATIENCE).unwrap();
    disk.execute_batch(
        "CREATE TRIGGER full BEFORE UPDATE ON jobs WHEN NEW.state IN ('done', 'failed')
         BEGIN SELECT RAISE(FAIL, 'no space left'); END",
    )
    .unwrap();
    let row = || -> String {
        let sql = "SELECT state FROM jobs WHERE id = ?1";
        disk.query_row(sql, [id], |row| row.get(0)).unwrap()
    };
    let job = until(to, id, |job| job["state"] == "failed");
    assert!(job["error"].as_str().unwrap().contains("no space left"));
    assert_eq!(row(), "running");
    let told = health(to, "degraded");
    assert!(told["store"]["fault"]
        .as_str()
        .unwrap()
        .contains("no space"));
    for path in ["/", "/transfers", "/objects", "/log"] {
        let page = get(to, path).text();
        assert!(page.contains("The store cannot be written"), "{path}");
    }
    let metrics = get(to, "/metrics").text();
    assert!(
        !metrics.contains("thalweg_store_errors_total 0\n"),
        "{metrics}"
    );
    assert_eq!(delete(to, &format!("/api/jobs/{id}")).status, 409);
    disk.execute_batch("DROP TRIGGER full").unwrap();
    health(to, "ok");
    assert_eq!(row(), "failed");
    // It goes on by itself.
    let next = id_of(to, FETCH);
    until(to, next, |job| job["state"] == "done");
}

#[test]
fn a_row_that_nobody_runs_can_be_ended() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 40.0);
    let to = daemon.address();
    let id = id_of(to, FETCH);
    until(to, id, |job| job["state"] == "done");
    let disk = Connection::open(dir.path().join(DATABASE)).unwrap();
    disk.busy_timeout(PATIENCE).unwrap();
    let sql = "UPDATE jobs SET state = 'running', ended_at = NULL WHERE id = ?1";
    disk.execute(sql, [id]).unwrap();
    let answer = delete(to, &format!("/api/jobs/{id}"));
    assert_eq!(
        (answer.status, &answer.json()["state"]),
        (200, &"cancelled".into())
    );
}

#[test]
fn below_the_reserve_no_job_is_taken_and_everybody_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.store.reserve_bytes = u64::MAX;
    let daemon = Daemon::start(&config, network(1.0)).unwrap();
    let to = daemon.address();
    let refused = post(to, FETCH);
    assert_eq!(refused.status, 507);
    assert!(refused.json()["error"]
        .as_str()
        .unwrap()
        .contains("MB left"));
    let health = health(to, "degraded");
    assert!(health["store"]["free_bytes"].as_u64().unwrap() > 0);
    assert!(get(to, "/").text().contains("Jobs wait: the disk has"));
}

#[test]
fn objects_are_deleted_by_request_by_form_and_by_size() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = config(dir.path());
    settings.store.keep_bytes = Some(1);
    let daemon = Daemon::start(&config(dir.path()), network(40.0)).unwrap();
    let to = daemon.address();
    let ids = || -> Vec<i64> {
        let objects = get(to, "/api/objects").json();
        let objects = objects["objects"].as_array().unwrap().clone();
        objects.iter().map(|o| o["id"].as_i64().unwrap()).collect()
    };
    for node in [4, 5, 6, 8] {
        let job = id_of(to, &format!("{{\"kind\": \"fetch\", \"from\": {node}}}"));
        until(to, job, |job| job["state"] == "done");
    }
    let all = ids();
    assert_eq!(all.len(), 4);
    let of = |id: i64| format!("/api/objects/{id}");
    assert_eq!(delete(to, &of(all[3])).status, 200);
    assert_eq!(delete(to, &of(all[3])).status, 404);
    assert_eq!(get(to, &of(all[3])).status, 404);
    let page = get(to, &format!("/objects/{}", all[3])).text();
    assert!(page.contains("was deleted here"), "{page}");
    let form = format!("POST /objects/{}/delete HTTP/1.1", all[2]);
    assert_eq!(send(to, &form, "").status, 303);
    assert_eq!(ids(), all[..2]);
    daemon.stop();
    // What the configuration does not keep goes at the start.
    let daemon = Daemon::start(&settings, network(40.0)).unwrap();
    let left = get(daemon.address(), "/api/objects").json();
    assert_eq!(left["objects"].as_array().unwrap().len(), 1);
}
