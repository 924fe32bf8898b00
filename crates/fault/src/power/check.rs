//! Whether a store opens after a power failure, has everything it reported as stored, and goes on.
//!
//! Invariant of a run: the same recording and seed, the same points. Tests: `power_tests.rs`.

use super::disk::{Disk, Survives};
use super::promise::{record, Promise, NETWORK};
use super::trace::{Call, Recording};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use thalweg_host::store::{
    Condition, JobId, JobState, NewJob, NewTransfer, Store, TransferId, Work, DATABASE,
};
use thalweg_medium::random::stream;
use thalweg_units::NodeId;

/// What must be there.
#[derive(Debug, Default)]
struct Facts {
    /// Bytes of parts; none for a job that is done, or may be.
    jobs: BTreeMap<i64, Option<u32>>,
    done: BTreeSet<i64>,
    kept: BTreeMap<i64, String>,
    deleted: BTreeSet<i64>,
    messages: BTreeSet<i64>,
}

impl Facts {
    fn note(&mut self, promise: Promise) {
        match promise {
            Promise::Job(id) => drop(self.jobs.insert(id, Some(0))),
            Promise::Part(id, bytes) => drop(self.jobs.insert(id, Some(bytes))),
            Promise::Kept(id, digest) => drop(self.kept.insert(id, digest)),
            Promise::Done(id) => drop(self.done.insert(id)),
            Promise::Deleting(id) => drop(self.kept.remove(&id)),
            Promise::Deleted(id) => drop(self.deleted.insert(id)),
            Promise::Message(id) => drop(self.messages.insert(id)),
            Promise::Acknowledging(id) => drop(self.messages.remove(&id)),
            Promise::Ending(id) => drop(self.jobs.insert(id, None)),
        }
    }
}

/// Something that was reported as stored and is not there, or a store that does not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("power failed after call {call} of {of}, variant {variant}: {why}")]
pub struct Lost {
    /// After how many calls.
    pub call: usize,
    /// Of how many.
    pub of: usize,
    /// Which choice of what survives: 0 nothing, 1 everything, others as drawn.
    pub variant: u64,
    /// What is wrong.
    pub why: String,
}

/// What points came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points {
    /// Points that were tried.
    pub tried: u64,
    /// Calls of the recording.
    pub calls: usize,
    /// What was lost.
    pub lost: Vec<Lost>,
}

/// Lets power fail after the calls of `recording`, at about `points` points, and opens the store that was in `recorded` in the
/// folder `scratch`, which is emptied each time. `observer` sees how many were tried, and may stop.
///
/// # Errors
/// Where `scratch` cannot be written.
pub fn try_points(
    (recording, recorded): (&Recording, &Path),
    (points, seed): (u64, u64),
    scratch: &Path,
    observer: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> io::Result<Points> {
    let of = recording.calls.len();
    let Spread { every, variants } = Spread::of(recording, points);
    let (mut disk, mut facts) = (Disk::default(), Facts::default());
    // The folder was there before, and is empty.
    disk.apply(&Call::MakeFolder(recorded.to_owned()));
    let mut came = Points {
        calls: of,
        ..Points::default()
    };
    for call in 0..=of {
        let variants = if call % every == 0 { variants } else { 0 };
        for variant in 0..variants {
            let mut rng = stream(seed, "power failure", &[call as u64, variant]);
            let survives = match variant {
                0 => Survives::Nothing,
                1 => Survives::Everything,
                _ => Survives::Some(&mut rng),
            };
            lay_out(&disk, survives, (recorded, scratch))?;
            came.tried += 1;
            if let Err(why) = goes_on(scratch, &facts) {
                came.lost.push(Lost {
                    call,
                    of,
                    variant,
                    why,
                });
            }
            if observer(came.tried).is_break() {
                return Ok(came);
            }
        }
        let Some(call) = recording.calls.get(call) else {
            break;
        };
        disk.apply(call);
        if let Call::Promise(line) = call {
            let promise = Promise::parse(line);
            promise.into_iter().for_each(|promise| facts.note(promise));
        }
    }
    Ok(came)
}

/// How points are spread over a recording.
struct Spread {
    /// Power fails after every so many calls.
    every: usize,
    /// So many times there: at least once with nothing and once with all left.
    variants: u64,
}

impl Spread {
    /// `points` over `recording`: after each call, or where those are too few for that, after some.
    fn of(recording: &Recording, points: u64) -> Self {
        let calls = recording.calls.len().max(1) as u64;
        let (points, least) = (points.max(1), 2 * calls);
        Self {
            every: usize::try_from(least / points).unwrap_or(usize::MAX).max(1),
            variants: points.div_ceil(calls).max(2),
        }
    }
}

/// How many points [`try_points`] tries where about `points` are wanted.
pub fn points_of(recording: &Recording, points: u64) -> u64 {
    let Spread { every, variants } = Spread::of(recording, points);
    variants * (recording.calls.len() / every + 1) as u64
}

/// Writes into `scratch` what is left in `recorded`.
fn lay_out(
    disk: &Disk,
    survives: Survives<'_>,
    (recorded, scratch): (&Path, &Path),
) -> io::Result<()> {
    match fs::remove_dir_all(scratch) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        _ => fs::create_dir_all(scratch)?,
    }
    let place =
        |path: &Path| -> Option<PathBuf> { Some(scratch.join(path.strip_prefix(recorded).ok()?)) };
    let (folders, files) = disk.after_failure(survives);
    for folder in folders.iter().filter_map(|folder| place(folder)) {
        fs::create_dir_all(folder)?;
    }
    for (file, bytes) in files {
        if let Some(file) = place(&file) {
            fs::write(file, bytes)?;
        }
    }
    Ok(())
}

/// The store in `folder` opens, has what it must, and goes on.
fn goes_on(folder: &Path, facts: &Facts) -> Result<(), String> {
    let mut store = Store::open(folder).map_err(|why| format!("it does not open: {why}"))?;
    is_intact(folder)?;
    has_facts(&store, facts)?;
    is_whole(&store)?;
    takes_more(&mut store)
}

/// SQLite's own check.
fn is_intact(folder: &Path) -> Result<(), String> {
    let check = || {
        let db = Connection::open(folder.join(DATABASE))?;
        db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
    };
    match check() {
        Ok(said) if said == "ok" => Ok(()),
        Ok(said) => Err(format!("the database is not whole: {said}")),
        Err(why) => Err(format!("the database cannot be checked: {why}")),
    }
}

fn has_facts(store: &Store, facts: &Facts) -> Result<(), String> {
    let failed = |why| format!("it cannot be read: {why}");
    for (id, parts) in &facts.jobs {
        let job = store.job(JobId(*id)).map_err(failed)?;
        let job = job.ok_or_else(|| format!("job {id} was accepted, and is not there"))?;
        let is_done = facts.done.contains(id);
        if is_done && job.state != JobState::Done {
            return Err(format!("job {id} was done, and is {}", job.state.name()));
        }
        let Some(parts) = parts.filter(|_| job.state == JobState::Running) else {
            continue;
        };
        let stored = store.parts(JobId(*id)).map_err(failed)?;
        let bytes = stored
            .iter()
            .map(|(_, part)| part.bytes.len())
            .sum::<usize>();
        if bytes < parts as usize {
            return Err(format!(
                "{parts} bytes of job {id} were safe, and {bytes} are there"
            ));
        }
    }
    for (id, digest) in &facts.kept {
        let found = store.transfer(TransferId(*id)).map_err(failed)?;
        let found = found.ok_or_else(|| format!("object {id} was stored, and is not there"))?;
        if found.digest.as_ref() != Some(digest) {
            return Err(format!(
                "object {id} has another digest than when it was stored"
            ));
        }
    }
    for id in &facts.deleted {
        let found = store.transfer(TransferId(*id)).map_err(failed)?;
        if found.is_some_and(|found| found.object.is_some()) {
            return Err(format!("object {id} was deleted, and is there"));
        }
    }
    let waiting = store.waiting(u32::MAX).map_err(failed)?;
    let is_there = |id: &i64| waiting.iter().any(|message| message.id == *id);
    match facts.messages.iter().find(|id| !is_there(id)) {
        Some(id) => Err(format!("message {id} was queued, and is not there")),
        None => Ok(()),
    }
}

/// Every object that a record names is what it was.
fn is_whole(store: &Store) -> Result<(), String> {
    let failed = |why| format!("it cannot be read: {why}");
    for stored in store.with_objects().map_err(failed)? {
        let condition = stored.condition().map_err(failed)?;
        if condition != Condition::Whole {
            return Err(format!("object {} is {condition:?}", stored.id.0).to_lowercase());
        }
    }
    Ok(())
}

/// It takes a job and an object, as before.
fn takes_more(store: &mut Store) -> Result<(), String> {
    let failed = |why| format!("it does not go on: {why}");
    let from = NodeId::new(7).unwrap_or(NodeId::MAX);
    let job = NewJob {
        network: NETWORK,
        work: Work::Fetch { from },
        priority: 0,
    };
    let ids = store.submit(&[job], u32::MAX).map_err(failed)?;
    let object = b"after the power failure";
    let record = record(from, object.len() as u64);
    let new = NewTransfer {
        record: &record,
        baseline: None,
        report: "{}",
        campaign: None,
        job: ids.first().copied(),
        file: None,
    };
    let kept = store.keep(&new, object).map_err(failed)?;
    let found = store.transfer(kept.transfer).map_err(failed)?;
    let bytes = found.and_then(|found| found.bytes().ok().flatten());
    match bytes.as_deref() == Some(&object[..]) {
        true => Ok(()),
        false => Err("it does not go on: what it stored then is not there".to_owned()),
    }
}
