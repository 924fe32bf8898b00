//! What a disk holds after part of a recording, if power fails then.
//!
//! Invariant: what was synced is there whatever survives of the rest.

use super::trace::Call;
use rand::Rng;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thalweg_medium::random::Stream;

/// Bytes that a disk writes whole or not at all.
const SECTOR: usize = 512;

/// What survives of what was not synced.
#[derive(Debug)]
pub enum Survives<'a> {
    /// Nothing.
    Nothing,
    /// All of it.
    Everything,
    /// Any of it, as drawn.
    Some(&'a mut Stream),
}

/// A disk, and what waits to be written to it.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    files: Vec<File>,
    /// Names as the process sees them.
    names: BTreeMap<PathBuf, usize>,
    folders: BTreeMap<PathBuf, Folder>,
}

#[derive(Debug, Clone, Default)]
struct File {
    synced: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Truncate(u64),
}

#[derive(Debug, Clone, Default)]
struct Folder {
    synced: BTreeMap<PathBuf, usize>,
    pending: Vec<Renamed>,
}

/// A change of a folder's names, which survives whole or not at all.
#[derive(Debug, Clone)]
struct Renamed {
    gone: Option<PathBuf>,
    named: Option<(PathBuf, usize)>,
}

impl Folder {
    fn apply(names: &mut BTreeMap<PathBuf, usize>, change: &Renamed) {
        if let Some(gone) = &change.gone {
            names.remove(gone);
        }
        if let Some((name, file)) = &change.named {
            names.insert(name.clone(), *file);
        }
    }
}

impl File {
    fn apply(bytes: &mut Vec<u8>, change: &Change, mut survives: impl FnMut() -> bool) {
        match change {
            Change::Truncate(len) => {
                if survives() {
                    bytes.resize(*len as usize, 0);
                }
            }
            Change::Write(offset, written) => {
                let mut at = *offset as usize;
                let mut left = &written[..];
                while !left.is_empty() {
                    let len = (SECTOR - at % SECTOR).min(left.len());
                    let (sector, rest) = left.split_at(len);
                    if survives() {
                        if bytes.len() < at + len {
                            bytes.resize(at + len, 0);
                        }
                        bytes[at..at + len].copy_from_slice(sector);
                    }
                    (at, left) = (at + len, rest);
                }
            }
        }
    }
}

impl Disk {
    /// The process makes `call`.
    pub fn apply(&mut self, call: &Call) {
        match call {
            Call::Promise(_) => {}
            Call::MakeFolder(folder) => drop(self.folders.entry(folder.clone()).or_default()),
            Call::Create(path) => {
                if !self.names.contains_key(path) {
                    self.files.push(File::default());
                    self.name(path, self.files.len() - 1, None);
                }
            }
            Call::Write {
                file,
                offset,
                bytes,
            } => self.change(file, Change::Write(*offset, bytes.clone())),
            Call::Truncate { file, len } => self.change(file, Change::Truncate(*len)),
            Call::Sync(path) => self.sync(path),
            Call::Link { from, to } => {
                if let Some(file) = self.names.get(from).copied() {
                    self.name(to, file, None);
                }
            }
            Call::Rename { from, to } => {
                if let Some(file) = self.names.remove(from) {
                    self.name(to, file, Some(from.clone()));
                }
            }
            Call::Unlink(path) => {
                if self.names.remove(path).is_some() {
                    let gone = Some(path.clone());
                    let change = Renamed { gone, named: None };
                    self.folder(path).pending.push(change);
                }
            }
        }
    }
    fn folder(&mut self, of: &Path) -> &mut Folder {
        let folder = of.parent().unwrap_or(of).to_owned();
        self.folders.entry(folder).or_default()
    }
    fn name(&mut self, path: &Path, file: usize, gone: Option<PathBuf>) {
        self.names.insert(path.to_owned(), file);
        let named = Some((path.to_owned(), file));
        self.folder(path).pending.push(Renamed { gone, named });
    }
    fn change(&mut self, path: &Path, change: Change) {
        if let Some(file) = self.names.get(path) {
            self.files[*file].pending.push(change);
        }
    }
    fn sync(&mut self, path: &Path) {
        if let Some(folder) = self.folders.get_mut(path) {
            for change in std::mem::take(&mut folder.pending) {
                Folder::apply(&mut folder.synced, &change);
            }
        }
        if let Some(file) = self.names.get(path) {
            let file = &mut self.files[*file];
            for change in std::mem::take(&mut file.pending) {
                File::apply(&mut file.synced, &change, || true);
            }
        }
    }

    /// The folders, and the files with their bytes, that are there if power fails now.
    pub fn after_failure(
        &self,
        mut survives: Survives<'_>,
    ) -> (Vec<PathBuf>, Vec<(PathBuf, Vec<u8>)>) {
        let mut files = Vec::new();
        for folder in self.folders.values() {
            let mut names = folder.synced.clone();
            let most = folder.pending.len();
            let first = match &mut survives {
                Survives::Nothing => 0,
                Survives::Everything => most,
                Survives::Some(rng) => rng.random_range(0..=most),
            };
            for change in &folder.pending[..first] {
                Folder::apply(&mut names, change);
            }
            for (name, file) in names {
                let file = &self.files[file];
                let mut bytes = file.synced.clone();
                for change in &file.pending {
                    File::apply(&mut bytes, change, || match &mut survives {
                        Survives::Nothing => false,
                        Survives::Everything => true,
                        Survives::Some(rng) => rng.random(),
                    });
                }
                files.push((name, bytes));
            }
        }
        (self.folders.keys().cloned().collect(), files)
    }
}
