//! Files that hold a secret. Tests: `crates/daemon/src/config_tests.rs`.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thalweg_host::store::plain;

/// Where systemd puts a service's credentials (`LoadCredential=`).
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";
/// No secret is longer, in bytes.
const LONGEST: u64 = 4_096;

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
    let read = || {
        let file = File::open(&path)?;
        let mode = file.metadata()?.mode();
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text)?;
        Ok((mode, text))
    };
    match read() {
        Ok((mode, _)) if mode & 0o004 != 0 => {
            let why = "everybody on this machine may read it: chmod 600 it".to_owned();
            Err((path, why))
        }
        Ok((_, text)) => Ok(text.lines().next().unwrap_or_default().to_owned()),
        Err(why) => Err((path, format!("cannot read: {}", plain(&why)))),
    }
}
