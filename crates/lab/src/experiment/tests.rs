//! Tests of whole experiments, small enough for every run.

use super::*;
use crate::results::{csv, mean_and_interval, Claims, Column, Extent, Value};
use serde::de::DeserializeOwned;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

/// Five nodes in a row: two-hop routes over one path.
const LINE: &str = "
id = 'mine'
title = 'P3 and PIP on a line'
[run]
kind = 'transfers'
testbed = 'line5'
routes = 2
packets = 20
payload = [60, 118]
protocols = ['p3', 'pip']
baseline = 'pip'
route = { min_hops = 2, max_hops = 4, min_paths = 1, floors = 'any' }
[[metric]]
name = 'goodput_mean'
of = 'goodput_kbps'
stat = 'mean'
unit = 'kbit/s'
by = ['protocol', 'payload']
[[metric]]
name = 'whole'
of = 'verified'
stat = 'mean'
[[figure]]
name = 'goodput'
title = 'Goodput'
x = { column = 'payload', label = 'Payload (B)' }
y = { column = 'goodput_kbps', label = 'Goodput (kbit/s)' }
series = 'protocol'
mark = 'lines'
";

pub(super) fn experiment(text: &str) -> Experiment {
    Experiment::parse(Path::new("mine.toml"), text).unwrap()
}
/// The rows of `kind`, without a request to stop.
pub(super) fn rows_of<K: Kind>(kind: &K, seeds: &[u64]) -> Result<Vec<Row>, ExperimentError> {
    rows_with(kind, &K::columns(), seeds)
}
pub(super) fn rows(experiment: &Experiment, seeds: &[u64]) -> Vec<Row> {
    rows_with(&*experiment.run, &experiment.run.columns(), seeds).unwrap()
}
/// The kind that `text`, a `[run]` table without its heading, says.
pub(super) fn kind_of<K: Kind + Keyed + DeserializeOwned>(text: &str) -> Result<K, String> {
    run::read_kind(text.parse().unwrap())
}
/// Holds all rows against what is declared.
fn rows_with(kind: &dyn Kind, columns: &[Column], seeds: &[u64]) -> Result<Vec<Row>> {
    let sites = Sites::default();
    let go_on = |_, _| ControlFlow::Continue(());
    let context = RunContext::new(&sites, seeds.len() as u64, None, &go_on);
    let rows = context::rows_in_order(seeds, |seed| kind.rows(*seed, &context))?;
    assert_eq!(rows.iter().find_map(|row| unfit(row, columns)), None);
    Ok(rows)
}
fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
        .install(work)
}

#[test]
fn the_same_rows_on_one_thread_and_on_three() {
    let e = experiment(LINE);
    let one = with_threads(1, || rows(&e, &[1, 2]));
    let three = with_threads(3, || rows(&e, &[1, 2]));
    assert_eq!(
        serde_json::to_string(&one).unwrap(),
        serde_json::to_string(&three).unwrap()
    );
    assert_eq!(csv(&one), csv(&three));
    // A seed's rows do not depend on the other seeds.
    assert_eq!(rows(&e, &[2]), one[one.len() / 2..]);
}

#[test]
fn a_seed_that_rows_cannot_tell_is_refused() {
    let bounds = Experiment::load("cit.bounds").unwrap();
    let go_on = |_, _| ControlFlow::Continue(());
    let most = i64::MAX as u64;
    let rows = |seed| run(&bounds.run, &[1, seed], &Sites::default(), None, &go_on);
    let told = rows(most).unwrap().pop().unwrap();
    assert_eq!(told.0.get("seed"), Some(&Value::Whole(i64::MAX)));
    let why = rows(most + 1).unwrap_err();
    assert!(
        matches!(why, ExperimentError::Seed(_)) && why.is_input(),
        "{why}"
    );
}

#[test]
fn transfers_wait_for_the_survey_that_they_are_planned_by() {
    let only = |protocols: &str| {
        let swept = "survey = 'sweep'\nage_s = [0]\npackets = 20";
        let text = LINE
            .replace("packets = 20", swept)
            .replace("payload = [60, 118]", "")
            .replace("baseline = 'pip'\n", "")
            .replace("by = ['protocol', 'payload']", "by = ['protocol']")
            .replace("x = { column = 'payload'", "x = { column = 'seed'")
            .replace("['p3', 'pip']", protocols);
        let all = rows(&experiment(&text), &[1]);
        let of = |row: &Row, column| row.number(column).unwrap();
        let both = |row: &Row| (of(row, "age_s"), of(row, "survey_s"));
        both(
            all.iter()
                .find(|row| row.0["protocol"].to_string() == "thalweg")
                .unwrap(),
        )
    };
    let (age_s, survey_s) = only("['thalweg']");
    assert!((age_s - survey_s).abs() < 1e-9, "{age_s} {survey_s}");
    // Beside one that is planned by a survey of a node after the other both wait for that.
    let (age_s, survey_s) = only("['thalweg', 'p3']");
    assert!(age_s > 2.0 * survey_s, "{age_s} {survey_s}");
}

#[test]
fn transfers_are_predicted_as_they_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let slow = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text.replace("\"telosb\"", "\"telosb-contiki\"")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // One chain, whose pauses are not those of two on boards that copy, and no relay.
    let line = slow("line.toml", include_str!("../../../../testbeds/line5.toml"));
    let pair = slow("pair.toml", include_str!("../../../../testbeds/pair.toml"));
    for testbed in ["line5", &line, "pair", &pair] {
        let text = LINE
            .replace("line5", testbed)
            .replace("packets = 20", "bytes = [20000, 59000]\nbeacon_ms = [10]")
            .replace("min_hops = 2", "min_hops = 1")
            .replace("payload = [60, 118]", "")
            .replace("baseline = 'pip'\n", "")
            .replace("by = ['protocol', 'payload']", "by = ['protocol']")
            .replace("x = { column = 'payload'", "x = { column = 'seed'")
            .replace("['p3', 'pip']", "['thalweg']");
        let rows = rows(&experiment(&text), &[1]);
        assert!(!rows.is_empty(), "{testbed}");
        for row in rows {
            let of = |column: &str| row.number(column).unwrap();
            let goodput = of("goodput_kbps") / of("predicted_kbps");
            assert!((0.9..1.1).contains(&goodput), "{goodput} {row:?}");
            let energy = of("energy_j") / of("predicted_energy_j");
            assert!((0.9..1.1).contains(&energy), "{energy} {row:?}");
        }
    }
}

#[test]
fn transfers_end_to_end() {
    let e = experiment(LINE);
    let rows = rows(&e, &[1]);
    // Two routes, two payloads, two protocols.
    assert_eq!(rows.len(), 8);
    for row in &rows {
        assert_eq!(row.number("verified"), Some(1.0), "{row:?}");
        let rate = row.number("rate_kbps").unwrap();
        assert!((219.0..222.0).contains(&rate), "{rate}");
        let (goodput, hops) = (
            row.number("goodput_kbps").unwrap(),
            row.number("hops").unwrap(),
        );
        assert!(goodput > 10.0 && (2.0..=4.0).contains(&hops), "{row:?}");
        let utilisation = row.number("utilisation").unwrap();
        assert!((utilisation - goodput / rate).abs() < 1e-12);
        assert!(row.number("utilisation_without_overhead").unwrap() > utilisation);
        assert!(row.number("baseline_energy_j").unwrap() > 0.0);
        let of = |column: &str| row.number(column).unwrap();
        // On five nodes, ten beacons a node of 100 ms each cost more than a transfer.
        // What is between them is the wait for the network's next rendezvous.
        let waited_s = of("cold_s") - of("survey_s") - of("duration_s");
        assert!(of("survey_s") > 5.0 && (0.0..0.6).contains(&waited_s));
        let bits = of("cold_goodput_kbps") * of("cold_s");
        assert!((bits - goodput * of("duration_s")).abs() < 1e-6 * bits);
        // All five listen for that long, at 56 mW.
        assert!(of("network_energy_j") > of("energy_j") + 5.0 * 0.056 * of("survey_s"));
    }
    let claims = Claims::default();
    let report = Report::new(&e, &[1], rows, &claims, Extent::Full);
    assert_eq!((report.results.len(), report.figures.len()), (5, 1));
    assert!(report.misses().is_empty());
    let page = |reports: &[Report], to_come: &[Experiment]| {
        let command = "thalweg reproduce <mine>";
        let page = Page {
            reports,
            to_come,
            command,
            simulated_by: None,
            rows: None,
        };
        page.html()
    };
    let half = page(&[], &[e]);
    assert!(half.contains("Unfinished: 1 of the results") && !half.contains("<svg"));
    let whole = page(&[report], &[]);
    assert!(whole.contains("<svg") && whole.contains("goodput_mean"));
    assert!(whole.contains("reproduce &lt;mine&gt;") && !whole.contains("Unfinished"));
}

#[test]
fn a_claim_that_nothing_answers_is_a_miss_unless_a_few_seeds_measured_the_rest() {
    let e = experiment(LINE);
    let claims = "[[claim]]\nid='mine'\nmetric='goodput_mean'\nband=[0.0,inf]\nsource='s'";
    let claims: Claims =
        toml::from_str(&format!("{claims}\nat={{protocol='pip',payload=60}}")).unwrap();
    let row = |seed: u64, protocol: &str| {
        let columns = [
            ("seed", Value::from(seed)),
            ("protocol", Value::from(protocol)),
            ("payload", Value::from(60u32)),
            ("goodput_kbps", Value::from(100.0)),
        ];
        Row(columns.map(|(c, v)| (c.to_owned(), v)).into())
    };
    let misses = |seeds: u64, protocol: &str, lose: bool| {
        let (seeds, mut e): (Vec<u64>, _) = ((1..=seeds).collect(), e.clone());
        e.metrics.retain(|m| !lose || m.name != "goodput_mean");
        let rows = seeds.iter().map(|seed| row(*seed, protocol)).collect();
        Report::new(&e, &seeds, rows, &claims, Extent::Full)
            .misses()
            .len()
    };
    assert_eq!(misses(10, "pip", false), 0);
    assert_eq!(misses(10, "p3", false), 1);
    assert_eq!(misses(2, "p3", false), 0);
    assert_eq!(misses(2, "p3", true), 1);
}

#[test]
fn routes_may_be_of_given_lengths() {
    let e = experiment(&LINE.replace("payload = [60, 118]", "hops = [2, 1]"));
    let rows = rows(&e, &[1]);
    let lengths: Vec<(f64, f64)> = (rows.iter())
        .map(|row| {
            (
                row.number("route_hops").unwrap(),
                row.number("hops").unwrap(),
            )
        })
        .collect();
    // Two routes of each length, two protocols.
    let expected = [2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0];
    assert_eq!(lengths, expected.map(|hops| (hops, hops)));
    for row in &rows {
        assert_eq!(
            (row.number("exact"), row.number("wrong")),
            (Some(1.0), Some(0.0))
        );
    }
}

#[test]
fn a_dead_reverse_link_strikes_a_lean_plan_in_its_own_path() {
    let e = experiment(
        "id='t'\ntitle='t'\n[run]\nkind='asymmetry'\nwanted=1\n[run.transfers]\ntestbed='building100'\n\
         routes=12\npackets=100\nprotocols=['p3', 'pip', 'p3-best']",
    );
    let rows = rows(&e, &[2]);
    let found: Vec<(String, String, f64)> = (rows.iter())
        .map(|row| {
            let text = |column: &str| row.0.get(column).map(Value::to_string).unwrap_or_default();
            (text("protocol"), text("dies"), row.number("exact").unwrap())
        })
        .collect();
    let row = |protocol: &str, dies: &str, exact| (protocol.to_owned(), dies.to_owned(), exact);
    let expected = [
        row("p3", "after-survey", 1.0),
        row("pip", "after-survey", 0.0),
        row("p3-best", "after-survey", 1.0),
        row("p3-best", "before-survey", 1.0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_network_is_emptied_in_each_mode_by_each_protocol() {
    let e = experiment(
        "id='t'\ntitle='t'\n[run]\nkind='network'\ntestbed='floor21'\nbytes=3000\nsources=4\n\
         modes=['middle-1', 'both-ends-1-reuse']\nprotocols=['p3-best', 'p3-slim']",
    );
    let rows = rows(&e, &[1]);
    assert_eq!(rows.len(), 4);
    for row in &rows {
        assert_eq!(row.number("delivered_share"), Some(1.0), "{row:?}");
        let parts = row.number("survey_s").unwrap() + row.number("download_s").unwrap();
        let total = row.number("total_s").unwrap();
        assert!((parts - total).abs() < 1e-6, "{parts} {total}");
    }
    let column = |row: &Row, name| row.0.get(name).map(Value::to_string).unwrap_or_default();
    let cases: Vec<String> = (rows.iter())
        .map(|row| format!("{} {}", column(row, "mode"), column(row, "protocol")))
        .collect();
    assert_eq!(cases[1], "middle-1 p3-slim");
    assert_eq!(cases[2], "both-ends-1-reuse p3-best");
    // Two radios have fewer waves than one.
    let waves = |at: usize| rows[at].number("waves").unwrap();
    assert!(waves(2) < waves(0));
    let text = e.text.replace("middle-1", "everywhere");
    let why = Experiment::parse(Path::new("mine.toml"), &text).unwrap_err();
    assert!(why
        .to_string()
        .contains("run.modes: expected some of paper"));
}

#[test]
fn links_on_all_channels() {
    let e = experiment(
        "id='t'\ntitle='t'\n[run]\nkind='link-channels'\ntestbed='indriya'\ntree_channel=26\n\
         links=2\npackets=40\ninterval_ms=10\n",
    );
    let rows = rows(&e, &[3]);
    assert_eq!(rows.len(), 32);
    let own: Vec<f64> = rows
        .iter()
        .filter(|r| r.number("channel") == Some(26.0))
        .filter_map(|r| r.number("prr"))
        .collect();
    assert!(own.iter().all(|prr| *prr > 0.8), "{own:?}");
    let all = rows.iter().filter_map(|r| r.number("prr")).sum::<f64>() / 32.0;
    assert!(all < 0.8, "{all}");
}

#[test]
fn receivers_under_wifi_lose_together() {
    let e = experiment(
        "id='t'\ntitle='t'\n[run]\nkind='correlation'\ntestbed='floor21'\nchannels=[22, 26]\n\
         relays=10\nreceivers=10\npackets=300\ninterval_ms=1000\n",
    );
    let rows = rows(&e, &[1]);
    let mean = |channel: f64| {
        let r: Vec<f64> = rows
            .iter()
            .filter(|r| r.number("channel") == Some(channel))
            .filter_map(|r| r.number("correlation"))
            .collect();
        mean_and_interval(&r).0
    };
    assert!(mean(22.0) > 0.2, "{}", mean(22.0));
    let clean = mean(26.0);
    assert!(clean.is_nan() || clean < 0.15, "{clean}");
}

#[test]
fn observers_count_and_may_stop() {
    let e = experiment(LINE);
    let seen = Mutex::new(Vec::new());
    let observer = |done, total| {
        seen.lock().unwrap().push((done, total));
        ControlFlow::Continue(())
    };
    run(&e.run, &[1], &Sites::default(), None, &observer).unwrap();
    let seen = seen.into_inner().unwrap();
    assert_eq!((seen[0], *seen.last().unwrap()), ((0, 2), (2, 2)));
    let stopped = run(&e.run, &[1], &Sites::default(), None, &|_, _| {
        ControlFlow::Break(())
    });
    assert!(matches!(stopped, Err(ExperimentError::Stopped)));
}

#[test]
fn what_a_testbed_lacks_is_said_in_one_line() {
    let unfit = |text: &str| {
        let e = experiment(&format!("id='t'\ntitle='t'\n[run]\n{text}"));
        let go_on = |_, _| ControlFlow::Continue(());
        let error = run(&e.run, &[1], &Sites::default(), None, &go_on).unwrap_err();
        assert!(
            error.is_input() && !error.to_string().contains('\n'),
            "{error}"
        );
        error.to_string()
    };
    let paths = unfit("kind='transfers'\ntestbed='line5'\nprotocols=['p3']\n");
    assert!(
        paths.contains("line5") && paths.contains("node-distinct"),
        "{paths}"
    );
    let nodes = "kind='correlation'\ntestbed='pair'\nchannels=[26]\nrelays=10\nreceivers=10\n\
                 packets=10\ninterval_ms=1000\n";
    assert!(unfit(nodes).contains("need 21"));
    let gone = unfit("kind='transfers'\ntestbed='no-such'\nprotocols=['p3']\n");
    assert!(gone.contains("no-such"), "{gone}");
}
