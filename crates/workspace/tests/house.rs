//! Which crate and module may use which: crates only those above them, modules none that uses them (`ARCHITECTURE.md`).
//!
//! Imports are read from the source as text: paths that begin with `crate`, `super`, `self` or a child's name,
//! re-exports followed. Tests are left out, and so is what a module shares with its own children.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate and those that it may use, beside `workspace` in build scripts and `features` in tests and wheels.
const FLOORS: [(&str, &str); 22] = [
    ("units", ""),
    ("wire", "units"),
    ("engine", "units wire"),
    ("protocols", "units wire engine"),
    ("nrf52840", "units wire engine protocols"),
    ("planner", "units wire"),
    ("medium", "units wire"),
    ("sim", "units wire engine medium"),
    // It knows no protocol and no driver: what runs on its chips is an image.
    ("emulator", "units medium sim"),
    ("testbeds", "units wire medium sim"),
    ("draw", "units"),
    // Neither sim nor medium nor testbeds: what runs beside a real network simulates none.
    ("host", "units wire engine protocols planner"),
    ("daemon", "units wire engine protocols planner draw host"),
    (
        "simnet",
        "units wire engine protocols nrf52840 planner medium sim emulator testbeds draw host",
    ),
    (
        "fault",
        "units wire engine protocols planner medium sim host simnet",
    ),
    (
        "lab",
        "units wire engine protocols planner medium sim testbeds draw host simnet",
    ),
    (
        "thalweg",
        "units wire engine protocols planner medium sim testbeds draw host simnet lab",
    ),
    (
        "cli",
        "units wire engine protocols planner medium sim testbeds draw host daemon simnet fault lab thalweg emulator nrf52840",
    ),
    (
        PYTHON,
        "units planner medium sim testbeds host simnet lab thalweg features",
    ),
    // What is fuzzed: whatever reads what comes from outside.
    (
        "fuzz",
        "units wire engine protocols testbeds host daemon simnet lab",
    ),
    ("workspace", ""),
    ("features", ""),
];

/// The crate that stands beside its Python half, as seen from the folder of crates.
const PYTHON: &str = "../python";

/// What tests may use beside: a daemon is tried beside simulated networks. All name what has features of its own for
/// tests, so that whatever is tested is built with the same.
const TESTED_WITH: [(&str, &str); 5] = [
    ("daemon", "medium testbeds simnet"),
    // The driver on the chip's model, and what images tell their hosts.
    ("emulator", "wire engine protocols nrf52840"),
    ("testbeds", "engine"),
    ("protocols", "protocols"),
    ("thalweg", "emulator nrf52840"),
];

/// Circles that are still to be cut: crate, folder, and who is in it. Entries go as circles go.
const KNOWN: [(&str, &str, &str); 0] = [];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn crates_use_only_those_above_them() {
    let mut found: Vec<String> = fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .chain([PYTHON.to_owned()])
        .collect();
    found.sort();
    let mut known: Vec<&str> = FLOORS.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(found, known, "every crate has its floor in FLOORS");
    for (name, allowed) in FLOORS {
        let text = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let tested = TESTED_WITH.iter().find(|(of, _)| *of == name);
        let tested = tested.map_or("", |(_, with)| with);
        let tested = format!("{tested} features");
        for (table, beside) in [("dependencies", ""), ("dev-dependencies", &tested)] {
            let used = manifest.get(table).and_then(|t| t.as_table());
            for package in used.into_iter().flat_map(|t| t.keys()) {
                let used = match package.strip_prefix("thalweg-") {
                    Some(used) => used,
                    None if package == "thalweg" => "thalweg",
                    None => continue,
                };
                let fits = allowed
                    .split(' ')
                    .chain(beside.split(' '))
                    .any(|a| a == used);
                assert!(fits, "{name}: {table} has {package}; it may use: {allowed}");
            }
        }
    }
}

#[test]
fn no_two_modules_know_each_other() {
    let mut found = BTreeSet::new();
    for (name, _) in FLOORS {
        for (folder, members) in Crate::read(name).circles() {
            found.insert((name.to_owned(), folder, members));
        }
    }
    let known = KNOWN
        .map(|(name, folder, members)| (name.to_owned(), folder.to_owned(), members.to_owned()));
    let known = BTreeSet::from(known);
    let new: Vec<_> = found.difference(&known).collect();
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "circles that KNOWN has not: {new:#?}\nentries of KNOWN that are none any more: {gone:#?}"
    );
}

/// A module's path within its crate.
type Name = Vec<String>;

/// Which paths of a module.
#[derive(Clone, Copy)]
enum Of {
    Imports,
    Everything,
}

/// A crate's modules, each with its tokens, tests left out.
struct Crate {
    modules: BTreeMap<Name, Vec<String>>,
    /// What a module imports or re-exports: its name there, and where it comes from.
    imports: BTreeMap<(Name, String), Name>,
}

impl Crate {
    fn read(name: &str) -> Self {
        let source = crates().join(name).join("src");
        let root = ["lib.rs", "main.rs"].map(|file| source.join(file));
        let root = root.into_iter().find(|path| path.exists()).unwrap();
        let mut read = Self {
            modules: BTreeMap::new(),
            imports: BTreeMap::new(),
        };
        read.module(&root, &source, Vec::new());
        let modules: Vec<Name> = read.modules.keys().cloned().collect();
        for module in modules {
            for path in read.paths(&module, Of::Imports) {
                if let [first @ .., last] = path.as_slice() {
                    let target = (module.clone(), last.clone());
                    read.imports.entry(target).or_insert(first.to_vec());
                }
            }
        }
        read
    }

    /// Reads the module in `file`, whose children are in `folder`.
    fn module(&mut self, file: &Path, folder: &Path, name: Name) {
        let tokens = without_tests(tokens(&fs::read_to_string(file).unwrap()));
        for at in 0..tokens.len().saturating_sub(2) {
            if tokens[at] != "mod" || tokens[at + 2] != ";" {
                continue;
            }
            let child = &tokens[at + 1];
            let (flat, nested) = (format!("{child}.rs"), format!("{child}/mod.rs"));
            let places = [flat, nested].map(|place| folder.join(place));
            let place = places.iter().find(|place| place.exists());
            let place = place.unwrap_or_else(|| panic!("{}: mod {child}", file.display()));
            let name = [name.as_slice(), std::slice::from_ref(child)].concat();
            self.module(place, &folder.join(child), name);
        }
        self.modules.insert(name, tokens);
    }

    /// The paths within the crate that stand in `module`, from the crate's root.
    fn paths(&self, module: &Name, of: Of) -> Vec<Name> {
        let tokens = &self.modules[module];
        let mut found = Vec::new();
        let mut at = 0;
        while at + 1 < tokens.len() {
            let before = at
                .checked_sub(1)
                .map_or("", |before| tokens[before].as_str());
            let begins = match of {
                Of::Imports => before == "use",
                Of::Everything => before != "::",
            };
            let child = [module.as_slice(), std::slice::from_ref(&tokens[at])].concat();
            let base = match tokens[at].as_str() {
                "crate" => Some(Vec::new()),
                "self" => Some(module.clone()),
                "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
                _ if self.modules.contains_key(&child) => Some(child),
                _ => None,
            };
            match base.filter(|_| begins && tokens[at + 1] == "::") {
                Some(base) => at = tree(tokens, at + 2, base, &mut found),
                None => at += 1,
            }
        }
        found
    }

    /// The module that `path` leads to, re-exports followed.
    fn target(&self, path: &[String], hops: usize) -> Name {
        let is_module = |len: &usize| self.modules.contains_key(&path[..*len]);
        let len = (0..=path.len()).rev().find(is_module).unwrap_or(0);
        let module = path[..len].to_vec();
        let item = path.get(len).map(|item| (module.clone(), item.clone()));
        match item.and_then(|item| Some((item.1.clone(), self.imports.get(&item)?))) {
            Some((item, from)) if hops < 8 && *from != module => {
                let path = [from.as_slice(), &[item]].concat();
                self.target(&path, hops + 1)
            }
            _ => module,
        }
    }

    /// Siblings that know each other: their folder, and who they are.
    fn circles(&self) -> Vec<(String, String)> {
        let mut edges: BTreeMap<Name, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for module in self.modules.keys() {
            for path in self.paths(module, Of::Everything) {
                let target = self.target(&path, 0);
                let shared = module.iter().zip(&target).take_while(|(a, b)| a == b);
                let shared = shared.count();
                if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                    let of_folder = edges.entry(module[..shared].to_vec()).or_default();
                    let known = of_folder.entry(from.clone()).or_default();
                    known.insert(to.clone());
                }
            }
        }
        let mut circles = Vec::new();
        for (folder, edges) in edges {
            let mut seen = BTreeSet::new();
            for start in edges.keys() {
                let forth = reached(&edges, start);
                let back = |n: &&String| reached(&edges, n).contains(start);
                let members: Vec<&str> = forth.iter().filter(back).map(String::as_str).collect();
                if members.len() > 1 && seen.insert(members.join(" ")) {
                    circles.push((folder.join("/"), members.join(" ")));
                }
            }
        }
        circles
    }
}

/// Everyone that `start` knows, directly or through others; itself where it is in a circle.
fn reached(edges: &BTreeMap<String, BTreeSet<String>>, start: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![start.to_owned()];
    while let Some(next) = left.pop() {
        for other in edges.get(&next).into_iter().flatten() {
            if found.insert(other.clone()) {
                left.push(other.clone());
            }
        }
    }
    found
}

/// Adds the paths of the tree at `at` below `base` to `found`; gives where it ends.
fn tree(tokens: &[String], at: usize, base: Name, found: &mut Vec<Name>) -> usize {
    let token = tokens.get(at).map_or("", String::as_str);
    if token == "{" {
        let mut at = at + 1;
        while tokens.get(at).is_some_and(|t| t != "}") {
            at = match tokens[at].as_str() {
                "," => at + 1,
                _ => tree(tokens, at, base.clone(), found),
            };
        }
        return at + 1;
    }
    let mut path = base;
    match token {
        "super" => drop(path.pop()),
        "self" | "*" => {}
        _ => path.push(token.to_owned()),
    }
    if tokens.get(at + 1).is_some_and(|t| t == "::") {
        return tree(tokens, at + 2, path, found);
    }
    found.push(path);
    match tokens.get(at + 1).map(String::as_str) {
        Some("as") => at + 3,
        _ => at + 1,
    }
}

/// Names, `::` and single signs of Rust's `text`; comments and literals are left out.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let from = |at: usize, what: &str| {
        what.chars()
            .enumerate()
            .all(|(n, c)| chars.get(at + n) == Some(&c))
    };
    let find = |at: usize, what: &str| {
        (at..chars.len())
            .find(|n| from(*n, what))
            .unwrap_or(chars.len())
    };
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let raw = ["r\"", "r#\"", "br\"", "br#\""]
            .into_iter()
            .find(|r| from(at, r));
        if from(at, "//") {
            at = find(at, "\n");
        } else if from(at, "/*") {
            at = find(at, "*/") + 2;
        } else if let Some(raw) = raw {
            let end = if raw.contains('#') { "\"#" } else { "\"" };
            at = find(at + raw.len(), end) + end.len();
        } else if c == '"'
            || (c == '\'' && (from(at + 1, "\\") || chars.get(at + 2) == Some(&'\'')))
        {
            at += 1;
            while at < chars.len() && chars[at] != c {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if is_name(c) {
            let end = (at..chars.len())
                .find(|n| !is_name(chars[*n]))
                .unwrap_or(chars.len());
            tokens.push(chars[at..end].iter().collect());
            at = end;
        } else {
            let sign = if from(at, "::") {
                "::".to_owned()
            } else {
                c.to_string()
            };
            at += sign.len();
            if !c.is_whitespace() {
                tokens.push(sign);
            }
        }
    }
    tokens
}

/// `tokens` without the items of tests.
fn without_tests(tokens: Vec<String>) -> Vec<String> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..]
            .iter()
            .zip(TEST)
            .filter(|(a, b)| a == b)
            .count()
            .eq(&TEST.len())
        {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        // To the end of the item: a semicolon, or its outermost braces.
        let mut depth = 0;
        for token in &tokens[at + TEST.len()..] {
            at += 1;
            match token.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 && (token == ";" || token == "}") {
                break;
            }
        }
        at += TEST.len();
    }
    kept
}
