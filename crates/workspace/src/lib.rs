//! Builds data files in, so that adding a testbed, a board, an experiment or a paper is adding a file.
//!
//! For build scripts. A crate that calls [`build_in`] for a folder then has its files in
//! `include!(concat!(env!("OUT_DIR"), "/FOLDER.rs"))`, an array of names and texts. Tests: below.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Lists the TOML files below `folder`, a folder of the workspace, by name: the path below `folder`
/// without `.toml`. A crate that is built outside of the workspace has the folder beside its manifest.
///
/// # Errors
/// [`io::Error`] where there is no such folder, or a file cannot be read or written.
pub fn build_in(folder: &str) -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let manifest = variable("CARGO_MANIFEST_DIR");
    let workspace = manifest.join("../..").join(folder);
    let root = if workspace.is_dir() {
        workspace
    } else {
        manifest.join(folder)
    };
    let root = root.canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let out = variable("OUT_DIR").join(folder).with_extension("rs");
    fs::write(out, array(&files(&root, "")?))
}

/// The TOML files below `folder`, as (name, path), by name.
fn files(folder: &Path, prefix: &str) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{stem}");
        if path.is_dir() {
            found.extend(files(&path, &format!("{name}/"))?);
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push((name, path));
        }
    }
    found.sort();
    Ok(found)
}

/// An array of names and texts.
fn array(files: &[(String, PathBuf)]) -> String {
    let mut text = "&[\n".to_owned();
    for (name, path) in files {
        // Writing to a string does not fail.
        let _ = writeln!(text, "    ({name:?}, include_str!({path:?})),");
    }
    text + "]\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_their_paths_and_sorted() {
        let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
        let found = files(&papers, "").unwrap();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"p3") && names.is_sorted(), "{names:?}");
        let experiments = papers.join("../experiments");
        let found = files(&experiments, "").unwrap();
        assert!(found.iter().any(|(name, _)| name == "p3/fig5"));
        assert!(!found.iter().any(|(name, _)| name == "README"));
        let text = array(&found);
        assert!(text.contains("(\"p3/fig5\", include_str!(\"/"), "{text}");
    }
}
