//! Experiments as data: one TOML file each, built in from `experiments/` or given by path.

use super::keys::{set, unknown_key};
use super::place::{steps, Document, Step};
use super::run::{Run, RunOption};
use crate::results::{unknown, Claims, ClaimsError, ColumnUse, FigureSpec, MetricSpec};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::{Table, Value};

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
    /// How many seeds by default.
    #[serde(default = "ten")]
    pub seeds: u64,
    /// The first of them (1): those before it served a choice, so that what is judged played no part in it.
    #[serde(default = "one")]
    pub first_seed: u64,
    /// Processor time that one seed takes on one core, in seconds, as `bench/costs.py` measured it.
    pub cpu_s: Option<f64>,
    /// The subset for continuous integration.
    #[serde(default)]
    pub quick: Quick,
    /// What is run.
    pub run: Run,
    /// What is measured.
    #[serde(default, rename = "metric")]
    pub metrics: Vec<MetricSpec>,
    /// How it is drawn.
    #[serde(default, rename = "figure")]
    pub figures: Vec<FigureSpec>,
    /// The file's text.
    #[serde(skip)]
    pub text: String,
}

const fn ten() -> u64 {
    10
}
const fn one() -> u64 {
    1
}

/// A smaller run, for continuous integration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quick {
    /// Seeds, from the experiment's first on.
    pub seeds: u64,
    /// Routes (or links) of each; none leaves the run's own.
    pub routes: Option<u32>,
    /// When it is taken.
    pub taken: Taken,
}

/// When an experiment is of the quick subset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taken {
    /// Always.
    #[default]
    Always,
    /// Where its id is named: one seed alone takes longer than most other experiments together.
    ByName,
}

impl Default for Quick {
    fn default() -> Self {
        Self {
            seeds: 2,
            routes: None,
            taken: Taken::Always,
        }
    }
}

/// Why an experiment's file is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There is neither a built-in experiment nor a file of that name.
    #[error(
        "no experiment and no file is called {0:?}; `thalweg experiment list` names what there is"
    )]
    Unknown(String),
    /// It is no experiment, or cannot be read.
    #[error("{}{why}", place_of(.file, .line, .key))]
    Malformed {
        /// The file, or the built-in experiment's id; none where what is wrong is in no file.
        file: Option<PathBuf>,
        /// Line of the text, from 1 on; none of values that did not come as text.
        line: Option<usize>,
        /// The key, after the tables that it is in, as `run.payload`; none where it is no key's.
        key: Option<String>,
        /// What was expected, on one line.
        why: String,
    },
    /// What a paper claims is malformed.
    #[error(transparent)]
    Claims(#[from] ClaimsError),
}

/// What stands before an error: file, line and key, as far as they are known.
fn place_of(file: &Option<PathBuf>, line: &Option<usize>, key: &Option<String>) -> String {
    let file = file.as_ref().map(|file| format!("{}: ", file.display()));
    let line = line.map(|line| format!("line {line}: "));
    let key = key.as_ref().map(|key| format!("{key}: "));
    [file, line, key].into_iter().flatten().collect()
}

impl SpecError {
    /// The same in `path`.
    fn in_file(mut self, path: &Path) -> Self {
        if let Self::Malformed { file, .. } = &mut self {
            *file = Some(path.to_owned());
        }
        self
    }
    /// The same of values without a text.
    fn without_text(mut self) -> Self {
        if let Self::Malformed { line, .. } = &mut self {
            *line = None;
        }
        self
    }
    /// The key at fault, after the tables that it is in, as `run.payload`.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Malformed { key, .. } => key.as_deref(),
            Self::Unknown(_) | Self::Claims(_) => None,
        }
    }
}

/// The built-in experiments: the files in `experiments/`, by name.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

impl Experiment {
    /// The built-in experiments, paper by paper: first the results that the paper's file names, in its
    /// order, then the others by name.
    ///
    /// # Errors
    /// [`SpecError::Malformed`] and [`SpecError::Claims`], which tests rule out.
    pub fn built_in() -> Result<Vec<Self>, SpecError> {
        let parse = |(path, text): &(&str, &str)| Self::parse(Path::new(path), text);
        let mut all: Vec<Self> = BUILT_IN.iter().map(parse).collect::<Result<_, _>>()?;
        for of_paper in all.chunk_by_mut(|a, b| a.paper == b.paper) {
            let paper = of_paper.first().and_then(|e| e.paper.clone());
            let claims = Claims::of_paper(&paper.unwrap_or_default())?.claims;
            let place = |e: &Self| claims.iter().position(|c| c.id == e.id);
            of_paper.sort_by_key(|e| place(e).unwrap_or(usize::MAX));
        }
        Ok(all)
    }
    /// The claims of its paper that count when it runs with `options`: a paper's are about its own network.
    ///
    /// # Errors
    /// [`ClaimsError`], which a test rules out.
    pub fn claims(&self, options: &[RunOption]) -> Result<Claims, ClaimsError> {
        let is_other = |o: &RunOption| {
            use RunOption::{ControlChannel, Loss, Testbed};
            matches!(o, Testbed(_) | ControlChannel(_) | Loss)
        };
        match options.iter().any(is_other) {
            true => Ok(Claims::default()),
            false => Claims::of_paper(self.paper.as_deref().unwrap_or_default()),
        }
    }
    /// Whether it is in the quick subset of the results `named`; none stands for all.
    pub fn is_quick(&self, named: &[String]) -> bool {
        self.quick.taken == Taken::Always || named.contains(&self.id)
    }
    /// The seeds that it runs with by default.
    pub fn default_seeds(&self) -> Vec<u64> {
        (self.first_seed..).take(self.seeds as usize).collect()
    }
    /// The built-in experiment of that id, or the one in the file of that name.
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
            Err(why) => Err(SpecError::Malformed {
                file: Some(path.to_owned()),
                line: None,
                key: None,
                why: format!("cannot be read: {why}"),
            }),
        }
    }
    /// The experiment that `text`, from the file `path`, describes.
    ///
    /// # Errors
    /// [`SpecError::Malformed`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, SpecError> {
        Self::from_str(text).map_err(|error| error.in_file(path))
    }
    /// The same experiment with `changes`: keys, after the tables that they are in, as `run.payload`, and their new
    /// values. Its text is that of a file that says so.
    ///
    /// ```
    /// # use thalweg_lab::experiment::Experiment;
    /// let changes = [("run.payload", [40, 118].to_vec().into()), ("seeds", 5.into())];
    /// let mine = Experiment::load("p3.fig5")?.with(&changes)?;
    /// assert_eq!((mine.id.as_str(), mine.seeds), ("p3.fig5", 5));
    /// let wrong = mine.with(&[("run.payload", 119.into())]).unwrap_err();
    /// assert_eq!(wrong.to_string(), "run.payload: expected 1 to 118");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SpecError::Malformed`], without file and line.
    pub fn with(&self, changes: &[(&str, Value)]) -> Result<Self, SpecError> {
        let malformed = |key: Option<&str>, why: String| SpecError::Malformed {
            file: None,
            line: None,
            key: key.map(str::to_owned),
            why,
        };
        let table = self.text.parse::<Table>();
        let mut table = table.map_err(|why| malformed(None, why.to_string()))?;
        for (key, value) in changes {
            let set = set(&mut table, key, value.clone());
            set.ok_or_else(|| malformed(Some(key), "expected a key in a table".to_owned()))?;
        }
        let text = toml::to_string(&table).map_err(|why| malformed(None, why.to_string()))?;
        Self::from_str(&text).map_err(SpecError::without_text)
    }
    fn check(&self, document: &Document<'_>) -> Result<(), SpecError> {
        let wrong = |steps: &[Step], key: String, why: String| {
            Err(SpecError::Malformed {
                file: None,
                line: Some(document.line_of(steps)),
                key: Some(key),
                why,
            })
        };
        let at = |path: &str, why: String| wrong(&steps(path), path.to_owned(), why);
        let named = |id: &str| !id.is_empty() && !id.contains(['/', '\\', '\0']);
        if !named(&self.id) {
            return at("id", "expected a name without slashes".to_owned());
        }
        for (path, seeds) in [("seeds", self.seeds), ("quick.seeds", self.quick.seeds)] {
            if !(1..=10_000).contains(&seeds) {
                return at(path, "expected 1 to 10000".to_owned());
            }
        }
        if self.first_seed > 1_000_000 {
            return at("first_seed", "expected 0 to 1000000".to_owned());
        }
        if let Some(routes) = self.quick.routes {
            if self.run.clone().take(RunOption::Routes(routes)).is_err() {
                return at("quick.routes", "this kind of run draws none".to_owned());
            }
        }
        let mut names: Vec<&str> = Vec::new();
        for (n, metric) in self.metrics.iter().enumerate() {
            self.check_columns(document, ("metric", n, &metric.name), &metric.columns())?;
            if let Some(why) = metric.unfit_ratio() {
                let key = format!("metric {:?}, ratio", metric.name);
                return wrong(&entry("metric", n, "ratio"), key, why.to_owned());
            }
        }
        for (n, figure) in self.figures.iter().enumerate() {
            let name = figure.name.as_str();
            if !named(name) || names.contains(&name) {
                let why = format!("{name:?}: expected a name of its own without slashes");
                return wrong(&entry("figure", n, "name"), "figure.name".to_owned(), why);
            }
            names.push(name);
            self.check_columns(document, ("figure", n, name), &figure.columns())?;
        }
        Ok(())
    }
    /// Checks that rows may have all columns that entry `n` of `table` uses.
    fn check_columns(
        &self,
        document: &Document<'_>,
        (table, n, name): (&str, usize, &str),
        columns: &[ColumnUse<'_>],
    ) -> Result<(), SpecError> {
        let known = self.run.columns();
        for (key, column) in columns {
            if let Some(why) = unknown(column, &known) {
                return Err(SpecError::Malformed {
                    file: None,
                    line: Some(document.line_of(&entry(table, n, key))),
                    key: Some(format!("{table} {name:?}, {key}")),
                    why,
                });
            }
        }
        Ok(())
    }
    /// Its file as JSON, with what the file leaves to defaults left out.
    pub fn json(&self) -> serde_json::Value {
        // The text was parsed before.
        toml::from_str(&self.text).unwrap_or_default()
    }
    /// The papers' short names among the built-in experiments.
    pub fn papers(experiments: &[Self]) -> Vec<&str> {
        let papers = experiments.iter().filter_map(|e| e.paper.as_deref());
        let mut papers: Vec<&str> = papers.collect();
        papers.dedup();
        papers
    }
}

/// The way to `key` of entry `n` of the list of tables called `table`.
fn entry(table: &str, n: usize, key: &str) -> [Step; 3] {
    let key_of = |key: &str| Step::Key(key.to_owned());
    [key_of(table), Step::Place(n), key_of(key)]
}

impl FromStr for Experiment {
    type Err = SpecError;

    /// The experiment that `text` describes.
    ///
    /// # Errors
    /// [`SpecError::Malformed`], without a file.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let document = Document::new(text);
        let said = toml::from_str(text).map_err(|error| said(&document, &error));
        let mut experiment: Self = said?;
        experiment.check(&document)?;
        text.clone_into(&mut experiment.text);
        Ok(experiment)
    }
}

/// `error` with its line and key.
fn said(document: &Document<'_>, error: &toml::de::Error) -> SpecError {
    let message = error.message().trim_end().replace('\n', " ");
    // Which keys `[run]` may have depends on its kind, which tells the key itself.
    let of_run = message
        .split_once(": ")
        .filter(|(key, _)| key.starts_with("run"));
    let (line, key, why) = match (of_run, error.span()) {
        (Some((key, why)), _) => {
            let line = document.line_of(&steps(key));
            (Some(line), Some(key.to_owned()), why.to_owned())
        }
        (None, Some(span)) => {
            let (line, key) = document.place(&span);
            let unknown = unknown_key(&message).map(|(_, why)| why);
            (Some(line), key, unknown.unwrap_or(message))
        }
        (None, None) => (None, None, message),
    };
    SpecError::Malformed {
        file: None,
        line,
        key,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_experiments_are_well_formed_and_named_after_their_files() {
        for (path, text) in BUILT_IN {
            let e = Experiment::parse(Path::new(path), text).unwrap();
            // An id may shorten its paper's name (`ff.fig5`), a folder does not.
            let paper = e.paper.as_deref().unwrap_or_default();
            let (_, result) = e.id.split_once('.').unwrap();
            assert_eq!(format!("{paper}/{result}"), *path);
        }
    }

    /// What takes longest is left out, unless it is named; the rest always belongs to the quick subset.
    #[test]
    fn the_quick_subset_leaves_out_what_is_taken_by_name() {
        let all = Experiment::built_in().unwrap();
        let find = |id: &str| all.iter().find(|e| e.id == id).unwrap();
        let (long, short) = (find("rcrt.fig1"), find("rcrt.fig10"));
        let named = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        for (asked, has_long) in [(&[][..], false), (&["rcrt"], false), (&["rcrt.fig1"], true)] {
            assert_eq!(long.is_quick(&named(asked)), has_long, "{asked:?}");
            assert!(short.is_quick(&named(asked)), "{asked:?}");
        }
    }
}
