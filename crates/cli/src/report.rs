//! The page of `reproduce --report`, written again after each result. Tests: below, `tests/all/report.rs`.

use std::env;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use thalweg_lab::experiment::{Experiment, Page, Report};

use crate::failure::Failure;
use crate::output::write_file;

/// A page on the way.
pub(crate) struct ReportPage {
    file: PathBuf,
    command: String,
    /// The folder of rows as seen from the page's.
    rows: Option<String>,
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
        }
    }

    /// Writes the page of `reports`, with `to_come` after them.
    pub(crate) fn write(&self, reports: &[Report], to_come: &[Experiment]) -> Result<(), Failure> {
        let page = Page {
            reports,
            to_come,
            command: &self.command,
            rows: self.rows.as_deref(),
        };
        write_file(&self.file, &page.html())
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
