//! Networks that users measured: one sink for every command, links without an RSSI, tables of other programs, and
//! what is said where nothing can travel.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// A row of `nodes` nodes on four channels; each hears the next two with `near` and `far`.
pub(crate) fn row(nodes: u16, near: f64, far: f64) -> String {
    let mut text = String::from("src,dst,channel,prr\n");
    for from in 1..=nodes {
        for to in (1..=nodes).filter(|to| *to != from) {
            let prr = match from.abs_diff(to) {
                1 => near,
                2 => far,
                _ => continue,
            };
            for channel in [15, 20, 25, 26] {
                let _ = writeln!(text, "{from},{to},{channel},{prr}");
            }
        }
    }
    text
}

/// Status, standard output and standard error.
pub(crate) fn run(dir: &Path, args: &str, stdin: &str) -> (Option<i32>, String, String) {
    let mut command = Command::cargo_bin("thalweg").unwrap();
    let command = command.current_dir(dir).args(args.split_whitespace());
    let output = command.write_stdin(stdin).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

pub(crate) fn done(dir: &Path, args: &str) -> String {
    let (status, out, err) = run(dir, args, "");
    assert_eq!(status, Some(0), "{args}: {err}");
    out
}

pub(crate) fn json(dir: &Path, args: &str) -> Value {
    serde_json::from_str(&done(dir, args)).unwrap()
}

const CENTRAL: &str = "sink 5, which the others reach with the fewest transmissions";

#[test]
fn every_command_takes_the_same_sink_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("row.csv"), row(9, 1.0, 0.95)).unwrap();
    let of = |args: &str| done(dir.path(), args);
    let shown = of("testbed show row.csv").replace('\n', " ");
    assert!(shown.contains(CENTRAL), "{shown}");
    assert!(of("plan --testbed row.csv").contains(CENTRAL));
    let collected = of("collect --testbed row.csv --bytes 2000");
    assert!(collected.contains(CENTRAL), "{collected}");
    let all = of("collect --testbed row.csv --bytes 500 --all-nodes");
    assert!(
        all.contains(CENTRAL) && all.contains("8 of 8 objects"),
        "{all}"
    );
    let gathered = of("collect --testbed row.csv --bytes 300 --protocol rcrt --from 1,9");
    assert!(gathered.contains(CENTRAL), "{gathered}");
    // A plan and a transfer without --from start at the same node.
    let plan = json(dir.path(), "plan --testbed row.csv --json");
    let fetched = json(dir.path(), "collect --testbed row.csv --bytes 2000 --json");
    assert_eq!(
        (&plan["source"], &plan["sink"]),
        (&fetched["source"], &fetched["sink"])
    );
    let named = of("plan --testbed row.csv --to 1 --from 4");
    assert!(
        named.contains("sink 1, as --to says\nsource 4, as --from says"),
        "{named}"
    );
}

#[test]
fn links_without_an_rssi_carry_what_was_predicted_and_say_so_once() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("row.csv"), row(9, 1.0, 0.97)).unwrap();
    let plan = json(dir.path(), "plan --testbed row.csv --to 1 --json");
    let (status, out, err) = run(dir.path(), "collect --testbed row.csv --to 1 --json", "");
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(err.matches("no link has an RSSI").count(), 1, "{err}");
    let fetched: Value = serde_json::from_str(&out).unwrap();
    let predicted = plan["prediction"]["goodput_kbps"].as_f64().unwrap();
    let goodput = fetched["goodput_kbps"].as_f64().unwrap();
    assert!(
        (predicted / goodput - 1.0).abs() < 0.25,
        "{predicted} for {goodput}"
    );
}

#[test]
fn standard_input_and_gzip_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let table = row(4, 1.0, 0.95).replace(',', ";");
    let (status, out, err) = run(dir.path(), "plan --testbed - --json", &table);
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(
        serde_json::from_str::<Value>(&out).unwrap()["testbed"],
        "stdin"
    );
    let args = "collect --testbed - --bytes 300 --all-nodes --json";
    for links in [&table, &row(5, 1.0, 0.95)] {
        let (status, out, err) = run(dir.path(), args, links);
        assert_eq!(status, Some(0), "{err}");
        let nodes = serde_json::from_str::<Value>(&out).unwrap()["nodes"]
            .as_array()
            .unwrap()
            .len();
        assert_eq!(nodes, if links == &table { 3 } else { 4 });
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, table.as_bytes()).unwrap();
    fs::write(dir.path().join("t.csv.gz"), packed.finish().unwrap()).unwrap();
    assert!(done(dir.path(), "testbed show t.csv.gz").starts_with("t: 4 telosb nodes"));
}

#[test]
fn all_that_is_wrong_with_a_table_is_told_line_by_line() {
    let dir = tempfile::tempdir().unwrap();
    let table = "src,dst,channel,prr\n1,2,26,1.5\n1,x,26,1\n";
    fs::write(dir.path().join("t.csv"), table).unwrap();
    let expected = "thalweg: error: t.csv, line 2: prr is `1.5`; expected a ratio from 0 to 1 (column 4)\n\
         thalweg: error: t.csv, line 3: dst is `x`; expected a node's number, 0..65533 (column 2)\n";
    for command in ["plan", "collect", "testbed show", "run p3.sizes"] {
        let named = if command == "testbed show" {
            ""
        } else {
            "--testbed"
        };
        let (status, out, err) = run(dir.path(), &format!("{command} {named} t.csv"), "");
        assert_eq!(
            (status, out.as_str(), err.as_str()),
            (Some(2), "", expected),
            "{command}"
        );
    }
}

#[test]
fn networks_that_carry_nothing_say_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("weak.csv"), row(5, 0.3, 0.0)).unwrap();
    let shown = done(dir.path(), "testbed show weak.csv");
    assert!(
        shown.contains("no two nodes have a good link (0.9 both ways)"),
        "{shown}"
    );
    assert!(!shown.contains("0.00"), "{shown}");
    // No pipeline gets far over such links; blocks do, hop by hop.
    let planned = done(dir.path(), "plan --testbed weak.csv");
    assert!(planned.contains("one path of 4 hops"), "{planned}");
    assert!(planned.contains("HOP-BY-HOP"), "{planned}");
    let (status, _, err) = run(dir.path(), "plan --protocol p3 --testbed weak.csv", "");
    assert_eq!(status, Some(2), "{err}");
    let one_way = "src,dst,channel,prr\n1,2,26,1\n2,3,26,1\n";
    let (_, out, _) = run(dir.path(), "testbed show -", one_way);
    assert!(
        out.contains("no two nodes have rows in both directions"),
        "{out}"
    );
    let (_, _, err) = run(dir.path(), "plan --testbed -", one_way);
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(
        err.contains("it has links in one direction only, as with node 2"),
        "{err}"
    );
}

#[test]
fn the_testbed_of_the_guide_collects_with_any_seed() {
    let guide = include_str!("../../../../docs/testbeds.md");
    let after = guide.split_once("    name = \"barn\"").unwrap().1;
    let lines = after
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("    "));
    let toml: String = lines.map(|line| format!("{}\n", line.trim())).collect();
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("barn.toml"),
        format!("name = \"barn\"{toml}"),
    )
    .unwrap();
    for seed in 1..=5 {
        let args = format!("collect --testbed barn.toml --bytes 500 --all-nodes --seed {seed}");
        assert!(
            done(dir.path(), &args).contains("2 of 2 objects"),
            "seed {seed}"
        );
    }
}

#[test]
fn links_of_any_channels_are_collected_over_and_the_control_channel_is_said() {
    let dir = tempfile::tempdir().unwrap();
    // Node 3 is two hops away, node 4 three; there is no channel 26.
    let links = |channels: &[u8]| {
        let mut text = String::from("src,dst,channel,prr\n");
        for (channel, near) in channels.iter().flat_map(|c| [1, 2, 3].map(|n| (c, n))) {
            let far = near + 1;
            let _ = writeln!(text, "{near},{far},{channel},1\n{far},{near},{channel},1");
        }
        text
    };
    let collect = |options: &str, channels: &[u8]| {
        let args = format!("collect --testbed - --bytes 5000 --to 1 {options}");
        run(dir.path(), &args, &links(channels))
    };
    for (options, channels, control) in [
        ("--from 3", &[15][..], 15),
        ("--from 4", &[15, 20], 20),
        ("--from 4", &[15, 20, 25], 25),
        ("--from 4 --control-channel 15", &[15, 20, 25], 15),
        ("--from 4", &[15, 20, 25, 26], 26),
    ] {
        let (status, out, err) = collect(options, channels);
        assert_eq!(status, Some(0), "{channels:?}: {err}");
        assert!(
            out.contains(&format!("\ncontrol channel {control}\n")),
            "{out}"
        );
    }
    let (status, _, err) = collect("--from 4 --protocol p3", &[15]);
    assert_eq!(status, Some(2), "{err}");
    assert!(
        err.contains("a route of 3 hops needs 2 different ones"),
        "{err}"
    );
    let experiment = "run thalweg.default --routes 1 --seeds 1 --testbed - --control-channel 26";
    for args in ["collect --testbed - --control-channel 26", experiment] {
        let (status, _, err) = run(dir.path(), args, &links(&[15, 20]));
        assert_eq!(status, Some(2), "{err}");
        assert!(
            err.contains("channel 26 is not one of the channels listed: 15 20"),
            "{err}"
        );
    }
}

/// What `thalweg` says of a row of twelve hops, which no pipeline takes.
#[test]
fn what_goes_hop_by_hop_says_so_in_eighty_columns() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("row.csv"), row(13, 0.9, 0.0)).unwrap();
    let planned = done(dir, "plan --testbed row.csv --to 1");
    assert!(planned.contains("\nchannels "), "{planned}");
    let (status, fetched, said) = run(
        dir,
        "collect --testbed row.csv --to 1 --bytes 2000 --explain=map.svg",
        "",
    );
    assert_eq!(status, Some(0), "{said}");
    let why = "hop by hop from the start: no pipeline is expected to be as quick";
    assert!(fetched.contains(why), "{fetched}");
    let far = "source 13, a far node of the planner's choice\n";
    assert!(fetched.contains(far), "{fetched}");
    assert!(said.contains("--explain has no map"), "{said}");
    for line in planned.lines().chain(fetched.lines()) {
        // Digests and paths of files may be longer.
        let is_prose = !line.contains("sha256") && !line.contains("stored as");
        assert!(!is_prose || line.chars().count() <= 80, "{line}");
    }
    // Where another protocol has no way, it is said what has.
    let (status, _, said) = run(dir, "plan --testbed row.csv --to 1 --protocol p3-best", "");
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("; `thalweg` and `hop-by-hop` take "),
        "{said}"
    );
    let (_, _, said) = run(
        dir,
        "collect --testbed row.csv --to 1,13 --all-nodes --bytes 500",
        "",
    );
    assert!(
        said.contains("waking up") && !said.contains(": :"),
        "{said}"
    );
}

#[test]
fn ends_are_named_as_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let links = "from,to,channel,prr\npier-north,deck,26,1\ndeck,pier-north,26,1\n";
    fs::write(dir.path().join("bridge.csv"), links).unwrap();
    let plan = "plan --testbed bridge.csv --from pier-north --to deck";
    let (status, named, error) = run(dir.path(), plan, "");
    assert_eq!(status, Some(0), "{error}");
    for end in [
        "(pier-north), as --from says",
        "sink 2 (deck), as --to says",
    ] {
        assert!(named.contains(end), "{named}");
    }
    for (command, expected) in [
        (
            "collect --testbed bridge.csv --from pier-nroth",
            "--from pier-nroth: bridge has no node of this name; `thalweg testbed show` has all",
        ),
        (
            "firmware --node deck --out n.hex",
            "--node: a name needs --testbed, whose file has it",
        ),
    ] {
        let (status, _, error) = run(dir.path(), command, "");
        assert_eq!(status, Some(2), "{error}");
        assert!(error.trim_end().ends_with(expected), "{error}");
    }
}

/// Six nodes are listed, of which three have no power; two of these have one name.
fn half_dead(dir: &Path) {
    fs::write(dir.join("links.csv"), row(3, 1.0, 0.1)).unwrap();
    let mut toml = "name = 'shed'\nsink = 1\n[links]\nfile = 'links.csv'\n".to_owned();
    let labels = ["deck", "", "pier", "", "spare", "spare"];
    for (id, label) in (1..).zip(labels) {
        let _ = writeln!(toml, "[[nodes]]\nid = {id}\nx_m = {id}.0\ny_m = 0.0");
        if !label.is_empty() {
            let _ = writeln!(toml, "label = '{label}'");
        }
    }
    fs::write(dir.join("shed.toml"), toml).unwrap();
}

#[test]
fn nodes_have_their_names_in_progress_results_and_errors() {
    let dir = tempfile::tempdir().unwrap();
    half_dead(dir.path());
    let silent = "3 of 6 nodes are silent: 4, 5 (spare), 6 (spare)";
    let asked = "collect --testbed shed.toml --patience 10s --from";
    let (status, stdout, stderr) = run(dir.path(), &format!("{asked} pier"), "");
    assert_eq!(status, Some(0), "{stderr}");
    let steps = format!("{stdout}{stderr}");
    for line in [
        "thalweg: node 3 (pier) to 1 (deck): ",
        "shed, seed 1: node 3 (pier) to node 1 (deck), ",
    ] {
        assert!(steps.contains(line), "{line}: {steps}");
    }
    assert_eq!(steps.matches(silent).count(), 2, "{steps}");
    let (status, _, stderr) = run(dir.path(), &format!("{asked} spare"), "");
    assert_eq!(status, Some(2));
    assert!(stderr.contains("has nodes 5, 6 of this name; give the number of one"));
    let (_, stdout, _) = run(
        dir.path(),
        "plan --testbed shed.toml --from pier --json",
        "",
    );
    let plan: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(plan["labels"][1]["label"], "pier", "{stdout}");
    let all = "collect --testbed shed.toml --all-nodes --patience 10s --bytes 999 --json";
    let (status, stdout, stderr) = run(dir.path(), all, "");
    assert_eq!(status, Some(1));
    let all: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(all["nodes"][1]["label"], "pier", "{stdout}");
    assert!(stderr.contains("node 3 (pier): "), "{stderr}");
}

#[test]
fn where_there_is_no_result_json_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    half_dead(dir.path());
    for (args, status, says) in [
        ("collect --from 5 --patience 5s", 1, "node 5 (spare)"),
        ("collect --from 9", 2, "has no node 9"),
        ("plan --from 5", 2, "node 5 (spare)"),
        ("testbed show nowhere.csv", 2, "nowhere.csv"),
        ("run p3.nothing", 2, "p3.nothing"),
    ] {
        let testbed = match args.starts_with("testbed") || args.starts_with("run") {
            true => "",
            false => "--testbed shed.toml",
        };
        let (ended, stdout, stderr) = run(dir.path(), &format!("{args} {testbed} --json"), "");
        assert_eq!(ended, Some(status), "{args}: {stderr}");
        let printed: Value = serde_json::from_str(&stdout).unwrap();
        let error = printed["error"].as_str().unwrap();
        assert!(error.contains(says), "{args}: {error}");
        assert!(stderr.contains(says), "{args}: {stderr}");
    }
}

#[test]
fn a_wait_for_links_is_told_now_and_then() {
    let dir = tempfile::tempdir().unwrap();
    half_dead(dir.path());
    let asked = "collect --testbed shed.toml --from 5 --patience 2h";
    let (status, _, stderr) = run(dir.path(), asked, "");
    assert_eq!(status, Some(1), "{stderr}");
    let lines = |of: &str| stderr.matches(of).count();
    let waits = lines("node 5 (spare) is out of reach: links are measured again in");
    assert!((10..=13).contains(&waits), "{stderr}");
    assert_eq!(lines("collecting link tables"), 1, "{stderr}");
    assert_eq!(lines("are silent"), 1, "{stderr}");
}
