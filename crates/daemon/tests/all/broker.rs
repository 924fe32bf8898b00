//! The daemon and a broker: what waits for it, what it gets, what it gets again.
//!
//! The broker here answers as the test wants. A real one is in `.ci/mqtt.py`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use thalweg_daemon::config::{Config, MqttConfig};
use thalweg_daemon::Daemon;

use crate::client::{config, get, network, post, until, PATIENCE};

/// A message as the broker has it.
#[derive(Debug)]
struct Told {
    topic: String,
    payload: String,
    is_retained: bool,
}

impl Told {
    fn json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap()
    }
}

/// What becomes of messages whose topic has a certain part.
#[derive(Clone, Copy)]
enum Answer {
    Acknowledged,
    /// The connection ends at the first whose topic has it.
    CutAt(&'static str),
}

/// Takes one client after the other; each as the next of `answers` says, the last for all others.
fn broker(answers: Vec<Answer>) -> (SocketAddr, Receiver<Told>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, tells) = channel();
    thread::spawn(move || {
        let mut answers = answers.into_iter();
        let mut answer = Answer::Acknowledged;
        for stream in listener.incoming() {
            answer = answers.next().unwrap_or(answer);
            // A client that leaves is followed by the next; a test that has ended, by nobody.
            let _ = converse(stream.unwrap(), answer, &told);
        }
    });
    (address, tells)
}

/// What a broker passes on to a subscriber: topic, payload, whether it had kept that.
const PRESSES: [(&str, &str, bool); 6] = [
    ("thalweg/floor21/nodes/4/fetch", "PRESS", true),
    ("thalweg/floor21/nodes/6/fetch", "press me", false),
    ("thalweg/floor21/nodes/1/fetch", "PRESS", false),
    ("thalweg/floor21/nodes/99/fetch", "PRESS", false),
    ("thalweg/floor21/nodes/17/fetch", "PRESS", false),
    ("thalweg/floor21/nodes/17/fetch", "PRESS", false),
];

fn converse(mut line: TcpStream, answer: Answer, told: &Sender<Told>) -> io::Result<()> {
    loop {
        let mut kind = [0];
        line.read_exact(&mut kind)?;
        let (mut len, mut shift) = (0, 0);
        loop {
            let mut byte = [0];
            line.read_exact(&mut byte)?;
            len |= usize::from(byte[0] & 0x7f) << shift;
            shift += 7;
            if byte[0] & 0x80 == 0 {
                break;
            }
        }
        let mut body = vec![0; len];
        line.read_exact(&mut body)?;
        match kind[0] >> 4 {
            1 => line.write_all(&[0x20, 2, 0, 0])?,
            3 => {
                let name = usize::from(u16::from_be_bytes([body[0], body[1]]));
                let text = |part: &[u8]| String::from_utf8(part.to_vec()).unwrap();
                let topic = text(&body[2..2 + name]);
                let packet = &body[2 + name..4 + name];
                if matches!(answer, Answer::CutAt(part) if topic.contains(part)) {
                    return Ok(());
                }
                line.write_all(&[0x40, 2, packet[0], packet[1]])?;
                let payload = text(&body[4 + name..]);
                let is_retained = kind[0] & 1 == 1;
                let one = Told {
                    topic,
                    payload,
                    is_retained,
                };
                told.send(one).map_err(io::Error::other)?;
            }
            // It subscribes: what it may not act upon comes first, then the press of a button.
            8 => {
                line.write_all(&[0x90, 4, body[0], body[1], 0, 0])?;
                for (topic, payload, is_retained) in PRESSES {
                    let mut message = vec![
                        0x30 | u8::from(is_retained),
                        (2 + topic.len() + payload.len()) as u8,
                    ];
                    message.extend((topic.len() as u16).to_be_bytes());
                    message.extend(topic.bytes().chain(payload.bytes()));
                    line.write_all(&message)?;
                }
            }
            12 => line.write_all(&[0xd0, 0])?,
            _ => return Ok(()),
        }
    }
}

/// The next message whose topic has `part`.
fn next(tells: &Receiver<Told>, part: &str) -> Told {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let told = tells.recv_timeout(left).unwrap();
        if told.topic.contains(part) {
            return told;
        }
    }
}

fn until_told(to: SocketAddr, holds: impl Fn(&Value) -> bool) {
    let end = Instant::now() + PATIENCE;
    loop {
        let told = get(to, "/healthz").json();
        if holds(&told["mqtt"]) {
            return;
        }
        assert!(Instant::now() < end, "{told}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn fetch(to: SocketAddr, node: u16) -> i64 {
    let asked = post(to, &format!("{{\"kind\": \"fetch\", \"from\": {node}}}"));
    let id = asked.json()["id"].as_i64().unwrap();
    until(to, id, |job| job["state"] == "done")["object"]
        .as_i64()
        .unwrap()
}

fn telling(config: Config, broker: SocketAddr) -> Config {
    let mut config = config;
    config.mqtt = MqttConfig::default();
    config.mqtt.host = Some(broker.ip().to_string());
    config.mqtt.port = broker.port();
    config.mqtt.discovery = true;
    config
}

#[test]
fn what_a_broker_did_not_acknowledge_is_told_again_also_by_the_next_daemon() {
    let dir = tempfile::tempdir().unwrap();
    // Nobody listens there any more.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let away = telling(config(dir.path()), nobody.local_addr().unwrap());
    drop(nobody);
    let daemon = Daemon::start(&away, network(100.0)).unwrap();
    let to = daemon.address();
    let objects = [17, 4].map(|node| fetch(to, node));
    until_told(to, |mqtt| mqtt["broker"]["away"] == "Connection refused");
    // Two objects, and states of 21 nodes.
    until_told(to, |mqtt| mqtt["waiting"].as_u64() >= Some(23));
    assert_eq!(get(to, "/healthz").json()["status"], "degraded");
    assert!(get(to, "/")
        .text()
        .contains("The MQTT broker is out of reach: Connection refused"));
    let metrics = get(to, "/metrics").text();
    assert!(metrics.contains("thalweg_mqtt_connected 0"), "{metrics}");
    drop(daemon);

    let (address, tells) = broker(vec![Answer::CutAt("/objects/4"), Answer::Acknowledged]);
    let here = telling(config(dir.path()), address);
    let daemon = Daemon::start(&here, network(100.0)).unwrap();
    let to = daemon.address();
    let mut ids = Vec::new();
    while ids.last() != Some(&objects[1]) {
        let told = next(&tells, "/objects/");
        let row = told.json();
        assert_eq!(
            told.topic,
            format!("thalweg/floor21/objects/{}", row["from"])
        );
        assert!(!told.is_retained);
        let id = row["id"].as_i64().unwrap();
        let stored = get(to, &format!("/api/objects/{id}")).text();
        assert_eq!(told.payload, stored, "exactly as stored");
        ids.push(id);
    }
    ids.dedup();
    assert_eq!(ids, objects, "in order, and none is missing");
    until_told(to, |mqtt| {
        *mqtt == serde_json::json!({ "broker": "connected", "waiting": 0 })
    });
    assert!(get(to, "/").text().contains("<dt>MQTT</dt><dd>connected"));
    assert!(get(to, "/metrics")
        .text()
        .contains("thalweg_mqtt_waiting 0"));
}

#[test]
fn a_broker_that_knows_nothing_is_told_of_all_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let (address, tells) = broker(vec![Answer::Acknowledged]);
    let daemon = Daemon::start(&telling(config(dir.path()), address), network(100.0)).unwrap();
    let first = next(&tells, "");
    assert_eq!(
        (&*first.topic, &*first.payload),
        ("thalweg/status", "online")
    );
    assert!(first.is_retained);
    let node = next(&tells, "/nodes/17");
    assert!(
        node.is_retained && node.json()["links"].is_null(),
        "{node:?}"
    );
    let number = node.json()["message"].as_i64().unwrap();
    let keys = || {
        let device = next(&tells, "homeassistant/device/").json();
        assert_eq!(device["availability_topic"], first.topic);
        let components = device["components"].as_object().unwrap();
        components.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(), ["line"], "the base station");
    let sensors = ["battery", "bytes", "energy", "goodput", "seen", "stored"];
    assert_eq!(keys(), sensors);

    let object = fetch(daemon.address(), 17);
    let told = next(&tells, "/objects/17").json();
    assert_eq!(told["id"], object);
    let state = next(&tells, "/nodes/17").json();
    let shown = get(daemon.address(), "/api/nodes/17").json();
    assert_eq!(
        (&state["node"], &state["links"]),
        (&shown["node"], &shown["links"])
    );
    assert_eq!(state["last_object"], told);
    assert!(state["seen_at"].as_str() >= told["stored_at"].as_str());
    assert!(state["message"].as_i64().unwrap() > number);
}

#[test]
fn what_is_no_broker_is_told_to_be_none_and_the_daemon_works() {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream
                .unwrap()
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let daemon = Daemon::start(&telling(config(dir.path()), address), network(100.0)).unwrap();
    let to = daemon.address();
    until_told(to, |mqtt| mqtt["broker"]["away"].is_string());
    fetch(to, 17);
    until_told(to, |mqtt| mqtt["waiting"].as_u64() > Some(0));
    assert!(daemon.runs());
}

#[test]
fn a_button_asks_once_and_only_where_buttons_are_allowed() {
    for allowed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (address, tells) = broker(vec![Answer::Acknowledged]);
        let mut config = telling(config(dir.path()), address);
        config.mqtt.buttons = allowed;
        // So slow that the job is open when it is asked for again.
        let daemon = Daemon::start(&config, network(1.0)).unwrap();
        let to = daemon.address();
        next(&tells, "homeassistant/device/");
        let jobs = || {
            get(to, "/api/jobs").json()["jobs"]
                .as_array()
                .unwrap()
                .clone()
        };
        if allowed {
            until(to, 1, |job| job["kind"] == "fetch" && job["from"] == 17);
        }
        thread::sleep(Duration::from_millis(300));
        assert_eq!(jobs().len(), usize::from(allowed), "{:?}", jobs());
    }
}
