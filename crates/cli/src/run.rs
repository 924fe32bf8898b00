//! `thalweg run`: one experiment, its results as a table or as JSON, its rows and figures as files.

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg_lab::experiment::{
    self, short, span, Experiment, ExperimentError, Explained, Refused, Report, Run, RunOption,
    Sites,
};
use thalweg_lab::results::{csv, Claims, Judged, Row};
use thalweg_testbeds::{Loss, Losses};

use crate::args::RunArgs;
use crate::capture::Capture;
use crate::experiment::claims_of;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::network;
use crate::output::{cannot_write, plural, print, write_file};
use crate::outputs::{Kind, Outputs};
use crate::progress::{Reporter, Verbosity};
use crate::speed;
use crate::table::Table;
use crate::values::Seeds;

/// Runs `thalweg run`.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let options = options(args);
    if args.experiment == speed::ID {
        let other = options.into_iter().find(|o| *o != RunOption::Nodes);
        return match other {
            Some(option) => Err(refused(speed::ID, &Refused::NotUsed(option))),
            None => speed::run(args),
        };
    }
    let mut experiment = Experiment::load(&args.experiment).map_err(Failure::input)?;
    // What a paper claims, it claims of its own network.
    let claims = match (&args.testbed, args.loss.as_slice()) {
        (None, []) => claims_of(&experiment)?,
        _ => Claims::default(),
    };
    for option in options {
        let taken = experiment.run.take(option);
        taken.map_err(|why| refused(&experiment.id, &why))?;
    }
    let seeds = seeds_of(args.seeds, experiment.seeds);
    let read = [&args.experiment].into_iter().chain(&args.testbed);
    let outputs = Outputs::beside(args.force, read.map(Path::new));
    if let Some(folder) = &args.out {
        outputs.folder("--out", folder)?;
    }
    if let Some(file) = &args.pcap {
        outputs.check("--pcap", file, Kind::Pcapng)?;
    }
    if let Some(Some(file)) = &args.explain {
        outputs.check("--explain", file, Kind::Json)?;
    }
    let lab = match args.loss.as_slice() {
        [] => Lab::new(args.say.verbosity()),
        links => Lab::lossy(&experiment, links, args.say.verbosity())?,
    };
    if let Some(name) = &args.testbed {
        // Before many threads ask for it: standard input has it once.
        lab.sites.testbed(name).map_err(failure)?;
    }
    if let Some(file) = &args.pcap {
        lab.capture(&experiment, &seeds, file)?;
    }
    let rows = lab.rows(&experiment.id, &experiment.run, &seeds)?;
    let explained = || lab.explained(&experiment, &seeds);
    let explained = args.explain.is_some().then(explained).transpose()?;
    lab.finish();
    let report = Report::new(&experiment, &seeds, rows, &claims);
    let explained = explained.as_ref();
    let shown = match args.json {
        true => {
            let losses = explained.map(|e| losses_json(&experiment.id, e));
            json_lines(&report.results)? + &losses.transpose()?.unwrap_or_default()
        }
        false => text(&report) + &explained.map(losses_text).unwrap_or_default(),
    };
    // Results are shown before a disk can fail, and written though nobody reads what is shown.
    let printed = print(&shown);
    if let Some(folder) = &args.out {
        write_report(folder, &report)?;
    }
    if let Some(explained) = explained {
        #[derive(serde::Serialize)]
        struct Written<'a> {
            generator: &'static str,
            #[serde(flatten)]
            explained: &'a Explained,
        }
        let generator = "thalweg";
        let written = Written {
            generator,
            explained,
        };
        let json = serde_json::to_string(&written).map_err(Failure::job)? + "\n";
        let named = args.explain.iter().flatten().cloned();
        let beside = args.out.iter().map(|folder| folder.join("explain.json"));
        for file in named.chain(beside) {
            write_file(&file, &json)?;
        }
    }
    printed
}

/// What `args` asks for beside the experiment's file.
fn options(args: &RunArgs) -> Vec<RunOption> {
    let given = |given: bool, option: RunOption| given.then_some(option);
    let options = [
        given(args.nodes.is_some(), RunOption::Nodes),
        args.routes.map(RunOption::Routes),
        args.testbed.clone().map(RunOption::Testbed),
        given(!args.loss.is_empty(), RunOption::Loss),
        given(args.explain.is_some(), RunOption::Explain),
        given(args.pcap.is_some(), RunOption::Pcap),
        given(args.out.is_some(), RunOption::Out),
    ];
    options.into_iter().flatten().collect()
}

fn refused(id: &str, why: &Refused) -> Failure {
    Failure::Input(format!("{id}: {why}"))
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
            text.push_str(&transfer.map.to_text());
        }
    }
    for (protocol, totals) in explained.totals() {
        let _ = write!(text, "\n{protocol}: {}", totals.to_text());
    }
    text
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

/// The seeds asked for, else 1 to `count`.
pub(crate) fn seeds_of(asked: Option<Seeds>, count: u64) -> Vec<u64> {
    let (first, last) = asked.map_or((1, count), |s| (s.first, s.last));
    (first..=last).collect()
}

/// What runs experiments, and tells how far they are.
pub(crate) struct Lab {
    sites: Sites,
    interrupt: Interrupt,
    reporter: Mutex<Reporter>,
    say: Verbosity,
}

impl Lab {
    pub(crate) fn new(say: Verbosity) -> Self {
        Self {
            sites: Sites::default(),
            interrupt: Interrupt::on_signals(),
            reporter: Mutex::new(Reporter::to_stderr(say)),
            say,
        }
    }

    /// The same with losses on `links` of every network of `experiment`.
    fn lossy(experiment: &Experiment, links: &[Loss], say: Verbosity) -> Result<Self, Failure> {
        let unused = || refused(&experiment.id, &Refused::NotUsed(RunOption::Loss));
        let psdu_bytes = experiment.run.lossy_frame_bytes().ok_or_else(unused)?;
        let losses = Losses {
            links: links.to_vec(),
            psdu_bytes,
        };
        Ok(Self {
            sites: Sites::with_losses(losses),
            ..Self::new(say)
        })
    }

    /// The rows of `run` with `seeds`; `id` names it in the progress.
    pub(crate) fn rows(&self, id: &str, run: &Run, seeds: &[u64]) -> Result<Vec<Row>, Failure> {
        let observer = |done: u64, total: u64| self.told(id, done, total);
        experiment::run(run, seeds, &self.sites, &observer).map_err(failure)
    }

    /// Writes the frames of the first run with the first of `seeds` to `file`.
    fn capture(&self, experiment: &Experiment, seeds: &[u64], file: &Path) -> Result<(), Failure> {
        let (Some(run), Some(seed)) = (experiment.run.captures(), seeds.first()) else {
            let unused = Refused::NotUsed(RunOption::Pcap);
            return Err(refused(&experiment.id, &unused));
        };
        let testbed = self.sites.testbed(run.testbed()).map_err(failure)?;
        let capture = Capture::create(file)?;
        let frames = capture.transmissions(&testbed.nodes);
        let frames = frames.map_err(Failure::job)?;
        run.capture(*seed, &self.sites, frames).map_err(failure)?;
        capture.finish()
    }

    /// Where the transfers of `experiment` lost their packets.
    fn explained(&self, experiment: &Experiment, seeds: &[u64]) -> Result<Explained, Failure> {
        let observer = |done: u64, total: u64| self.told(&experiment.id, done, total);
        experiment::explain(&experiment.run, seeds, &self.sites, &observer).map_err(failure)
    }

    fn told(&self, id: &str, done: u64, total: u64) -> ControlFlow<()> {
        if self.interrupt.is_set() {
            return ControlFlow::Break(());
        }
        self.reporter().counted(id, "", done, total);
        ControlFlow::Continue(())
    }

    /// Takes the progress bar away, and says what the files of networks left open.
    pub(crate) fn finish(&self) {
        self.reporter().finish();
        for (name, assumed) in self.sites.assumed() {
            network::tell(&name, &assumed, self.say);
        }
    }

    fn reporter(&self) -> MutexGuard<'_, Reporter> {
        self.reporter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Testbed(error) => error.into(),
        error if error.is_input() => Failure::input(error),
        error => Failure::job(error),
    }
}

/// Makes a folder for results, before time is spent on them.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))
}

/// Writes rows, results and figures of `report` to `folder`.
pub(crate) fn write_report(folder: &Path, report: &Report) -> Result<(), Failure> {
    let rows = serde_json::to_string(&report.rows).map_err(Failure::job)?;
    let results = serde_json::to_string_pretty(&report.results).map_err(Failure::job)?;
    write_file(&folder.join("rows.csv"), &csv(&report.rows))?;
    write_file(&folder.join("rows.json"), &format!("{rows}\n"))?;
    write_file(&folder.join("results.json"), &format!("{results}\n"))?;
    for (name, svg) in &report.figures {
        write_file(&folder.join(format!("{name}.svg")), svg)?;
    }
    Ok(())
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

/// The results as a table.
pub(crate) fn text(report: &Report) -> String {
    let e = &report.experiment;
    let seeds = match report.seeds.as_slice() {
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first}..{last}"),
        [] => String::new(),
    };
    let heading = ["metric", ">value", ">95 %", "unit", ">paper", ">band", ""];
    let mut table = Table::of(&heading);
    for r in &report.results {
        table.row([
            r.measured.label(),
            short(r.measured.value),
            r.measured.ci95.map(span).unwrap_or_default(),
            r.measured.unit.clone(),
            r.reference.map(short).unwrap_or_default(),
            r.band.map(span).unwrap_or_default(),
            verdict(r).to_owned(),
        ]);
    }
    for claim in &report.unanswered {
        let band = claim.band.map(span).unwrap_or_default();
        let reference = claim.reference.map(short).unwrap_or_default();
        let (metric, missing) = (&claim.metric, "not measured");
        table.row([metric, "", "", "", &reference, &band, missing]);
    }
    let (rows, table) = (plural(report.rows.len(), "row", "rows"), table.render());
    format!("{}: {} ({seeds}, {rows})\n\n{table}", e.id, e.title)
}

fn verdict(result: &Judged) -> &'static str {
    match (result.within, &result.exception) {
        (Some(true), _) => "within",
        (Some(false), None) => "OUTSIDE",
        (Some(false), Some(_)) => "outside (explained)",
        (None, _) => "",
    }
}
