//! Jobs that are asked for at once: as many as there are nodes, one number, one cancel.

use super::client::{config, delete, get, network, post, until};
use thalweg_daemon::Daemon;

#[test]
fn all_nodes_fit_into_a_queue_that_is_shorter_and_are_cancelled_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.transfers.queue = 3;
    let daemon = Daemon::start(&config, network(1.0)).unwrap();
    let to = daemon.address();
    let asked = post(
        to,
        "{\"kind\": \"fetch\", \"from\": \"all\", \"priority\": -3}",
    );
    assert_eq!(asked.status, 201, "{}", asked.text());
    let asked = asked.json();
    assert_eq!(asked["jobs"].as_array().unwrap().len(), 20);
    let (group, first) = (&asked["group"], &asked["jobs"][0]);
    assert_eq!(
        (group, &first["group"]),
        (&first["id"], &first["id"]),
        "the first job's number"
    );
    until(to, group.as_i64().unwrap(), |job| job["state"] == "running");
    let refused = post(to, "{\"kind\": \"fetch\", \"from\": [4, 5, 6, 8, 9, 10]}");
    assert_eq!(refused.status, 429);
    let why = refused.json()["error"].as_str().unwrap().to_owned();
    assert_eq!(
        why,
        "6 more jobs do not fit: 19 wait already, and at most 24 may"
    );
    // Before the group, and no part of it.
    let urgent = post(to, "{\"kind\": \"fetch\", \"from\": 4, \"priority\": 9}").json();
    assert!(urgent["group"].is_null(), "{urgent}");
    let open = get(to, "/api/jobs").json();
    assert_eq!(open["jobs"][1]["id"], urgent["id"], "next");

    let of = format!("/api/groups/{group}");
    let told = get(to, &of).json();
    assert_eq!(
        (&told["jobs"], &told["kind"]),
        (&20.into(), &"fetch".into())
    );
    assert_eq!(told["states"]["queued"], 19, "{told}");
    let jobs = get(to, &format!("/api/jobs?group={group}")).json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 20);
    let cancelled = delete(to, &of);
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    until(to, group.as_i64().unwrap(), |job| {
        job["state"] == "cancelled"
    });
    assert_eq!(get(to, &of).json()["states"]["cancelled"], 20);
    let id = urgent["id"].as_i64().unwrap();
    until(to, id, |job| job["state"] == "running");
    assert_eq!(delete(to, &of).status, 409);
    assert_eq!(delete(to, "/api/groups/99").status, 404);
    let all = get(to, "/api/groups").json();
    assert_eq!(all["groups"].as_array().unwrap().len(), 1);
}
