//! `thalweg experiment list|show|schema`.

use std::time::Duration;

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

fn list(json: bool) -> Result<(), Failure> {
    let entries = thalweg::experiments()?;
    if json {
        return print_json(&entries);
    }
    let mut table = Table::of(&["id", ">seeds", ">bands", ">cost", "what it measures"]);
    for e in entries {
        let (seeds, claims) = (e.seeds.to_string(), e.claims.to_string());
        let cost = e.cpu_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let cost = cost.map(rounded);
        table.row([&e.id, &seeds, &claims, &cost.unwrap_or_default(), &e.title]);
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
