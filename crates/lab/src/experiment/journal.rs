//! Rows of seeds and settings that are done, in files until the whole run is: a run that was killed goes on.
//!
//! A file belongs to a program, a run's keys with options applied, the files that these name, losses and a seed; their
//! digest is in its name. Files of anything else are not read. Invariant: kept rows are bit for bit those of a new run.
//! Tests: `journal_tests.rs`, `crates/cli/tests/all/resume.rs`.

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
use thalweg_testbeds::Losses;
use toml::Value;

/// Nothing is kept before a command has run so long.
const WORTH: Duration = Duration::from_secs(1);
/// A setting that takes less than this share of it is done again sooner than it is read.
const SETTINGS: u32 = 10;
/// Files that name files are followed so deep: an experiment names a testbed, that names links or a board.
const DEPTH: usize = 4;

/// A folder with what earlier commands did not finish.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    worth: Duration,
    begun: Instant,
    /// A file that changes when rows may.
    program: PathBuf,
    identity: OnceLock<Option<Program>>,
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
    /// The same, in which nothing is too little to be kept.
    #[cfg(test)]
    pub(super) fn of_everything(folder: &Path) -> Self {
        Self {
            worth: Duration::ZERO,
            ..Self::in_folder(folder, std::env::current_exe().unwrap())
        }
    }

    /// The journal of `program` in `folder`, which is made when there is something to keep. The program is a file that
    /// changes when rows may, such as the executable; where it cannot be read, nothing is kept.
    pub fn in_folder(folder: &Path, program: PathBuf) -> Self {
        Self {
            folder: folder.to_owned(),
            worth: WORTH,
            begun: Instant::now(),
            program,
            identity: OnceLock::new(),
            files: Mutex::default(),
        }
    }

    /// What is kept of `seeds` of a run of `kind` with `keys` at `sites`.
    pub(super) fn kept(
        &self,
        (kind, keys): (&str, &toml::Table),
        sites: &Sites,
        seeds: &[u64],
    ) -> Kept<'_> {
        let mut kept = Kept {
            journal: self,
            what: described(kind, keys, (sites.losses(), sites.known())),
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
        for folder in self.folder.ancestors().take(2) {
            let _ = fs::remove_dir(folder);
        }
    }

    /// The folder, where it has something of this command.
    pub fn folder(&self) -> Option<&Path> {
        let (files, _) = &*self.files();
        (!files.is_empty()).then_some(&self.folder)
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

    /// The program; none where it cannot be read.
    fn program(&self) -> Option<&Program> {
        let read = || Program::of(&self.program).ok();
        self.identity.get_or_init(read).as_ref()
    }
}

/// What makes rows: its version, and the digest of a file that changes when rows may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Program(String);

impl Program {
    /// That whose file is `file`: the executable, or a library that an interpreter has loaded.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn of(file: &Path) -> io::Result<Self> {
        let mut digest = Sha256::new();
        io::copy(&mut File::open(file)?, &mut Writer(&mut digest))?;
        let version = env!("CARGO_PKG_VERSION");
        Ok(Self(format!("{version} {}", hex(digest))))
    }
    /// Its version and digest, as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The digest of `parts`, none of which can be taken for the end of another: 64 hexadecimal digits.
pub fn digest_of<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    hex(digest)
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
        if begun.elapsed() >= self.journal.worth / SETTINGS {
            self.write(seed, Some(place), &rows);
        }
        Ok(rows)
    }

    /// The stem of the files of `seed`; none where the program is not known.
    fn name(&self, seed: u64) -> Option<String> {
        let digest = self.digest(seed)?;
        Some(format!("{}-{seed}", digest.get(..16)?))
    }

    pub(super) fn digest(&self, seed: u64) -> Option<String> {
        let program = self.journal.program()?.as_str();
        Some(digest_of([program, &self.what, &seed.to_string()]))
    }

    pub(super) fn path(&self, seed: u64, place: Option<usize>) -> Option<PathBuf> {
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

/// A run's keys, the losses, and digests of the files that keys name and of testbeds that are values.
pub(super) fn described(
    kind: &str,
    keys: &toml::Table,
    (losses, known): (&Losses, &BTreeMap<String, String>),
) -> String {
    format!(
        "{kind}\n{keys}\n{losses:?}\n{:?}\n{known:?}",
        files_of(keys)
    )
}

/// SHA-256, in hexadecimal, of all that rows of a run depend on beside program and seed.
pub(super) fn digest((kind, keys): (&str, &toml::Table), sites: &Sites) -> String {
    let of = (sites.losses(), sites.known());
    hex(Sha256::new_with_prefix(described(kind, keys, of)))
}

/// The files that `keys` name, and those that these name in turn, with their digests.
pub(super) fn files_of(keys: &toml::Table) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let keys = Value::Table(keys.clone());
    named(&keys, Path::new(""), DEPTH, &mut files);
    files
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

pub(super) fn hex(digest: Sha256) -> String {
    let bytes = digest.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
