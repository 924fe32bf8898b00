//! Files that hold a secret. Tests: `crates/daemon/src/config_tests.rs`.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thalweg_host::store::plain;

/// Where systemd puts a service's credentials (`LoadCredential=`).
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";
/// No secret is longer, in bytes.
const LONGEST: u64 = 4_096;

/// Why a secret is not taken from a file.
pub(crate) const FOR_ALL: &str = "everybody on this machine may read it: chmod 600 it";
/// Whether everybody may read a file of this mode.
pub(crate) const fn is_for_all(mode: u32) -> bool {
    mode & 0o004 != 0
}

/// The first line of `file`: a credential of that name, where systemd handed one over, or a file relative to `folder` that
/// others may not read.
///
/// # Errors
/// The file, and why not.
pub(crate) fn first_line(folder: &Path, file: &Path) -> Result<String, (PathBuf, String)> {
    let credential = std::env::var_os(CREDENTIALS).map(|folder| Path::new(&folder).join(file));
    let path = credential
        .filter(|path| path.is_file())
        .unwrap_or_else(|| folder.join(file));
    let is_else = fs::metadata(&path).is_ok_and(|meta| !meta.is_file());
    if is_else {
        // Opening a pipe blocks until it has a writer.
        return Err((path, "is no file".to_owned()));
    }
    let read = || {
        let file = File::open(&path)?;
        let mode = file.metadata()?.mode();
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text)?;
        Ok((mode, text))
    };
    match read() {
        Ok((mode, _)) if is_for_all(mode) => Err((path, FOR_ALL.to_owned())),
        Ok((_, text)) => Ok(text.lines().next().unwrap_or_default().to_owned()),
        Err(why) => Err((path, format!("cannot read: {}", plain(&why)))),
    }
}
