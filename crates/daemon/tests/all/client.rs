//! What a program says over a socket, and a daemon to say it to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use thalweg_daemon::config::Config;
use thalweg_daemon::Daemon;
use thalweg_simnet::networks::Simulated;
use thalweg_testbeds::{Site, Testbed};
use thalweg_wire::seal::frame::Sealing;

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);
/// The seed of the network.
pub(crate) const SEED: u64 = 1;
/// Bytes of each object, about.
pub(crate) const BYTES: u32 = 20_000;

/// A small building.
pub(crate) fn network(speed: f64) -> Simulated {
    network_that_is(Sealing::Open, speed)
}

/// A small building whose nodes have keys, or none.
pub(crate) fn network_that_is(sealing: Sealing, speed: f64) -> Simulated {
    let site = Site::new(Testbed::load("floor21").unwrap(), SEED);
    Simulated::new(site.secured(sealing), speed, BYTES).unwrap()
}

/// A configuration that keeps what it is told in `data`.
pub(crate) fn config(data: &Path) -> Config {
    let mut config = Config::default();
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    data.clone_into(&mut config.data);
    config
}

/// A daemon with a small building at `speed`.
pub(crate) fn daemon(data: &Path, speed: f64) -> Daemon {
    Daemon::start(&config(data), network(speed)).unwrap()
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        let mut values = lines.filter_map(|line| line.split_once(": "));
        values.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Sends `head`, a request's first line and its headers, and `body`.
pub(crate) fn send(to: SocketAddr, head: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let host = if head.to_lowercase().contains("\nhost:") {
        String::new()
    } else {
        format!("Host: {to}\r\n")
    };
    let head = head.trim().replace('\n', "\r\n");
    let len = body.len();
    let request =
        format!("{head}\r\n{host}Connection: close\r\nContent-Length: {len}\r\n\r\n{body}");
    // One that is refused by its head may not be read to its end.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec())
        .unwrap()
        .to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = answer[end + 4..].to_vec();
    if head.contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    Answer { status, head, body }
}

fn unchunked(mut left: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = left.windows(2).position(|w| w == b"\r\n").unwrap();
        let len = usize::from_str_radix(std::str::from_utf8(&left[..end]).unwrap(), 16).unwrap();
        if len == 0 {
            return whole;
        }
        whole.extend_from_slice(&left[end + 2..end + 2 + len]);
        left = &left[end + 4 + len..];
    }
}

pub(crate) fn get(to: SocketAddr, path: &str) -> Answer {
    send(to, &format!("GET {path} HTTP/1.1"), "")
}
pub(crate) fn delete(to: SocketAddr, path: &str) -> Answer {
    send(to, &format!("DELETE {path} HTTP/1.1"), "")
}
pub(crate) fn post(to: SocketAddr, body: &str) -> Answer {
    let head = "POST /api/jobs HTTP/1.1\nContent-Type: application/json";
    send(to, head, body)
}

/// Asks until job `id` is as `wanted` says; gives it.
pub(crate) fn until(to: SocketAddr, id: i64, wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let job = get(to, &format!("/api/jobs/{id}")).json();
        if wanted(&job) {
            return job;
        }
        assert!(Instant::now() < end, "{job}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Events as they come.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    pub(crate) fn of(to: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /api/events HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
        let mut events = Self(BufReader::new(stream));
        let mut status = String::new();
        events.0.read_line(&mut status).unwrap();
        assert!(status.contains("200"), "{status}");
        events
    }
    /// The next event of that name.
    pub(crate) fn next(&mut self, name: &str) -> Value {
        let mut is_meant = false;
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            match line.trim_end().split_once(": ") {
                Some(("event", event)) => is_meant = event == name,
                Some(("data", data)) if is_meant => return serde_json::from_str(data).unwrap(),
                _ => {}
            }
        }
    }
}
