//! What happens where the store cannot be written, its disk is almost full, or its dates are ahead; and deleting objects.

use super::client::{config, daemon, delete, get, network, post, send, until, PATIENCE};
use rusqlite::Connection;
use std::net::SocketAddr;
use std::num::NonZeroU64;
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
fn objects_that_cannot_be_written_are_told_until_they_can() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 40.0);
    let to = daemon.address();
    let objects = dir.path().join("objects");
    std::fs::remove_dir_all(&objects).unwrap();
    let id = id_of(to, FETCH);
    until(to, id, |job| job["state"] == "failed");
    // The database takes writes, such as the log's, all the while.
    let fault = health(to, "degraded")["store"]["fault"].clone();
    assert!(fault.as_str().unwrap().contains("objects"), "{fault}");
    std::fs::create_dir(&objects).unwrap();
    health(to, "ok");
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
    // Its thread may still be at its end.
    let end = Instant::now() + PATIENCE;
    let answer = loop {
        let answer = delete(to, &format!("/api/jobs/{id}"));
        if answer.status != 202 {
            break answer;
        }
        assert!(Instant::now() < end, "nobody ends it");
        std::thread::sleep(Duration::from_millis(20));
    };
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
    settings.store.keep_bytes = NonZeroU64::new(1);
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

#[test]
fn only_what_was_stored_is_handed_out() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret");
    std::fs::write(&secret, "not an object").unwrap();
    let data = dir.path().join("data");
    let daemon = daemon(&data, 40.0);
    let to = daemon.address();
    let mut ids = Vec::new();
    for node in [4, 5, 6] {
        let job = id_of(to, &format!("{{\"kind\": \"fetch\", \"from\": {node}}}"));
        ids.push(
            until(to, job, |job| job["state"] == "done")["object"]
                .as_i64()
                .unwrap(),
        );
    }
    let disk = Connection::open(data.join(DATABASE)).unwrap();
    disk.busy_timeout(PATIENCE).unwrap();
    let name = |id: i64| -> std::path::PathBuf {
        let sql = "SELECT object FROM transfers WHERE id = ?1";
        let name: String = disk.query_row(sql, [id], |row| row.get(0)).unwrap();
        data.join("objects").join(name)
    };
    let content = |id: i64| get(to, &format!("/api/objects/{id}/content"));
    assert_eq!(content(ids[0]).status, 200);
    // Another byte, a link to another file, a name that leads elsewhere.
    let mut bytes = std::fs::read(name(ids[0])).unwrap();
    bytes[7] ^= 1;
    std::fs::write(name(ids[0]), bytes).unwrap();
    std::fs::remove_file(name(ids[1])).unwrap();
    std::os::unix::fs::symlink(&secret, name(ids[1])).unwrap();
    let away = "UPDATE transfers SET object = '../../secret' WHERE id = ?1";
    disk.execute(away, [ids[2]]).unwrap();
    for (id, status) in ids.iter().zip([410, 410, 404]) {
        let answer = content(*id);
        assert_eq!(answer.status, status, "{id}");
        assert!(answer.json()["error"].is_string());
        assert!(!get(to, &format!("/objects/{id}"))
            .text()
            .contains("not an object"));
    }
}

#[test]
fn links_that_a_wrong_clock_dated_ahead_are_measured_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = daemon(dir.path(), 40.0);
    let id = id_of(first.address(), "{\"kind\": \"survey\"}");
    until(first.address(), id, |job| job["state"] == "done");
    first.stop();
    let disk = Connection::open(dir.path().join(DATABASE)).unwrap();
    let ahead = "UPDATE surveys SET measured_at = measured_at + 400 * 86400";
    assert_eq!(disk.execute(ahead, []).unwrap(), 1);
    drop(disk);
    let daemon = daemon(dir.path(), 40.0);
    let to = daemon.address();
    assert_eq!(get(to, "/api/network").json()["survey"]["age_s"], 0);
    let metrics = get(to, "/metrics").text();
    assert!(
        metrics.contains("thalweg_survey_age_seconds 0\n"),
        "{metrics}"
    );
    let id = id_of(to, FETCH);
    until(to, id, |job| job["state"] == "done");
    assert!(get(to, "/log")
        .text()
        .contains("the links are measured first"));
}
