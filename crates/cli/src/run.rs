//! `thalweg run`: one experiment, its results as a table or as JSON, its rows and figures as files.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use thalweg::{ExperimentRun, Explained, RunOption};
use thalweg_lab::experiment::{Manifest, Refused, Report};
use thalweg_lab::results::Judged;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::network::losses_in;
use crate::output::{cannot_write, plural, print, write_file};
use crate::outputs::{Kind, Outputs};
use crate::runner::{lab, Runner};
use crate::speed;
use crate::table::hanging;
use crate::tables::text;

/// Runs `thalweg run`.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let options = options(args);
    if args.experiment == speed::ID {
        let other = options.into_iter().find(|o| *o != RunOption::Nodes);
        return match other {
            Some(option) => {
                let refused = Refused::NotUsed(option);
                Err(Failure::Input(format!("{}: --{refused}", speed::ID)))
            }
            None => speed::run(args),
        };
    }
    let mut run = ExperimentRun::of(&args.experiment)?.with(&options)?;
    if let Some(seeds) = args.runs.seeds {
        run = run.seeds(seeds.all());
    }
    check_outputs(args)?;
    let losses = losses_in(args.testbed.as_deref(), &args.loss)?;
    let mut lab = lab(args.runs.out.as_deref(), args.runs.jobs)?
        .lossy(&run, &losses)?
        .flooding_on(args.control_channel);
    if let Some(name) = &args.testbed {
        lab = lab.within(name)?;
    }
    let runner = Runner::new(lab, args.runs.say.verbosity());
    let (experiment, seeds) = (run.experiment(), run.with_seeds());
    if let (Some(folder), false) = (&args.runs.out, args.runs.force) {
        let losses = runner.lab.losses();
        let new = Manifest::of(experiment, seeds, losses, command(), BTreeSet::new());
        check_folder(folder, &new)?;
    }
    if let Some(file) = &args.pcap {
        runner.capture(&run, file)?;
    }
    let rows = runner.rows(&run)?;
    let explained = || runner.explained(&run);
    let explained = args.explain.is_some().then(explained).transpose()?;
    runner.finish();
    let report = run.judged(rows);
    let explained = explained.as_ref();
    let shown = match args.runs.json {
        true => {
            let losses = explained.map(|e| losses_json(&experiment.id, e));
            json_lines(&report.results)?
                + &routes_json(&report)?
                + &losses.transpose()?.unwrap_or_default()
        }
        false => text(&report) + &explained.map(losses_text).unwrap_or_default(),
    };
    // Results are shown before a disk can fail, and written even if standard output is closed.
    let printed = print(&shown);
    if let Some(folder) = &args.runs.out {
        write_report(folder, &report, &runner).map_err(Failure::after_result)?;
    }
    if let Some(explained) = explained {
        write_explained(args, explained).map_err(Failure::after_result)?;
    }
    runner.lab.forget();
    printed
}

/// Checks that the files that the options name can be written.
fn check_outputs(args: &RunArgs) -> Result<(), Failure> {
    let read = [&args.experiment].into_iter().chain(&args.testbed);
    let outputs = Outputs::beside(args.runs.force, read.map(Path::new));
    if let Some(folder) = &args.runs.out {
        outputs.folder("--out", folder)?;
    }
    if let Some(file) = &args.pcap {
        outputs.check("--pcap", file, Kind::Pcapng)?;
    }
    if let Some(Some(file)) = &args.explain {
        outputs.check("--explain", file, Kind::Json)?;
    }
    Ok(())
}

/// Writes where packets were lost to the file of `--explain`, and beside the results.
fn write_explained(args: &RunArgs, explained: &Explained) -> Result<(), Failure> {
    #[derive(serde::Serialize)]
    struct Written<'a> {
        generator: &'static str,
        #[serde(flatten)]
        explained: &'a Explained,
    }
    let written = Written {
        generator: "thalweg",
        explained,
    };
    let json = serde_json::to_string(&written).map_err(Failure::job)? + "\n";
    let named = args.explain.iter().flatten().cloned();
    let beside = args
        .runs
        .out
        .iter()
        .map(|folder| folder.join("explain.json"));
    for file in named.chain(beside) {
        write_file(&file, &json)?;
    }
    Ok(())
}

/// The options of `args` that change the experiment.
fn options(args: &RunArgs) -> Vec<RunOption> {
    let given = |given: bool, option: RunOption| given.then_some(option);
    let options = [
        given(args.nodes.is_some(), RunOption::Nodes),
        args.routes.map(RunOption::Routes),
        args.testbed.clone().map(RunOption::Testbed),
        args.control_channel.map(RunOption::ControlChannel),
        given(!args.loss.is_empty(), RunOption::Loss),
        given(args.explain.is_some(), RunOption::Explain),
        given(args.pcap.is_some(), RunOption::Pcap),
        given(args.runs.out.is_some(), RunOption::Out),
    ];
    options.into_iter().flatten().collect()
}

/// As many transfers are explained hop by hop on the terminal.
const FEW: usize = 4;

/// Losses by protocol, after single maps where there are few.
fn losses_text(explained: &Explained) -> String {
    let mut text = String::new();
    if explained.transfers.len() <= FEW {
        for transfer in &explained.transfers {
            let (seed, route) = (transfer.seed, transfer.route);
            let _ = writeln!(text, "\nseed {seed}, route {route}");
            text.push_str(&hanging(&transfer.map.to_text(), "lost by"));
        }
    }
    for (protocol, totals) in explained.totals() {
        let _ = write!(text, "\n{protocol}: {}", totals.to_text());
    }
    text
}

/// One JSON object for each seed that had fewer routes than were asked for, a line each.
fn routes_json(report: &Report) -> Result<String, Failure> {
    let mut text = String::new();
    for ((seed, found, wanted), note) in report.routes_short().zip(report.routes_notes()) {
        let id = &report.experiment.id;
        let line = serde_json::json!({
            "id": id, "seed": seed, "routes_found": found, "routes_wanted": wanted, "note": note,
        });
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}

/// One JSON object a protocol, a line each.
fn losses_json(id: &str, explained: &Explained) -> Result<String, Failure> {
    let mut text = String::new();
    for (protocol, totals) in explained.totals() {
        let line = serde_json::json!({ "id": id, "explain": protocol, "totals": totals });
        let line = serde_json::to_string(&line).map_err(Failure::job)?;
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}

/// Makes a folder for results, before time is spent on them.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))
}

/// What a folder of rows is of.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The command and its options.
fn command() -> Vec<String> {
    let words = env::args_os().skip(1);
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Refuses a folder that holds rows of something else.
fn check_folder(folder: &Path, new: &Manifest) -> Result<(), Failure> {
    let text = fs::read_to_string(folder.join(MANIFEST));
    let earlier = text
        .ok()
        .and_then(|text| serde_json::from_str::<Manifest>(&text).ok());
    match earlier.and_then(|earlier| earlier.differs(new)) {
        None => Ok(()),
        Some(what) => Err(Failure::Input(format!(
            "--out {}: holds rows {what}; name another folder, or say --force",
            folder.display()
        ))),
    }
}

/// The line about rows of more seeds that `folder` holds, and those of `seeds` are about to replace.
fn replaced(folder: &Path, seeds: &[u64]) -> Option<String> {
    let text = fs::read_to_string(folder.join(MANIFEST)).ok()?;
    let kept: Manifest = serde_json::from_str(&text).ok()?;
    let lost = kept.seeds.iter().filter(|seed| !seeds.contains(seed));
    let (lost, of) = (
        lost.count(),
        plural(kept.seeds.len() as u64, "seed", "seeds"),
    );
    let folder = folder.display();
    (lost > 0).then(|| {
        format!("--out {folder}: rows of {lost} of {of} are gone, those of this run replace them")
    })
}

/// Writes manifest, rows, results and figures of `report`, which `runner` ran, to `folder`.
pub(crate) fn write_report(folder: &Path, report: &Report, runner: &Runner) -> Result<(), Failure> {
    if let Some(line) = replaced(folder, &report.seeds) {
        runner.note(&line);
    }
    let losses = runner.lab.losses();
    let labelled = report.labelled_rows();
    let columns = labelled.iter().flat_map(|row| row.0.keys().cloned());
    let (experiment, seeds) = (&report.experiment, &report.seeds);
    let manifest = Manifest::of(experiment, seeds, losses, command(), columns.collect());
    let manifest = serde_json::to_string_pretty(&manifest).map_err(Failure::job)?;
    write_file(&folder.join(MANIFEST), &format!("{manifest}\n"))?;
    let mut files = report.files().map_err(Failure::job)?.into_iter();
    files.try_for_each(|(name, text)| write_file(&folder.join(name), &text))
}

/// One JSON object a line.
pub(crate) fn json_lines(results: &[Judged]) -> Result<String, Failure> {
    let mut text = String::new();
    for result in results {
        text.push_str(&serde_json::to_string(result).map_err(Failure::job)?);
        text.push('\n');
    }
    Ok(text)
}
