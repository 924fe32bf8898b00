//! What testbeds are read from: the built-in ones, and files and standard input by what they hold.
//! Tests: `file_tests.rs`, `crates/cli/tests/all/networks.rs`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{Location, Problem, TestbedError};
use crate::import::Format;
use crate::reception::Reception;
use crate::text::{beginning, GZIP};
use crate::trace::Trace;
use crate::{import, k7, matrix};

/// The testbeds that need no file, with their TOML: those in `testbeds/`.
pub(crate) const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/testbeds.rs"));
/// Most bytes of a testbed's TOML.
const MAX_TOML: u64 = 16 << 20;

/// Reads a file of links, which were measured with `reception`.
pub(crate) fn read_links(path: &Path, reception: &Reception) -> Result<Links, TestbedError> {
    let name = name_of(path);
    let (kind, reader) = open(path)?;
    kind.read(reader, &name, reception)
}

/// A file of links, as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Links {
    /// What kind of file it is, for people: "a spreadsheet (XLSX)".
    pub written: &'static str,
    /// What it holds.
    pub trace: Trace,
}

impl Links {
    /// Reads whatever tells of links: a K7 trace, a CSV, or what another program wrote (`docs/testbeds.md`).
    ///
    /// # Errors
    /// [`TestbedError`] with a line for each problem; a testbed's TOML is none of these.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, TestbedError> {
        read_links(path.as_ref(), &Reception::default())
    }

    /// The same of what a file called `name` has.
    ///
    /// # Errors
    /// As [`Links::load`].
    pub fn read(bytes: &[u8], name: &str) -> Result<Self, TestbedError> {
        let kind = kind_of(bytes.get(..1 << 13).unwrap_or(bytes), Path::new(name));
        kind.read(bytes, name, &Reception::default())
    }
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Toml,
    K7,
    Matrix,
    Foreign(Format),
    /// None of these.
    Unknown,
}

/// What is reported about a file that is none of them.
const UNKNOWN: &str = "neither a testbed's TOML nor links that can be read; expected `name = ...`, a K7 trace, or a table with the \
                       header src,dst,channel,prr[,rssi_dbm] whose columns are parted by commas, semicolons or tabs";

impl Kind {
    /// The links of such a file; none of a testbed's TOML.
    pub(crate) fn links(
        self,
        reader: impl Read,
        name: &str,
        reception: &Reception,
    ) -> Result<Option<Trace>, TestbedError> {
        let trace = match self {
            Self::Toml => return Ok(None),
            Self::K7 => k7::read_k7(reader, name),
            Self::Matrix => matrix::read(reader, name, reception),
            Self::Foreign(format) => import::read(format, reader, name, reception),
            Self::Unknown => {
                let unknown = Problem::Foreign(UNKNOWN.to_owned());
                Err(unknown.at(name, Location::Whole))
            }
        };
        trace.map(Some)
    }
    fn read(
        self,
        reader: impl Read,
        name: &str,
        reception: &Reception,
    ) -> Result<Links, TestbedError> {
        let found = self.links(reader, name, reception)?.ok_or_else(|| {
            let expected = "a K7 trace or a CSV with the header src,dst,channel,prr[,rssi_dbm]";
            Problem::value("the link file", name, expected).at(name, Location::Whole)
        });
        let (written, trace) = (self.name(), found?);
        Ok(Links { written, trace })
    }
    const fn name(self) -> &'static str {
        match self {
            Self::Toml => "a testbed's TOML",
            Self::K7 => "a K7 trace",
            Self::Matrix => "a CSV of links",
            Self::Foreign(format) => format.name(),
            Self::Unknown => "an unknown file",
        }
    }
}

/// What stands for standard input.
const STDIN: &str = "-";

/// Whether `path` stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.to_str() == Some(STDIN)
}

/// What errors call the file at `path`.
pub(crate) fn name_of(path: &Path) -> String {
    match is_stdin(path) {
        true => "standard input".to_owned(),
        false => path.to_string_lossy().into_owned(),
    }
}

/// Opens a file, or standard input for `-`, and finds out by its first bytes what it is.
pub(crate) fn open(path: &Path) -> Result<(Kind, Box<dyn BufRead>), TestbedError> {
    let name = name_of(path);
    let io_error = |e: io::Error| {
        let problem = if e.kind() == io::ErrorKind::NotFound {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            Problem::Unknown(names.join(", "))
        } else {
            Problem::Io(e)
        };
        problem.at(&name, Location::Whole)
    };
    let mut reader: Box<dyn BufRead> = match is_stdin(path) {
        true => Box::new(BufReader::new(io::stdin())),
        false => Box::new(BufReader::new(File::open(path).map_err(io_error)?)),
    };
    let kind = kind_of(reader.fill_buf().map_err(io_error)?, path);
    Ok((kind, reader))
}

fn kind_of(start: &[u8], path: &Path) -> Kind {
    let is_packed = start.starts_with(&GZIP);
    // Of links.csv.gz, what links.csv is.
    let path = match path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("gz"))
    {
        true => Path::new(path.file_stem().unwrap_or_default()),
        false => path,
    };
    let ends = path.extension().unwrap_or_default();
    let has = |ending: &str| ends.eq_ignore_ascii_case(ending);
    let raw = start;
    let start = beginning(start);
    let format = match Format::of(raw, &start) {
        // Whatever its parts are called.
        Some(Format::Zip) if has("xlsx") || has("xlsm") => Some(Format::Xlsx),
        None if has("json") && !k7::is_trace(&start) => Some(Format::Json),
        format => format,
    };
    if let (Some(format), false) = (format, has("k7") || has("toml")) {
        return Kind::Foreign(format);
    }
    let lines = start.split(|b| *b == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !matches!(line, [] | [b'#', ..]));
    let line = lines.next().unwrap_or_default();
    let parts = |b: &u8| matches!(b, b',' | b';' | b'\t');
    if has("k7") {
        Kind::K7
    } else if has("csv") || has("tsv") {
        Kind::Matrix
    } else if has("toml") {
        Kind::Toml
    } else if line.starts_with(b"{") {
        Kind::K7
    } else if is_packed || (line.iter().any(parts) && !line.contains(&b'=')) {
        Kind::Matrix
    } else if line.is_empty() || line.starts_with(b"[") || line.contains(&b'=') {
        Kind::Toml
    } else {
        Kind::Unknown
    }
}

/// The text of a TOML file.
pub(crate) fn read_toml(reader: impl Read, name: &str) -> Result<String, TestbedError> {
    let mut bytes = Vec::new();
    let wrong = |problem: Problem| problem.at(name, Location::Whole);
    let mut reader = reader.take(MAX_TOML + 1);
    (reader.read_to_end(&mut bytes)).map_err(|e| wrong(Problem::Io(e)))?;
    if bytes.len() as u64 > MAX_TOML {
        return Err(wrong(Problem::TooLarge("bytes", MAX_TOML)));
    }
    if bytes.trim_ascii().is_empty() {
        let expected = "a testbed's TOML, a K7 trace or a CSV of links";
        return Err(wrong(Problem::Empty(expected)));
    }
    String::from_utf8(bytes).map_err(|e| {
        let before = e.as_bytes().iter().take(e.utf8_error().valid_up_to());
        let line = before.filter(|b| **b == b'\n').count() as u64 + 1;
        Problem::NotText("a testbed's TOML").on_line(name, line)
    })
}
