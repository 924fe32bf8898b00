//! `thalweg experiment list|show|schema`.

use std::time::Duration;

use serde::Serialize;
use thalweg_lab::experiment::{self, Experiment};

use crate::args::ExperimentCommand;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::pace::rounded;
use crate::table::Table;

/// Runs `experiment list`, `experiment show` or `experiment schema`.
pub(crate) fn run(command: &ExperimentCommand) -> Result<(), Failure> {
    match command {
        ExperimentCommand::List { json } => list(*json),
        ExperimentCommand::Show { experiment, json } => show(experiment, *json),
        ExperimentCommand::Schema => print_json(&experiment::schema()),
    }
}

/// An experiment in a list.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    id: &'a str,
    title: &'a str,
    paper: Option<&'a str>,
    seeds: u64,
    claims: usize,
    /// Processor time of all seeds on one core, in seconds.
    cpu_s: Option<f64>,
}

fn list(json: bool) -> Result<(), Failure> {
    let experiments = Experiment::built_in().map_err(Failure::job)?;
    let mut entries = Vec::new();
    for e in &experiments {
        let claims = e.claims(&[]).map_err(Failure::job)?.claims;
        let of_it = claims
            .iter()
            .filter(|c| c.id == e.id && c.judgement.is_some());
        entries.push(Entry {
            id: &e.id,
            title: &e.title,
            paper: e.paper.as_deref(),
            seeds: e.seeds,
            claims: of_it.count(),
            cpu_s: e.cpu_s.map(|s| s * e.seeds as f64),
        });
    }
    if json {
        return print_json(&entries);
    }
    let mut table = Table::of(&["id", ">seeds", ">bands", ">cost", "what it measures"]);
    for e in entries {
        let (seeds, claims) = (e.seeds.to_string(), e.claims.to_string());
        let cost = e.cpu_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let cost = cost.map(rounded);
        table.row([e.id, &seeds, &claims, &cost.unwrap_or_default(), e.title]);
    }
    let text = table.render_narrow();
    print(&format!(
        "{text}\ncost: processor time of all seeds on one core\n"
    ))
}

fn show(name: &str, json: bool) -> Result<(), Failure> {
    let experiment = Experiment::load(name).map_err(Failure::input)?;
    if json {
        return print_json(&experiment.json());
    }
    // The file is the plan; a copy of it is an experiment of one's own.
    print(&experiment.text)
}
