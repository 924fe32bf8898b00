//! The page and the tables of `run` and `reproduce`: what a reader needs is there, on the way too.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn thalweg(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("thalweg").unwrap();
    let output = command.current_dir(folder).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

const SWEEP: &str = "
id = 'mine'
title = 'P3 and PIP on a line'
[run]
kind = 'transfers'
testbed = 'line5'
routes = 1
packets = 10
payload = [50, 100]
protocols = ['p3', 'pip']
route = { min_hops = 2, max_hops = 4, min_paths = 1, floors = 'any' }
[[metric]]
name = 'goodput'
of = 'goodput_kbps'
stat = 'mean'
unit = 'kbit/s'
best = 'most'
by = ['protocol', 'payload']
[[metric]]
name = 'nobody'
of = 'hops'
stat = 'mean'
where = { protocol = 'p5' }
[[figure]]
name = 'one'
title = 'One'
x = { column = 'payload', label = 'Payload (B)' }
y = { column = 'goodput_kbps', label = 'Goodput (kbit/s)' }
series = 'protocol'
mark = 'lines'
where = { payload = 50 }
";

#[test]
fn what_is_compared_stands_beside_each_other() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine.toml"), SWEEP).unwrap();
    let args = ["run", "mine.toml", "--seeds", "1..2", "--out", "o"];
    let (status, text, errors) = thalweg(dir.path(), &args);
    assert_eq!(status, 0, "{errors}");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let starts = |start: &str| lines.iter().filter(|l| l.starts_with(start)).count();
    let words = |start: &str| -> Vec<&str> {
        let line = lines.iter().find(|l| l.starts_with(start)).unwrap();
        line.split_whitespace().collect()
    };
    assert_eq!(words("by protocol"), ["by", "protocol", "p3", "pip"]);
    assert_eq!(words("payload 100").len(), 4, "{text}");
    assert_eq!(
        (starts("goodput, kbit/s"), starts("rank")),
        (1, 2),
        "{text}"
    );
    let silent = "nobody: nothing: no row has protocol p5; protocol is p3, pip";
    assert_eq!(
        (
            starts("nobody: of 0 of 8 rows (protocol p5)"),
            starts(silent)
        ),
        (1, 1),
        "{text}"
    );
    let figure = fs::read_to_string(dir.path().join("o/one.svg")).unwrap();
    assert!(figure.contains("2 seeds, 4 of 8 rows (payload 50)"));
}

#[test]
fn the_page_says_how_it_was_made() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "reproduce",
        "--seeds",
        "1..2",
        "cit.bounds",
        "ff.bounds",
        "--report",
        "my page",
        "--out",
        "rows",
    ];
    let (status, _, errors) = thalweg(dir.path(), &args);
    assert_eq!(status, 0, "{errors}");
    let page = fs::read_to_string(dir.path().join("my page/index.html")).unwrap();
    let command =
        "thalweg reproduce --seeds 1..2 cit.bounds ff.bounds --report 'my page' --out rows";
    for wanted in [command, env!("CARGO_PKG_VERSION"), "seeds 1 to 2"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    for file in ["rows.csv", "rows.json", "results.json"] {
        let link = format!("../rows/ff.bounds/{file}");
        assert!(page.contains(&format!("href=\"{link}\"")), "{link}");
        assert!(dir.path().join("my page").join(link).is_file());
    }
    let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what}"));
    // Contents, then all results in one table, then each result.
    assert!(
        place("<nav") < place("id=\"papers\"") && place("id=\"papers\"") < place("<h2 id=\"cit")
    );
    assert!(!page.contains("<link") && !page.contains(" src=") && !page.contains("<script"));
}

#[test]
fn variants_have_a_table_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "reproduce",
        "p3.fig5",
        "--quick",
        "--seeds",
        "1",
        "--report",
        "page",
    ];
    assert_eq!(thalweg(dir.path(), &args).0, 0);
    let page = fs::read_to_string(dir.path().join("page/index.html")).unwrap();
    let section = page.split("<h2 id=\"p3.fig5\">").nth(1).unwrap();
    let (papers, variants) = section.split_once("Variants, which").unwrap();
    let heading = |name: &str| format!("<th class=\"n\">{name}</th>");
    assert!(papers.contains(&heading("pip")) && !papers.contains(&heading("p3-best")));
    assert!(variants.contains(&heading("p3-best")) && !variants.contains(&heading("pip")));
    let picture = papers.find("<figure").unwrap();
    assert!(picture < papers.find("<table").unwrap());
}

#[test]
fn a_papers_page_is_made_of_kept_rows_and_keeps_what_was_known() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| thalweg(dir.path(), args);
    let read = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
    let first = [
        "reproduce",
        "ff.bounds",
        "--report",
        "page",
        "--out",
        "rows",
    ];
    assert_eq!(run(&first).0, 0);
    let page = read("page/fastforward.md");
    let line = "| bound (transceivers 1) | 117.4 kbit/s | 117.4 | 116.2 to 118.6 | within |";
    assert!(page.contains(line), "{page}");
    assert!(
        page.contains("`thalweg run ff.bounds`: seed 1, 2 rows"),
        "{page}"
    );
    // The same rows give the same page; of another result of the paper there are none yet.
    let again = [
        "reproduce",
        "fastforward",
        "--rows",
        "rows",
        "--report",
        "again",
    ];
    let (status, _, errors) = run(&again);
    assert_eq!(status, 0, "{errors}");
    assert_eq!(read("again/fastforward.md"), page);
    // What comes later stands beside what was there, with its figures.
    let later = ["reproduce", "ff.twostreams", "--quick", "--report", "page"];
    assert_eq!(run(&later).0, 0);
    let page = read("page/fastforward.md");
    assert!(page.contains(line) && page.contains("`thalweg reproduce ff.twostreams --quick`"));
    let cit = [
        "reproduce",
        "cit.fig6",
        "--seeds",
        "1..2",
        "--report",
        "page",
    ];
    assert_eq!(run(&cit).0, 0);
    assert!(read("page/cit.md").contains("](cit/cit.fig6-fig6.svg)"));
    assert!(read("page/cit/cit.fig6-fig6.svg").starts_with("<svg"));
}

#[test]
fn rows_and_pages_of_something_else_are_refused_in_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &[&str]| {
        let (status, _, errors) = thalweg(dir.path(), args);
        assert_eq!((status, errors.lines().count()), (2, 1), "{errors}");
        errors
    };
    let rows = |folder: &str| refused(&["reproduce", "ff.bounds", "--rows", folder]);
    assert!(rows("nowhere").contains("holds none of these results"));
    let folder = dir.path().join("rows/ff.bounds");
    fs::create_dir_all(&folder).unwrap();
    assert!(rows("rows").contains("manifest.json: cannot be read"));
    fs::write(folder.join("manifest.json"), "{}").unwrap();
    assert!(rows("rows").contains("not as --out writes it"));
    let run = ["run", "ff.bounds", "--out", "rows/ff.bounds", "--force"];
    assert_eq!(thalweg(dir.path(), &run).0, 0);
    let manifest = folder.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(
        &manifest,
        text.replace("\"data_bytes\": 133", "\"data_bytes\": 99"),
    )
    .unwrap();
    assert!(rows("rows").contains("holds rows of data_bytes = 99"));
    // A page of somebody else's stays.
    fs::create_dir_all(dir.path().join("page")).unwrap();
    fs::write(dir.path().join("page/fastforward.md"), "# Mine\n").unwrap();
    let page = ["reproduce", "ff.bounds", "--report", "page"];
    assert!(refused(&page).contains("is not a page of this program"));
}
