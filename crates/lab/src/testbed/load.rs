//! Finding and opening testbeds: built-in ones by name, files by what they hold.
//! Tests: `file_tests.rs`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::error::{Place, Problem, TestbedError};
use super::trace::Trace;
use super::{file, k7, matrix, Measured, Physics, Testbed};

/// The testbeds that need no file, with their TOML.
const BUILT_IN: &[(&str, &str)] = &[
    ("indriya", include_str!("../../../../testbeds/indriya.toml")),
    (
        "building100",
        include_str!("../../../../testbeds/building100.toml"),
    ),
    (
        "quiet100",
        include_str!("../../../../testbeds/quiet100.toml"),
    ),
    ("floor21", include_str!("../../../../testbeds/floor21.toml")),
    ("ring12", include_str!("../../../../testbeds/ring12.toml")),
    (
        "indriya-opal",
        include_str!("../../../../testbeds/indriya-opal.toml"),
    ),
    (
        "office12",
        include_str!("../../../../testbeds/office12.toml"),
    ),
    ("line5", include_str!("../../../../testbeds/line5.toml")),
    ("stata", include_str!("../../../../testbeds/stata.toml")),
    ("stata45", include_str!("../../../../testbeds/stata45.toml")),
    ("pair", include_str!("../../../../testbeds/pair.toml")),
];
/// Most bytes of a testbed's TOML.
const MAX_TOML: u64 = 16 << 20;

impl Testbed {
    /// The built-in testbeds' names.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The TOML of a built-in testbed: an example to start one's own from.
    pub fn built_in_toml(name: &str) -> Option<&'static str> {
        BUILT_IN
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// A built-in testbed by its name, else the one in the file of that name: a testbed's TOML, a
    /// K7 link trace (gzip or plain) or a link matrix in CSV, told apart by what the file holds.
    /// (`./indriya` is a file even where `indriya` is built in.)
    ///
    /// # Errors
    /// [`TestbedError`]: one line that names the file, the place and what was expected.
    pub fn load(name_or_path: impl AsRef<Path>) -> Result<Self, TestbedError> {
        let path = name_or_path.as_ref();
        let name = path.to_string_lossy();
        if let Some(text) = Self::built_in_toml(&name) {
            return Self::from_toml(text, &name);
        }
        let (kind, reader) = open(path)?;
        match kind {
            Kind::Toml => {
                let text = read_toml(reader, &name)?;
                file::parse(&text, &name, Some(path.parent().unwrap_or(Path::new(""))))
            }
            Kind::K7 => Ok(Self::from_trace(k7::read_k7(reader, &name)?, path)),
            Kind::Matrix => Ok(Self::from_trace(matrix::read_matrix(reader, &name)?, path)),
        }
    }

    /// A testbed from its TOML, which may not name a link file; `source_name` appears in errors.
    ///
    /// # Errors
    /// [`TestbedError`], as [`Testbed::load`].
    pub fn from_toml(text: &str, source_name: &str) -> Result<Self, TestbedError> {
        file::parse(text, source_name, None)
    }

    /// A testbed whose links are a trace; its sink is the node with the lowest id.
    fn from_trace(trace: Trace, path: &Path) -> Self {
        let stem = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.split('.').next().unwrap_or_default().to_owned();
        let description = match &trace.name {
            Some(place) => format!("measured links, {}", super::error::printable(place)),
            None => "measured links".to_owned(),
        };
        let channels = trace.channels;
        let (nodes, measured) = Measured::of_trace(trace, Measured::DEFAULT_FRAME_BYTES);
        // A settled trace has a link, so it has nodes.
        let sink = nodes.first().map_or(thalweg_units::NodeId::MAX, |n| n.id);
        Self {
            name: stem,
            description,
            board: super::Board::default(),
            nodes,
            channels,
            sink,
            physics: Physics::Measured(measured),
            losses: super::Losses::default(),
        }
    }
}

/// Reads a K7 trace or a link matrix.
pub(crate) fn read_links(path: &Path) -> Result<Trace, TestbedError> {
    let name = path.to_string_lossy();
    let (kind, reader) = open(path)?;
    match kind {
        Kind::K7 => k7::read_k7(reader, &name),
        Kind::Matrix => matrix::read_matrix(reader, &name),
        Kind::Toml => {
            let expected = "a K7 trace or a CSV with the header src,dst,channel,prr[,rssi_dbm]";
            Err(Problem::value("the link file", &name, expected).at(&name, Place::Whole))
        }
    }
}

enum Kind {
    Toml,
    K7,
    Matrix,
}

/// Opens a file and tells by its first bytes what it is.
fn open(path: &Path) -> Result<(Kind, BufReader<File>), TestbedError> {
    let name = path.to_string_lossy();
    let io_error = |e: io::Error| {
        let problem = if e.kind() == io::ErrorKind::NotFound {
            let built_in = Testbed::built_in().collect::<Vec<_>>().join(", ");
            Problem::Unknown { built_in }
        } else {
            Problem::Io(e)
        };
        problem.at(&name, Place::Whole)
    };
    let mut reader = BufReader::new(File::open(path).map_err(io_error)?);
    let kind = kind_of(reader.fill_buf().map_err(io_error)?, path);
    Ok((kind, reader))
}

fn kind_of(start: &[u8], path: &Path) -> Kind {
    let has = |ending: &str| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(ending))
    };
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let line = start.split(|b| *b == b'\n').next().unwrap_or_default();
    if start.starts_with(&[0x1f, 0x8b]) || has("k7") || has("gz") {
        Kind::K7
    } else if has("csv") {
        Kind::Matrix
    } else if has("toml") {
        Kind::Toml
    } else if line.trim_ascii_start().starts_with(b"{") {
        Kind::K7
    } else if line.contains(&b',') && !line.contains(&b'=') && !line.contains(&b'#') {
        Kind::Matrix
    } else {
        Kind::Toml
    }
}

fn read_toml(reader: impl Read, name: &str) -> Result<String, TestbedError> {
    let mut bytes = Vec::new();
    reader
        .take(MAX_TOML + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Problem::Io(e).at(name, Place::Whole))?;
    if bytes.len() as u64 > MAX_TOML {
        return Err(Problem::TooLarge {
            what: "bytes",
            limit: MAX_TOML,
        }
        .at(name, Place::Whole));
    }
    if bytes.trim_ascii().is_empty() {
        let expected = "a testbed's TOML, a K7 trace or a CSV of links";
        return Err(Problem::Empty { expected }.at(name, Place::Whole));
    }
    String::from_utf8(bytes).map_err(|e| {
        let before = e
            .as_bytes()
            .get(..e.utf8_error().valid_up_to())
            .unwrap_or_default();
        let line = before.iter().filter(|b| **b == b'\n').count() as u64 + 1;
        Problem::NotText {
            expected: "a testbed's TOML",
        }
        .on_line(name, line)
    })
}
