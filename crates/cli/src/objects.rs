//! `thalweg objects list|show|export|delete|verify`: the objects of a store; also prints those of a gateway
//! (`client/objects.rs`).

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thalweg_host::store::{Condition, Store, StoredTransfer};

use crate::args::ObjectsCommand;
use crate::failure::{one_line, Failure};
use crate::output::{cannot_write, plural, print, print_json, WholeFile};
use crate::table::{number, Table};

/// Runs `thalweg objects`.
pub(crate) fn run(command: &ObjectsCommand) -> Result<(), Failure> {
    match command {
        ObjectsCommand::List { store, json, .. } => list(store, *json),
        ObjectsCommand::Show {
            object,
            store,
            json,
            ..
        } => show(object, store, *json),
        ObjectsCommand::Export {
            objects,
            into,
            force,
            store,
            ..
        } => export(objects, into, *force, store),
        ObjectsCommand::Delete { objects, store, .. } => delete(objects, store),
        ObjectsCommand::Verify { store, json, .. } => verify(store, *json),
    }
}

/// An object as `--json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    pub(crate) id: i64,
    pub(crate) digest: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) stored_at: String,
    pub(crate) testbed: String,
    pub(crate) protocol: String,
    pub(crate) source: u16,
    /// A gateway does not say.
    pub(crate) sink: Option<u16>,
    pub(crate) bytes: u64,
    pub(crate) goodput_kbps: f64,
    pub(crate) duration_s: Option<f64>,
    /// Nor this.
    pub(crate) seed: Option<u64>,
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
            sink: Some(r.sink.get()),
            bytes: r.bytes,
            goodput_kbps: r.goodput_kbps,
            duration_s: Some(r.duration_s),
            seed: Some(r.seed),
        }
    }
}

pub(crate) fn display(path: &Path) -> String {
    path.display().to_string()
}

fn list(store: &Path, json: bool) -> Result<(), Failure> {
    let stored = Store::existing(store)?.with_objects()?;
    let shown: Vec<Shown> = stored.iter().map(Shown::new).collect();
    tell_list(&shown, &display(store), json)
}

/// Prints a list of the objects in `place`.
pub(crate) fn tell_list(shown: &[Shown], place: &str, json: bool) -> Result<(), Failure> {
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
    for s in shown {
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
            digest.chars().take(SHOWN_DIGITS).collect(),
        ]);
    }
    let bytes: u64 = shown.iter().map(|s| s.bytes).sum();
    let objects = plural(shown.len(), "object", "objects");
    let table = table.render();
    print(&format!("{table}\n{objects}, {bytes} bytes in {place}\n"))
}

/// Digits of a digest in a list.
const SHOWN_DIGITS: usize = 8;
/// Digits of a digest that name an object at least.
const LEAST_DIGITS: usize = 4;

/// Which of `all` is the one that `name` names: its number, the beginning of its digest, or its file's name. Of
/// several with the same bytes the newest.
pub(crate) fn named(all: &[Shown], name: &str) -> Result<usize, Failure> {
    let by_id = all.iter().position(|s| s.id.to_string() == name);
    let digits = name.len() >= LEAST_DIGITS;
    let is_it = |s: &Shown| {
        let digest = s.digest.as_deref().unwrap_or_default();
        (digits && digest.starts_with(name)) || s.file.as_deref() == Some(name)
    };
    let found: Vec<usize> = (0..all.len()).filter(|k| is_it(&all[*k])).collect();
    let unlike = found.iter().any(|k| all[*k].digest != all[found[0]].digest);
    match (by_id, found.last()) {
        (Some(one), _) => Ok(one),
        (None, Some(_)) if unlike => {
            let count = found.len();
            let line = format!("{name}: names {count} objects; say more digits, or its id");
            Err(Failure::Input(line))
        }
        (None, Some(one)) => Ok(*one),
        (None, None) => Err(Failure::Input(format!(
            "{name}: no object of that id, digest or file name; `thalweg objects list` has them"
        ))),
    }
}

/// Those that `names` name, all where none is named.
pub(crate) fn chosen(all: &[Shown], names: &[String]) -> Result<Vec<usize>, Failure> {
    match names {
        [] => Ok((0..all.len()).collect()),
        names => names.iter().map(|name| named(all, name)).collect(),
    }
}

/// The store's objects, and how they are shown.
fn both(store: &Path) -> Result<(Vec<StoredTransfer>, Vec<Shown>), Failure> {
    let stored = Store::existing(store)?.with_objects()?;
    let shown = stored.iter().map(Shown::new).collect();
    Ok((stored, shown))
}

fn show(object: &str, store: &Path, json: bool) -> Result<(), Failure> {
    let (all, shown) = both(store)?;
    let stored = &all[named(&shown, object)?];
    let condition = word(stored.condition()?);
    if !json {
        return tell_one(Shown::new(stored), Some(condition));
    }
    // What a store has as a report was JSON when it was written.
    let report: serde_json::Value = serde_json::from_str(&stored.report).map_err(Failure::job)?;
    print_json(&serde_json::json!({
        "object": Shown::new(stored),
        "condition": condition,
        "report": report,
    }))
}

/// Prints one object.
pub(crate) fn tell_one(s: Shown, condition: Option<&str>) -> Result<(), Failure> {
    let rate = number(Some(s.goodput_kbps), 1.0, 1);
    let time = number(s.duration_s, 1.0, 3);
    let network = s
        .seed
        .map_or(String::new(), |seed| format!(", seed {seed}"));
    let ends = s.sink.map_or(("from", s.source.to_string()), |sink| {
        ("from, to", format!("{}, {sink}", s.source))
    });
    let rows = [
        ("object", Some(s.path.unwrap_or_default())),
        ("condition", condition.map(str::to_owned)),
        ("sha256", Some(s.digest.unwrap_or_default())),
        ("file", Some(s.file.unwrap_or_else(|| "-".to_owned()))),
        ("stored at", Some(s.stored_at)),
        ("network", Some(s.testbed + &network)),
        (ends.0, Some(ends.1)),
        ("protocol", Some(s.protocol)),
        ("bytes", Some(s.bytes.to_string())),
        ("goodput", Some(format!("{rate} kbit/s, {time} s"))),
    ];
    let lines = rows.into_iter();
    let lines = lines.filter_map(|(name, value)| Some(format!("{name:<11}{}\n", value?)));
    print(&lines.collect::<String>())
}

const fn word(condition: Condition) -> &'static str {
    match condition {
        Condition::Whole => "whole",
        Condition::Missing => "missing",
        Condition::Changed => "changed",
    }
}

fn export(names: &[String], into: &Path, force: bool, store: &Path) -> Result<(), Failure> {
    let (all, shown) = both(store)?;
    let chosen = chosen(&shown, names)?;
    let mut export = Export::new(into, force)?;
    for index in chosen {
        let stored = &all[index];
        let bytes = match stored.condition()? {
            Condition::Whole => stored.bytes()?.unwrap_or_default(),
            bad => {
                let (id, bad) = (stored.id.0, word(bad));
                let line = format!("object {id} is {bad}; nothing more was exported");
                return Err(Failure::Job(line));
            }
        };
        let kept = stored.object.as_deref().and_then(Path::file_name);
        let kept = kept.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        export.write(&shown[index], &kept, &bytes)?;
    }
    export.report()
}

fn delete(names: &[String], store: &Path) -> Result<(), Failure> {
    let (all, shown) = both(store)?;
    let mut open = Store::existing(store)?;
    for index in chosen(&shown, names)? {
        let deleted = open.delete_object(all[index].id)?;
        // Named twice, or gone with another of the same bytes.
        if deleted.objects > 0 {
            tell_deleted(shown[index].id, deleted.bytes)?;
        }
    }
    Ok(())
}

/// Prints that an object is deleted.
pub(crate) fn tell_deleted(id: i64, bytes: u64) -> Result<(), Failure> {
    print(&format!("object {id}: deleted, {bytes} bytes\n"))
}

/// Objects that are copied into a folder.
pub(crate) struct Export<'a> {
    into: &'a Path,
    force: bool,
    written: Vec<PathBuf>,
    text: String,
}

impl<'a> Export<'a> {
    /// Into the folder `into`; files that hold other bytes are replaced with `force`.
    pub(crate) fn new(into: &'a Path, force: bool) -> Result<Self, Failure> {
        fs::create_dir_all(into).map_err(|error| cannot_write(into, &error))?;
        Ok(Self {
            into,
            force,
            written: Vec::new(),
            text: String::new(),
        })
    }

    /// Writes the `bytes` of an object, which a store calls `kept`.
    pub(crate) fn write(&mut self, of: &Shown, kept: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.into.join(self.name(of, kept));
        if path.exists() && !self.force && fs::read(&path).ok().as_deref() != Some(bytes) {
            let line = format!(
                "{}: exists and holds other bytes; say --force",
                display(&path)
            );
            return Err(Failure::Input(line));
        }
        write_bytes(&path, bytes)?;
        self.text
            .push_str(&format!("{} {}\n", of.id, display(&path)));
        self.written.push(path);
        Ok(())
    }

    /// The name of the file that was sent, with its node where several have that name; else the store's.
    fn name(&self, of: &Shown, kept: &str) -> PathBuf {
        // A name from the database is a name, whatever stands there.
        let sent = of.file.as_deref().map(Path::new).and_then(Path::file_name);
        match sent {
            None => PathBuf::from(kept),
            Some(name) if !self.written.contains(&self.into.join(name)) => PathBuf::from(name),
            Some(name) => PathBuf::from(format!(
                "{}-{}-{}",
                of.id,
                of.source,
                name.to_string_lossy()
            )),
        }
    }

    /// Prints what was written.
    pub(crate) fn report(&self) -> Result<(), Failure> {
        print(&self.text)
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

/// An object that is not as it was stored.
#[derive(Debug, Serialize)]
pub(crate) struct Wrong {
    id: i64,
    path: Option<String>,
    condition: &'static str,
}

impl Wrong {
    pub(crate) const fn new(id: i64, path: Option<String>, condition: &'static str) -> Self {
        Self {
            id,
            path,
            condition,
        }
    }
}

fn verify(store: &Path, json: bool) -> Result<(), Failure> {
    let all = Store::existing(store)?.with_objects()?;
    let mut wrong = Vec::new();
    for stored in &all {
        match stored.condition()? {
            Condition::Whole => {}
            bad => {
                let path = stored.object.as_deref().map(display);
                wrong.push(Wrong::new(stored.id.0, path, word(bad)));
            }
        }
    }
    tell_verified(all.len(), wrong, json)
}

/// Prints which of so many `objects` are wrong; a failure where one is.
pub(crate) fn tell_verified(objects: usize, wrong: Vec<Wrong>, json: bool) -> Result<(), Failure> {
    let count = wrong.len();
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
            let path = w.path.as_ref().map(|path| format!("{path}: "));
            let path = path.unwrap_or_default();
            text.push_str(&format!("{}: {path}{}\n", w.id, w.condition));
        }
        let all = plural(objects, "object", "objects");
        text.push_str(&format!("{} of {all} whole\n", objects - count));
        print(&text)?;
    }
    match count {
        0 => Ok(()),
        _ => Err(Failure::Told(
            format!("{count} of {objects} objects are not as they were stored"),
            1,
        )),
    }
}
