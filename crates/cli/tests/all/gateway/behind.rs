//! Two processes and a pseudo-terminal: a daemon over a base station's line, and either of them is killed.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use thalweg_simnet::collect::Object;
use thalweg_units::NodeId;

use super::{Gateway, PATIENCE};
use crate::station::Station;

const BYTES: u32 = 12_000;
/// A transfer of half a second takes more than two, so that a busy machine sees it under way.
const SLOW: &str = "0.2";
const FETCH: &str = "{\"kind\": \"fetch\", \"from\": 17}";

fn station(folder: &Path, speed: &str) -> Station {
    Station::start(folder, "floor21", speed, &BYTES.to_string())
}

/// More than a node sends in a session here.
const LONG: u32 = 400_000;

impl Gateway {
    fn behind(folder: &Path) -> Self {
        let port = folder.join("station");
        let port = port.to_str().unwrap();
        Self::over(&folder.join("data"), &["--port", port, "--bytes", "12000"])
    }
    /// The same where nodes that have spent 0.01 J are left alone.
    fn sparing(folder: &Path) -> Self {
        let file = folder.join("gateway.toml");
        std::fs::write(&file, "[transfers]\nenergy_j_per_day = 0.01\n").unwrap();
        let port = folder.join("station");
        let [file, port] = [&file, &port].map(|path| path.to_str().unwrap());
        let of = ["--config", file, "--port", port, "--bytes", "12000"];
        Self::over(&folder.join("data"), &of)
    }
    fn fetch(&self) {
        self.post(FETCH);
    }
    fn post(&self, job: &str) {
        let asked = self.ask("POST", "/api/jobs", job);
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
    /// Job 1 moves packets, whichever round it is in.
    fn until_packets_come(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let job = self.json("/api/jobs/1");
            if job["received"].as_u64() > Some(0) {
                return;
            }
            assert!(job["ended_at"].is_null() && Instant::now() < end, "{job}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    /// Packets of the session that is job 1, until there are `wanted`.
    fn packets(&self, wanted: u64) -> u64 {
        let end = Instant::now() + PATIENCE;
        loop {
            let samples = self.json("/api/jobs/1/rates")["samples"].clone();
            let last = samples
                .as_array()
                .and_then(|samples| samples.last().cloned());
            let sources = last.unwrap_or_default()["sources"].clone();
            let each = sources.as_array().into_iter().flatten();
            let all = each.filter_map(|s| s["packets"].as_u64()).sum();
            if all >= wanted {
                return all;
            }
            assert!(
                Instant::now() < end,
                "{all} packets {}",
                self.json("/api/log")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    /// Bytes of all objects of sessions. Each is of what its node has, from its beginning or where the one before ended.
    fn session_bytes(&self) -> usize {
        let objects = self.json("/api/objects")["objects"].clone();
        let mut before = BTreeMap::new();
        let mut bytes = 0;
        for object in objects.as_array().unwrap().iter().rev() {
            assert_eq!(object["protocol"], "rcrt");
            let node = object["from"].as_u64().unwrap();
            let content = self.content(object["id"].as_i64().unwrap());
            let begun: &mut usize = before.entry(node).or_default();
            let has = Object::Random { bytes: LONG }.of(1, NodeId::new(node as u16).unwrap());
            if !has[*begun..].starts_with(&content) {
                *begun = 0;
                assert!(has.starts_with(&content), "{object}");
            }
            *begun += content.len();
            bytes += content.len();
        }
        bytes
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
fn nodes_behind_a_line_rest_when_they_can_have_spent_their_share() {
    let dir = tempfile::tempdir().unwrap();
    let _station = station(dir.path(), "4");
    let gateway = Gateway::sparing(dir.path());
    let began = std::time::Instant::now();
    gateway.post("{\"kind\": \"survey\"}");
    gateway.until("\"done\"");
    let lasted = began.elapsed().as_secs_f64();
    // Two seconds of the network are half a second here, at 20.6 mA and 3 V; in millijoules.
    let took = gateway.json("/api/network")["survey"]["took_s"].clone();
    let [least, most] = [took.as_f64().unwrap() / 4.0, lasted].map(|s| s * 0.0206 * 3.0);
    let node = || gateway.json("/api/nodes/17")["health"].clone();
    let spent = node()["energy_today_j"].as_f64().unwrap();
    assert!(
        (least - 5e-4..most + 5e-4).contains(&spent),
        "{least} to {most}: {}",
        node()
    );
    assert!(node()["left_alone"].is_string(), "{}", node());
    gateway.fetch();
    gateway.until_of("/api/jobs/2", "J today");
    let page = gateway.ask("GET", "/nodes/17", "");
    assert!(page.contains("at most each day"), "{page}");
}

#[test]
fn a_base_station_that_is_killed_in_the_middle_ends_no_job() {
    let dir = tempfile::tempdir().unwrap();
    let first = station(dir.path(), SLOW);
    let gateway = Gateway::behind(dir.path());
    gateway.fetch();
    gateway.until_packets_come();
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
    let _station = station(dir.path(), SLOW);
    let first = Gateway::behind(dir.path());
    first.fetch();
    first.until_packets_come();
    drop(first);
    let second = Gateway::behind(dir.path());
    second.brings_it_once();
    assert!(second.ask("GET", "/api/log", "").contains("begins again"));
    // The links that the first measured serve the second.
    let log = second.json("/api/log").to_string();
    assert_eq!(log.matches("links measured").count(), 1, "{log}");
}

#[test]
fn a_session_over_the_line_loses_nothing_whichever_end_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let station = || Station::start(dir.path(), "floor21", "40", &LONG.to_string());
    let first = station();
    let gateway = Gateway::behind(dir.path());
    gateway.post("{\"kind\": \"session\", \"sources\": [4, 6, 17], \"demand\": 4}");
    let before = gateway.packets(100);
    // SIGKILL.
    drop(gateway);
    let gateway = Gateway::behind(dir.path());
    let kept = gateway.session_bytes();
    assert!(
        kept as u64 >= before * 64,
        "{kept} bytes of {before} packets"
    );
    let before = gateway.packets(before + 100);
    drop(first);
    gateway.until_of("/healthz", "\"degraded\"");
    let kept = gateway.session_bytes();
    assert!(
        kept as u64 >= before * 64,
        "{kept} bytes of {before} packets"
    );
    let _second = station();
    gateway.packets(before + 100);
    let ended = gateway.ask("DELETE", "/api/jobs/1", "");
    assert!(ended.starts_with("HTTP/1.1 202"), "{ended}");
    gateway.until("\"cancelled\"");
    let job = gateway.json("/api/jobs/1");
    let told = job["outcome"]["bytes"].as_u64().unwrap();
    // Counts of the killed daemon may lack what came since its last sample.
    assert!(gateway.session_bytes() as u64 >= told, "{job}");
    // All listened, also those that are no source.
    let spent = &gateway.json("/api/nodes/5")["health"]["energy_today_j"];
    assert!(spent.as_f64() > Some(0.05), "{spent}");
    // The network fetches as before.
    gateway.fetch();
    gateway.until_of("/api/jobs/2", "\"done\"");
}

#[test]
fn parts_that_are_there_are_not_fetched_again_after_a_kill() {
    // One packet less than two transfers have.
    let (bytes, dir) = (3_866_000, tempfile::tempdir().unwrap());
    let start = || Station::start(dir.path(), "floor21", "100", &bytes.to_string());
    let first = start();
    let port = dir.path().join("station");
    let of = ["--port", port.to_str().unwrap(), "--bytes", "3866000"];
    let begin = || Gateway::over(&dir.path().join("data"), &of);
    let gateway = begin();
    gateway.fetch();
    gateway.until_of("/api/log", "part 2 of 2");
    drop(first);
    gateway.until_of("/healthz", "\"degraded\"");
    let _second = start();
    // Equal lines are one, which says how often it came.
    let told = |gateway: &Gateway, text: &str| -> u64 {
        let log = gateway.json("/api/log");
        let lines = log["lines"].as_array().unwrap().iter();
        lines
            .filter(|line| line["text"].as_str().unwrap().contains(text))
            .map(|line| line["times"].as_u64().unwrap())
            .sum()
    };
    let end = Instant::now() + PATIENCE;
    while told(&gateway, "part 2 of 2") < 2 {
        assert!(Instant::now() < end, "{}", gateway.json("/api/log"));
        std::thread::sleep(Duration::from_millis(20));
    }
    // Now the daemon.
    drop(gateway);
    let gateway = begin();
    gateway.until("\"ended_at\":\"");
    let (job, log) = (
        gateway.json("/api/jobs/1"),
        gateway.json("/api/log").to_string(),
    );
    assert_eq!(job["state"], "done", "{job} {log}");
    let sent = Object::Random { bytes }.of(1, NodeId::new(17).unwrap());
    assert!(gateway.content(job["object"].as_i64().unwrap()) == sent[..]);
    assert_eq!(told(&gateway, "part 1 of 2"), 1, "{log}");
    assert_eq!(told(&gateway, "part 2 of 2"), 3, "{log}");
}

#[test]
fn a_base_station_of_another_network_is_down_and_the_others_work() {
    let dir = tempfile::tempdir().unwrap();
    // Its base station is one of these, and line5 has nodes 1 to 5.
    let links = "src,dst,channel,prr\n31,32,26,0.9\n32,31,26,0.9\n32,33,26,0.9\n33,32,26,0.9\n";
    std::fs::write(dir.path().join("other.csv"), links).unwrap();
    let _station = Station::start(dir.path(), "other.csv", "20", &BYTES.to_string());
    let file = dir.path().join("gateway.toml");
    let text = format!(
        "[[station]]\nname = \"north\"\nbuilding = \"north\"\ntestbed = \"floor21\"\nspeed = 40\nbytes = {BYTES}\n\
         [[station]]\nname = \"mill\"\nbuilding = \"mill\"\ntestbed = \"line5\"\nport = \"{}/station\"\n",
        dir.path().display()
    );
    std::fs::write(&file, text).unwrap();
    let of = ["--config", file.to_str().unwrap()];
    let gateway = Gateway::of(&dir.path().join("data"), &of);
    gateway.until_of("/healthz", "which line5 does not have");
    assert_eq!(gateway.json("/healthz")["stations"]["north"], "up");
    gateway.post("{\"kind\": \"fetch\", \"from\": 17, \"station\": \"north\"}");
    gateway.until("\"done\"");
}
