//! The pages in `docs/results`, held against today's experiments and claims without a simulation: what was measured is kept
//! beside each page, and page and tables must be what it gives today. `INSTA_UPDATE=always` writes them again.

use super::paper::PaperResults;
use super::Experiment;
use crate::results::{short, Basis, Claims, Tally};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Whether pages are written instead of compared.
fn writes() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

/// That `path` holds `wanted`; or writes it there.
fn holds(path: &Path, wanted: &str) {
    if writes() {
        fs::write(path, wanted).unwrap();
        return;
    }
    let there = read(path);
    let mut lines = there.lines().zip(wanted.lines()).enumerate();
    if let Some((number, (is, should))) = lines.find(|(_, (is, should))| is != should) {
        let (path, number) = (path.display(), number + 1);
        panic!("{path}, line {number}:\n  is     {is}\n  should {should}\nINSTA_UPDATE=always writes it");
    }
    assert!(there == wanted, "{}: too short or too long", path.display());
}

/// What is kept of each paper, by short name.
fn papers() -> BTreeMap<String, PaperResults> {
    let entries = fs::read_dir(root().join("docs/results")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let kept = paths.filter(|path| path.extension().is_some_and(|e| e == "json"));
    kept.map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let results = serde_json::from_str(&read(&path));
        (
            name,
            results.unwrap_or_else(|why| panic!("{}: {why}", path.display())),
        )
    })
    .collect()
}

#[test]
fn pages_of_papers_are_what_was_measured_beside_todays_claims() {
    let experiments = Experiment::built_in().unwrap();
    let folder = root().join("docs/results");
    let papers = papers();
    assert!(papers.len() > 1);
    for (paper, results) in &papers {
        holds(
            &folder.join(format!("{paper}.md")),
            &results.page(paper, &experiments).unwrap(),
        );
        for kept in &results.results {
            let of_it = experiments.iter().find(|e| e.id == kept.id);
            let of_it = of_it.unwrap_or_else(|| panic!("{paper}: no experiment {}", kept.id));
            assert_eq!(of_it.paper.as_ref(), Some(paper), "{}", kept.id);
            for figure in &of_it.figures {
                let file = format!("{paper}/{}-{}.svg", kept.id, figure.name);
                assert!(folder.join(&file).is_file(), "no docs/results/{file}");
            }
        }
    }
}

/// What `docs/results/tables.toml` has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    table: Vec<Table>,
}

/// A table of another page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    page: String,
    name: String,
    heading: Vec<String>,
    line: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    says: String,
    #[serde(default, rename = "as")]
    form: Form,
    #[serde(default)]
    digits: usize,
    #[serde(default = "one")]
    scale: f64,
    cells: Vec<String>,
}

const fn one() -> f64 {
    1.0
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    #[default]
    Number,
    Share,
}

impl Line {
    fn shown(&self, x: f64) -> String {
        let digits = self.digits;
        let digits_of = |x: f64| {
            let text = format!("{x:.digits$}");
            // What rounds to nothing has no sign.
            let nothing = text.trim_matches(['-', '0', '.']).is_empty();
            let text = if nothing { "0".to_owned() } else { text };
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        };
        match self.form {
            Form::Number => digits_of(x * self.scale),
            Form::Share if x == 1.0 => "all".to_owned(),
            Form::Share => digits_of(100.0 * x) + " %",
        }
    }
}

/// The number that `words` ask for: whose it is, id, metric, and where. None where that experiment is not measured yet.
fn number(
    words: &str,
    papers: &BTreeMap<String, PaperResults>,
    experiments: &[Experiment],
) -> Option<f64> {
    let words: Vec<&str> = words.split(' ').collect();
    let [whose, id, metric, at @ ..] = words.as_slice() else {
        panic!("{words:?}: expected `ours ID METRIC` or `paper ID METRIC`");
    };
    let at: BTreeMap<&str, &str> = at
        .iter()
        .map(|pair| pair.split_once('=').unwrap())
        .collect();
    let is_there = |of: &BTreeMap<String, crate::results::Value>| {
        let given = |(column, value): (&String, &crate::results::Value)| {
            at.get(column.as_str()) == Some(&value.to_string().as_str())
        };
        of.len() == at.len() && of.iter().all(given)
    };
    let found = match *whose {
        "ours" => {
            assert!(
                experiments.iter().any(|e| e.id == *id),
                "no experiment {id}"
            );
            let kept = papers.values().find_map(|paper| paper.of(id))?;
            let is_it = |m: &&crate::results::Measured| m.metric == *metric && is_there(&m.at);
            kept.measured.iter().find(is_it).map(|m| m.value)
        }
        _ => papers.keys().find_map(|paper| {
            let claims = Claims::of_paper(paper).unwrap().claims;
            let mut of_it = claims.iter().filter(|c| c.id == *id && c.metric == *metric);
            of_it.find(|c| is_there(&c.at)).and_then(|c| c.reference)
        }),
    };
    Some(found.unwrap_or_else(|| panic!("nothing is known of {words:?}")))
}

fn row(cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell} |")).collect();
    format!("|{cells}\n")
        .replace("|  |", "| |")
        .replace("|  |", "| |")
}

/// `page` with `text` between the marks called `name`.
fn filled(page: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!--{name}-->\n"), format!("<!--/{name}-->"));
    let (before, rest) = page
        .split_once(&begin)
        .unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
    format!("{before}{begin}{text}{end}{after}")
}

#[test]
fn tables_of_other_pages_are_of_the_same_results() {
    let (papers, experiments) = (papers(), Experiment::built_in().unwrap());
    let tables = read(&root().join("docs/results/tables.toml"));
    let tables: Tables = toml::from_str(&tables).unwrap();
    for table in &tables.table {
        let mut text = row(&table.heading) + "|" + &"---|".repeat(table.heading.len()) + "\n";
        for line in &table.line {
            let cells = line.cells.iter().map(|cell| match cell.split(' ').next() {
                Some("ours" | "paper") => number(cell, &papers, &experiments).map_or_else(
                    || "not yet".to_owned(),
                    // A paper's number has the digits that the paper gives.
                    |x| match (cell.starts_with("paper"), &line.form) {
                        (true, Form::Number) => short(x),
                        _ => line.shown(x),
                    },
                ),
                _ => cell.clone(),
            });
            let cells: Vec<String> = [line.says.clone()].into_iter().chain(cells).collect();
            assert_eq!(cells.len(), table.heading.len(), "{}", line.says);
            text.push_str(&row(&cells));
        }
        let path = root().join(&table.page);
        holds(&path, &filled(&read(&path), &table.name, &text));
    }
}

#[test]
fn the_index_counts_what_each_page_has() {
    let experiments = Experiment::built_in().unwrap();
    let mut text =
        "| results | measured | judged by the paper | by requirements of our own | fitted |\n\
                    |---|---|---|---|---|\n"
            .to_owned();
    for (paper, results) in &papers() {
        let claims = Claims::of_paper(paper).unwrap();
        let of_paper: Vec<&Experiment> = (experiments.iter())
            .filter(|e| e.paper.as_ref() == Some(paper))
            .collect();
        let (mut judged, mut silent) = (Vec::new(), Vec::new());
        for experiment in &of_paper {
            if let Some(kept) = results.of(&experiment.id) {
                let (of_it, unanswered) = kept.judged(experiment, &claims);
                judged.extend(of_it);
                silent.extend(unanswered);
            }
        }
        let tally = Tally::of(&judged, silent);
        let count = |basis| match tally.count(basis) {
            count if count.of == 0 => String::new(),
            count => format!("{} of {}", count.within, count.of),
        };
        let [by_paper, own, fitted] = Basis::ALL.map(count);
        let name = claims.name.as_deref().unwrap_or(paper);
        let (measured, all) = (results.results.len(), of_paper.len());
        let line = format!("[{name}](results/{paper}.md)");
        let measured = format!("{measured} of {all}");
        let _ = write!(text, "{}", row(&[line, measured, by_paper, own, fitted]));
    }
    let path = root().join("docs/results.md");
    holds(&path, &filled(&read(&path), "judged", &text));
}

#[test]
fn a_changed_band_changes_the_page() {
    // What the tests above rest on: a page has each band, and each value of a paper.
    let experiments = Experiment::built_in().unwrap();
    let papers = papers();
    let page = papers["cit"].page("cit", &experiments).unwrap();
    for claim in Claims::of_paper("cit").unwrap().claims {
        let band = claim.span().map(crate::results::span).unwrap_or_default();
        let paper = claim.reference.map(short).unwrap_or_default();
        assert!(
            page.contains(&format!("| {paper} | {band} |")),
            "{} {}",
            claim.id,
            claim.metric
        );
    }
}
