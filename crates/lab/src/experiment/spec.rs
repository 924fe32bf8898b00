//! Experiments as data: one TOML file each, built in from `experiments/` or given by path.

use super::kind::number;
use super::run::{Run, RunOption};
use crate::results::{Claims, ClaimsError, FigureSpec, MetricSpec};
use serde::Deserialize;
use std::path::{Path, PathBuf};

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
    #[serde(default = "number::<10, _>")]
    pub seeds: u64,
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

/// A smaller run, for continuous integration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quick {
    /// Seeds, from 1 on.
    pub seeds: u64,
    /// Routes (or links) of each; none leaves the run's own.
    pub routes: Option<u32>,
}

impl Default for Quick {
    fn default() -> Self {
        Self {
            seeds: 2,
            routes: None,
        }
    }
}

/// Why an experiment's file is none.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// There is neither a built-in experiment nor a file of that name.
    #[error(
        "no experiment and no file is called {0:?}; `thalweg experiment list` names what there is"
    )]
    Unknown(String),
    /// The file is no experiment, or cannot be read.
    #[error("{path}: {why}")]
    Malformed {
        /// The file, or the built-in experiment's id.
        path: PathBuf,
        /// Place and expectation, on one line.
        why: String,
    },
    /// What a paper claims is malformed.
    #[error(transparent)]
    Claims(#[from] ClaimsError),
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
                path: path.to_owned(),
                why: format!("cannot be read: {why}"),
            }),
        }
    }
    /// The experiment that `text` describes.
    ///
    /// # Errors
    /// [`SpecError::Malformed`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, SpecError> {
        let malformed = |why: String| SpecError::Malformed {
            path: path.to_owned(),
            why,
        };
        let mut experiment: Self = toml::from_str(text).map_err(|e| {
            let message = e.message().replace('\n', " ");
            // An error inside `[run]` comes without a place: which keys are allowed depends on `kind`.
            let start = e.span().map_or(0, |span| span.start);
            malformed(
                match text
                    .get(..start)
                    .filter(|_| (1..text.len()).contains(&start))
                {
                    Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
                    None => message,
                },
            )
        })?;
        experiment.check().map_err(malformed)?;
        text.clone_into(&mut experiment.text);
        Ok(experiment)
    }
    fn check(&self) -> Result<(), String> {
        let named = |id: &str| !id.is_empty() && !id.contains(['/', '\\', '\0']);
        if !named(&self.id) {
            return Err("id: expected a name without slashes".to_owned());
        }
        if let Some(FigureSpec { name, .. }) = self.figures.iter().find(|f| !named(&f.name)) {
            return Err(format!("figure {name:?}: expected a name without slashes"));
        }
        if !(1..=10_000).contains(&self.seeds) || !(1..=10_000).contains(&self.quick.seeds) {
            return Err("seeds: expected 1 to 10000".to_owned());
        }
        if let Some(routes) = self.quick.routes {
            let mut run = self.run.clone();
            let drawn = run.take(RunOption::Routes(routes));
            drawn.map_err(|_| "quick.routes: this kind of run draws none".to_owned())?;
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

    #[test]
    fn nonsense_is_one_line_that_names_file_and_place() {
        for (text, wanted) in [
            ("", "missing field `id`"),
            ("title = 't'\nid = 3", "line 2"),
            ("id='x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=[]", "run.protocols"),
            ("id='x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=['p3']\npayload=[119]", "1 to 118"),
            ("id='x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=['p4']", "p4"),
            ("id='x'\ntitle='t'\n[run]\nkind='dance'", "dance"),
            ("id='x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=['p3']\nspeed=1", "speed"),
            ("id='../x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=['p3']", "slashes"),
            ("id='x'\ntitle='t'\ncolour=1\n[run]\nkind='transfers'\ntestbed='pair'\nprotocols=['p3']", "colour"),
        ] {
            let e = Experiment::parse(Path::new("mine.toml"), text).unwrap_err().to_string();
            assert!(e.starts_with("mine.toml: ") && e.contains(wanted) && !e.contains('\n'), "{e}");
        }
        let unknown = Experiment::load("no-such").unwrap_err().to_string();
        assert!(unknown.contains("experiment list"));
    }
}
