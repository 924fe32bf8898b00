//! Experiments as data: one TOML file each, built in from `experiments/` or given by path.

use super::metric::MetricSpec;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use thalweg_units::Channel;

/// An experiment: what to run, what to measure of it, how to draw it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its id, `<paper>.<result>`.
    pub id: String,
    /// One line.
    pub title: String,
    /// The paper whose claims it answers, where it belongs to one.
    pub paper: Option<String>,
    /// What is done and measured, for `experiment show`.
    #[serde(default)]
    pub about: String,
    /// How many seeds by default, from 1 on.
    #[serde(default = "ten")]
    pub seeds: u64,
    /// What is run.
    pub run: Run,
    /// What is measured.
    #[serde(default, rename = "metric")]
    pub metrics: Vec<MetricSpec>,
    /// How it is drawn.
    #[serde(default, rename = "figure")]
    pub figures: Vec<FigureSpec>,
}

const fn ten() -> u64 {
    10
}

/// What an experiment runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Run {
    /// Transfers of one object from a source to a sink, over many routes.
    Transfers(Box<Transfers>),
}

/// Transfers over routes drawn at random.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Testbed, by name or file.
    pub testbed: String,
    /// Routes drawn per seed.
    #[serde(default = "twenty")]
    pub routes: u32,
    /// Which routes are drawn.
    #[serde(default)]
    pub route: RouteSpec,
    /// Pipeline channels, the set that stages take turns with.
    #[serde(default = "clean_channels")]
    pub channels: Vec<u8>,
    /// Payload bytes of a packet, 1..=118; more than one value sweeps.
    #[serde(default = "full_payload")]
    pub payload: Vec<u8>,
    /// Packets of the object, all full.
    #[serde(default = "five_hundred")]
    pub packets: u32,
    /// Bytes of the object, instead of `packets`.
    pub bytes: Option<u32>,
    /// Protocols, each over the same routes.
    pub protocols: Vec<String>,
    /// Highest number of node-distinct paths; more than one value sweeps.
    #[serde(default)]
    pub max_paths: Vec<usize>,
}

const fn twenty() -> u32 {
    20
}
const fn five_hundred() -> u32 {
    500
}
fn clean_channels() -> Vec<u8> {
    vec![15, 20, 25, 26]
}
fn full_payload() -> Vec<u8> {
    vec![118]
}

/// Which routes are drawn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteSpec {
    /// Fewest hops.
    pub min_hops: usize,
    /// Most hops.
    pub max_hops: usize,
    /// Fewest node-distinct paths.
    pub min_paths: usize,
    /// Source and sink on different floors.
    pub floors: Floors,
}

/// Whether source and sink may share a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Floors {
    /// Any two nodes.
    Any,
    /// Two floors.
    Different,
}

impl Default for RouteSpec {
    fn default() -> Self {
        Self { min_hops: 2, max_hops: 6, min_paths: 6, floors: Floors::Different }
    }
}

/// A figure over an experiment's rows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Its file's stem.
    pub name: String,
    /// Title.
    pub title: String,
    /// Column of the horizontal axis, and its label.
    pub x: Axis,
    /// Column of the vertical axis, and its label.
    pub y: Axis,
    /// Column that tells series apart.
    #[serde(default)]
    pub series: Option<String>,
    /// Kind of marks.
    #[serde(default)]
    pub mark: Mark,
    /// Only rows of the first seed (a figure of single routes), or the mean over all.
    #[serde(default)]
    pub over: Over,
    /// Values of the paper, drawn as dashed lines.
    #[serde(default)]
    pub reference: Vec<ReferenceLine>,
}

/// An axis.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The rows' column.
    pub column: String,
    /// Its label with unit.
    pub label: String,
}

/// Kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Bars beside each other.
    #[default]
    Bars,
    /// Points joined by lines.
    Lines,
}

/// Which rows a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The first seed's.
    FirstSeed,
    /// All seeds', averaged where the horizontal value is the same.
    #[default]
    Mean,
}

/// A value of the paper on the vertical axis.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceLine {
    /// Its label.
    pub label: String,
    /// Its value.
    pub value: f64,
}

/// Why an experiment's file is none.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// There is neither a built-in experiment nor a file of that name.
    #[error("no experiment and no file is called {0:?}; `thalweg experiment list` names what there is")]
    Unknown(String),
    /// The file cannot be read.
    #[error("{path}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// The file is no experiment.
    #[error("{path}: {why}")]
    Malformed {
        /// The file, or the built-in experiment's id.
        path: PathBuf,
        /// Place and expectation, on one line.
        why: String,
    },
}

macro_rules! built_in {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../experiments/", $path)))),*]
    };
}

/// The built-in experiments' files.
const BUILT_IN: &[(&str, &str)] = built_in!["p3/fig5.toml", "p3/fig7.toml", "p3/degrade.toml"];

impl Experiment {
    /// The built-in experiments, by file.
    ///
    /// # Errors
    /// [`SpecError::Malformed`], which a test rules out.
    pub fn built_in() -> Result<Vec<Self>, SpecError> {
        BUILT_IN.iter().map(|(path, text)| Self::parse(Path::new(path), text)).collect()
    }
    /// The built-in experiment of that id, or the one in the file of that name.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn load(name: &str) -> Result<Self, SpecError> {
        if let Some(found) = Self::built_in()?.into_iter().find(|e| e.id == name) {
            return Ok(found);
        }
        let path = Path::new(name);
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                Err(SpecError::Unknown(name.to_owned()))
            }
            Err(why) => Err(SpecError::Unreadable { path: path.to_owned(), why }),
        }
    }
    /// The experiment that `text` describes.
    ///
    /// # Errors
    /// [`SpecError::Malformed`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, SpecError> {
        let malformed = |why: String| SpecError::Malformed { path: path.to_owned(), why };
        let experiment: Self = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(0, |s| text[..s.start.min(text.len())].matches('\n').count() + 1);
            malformed(format!("line {line}: {}", e.message().replace('\n', " ")))
        })?;
        experiment.check().map_err(malformed)?;
        Ok(experiment)
    }
    fn check(&self) -> Result<(), String> {
        let Run::Transfers(t) = &self.run;
        let in_range = |what: &str, ok: bool, range: &str| {
            if ok {
                Ok(())
            } else {
                Err(format!("run.{what}: expected {range}"))
            }
        };
        in_range("routes", (1..=10_000).contains(&t.routes), "1 to 10000")?;
        in_range("packets", (1..=16_384).contains(&t.packets), "1 to 16384")?;
        in_range("payload", !t.payload.is_empty() && t.payload.iter().all(|p| (1..=118).contains(p)), "values from 1 to 118")?;
        in_range("channels", !t.channels.is_empty() && t.channels.iter().all(|c| Channel::new(*c).is_ok()), "channels from 11 to 26")?;
        in_range("protocols", !t.protocols.is_empty(), "at least one protocol")?;
        in_range("max_paths", t.max_paths.iter().all(|m| (1..=20).contains(m)), "values from 1 to 20")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_experiments_are_well_formed_and_named_after_their_files() {
        for ((path, _), e) in BUILT_IN.iter().zip(Experiment::built_in().unwrap()) {
            assert_eq!(format!("{}.toml", e.id.replace('.', "/")), *path);
        }
    }

    #[test]
    fn nonsense_is_one_line_that_names_file_and_place() {
        for (text, wanted) in [
            ("", "missing field `id`"),
            ("id = 3", "line 1"),
            ("id='x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=[]", "run.protocols"),
            ("id='x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=['p3']\npayload=[119]", "1 to 118"),
            ("id='x'\ntitle='t'\ncolour=1\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=['p3']", "colour"),
        ] {
            let e = Experiment::parse(Path::new("mine.toml"), text).unwrap_err().to_string();
            assert!(e.starts_with("mine.toml: ") && e.contains(wanted) && !e.contains('\n'), "{e}");
        }
        assert!(Experiment::load("no-such").unwrap_err().to_string().contains("experiment list"));
    }
}
