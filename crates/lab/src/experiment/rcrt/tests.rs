//! Whole networks, small: everything arrives, whoever fails on the way, and the same seed gives the same rows.

use crate::experiment::{Experiment, Sites};
use crate::results::{Row, Value};
use std::ops::ControlFlow;
use std::path::Path;

fn rows(run: &str) -> Vec<Row> {
    let text = format!("id = \"t\"\ntitle = \"t\"\n[run]\nkind = \"rcrt\"\n{run}");
    let experiment = Experiment::parse(Path::new("t.toml"), &text).unwrap();
    let go_on = |_: u64, _: u64| ControlFlow::Continue(());
    crate::experiment::run(&experiment.run, &[3], &Sites::default(), None, &go_on).unwrap()
}
fn number(row: &Row, column: &str) -> f64 {
    row.0.get(column).and_then(Value::number).unwrap()
}
fn of_scope<'a>(rows: &'a [Row], scope: &str) -> Vec<&'a Row> {
    let is = |row: &&Row| row.0.get("scope") == Some(&Value::Text(scope.to_owned()));
    rows.iter().filter(is).collect()
}

#[test]
fn everything_arrives_in_order_across_a_relay_restart() {
    let run = "testbed = \"line5\"\nflows = [{ packets = 60, demand = 2.0 }]\nsettle_s = 200\nlimit_s = 1200\n";
    let calm = rows(run);
    let node = number(of_scope(&calm, "node")[0], "node");
    let incidents = format!(
        "incidents = [{{ at = \"10 s\", what = \"dies\", node = {node} }}, \
         {{ at = \"60 s\", what = \"starts\", node = {node} }}]\n"
    );
    let upset = rows(&format!("{run}{incidents}"));
    for rows in [&calm, &upset] {
        let run = of_scope(rows, "run")[0];
        assert_eq!(number(run, "delivered_share"), 1.0);
        assert_eq!(number(run, "wrong"), 0.0);
    }
    let ended = |rows: &[Row]| number(of_scope(rows, "run")[0], "lasted_s");
    assert!(ended(&upset) > ended(&calm) + 20.0);
    assert_eq!(calm, rows(run));
}

#[test]
fn an_outage_stops_flows_that_cross_the_relay_and_begins_as_the_run_without() {
    let rows = rows(
        "testbed = \"line5\"\nflows = [{ packets = 200, demand = 1.0 }]\nsettle_s = 200\nlimit_s = 1200\n\
         outage = { at_s = 40.0, for_s = 30.0 }\n",
    );
    let outage = of_scope(&rows, "outage")[0];
    // Two of four nodes on a line, the relay among them.
    assert_eq!(number(outage, "crossing"), 2.0);
    for flows in ["apart", "crossing"] {
        assert_eq!(number(outage, &format!("{flows}_kept_before")), 1.0);
    }
    assert!(number(outage, "crossing_kept_while") < 0.2);
    assert!(number(outage, "apart_kept_while") > 0.8);
    // What the others lost comes then.
    assert!(number(outage, "crossing_kept_after") > 1.0);
}

#[test]
fn two_sinks_share_a_network_each_by_its_policy() {
    let rows = rows(
        "testbed = \"line5\"\nsettle_s = 200\nlimit_s = 1200\n\
         policies = [\"demand-proportional\", \"weighted:3=2\"]\n\
         flows = [{ name = \"A\", packets = 40, demand = 2.0 }, { name = \"A\", packets = 40, demand = 2.0, sink = 1 }]\n",
    );
    let run = of_scope(&rows, "run")[0];
    assert_eq!(number(run, "delivered_share"), 1.0);
    let flows = of_scope(&rows, "flow");
    let of_sink = |sink: f64| flows.iter().filter(|f| number(f, "sink") == sink).count();
    assert_eq!((of_sink(0.0), of_sink(1.0)), (4, 4));
}

#[test]
fn under_ifrc_nodes_share_equally_at_a_rate_that_they_find_themselves() {
    let rows = rows(
        "testbed = \"line5\"\ntransports = [\"ifrc\"]\nacks = [\"hardware\", \"software\"]\n\
         settle_s = 100\nlimit_s = 3000\n",
    );
    // By hardware it cannot be run.
    let runs = of_scope(&rows, "run");
    assert_eq!(runs.len(), 1);
    // Slow start alone would be at .02 + .0025 x its packets: e^(.0025 x 3000) times .02 in the end.
    let steady = number(runs[0], "steady_rate");
    assert!(steady > 1.0 && steady < 15.0, "{steady}");
    let flows = of_scope(&rows, "flow");
    let delivered: Vec<f64> = flows.iter().map(|f| number(f, "delivered")).collect();
    // In slow start a child lags behind what it last heard of its parent.
    let (least, most) = (
        delivered.iter().copied().fold(f64::MAX, f64::min),
        delivered.iter().copied().fold(0.0, f64::max),
    );
    assert!(flows.len() == 4 && least > 0.6 * most, "{delivered:?}");
}
