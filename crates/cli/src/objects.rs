//! `thalweg objects list|show|export|verify`: what the store has.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thalweg_gateway::store::{Condition, Store, StoredTransfer};

use crate::args::ObjectsCommand;
use crate::failure::{one_line, Failure};
use crate::output::{cannot_write, plural, print, print_json, WholeFile};
use crate::table::{number, Table};

/// Runs `thalweg objects`.
pub(crate) fn run(command: &ObjectsCommand) -> Result<(), Failure> {
    match command {
        ObjectsCommand::List { store, json } => list(store, *json),
        ObjectsCommand::Show {
            object,
            store,
            json,
        } => show(object, store, *json),
        ObjectsCommand::Export {
            objects,
            into,
            force,
            store,
        } => export(objects, into, *force, store),
        ObjectsCommand::Verify { store, json } => verify(store, *json),
    }
}

/// An object as `--json` prints it.
#[derive(Debug, Serialize)]
struct Shown {
    id: i64,
    digest: Option<String>,
    file: Option<String>,
    path: Option<String>,
    stored_at: String,
    testbed: String,
    protocol: String,
    source: u16,
    sink: u16,
    bytes: u64,
    goodput_kbps: f64,
    duration_s: f64,
    seed: u64,
}

impl Shown {
    fn new(stored: &StoredTransfer) -> Self {
        let r = &stored.record;
        Self {
            id: stored.id.0,
            digest: stored.digest.clone(),
            // A name may hold what a terminal would obey.
            file: stored.file.as_deref().map(one_line),
            path: stored.object.as_deref().map(display),
            stored_at: stored.stored_at.clone(),
            testbed: r.testbed.clone(),
            protocol: r.protocol.clone(),
            source: r.source.get(),
            sink: r.sink.get(),
            bytes: r.bytes,
            goodput_kbps: r.goodput_kbps,
            duration_s: r.duration_s,
            seed: r.seed,
        }
    }
}

fn display(path: &Path) -> String {
    path.display().to_string()
}

fn list(store: &Path, json: bool) -> Result<(), Failure> {
    let stored = Store::existing(store)?.with_objects()?;
    let shown: Vec<Shown> = stored.iter().map(Shown::new).collect();
    if json {
        return print_json(&shown);
    }
    let mut table = Table::of(&[
        ">id",
        "stored at",
        "network",
        ">node",
        ">bytes",
        "protocol",
        ">kbit/s",
        "file",
        "sha256",
    ]);
    for s in &shown {
        let digest = s.digest.as_deref().unwrap_or_default();
        table.row([
            s.id.to_string(),
            s.stored_at.clone(),
            s.testbed.clone(),
            s.source.to_string(),
            s.bytes.to_string(),
            s.protocol.clone(),
            number(Some(s.goodput_kbps), 1.0, 1),
            s.file.clone().unwrap_or_else(|| "-".to_owned()),
            digest.chars().take(16).collect(),
        ]);
    }
    let bytes: u64 = shown.iter().map(|s| s.bytes).sum();
    let objects = plural(shown.len(), "object", "objects");
    let table = table.render();
    print(&format!(
        "{table}\n{objects}, {bytes} bytes in {}\n",
        display(store)
    ))
}

/// Digits of a digest that name an object at least.
const LEAST_DIGITS: usize = 4;

/// The object that `name` names: its number, the beginning of its digest, or its file's name. Of several with the
/// same bytes the newest.
fn named<'a>(all: &'a [StoredTransfer], name: &str) -> Result<&'a StoredTransfer, Failure> {
    let by_id = all.iter().find(|s| s.id.0.to_string() == name);
    let digits = name.len() >= LEAST_DIGITS;
    let is_it = |s: &&StoredTransfer| {
        let digest = s.digest.as_deref().unwrap_or_default();
        (digits && digest.starts_with(name)) || s.file.as_deref() == Some(name)
    };
    let found: Vec<&StoredTransfer> = all.iter().filter(is_it).collect();
    let unlike = found.iter().any(|s| s.digest != found[0].digest);
    match (by_id, found.last()) {
        (Some(one), _) => Ok(one),
        (None, Some(_)) if unlike => {
            let count = found.len();
            let line = format!("{name}: names {count} objects; say more digits, or its id");
            Err(Failure::Input(line))
        }
        (None, Some(one)) => Ok(one),
        (None, None) => Err(Failure::Input(format!(
            "{name}: no object of that id, digest or file name; `thalweg objects list` has them"
        ))),
    }
}

fn show(object: &str, store: &Path, json: bool) -> Result<(), Failure> {
    let all = Store::existing(store)?.with_objects()?;
    let stored = named(&all, object)?;
    // What a store has as a report was JSON when it was written.
    let report: serde_json::Value = serde_json::from_str(&stored.report).map_err(Failure::job)?;
    let shown = serde_json::json!({
        "object": Shown::new(stored),
        "condition": word(stored.condition()?),
        "report": report,
    });
    match json {
        true => print_json(&shown),
        false => {
            let s = Shown::new(stored);
            let rate = number(Some(s.goodput_kbps), 1.0, 1);
            let time = number(Some(s.duration_s), 1.0, 3);
            let rows = [
                ("object", s.path.unwrap_or_default()),
                ("condition", word(stored.condition()?).to_owned()),
                ("sha256", s.digest.unwrap_or_default()),
                ("file", s.file.unwrap_or_else(|| "-".to_owned())),
                ("stored at", s.stored_at),
                ("network", format!("{}, seed {}", s.testbed, s.seed)),
                ("from, to", format!("{}, {}", s.source, s.sink)),
                ("protocol", s.protocol),
                ("bytes", s.bytes.to_string()),
                ("goodput", format!("{rate} kbit/s, {time} s")),
            ];
            let lines = rows.map(|(name, value)| format!("{name:<11}{value}\n"));
            print(&lines.concat())
        }
    }
}

const fn word(condition: Condition) -> &'static str {
    match condition {
        Condition::Whole => "whole",
        Condition::Missing => "missing",
        Condition::Changed => "changed",
    }
}

fn export(names: &[String], into: &Path, force: bool, store: &Path) -> Result<(), Failure> {
    let all = Store::existing(store)?.with_objects()?;
    let chosen: Vec<&StoredTransfer> = match names {
        [] => all.iter().collect(),
        names => names
            .iter()
            .map(|n| named(&all, n))
            .collect::<Result<_, _>>()?,
    };
    fs::create_dir_all(into).map_err(|error| cannot_write(into, &error))?;
    let mut text = String::new();
    let mut written: Vec<PathBuf> = Vec::new();
    for stored in chosen {
        let id = stored.id.0;
        let bytes = match stored.condition()? {
            Condition::Whole => stored.bytes()?.unwrap_or_default(),
            bad => {
                let line = format!("object {id} is {}; nothing more was exported", word(bad));
                return Err(Failure::Job(line));
            }
        };
        let path = into.join(export_name(stored, &written, into));
        if path.exists() && !force && fs::read(&path).ok().as_deref() != Some(&bytes[..]) {
            let line = format!(
                "{}: exists and holds other bytes; say --force",
                display(&path)
            );
            return Err(Failure::Input(line));
        }
        write_bytes(&path, &bytes)?;
        text.push_str(&format!("{id} {}\n", display(&path)));
        written.push(path);
    }
    print(&text)
}

/// The name of the file that was sent, with its node where several have that name; else the store's.
fn export_name(stored: &StoredTransfer, taken: &[PathBuf], into: &Path) -> PathBuf {
    let kept = stored.object.as_deref().and_then(Path::file_name);
    let kept = kept.map_or_else(PathBuf::new, PathBuf::from);
    // A name from the database is a name, whatever stands there.
    let sent = stored
        .file
        .as_deref()
        .map(Path::new)
        .and_then(Path::file_name);
    match sent {
        None => kept,
        Some(name) if !taken.contains(&into.join(name)) => PathBuf::from(name),
        Some(name) => {
            let node = stored.record.source;
            PathBuf::from(format!("{}-{node}-{}", stored.id.0, name.to_string_lossy()))
        }
    }
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    use std::io::Write;
    let whole = WholeFile::create(path)?;
    let mut writer = whole.writer()?;
    let written = writer.write_all(bytes).and_then(|()| writer.flush());
    written.map_err(|error| cannot_write(path, &error))?;
    whole.finish()
}

/// What `verify --json` prints.
#[derive(Debug, Serialize)]
struct Verified {
    objects: usize,
    whole: usize,
    wrong: Vec<Wrong>,
}

#[derive(Debug, Serialize)]
struct Wrong {
    id: i64,
    path: Option<String>,
    condition: &'static str,
}

fn verify(store: &Path, json: bool) -> Result<(), Failure> {
    let all = Store::existing(store)?.with_objects()?;
    let mut wrong = Vec::new();
    for stored in &all {
        match stored.condition()? {
            Condition::Whole => {}
            bad => wrong.push(Wrong {
                id: stored.id.0,
                path: stored.object.as_deref().map(display),
                condition: word(bad),
            }),
        }
    }
    let (objects, count) = (all.len(), wrong.len());
    if json {
        let whole = objects - count;
        print_json(&Verified {
            objects,
            whole,
            wrong,
        })?;
    } else {
        let mut text = String::new();
        for w in &wrong {
            let path = w.path.as_deref().unwrap_or_default();
            text.push_str(&format!("{}: {path}: {}\n", w.id, w.condition));
        }
        let all = plural(objects, "object", "objects");
        text.push_str(&format!("{} of {all} whole\n", objects - count));
        print(&text)?;
    }
    match count {
        0 => Ok(()),
        _ => Err(Failure::Job(format!(
            "{count} of {objects} objects are not as they were stored"
        ))),
    }
}
