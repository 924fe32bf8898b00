//! What strangers may not do, and what they cannot grow.

use super::client::{config, daemon, get, network, post, send, Events};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use thalweg_daemon::config::Token;
use thalweg_daemon::{Daemon, StartError};

const SURVEY: &str = "{\"kind\": \"survey\"}";
const JSON: &str = "Content-Type: application/json";

#[test]
fn other_names_and_other_sites_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 1.0);
    let to = daemon.address();
    let ask = |head: &str| send(to, head, SURVEY).status;
    assert_eq!(ask("GET / HTTP/1.1\nHost: evil.example"), 421);
    assert_eq!(ask("GET / HTTP/1.1\nHost: localhost:1"), 200);
    let write = format!("POST /api/jobs HTTP/1.1\n{JSON}\n");
    assert_eq!(ask(&format!("{write}Origin: http://evil.example")), 403);
    assert_eq!(ask(&format!("{write}Sec-Fetch-Site: cross-site")), 403);
    let form = "POST /transfers HTTP/1.1\nContent-Type: application/x-www-form-urlencoded\n";
    let wish = |head: &str| send(to, head, "what=survey").status;
    assert_eq!(wish(&format!("{form}Origin: null")), 403);
    assert_eq!(wish(&format!("{form}Origin: http://{to}")), 303);
    assert_eq!(
        ask(&format!(
            "{write}Origin: http://{to}\nSec-Fetch-Site: same-origin"
        )),
        201
    );
    // A form of another page cannot say that it is JSON.
    assert_eq!(
        ask("POST /api/jobs HTTP/1.1\nContent-Type: text/plain"),
        415
    );
}

#[test]
fn elsewhere_only_with_the_token() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.listen = SocketAddr::from(([0, 0, 0, 0], 0));
    let open = Daemon::start(&config, network(1.0));
    assert!(matches!(open.err(), Some(StartError::NoToken(_))));
    config.token = Some(Token::new("0123456789abcdef").unwrap());
    let daemon = Daemon::start(&config, network(1.0)).unwrap();
    let to = SocketAddr::from(([127, 0, 0, 1], daemon.address().port()));
    for path in [
        "/api/jobs",
        "/api/objects",
        "/api/events",
        "/metrics",
        "/api/nodes/1",
    ] {
        assert_eq!(get(to, path).status, 401, "{path}");
    }
    assert_eq!(post(to, SURVEY).status, 401);
    assert_eq!(get(to, "/healthz").status, 200);
    let page = get(to, "/");
    assert_eq!(
        (page.status, page.header("location")),
        (303, Some("/login"))
    );
    let bearer = |token: &str| {
        let head = format!("GET /api/jobs HTTP/1.1\nAuthorization: Bearer {token}");
        send(to, &head, "").status
    };
    assert_eq!(
        (bearer("0123456789abcdef"), bearer("0123456789abcdee")),
        (200, 401)
    );
    let login = |token: &str| {
        let head = "POST /login HTTP/1.1\nContent-Type: application/x-www-form-urlencoded";
        send(to, head, &format!("token={token}"))
    };
    assert_eq!(login("wrong").status, 401);
    let logged_in = login("0123456789abcdef");
    assert_eq!(logged_in.status, 303);
    let cookie = logged_in.header("set-cookie").unwrap();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=strict"));
    let cookie = cookie.split(';').next().unwrap();
    let page = send(to, &format!("GET / HTTP/1.1\nCookie: {cookie}"), "");
    assert_eq!(page.status, 200);
    assert!(page.text().contains("Log out"));
    let logged_out = send(to, &format!("POST /logout HTTP/1.1\nCookie: {cookie}"), "");
    assert_eq!(logged_out.header("location"), Some("/login"));
    assert!(logged_out
        .header("set-cookie")
        .unwrap()
        .contains("max-age=0"));
}

#[test]
fn what_a_stranger_could_grow_has_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.transfers.queue = 3;
    let daemon = Daemon::start(&config, network(1.0)).unwrap();
    let to = daemon.address();
    let refused = |body: &str, status: u16| {
        let answer = post(to, body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert!(answer.json()["error"].is_string());
    };
    for nonsense in [
        "",
        "[]",
        "{\"kind\": \"dance\"}",
        "{\"kind\": \"fetch\"}",
        "{\"kind\": \"fetch\", \"from\": 0}",
        "{\"kind\": \"fetch\", \"from\": 999}",
        "{\"kind\": \"fetch\", \"from\": 70000}",
        "{\"kind\": \"fetch\", \"from\": []}",
        "{\"kind\": \"fetch\", \"from\": \"some\"}",
        "{\"kind\": \"fetch\", \"from\": 4, \"colour\": 1}",
        "{\"kind\": \"survey\", \"from\": 4}",
        "{\"kind\": \"survey\", \"priority\": 999}",
    ] {
        refused(nonsense, 422);
    }
    let sink = get(to, "/api/network").json()["sink"].as_u64().unwrap();
    refused(&format!("{{\"kind\": \"fetch\", \"from\": {sink}}}"), 422);
    let many = vec!["4"; 22].join(",");
    refused(&format!("{{\"kind\": \"fetch\", \"from\": [{many}]}}"), 422);
    assert_eq!(
        post(to, &format!("{{\"kind\": \"{}\"}}", "x".repeat(20_000))).status,
        413
    );
    // One may run by now; three and one for each of 21 nodes wait.
    let asked = (0..30).map(|_| post(to, SURVEY).status);
    assert!(asked.filter(|status| *status == 429).count() >= 5);
    for path in [
        "/nowhere",
        "/api/jobs/99",
        "/api/objects/99",
        "/api/nodes/99",
        "/objects/99",
        "/nodes/0",
        "/api/objects/99/content",
    ] {
        assert_eq!(get(to, path).status, 404, "{path}");
    }
    assert_eq!(send(to, "PATCH /api/jobs HTTP/1.1", "").status, 405);
    assert_eq!(get(to, "/api/jobs?before=x").status, 400);

    let all: Vec<Events> = (0..64).map(|_| Events::of(to)).collect();
    assert_eq!(get(to, "/api/events").status, 503);
    drop(all);
    let end = std::time::Instant::now() + super::client::PATIENCE;
    loop {
        let mut stream = TcpStream::connect(to).unwrap();
        write!(stream, "GET /api/events HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        if status.contains("200") {
            break;
        }
        assert!(std::time::Instant::now() < end, "seats come free");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn slow_bodies_and_silent_connections_lock_nobody_out_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 1.0);
    let to = daemon.address();
    let slow = |_| {
        let mut stream = TcpStream::connect(to).unwrap();
        let head = "POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded";
        // Whoever finds no seat is turned away.
        let _ = write!(
            stream,
            "{head}\r\nHost: {to}\r\nContent-Length: 12000\r\n\r\ntoken="
        );
        stream
    };
    let held: Vec<TcpStream> = (0..300).map(slow).collect();
    let begun = std::time::Instant::now();
    let is_answered = || {
        let mut stream = TcpStream::connect(to).ok()?;
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).ok()?;
        status.contains(" 200 ").then_some(())
    };
    while is_answered().is_none() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(25));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let mut answer = String::new();
    BufReader::new(&held[0]).read_line(&mut answer).unwrap();
    assert!(answer.contains(" 408 "), "{answer}");
    // A body that says that it is too long is not read.
    let head = "POST /login HTTP/1.1\nContent-Type: text/plain";
    let mut stream = TcpStream::connect(to).unwrap();
    let head = head.replace('\n', "\r\n");
    write!(
        stream,
        "{head}\r\nHost: {to}\r\nContent-Length: 20000\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    assert!(answer.contains(" 413 "), "{answer}");
}

#[test]
fn every_refusal_is_json_for_programs_and_a_page_for_people() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 1.0);
    let to = daemon.address();
    for (path, status) in [
        ("/api/jobs/x", 400),
        ("/api/jobs/99", 404),
        ("/api/jobs?limit=x", 400),
        ("/api/objects/%ff", 400),
        ("/api/nodes/99999999", 400),
        ("/api/nothing", 404),
    ] {
        let answer = get(to, path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let why = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(!why.is_empty(), "{path}");
    }
    for (head, status) in [
        ("GET /jobs/x", 400),
        ("GET /nodes/70000", 400),
        ("GET /nothing", 404),
        ("POST /objects/9/delete", 404),
        ("PUT /objects", 405),
    ] {
        let answer = send(to, &format!("{head} HTTP/1.1"), "");
        assert_eq!(answer.status, status, "{head}: {}", answer.text());
        let kind = answer.header("content-type").unwrap();
        assert!(kind.starts_with("text/html"), "{head}: {kind}");
    }
}
