//! What the program says of itself. A change here is a change for users: update README with it.
#![allow(clippy::unwrap_used)]

use assert_cmd::Command;

fn help(args: &[&str]) -> String {
    let output = Command::cargo_bin("thalweg")
        .unwrap()
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn top() {
    insta::assert_snapshot!(help(&["--help"]));
}
#[test]
fn collect() {
    insta::assert_snapshot!(help(&["collect", "--help"]));
}
#[test]
fn plan() {
    insta::assert_snapshot!(help(&["plan", "--help"]));
}
#[test]
fn testbed_show() {
    insta::assert_snapshot!(help(&["testbed", "show", "--help"]));
}
#[test]
fn run() {
    insta::assert_snapshot!(help(&["run", "--help"]));
}
#[test]
fn timeline() {
    insta::assert_snapshot!(help(&["timeline", "--help"]));
}
#[test]
fn version() {
    assert_eq!(
        help(&["--version"]),
        format!("thalweg {}\n", env!("CARGO_PKG_VERSION"))
    );
}
