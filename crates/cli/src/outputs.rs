//! Checks output files: none that the command reads or that the store keeps, and none of another program without
//! `--force`.
//!
//! Files and permissions are checked before time is spent. Later changes by other programs are not noticed.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use thalweg_host::store::{DATABASE, OBJECTS};

use crate::failure::Failure;
use crate::output::{cannot_write, WholeFile};

/// What an output file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Svg,
    Pcapng,
    Html,
    Markdown,
    Json,
    /// As `testbed import` writes it.
    Csv,
    /// For a chip's flash.
    Image,
}

impl Kind {
    /// With an article.
    const fn name(self) -> &'static str {
        match self {
            Self::Svg => "an SVG picture",
            Self::Pcapng => "a pcapng capture",
            Self::Html | Self::Markdown => "a page",
            Self::Json => "a JSON file",
            Self::Csv => "a CSV of links",
            Self::Image => "an image",
        }
    }
    /// What a file of this kind has at its head.
    const fn mark(self) -> &'static [u8] {
        match self {
            Self::Svg => b"<svg",
            Self::Pcapng => &[0x0a, 0x0d, 0x0d, 0x0a],
            Self::Html => b"<html",
            Self::Markdown => b"# ",
            Self::Json => b"{",
            Self::Csv => b"# Links of",
            // Neither ELF nor HEX says whose it is: what is there stays, but for --force.
            Self::Image => b"\x7fELF",
        }
    }
}

/// Its own files say at their head who wrote them.
const OWN: &[u8] = b"thalweg";
/// The head of a file.
const HEAD: u64 = 4096;

/// Whose files may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replace {
    /// This program's.
    Own,
    /// Any but the command's input.
    Any,
}

/// The outputs of a command.
#[derive(Debug)]
pub(crate) struct Outputs {
    replace: Replace,
    /// Files that are read, by their real names.
    inputs: Vec<PathBuf>,
    /// The folder of the store, by its real name.
    store: Option<PathBuf>,
}

impl Outputs {
    /// Those of a command that reads `inputs`, whichever of them are files.
    pub(crate) fn beside<'a>(force: bool, inputs: impl IntoIterator<Item = &'a Path>) -> Self {
        let inputs = inputs.into_iter();
        Self {
            replace: if force { Replace::Any } else { Replace::Own },
            inputs: inputs.filter_map(|path| path.canonicalize().ok()).collect(),
            store: None,
        }
    }
    /// The same beside the store in `folder`.
    pub(crate) fn with_store(self, folder: &Path) -> Self {
        let store = real(folder);
        Self { store, ..self }
    }

    /// Whether `path`, as `option` names it, may be written and can be.
    pub(crate) fn check(&self, option: &str, path: &Path, kind: Kind) -> Result<(), Failure> {
        let refuse = |why: &str| {
            let line = format!("{option} {}: {why}", path.display());
            Err(Failure::Input(line))
        };
        if let Some(place) = real(path) {
            if self.inputs.contains(&place) {
                return refuse("is what this command reads; name another file");
            }
            if self.store.as_deref().is_some_and(|s| keeps(s, &place)) {
                return refuse("is kept by the store; name another file");
            }
        }
        let is_file = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > 0);
        if is_file && self.replace == Replace::Own && !is_own(path, kind) {
            let name = kind.name();
            return refuse(&match kind {
                Kind::Image => "exists; name another file, or say --force".to_owned(),
                _ => format!(
                    "exists, and is not {name} of this program; name another file, or say --force"
                ),
            });
        }
        // The file that is made for it now is gone again at once.
        WholeFile::create(path).map(drop)
    }

    /// Makes `folder`, as `option` names it, for results: new, empty, or with earlier results in it.
    pub(crate) fn folder(&self, option: &str, folder: &Path) -> Result<(), Failure> {
        fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
        let entries = fs::read_dir(folder).map_err(|error| cannot_write(folder, &error))?;
        let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        let is_own = RESULTS.iter().any(|own| names.iter().any(|n| n == own));
        if !names.is_empty() && !is_own && self.replace == Replace::Own {
            let why =
                "is not empty, and holds no earlier results; name another folder, or say --force";
            let line = format!("{option} {}: {why}", folder.display());
            return Err(Failure::Input(line));
        }
        // Whether anything can be written there.
        probe(folder)
    }
}

/// Whether something can be written in `folder`, which need not exist. Nothing of it is left.
pub(crate) fn probe(folder: &Path) -> Result<(), Failure> {
    let exists = folder.ancestors().find(|path| path.is_dir());
    let here = exists.unwrap_or_else(|| Path::new("."));
    let probe = WholeFile::create(&here.join("thalweg.probe"))?;
    let written = probe.writer()?.write_all(&[0; PROBE]);
    written.map_err(|error| cannot_write(folder, &error))
}

/// What a full disk does not take.
const PROBE: usize = 64 << 10;

/// One of these is in every folder of results.
const RESULTS: [&str; 3] = ["results.json", "index.html", "runs"];

/// The real name of `path`, which need not exist in a folder that does.
fn real(path: &Path) -> Option<PathBuf> {
    if let Ok(place) = path.canonicalize() {
        return Some(place);
    }
    let parent = match path.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    Some(parent.canonicalize().ok()?.join(path.file_name()?))
}

/// Whether the store in `folder` keeps `place`.
fn keeps(folder: &Path, place: &Path) -> bool {
    let Ok(inside) = place.strip_prefix(folder) else {
        return false;
    };
    let first = inside.components().next();
    let first = first.map(|first| first.as_os_str().to_string_lossy().into_owned());
    first.is_some_and(|first| first == OBJECTS || first.starts_with(DATABASE))
}

fn is_own(path: &Path, kind: Kind) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let has = |mark: &[u8]| head.windows(mark.len()).any(|part| part == mark);
    read.is_ok() && has(kind.mark()) && has(OWN)
}

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
