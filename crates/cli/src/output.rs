//! What goes to standard output and into the files that an option names.
//!
//! A file appears under its name only when it is whole. A device or pipe that exists already
//! (`/dev/full`, a FIFO to Wireshark) is written as it comes.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
pub(crate) use thalweg_host::store::plain;
pub(crate) use thalweg_host::text::{are_silent, plural};

use crate::failure::Failure;

/// What an object is that arrived.
pub(crate) const fn whole(sealed: bool) -> &'static str {
    match sealed {
        true => "whole, sealed",
        false => "whole",
    }
}

/// Writes `text` to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::Job(format!("standard output: cannot write: {}", plain(&error))),
        })
}

/// Writes `value` to standard output as JSON on one line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(Failure::job)?;
    print(&format!("{text}\n"))
}

/// A file that appears under its name when it is complete, or never.
#[derive(Debug)]
pub(crate) struct WholeFile {
    path: PathBuf,
    /// Where the bytes go until then; none for a device or a pipe.
    partial: Option<PathBuf>,
    file: Option<File>,
}

impl WholeFile {
    /// A file that will be named `path`. What stands there now stays until [`Self::finish`].
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let special = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
        if special && path.is_dir() {
            return Err(Failure::Input(format!("{}: is a folder", path.display())));
        }
        let Some(name) = path.file_name() else {
            let line = format!("{}: is no file name", path.display());
            return Err(Failure::Input(line));
        };
        let partial = (!special).then(|| {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.part", std::process::id()));
            path.with_file_name(hidden)
        });
        let opened = match &partial {
            Some(partial) => File::create(partial),
            None => File::options().write(true).open(path),
        };
        let file = opened.map_err(|error| cannot_write(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            file: Some(file),
        })
    }

    /// A writer into the file.
    pub(crate) fn writer(&self) -> Result<BufWriter<File>, Failure> {
        let file = self.file.as_ref().map(File::try_clone);
        let file = file.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()));
        Ok(BufWriter::new(
            file.map_err(|error| cannot_write(&self.path, &error))?,
        ))
    }

    /// Gives the file its name. Every writer must have been flushed.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let (Some(file), Some(partial)) = (self.file.take(), self.partial.clone()) else {
            return Ok(());
        };
        let named = file.sync_all();
        let named = named.and_then(|()| fs::rename(&partial, &self.path));
        if named.is_ok() {
            self.partial = None;
        }
        named.map_err(|error| cannot_write(&self.path, &error))
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // Left unfinished: a failure cannot be reported any more.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Writes a whole file at once.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    write_bytes(path, text.as_bytes())
}

/// The same of `bytes`.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let whole = WholeFile::create(path)?;
    let mut writer = whole.writer()?;
    writer
        .write_all(bytes)
        .and_then(|()| writer.flush())
        .map_err(|error| cannot_write(path, &error))?;
    whole.finish()
}

/// The failure to write `path`.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let (path, why) = (path.display(), plain(error));
    Failure::Job(format!("{path}: cannot write: {why}"))
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
