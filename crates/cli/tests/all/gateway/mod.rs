//! `thalweg gateway` as a process: it tells its address, is killed, begins again and goes on, and ends when asked;
//! and the same over a base station's line.

mod behind;
mod client;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(100);

/// A gateway, and where it listens.
struct Gateway(Child, String);

impl Gateway {
    fn begin(data: &Path, speed: &str) -> Self {
        Self::over(data, &["--speed", speed, "--bytes", "3000"])
    }
    fn over(data: &Path, network: &[&str]) -> Self {
        let floor = ["--testbed", "floor21"];
        Self::of(data, &[&floor, network].concat())
    }
    fn of(data: &Path, network: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_thalweg"))
            .arg("gateway")
            .args(network)
            .args(match network.contains(&"--listen") {
                true => &[][..],
                false => &["--listen", "127.0.0.1:0"],
            })
            .arg("--data")
            .arg(data)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(told.read_line(&mut line).unwrap() > 0, "it ended");
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split('/').next().unwrap().to_owned();
            }
        };
        // What it tells from now on must go somewhere.
        std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        Self(child, address)
    }
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, len) = (&self.1, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Connection: close\r\nContent-Length: {len}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
    fn until(&self, part: &str) {
        self.until_of("/api/jobs/1", part);
    }
    fn until_of(&self, path: &str, part: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.ask("GET", path, "").contains(part) {
            assert!(Instant::now() < end, "{}", self.ask("GET", path, ""));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_was_asked_outlives_a_kill_and_a_signal_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let slow = Gateway::begin(dir.path(), "1");
    let asked = slow.ask("POST", "/api/jobs", "{\"kind\": \"fetch\", \"from\": 17}");
    assert!(asked.starts_with("HTTP/1.1 201"), "{asked}");
    slow.until("\"running\"");
    // Dropping kills it.
    drop(slow);
    let mut quick = Gateway::begin(dir.path(), "500");
    quick.until("\"done\"");
    assert!(quick.ask("GET", "/api/log", "").contains("begins again"));
    let pid = quick.0.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    assert!(quick.0.wait().unwrap().success());
    // The command line sees the same store.
    let list = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["objects", "list", "--json", "--out"])
        .arg(dir.path())
        .output()
        .unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().contains("floor21"));
}

#[test]
fn what_cannot_be_is_told_in_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gateway.toml");
    let run = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_thalweg"))
            .arg("gateway")
            .args(args)
            .output()
            .unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    std::fs::write(&file, "[transfers]\nqueue = 0\n").unwrap();
    let path = file.to_str().unwrap();
    let (status, said) = run(&["--config", path]);
    assert_eq!(status, Some(2));
    assert!(
        said.contains("line 2") && said.contains("1 to 10000"),
        "{said}"
    );
    let limited = "[transfers]\nenergy_j_per_day = 40\n";
    std::fs::write(&file, limited).unwrap();
    assert_eq!(run(&["--config", path, "--check"]).0, Some(0));
    let behind = ["--config", path, "--check", "--port", "/dev/x"];
    let (status, said) = run(&behind);
    assert_eq!((status, said.contains("testbed")), (Some(2), true));
    assert_eq!(
        run(&[&behind[..], &["--testbed", "line5"]].concat()).0,
        Some(0)
    );
    let (status, said) = run(&[
        "--config",
        path,
        "--listen",
        "0.0.0.0:0",
        "--testbed",
        "line5",
    ]);
    assert_eq!(status, Some(2));
    assert!(said.contains("token"), "{said}");
    assert_eq!(run(&["--speed", "0"]).0, Some(2));
    let (status, said) = run(&["--testbed", "pair", "--port", "tcp:nowhere"]);
    assert_eq!((status, said.contains("tcp:HOST:PORT")), (Some(2), true));
    assert_eq!(run(&["--port", "x", "--speed", "2"]).0, Some(2));
    assert_eq!(run(&["--testbed", "nowhere"]).0, Some(2));
}
