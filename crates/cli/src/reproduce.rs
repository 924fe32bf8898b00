//! `thalweg reproduce`: the papers' results, one after the other, as tables, JSON lines or a page.

use std::path::Path;

use thalweg::{results_of, Experiment, ExperimentRun, Extent};
use thalweg_lab::experiment::Report;
use thalweg_lab::results::{excused, short, span, Judged, Tally, Verdict};

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::output::print;
use crate::outputs::{Kind, Outputs};
use crate::report::{PaperPages, ReportPage};
use crate::row_folder;
use crate::run::{json_lines, make_folder, write_report};
use crate::runner::{lab, Runner};
use crate::tables::text;

/// Runs `thalweg reproduce`.
pub(crate) fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    let extent = match args.quick {
        true => Extent::Quick,
        false => Extent::Full,
    };
    let (experiments, left_out) = results_of(&args.what, extent)?;
    let outputs = check_outputs(args, experiments.iter().map(|e| &*e.id))?;
    let runs = experiments
        .iter()
        .map(|experiment| wanted(args, experiment));
    let runs: Vec<ExperimentRun> = runs.collect::<Result<_, thalweg::Error>>()?;
    let mut presentation = Presentation::new(args, &experiments, &outputs)?;
    match &args.rows {
        Some(folder) => from_rows(folder, runs, &mut presentation)?,
        None => simulate(args, &runs, &left_out, &mut presentation)?,
    }
    let reports = presentation.reports;
    if !args.runs.json {
        print(&summary(&reports))?;
    }
    let misses: Vec<String> = reports.iter().flat_map(Report::misses).collect();
    if args.check && !misses.is_empty() {
        let (count, list) = (misses.len(), misses.join("; "));
        let line = format!("{count} that no written exception excuses: {list}");
        return Err(Failure::Told(line, 1));
    }
    Ok(())
}

/// `experiment` with the seeds that the options ask for.
fn wanted(args: &ReproduceArgs, experiment: &Experiment) -> Result<ExperimentRun, thalweg::Error> {
    let mut run = ExperimentRun::new(experiment.clone())?;
    if args.quick {
        run = run.quick()?;
    }
    Ok(match args.runs.seeds {
        Some(seeds) => run.seeds(seeds.all()),
        None => run,
    })
}

/// Simulates `runs`, and shows each result as it comes.
fn simulate(
    args: &ReproduceArgs,
    runs: &[ExperimentRun],
    left_out: &[String],
    presentation: &mut Presentation<'_>,
) -> Result<(), Failure> {
    let lab = lab(args.runs.out.as_deref(), args.runs.jobs)?;
    let runner = Runner::new(lab, args.runs.say.verbosity());
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        runner.note(&format!("not of the quick subset unless named: {left_out}"));
    }
    runner.each(runs, |run, rows| {
        runner.finish();
        let report = run.judged(rows);
        if let Some(out) = &args.runs.out {
            let folder = out.join(&report.experiment.id);
            make_folder(&folder)?;
            write_report(&folder, &report, &runner)?;
        }
        presentation.take(report, env!("CARGO_PKG_VERSION"))
    })?;
    runner.lab.forget();
    Ok(())
}

/// Shows what `folder` has of `runs`.
fn from_rows(
    folder: &Path,
    runs: Vec<ExperimentRun>,
    presentation: &mut Presentation<'_>,
) -> Result<(), Failure> {
    for run in runs {
        if let Some((report, version)) = row_folder::report(folder, run)? {
            presentation.take(report, &version)?;
        }
    }
    match presentation.reports.is_empty() {
        true => {
            let line = format!("--rows {}: holds none of these results", folder.display());
            Err(Failure::Input(line))
        }
        false => Ok(()),
    }
}

/// What has come so far, printed and on the pages.
struct Presentation<'a> {
    args: &'a ReproduceArgs,
    experiments: &'a [Experiment],
    page: Option<ReportPage>,
    pages: Option<PaperPages>,
    reports: Vec<Report>,
}

impl<'a> Presentation<'a> {
    fn new(
        args: &'a ReproduceArgs,
        experiments: &'a [Experiment],
        outputs: &Outputs,
    ) -> Result<Self, Failure> {
        let folder = args.report.as_deref();
        let rows = args.runs.out.as_deref().or(args.rows.as_deref());
        let page = folder.map(|folder| ReportPage::new(folder, rows));
        if let Some(page) = &page {
            page.write(&[], experiments)?;
        }
        let pages = folder.map(|folder| PaperPages::open(folder, experiments, outputs));
        Ok(Self {
            args,
            experiments,
            page,
            pages: pages.transpose()?,
            reports: Vec::new(),
        })
    }

    /// Prints `report`, whose rows `version` of this program made, and writes the pages again.
    fn take(&mut self, report: Report, version: &str) -> Result<(), Failure> {
        let printed = print(&match self.args.runs.json {
            true => json_lines(&report.results)?,
            false => text(&report) + "\n",
        });
        if let Some(pages) = &mut self.pages {
            pages.write(&report, version)?;
        }
        self.reports.push(report);
        if let Some(page) = &mut self.page {
            if version != env!("CARGO_PKG_VERSION") {
                page.simulated_by(version);
            }
            let reported = |e: &&Experiment| self.reports.iter().any(|r| r.experiment.id == e.id);
            let left = self.experiments.iter().filter(|e| !reported(e));
            let left: Vec<Experiment> = left.cloned().collect();
            page.write(&self.reports, &left)?;
        }
        printed
    }
}

/// Makes the folders that the options name, and checks that the results of `ids` may be written there.
fn check_outputs<'a>(
    args: &ReproduceArgs,
    ids: impl Iterator<Item = &'a str>,
) -> Result<Outputs, Failure> {
    let outputs = Outputs::beside(args.runs.force, []);
    if let Some(folder) = &args.report {
        make_folder(folder)?;
        outputs.check("--report", &folder.join("index.html"), Kind::Html)?;
    }
    if let Some(folder) = &args.runs.out {
        make_folder(folder)?;
        let folders = ids.map(|id| folder.join(id));
        for folder in folders.filter(|folder| folder.exists()) {
            outputs.folder("--out", &folder)?;
        }
    }
    Ok(outputs)
}

/// How many results lie within their bands, each kind apart, and which do not; each result's text says why. Then what to
/// write where a miss is to be excused.
fn summary(reports: &[Report]) -> String {
    let results = || reports.iter().flat_map(|r| &r.results);
    let unanswered = reports.iter().flat_map(|r| &r.unanswered);
    let mut lines = Tally::of(results(), unanswered).lines();
    let list = |lines: &mut Vec<String>, heading: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            lines.push(heading.to_owned());
            lines.extend(entries.into_iter().map(|entry| format!("  {entry}")));
        }
    };
    let outside = results().filter(|r| r.within == Some(false));
    let heading = "outside their bands (why stands with each):";
    list(&mut lines, heading, outside.map(outside_line).collect());
    let returned = results().filter(|r| r.verdict() == Some(Verdict::Returned));
    let returned = returned.map(|r| format!("{}: {}; {}", r.id, r.measured.label(), excused(r)));
    list(
        &mut lines,
        "within their bands again, though excused:",
        returned.collect(),
    );
    let restated = reports.iter().flat_map(Report::restated).collect();
    let heading = "to excuse what is new, say why in papers/*.toml, below the claim:";
    list(&mut lines, heading, restated);
    lines.join("\n") + "\n"
}

/// A result outside its band, with both and what is excused.
fn outside_line(r: &Judged) -> String {
    let (label, value) = (r.measured.label(), short(r.measured.value));
    let band = r.band.map(span).unwrap_or_default();
    let excused = match (r.verdict(), &r.excuse) {
        (Some(Verdict::Excused), _) => String::new(),
        (Some(Verdict::Open), _) => "; too few seeds to tell".to_owned(),
        (_, Some(excuse)) => format!("; excused was {}", span(excuse.window.span())),
        (_, None) => "; not excused".to_owned(),
    };
    format!("{}: {label} {value}, band {band}{excused}", r.id)
}
