//! The command line as a client: it asks a daemon for jobs and objects, and says what is wrong in one line.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Gateway, PATIENCE};

const TOKEN: &str = "0123456789abcdef";

fn thalweg(folder: &Path, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.current_dir(folder).args(args.split_whitespace());
    command.env_remove("THALWEG_TOKEN");
    command
}
fn run(folder: &Path, args: &str) -> Output {
    thalweg(folder, args).output().unwrap()
}
fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
/// What it prints, where it ends well.
fn said(folder: &Path, args: &str) -> String {
    let out = run(folder, args);
    assert!(out.status.success(), "{args}: {}", text(&out.stderr));
    text(&out.stdout)
}
fn json(folder: &Path, args: &str) -> Value {
    serde_json::from_str(&said(folder, args)).unwrap()
}
/// Its status, and the one line that says why.
fn refused(folder: &Path, args: &str) -> (i32, String) {
    let out = run(folder, args);
    let line = text(&out.stderr);
    assert_eq!(line.lines().count(), 1, "{args}: {line}");
    (out.status.code().unwrap(), line)
}

#[test]
fn of_several_stations_the_one_that_is_meant_is_asked_or_all() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let station = |name: &str| {
        format!(
            "[[station]]\nname = \"{name}\"\nbuilding = \"{name}\"\ntestbed = \"line5\"\nspeed = 500\nbytes = 2000\n"
        )
    };
    let file = here.join("gateway.toml");
    fs::write(&file, station("north") + &station("south")).unwrap();
    let gateway = Gateway::of(&here.join("there"), &["--config", file.to_str().unwrap()]);
    let collect = format!("collect --gateway http://{} -q", gateway.1);
    let (status, line) = refused(here, &format!("{collect} --from 3"));
    assert_eq!(status, 2);
    let several = "--station: the gateway has several; expected one of north, south";
    assert!(line.contains(several), "{line}");
    let (status, line) = refused(here, &format!("{collect} --from 3 --station west"));
    assert!(
        status == 2 && line.contains("expected one of north, south"),
        "{line}"
    );
    assert_eq!(refused(here, "collect --station north").0, 2);
    let one = json(here, &format!("{collect} --from 3 --station south --json"));
    assert_eq!(
        (&one["testbed"], &one["source"]),
        (&"south".into(), &3.into())
    );
    let all = json(here, &format!("{collect} --all-nodes --json"));
    let nodes = all["nodes"].as_array().unwrap();
    let of = |n: usize| (nodes[n]["station"].as_str(), nodes[n]["source"].as_u64());
    assert_eq!((nodes.len(), &all["objects"]), (8, &8.into()));
    assert_eq!(
        (of(0), of(7)),
        ((Some("north"), Some(2)), (Some("south"), Some(5)))
    );
    let text = said(here, &format!("{collect} --all-nodes --station north"));
    assert!(
        text.starts_with("north: sink 1\n") && text.contains("4 of 4 objects"),
        "{text}"
    );
}

#[test]
fn an_object_is_fetched_through_a_daemon_and_stored_here_as_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let gateway = Gateway::begin(&here.join("there"), "500");
    let url = format!("http://{}", gateway.1);
    let told = run(here, &format!("collect --gateway {url} --from 17"));
    assert!(told.status.success(), "{}", text(&told.stderr));
    let (report, steps) = (text(&told.stdout), text(&told.stderr));
    assert!(report.contains("floor21: node 17 to node"), "{report}");
    assert!(report.contains("goodput, kbit/s"), "{report}");
    assert!(report.contains("whole\nsha256"), "{report}");
    assert!(steps.contains("downloading"), "{steps}");
    // Both have the same object.
    let mine = json(here, "objects list --json");
    let theirs = json(here, &format!("objects list --json --gateway {url}"));
    for key in [
        "digest",
        "bytes",
        "source",
        "testbed",
        "protocol",
        "goodput_kbps",
    ] {
        assert_eq!(mine[0][key], theirs[0][key], "{key}");
    }
    assert_eq!(said(here, "objects verify"), "1 of 1 object whole\n");
    let verify = format!("objects verify --gateway {url}");
    assert_eq!(said(here, &verify), "1 of 1 object whole\n");
    // As JSON, with the keys of a transfer that was made here; several, of which one is known by now.
    let one = json(here, &format!("collect --gateway {url} --from 3 --json -q"));
    assert_eq!(
        (&one["source"], &one["verified"]),
        (&3.into(), &true.into())
    );
    assert_eq!(one["job"], 2);
    let path = here.join(one["stored"]["path"].as_str().unwrap());
    assert_eq!(one["bytes"], fs::read(path).unwrap().len());
    let two = json(
        here,
        &format!("collect --gateway {url} --from 17,5 --json -q"),
    );
    assert_eq!(
        (&two["objects"], &two["nodes"][0]["source"]),
        (&2.into(), &5.into())
    );
    // Where the folder is the gateway's own, nothing is there twice.
    let own = format!("collect --gateway {url} --from 9 --json -q --out there");
    json(here, &own);
    let theirs = json(here, &format!("objects list --json --gateway {url}"));
    assert_eq!(theirs.as_array().unwrap().len(), 5, "{theirs}");
    let out = said(
        here,
        &format!("objects export 1 --into copies --gateway {url}"),
    );
    let copy = out.split_once(' ').unwrap().1.trim();
    let kept = mine[0]["path"].as_str().unwrap();
    assert_eq!(
        fs::read(here.join(copy)).unwrap(),
        fs::read(here.join(kept)).unwrap()
    );
    assert_eq!(Path::new(copy).file_name(), Path::new(kept).file_name());
    let shown = said(here, &format!("objects show 1 --gateway {url}"));
    assert!(
        shown.contains(mine[0]["digest"].as_str().unwrap()),
        "{shown}"
    );
    let jobs = said(here, &format!("jobs list --gateway {url}"));
    assert!(jobs.contains("0 running, 0 queued"), "{jobs}");
    let job = said(here, &format!("jobs show 1 --gateway {url}"));
    assert!(
        job.contains("state     done") && job.contains("expected"),
        "{job}"
    );
    let followed = said(here, &format!("jobs follow 1 2 --gateway {url}"));
    assert!(
        followed.contains("job 2: fetch from node 3: done: object 2"),
        "{followed}"
    );
    // An object that was changed there.
    let objects = here.join("there/objects");
    for entry in fs::read_dir(objects).unwrap() {
        let path = entry.unwrap().path();
        if path.display().to_string().contains("floor21-3-") {
            fs::write(path, b"other").unwrap();
        }
    }
    let (status, line) = refused(here, &verify);
    assert_eq!(status, 1);
    assert!(line.contains("1 of 5 objects"), "{line}");
    let (status, _) = refused(here, &format!("objects export --into x --gateway {url}"));
    assert_eq!(status, 1);
}

#[test]
fn an_interrupt_cancels_the_job() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    // The survey alone takes many seconds.
    let gateway = Gateway::begin(&here.join("there"), "0.3");
    let url = format!("http://{}", gateway.1);
    let mut child = thalweg(here, &format!("collect --gateway {url} --from 17,3"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    gateway.until("\"running\"");
    let pid = child.id().to_string();
    let int = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(int.success());
    let mut line = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut line)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(line.contains("interrupted; 2 jobs are cancelled"), "{line}");
    let jobs = json(here, &format!("jobs list --json --gateway {url}"));
    for job in jobs.as_array().unwrap() {
        assert_eq!(job["state"], "cancelled");
    }
    // One that is cancelled by somebody else.
    let mut other = thalweg(here, &format!("collect --gateway {url} --from 4"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    gateway.until_of("/api/jobs/3", "\"running\"");
    let cancelled = said(here, &format!("jobs cancel 3 --gateway {url}"));
    assert!(
        cancelled.starts_with("job 3: fetch from node 4: "),
        "{cancelled}"
    );
    let mut line = String::new();
    other
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut line)
        .unwrap();
    assert_eq!(other.wait().unwrap().code(), Some(1));
    assert!(line.contains("it was cancelled"), "{line}");
    let (status, line) = refused(here, &format!("jobs follow 3 --gateway {url}"));
    assert_eq!(status, 1);
    assert!(line.contains("1 of 1 job did not bring"), "{line}");
    let (status, _) = refused(here, &format!("jobs cancel 3 --gateway {url}"));
    assert_eq!(status, 1, "it has ended");
}

#[test]
fn a_daemon_that_begins_again_is_followed_on() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let slow = Gateway::begin(&here.join("there"), "0.01");
    let address = slow.1.clone();
    let mut child = thalweg(here, &format!("collect --gateway {address} --from 17"))
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Its job runs before it has the answer that there is one: it follows once it tells a step.
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    assert!(told.read_line(&mut line).unwrap() > 0, "it ended");
    drop(slow);
    let there = here.join("there");
    let network = ["--speed", "500", "--bytes", "3000", "--listen", &address];
    let _quick = Gateway::over(&there, &network);
    let end = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(20));
    }
    let out = child.wait_with_output().unwrap();
    told.read_to_string(&mut line).unwrap();
    assert!(out.status.success(), "{line}");
    assert!(
        text(&out.stdout).contains("job 1 of"),
        "{}",
        text(&out.stdout)
    );
}

#[test]
fn a_job_that_has_ended_is_told_of_once() {
    let job = |id: u8, state: &str| {
        format!(
            "{{\"id\":{id},\"kind\":\"fetch\",\"from\":3,\"state\":\"{state}\",\"priority\":0,\"asked_at\":\"\",\"progress\":0.5}}"
        )
    };
    let told = [job(1, "failed"), job(1, "failed"), job(2, "done")];
    let told = told.map(|job| format!("event: job\ndata: {job}\n\n"));
    let address = server(move |path| match path {
        "/api/events" => told.concat(),
        "/api/jobs/1" => job(1, "running"),
        "/api/jobs/2" => job(2, "running"),
        _ => "{\"version\": \"9\", \"api\": 1}".to_owned(),
    });
    let dir = tempfile::tempdir().unwrap();
    let out = run(dir.path(), &format!("jobs follow 1 2 --gateway {address}"));
    let (lines, why) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(why.contains("1 of 2 jobs did not bring"), "{why}");
}

/// A server at a port of its own, which gives the answer to each path.
fn server(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            let answer = answer(line.split(' ').nth(1).unwrap_or_default());
            while stream.read_line(&mut line).unwrap() > 2 {}
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            let _ = stream.get_mut().write_all((head + &answer).as_bytes());
        }
    });
    address
}

#[test]
fn what_is_wrong_is_told_in_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    // Nobody, somebody else, and a gateway of another version.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for command in ["jobs list", "objects list", "collect --from 3"] {
        let (status, line) = refused(here, &format!("{command} --gateway http://{free}"));
        assert_eq!(status, 1);
        assert!(line.contains("cannot be reached"), "{line}");
    }
    for (answer, why) in [
        ("hello", "no thalweg gateway is there"),
        ("{\"status\": \"ok\"}", "no thalweg gateway is there"),
        (
            "{\"status\": \"ok\", \"version\": \"0.0.1\"}",
            "too old: update it",
        ),
        (
            "{\"version\": \"9\", \"api\": 2}",
            "this program is too old",
        ),
        ("{\"version\": \"9\", \"api\": 1}", "not understood"),
    ] {
        let address = server(|_| answer.to_owned());
        let (status, line) = refused(here, &format!("jobs list --gateway {address}"));
        assert_eq!((status, line.contains(why)), (1, true), "{answer}: {line}");
    }
    // A token.
    fs::write(here.join("token"), format!("{TOKEN}\n")).unwrap();
    let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(here.join("token"), own).unwrap();
    fs::write(here.join("other"), "another-token-that-is-none").unwrap();
    fs::write(here.join("empty"), "\n").unwrap();
    fs::write(
        here.join("g.toml"),
        "token_file = \"token\"\ndata = \"there\"",
    )
    .unwrap();
    let config = here.join("g.toml");
    let network = ["--speed", "500", "--config", config.to_str().unwrap()];
    let gateway = Gateway::over(&here.join("there"), &network);
    let list = format!("jobs list --gateway {}", gateway.1);
    let (status, line) = refused(here, &list);
    assert_eq!(
        (status, line.contains("wants a token")),
        (2, true),
        "{line}"
    );
    let (status, line) = refused(here, &format!("{list} --token-file other"));
    assert_eq!(
        (status, line.contains("refuses the token")),
        (2, true),
        "{line}"
    );
    assert_eq!(refused(here, &format!("{list} --token-file empty")).0, 2);
    assert_eq!(refused(here, &format!("{list} --token-file none")).0, 2);
    said(here, &format!("{list} --token-file token"));
    let by_environment = thalweg(here, &list)
        .env("THALWEG_TOKEN", TOKEN)
        .output()
        .unwrap();
    assert!(by_environment.status.success());
    // What the gateway does not want, and what makes no sense.
    let url = format!("--token-file token --gateway {}", gateway.1);
    for (args, why) in [
        (format!("collect {url} --from 999"), "999"),
        (format!("collect {url}"), "say --from NODE"),
        (format!("collect {url} --from 3 --seed 1"), "--seed"),
        (
            format!("collect {url} --from 3 --protocol p3"),
            "--protocol",
        ),
        (
            format!("collect {url} --from 3 --testbed floor21"),
            "--testbed",
        ),
        (format!("objects list {url} --out x"), "--out"),
        ("objects list --token-file token".to_owned(), "--gateway"),
        (format!("objects show 7 {url}"), "no object of that id"),
        (format!("jobs show 7 {url}"), "there is no job 7"),
        ("jobs list --gateway https://a".to_owned(), "https"),
        (
            "jobs list --gateway ftp://a".to_owned(),
            "expected an address",
        ),
    ] {
        let (status, line) = refused(here, &args);
        assert_eq!((status, line.contains(why)), (2, true), "{args}: {line}");
    }
    assert!(json(here, &format!("jobs list --json {url}"))
        .as_array()
        .unwrap()
        .is_empty());
}
