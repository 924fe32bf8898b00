//! Scenarios from the command line: progress, replay, what is refused.

use assert_cmd::Command;
use std::process::Output;

fn fault(args: &str, input: &str) -> Output {
    let mut command = Command::cargo_bin("thalweg").unwrap();
    let args = ["fault", "-q"].into_iter().chain(args.split_whitespace());
    command.args(args).write_stdin(input).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_few_scenarios_hold_and_say_so() {
    let ran = fault("--scenarios 20 --jobs 2 --json", "");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(told["scenarios"], 20);
    assert!(told["delivered"].as_u64() > Some(10), "{told}");
    assert_eq!(told["seeds"].as_array().map(Vec::len), Some(0), "{told}");
}

#[test]
fn a_seed_is_a_script_and_a_script_that_breaks_is_a_failed_job() {
    let script = fault("--seed 3 --script", "");
    let script = text(&script.stdout);
    let replayed = fault("--replay -", script);
    assert!(replayed.status.success(), "{}", text(&replayed.stderr));
    assert!(text(&replayed.stdout).starts_with("everything held: "));
    let alone =
        "seed = 1\nnodes = 2\nboard = \"telosb\"\nidle = \"listens\"\nforeign_traffic = 0.0\n\
                 step = [{ fetch = { from = 2, bytes = 10 } }, { pause = { ms = 760000 } }]\n";
    let held = fault("--replay -", alone);
    let said = text(&held.stdout);
    assert!(
        held.status.success() && said.contains("1 without a strong path"),
        "{said}"
    );
    let asked = "link = [{ a = 1, b = 2, dbm = -60.0 }]\n\
                 strike = [{ at_ms = 720000, node = 1, what = { outsider = { fetch = { from = 2 } } } }]\n";
    let broken = fault("--replay -", &format!("{alone}{asked}"));
    assert_eq!(broken.status.code(), Some(1));
    let said = text(&broken.stderr);
    assert!(
        said.contains("\"no order is obeyed that was not given\""),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn what_cannot_be_run_is_one_line() {
    for (args, input, said) in [
        ("--replay -", "nodes = 2", "missing field"),
        ("--replay -", "nodes = [", "line 1"),
        ("--replay /no/such/file", "", "/no/such/file: cannot read"),
        ("--seed x", "", "invalid value"),
        ("--scenarios 0", "", "invalid value"),
        ("--jobs 0", "", "invalid value"),
        ("--script", "", "--seed"),
        ("--seed 1 --replay -", "", "cannot be used"),
    ] {
        let refused = fault(args, input);
        let line = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args}: {line}");
        assert!(
            line.contains(said) && line.lines().count() == 1,
            "{args}: {line}"
        );
    }
}

#[test]
fn power_may_fail_where_it_will() {
    let ran = fault("--power --scenarios 200 --json", "");
    let said = text(&ran.stderr);
    if said.contains("must be installed") {
        return assert!(said.lines().count() == 1, "{said}");
    }
    assert!(ran.status.success(), "{said}");
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(
        told["points"].as_u64() >= Some(200) && told["calls"].as_u64() > Some(1_000),
        "{told}"
    );
}
