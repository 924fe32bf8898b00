//! The pages of `reproduce --report`, written again after each result. Tests: below, `tests/all/report.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use thalweg_lab::experiment::{Experiment, Measurement, Page, PaperResults, Report};

use crate::failure::Failure;
use crate::output::write_file;
use crate::outputs::{Kind, Outputs};
use crate::run::make_folder;

/// A page on the way.
pub(crate) struct ReportPage {
    file: PathBuf,
    command: String,
    /// The folder of rows as seen from the page's.
    rows: Option<String>,
    /// Other versions of this program that made rows.
    earlier: BTreeSet<String>,
}

impl ReportPage {
    /// The page in `folder`, of the command that is running; rows go to `out`.
    pub(crate) fn new(folder: &Path, out: Option<&Path>) -> Self {
        let words = env::args_os().skip(1).map(quoted);
        let words: Vec<String> = ["thalweg".to_owned()].into_iter().chain(words).collect();
        let rows = out.and_then(|out| {
            let (from, to) = (folder.canonicalize().ok()?, out.canonicalize().ok()?);
            Some(beside(&from, &to))
        });
        Self {
            file: folder.join("index.html"),
            command: words.join(" "),
            rows,
            earlier: BTreeSet::new(),
        }
    }

    /// Another version of this program made the rows, or some of them.
    pub(crate) fn simulated_by(&mut self, version: &str) {
        self.earlier.insert(version.to_owned());
    }

    /// Writes the page of `reports`, with `to_come` after them.
    pub(crate) fn write(&self, reports: &[Report], to_come: &[Experiment]) -> Result<(), Failure> {
        let earlier: Vec<&str> = self.earlier.iter().map(String::as_str).collect();
        let earlier = (!earlier.is_empty()).then(|| earlier.join(", "));
        let page = Page {
            reports,
            to_come,
            command: &self.command,
            simulated_by: earlier.as_deref(),
            rows: self.rows.as_deref(),
        };
        write_file(&self.file, &page.html())
    }
}

/// A page for each paper, with what earlier runs have measured of its other results.
pub(crate) struct PaperPages {
    folder: PathBuf,
    experiments: Vec<Experiment>,
    papers: BTreeMap<String, PaperResults>,
}

impl PaperPages {
    /// The pages in `folder` of the papers of `wanted`. Nothing is written yet.
    pub(crate) fn open(
        folder: &Path,
        wanted: &[Experiment],
        outputs: &Outputs,
    ) -> Result<Self, Failure> {
        let mut papers = BTreeMap::new();
        for paper in Experiment::papers(wanted) {
            let file = |ending: &str| folder.join(format!("{paper}.{ending}"));
            outputs.check("--report", &file("json"), Kind::Json)?;
            outputs.check("--report", &file("md"), Kind::Markdown)?;
            papers.insert(paper.to_owned(), known(&file("json"))?);
        }
        Ok(Self {
            folder: folder.to_owned(),
            experiments: Experiment::built_in().map_err(Failure::job)?,
            papers,
        })
    }

    /// Writes the page of the paper of `report`, whose rows `version` of this program made.
    pub(crate) fn write(&mut self, report: &Report, version: &str) -> Result<(), Failure> {
        let Some(paper) = report.experiment.paper.as_deref() else {
            return Ok(());
        };
        let known = self.papers.entry(paper.to_owned()).or_default();
        *known = std::mem::take(known).with(Measurement::of(report, version));
        let page = known.page(paper, &self.experiments).map_err(Failure::job)?;
        let json = known.json().map_err(Failure::job)?;
        let figures = self.folder.join(paper);
        make_folder(&figures)?;
        for (name, svg) in &report.figures {
            let file = format!("{}-{name}.svg", report.experiment.id);
            write_file(&figures.join(file), svg)?;
        }
        write_file(&self.folder.join(format!("{paper}.json")), &json)?;
        write_file(&self.folder.join(format!("{paper}.md")), &page)
    }
}

/// What `file` has of earlier runs; nothing where there is no file.
fn known(file: &Path) -> Result<PaperResults, Failure> {
    let refuse = |why: String| Failure::Input(format!("--report {}: {why}", file.display()));
    match fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|why| refuse(format!("not as --report writes it: {why}"))),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(PaperResults::default()),
        Err(why) => Err(refuse(format!("cannot be read: {why}"))),
    }
}

/// `word` as a shell takes it for one.
fn quoted(word: OsString) -> String {
    let word = word.to_string_lossy().into_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The way from folder `from` to `to`, both from the root on, as a link.
fn beside(from: &Path, to: &Path) -> String {
    let common = from.components().zip(to.components());
    let common = common.take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| "..".to_owned());
    let down = to.components().skip(common).filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    let way: Vec<String> = up.chain(down).collect();
    match way.is_empty() {
        true => ".".to_owned(),
        false => way.join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_from_the_page_to_the_rows() {
        let way = |from: &str, to: &str| beside(Path::new(from), Path::new(to));
        assert_eq!(way("/a/page", "/a/rows"), "../rows");
        assert_eq!(way("/a", "/a/b/c"), "b/c");
        assert_eq!(way("/a", "/a"), ".");
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["p3", "my page", "it's"].map(|w| quoted(w.into()));
        assert_eq!(words, ["p3", "'my page'", "'it'\\''s'"]);
    }
}
