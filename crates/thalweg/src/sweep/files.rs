//! Files of a sweep's folder: listed, and written whole or not at all.

use super::format::{Format, Points};
use crate::Error;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_host::store::plain;

/// What is written ends in this until it is whole.
pub(super) const PARTIAL: &str = "part";

/// Names of the parts of `format` at `path`. An empty file does not count: parts are written whole.
pub(super) fn parts_at(path: &Path, format: Format) -> Result<HashMap<String, Points>, Error> {
    let part = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (stem, end) = name.split_once('.')?;
        let ends = |points: &Points| format.ending(*points) == end;
        let points = Points::BOTH.into_iter().find(ends)?;
        let is_empty = entry.metadata().is_ok_and(|file| file.len() == 0);
        (!is_empty).then(|| (stem.to_owned(), points))
    };
    let entries = fs::read_dir(path).map_err(|why| cannot(path, "read", &why))?;
    Ok(entries.flatten().filter_map(part).collect())
}

/// Whether there is a file at `path`, and something in it.
pub(super) fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.len() > 0)
}

/// Names of files at `path`.
pub(super) fn listed(path: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(path).map_err(|why| cannot(path, "read", &why))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// Writes `bytes` to `name` in `folder`: whole, or not at all, and there after a power cut.
pub(super) fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    // Processes of other machines may have the same number.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let (process, now) = (process::id(), now.unwrap_or_default().as_nanos());
    let partial = folder.join(format!("{name}.{process}-{now:x}.{PARTIAL}"));
    let written = File::create(&partial)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&partial, &path));
    written.map_err(|why| {
        let _ = fs::remove_file(&partial);
        cannot(&path, "write", &why)
    })
}

/// The failure to `what` at `path`.
pub(super) fn cannot(path: &Path, what: &str, why: &io::Error) -> Error {
    let (path, why) = (path.display(), plain(why));
    Error::Job(format!("{path}: cannot {what}: {why}"))
}
