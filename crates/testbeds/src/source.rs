//! What testbeds are read from: the built-in ones, and files and standard input by what they hold.
//! Tests: `file_tests.rs`, `crates/cli/tests/all/networks.rs`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{Location, Problem, TestbedError};
use crate::reception::Reception;
use crate::text::{beginning, GZIP};
use crate::trace::Trace;
use crate::{k7, matrix};

/// The testbeds that need no file, with their TOML: those in `testbeds/`.
pub(crate) const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/testbeds.rs"));
/// Most bytes of a testbed's TOML.
const MAX_TOML: u64 = 16 << 20;

/// Reads a K7 trace or a link matrix.
pub(crate) fn read_links(path: &Path, reception: &Reception) -> Result<Trace, TestbedError> {
    let name = name_of(path);
    let (kind, reader) = open(path)?;
    match kind {
        Kind::K7 => k7::read_k7(reader, &name),
        Kind::Matrix => matrix::read(reader, &name, reception),
        Kind::Toml => {
            let expected = "a K7 trace or a CSV with the header src,dst,channel,prr[,rssi_dbm]";
            Err(Problem::value("the link file", &name, expected).at(&name, Location::Whole))
        }
    }
}

/// What a file holds.
pub(crate) enum Kind {
    Toml,
    K7,
    Matrix,
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
    let start = beginning(start);
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
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
    } else {
        Kind::Toml
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
