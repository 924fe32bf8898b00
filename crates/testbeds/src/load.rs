//! Finding and opening testbeds: built-in ones by name, files by what they hold.
//! Tests: `file_tests.rs`.

use std::fmt::{self, Write as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use thalweg_sim::boards;

use crate::error::{Location, Problem, TestbedError};
use crate::file;
use crate::reception::Reception;
use crate::source::{is_stdin, name_of, open, read_toml, Kind, BUILT_IN};
use crate::testbed::{Measured, Physics, Places, SinkBy, Testbed, DEFAULT_BOARD};
use crate::trace::Trace;
use thalweg_wire::seal::frame::Sealing;

impl Testbed {
    /// The built-in testbeds' names.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// A built-in testbed by its name, else the one in the file of that name, or in standard input for `-`: a
    /// testbed's TOML, a K7 link trace, a link matrix in CSV (gzip or plain) or what another program wrote, recognised by
    /// what it holds.
    /// (`./indriya` is a file even where `indriya` is built in.)
    ///
    /// # Errors
    /// [`TestbedError`]: one line that names the file, the place and what was expected.
    pub fn load(name_or_path: impl AsRef<Path>) -> Result<Self, TestbedError> {
        let path = name_or_path.as_ref();
        let name = name_of(path);
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Self::from_toml(text, &name);
        }
        let (kind, reader) = open(path)?;
        match kind {
            Kind::Toml => {
                let text = read_toml(reader, &name)?;
                file::parse(&text, &name, Some(path.parent().unwrap_or(Path::new(""))))
            }
            kind => {
                let trace = kind.links(reader, &name, &Reception::default())?;
                let none = || Problem::TooFew("links", 1).at(&name, Location::Whole);
                Ok(Self::from_trace(trace.ok_or_else(none)?, &stem(path)))
            }
        }
    }

    /// A testbed from its TOML, which may not name a link file; `source_name` appears in errors.
    ///
    /// # Errors
    /// [`TestbedError`], as [`Testbed::load`].
    pub fn from_toml(text: &str, source_name: &str) -> Result<Self, TestbedError> {
        file::parse(text, source_name, None)
    }

    /// The testbed called `name` whose links are a trace.
    pub(crate) fn from_trace(trace: Trace, name: &str) -> Self {
        let description = match &trace.name {
            Some(place) => format!("measured links, {}", crate::error::printable(place)),
            None => "measured links".to_owned(),
        };
        let (channels, assumed) = (trace.channels, trace.assumed.clone());
        let labels = trace.labels.clone();
        let (nodes, measured) = Measured::of_trace(trace, Measured::DEFAULT_FRAME_BYTES);
        let physics = Physics::Measured(measured);
        let testbed = Self {
            name: name.to_owned(),
            control: Self::control_of(nodes.len(), channels, &physics),
            sealing: Sealing::Open,
            keys: None,
            description,
            board_name: DEFAULT_BOARD.to_owned(),
            board: boards::telosb(),
            // A settled trace has a link, so it has nodes.
            sink: nodes.first().map_or(thalweg_units::NodeId::MAX, |n| n.id),
            sink_by: SinkBy::Central,
            places: Places::Unknown,
            batteries: None,
            nodes,
            labels,
            channels,
            physics,
            assumed,
        };
        testbed.settled()
    }

    /// SHA-256, in hexadecimal, of all that it is: two testbeds with the same digest give the same results, and a file
    /// has the digest of its links as values. Another version of the program has other digests.
    pub fn digest(&self) -> String {
        let mut digest = Digest(Sha256::new());
        // Hashing does not fail.
        let _ = write!(digest, "{self:?}");
        let bytes = digest.0.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Hashes what is written to it.
struct Digest(Sha256);

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

/// What a testbed is called whose links are in the file at `path`.
fn stem(path: &Path) -> String {
    let stem = match is_stdin(path) {
        true => "stdin".into(),
        false => path.file_name().unwrap_or_default().to_string_lossy(),
    };
    let stem = stem.strip_suffix(".gz").unwrap_or(&stem);
    // A hidden file has nothing before its dot.
    let before = stem.rsplit_once('.').map(|(before, _)| before);
    let before = before.filter(|before| !before.is_empty());
    before.unwrap_or(stem).to_owned()
}
