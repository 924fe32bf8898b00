//! What holds for prose: pages are in the index, links lead somewhere, sentences are short.
//!
//! Prose is what is neither code (fenced, or indented by four), table, heading, nor under the heading `Papers`.
//! A blank line or an item of a list ends a sentence. So does a word that ends with `.`, `?` or `!`, quotes and
//! brackets after the sign aside. Words stand between spaces and have a letter or a digit; a code span is one.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A sentence has fewer words.
const LONG: usize = 30;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages below `folder`, without hidden folders and what cargo builds.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(pages(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The lines of `page` that are not code.
fn text(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let mut fenced = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fence && !fenced && !line.starts_with("    ") {
            kept.push(line.to_owned());
        }
    }
    kept
}

/// The files of the repository that `page` links to.
fn links(page: &Path) -> Vec<PathBuf> {
    let text = text(page).join(" ");
    let targets = text.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?;
        let outside = target.contains("://") || target.starts_with('#');
        (!outside).then(|| target.split('#').next().unwrap_or(target))
    });
    let folder = page.parent().unwrap();
    targets.map(|target| folder.join(target)).collect()
}

/// The paragraphs and items of `page` that are prose.
fn prose(page: &Path) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut references = false;
    for line in text(page) {
        if line.starts_with('#') {
            references = line.ends_with(" Papers");
        }
        let line = line.trim();
        let number = line.split_once(". ").map(|(number, _)| number);
        let item = number.is_some_and(|number| number.parse::<u8>().is_ok());
        let other = line.is_empty() || line.starts_with(['#', '|']);
        if other || item || line.starts_with("* ") || line.starts_with("- ") {
            found.push(String::new());
        }
        if let (false, Some(last)) = (other || references, found.last_mut()) {
            last.push_str(line);
            last.push(' ');
        }
    }
    found
}

/// The words of each sentence of `prose`.
fn sentences(prose: &str) -> Vec<Vec<String>> {
    // Every second part is within backquotes.
    let parts = prose.split('`').enumerate().map(|(n, part)| match n % 2 {
        0 => part.to_owned(),
        _ => part.replace(' ', "_"),
    });
    let mut found = vec![Vec::new()];
    for word in parts.collect::<String>().split_whitespace() {
        if word.contains(char::is_alphanumeric) {
            found.last_mut().unwrap().push(word.to_owned());
        }
        let bare = word.trim_end_matches(['"', '\'', ')', ']', '*', '_']);
        if bare.ends_with(['.', '?', '!']) {
            found.push(Vec::new());
        }
    }
    found
}

#[test]
fn the_index_has_every_page_of_docs() {
    let docs = root().join("docs");
    let index = docs.join("README.md");
    let linked: Vec<PathBuf> = links(&index)
        .iter()
        .filter_map(|link| fs::canonicalize(link).ok())
        .collect();
    for page in pages(&docs).iter().filter(|page| **page != index) {
        let known = linked.contains(&fs::canonicalize(page).unwrap());
        assert!(known, "docs/README.md has no link to {}", page.display());
    }
}

#[test]
fn links_lead_to_files() {
    for page in pages(&root()) {
        for link in links(&page) {
            let there = link.exists();
            assert!(there, "{}: no file {}", page.display(), link.display());
        }
    }
}

#[test]
fn sentences_are_short() {
    let mut pages = pages(&root().join("docs"));
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|page| root().join(page)));
    let mut long = String::new();
    for page in pages {
        let words = prose(&page).into_iter().flat_map(|prose| sentences(&prose));
        for words in words.filter(|words| words.len() >= LONG) {
            let (page, count) = (page.display(), words.len());
            let _ = writeln!(long, "{page}: {count} words: {}", words.join(" "));
        }
    }
    assert!(long.is_empty(), "{LONG} words or more:\n{long}");
}
