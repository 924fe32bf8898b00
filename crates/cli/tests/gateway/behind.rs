//! Two processes and a pseudo-terminal: a daemon over a base station's line, and either of them is killed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use thalweg_lab::collect::Object;
use thalweg_units::NodeId;

use super::station::Station;
use super::{Gateway, PATIENCE};

const BYTES: u32 = 12_000;
const FETCH: &str = "{\"kind\": \"fetch\", \"from\": 17}";

fn station(folder: &Path, speed: &str) -> Station {
    Station::start(folder, "floor21", speed, &BYTES.to_string())
}

impl Gateway {
    fn behind(folder: &Path) -> Self {
        let port = folder.join("station");
        let port = port.to_str().unwrap();
        Self::over(&folder.join("data"), &["--port", port, "--bytes", "12000"])
    }
    fn fetch(&self) {
        let asked = self.ask("POST", "/api/jobs", FETCH);
        assert!(asked.starts_with("HTTP/1.1 201"), "{asked}");
    }
    fn json(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, "");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
    /// The bytes of object `id`.
    fn content(&self, id: i64) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "GET /api/objects/{id}/content HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.1
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        answer.split_off(end + 4)
    }
    /// Job 1 comes to its end, with the one object that there is, which is what the node has.
    fn brings_it_once(&self) {
        self.until("\"ended_at\":\"");
        let job = self.json("/api/jobs/1");
        assert_eq!(job["state"], "done", "{job} {}", self.json("/api/log"));
        let objects = self.json("/api/objects");
        let objects = objects["objects"].as_array().unwrap();
        assert_eq!(objects.len(), 1, "{objects:?}");
        assert_eq!(objects[0]["id"], job["object"]);
        let sent = Object::Random { bytes: BYTES }.of(1, NodeId::new(17).unwrap());
        assert_eq!(self.content(job["object"].as_i64().unwrap()), sent[..]);
        let network = self.json("/api/network");
        let missing = network["survey"]["missing"].as_array().unwrap();
        assert_eq!(missing.len(), 0, "{network}");
    }
}

#[test]
fn an_object_is_fetched_over_the_line_and_a_daemon_waits_for_its_base_station() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::behind(dir.path());
    gateway.fetch();
    gateway.until_of("/healthz", "\"degraded\"");
    assert!(gateway.ask("GET", "/", "").contains("out of reach"));
    gateway.until("\"queued\"");
    let _station = station(dir.path(), "20");
    gateway.brings_it_once();
    assert_eq!(gateway.json("/healthz")["status"], "ok");
    let about = gateway.json("/api/network")["about"].to_string();
    assert!(about.contains("21 nodes behind"), "{about}");
}

#[test]
fn a_base_station_that_is_killed_in_the_middle_ends_no_job() {
    let dir = tempfile::tempdir().unwrap();
    let first = station(dir.path(), "0.6");
    let gateway = Gateway::behind(dir.path());
    gateway.fetch();
    // Packets are under way.
    gateway.until("\"received\":");
    gateway.until("\"round\":1");
    drop(first);
    gateway.until_of("/healthz", "\"degraded\"");
    gateway.until_of("/api/network", "\"down\":");
    gateway.until("\"queued\"");
    // A line that is down for longer than it takes to try it once or twice.
    std::thread::sleep(Duration::from_secs(5));
    gateway.until("\"queued\"");
    let _second = station(dir.path(), "20");
    gateway.brings_it_once();
}

#[test]
fn a_daemon_that_is_killed_goes_on_under_a_living_base_station() {
    let dir = tempfile::tempdir().unwrap();
    let _station = station(dir.path(), "0.6");
    let first = Gateway::behind(dir.path());
    first.fetch();
    first.until("\"round\":1");
    drop(first);
    let second = Gateway::behind(dir.path());
    second.brings_it_once();
    assert!(second.ask("GET", "/api/log", "").contains("begins again"));
    // The links that the first measured serve the second.
    let log = second.json("/api/log").to_string();
    assert_eq!(log.matches("links measured").count(), 1, "{log}");
}
