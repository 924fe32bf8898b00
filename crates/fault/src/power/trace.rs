//! What a process asks the system for, read from `strace`.
//!
//! Calls of one thread, in their order; those outside of the store's folder are left out, but for what it tells on standard
//! output. Invariant: a call that is not understood is an error, not left out.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A call that changes the disk, or a line that was printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// A folder is made.
    MakeFolder(PathBuf),
    /// A file of that name is there from now on.
    Create(PathBuf),
    /// Bytes are written.
    Write {
        /// Into which file.
        file: PathBuf,
        /// Where.
        offset: u64,
        /// Which.
        bytes: Vec<u8>,
    },
    /// A file has that length from now on.
    Truncate {
        /// Which.
        file: PathBuf,
        /// How long.
        len: u64,
    },
    /// A file or folder is synced.
    Sync(PathBuf),
    /// A file gets a second name.
    Link {
        /// Its name.
        from: PathBuf,
        /// The other.
        to: PathBuf,
    },
    /// A file gets another name.
    Rename {
        /// Its name.
        from: PathBuf,
        /// The other.
        to: PathBuf,
    },
    /// A name is gone.
    Unlink(PathBuf),
    /// A line on standard output.
    Promise(String),
}

/// All calls of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// In their order.
    pub calls: Vec<Call>,
}

/// Nothing could be recorded.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// `strace` could not be started.
    #[error("strace: {0}; it records what the store writes, and must be installed")]
    NoStrace(io::Error),
    /// It, or what it ran, failed.
    #[error("strace: {0}")]
    Failed(String),
    /// A line was not understood.
    #[error("strace: line {number} is not understood: {line}")]
    Line {
        /// Which, from 1.
        number: usize,
        /// Its beginning.
        line: String,
    },
}

/// The calls that are recorded. A store that made others would be read wrongly; `mmap` for writing is checked.
const CALLS: &str = "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,\
sync_file_range,rename,renameat,renameat2,unlink,unlinkat,link,linkat,mkdir,mkdirat,rmdir,symlink,symlinkat,close,lseek,\
copy_file_range,sendfile";

/// Runs `program` with `arguments`, and records what it does in `folder`; its log goes to the file `log`.
///
/// # Errors
/// [`TraceError`].
pub fn record(
    program: &Path,
    arguments: &[&str],
    (folder, log): (&Path, &Path),
) -> Result<Recording, TraceError> {
    let ran = Command::new("strace")
        .args([
            "-f",
            "-y",
            "-xx",
            "-s",
            "4194304",
            "-e",
            "signal=none",
            "-e",
        ])
        .arg(format!("trace={CALLS}"))
        .arg("-o")
        .args([log, program])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(TraceError::NoStrace)?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let last = said.lines().last().unwrap_or("it failed").to_owned();
        return Err(TraceError::Failed(last));
    }
    let text = std::fs::read_to_string(log).map_err(|why| TraceError::Failed(why.to_string()))?;
    Recording::parse(&text, folder)
}

impl Recording {
    /// Reads a log of `strace -f -y -xx`, of what happened in `folder`.
    ///
    /// # Errors
    /// [`TraceError::Line`].
    pub fn parse(log: &str, folder: &Path) -> Result<Self, TraceError> {
        let mut reader = Reader {
            folder,
            places: BTreeMap::new(),
            calls: Vec::new(),
        };
        for (at, line) in log.lines().enumerate() {
            reader.line(line).ok_or_else(|| TraceError::Line {
                number: at + 1,
                line: line.chars().take(120).collect(),
            })?;
        }
        Ok(Self {
            calls: reader.calls,
        })
    }
}

struct Reader<'a> {
    folder: &'a Path,
    /// Where in its file each descriptor stands.
    places: BTreeMap<String, u64>,
    calls: Vec<Call>,
}

/// An argument as `strace` writes it.
struct Argument<'a> {
    /// All of it.
    text: &'a str,
    /// The file that a descriptor stands for.
    file: Option<PathBuf>,
    /// What stood in quotes.
    quoted: Option<Vec<u8>>,
}

impl Argument<'_> {
    fn path(&self) -> Option<PathBuf> {
        let text = String::from_utf8(self.quoted.clone()?).ok()?;
        Some(PathBuf::from(text))
    }
    fn number(&self) -> Option<u64> {
        self.text.parse().ok()
    }
}

impl Reader<'_> {
    fn is_ours(&self, path: &Path) -> bool {
        path.starts_with(self.folder)
    }
    /// SQLite's index of its log is memory that processes share: it is rebuilt after a power failure.
    fn is_shared_memory(path: &Path) -> bool {
        path.to_string_lossy().ends_with("-shm")
    }
    fn push(&mut self, files: &[&Path], call: Call) {
        let counts = |file: &&Path| self.is_ours(file) && !Self::is_shared_memory(file);
        if files.iter().all(counts) {
            self.calls.push(call);
        }
    }

    /// Takes a line; none where it is not understood.
    fn line(&mut self, line: &str) -> Option<()> {
        let call = line
            .split_once(' ')
            .map_or(line, |(_, call)| call.trim_start());
        if call.starts_with("+++") || call.starts_with("---") {
            return Some(());
        }
        let (name, rest) = call.split_once('(')?;
        let (inside, result) = rest.rsplit_once(") = ")?;
        if result.starts_with('-') {
            return Some(());
        }
        let arguments: Vec<Argument<'_>> = arguments(inside).collect();
        let argument = |at: usize| arguments.get(at);
        match name {
            "openat" => self.open(argument(1)?.path()?, argument(2)?.text, result),
            "close" => drop(self.places.remove(argument(0)?.text)),
            "write" => self.write(argument(0)?, argument(1)?.quoted.clone()?)?,
            "pwrite64" => {
                let file = argument(0)?.file.clone()?;
                let (bytes, offset) = (argument(1)?.quoted.clone()?, argument(3)?.number()?);
                let call = Call::Write {
                    file: file.clone(),
                    offset,
                    bytes,
                };
                self.push(&[&file], call);
            }
            "lseek" => {
                let place = result.split(' ').next()?.parse().ok()?;
                self.places.insert(argument(0)?.text.to_owned(), place);
            }
            "ftruncate" => {
                let (file, len) = (argument(0)?.file.clone()?, argument(1)?.number()?);
                self.push(&[&file.clone()], Call::Truncate { file, len });
            }
            "fsync" | "fdatasync" => {
                let file = argument(0)?.file.clone()?;
                self.push(&[&file.clone()], Call::Sync(file));
            }
            "mkdir" => {
                let folder = argument(0)?.path()?;
                self.push(&[&folder.clone()], Call::MakeFolder(folder));
            }
            "unlink" => self.unlink(argument(0)?.path()?),
            "unlinkat" => self.unlink(argument(1)?.path()?),
            "link" => self.rename(argument(0)?.path()?, argument(1)?.path()?, Named::Both),
            "linkat" => self.rename(argument(1)?.path()?, argument(3)?.path()?, Named::Both),
            "rename" => self.rename(argument(0)?.path()?, argument(1)?.path()?, Named::New),
            "renameat" | "renameat2" => {
                self.rename(argument(1)?.path()?, argument(3)?.path()?, Named::New);
            }
            // Another way to write than those above.
            _ if self.are_ours(&arguments) => return None,
            _ => {}
        }
        Some(())
    }

    /// Whether an argument is a file in our folder.
    fn are_ours(&self, arguments: &[Argument<'_>]) -> bool {
        let files = arguments
            .iter()
            .filter_map(|a| a.file.clone().or_else(|| a.path()));
        files.into_iter().any(|file| self.is_ours(&file))
    }

    fn open(&mut self, path: PathBuf, flags: &str, result: &str) {
        let descriptor = result.split(' ').next().unwrap_or(result);
        self.places.insert(descriptor.to_owned(), 0);
        if flags.contains("O_CREAT") {
            self.push(&[&path.clone()], Call::Create(path.clone()));
        }
        if flags.contains("O_TRUNC") {
            let (file, len) = (path.clone(), 0);
            self.push(&[&path], Call::Truncate { file, len });
        }
    }
    fn write(&mut self, to: &Argument<'_>, bytes: Vec<u8>) -> Option<()> {
        if to.text.starts_with("1<") {
            let lines = String::from_utf8(bytes).ok()?;
            let lines = lines.lines().map(|line| Call::Promise(line.to_owned()));
            self.calls.extend(lines);
            return Some(());
        }
        let file = to.file.clone()?;
        let place = self.places.entry(to.text.to_owned()).or_insert(0);
        let offset = *place;
        *place += bytes.len() as u64;
        let call = Call::Write {
            file: file.clone(),
            offset,
            bytes,
        };
        self.push(&[&file], call);
        Some(())
    }
    fn unlink(&mut self, path: PathBuf) {
        self.push(&[&path.clone()], Call::Unlink(path));
    }
    fn rename(&mut self, from: PathBuf, to: PathBuf, named: Named) {
        let files = [from.clone(), to.clone()];
        let call = match named {
            Named::Both => Call::Link { from, to },
            Named::New => Call::Rename { from, to },
        };
        self.push(&[&files[0], &files[1]], call);
    }
}

/// Which names a file has after it got another.
enum Named {
    Both,
    New,
}

/// The arguments between the brackets of a call: all text is in hexadecimal, so commas are between them alone.
fn arguments(inside: &str) -> impl Iterator<Item = Argument<'_>> {
    inside.split(", ").map(|text| {
        let between = |open: char, close: char| {
            let (_, rest) = text.split_once(open)?;
            let (within, _) = rest.rsplit_once(close)?;
            hexadecimal(within)
        };
        let file = between('<', '>').and_then(|bytes| String::from_utf8(bytes).ok());
        Argument {
            text,
            file: file.map(PathBuf::from),
            quoted: between('"', '"'),
        }
    })
}

/// `\x2f\x74` as bytes.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.split("\\x").skip(1);
    digits
        .map(|two| u8::from_str_radix(two.get(..2)?, 16).ok())
        .collect()
}
