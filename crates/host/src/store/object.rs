//! Object files: whole under their final name, or not there at all.
//!
//! An object is written to a hidden file in the same folder, flushed to the disk and then linked to
//! its name, which fails when the name is taken: no object is ever overwritten. Whoever writes or
//! cleans up holds the database's write lock, so a hidden file that is seen under the lock is left
//! over from a process that was killed.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thalweg_units::NodeId;

use super::{Fate, Result, StoreError};

const HIDDEN: &str = ".incoming-";

/// SHA-256 of `bytes` in hexadecimal.
pub fn digest_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}
/// SHA-256 of what `from` reads, in hexadecimal.
pub(super) fn digest_of_all(from: &mut impl Read) -> io::Result<String> {
    let (mut digest, mut piece) = (Sha256::new(), [0; 16 * 1024]);
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(hexadecimal(&digest.finalize())),
            Ok(count) => digest.update(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file name of an object: testbed, source and the first 16 digits of the digest.
pub fn file_name(testbed: &str, source: NodeId, digest: &str) -> String {
    let digits = digest.get(..16).unwrap_or(digest);
    format!("{}-{source}-{digits}.bin", slug(testbed))
}

/// A testbed's name, or the stem of its path, as a part of a file name.
fn slug(testbed: &str) -> String {
    let base = testbed.rsplit(['/', '\\']).next().unwrap_or(testbed);
    let stem = base.split('.').find(|part| !part.is_empty()).unwrap_or("");
    let odd = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let slug: String = stem.replace(odd, "-").chars().take(64).collect();
    match slug.trim_matches('-').is_empty() {
        true => "testbed".to_owned(),
        false => slug,
    }
}

/// Whether `name` is that of a file in the folder of objects, and leads nowhere else.
pub(super) fn is_plain(name: &str) -> bool {
    !name.contains(['/', '\\', '\0']) && !name.starts_with('.') && !name.is_empty()
}

/// Opens the object at `path`; none where there is no file, or one that only links to another.
pub(super) fn open(path: &Path) -> Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => {
            let file = File::from(file);
            let meta = file.metadata().map_err(io_error("read", path))?;
            Ok(meta.is_file().then_some(file))
        }
        Err(Errno::NOENT | Errno::LOOP) => Ok(None),
        Err(error) => Err(io_error("read", path)(error.into())),
    }
}

/// Puts `bytes` under `name` into `folder`. The caller holds the write lock.
pub(super) fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(PathBuf, Fate)> {
    let path = folder.join(name);
    if let Some(fate) = already_there(&path, bytes)? {
        return Ok((path, fate));
    }
    let hidden = folder.join(format!("{HIDDEN}{name}"));
    let written = write_hidden(&hidden, bytes).and_then(|()| give_name(&hidden, &path));
    // The name, if it was given, is a second link: the hidden one goes in every case.
    let removed = fs::remove_file(&hidden);
    written.map_err(io_error("write", &path))?;
    let removed = removed.or_else(gone_is_fine);
    removed.map_err(io_error("tidy up", &hidden))?;
    sync_folder(folder)?;
    Ok((path, Fate::Written))
}

fn write_hidden(hidden: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(hidden)?;
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
    use io::ErrorKind::{PermissionDenied, Unsupported};
    matches!(error.kind(), Unsupported | PermissionDenied)
}

pub(super) fn gone_is_fine(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

/// Whether `path` holds exactly `bytes` already.
fn already_there(path: &Path, bytes: &[u8]) -> Result<Option<Fate>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("read", path)(error)),
        Ok(meta) if meta.is_file() && meta.len() == bytes.len() as u64 => {
            if fs::read(path).map_err(io_error("read", path))? == bytes {
                return Ok(Some(Fate::Identical));
            }
        }
        Ok(_) => {}
    }
    Err(StoreError::ObjectExists(path.to_owned()))
}

/// Removes what killed processes left in `folder`. The caller holds the write lock.
pub(super) fn tidy(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(io_error("read", folder))? {
        let entry = entry.map_err(io_error("read", folder))?;
        if entry.file_name().to_string_lossy().starts_with(HIDDEN) {
            let path = entry.path();
            let removed = fs::remove_file(&path).or_else(gone_is_fine);
            removed.map_err(io_error("tidy up", &path))?;
        }
    }
    Ok(())
}

/// Writes a byte into `folder`, and takes it away.
pub(super) fn try_write(folder: &Path) -> Result<()> {
    let hidden = folder.join(format!("{HIDDEN}try"));
    let written = write_hidden(&hidden, &[0]);
    // The next start tidies up what stays.
    let _ = fs::remove_file(&hidden);
    written.map_err(io_error("write", &hidden))
}

/// Makes the folder's entries themselves durable.
fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|f| f.sync_all());
    synced.map_err(io_error("write", folder))
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
