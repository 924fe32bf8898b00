//! What holds for prose: pages are in the index, links lead somewhere, sentences are short, what is named exists.
//!
//! Prose is what is neither code (fenced, or indented by four), table, heading, nor under the heading `Papers`.
//! A blank line or an item of a list ends a sentence. So does a word that ends with `.`, `?` or `!`, quotes and
//! brackets after the sign aside. Words stand between spaces and have a letter or a digit; a code span is one.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A sentence has fewer words.
const LONG: usize = 30;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below `folder`, without hidden folders, what cargo builds, and links to other folders of the repository (by
/// which a crate's package has data that lies beside the crates).
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "target" || name.starts_with('.') || path.is_symlink() {
            continue;
        }
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// The files below `folder` whose names end with `.ending`.
fn files_of(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = files(folder);
    found.retain(|path| path.extension().is_some_and(|e| e == ending));
    found
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    files_of(folder, "md")
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

/// `text` after its first empty line.
fn after_opening(text: &str) -> &str {
    text.split_once("\n\n").unwrap().1
}

#[test]
fn examples_are_shown_as_they_are_built() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let vibration = read("firmware/examples/vibration.rs");
    let shown = format!("```rust\n{}```\n", after_opening(&vibration));
    assert!(read("docs/motes.md").contains(&shown));
    // Its engine, without the network around it.
    let relay = read("crates/engine/examples/relay.rs");
    let engine = after_opening(after_opening(&relay));
    let engine = engine.split("\nfn main").next().unwrap();
    assert!(read("docs/site/first-mote.md").contains(&format!("```rust\n{engine}```\n")));
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

/// Pages of history: they name what is gone.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/dropped.md"];

/// Endings of files that prose names.
const ENDINGS: [&str; 10] = [
    ".rs", ".toml", ".md", ".py", ".svg", ".sh", ".cc", ".yml", ".run", ".lock",
];

/// Names in backticks that others define: Rust's library, MQTT, Python's.
const FOREIGN: [&str; 3] = ["HashMap", "BadUserNamePassword", "ValueError"];

/// What stands within backticks in each of `paragraphs`; lists in braces one by one.
fn spans<'a>(paragraphs: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found = Vec::new();
    for span in paragraphs.flat_map(|p| p.split('`').skip(1).step_by(2)) {
        let span = span.split_whitespace().collect::<Vec<_>>().join(" ");
        let list = span.split_once('{').and_then(|(before, rest)| {
            let (list, after) = rest.split_once('}')?;
            Some((before, list, after))
        });
        match list {
            Some((before, list, after)) => {
                let each = list
                    .split(',')
                    .map(|one| format!("{before}{}{after}", one.trim()));
                found.extend(each);
            }
            None => found.push(span),
        }
    }
    found
}

/// The spans of a page.
fn spans_of_page(page: &Path) -> Vec<String> {
    let text = text(page).join("\n");
    spans(text.split("\n\n"))
}

/// Whether `span` looks like a path in this repository.
fn is_path(span: &str, folders: &HashSet<String>) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    // An absolute path, or a placeholder such as `PAPER.toml`, is none.
    let placeholder = |part: &str| {
        let stem = part.split('.').next().unwrap_or(part);
        stem.len() > 1 && stem.chars().all(|c| c.is_uppercase()) && stem != "README"
    };
    let named = ENDINGS
        .iter()
        .any(|e| span.ends_with(e) && span.len() > e.len());
    let below = span
        .split_once('/')
        .is_some_and(|(first, _)| first == "tests" || folders.contains(first));
    (named || below)
        && span.chars().all(plain)
        && !span.starts_with('/')
        && !span.split('/').any(placeholder)
}

/// The paths of files and folders of the repository, from its root, and the folders at its root.
fn tree() -> (HashSet<String>, HashSet<String>) {
    let (mut all, mut top) = (HashSet::new(), HashSet::new());
    for file in files(&root()) {
        let path = file.strip_prefix(root()).unwrap().to_str().unwrap();
        let ends = path.match_indices('/').map(|(at, _)| at);
        all.extend(ends.map(|at| path[..at].to_owned()));
        top.extend(path.split_once('/').map(|(first, _)| first.to_owned()));
        all.insert(path.to_owned());
    }
    (all, top)
}

/// Whether `path`, named in the file `by`, is there: below a folder that `by` is in, below its module's own folder, or
/// anywhere. A name without a folder is not looked for elsewhere, but below a page's folder; nor are a crate's tests.
fn is_there(path: &str, by: &str, all: &HashSet<String>) -> bool {
    if path.starts_with('.') && !path.starts_with("..") {
        return root().join(path).exists();
    }
    let module = by.strip_suffix(".rs").unwrap_or(by);
    let folders = Path::new(by).ancestors().skip(1).filter_map(Path::to_str);
    let mut places = [module].into_iter().chain(folders).map(|folder| {
        let mut place: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(place.pop()),
                part => place.push(part),
            }
        }
        place.join("/")
    });
    let within = match path.contains('/') {
        true if by.ends_with(".rs") && path.starts_with("tests/") => None,
        true => Some(""),
        false => by
            .ends_with(".md")
            .then(|| by.rsplit_once('/').map_or("", |(folder, _)| folder)),
    };
    let ending = format!("/{}", path.trim_end_matches('/'));
    let elsewhere = |folder| {
        all.iter()
            .any(|there| there.starts_with(folder) && there.ends_with(&ending))
    };
    places.any(|place| all.contains(&place)) || within.is_some_and(elsewhere)
}

/// Those paths among `spans`, which stand in the file `by`, that are not there.
fn missing_files(by: &Path, spans: &[String], tree: &(HashSet<String>, HashSet<String>)) -> String {
    let by = by.strip_prefix(root()).unwrap().to_str().unwrap();
    let (all, folders) = tree;
    let paths = spans.iter().filter(|span| is_path(span, folders));
    let missing = paths.filter(|path| !is_there(path, by, all));
    missing.map(|path| format!("{by}: {path}\n")).collect()
}

/// The pages that name what is there now.
fn pages_of_today() -> Vec<PathBuf> {
    let history = HISTORY.map(|page| root().join(page));
    let mut pages = pages(&root());
    pages.retain(|page| !history.contains(page));
    pages
}

#[test]
fn files_that_pages_name_exist() {
    let tree = tree();
    let pages = pages_of_today();
    let missing = pages
        .iter()
        .map(|page| missing_files(page, &spans_of_page(page), &tree));
    let missing: String = missing.collect();
    assert!(missing.is_empty(), "named, but not there:\n{missing}");
}

#[test]
fn files_that_sources_name_exist() {
    let tree = tree();
    let missing = files_of(&root(), "rs").into_iter().map(|source| {
        let text = fs::read_to_string(&source).unwrap();
        let opening = text.lines().map_while(|line| line.strip_prefix("//!"));
        let opening = opening.collect::<Vec<_>>().join("\n");
        missing_files(&source, &spans(opening.split("\n\n")), &tree)
    });
    let missing: String = missing.collect();
    assert!(missing.is_empty(), "named, but not there:\n{missing}");
}

/// The names that the sources define: items, fields, variants, modules, crates; Python's classes.
fn defined() -> HashSet<String> {
    const ITEMS: [&str; 9] = [
        "fn",
        "struct",
        "enum",
        "trait",
        "const",
        "static",
        "type",
        "mod",
        "macro_rules!",
    ];
    let mut names = HashSet::new();
    for source in files_of(&root(), "rs") {
        for line in fs::read_to_string(&source).unwrap().lines() {
            let line = line.split("//").next().unwrap_or(line).trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            for pair in words.windows(2).filter(|pair| ITEMS.contains(&pair[0])) {
                names.extend(identifiers(pair[1]).next().map(str::to_owned));
            }
            // A field or a variant begins its line.
            let rest = line
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub ");
            if let Some(name) = identifiers(rest)
                .next()
                .filter(|name| rest.starts_with(name))
            {
                let after = rest[name.len()..].trim_start();
                let variant = name.starts_with(char::is_uppercase)
                    && (after.is_empty() || after.starts_with([',', '{', '(', '=']));
                let field = after.starts_with(':') && !after.starts_with("::");
                names.extend((variant || field).then(|| name.to_owned()));
            }
        }
    }
    for source in files_of(&root().join("python"), "py") {
        let text = fs::read_to_string(&source).unwrap();
        let classes = text.lines().filter_map(|line| line.strip_prefix("class "));
        names.extend(classes.filter_map(|rest| Some(identifiers(rest).next()?.to_owned())));
    }
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        names.extend([format!("thalweg_{name}"), name]);
    }
    names
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.filter(|part| part.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Whether `span` looks like a path or a type in Rust: `a::b`, `LinkState`, `Answer(Clear)`.
fn is_rust(span: &str) -> bool {
    let name = |c: char| c.is_alphanumeric() || c == '_';
    let camel = |word: &str| {
        word.chars().filter(|c| c.is_uppercase()).count() >= 2
            && word.starts_with(char::is_uppercase)
            && word.contains(char::is_lowercase)
            && word.chars().all(char::is_alphanumeric)
    };
    let head = span.split(['<', '(']).next().unwrap_or(span);
    let call = span.ends_with(')')
        && head.starts_with(char::is_uppercase)
        && head.contains(char::is_lowercase);
    let path = span
        .split_once("::")
        .is_some_and(|(a, b)| a.ends_with(name) && b.starts_with(name));
    let plain = span.chars().all(|c| name(c) || ":<>(), '&".contains(c));
    plain && (path || camel(head) || (call && head.chars().all(name)))
}

#[test]
fn types_and_functions_that_pages_name_exist() {
    let defined = defined();
    let mut missing = String::new();
    for page in pages_of_today() {
        for span in spans_of_page(&page).iter().filter(|span| is_rust(span)) {
            for name in identifiers(span).filter(|name| name.len() > 1) {
                if !defined.contains(name) && !FOREIGN.contains(&name) {
                    let page = page.strip_prefix(root()).unwrap().display();
                    let _ = writeln!(missing, "{page}: {name} in {span}");
                }
            }
        }
    }
    assert!(missing.is_empty(), "named, but not defined:\n{missing}");
}
