//! A network's key file: lines of a word and what belongs to it. Its owner alone may read it.
//!
//! Invariants: no error shows a byte of a key; a file is replaced whole or not at all. Tests: `file_tests.rs`.

use super::NetworkKeys;
use crate::store::plain;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thalweg_units::NodeId;
use thalweg_wire::seal::{Key, MasterKey, BLOCK_BYTES};
use zeroize::{Zeroize, Zeroizing};

/// No key file is longer, in bytes.
const LONGEST: u64 = 64 * 1024;
const ABOUT: &str =
    "# Keys of a Thalweg network. This file decrypts what its nodes send, and controls them.\n";

/// Why a key file cannot be used: the file, and a line that says why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct KeyFileError {
    path: PathBuf,
    why: String,
}

impl KeyFileError {
    fn new(path: &Path, why: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            why: why.into(),
        }
    }
    fn io(path: &Path, why: &io::Error) -> Self {
        Self::new(path, plain(why))
    }
}

/// A fresh key, from the system's source of random bytes.
///
/// # Errors
/// [`KeyFileError`] where that gives none; `path` is where they are to go.
pub fn random(path: &Path) -> Result<NetworkKeys, KeyFileError> {
    let mut bytes = [0; BLOCK_BYTES];
    let drawn = getrandom::fill(&mut bytes);
    drawn.map_err(|_| KeyFileError::new(path, "the system gives no random bytes for a key"))?;
    let keys = NetworkKeys::new(MasterKey::new(Key::new(bytes)));
    bytes.zeroize();
    Ok(keys)
}

/// Reads the keys in the file at `path`.
///
/// # Errors
/// [`KeyFileError`], also where anybody but its owner may read or write it.
pub fn read(path: &Path) -> Result<NetworkKeys, KeyFileError> {
    let io = |why: io::Error| KeyFileError::io(path, &why);
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(KeyFileError::new(path, "is no file"));
    }
    if metadata.mode() & 0o077 != 0 {
        let why = "others on this machine may read or write it: chmod 600 it";
        return Err(KeyFileError::new(path, why));
    }
    if metadata.len() > LONGEST {
        return Err(KeyFileError::new(path, "is too long for a key file"));
    }
    let mut text = Zeroizing::new(String::with_capacity(metadata.len() as usize + 1));
    let read = file.take(LONGEST).read_to_string(&mut text);
    read.map_err(|_| KeyFileError::new(path, "is no key file: it is no text"))?;
    parse(&text).map_err(|why| KeyFileError::new(path, why))
}

/// The keys in `text`, or what is wrong with it.
fn parse(text: &str) -> Result<NetworkKeys, String> {
    let (mut master, mut epoch, mut generations) = (None, None, BTreeMap::new());
    for (line, at) in text.lines().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bad = |wanted: &str| Err(format!("line {at}: expected {wanted}"));
        match words[..] {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            ["key", digits] if master.is_none() => match key(digits) {
                Some(key) => master = Some(key),
                None => return bad("a key of 32 hexadecimal digits"),
            },
            ["epoch", number] if epoch.is_none() => match number.parse() {
                Ok(number) => epoch = Some(number),
                Err(_) => return bad("an epoch of 0 to 4294967295"),
            },
            ["generation", node, number] => {
                let node = node.parse().ok().and_then(|node| NodeId::new(node).ok());
                match (node, number.parse::<u8>()) {
                    (Some(node), Ok(number)) if generations.insert(node, number).is_none() => {}
                    _ => {
                        return bad(
                            "a node that was not named before, and a generation of 0 to 255",
                        )
                    }
                }
            }
            // What stands there may be a key.
            _ => {
                return bad("key, epoch or generation, each with its value, and the first two once")
            }
        }
    }
    match (master, epoch) {
        (Some(master), Some(epoch)) => Ok(NetworkKeys::of(master, epoch, generations)),
        (None, _) => Err("is no key file: it has no line `key`".to_owned()),
        (_, None) => Err("is no key file: it has no line `epoch`".to_owned()),
    }
}

fn key(digits: &str) -> Option<MasterKey> {
    let is_hex = digits.len() == 2 * BLOCK_BYTES && digits.bytes().all(|d| d.is_ascii_hexdigit());
    let mut bytes = [0; BLOCK_BYTES];
    for (at, byte) in bytes.iter_mut().enumerate().filter(|_| is_hex) {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    let key = is_hex.then(|| MasterKey::new(Key::new(bytes)));
    bytes.zeroize();
    key
}

/// The text of a key file with `keys`.
pub fn text(keys: &NetworkKeys) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(
        ABOUT.len() + 128 + 32 * keys.generations().len(),
    ));
    text.push_str(ABOUT);
    text.push_str("key ");
    for byte in keys.master().key().expose() {
        let _ = write!(text, "{byte:02x}");
    }
    let _ = writeln!(text, "\nepoch {}", keys.epoch());
    for (node, generation) in keys.generations() {
        let _ = writeln!(text, "generation {node} {generation}");
    }
    text
}

/// Writes `bytes` to a new file at `path`, which its owner alone may read.
///
/// # Errors
/// [`KeyFileError`], also where there is something already.
pub fn create(path: &Path, bytes: &[u8]) -> Result<(), KeyFileError> {
    write_new(path, bytes).map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => {
            KeyFileError::new(path, "is there already, and keys are not overwritten")
        }
        _ => KeyFileError::io(path, &why),
    })
}

/// Puts `keys` in the place of those in the file at `path`.
///
/// # Errors
/// [`KeyFileError`]; the file is as it was then.
pub fn replace(path: &Path, keys: &NetworkKeys) -> Result<(), KeyFileError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    create(&beside, text(keys).as_bytes())?;
    fs::rename(&beside, path).map_err(|why| KeyFileError::io(path, &why))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
