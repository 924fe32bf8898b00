//! Object files: whole under their final name, or not there at all.
//!
//! An object is written to a hidden file in the same folder, flushed to the disk and then linked to
//! its name, which fails when the name is taken: no object is ever overwritten. Whoever writes or
//! cleans up holds the database's write lock, so a hidden file that is seen under the lock is left
//! over from a process that was killed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thalweg_units::NodeId;

use super::{Fate, StoreError};

const HIDDEN: &str = ".incoming-";

/// SHA-256 of `bytes` in hexadecimal.
pub fn digest_of(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The file name of an object: testbed, source and the first 16 digits of the digest.
pub(super) fn file_name(testbed: &str, source: NodeId, digest: &str) -> String {
    format!(
        "{}-{source}-{}.bin",
        slug(testbed),
        digest.get(..16).unwrap_or(digest)
    )
}

/// A testbed's name, or the stem of its path, as a part of a file name.
fn slug(testbed: &str) -> String {
    let base = testbed.rsplit(['/', '\\']).next().unwrap_or(testbed);
    let stem = base.split('.').find(|part| !part.is_empty()).unwrap_or("");
    let slug: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        })
        .take(64)
        .collect();
    if slug.trim_matches('-').is_empty() {
        "testbed".to_owned()
    } else {
        slug
    }
}

/// Puts `bytes` under `name` into `folder`. The caller holds the write lock.
pub(super) fn write(
    folder: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<(PathBuf, Fate), StoreError> {
    let path = folder.join(name);
    if let Some(fate) = already_there(&path, bytes)? {
        return Ok((path, fate));
    }
    let hidden = folder.join(format!("{HIDDEN}{name}"));
    let written = write_hidden(&hidden, bytes).and_then(|()| give_name(&hidden, &path));
    // The name, if it was given, is a second link: the hidden one goes in every case.
    let removed = fs::remove_file(&hidden);
    written.map_err(io_error("write", &path))?;
    removed
        .or_else(gone_is_fine)
        .map_err(io_error("tidy up", &hidden))?;
    sync_folder(folder)?;
    Ok((path, Fate::Written))
}

fn write_hidden(hidden: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(hidden)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Links `hidden` to `path`, never over what is there.
fn give_name(hidden: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(hidden, path) {
        Err(error) if lacks_links(&error) && !path.exists() => fs::rename(hidden, path),
        other => other,
    }
}

/// Whether the file system knows no hard links (FAT, some network file systems).
fn lacks_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
    )
}

fn gone_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound {
        Ok(())
    } else {
        Err(error)
    }
}

/// Whether `path` holds exactly `bytes` already.
fn already_there(path: &Path, bytes: &[u8]) -> Result<Option<Fate>, StoreError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("read", path)(error)),
        Ok(meta) if !meta.is_file() || meta.len() != bytes.len() as u64 => {
            return Err(StoreError::ObjectExists(path.to_owned()));
        }
        Ok(_) => {}
    }
    if fs::read(path).map_err(io_error("read", path))? == bytes {
        Ok(Some(Fate::Identical))
    } else {
        Err(StoreError::ObjectExists(path.to_owned()))
    }
}

/// Removes what killed processes left in `folder`. The caller holds the write lock.
pub(super) fn tidy(folder: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(folder).map_err(io_error("read", folder))? {
        let entry = entry.map_err(io_error("read", folder))?;
        if entry.file_name().to_string_lossy().starts_with(HIDDEN) {
            let path = entry.path();
            fs::remove_file(&path)
                .or_else(gone_is_fine)
                .map_err(io_error("tidy up", &path))?;
        }
    }
    Ok(())
}

/// Makes the folder's entries themselves durable.
fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|f| f.sync_all())
        .map_err(io_error("write", folder))
}

/// For `map_err`: the error of doing `action` to `path`.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io {
        action,
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_testbed_of_any_name_gives_a_plain_file_name() {
        assert_eq!(slug("indriya"), "indriya");
        assert_eq!(slug("../shared/data/grenoble.k7.gz"), "grenoble");
        assert_eq!(slug("my links.csv"), "my-links");
        for odd in ["", "..", "/", "../..", "\u{1f600}", ".hidden/"] {
            let slug = slug(odd);
            assert!(
                !slug.is_empty() && !slug.starts_with('.') && !slug.contains('/'),
                "{odd:?}"
            );
        }
    }

    #[test]
    fn the_digest_is_sha_256() {
        assert_eq!(
            digest_of(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
