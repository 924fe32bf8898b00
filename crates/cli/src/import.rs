//! `thalweg testbed import`: links as other programs write them, as a CSV. Tests: `tests/all/imports.rs`.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use thalweg_testbeds::{matrix_text, Links, Trace};

use crate::failure::Failure;
use crate::output::{plural, print, print_json, write_file};
use crate::outputs::{Kind, Outputs};
use crate::table::{folded, Table, NARROW};

/// What `testbed import` is asked for.
#[derive(Debug)]
pub(crate) struct Import<'a> {
    pub(crate) file: &'a str,
    /// Where the CSV goes: a file, or standard output.
    pub(crate) output: Option<&'a Path>,
    pub(crate) json: bool,
    pub(crate) force: bool,
}

/// A node beside what the file calls it.
#[derive(Debug, Serialize)]
pub(crate) struct Label {
    node: u16,
    label: String,
}

/// What `testbed import --json` prints.
#[derive(Debug, Serialize)]
struct Imported {
    file: String,
    /// What kind of file it is.
    format: &'static str,
    nodes: usize,
    /// Directed links, on any channel.
    links: usize,
    channels: Vec<u8>,
    labels: Vec<Label>,
    /// What the file leaves open, and what was made of it.
    assumed: Vec<String>,
    /// The CSV; none where it was not written to a file.
    output: Option<String>,
}

/// The labels of nodes.
pub(crate) fn labels<'a>(
    of: impl IntoIterator<Item = (&'a thalweg_units::NodeId, &'a String)>,
) -> Vec<Label> {
    let label = |(id, label): (&thalweg_units::NodeId, &String)| Label {
        node: id.get(),
        label: label.clone(),
    };
    of.into_iter().map(label).collect()
}

/// `labels` as a table; nothing where there are none.
pub(crate) fn label_table(labels: &[Label]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let mut table = Table::of(&[">node", "label"]);
    for label in labels {
        table.row([label.node.to_string(), label.label.clone()]);
    }
    format!("\n{}", table.render())
}

/// Reads a file of links and writes it as a CSV.
pub(crate) fn run(asked: &Import<'_>) -> Result<(), Failure> {
    if let Some(path) = asked.output {
        let outputs = Outputs::beside(asked.force, [Path::new(asked.file)]);
        outputs.check("-o", path, Kind::Csv)?;
    }
    let Links { written, trace } = Links::load(asked.file)?;
    let imported = Imported::new(asked, written, &trace);
    let remarks = imported.remarks();
    match (asked.output, asked.json) {
        (Some(path), _) => write_file(path, &matrix_text(&trace, &remarks))?,
        (None, true) => {}
        (None, false) => {
            print(&matrix_text(&trace, &remarks))?;
            // The table is the result. Standard error may be closed.
            let _ = io::stderr().write_all(imported.text().as_bytes());
            return Ok(());
        }
    }
    match asked.json {
        true => print_json(&imported),
        false => print(&imported.text()),
    }
}

/// What was made of what the file leaves open, and what a CSV cannot hold.
fn assumed(trace: &Trace) -> Vec<String> {
    let visits = trace.visits.links.len();
    let mean = (visits > 1).then(|| {
        format!("a CSV has each link's mean over the {visits} visits; over the trace itself visits are played one by one")
    });
    let assumed = trace.assumed.iter().map(ToString::to_string);
    assumed.chain(mean).collect()
}

impl Imported {
    fn new(asked: &Import<'_>, format: &'static str, trace: &Trace) -> Self {
        let together = |a: &thalweg_testbeds::TraceLink, b: &thalweg_testbeds::TraceLink| {
            (a.from, a.to) == (b.from, b.to)
        };
        Self {
            file: asked.file.to_owned(),
            format,
            nodes: trace.nodes.len(),
            links: trace.links.chunk_by(together).count(),
            channels: trace.channels.iter().map(|c| c.number()).collect(),
            labels: labels(&trace.labels),
            assumed: assumed(trace),
            output: asked.output.map(|path| path.display().to_string()),
        }
    }

    /// What the CSV has at its head.
    fn remarks(&self) -> Vec<String> {
        let first = format!("Links of {}, {}, read by thalweg.", self.file, self.format);
        [first].into_iter().chain(self.assumed.clone()).collect()
    }

    fn text(&self) -> String {
        let channels: Vec<String> = self.channels.iter().map(u8::to_string).collect();
        let mut lines = vec![
            format!("{}: {}", self.file, self.format),
            format!(
                "{}, {}, {}",
                plural(self.nodes, "node", "nodes"),
                plural(self.links, "directed link", "directed links"),
                match channels.len() {
                    16 => "all sixteen channels".to_owned(),
                    1 => format!("channel {}", channels.join(" ")),
                    _ => format!("channels {}", channels.join(" ")),
                }
            ),
        ];
        lines.extend(self.assumed.iter().map(|one| format!("note: {one}")));
        let lines: String = lines
            .iter()
            .map(|line| folded(line, NARROW) + "\n")
            .collect();
        let written = match &self.output {
            Some(path) => {
                format!("\nWritten to {path}; `thalweg testbed show {path}` has more.\n")
            }
            None => String::new(),
        };
        lines + &label_table(&self.labels) + &written
    }
}
