//! Rows of seeds and settings that are done, in files until the whole run is: a run that was killed goes on.
//!
//! A file belongs to a program, a run's keys as options have overwritten them, the files that these name, losses and a
//! seed; their digest is in its name. A file that belongs to something else is never looked at.
//! Invariant: rows that were kept are those that would be found again, bit by bit. Tests: below, `cli/tests/resume.rs`.

use super::run::Run;
use super::sites::Sites;
use crate::results::Row;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use toml::Value;

/// What takes less is done again sooner than it is read.
const WORTH: Duration = Duration::from_secs(1);
/// Files that name files are followed so deep: an experiment names a testbed, that names links or a board.
const DEPTH: usize = 4;

/// A folder with what earlier commands did not finish.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    worth: Duration,
    begun: Instant,
    program: OnceLock<Option<String>>,
    /// What this command has written or used, and the first failure to write.
    files: Mutex<(BTreeSet<PathBuf>, Option<io::Error>)>,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Entry {
    digest: String,
    seed: u64,
    rows: Vec<Row>,
}

impl Journal {
    /// The journal in `folder`, which is made when there is something to keep.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            worth: WORTH,
            begun: Instant::now(),
            program: OnceLock::new(),
            files: Mutex::default(),
        }
    }

    /// What is kept of `run` with `seeds` at `sites`.
    pub fn resume(&self, run: &Run, sites: &Sites, seeds: &[u64]) -> Kept<'_> {
        let (kind, keys) = run.keys();
        let mut kept = Kept {
            journal: self,
            what: described(kind, keys, sites),
            rows: BTreeMap::new(),
        };
        // Without files there is nothing that a digest would find.
        if fs::read_dir(&self.folder).is_ok_and(|mut files| files.next().is_some()) {
            let found = |seed: &u64| Some((*seed, kept.read(*seed, None)?));
            kept.rows = seeds.iter().filter_map(found).collect();
        }
        kept
    }

    /// Takes away what this command has kept or taken, since it is done.
    pub fn remove(&self) {
        let (files, _) = &*self.files();
        for file in files {
            let _ = fs::remove_file(file);
        }
        // Only where nothing else is left in them.
        let _ = fs::remove_dir(&self.folder);
    }

    /// Why something could not be kept.
    pub fn failure(&self) -> Option<String> {
        let (_, failure) = &*self.files();
        let why = failure.as_ref()?;
        Some(format!("{}: {why}", self.folder.display()))
    }

    fn files(&self) -> std::sync::MutexGuard<'_, (BTreeSet<PathBuf>, Option<io::Error>)> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Version and digest of the running program; none where it cannot be read.
    fn program(&self) -> Option<&str> {
        let read = || {
            let mut digest = Sha256::new();
            let mut file = File::open(std::env::current_exe().ok()?).ok()?;
            io::copy(&mut file, &mut Writer(&mut digest)).ok()?;
            Some(format!("{} {}", env!("CARGO_PKG_VERSION"), hex(digest)))
        };
        self.program.get_or_init(read).as_deref()
    }
}

/// Hashes what is written to it.
struct Writer<'a>(&'a mut Sha256);

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is kept of a run.
#[derive(Debug)]
pub struct Kept<'a> {
    journal: &'a Journal,
    /// The run, described.
    what: String,
    rows: BTreeMap<u64, Vec<Row>>,
}

impl Kept<'_> {
    /// How many seeds are kept whole.
    pub fn seeds(&self) -> usize {
        self.rows.len()
    }

    /// The rows of `seed`, where they are kept.
    pub(super) fn of(&self, seed: u64) -> Option<&Vec<Row>> {
        self.rows.get(&seed)
    }

    /// Keeps the rows of `seed`, in place of those of its settings.
    pub(super) fn keep(&self, seed: u64, rows: &[Row]) {
        if self.journal.begun.elapsed() < self.journal.worth {
            return;
        }
        self.write(seed, None, rows);
        let prefix = self.name(seed).map(|name| format!("{name}-"));
        let mut files = self.journal.files();
        files.0.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let of_it = prefix
                .as_ref()
                .is_some_and(|p| name.starts_with(p.as_str()));
            !of_it || fs::remove_file(file).is_err()
        });
    }

    /// The rows of setting number `place` of `seed`: those that are kept, or what `each` gives, which is kept.
    ///
    /// # Errors
    /// Those of `each`.
    pub(super) fn setting<E>(
        &self,
        (seed, place): (u64, usize),
        each: impl FnOnce() -> Result<Vec<Row>, E>,
    ) -> Result<Vec<Row>, E> {
        if self.journal.folder.is_dir() {
            if let Some(rows) = self.read(seed, Some(place)) {
                return Ok(rows);
            }
        }
        let begun = Instant::now();
        let rows = each()?;
        if begun.elapsed() >= self.journal.worth {
            self.write(seed, Some(place), &rows);
        }
        Ok(rows)
    }

    /// The stem of the files of `seed`; none where the program is not known.
    fn name(&self, seed: u64) -> Option<String> {
        let digest = self.digest(seed)?;
        Some(format!("{}-{seed}", digest.get(..16)?))
    }

    fn digest(&self, seed: u64) -> Option<String> {
        let mut digest = Sha256::new();
        for part in [self.journal.program()?, &self.what, &seed.to_string()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Some(hex(digest))
    }

    fn path(&self, seed: u64, place: Option<usize>) -> Option<PathBuf> {
        let place = place.map(|place| format!("-{place}")).unwrap_or_default();
        let name = format!("{}{place}.json", self.name(seed)?);
        Some(self.journal.folder.join(name))
    }

    fn read(&self, seed: u64, place: Option<usize>) -> Option<Vec<Row>> {
        let path = self.path(seed, place)?;
        let text = fs::read_to_string(&path).ok()?;
        // A file that a power cut left empty is one that was not written.
        let entry: Entry = serde_json::from_str(&text).ok()?;
        let is_it = entry.seed == seed && Some(entry.digest) == self.digest(seed);
        is_it.then(|| {
            self.journal.files().0.insert(path);
            entry.rows
        })
    }

    fn write(&self, seed: u64, place: Option<usize>, rows: &[Row]) {
        let (Some(path), Some(digest)) = (self.path(seed, place), self.digest(seed)) else {
            return;
        };
        let rows = rows.to_vec();
        let text = serde_json::to_string(&Entry { digest, seed, rows }).unwrap_or_default();
        let partial = path.with_extension(format!("{}.part", std::process::id()));
        let written = fs::create_dir_all(&self.journal.folder)
            .and_then(|()| fs::write(&partial, text))
            .and_then(|()| fs::rename(&partial, &path));
        let mut files = self.journal.files();
        match written {
            Ok(()) => {
                files.0.insert(path);
            }
            Err(why) => {
                let _ = fs::remove_file(&partial);
                files.1.get_or_insert(why);
            }
        }
    }
}

/// A run's keys, the losses, and digests of the files that keys name.
fn described(kind: &str, keys: &toml::Table, sites: &Sites) -> String {
    let mut files = BTreeMap::new();
    named(
        &Value::Table(keys.clone()),
        Path::new(""),
        DEPTH,
        &mut files,
    );
    format!("{kind}\n{keys}\n{:?}\n{files:?}", sites.losses())
}

/// Adds to `files` those that texts in `value` name, and those that these name in turn, with their digests.
fn named(value: &Value, folder: &Path, depth: usize, files: &mut BTreeMap<PathBuf, String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| named(v, folder, depth, files)),
        Value::Table(table) => table.values().for_each(|v| named(v, folder, depth, files)),
        Value::String(name) if depth > 0 => {
            // A file names others beside itself, or from where the command runs.
            for path in [folder.join(name), PathBuf::from(name)] {
                let Some(bytes) = (path.is_file()).then(|| fs::read(&path).ok()).flatten() else {
                    continue;
                };
                let digest = hex(Sha256::new_with_prefix(&bytes));
                if files.insert(path.clone(), digest).is_some() {
                    continue;
                }
                let text = String::from_utf8(bytes).unwrap_or_default();
                if let Ok(table) = text.parse::<toml::Table>() {
                    let folder = path.parent().unwrap_or(Path::new(""));
                    named(&Value::Table(table), folder, depth - 1, files);
                }
            }
        }
        _ => {}
    }
}

fn hex(digest: Sha256) -> String {
    let bytes = digest.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{run, Experiment};
    use super::*;
    use std::cell::Cell;
    use std::ops::ControlFlow;

    fn journal(folder: &Path) -> Journal {
        Journal {
            worth: Duration::ZERO,
            ..Journal::in_folder(folder)
        }
    }

    fn experiment(testbed: &str) -> Experiment {
        let text = format!(
            "id='x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='{testbed}'\nroutes=1\npackets=5\n\
             protocols=['p3','pip']\nroute={{ min_hops=1, min_paths=1, floors='any' }}"
        );
        Experiment::parse(Path::new("x.toml"), &text).unwrap()
    }

    #[test]
    fn rows_that_were_kept_are_those_that_would_be_found() {
        let folder = tempfile::tempdir().unwrap();
        let (sites, e) = (Sites::default(), experiment("line5"));
        let observer = |_, _| ControlFlow::Continue(());
        let all = run(&e.run, &[1, 2, 3], &sites, None, &observer).unwrap();
        let first = journal(folder.path());
        let kept = first.resume(&e.run, &sites, &[1, 2]);
        assert_eq!(kept.seeds(), 0);
        run(&e.run, &[1, 2], &sites, Some(&kept), &observer).unwrap();
        // One file a seed: those of its settings are gone.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let second = journal(folder.path());
        let kept = second.resume(&e.run, &sites, &[1, 2, 3]);
        assert_eq!(kept.seeds(), 2);
        let again = run(&e.run, &[1, 2, 3], &sites, Some(&kept), &observer).unwrap();
        assert_eq!(again, all);
        second.remove();
        assert!(!folder.path().exists());
    }

    #[test]
    fn a_setting_is_kept_before_its_seed_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let (sites, e) = (Sites::default(), experiment("line5"));
        let row = Row::new().with("x", 0.1 + 0.2).with("y", 1e-300);
        let runs = Cell::new(0);
        for _ in 0..2 {
            let journal = journal(folder.path());
            let kept = journal.resume(&e.run, &sites, &[7]);
            let each = || {
                runs.set(runs.get() + 1);
                Ok::<_, ()>(vec![row.clone()])
            };
            assert_eq!(kept.setting((7, 3), each), Ok(vec![row.clone()]));
        }
        assert_eq!(runs.get(), 1);
    }

    #[test]
    fn what_is_of_another_run_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let mine = folder.path().join("mine.csv");
        fs::write(&mine, "src,dst,channel,prr\n1,2,26,1\n2,1,26,1\n").unwrap();
        let (sites, e) = (Sites::default(), experiment(&mine.to_string_lossy()));
        let kept = |e: &Experiment, sites: &Sites| {
            let journal = journal(&folder.path().join("runs"));
            let kept = journal.resume(&e.run, sites, &[1, 2]);
            (kept.seeds(), kept.digest(1))
        };
        let of_it = journal(&folder.path().join("runs"));
        of_it.resume(&e.run, &sites, &[]).keep(1, &[Row::new()]);
        assert_eq!(kept(&e, &sites).0, 1);
        let losses = thalweg_testbeds::Losses {
            links: vec!["2-1:0.5".parse().unwrap()],
            psdu_bytes: 127,
        };
        assert_eq!(kept(&e, &Sites::with_losses(losses)).0, 0);
        assert_eq!(kept(&experiment("pair"), &sites).0, 0);
        fs::write(&mine, "src,dst,channel,prr\n1,2,26,1\n2,1,26,0.9\n").unwrap();
        assert_eq!(kept(&e, &sites).0, 0);
        // A file that is no journal is as good as none.
        fs::write(&mine, "src,dst,channel,prr\n1,2,26,1\n2,1,26,1\n").unwrap();
        let path = of_it.resume(&e.run, &sites, &[]).path(1, None).unwrap();
        fs::write(path, "").unwrap();
        assert_eq!(kept(&e, &sites).0, 0);
    }
}
