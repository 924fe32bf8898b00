//! Prints a gateway's transfer as `thalweg collect` prints its own.

use serde_json::{json, Value};

use super::http::Client;
use super::model::{Job, Network};
use crate::failure::one_line;
use crate::output::{plural, whole};
use crate::table::{number, Align, Table};

/// Where an object is, and its SHA-256.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) path: String,
    pub(super) digest: String,
    pub(super) bytes: u64,
    pub(super) sealed: bool,
}

/// A row's name, the keys of what was measured and expected, the factor, and digits behind the point.
type Row = (&'static str, &'static str, &'static str, f64, usize);

const ROWS: &[Row] = &[
    ("goodput, kbit/s", "goodput_kbps", "goodput_kbps", 1.0, 1),
    ("effective utilisation, %", "utilisation", "", 100.0, 1),
    ("rounds", "rounds", "rounds", 1.0, 0),
    (
        "first-round reliability, %",
        "first_round_reliability",
        "",
        100.0,
        1,
    ),
    ("paths", "paths", "paths", 1.0, 0),
    ("active nodes", "active_nodes", "", 1.0, 0),
    ("energy, J", "energy_j", "", 1.0, 2),
    ("time, s", "duration_s", "time_s", 1.0, 2),
];

/// The transfer of `job` as text.
pub(super) fn text(client: &Client, network: &Network, job: &Job, stored: &Stored) -> String {
    let word = |key: &str| job.outcome.as_ref()?.get(key)?.as_str();
    let hops = job.measured("hops").unwrap_or_default() as u64;
    let mut table = Table::new([
        (String::new(), Align::Left),
        (
            one_line(word("protocol").unwrap_or("-")).to_uppercase(),
            Align::Right,
        ),
        ("expected".to_owned(), Align::Right),
    ]);
    for (name, measured_key, expected_key, factor, digits) in ROWS {
        let (measured, expected) = (job.measured(measured_key), job.expected(expected_key));
        if measured.is_none() && expected.is_none() {
            continue;
        }
        let expected = expected.map_or(String::new(), |_| {
            // How many rounds are expected is a mean.
            let digits = if *expected_key == "rounds" {
                1
            } else {
                *digits
            };
            number(expected, *factor, digits)
        });
        table.row([
            (*name).to_owned(),
            number(measured, *factor, *digits),
            expected,
        ]);
    }
    format!(
        "{}: node {} to node {}, {}; job {} of {}\n\n{}\n{} bytes, {}\nsha256 {}\nstored as {}\n",
        one_line(&network.name),
        job.node(),
        network.sink,
        plural(hops, "hop", "hops"),
        job.id,
        client.address(),
        table.render(),
        stored.bytes,
        whole(stored.sealed),
        stored.digest,
        stored.path
    )
}

/// The same as JSON: the gateway's values, with the keys of `thalweg collect --json`.
pub(super) fn json(client: &Client, job: &Job, stored: &Stored) -> Value {
    let mut value = job.outcome.clone().unwrap_or_else(|| json!({}));
    let more = [
        (
            "predicted_goodput_kbps",
            json!(job.expected("goodput_kbps")),
        ),
        ("predicted", json!(job.expected)),
        ("gateway", json!(client.address().to_string())),
        ("job", json!(job.id)),
        ("object", json!(job.object)),
        (
            "stored",
            json!({ "path": stored.path, "digest": stored.digest }),
        ),
    ];
    if let Some(object) = value.as_object_mut() {
        // The job's page draws these.
        object.retain(|key, _| !matches!(key.as_str(), "tries" | "course"));
        object.extend(more.map(|(key, value)| (key.to_owned(), value)));
    }
    value
}
