//! What the program says of itself. A change here is a change for users: update README with it.

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
fn basestation() {
    insta::assert_snapshot!(help(&["basestation", "--help"]));
}
#[test]
fn fault() {
    insta::assert_snapshot!(help(&["fault", "--help"]));
}
#[test]
fn firmware() {
    insta::assert_snapshot!(help(&["firmware", "--help"]));
}
#[test]
fn jobs() {
    insta::assert_snapshot!(help(&["jobs", "--help"]));
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
fn sweep() {
    insta::assert_snapshot!(help(&["sweep", "--help"]));
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

#[test]
fn a_bare_call_helps() {
    assert_eq!(help(&[]), help(&["--help"]));
    assert_eq!(help(&["help"]), help(&["--help"]));
    assert!(help(&["testbed"]).contains("thalweg testbed <COMMAND>"));
    assert_eq!(help(&["help", "plan"]), help(&["plan", "--help"]));
}
#[test]
fn shells_complete_and_every_command_has_a_manual_page() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = help(&["completions", shell]);
        assert!(
            script.contains("reproduce") && script.contains("all-nodes"),
            "{shell}"
        );
    }
    assert!(help(&["man"]).contains(".TH thalweg 1"));
    let dir = tempfile::tempdir().unwrap();
    let into = dir.path().to_str().unwrap();
    assert_eq!(help(&["man", "--into", into]), "");
    let page = std::fs::read_to_string(dir.path().join("thalweg-testbed-show.1")).unwrap();
    assert!(page.contains("svg"), "{page}");
}
#[test]
fn quiet_is_silent_and_verbose_tells_every_step() {
    let stderr = |args: &str| {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::cargo_bin("thalweg").unwrap();
        command.current_dir(dir.path()).args(args.split(' '));
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let collect = "collect --testbed line5 --bytes 500 --all-nodes";
    assert_eq!(stderr(&format!("{collect} -q")), "");
    let (normal, verbose) = (stderr(collect), stderr(&format!("{collect} -v")));
    assert!(!normal.contains("waking up"), "{normal}");
    assert!(
        verbose.contains("thalweg: 2 of 4: THALWEG: waking up"),
        "{verbose}"
    );
}
