//! `thalweg sweep`: an experiment at many points, in parts; and how far it is.
//! Tests: `tests/all/sweep.rs`.

use std::env;
use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use serde::Serialize;
use thalweg::sweep::{
    self, points, table, Design, Failed, Folder, Outcome, Program, Status, Step, Sweep, Values,
    MAX_RUNS,
};
use thalweg::Experiment;
use thalweg_host::store::plain;
use thalweg_lab::results::{short, span, Measured};

use crate::args::SweepArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{plural, print, print_json};
use crate::pace::{rounded, Pace};
use crate::progress::Reporter;
use crate::table::Table;

/// As many missing parts are named on the terminal.
const FEW: usize = 20;

/// Runs `thalweg sweep`.
pub(crate) fn run(args: &SweepArgs) -> Result<(), Failure> {
    if let Some(folder) = &args.status {
        return status(args, folder);
    }
    if let Some(folder) = &args.results {
        return results(args, folder);
    }
    let (Some(experiment), Some(out)) = (&args.experiment, &args.out) else {
        return Err(Failure::Input(
            "an experiment and --out are missing".to_owned(),
        ));
    };
    let sweep = asked(args, experiment)?;
    let folder = Folder::of(out, &sweep)?;
    let outcome = worked(args, &sweep, &folder)?;
    let status = Folder::open(out)?.status();
    if args.json {
        print_json(&Done {
            status: &status,
            outcome: &outcome,
        })?;
    } else {
        print(&format!("{}: {}\n", out.display(), summary(&status)))?;
    }
    match outcome.failed.len() {
        0 => Ok(()),
        failed => Err(Failure::Job(format!(
            "{} failed; delete files that end in failed.{} to have them tried again",
            plural(failed, "run", "runs"),
            args.format
        ))),
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Done<'a> {
    #[serde(flatten)]
    status: &'a Status,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// What `args` ask for.
fn asked(args: &SweepArgs, name: &str) -> Result<Sweep, Failure> {
    let experiment = Experiment::load(name).map_err(Failure::input)?;
    let seeds = match args.seeds {
        Some(seeds) if seeds.count() > MAX_RUNS as u64 => {
            let count = seeds.count();
            let line = format!("--seeds: {count} seeds are more than {MAX_RUNS} runs");
            return Err(Failure::Input(line));
        }
        Some(seeds) => seeds.all(),
        None => experiment.default_seeds(),
    };
    let points = match &args.points {
        Some(file) => {
            let text = fs::read_to_string(file).map_err(|why| {
                let (file, why) = (file.display(), plain(&why));
                Failure::Input(format!("--points {file}: cannot read: {why}"))
            })?;
            table(&file.display().to_string(), &text)?
        }
        None => points(&args.over, design(args), args.draw)?,
    };
    let program = env::current_exe().and_then(|file| Program::of(&file));
    let program = program.map_err(|why| Failure::Job(format!("this program's own file: {why}")))?;
    let sweep = Sweep::new(experiment, points, seeds, program)?;
    Ok(sweep.lossy(&args.loss)?.format(args.format)?)
}

fn design(args: &SweepArgs) -> Design {
    match (args.random, args.latin_hypercube) {
        (Some(count), _) => Design::Random(count.get()),
        (None, Some(count)) => Design::LatinHypercube(count.get()),
        (None, None) => Design::Grid,
    }
}

/// Does what is missing, and shows how far it is.
fn worked(args: &SweepArgs, sweep: &Sweep, folder: &Folder) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::on_signals();
    let mut reporter = Reporter::to_stderr(args.say.verbosity());
    let status = folder.status();
    if sweep.repeated() > 0 {
        let repeated = plural(sweep.repeated(), "point is", "points are");
        reporter.line(&format!("thalweg: {repeated} like others, and left out"));
    }
    reporter.line(&format!("thalweg: {}", foreseen(&status)));
    let shown = Mutex::new((reporter, Pace::new()));
    let observer = |step: Step<'_>| {
        let (reporter, pace) = &mut *shown.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            Step::Done { runs, of } => {
                let (id, runs, of) = (&*status.experiment, runs as u64, of as u64);
                reporter.counted(id, &pace.left(id, runs, of), runs, of);
            }
            Step::Failed(Failed { why, .. }) => reporter.line(&format!("thalweg: {why}")),
        }
        match interrupt.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let cores = || available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = args.jobs.unwrap_or_else(cores);
    let outcome = sweep::run(folder, sweep.program(), args.shard, jobs, &observer);
    drop(shown);
    outcome.map_err(|why| match why {
        thalweg::Error::Stopped => {
            let folder = folder.path().display();
            Failure::Job(format!(
                "stopped; the same command goes on with what {folder} has"
            ))
        }
        why => why.into(),
    })
}

/// What there is to do, and what it costs.
fn foreseen(status: &Status) -> String {
    let cost = match status.cost_s().map(Duration::try_from_secs_f64) {
        Some(Ok(cost)) => format!("about {} of processor time", rounded(cost)),
        _ => "the experiment does not say what a run costs".to_owned(),
    };
    match status.runs_missing {
        0 => summary(status),
        runs => format!(
            "{}; {} to do, {cost}",
            summary(status),
            plural(runs, "run", "runs")
        ),
    }
}

/// How far it is, on one line.
fn summary(status: &Status) -> String {
    let failures = match status.with_failures {
        0 => String::new(),
        parts => format!(", {parts} with points that failed"),
    };
    format!(
        "{} at {} with {}: {} of {}{failures}",
        status.experiment,
        plural(status.points, "point", "points"),
        plural(status.seeds, "seed", "seeds"),
        status.done,
        plural(status.parts, "part", "parts"),
    )
}

/// Says how far the sweep in `folder` is.
fn status(args: &SweepArgs, folder: &Path) -> Result<(), Failure> {
    let folder = Folder::open(folder)?;
    let status = folder.status();
    let shards = args.shards.map(|of| status.shards_missing(of));
    if args.json {
        #[derive(Serialize)]
        struct Said<'a> {
            #[serde(flatten)]
            status: &'a Status,
            shards_missing: Option<&'a [usize]>,
        }
        return print_json(&Said {
            status: &status,
            shards_missing: shards.as_deref(),
        });
    }
    let mut text = foreseen(&status) + "\n";
    let mut table = Table::of(&[">part", ">seed", ">points", "from"]);
    for n in status.missing.iter().copied().take(FEW) {
        if let Some(task) = folder.task(n) {
            let first = task.points.first().map(|point| point.words());
            let numbers = [n + 1, task.points.len()].map(|n| n.to_string());
            let [number, points] = numbers;
            table.row([
                number,
                task.seed.to_string(),
                points,
                first.unwrap_or_default(),
            ]);
        }
    }
    if !status.missing.is_empty() {
        text.push_str(&format!("\nmissing:\n{}", table.render_narrow()));
    }
    if let more @ 1.. = status.missing.len().saturating_sub(FEW) {
        text.push_str(&format!("and {more} more\n"));
    }
    let failed = (0..folder.parts()).map(|n| folder.failed(n));
    let failed: Vec<Vec<Failed>> = failed.collect::<Result<_, _>>()?;
    for Failed { why, .. } in failed.iter().flatten().take(FEW) {
        text.push_str(&format!("failed: {why}\n"));
    }
    if let (Some(shards), Some(of)) = (shards, args.shards) {
        let numbers: Vec<String> = shards.iter().map(ToString::to_string).collect();
        let numbers = match numbers.is_empty() {
            true => "none".to_owned(),
            false => numbers.join(","),
        };
        text.push_str(&format!("shards of {of} with parts missing: {numbers}\n"));
    }
    print(&text)
}

/// What is printed of a result.
#[derive(Serialize)]
struct AtPoint<'a> {
    point: &'a Values,
    #[serde(flatten)]
    measured: &'a Measured,
}

/// Prints what the experiment's metrics make of the rows in `folder`.
fn results(args: &SweepArgs, folder: &Path) -> Result<(), Failure> {
    let folder = Folder::open(folder)?;
    let status = folder.status();
    let reports = folder.reports()?;
    let all = reports.iter().flat_map(|(point, report)| {
        let results = report.results.iter();
        results.map(move |result| (point, &result.measured))
    });
    let mut json = String::new();
    let heading = ["at", "metric", "of", ">value", ">95 %", ">seeds"];
    let mut table = Table::of(&heading);
    for (point, measured) in all {
        let at = AtPoint {
            point: &point.at,
            measured,
        };
        json.push_str(&serde_json::to_string(&at).map_err(Failure::job)?);
        json.push('\n');
        let of = measured.at.values().map(ToString::to_string);
        let name = match &*measured.unit {
            "" => measured.metric.clone(),
            unit => format!("{}, {unit}", measured.metric),
        };
        let interval = measured.ci95.map(span);
        table.row([
            point.words(),
            name,
            of.collect::<Vec<_>>().join(", "),
            short(measured.value),
            interval.unwrap_or_default(),
            measured.n.to_string(),
        ]);
    }
    match (args.json, json.is_empty()) {
        (true, _) => print(&json),
        (false, true) => print(&format!(
            "{}\nno results: {}\n",
            summary(&status),
            match reports.is_empty() {
                true => "there are no rows yet",
                false => "the experiment has no [[metric]], only rows",
            }
        )),
        (false, false) => print(&format!("{}\n\n{}", summary(&status), table.render())),
    }
}
